"""Which memories are selected, and in which order."""

from datetime import UTC, datetime, timedelta

import pytest

from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.trigger import InjectionRules, MatchContext, MemoryMetadata
from memory_mesh.search.triggers import selection
from memory_mesh.search.triggers.selection import level, select, title_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLD = NOW - timedelta(days=30)
WEIGHTS = {"low": 0.2, "medium": 0.5, "high": 0.8, "critical": 1.0}


def memory(title="", importance="medium", triggers=("login",), **fields):
    given = {"discovered_at": OLD, "importance": WEIGHTS[importance], "title": title}
    return MemoryMetadata(triggers=triggers, **(given | fields))


def selected(memories, task="add login page", agent="", plan=None, **given):
    found = select(memories, MatchContext(task, agent, plan), NOW, InjectionRules(**given))
    return [each.memory.title for each in found]


@pytest.mark.req("R-001-052", "R-001-006")
def test_what_no_trigger_calls_up_is_never_selected():
    best = memory("page login add", "critical", ("kitchen",), discovered_at=NOW)
    assert selected([best, memory("worse", "low")]) == ["worse"]


@pytest.mark.req("R-001-053", "R-001-048")
def test_the_most_points_come_first_and_the_list_is_cut():
    memories = [memory(name, name) for name in ("low", "high", "critical", "medium")]
    assert selected(memories) == ["critical", "high", "medium", "low"]
    assert selected(memories, max_memories=2) == ["critical", "high"]


@pytest.mark.req("R-001-051")
def test_five_are_selected_by_default():
    assert len(selected([memory(str(number)) for number in range(9)])) == 5


@pytest.mark.req("R-001-054")
@pytest.mark.parametrize(
    ("least", "kept"), [("low", 4), ("medium", 3), ("high", 2), ("critical", 1)]
)
def test_min_importance_leaves_out_what_is_below(least, kept):
    assert len(selected([memory(name, name) for name in WEIGHTS], min_importance=least)) == kept


TASKS = {
    "exact": {"task": "add login page"},
    "moderate": {"task": "add loginess"},  # the beginning of a word
    "agent": {"task": "paint it", "agent": "login keeper"},  # moderate, too
    "close": {"task": "rename the public thing"},  # more than half of the key words
    "loose": {"task": "add a prelogin page"},  # inside of a word
    "plan": {"task": "paint it", "plan": "1. open the login page"},  # loose, too
}


@pytest.mark.parametrize(
    ("importance", "matches"),
    [
        pytest.param("critical", {*TASKS}, marks=pytest.mark.req("R-001-060")),
        pytest.param("high", {*TASKS} - {"loose", "plan"}, marks=pytest.mark.req("R-001-061")),
        pytest.param("medium", {"exact", "moderate", "agent"}, marks=pytest.mark.req("R-001-062")),
        pytest.param("low", {"exact"}, marks=pytest.mark.req("R-001-063")),
    ],
)
def test_the_less_important_a_memory_the_better_the_match_it_needs(importance, matches):
    triggers = ("login", "before renaming the public API")
    one = [memory("one", importance, triggers)]
    assert {name for name, task in TASKS.items() if selected(one, **task)} == matches


@pytest.mark.req("R-001-087")
def test_a_pattern_that_meets_every_task_brings_in_nothing_but_critical_memories():
    everything = [memory(name, name, (".*",)) for name in WEIGHTS]
    assert selected(everything, "feed the cat") == ["critical"]


def test_among_equals_the_better_match_then_the_newer_one_comes_first():
    newer = memory("newer", discovered_at=OLD + timedelta(days=1))
    better = [memory("inside", "critical", ("logi",)), memory("whole", "critical", ("add login",))]
    assert selected([memory("older"), newer]) == ["newer", "older"]
    assert selected(better) == ["whole", "inside"]


def test_what_votes_made_useless_is_left_out():
    assert selected([memory("harmful", usefulness=0.25)], min_usefulness=0.5) == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Auth module\n\ntext", "Auth module"),
        ("text first\n## Then a heading", "Then a heading"),
        ("just words", "just words"),
        ("", ""),
        ("w " * 50, " ".join(["w"] * 12)),
    ],
)
def test_a_title_is_the_first_heading_or_the_first_words(text, title):
    assert title_of(text) == title


@pytest.mark.req("R-001-078", "R-001-079")
def test_the_configuration_of_an_agent_as_the_specification_writes_it():
    given = {"developer": {"memory": {"maxInjected": 5, "minImportance": "medium"}}}
    read = rules_for(selection.check(given), "Developer")
    assert (read.max_memories, read.min_importance) == (5, "medium")
    other = rules_for(selection.check(given), "tester")
    assert (other.max_memories, other.min_importance) == (5, "low")


@pytest.mark.req("R-001-078")
def test_an_agents_own_table_goes_before_the_default():
    given = selection.check(
        {"default": {"max_injected": 2}, "planner": {"max_injected": 3, "tags": ["Maps"]}}
    )
    assert rules_for(given, "planner").max_memories == 3
    assert rules_for(given, "planner").points.specialty == {"maps"}
    assert rules_for(given, "tester").max_memories == 2
    assert "tests" in rules_for(given, "tester").points.specialty


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "one table per agent"),
        ({"a": 1}, "must be a table"),
        ({"a": {"maxinjected": 1}}, "unknown key 'maxinjected'"),
        ({"a": {"max_injected": "5"}}, "max_injected of 'a' must be a whole number"),
        ({"a": {"min_importance": "huge"}}, "min_importance of 'a' must be one of"),
        ({"a": {"tags": "code"}}, "tags of 'a' must be a list"),
    ],
)
def test_a_faulty_configuration_is_told_what_is_allowed(given, said):
    with pytest.raises(InvalidInput, match=said):
        selection.check(given)


def test_a_level_is_one_of_four_words():
    assert level("HIGH") == "high"
    with pytest.raises(InvalidInput, match="low, medium, high, critical"):
        level("urgent")


def rules_for(setting, agent):
    return selection.rules_of(setting, agent, per_title_word=5, per_tag=5, min_usefulness=0.5)
