"""001's functions under their own names."""

from datetime import UTC, datetime

import pytest

from memory_mesh.compat import rawko
from memory_mesh.compat.rawko import MatchContext
from memory_mesh.formats.memory_file import MemoryFile
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.trigger import MemoryMetadata

NOW = datetime(2026, 1, 24, tzinfo=UTC)


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


def test_what_is_no_list_of_texts_is_refused():
    with pytest.raises(InvalidInput, match="lists of texts"):
        rawko.find_relevant_memories([frontmatter(when=5)], MatchContext("x"))
