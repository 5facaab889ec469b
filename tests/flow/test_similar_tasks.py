"""Similar tasks and plans: what earlier executions say of the next one, each item cited."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory_mesh.formats import yamo
from memory_mesh.learn.rules.trace_groups import by_words, normalised
from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.trace import Advice, Step, Trace, TraceStatus
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock

AT = datetime(2026, 3, 1, tzinfo=UTC)
FAILED = TraceStatus.FAILURE
LEARNING = """\
# Learning: flaky login test

## Context
- Observed in 4 executions
- Success rate: 75%
- Common tools: pytest

## Key Insights
1. The clock is the cause

## Recommended Approach
1. Freeze the clock
2. Run the test twenty times

## Anti-Patterns
- Retrying the test
- Sleeping longer
"""


@pytest.fixture
def meaning(tmp_path: Path, model_folder: Path) -> Iterator[MemoryMesh]:
    with MemoryMesh(db_dir=tmp_path / "m", embedder="local", model_dir=str(model_folder)) as mesh:
        yield mesh


@pytest.mark.req("R-002-002")
@pytest.mark.req("R-002-036")
def test_a_goal_in_other_words_is_found_by_meaning(meaning: MemoryMesh) -> None:
    meaning.traces.record("Make the checkout page load faster")
    meaning.traces.record("Translate the handbook into French")
    found = meaning.traces.similar("The shop's payment screen is slow")
    assert [match.goal for match in found] == ["Make the checkout page load faster"]
    assert 0.3 <= found[0].similarity <= 1.0


@pytest.mark.req("R-002-036")
def test_without_vectors_words_still_find_a_similar_goal(mesh: MemoryMesh) -> None:
    mesh.traces.record("Fix the flaky login test")
    mesh.traces.record("Translate the handbook into French")
    found = mesh.traces.similar("The login tests fail sometimes")
    assert [match.goal for match in found] == ["Fix the flaky login test"]
    assert mesh.traces.similar("fix the FLAKY login-test!")[0].similarity == 1.0


@pytest.mark.req("R-002-035")
def test_a_query_is_in_lower_case_and_without_punctuation(tmp_path: Path) -> None:
    assert normalised("  Fix: the LOGIN-test (again)!\n") == "fix the login test again"
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.traces.record("Fix the login test")
        assert mesh.traces.similar("FIX!! the Login, please?")
    with MemoryMesh(db_dir=tmp_path) as mesh:
        (block,) = mesh.care.recalls()
    assert dict(yamo.parse(block.entry.wire or "").context)["query"] == "fix the login please"


@pytest.mark.req("R-002-037")
@pytest.mark.req("R-002-038")
def test_three_matches_and_a_similarity_of_three_tenths_are_the_defaults(
    mesh: MemoryMesh,
) -> None:
    for number in range(5):
        mesh.traces.record(f"Fix login test number {number}")
    mesh.traces.record(" ".join(["login", *(f"word{number}" for number in range(150))]))
    assert len(mesh.traces.similar("Fix login test")) == 3
    every = mesh.traces.similar("login", limit=50, min_similarity=0.0)
    near = mesh.traces.similar("login", limit=50)
    assert len(every) == 6
    assert [match for match in every if match.similarity >= 0.3] == near
    assert len(near) == 5


@pytest.mark.req("R-002-039")
def test_a_time_window_leaves_out_executions_before_and_after(mesh: MemoryMesh) -> None:
    for day in range(4):
        mesh.traces.record(f"Fix login on day {day}", timestamp=AT + timedelta(days=day))
    window = (AT + timedelta(days=1), AT + timedelta(days=2))
    found = mesh.traces.similar("Fix login", limit=10, time_window=window)
    assert {match.goal for match in found} == {"Fix login on day 1", "Fix login on day 2"}
    plan = mesh.traces.plan("Fix login", time_window=window)
    assert {match.goal for match in plan.matches} == {match.goal for match in found}
    assert len(mesh.traces.similar("Fix login", limit=10)) == 4


@pytest.mark.req("R-002-040")
def test_a_match_has_the_fields_of_the_interface(mesh: MemoryMesh) -> None:
    good = mesh.traces.record("Fix login", tools_used=["rg"], steps=["look", ("guess", "failure")])
    bad = mesh.traces.record("Fix login page", status="failure", plan="guess")
    planned = mesh.traces.record("Fix login form", plan="1. read")
    found = {match.trace_id: match.record() for match in mesh.traces.similar("Fix login")}
    assert found[str(good.id)] == {
        "goal": "Fix login",
        "similarity": 1.0,
        "suggestedApproach": "1. look",
        "toolsUsed": ["rg"],
        "success": True,
        "traceId": good.id,
    }
    assert found[str(bad.id)]["success"] is False
    assert "suggestedApproach" not in found[str(bad.id)]
    assert found[str(planned.id)]["suggestedApproach"] == "1. read"


def test_a_query_for_similar_tasks_is_one_search(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.traces.record_many(Trace(f"Fix login number {number}") for number in range(300))
        mesh.traces.similar("Fix login")
        mesh.traces.similar("Fix login on monday", limit=100)
    with MemoryMesh(db_dir=tmp_path) as mesh:
        assert len(mesh.care.recalls()) == 2


def test_of_equally_similar_goals_the_newest_comes_first(mesh: MemoryMesh) -> None:
    ids = [
        str(mesh.traces.record("Fix login", timestamp=AT + timedelta(days=day)).id)
        for day in (1, 3, 2)
    ]
    found = [match.trace_id for match in mesh.traces.similar("Fix login")]
    assert found == [ids[1], ids[2], ids[0]]


def test_only_traces_of_the_reader_answer(tmp_path: Path, clock: FrozenClock) -> None:
    with MemoryMesh(db_dir=tmp_path, clock=clock, project="web") as mesh:
        mesh.traces.record("Fix login")
        mesh.add("Fix login is on the list")
        other = mesh.view(scope=Scope("shop"))
        assert other.traces.similar("Fix login") == []
        assert other.traces.plan("Fix login").matches == ()
        assert [match.goal for match in mesh.traces.similar("Fix login")] == ["Fix login"]


def test_a_goal_of_another_script_is_compared_by_its_words(meaning: MemoryMesh) -> None:
    meaning.traces.record("修复登录测试")
    meaning.traces.record("翻译用户手册")
    found = meaning.traces.similar("修复登录页面")
    assert [match.goal for match in found] == ["修复登录测试"]


def test_wrong_options_are_refused(mesh: MemoryMesh) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        mesh.traces.similar("x", limit=0)
    with pytest.raises(InvalidInput, match="min_similarity"):
        mesh.traces.similar("x", min_similarity=2)
    with pytest.raises(InvalidInput, match="start of time_window"):
        mesh.traces.similar("x", time_window=("yesterday", None))
    assert mesh.traces.similar("?!") == []


def test_words_in_common_are_a_similarity_from_nothing_to_all() -> None:
    assert by_words("", "fix login") == 0.0
    assert by_words("fix login", "translate") == 0.0
    assert by_words("fix login", "login fixes") == 1.0
    assert 0.3 < by_words("fix flaky login test", "login page is slow today") < 0.9


@pytest.mark.req("R-002-003")
@pytest.mark.req("R-002-074")
@pytest.mark.req("R-002-075")
@pytest.mark.req("R-002-076")
@pytest.mark.req("R-002-077")
def test_a_plan_says_what_worked_what_failed_and_what_to_avoid_and_cites_it(
    mesh: MemoryMesh,
) -> None:
    steps = (Step("Freeze the clock"), Step("Run it twice", "failure"), Step("Run it again"))
    done = Trace(
        "Fix flaky login test", steps=steps, tools_used=("pytest", "rg"), learnings=("Time it",)
    )
    good = mesh.traces.record(done)
    same = mesh.traces.record(
        Trace("Fix the flaky login test", steps=steps, tools_used=("pytest",))
    )
    bad = mesh.traces.record(
        "Stabilise flaky login test",
        status=FAILED,
        steps=[("Raise the timeout", "failure")],
        results="It still  fails",
        learnings=["Do not wait longer", "sleeping  LONGER."],
    )
    learning = mesh.add(LEARNING, {"type": "learning"})
    mesh.traces.record("Translate the handbook")
    plan = mesh.traces.plan("fix the flaky login test!")
    assert plan.worked == (
        Advice("1. Freeze the clock\n2. Run the test twenty times", (str(learning.id),)),
        Advice("1. Freeze the clock\n2. Run it again", (str(same.id), str(good.id))),
        Advice("Time it", (str(good.id),)),
    )
    text = "Stabilise flaky login test - failed at: Raise the timeout - It still fails"
    assert plan.failed == (Advice(text, (str(bad.id),)),)
    assert plan.avoid == (
        Advice("Retrying the test", (str(learning.id),)),
        Advice("Sleeping longer", (str(learning.id), str(bad.id))),
        Advice("Do not wait longer", (str(bad.id),)),
        Advice("Run it twice (failure)", (str(same.id), str(good.id))),
    )
    assert plan.tools == ("pytest", "rg")
    assert {match.trace_id for match in plan.matches} == {good.id, same.id, bad.id}
    for advice in (*plan.worked, *plan.failed, *plan.avoid):
        assert advice.cites
        assert all(mesh.get(id_) is not None for id_ in advice.cites)


def test_a_lesson_of_the_store_is_something_to_avoid(mesh: MemoryMesh) -> None:
    lesson = mesh.distill_lesson(
        {
            "situation": "deploying the shop",
            "error_pattern": "deploy without a migration",
            "oversight": "the migration was forgotten",
            "fix": "migrate",
            "preventative_rule": "Run the migration before you deploy the shop",
            "severity": "high",
            "applicable_scope": "deploying the shop",
        }
    )
    plan = mesh.traces.plan("deploy the shop")
    assert [(one.text, one.cites) for one in plan.avoid] == [
        ("Run the migration before you deploy the shop", (lesson.memory_id,))
    ]


def test_a_learning_in_other_words_is_found_by_meaning(meaning: MemoryMesh) -> None:
    text = "# Learning: slow payment screen\n\n## Recommended Approach\nCompress the images\n"
    learning = meaning.add(text, {"type": "learning"})
    plan = meaning.traces.plan("Make the checkout page load faster")
    assert plan.worked == (Advice("Compress the images", (str(learning.id),)),)
    assert meaning.traces.plan("修复登录页面").worked == ()


def test_a_learning_of_several_traces_is_found_by_their_goals_and_cites_them(
    mesh: MemoryMesh,
) -> None:
    steps = ["Run the checks", "Tag the release of the shop"]
    traces = [
        str(mesh.traces.record(f"Release version {number} of the shop", steps=steps).id)
        for number in (1, 2)
    ]
    for sale in ("spring", "summer"):
        name = f"Add a voucher for the {sale} sale"
        mesh.traces.record(name, steps=["Release the shop", "Run version checks"])
    mesh.care.run_jobs(["consolidate-traces"])
    release, _ = sorted(
        (memory.id for memory in mesh.get_all(filter="label = 'learning'")),
        key=lambda id_: "voucher" in mesh.history(id_)[-1].text,
    )
    plan = mesh.traces.plan("Release version 3 of the shop")
    text = "1. Run the checks\n2. Tag the release of the shop"
    assert plan.worked == (Advice(text, (release, *traces)),)


def test_a_learning_that_recommends_nothing_gives_no_advice(mesh: MemoryMesh) -> None:
    for number in (1, 2):
        mesh.traces.record(f"Release version {number} of the shop", status="failure")
    mesh.care.run_jobs(["consolidate-traces"])
    mesh.add(
        "# Learning: releases of the shop\n\n## Recommended Approach\n1. None observed\n"
        "\n## Anti-Patterns\n- None observed\n",
        {"type": "learning"},
    )
    plan = mesh.traces.plan("Release version 3 of the shop")
    assert len(plan.failed) == 2
    assert (plan.worked, plan.avoid) == ((), ())


def test_many_learnings_are_searched(mesh: MemoryMesh) -> None:
    mesh.add_many(
        {
            "content": f"# Learning: {number}\n\n## Recommended Approach\nDust shelf {number}",
            "metadata": {"type": "learning"},
        }
        for number in range(201)
    )
    learning = mesh.add(LEARNING, {"type": "learning"})
    plan = mesh.traces.plan("fix the flaky login test")
    assert [advice.cites for advice in plan.worked] == [(learning.id,)]


def test_a_task_that_nobody_did_before_has_an_empty_plan(mesh: MemoryMesh) -> None:
    plan = mesh.traces.plan("Colonise Mars")
    assert (plan.worked, plan.failed, plan.avoid, plan.matches) == ((), (), (), ())
    assert plan.record()["worked"] == []
