"""Goals are grouped by words or vectors and by tools, the same in one slice as in many."""

import struct

import pytest
from hypothesis import given, strategies as st

from bench.trace_groups import b_cubed, read, scores
from memory_mesh.learn.rules import trace_groups
from memory_mesh.learn.rules.trace_groups import Goal, GoalGroup, goal_of, likeness, place

LOGIN = ("fix the flaky login test", "the login test is flaky, fix it", "fix flaky login test #77")
DEPLOY = ("deploy the shop to staging", "deploy shop to staging again")
WORDS = st.sampled_from(["fix", "test", "login", "deploy", "shop", "staging", "report", "coupon"])
GOALS = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), max_size=15)


def _goals(*texts: str, tools: tuple[str, ...] = ()) -> list[Goal]:
    return [goal_of(f"trace-{number:03}", text, tools) for number, text in enumerate(texts)]


@pytest.mark.req("R-002-045")
def test_goals_of_one_task_are_one_group_and_others_are_not() -> None:
    assert place(_goals(*LOGIN, *DEPLOY, "write the report")) == [0, 0, 0, 1, 1, 2]


def test_vectors_decide_where_both_goals_have_one() -> None:
    near, far = struct.pack("<2f", 0.8, 0.6), struct.pack("<2f", 0.0, 1.0)
    one = goal_of("a", "repair the sign-in", vector=struct.pack("<2f", 1.0, 0.0), model="other")
    assert place([one, goal_of("b", "fix login", vector=near, model="other")]) == [0, 0]
    assert place([one, goal_of("b", "repair the sign-in", vector=far, model="other")]) == [0, 1]
    assert place([one, goal_of("b", "repair the sign-in")]) == [0, 0]  # words, without a vector


def test_tools_speak_for_a_group_or_against_it() -> None:
    text, other = "update the parser", "update the parser docs for users"
    same = likeness(goal_of("a", text, ("pytest", "git")), goal_of("b", other, ("git", "pytest")))
    unknown = likeness(goal_of("a", text, ("pytest",)), goal_of("b", other))
    apart = likeness(goal_of("a", text, ("pytest",)), goal_of("b", other, ("sphinx",)))
    assert same > unknown > apart


def test_numbers_of_tickets_do_not_keep_goals_apart() -> None:
    one, other = _goals("close ticket 4711", "close ticket 4712")
    assert one.terms == other.terms
    assert goal_of("c", "4711").terms == {"4711"}  # unless there is nothing else


@given(GOALS, st.integers(0, 15))
def test_in_slices_goals_come_into_the_same_groups_as_at_once(texts: list[str], cut: int) -> None:
    goals = _goals(*texts)
    whole = place(goals)
    first = place(goals[:cut])
    groups: list[GoalGroup] = []
    for goal, where in zip(goals, first, strict=False):
        if where == len(groups):
            groups.append(GoalGroup((goal,)))
        else:
            groups[where] = groups[where].joined(goal)
    assert first + place(goals[cut:], groups) == whole


def test_a_group_is_compared_by_its_first_goals_only() -> None:
    group = GoalGroup((_goals("fix login")[0],))
    for number in range(20):
        group = group.joined(goal_of(str(number), "fix login"))
    assert (len(group.goals), group.size) == (trace_groups.EXEMPLARS, 21)


@pytest.mark.req("R-002-079")
def test_the_thresholds_reach_what_was_measured_on_the_dev_half() -> None:
    projects, _ = read("dev", "none")
    assert projects is not None
    found = scores(projects)
    assert found["precision"] >= 0.85
    assert found["f0.5"] >= 0.79
    assert trace_groups.cosine_threshold("all-MiniLM-L6-v2") < trace_groups.COSINE
    assert trace_groups.cosine_threshold("a model nobody measured") == trace_groups.COSINE


@pytest.mark.req("R-002-079")
def test_with_the_model_goals_in_other_words_are_found(
    model_folder: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMORY_MESH_EMBEDDER")
    projects, model = read("dev", "local")
    assert projects is not None
    assert model == "all-MiniLM-L6-v2"
    found = scores(projects)
    assert found["precision"] >= 0.85
    assert found["recall"] >= 0.7


def test_b_cubed_counts_each_goal() -> None:
    assert b_cubed([0, 0, 1], ["a", "a", "b"]) == (1.0, 1.0)
    assert b_cubed([0, 1, 2], ["a", "a", "b"]) == pytest.approx((1.0, 2 / 3))
    assert b_cubed([0, 0, 0], ["a", "a", "b"]) == pytest.approx((5 / 9, 1.0))
