"""The functions of document 001, memories of a task runner, run under their own names."""

from pathlib import Path
from typing import Any

import pytest

from memory_mesh.compat import rawko
from memory_mesh.formats.memory_file_reading import parse
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of

MEMORY = {
    "shouldCreateMemory": True,
    "memoryTitle": "How the Embedding Factory works",
    "frontmatter": {
        "title": "How the Embedding Factory works",
        "whenToUse": ["When embedding text", "implement.*auth"],
        "tags": ["architecture"],
        "importance": "high",
        "discoveredAt": "2026-01-10T15:30:00Z",
        "discoveredBy": "planner",
    },
    "content": "# Overview\n\nUse the factory.",
    "reasoning": "worth it",
}
NAMES: Any = rawko


@pytest.mark.req("R-001-042")
@pytest.mark.req("R-001-043")
@pytest.mark.req("R-001-044")
def test_append_memory_writes_a_file_and_appends_to_it(tmp_path: Path) -> None:
    folder = tmp_path / ".rawko" / "memories"
    path = NAMES.appendMemory(MEMORY, folder=folder)
    assert path == folder / "how-the-embedding-factory-works.md"
    first = path.read_text()
    assert first == NAMES.formatMemoryFile(MEMORY)
    NAMES.appendMemory(MEMORY | {"content": "More."}, folder=folder)
    assert path.read_text().startswith(first.rstrip("\n"))
    assert "\n\n---\n\n---\ntitle:" in path.read_text()
    documents = parse(path.read_text()).documents
    assert [each.body.strip() for each in documents] == ["# Overview\n\nUse the factory.", "More."]
    assert documents[0].when_to_use == ("When embedding text", "implement.*auth")
    assert (documents[0].importance, documents[0].discovered_by) == ("high", "planner")


@pytest.mark.req("R-001-028", "R-001-042")
def test_append_memory_writes_nothing_where_nothing_is_to_be_remembered(tmp_path: Path) -> None:
    assert NAMES.appendMemory(MEMORY | {"shouldCreateMemory": False}, folder=tmp_path / "x") is None
    assert not (tmp_path / "x").exists()
    with pytest.raises(InvalidInput, match="title must be text"):
        NAMES.formatMemoryFile({"content": "x"})


def test_slugify_is_kebab_case() -> None:
    assert NAMES.slugify("How the Embedding Factory works!") == "how-the-embedding-factory-works"
    assert NAMES.slugify is rawko.slugify
    assert NAMES.findRelevantMemories is rawko.find_relevant_memories
    with pytest.raises(AttributeError):
        NAMES.extractAll  # noqa: B018


def test_what_was_appended_calls_itself_up(tmp_path: Path) -> None:
    path = NAMES.appendMemory(MEMORY, folder=tmp_path)
    (document,) = parse(path.read_text()).documents
    context = rawko.MatchContext(task="implement user auth", agent_name="planner")
    found = NAMES.findRelevantMemories([MEMORY], context, max_memories=1)
    assert found == [MEMORY]
    assert document.title in NAMES.formatMemoriesForPrompt(found)


def test_frontmatter_in_metadata_is_read_and_comes_back_under_its_names(mesh: MemoryMesh) -> None:
    given = {
        "title": "Factory",
        "whenToUse": ["When embedding text"],
        "importance": "high",
        "tags": ["a"],
        "validUntil": "2030-01-01T00:00:00Z",
        "discoveredAt": "2026-01-10T15:30:00Z",
        "mine": 1,
    }
    found = mesh.get(id_of(mesh.add("Use the factory for embeddings", given)))
    assert found is not None
    assert found.metadata == given
    assert (found.triggers, found.importance, found.tags) == (("When embedding text",), 0.8, ("a",))
    assert found.valid_until is not None
    assert found.occurred_at is not None
    called = mesh.find_relevant_memories("embedding text for the search")
    assert [each.id for each in called] == [found.id]
    mesh.update(found.id, metadata=given | {"importance": "low"})
    again = mesh.get(found.id)
    assert again is not None
    assert again.importance == 0.2


def test_python_spelling_and_words_that_fit_no_field_are_kept_too(mesh: MemoryMesh) -> None:
    given = {"when_to_use": "When embedding", "importance": "very", "valid_until": "soon"}
    found = mesh.get(id_of(mesh.add("Use the factory", given)))
    assert found is not None
    assert found.metadata == given
    assert (found.triggers, found.importance, found.valid_until) == (
        ("When embedding",),
        None,
        None,
    )


def test_an_argument_wins_over_metadata(mesh: MemoryMesh) -> None:
    found = mesh.get(id_of(mesh.add("x is y", {"importance": "high"}, importance=0.3)))
    assert found is not None
    assert (found.importance, found.metadata["importance"]) == (0.3, "high")
