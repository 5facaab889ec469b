"""Filters on metadata: what a store answers, in every read that takes one."""

from typing import Any

import pytest

from memory_mesh import Scope
from memory_mesh.model.memory import shown_type
from memory_mesh.sync import MemoryMesh
from tests.corpora.filters import MEMORIES, RIGHT, Right
from tests.postgres import SECRET


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters")
    with MemoryMesh(
        db_dir=folder / "store", embedder="none", settings={"read_claims": False}
    ) as mesh:
        for name, metadata in MEMORIES.items():
            mesh.add(f"memory {name}", metadata)
        hidden = Scope(session="hidden")
        for name, metadata in MEMORIES.items():  # the same, for somebody else
            mesh.add(f"memory {name} hidden", metadata, scope=hidden)
        yield mesh


def _names(memories) -> str:
    return "".join(sorted(memory.text.split()[1] for memory in memories))


@pytest.mark.req("R-000-143", "R-000-259")
@pytest.mark.parametrize("row", RIGHT, ids=lambda row: ascii(row.mapping or row.text)[:60])
def test_a_filter_selects_what_the_corpus_says(stored, row: Right) -> None:
    for given_ in (row.mapping, row.text):
        if given_ is not None:
            assert _names(stored.get_all(filter=given_)) == row.ids
            hits = stored.search("memory", filter=given_)
            assert _names(hit.memory for hit in hits) == row.ids


@pytest.mark.parametrize("server", [False, True])
def test_each_type_that_lists_show_can_be_filtered_by(
    tmp_path, server, request, monkeypatch
) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    store = request.getfixturevalue("database") if server else tmp_path / "store"
    with MemoryMesh(store, embedder="none") as mesh:
        said: dict[str, dict[str, Any]] = {
            "The lamp is green": {},
            "The shop is open": {"scope": Scope(project="shop")},
            "The boat is sold": {"scope": Scope(agent="kuro")},
            "The tea is hot": {"scope": Scope(session="s1")},
            "The harbour is closed": {"metadata": {"type": "event"}},
            "The sea is wide": {"metadata": {"type": "global"}, "scope": Scope(project="shop")},
            "Wait for the lock": {"kind": "lesson"},
        }
        for text, details in said.items():
            mesh.add(text, **details)
        across = ("project", "agent", "session")
        every = [*mesh.get_all(across=across)]
        shown = {memory.id: memory.label or shown_type(memory) for memory in every}
        assert {*shown.values()} == {
            "global", "project", "agent", "session", "event", "lesson",
        }  # fmt: skip
        for word in (*shown.values(), "fact"):
            for given in (f"type = '{word}'", {"type": word}, f"type IN ('{word}', 'none')"):
                found = {memory.id for memory in mesh.get_all(filter=given, across=across)}
                assert found == {id_ for id_, type_ in shown.items() if type_ == word}
        labelled = mesh.get_all(filter="label = 'global'", across=across)
        assert [memory.text for memory in labelled] == ["The sea is wide"]
        assert [*mesh.get_all(filter="type IS NULL", across=across)] == []
