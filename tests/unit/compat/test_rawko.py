"""001's functions under their own names."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memory_mesh.compat import rawko
from memory_mesh.compat.rawko import MatchContext
from memory_mesh.formats.memory_file import MemoryFile
from memory_mesh.model import SourceKind
from memory_mesh.model.errors import InvalidInput, LLMError
from memory_mesh.model.times import iso
from memory_mesh.model.trigger import MemoryMetadata
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import ScriptedLLM

NOW = datetime(2026, 1, 24, tzinfo=UTC)
NAMES: Any = rawko  # under the names of the document


def frontmatter(title="T", when="auth|login", importance="high", **more):
    return {
        "title": title,
        "whenToUse": when,
        "tags": ["auth"],
        "importance": importance,
        "discoveredAt": "2026-01-23T10:30:00Z",
        "discoveredBy": "planner",
        **more,
    }


@pytest.mark.req("R-001-050", "R-001-049")
@pytest.mark.parametrize(
    "memory",
    [
        frontmatter(),
        {"frontmatter": frontmatter(), "content": "body"},
        MemoryFile(title="T", when_to_use=("auth|login",), importance="high",
                   discovered_at="2026-01-23T10:30:00Z", discovered_by="planner", body="body"),
        MemoryMetadata(triggers=("auth|login",), discovered_at=NOW, title="T", importance=0.8),
    ],
)  # fmt: skip
def test_the_selected_memories_come_back_as_they_were_given(memory):
    context = MatchContext(task="add login page", agent_name="planner", current_plan=None)
    found = rawko.find_relevant_memories([frontmatter("no", "cats"), memory], context, now=NOW)
    assert found == [memory]
    assert found[0] is memory


@pytest.mark.req("R-001-050", "R-001-051", "R-001-054")
def test_the_options_of_the_selection():
    memories = [frontmatter(str(n), importance="low" if n % 2 else "critical") for n in range(14)]
    context = MatchContext("fix the login", "tester")
    assert len(rawko.find_relevant_memories(memories, context)) == 5
    assert len(rawko.find_relevant_memories(memories, context, max_memories=9)) == 9
    kept = rawko.find_relevant_memories(memories, context, max_memories=14, min_importance="high")
    assert {memory["importance"] for memory in kept} == {"critical"}
    with pytest.raises(InvalidInput, match="min_importance"):
        rawko.find_relevant_memories(memories, context, min_importance="huge")


def test_the_points_of_one_memory():
    memory = frontmatter("Login page structure", tags=["structure", "planning"])
    context = MatchContext("add login page", "planner")
    assert rawko.score_relevance(memory, context, now=NOW) == 25 + 10 + 10 + 10 + 10


def test_a_mapping_in_either_spelling_says_what_an_agent_is_about_to_do():
    memory = frontmatter("Login page structure", tags=["structure", "planning"])
    for name in ("agent", "agentName", "agent_name"):
        context = {"task": "add login page", name: "planner", "currentPlan": None}
        assert rawko.score_relevance(memory, context, now=NOW) == 65
        assert rawko.find_relevant_memories([memory], context, now=NOW) == [memory]
    assert rawko.match_when_to_use("auth|login", {"task": "", "currentPlan": "the login"})
    for wrong in ({"agent": "planner"}, "add login page", None):
        with pytest.raises(InvalidInput, match="a context needs a task"):
            rawko.find_relevant_memories([memory], wrong)  # type: ignore[arg-type]


@pytest.mark.req("R-001-013")
def test_a_list_and_a_single_pattern_are_both_read():
    context = MatchContext("add login page")
    assert rawko.match_when_to_use("auth|login", context)
    assert rawko.match_when_to_use(["cats", "login"], context)
    assert not rawko.match_when_to_use(["cats"], context)
    assert rawko.match_pattern("implement.*auth", "implement authentication")


@pytest.mark.req("R-001-064", "R-001-066")
def test_the_prompt_of_files():
    assert rawko.format_memories_for_prompt([]) == ""
    given = {"frontmatter": frontmatter("Auth"), "content": "JWT only."}
    assert rawko.format_memories_for_prompt([given]) == (
        "## Background Knowledge from Previous Runs\n\n### Auth\n*Importance: HIGH*\n"
        "*Discovered by: planner*\n\nJWT only.\n\n"
    )


EXECUTION = {
    "agent": "developer", "task": "Add a login page", "result": "partial", "existingMemories": [],
    "agentOutput": "The auth module lives in src/auth and issues JWT.\n```\nnpm ERR! code 1\n```\n"
    "I added a print to session.py.", "error": "The build failed because Node 18 lacks the flag.",
}  # fmt: skip
STRUCTURE = {"text": "The auth module lives in src/auth and issues JWT.", "importance": 0.8,
             "quote": "The auth module lives in src/auth and issues JWT", "kind": "finding",
             "tags": ["auth", "structure"]}  # fmt: skip
CAUSE = {"text": "The build failed because Node 18 lacks the flag.", "importance": 0.6,
         "quote": "The build failed because Node 18 lacks the flag"}  # fmt: skip
STEP = {"text": "session.py has a print.", "quote": "I added a print to session.py"}
OUTPUT = {"text": "npm failed with code 1.", "quote": "npm ERR! code 1"}


@pytest.mark.req("R-001-028", "R-001-039", "R-001-040", "R-001-041")
def test_an_execution_is_extracted_into_a_memory_or_into_a_reason():
    llm = ScriptedLLM([json.dumps({"facts": [STRUCTURE, CAUSE, STEP, OUTPUT]}), '{"facts": []}'])
    found = rawko.extract_memory(EXECUTION, llm, now=NOW)
    assert found.should_create_memory
    assert found.memory_title == found.frontmatter["title"] == str(STRUCTURE["text"]).rstrip(".")
    assert found.frontmatter == {
        "title": found.memory_title, "whenToUse": ["auth|structure"], "importance": "high",
        "tags": ["auth", "structure"], "discoveredAt": iso(NOW), "discoveredBy": "developer",
        "discoveredIn": "Task: Add a login page",
    }  # fmt: skip
    assert found.content == f"# {found.memory_title}\n\n- {STRUCTURE['text']}\n- {CAUSE['text']}\n"
    assert found.reasoning
    assert "Add a login page" in llm.prompts[0]
    nothing = rawko.extract_memory(EXECUTION, llm, now=NOW)
    assert (nothing.should_create_memory, nothing.content) == (False, None)
    assert nothing.reasoning


@pytest.mark.req("R-001-035", "R-001-036", "R-001-038", "R-001-039")
def test_steps_output_and_what_is_known_are_skipped_with_a_reason():
    known = {"content": STRUCTURE["text"], "frontmatter": frontmatter("Auth")}
    llm = ScriptedLLM([json.dumps({"facts": [STRUCTURE]}), json.dumps({"facts": [STEP, OUTPUT]})])
    found = rawko.extract_memory(EXECUTION | {"existingMemories": [known]}, llm)
    assert (found.should_create_memory, found.reasoning) == (False, "a memory says it already")
    found = rawko.extract_memory(EXECUTION, llm)
    assert not found.should_create_memory
    assert "a step of the task" in found.reasoning
    assert "does not stand in what anybody wrote" in found.reasoning


@pytest.mark.req("R-001-039")
def test_a_model_that_fails_creates_no_memory_and_rules_need_none():
    for answer in (LLMError("429"), "{"):
        found = rawko.extract_memory(EXECUTION, ScriptedLLM([answer]))
        assert not found.should_create_memory
        assert found.reasoning
    told = "npm start failed with EADDRINUSE. I stopped the old container and now it works again."
    assert rawko.extract_memory(EXECUTION | {"agentOutput": told}).should_create_memory
    with pytest.raises(InvalidInput, match="result"):
        rawko.extract_memory(EXECUTION | {"result": "maybe"})


@pytest.mark.req("R-001-002", "R-001-028", "R-001-077")
def test_after_an_execution_its_facts_are_saved_with_their_discoverer(tmp_path):
    llm = ScriptedLLM([json.dumps({"facts": [STRUCTURE, OUTPUT]}), LLMError("429")])
    with MemoryMesh(db_dir=tmp_path, custom_llm=llm) as mesh:
        found = NAMES.extractAndSaveMemory(mesh, EXECUTION)
        assert found.should_create_memory
        (memory,) = mesh.get_all()
        assert (memory.text, memory.source.kind) == (STRUCTURE["text"], SourceKind.INFERENCE)
        assert memory.metadata["discoveredBy"] == "developer"
        assert memory.metadata["discoveredIn"] == "Task: Add a login page"
        assert [*memory.triggers] == found.frontmatter["whenToUse"] == ["auth|structure"]
        later = rawko.extract_and_save_memory(mesh, EXECUTION | {"task": "Add a logout page"})
        assert "429" in later.reasoning
        assert mesh.learn.extract(use_model=False).waiting == 2


@pytest.mark.req("R-001-042", "R-001-050", "R-001-064")
def test_an_extraction_is_taken_as_it_is(tmp_path):
    answers = [json.dumps({"facts": [STRUCTURE]}), '{"facts": []}']
    llm = ScriptedLLM(answers)
    found, nothing = (rawko.extract_memory(EXECUTION, llm, now=NOW) for _ in answers)
    path = rawko.append_memory(found, folder=tmp_path)
    assert path is not None
    assert path.read_text() == rawko.format_memory_file(found)
    assert "discoveredIn" in path.read_text()
    context = MatchContext("look at the auth module")
    assert rawko.find_relevant_memories([nothing, found], context, now=NOW) == [found]
    assert rawko.score_relevance(found, context, now=NOW) > 0
    assert str(STRUCTURE["text"]) in rawko.format_memories_for_prompt([found])
    assert rawko.append_memory(nothing, folder=tmp_path / "none") is None
    assert not (tmp_path / "none").exists()
    with pytest.raises(InvalidInput, match="a mapping with title and content"):
        rawko.append_memory("a text")  # type: ignore[arg-type]


@pytest.mark.req("R-001-041")
@pytest.mark.parametrize(
    ("said", "title"),
    [
        (f"{'the word ' * 6}is 60 chars", f"{'the word ' * 6}is 60"),
        (f"{'the word ' * 5}sixty characters in all", f"{'the word ' * 5}sixty"),
        (f"{'a' * 61} is long", "a" * 60),
        ("The API returns JSON.", "The API returns JSON"),
    ],
)
def test_a_title_is_cut_after_a_word(said, title):
    answer = json.dumps({"facts": [{"text": said, "quote": said, "tags": ["x"]}]})
    found = rawko.extract_memory(EXECUTION | {"agentOutput": said}, ScriptedLLM([answer]))
    assert (found.memory_title, found.frontmatter["title"]) == (title, title)
    assert found.content == f"# {title}\n\n- {said}\n"


@pytest.mark.req("R-001-077")
def test_facts_that_waited_for_a_model_and_those_of_many_tags_have_their_triggers(tmp_path):
    tags = [f"{number}-{'x' * 490}" for number in range(5)]
    untagged = {"text": "The build failed because Node 18 lacks the flag.", "quote": CAUSE["quote"]}
    many = STRUCTURE | {"tags": tags}
    told = [json.dumps({"facts": [fact]}) for fact in (many, untagged)]
    with MemoryMesh(db_dir=tmp_path, custom_llm=ScriptedLLM([LLMError("429"), *told])) as mesh:
        assert not rawko.extract_and_save_memory(mesh, EXECUTION).should_create_memory
        mesh.learn.extract()
        (late,) = mesh.get_all()
        assert late.triggers == ("|".join(tags[:2]),)
        found = rawko.extract_and_save_memory(mesh, EXECUTION)
        (stored,) = (each for each in mesh.get_all() if each.id != late.id)
        assert stored.triggers == (found.memory_title,) == (str(untagged["text"]).rstrip("."),)


def test_what_is_no_list_of_texts_is_refused():
    with pytest.raises(InvalidInput, match="lists of texts"):
        rawko.find_relevant_memories([frontmatter(when=5)], MatchContext("x"))
