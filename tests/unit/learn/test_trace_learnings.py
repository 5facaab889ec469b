"""What executions of one group teach: insights, an approach, anti-patterns, each with evidence."""

import pytest

from memory_mesh.learn.rules import trace_learnings
from memory_mesh.learn.rules.trace_learnings import Execution, TraceFinding, findings

STEPS = (
    ("Run the login test fifty times", "success"),
    ("Freeze the clock in the fixture", "success"),
    ("Run the whole suite", "success"),
)


def _run(number: int, **details: object) -> Execution:
    stated: dict[str, object] = {"success": True, "tools": ("pytest",), "steps": STEPS}
    return Execution(f"trace-{number}", "fix the login test", **(stated | details))  # type: ignore[arg-type]


@pytest.mark.req("R-002-046")
def test_what_several_traces_learned_is_one_insight_with_all_of_them_as_evidence() -> None:
    said = ("Freeze the clock in the fixture", "Freeze the clock in fixtures!")
    found = findings([_run(1, learnings=said[:1]), _run(2, learnings=said[1:]), _run(3)])
    assert found.insights == (
        TraceFinding("Freeze the clock in the fixture", ("trace-1", "trace-2")),
    )


def test_a_warning_is_an_anti_pattern_and_no_insight() -> None:
    found = findings([_run(1, learnings=("Never retry a flaky test", "Retry the deploy once"))])
    assert [one.text for one in found.anti_patterns] == ["Never retry a flaky test"]
    assert [one.text for one in found.insights] == ["Retry the deploy once"]


def test_the_approach_is_what_successes_share_in_the_same_order() -> None:
    other = (("Read the log", "success"), *STEPS[1:])
    found = findings([_run(1), _run(2, steps=other), _run(3, success=False)])
    assert [one.text for one in found.approach] == [STEPS[1][0], STEPS[2][0]]
    assert found.approach[0].traces == ("trace-1", "trace-2")
    assert found.agreed


@pytest.mark.req("R-002-049")
def test_steps_that_no_other_success_takes_are_shown_and_not_agreed() -> None:
    alone = findings([_run(1), _run(2, success=False)])
    assert [one.text for one in alone.approach] == [text for text, _ in STEPS]
    assert not alone.agreed
    assert findings([_run(1, success=False)]).approach == ()
    one_step = findings([_run(1, steps=STEPS[:1]), _run(2, steps=STEPS[:1])])
    assert one_step.approach
    assert not one_step.agreed  # a skill needs two steps


def test_failed_steps_and_tools_of_failures_are_to_be_avoided() -> None:
    steps = (("Restart the database", "failed: it was locked"), STEPS[0])
    failures = [_run(number, success=False, tools=("sed",), steps=steps) for number in (3, 4)]
    found = findings([_run(1), _run(2), *failures])
    texts = {one.text: one.traces for one in found.anti_patterns}
    assert texts["Restart the database (failed)"] == ("trace-3", "trace-4")
    assert texts["Only executions that failed used sed"] == ("trace-3", "trace-4")
    assert "Every success used pytest, no failure did" in [one.text for one in found.insights]


def test_a_step_that_failed_once_and_is_advised_is_no_anti_pattern() -> None:
    failed = _run(3, success=False, steps=((STEPS[1][0], "failed"),))
    assert findings([_run(1), _run(2), failed]).anti_patterns == ()


def test_at_most_seven_items_those_with_most_evidence_first() -> None:
    words = ["apples", "bridges", "candles", "deserts", "engines", "forests", "harbours", "islands"]
    runs = [_run(1, learnings=tuple(f"Look at {word}" for word in words))]
    runs.append(_run(2, learnings=("Look at islands",)))
    found = findings(runs).insights
    assert len(found) == trace_learnings.MOST_ITEMS
    assert found[0] == TraceFinding("Look at islands", ("trace-1", "trace-2"))


def test_the_name_of_a_pattern_is_its_most_typical_goal() -> None:
    goals = ["Fix login", "fix the flaky login test", "The login test is flaky", "x" * 300]
    assert trace_learnings.pattern_name(goals) == "Fix the flaky login test"
    assert len(trace_learnings.pattern_name(["word " * 60])) <= trace_learnings.NAME_CHARS + 2


@pytest.mark.parametrize(
    ("successes", "count", "wanted"),
    [(0, 0, 0), (0, 9, 0), (9, 9, 100), (999, 1000, 99), (2, 3, 67)],
)
def test_the_rate_is_0_or_100_only_where_that_is_true(
    successes: int, count: int, wanted: int
) -> None:
    assert trace_learnings.rate(successes, count) == wanted


def test_evidence_stands_at_the_end_of_a_line() -> None:
    assert trace_learnings.with_evidence(TraceFinding("Wait", ("a", "b"))) == "Wait [a, b]"
    many = trace_learnings.with_evidence(TraceFinding("Wait", tuple("abcde")))
    assert many == "Wait [a, b, c and 2 more]"


@pytest.mark.req("R-002-073")
def test_figures_are_kept_as_sums_and_means_of_all_executions() -> None:
    first = [_run(number, duration_ms=100) for number in range(3)]
    record = trace_learnings.grown(None, first, first)
    more = [_run(9, duration_ms=700, success=False, tools=("git", "git"))]
    record = trace_learnings.grown(record, more, [*first, *more])
    plain = trace_learnings.plain(record)
    assert (plain["count"], plain["successes"], plain["mean_duration_ms"]) == (4, 3, 250)
    assert plain["tools"] == {"pytest": 3, "git": 1}
    assert trace_learnings.common_tools(record.tools, record.count) == ("pytest",)
