"""Traces of one kind become a learning, once, with their evidence, and never across projects."""

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import FrameType

import pytest

from memory_mesh.formats import project_memory
from memory_mesh.ledgers.shared import rows
from memory_mesh.model import Channel, Kind, Scope, SourceKind, Status, Tier
from memory_mesh.model.errors import NotAllowed
from memory_mesh.model.trace import Trace
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.flow.executions import learnings, record_deploys, record_login

NAME = "Fix the flaky login test in build 0"
JOB = ["consolidate-traces"]


def _counting(call: Callable[[], object]) -> int:
    """How many memories a call reads from the ledger."""
    count = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is rows.memory.__code__

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.req("R-002-004")
@pytest.mark.req("R-002-044")
@pytest.mark.req("R-002-047")
@pytest.mark.req("R-002-048")
def test_traces_of_one_kind_become_a_learning_in_long_term_memory(mesh: MemoryMesh) -> None:
    logins, deploys = record_login(mesh, 6), record_deploys(mesh, 3)
    alone = mesh.traces.record("Write the quarterly report").id
    (report,) = mesh.care.run_jobs(JOB)
    assert [step.action for step in report.steps] == ["learn", "learn", "leave", "stage"]
    (learning,) = [each for each in mesh.get_all() if each.text.startswith(f"# Learning: {NAME}")]
    assert (learning.kind, learning.label, learning.tier) == (
        Kind.LEARNING,
        "learning",
        Tier.LONG_TERM,
    )
    read = project_memory.parse(learning.text)
    assert read is not None
    assert (read.count, read.rate, read.tools) == (6, 67, ("git", "pytest"))
    assert read.approach[0].startswith("Run the login test fifty times [trace-")
    assert {link.target for link in mesh.graph.links(learning.id)} == set(logins)
    assert set(report.steps[1].evidence) == set(deploys)
    assert report.steps[2].ids == (alone,)


def test_a_second_run_does_nothing(mesh: MemoryMesh) -> None:
    record_login(mesh, 12)
    mesh.care.run_jobs()
    before, seq = mesh.care.blocks(limit=1_000), mesh.stats().seq
    assert [report.ran for report in mesh.care.run_jobs()] == [False] * 4
    (again,) = mesh.care.run_jobs(JOB)
    assert (again.slices, again.steps) == (0, ())
    assert (mesh.care.blocks(limit=1_000), mesh.stats().seq) == (before, seq)


def test_later_traces_extend_the_same_learning(mesh: MemoryMesh, clock: FrozenClock) -> None:
    record_login(mesh, 4)
    (first,) = mesh.care.run_jobs(JOB)
    clock.advance(timedelta(hours=1))
    more = record_login(mesh, 3)
    (second,) = mesh.care.run_jobs(JOB)
    (step,) = second.steps
    assert (step.action, step.ids, step.evidence) == ("extend", first.steps[0].ids, tuple(more))
    (id_,) = step.ids
    versions = mesh.history(id_)
    assert ["Observed in 4" in each.text for each in versions] == [True, False]
    assert "Observed in 7 executions" in versions[-1].text
    assert len(mesh.graph.links(id_)) == 7
    assert mesh.care.verify().findings == ()


def test_a_trace_that_was_left_alone_is_joined_by_a_later_one(mesh: MemoryMesh) -> None:
    (first,) = record_deploys(mesh, 1)
    assert [step.action for step in mesh.care.run_jobs(JOB)[0].steps] == ["leave"]
    (second,) = record_deploys(mesh, 1)
    (step,) = mesh.care.run_jobs(JOB)[0].steps
    assert (step.action, set(step.evidence)) == ("learn", {first, second})


def test_traces_of_two_projects_never_meet(mesh: MemoryMesh) -> None:
    for project in ("shop", "blog"):
        record_login(mesh, 2, scope=Scope(project))
    (report,) = mesh.care.run_jobs(JOB, scope=Scope("shop"))
    assert [(step.action, step.about) for step in report.steps if not step.ids] == [
        ("learn", "of another audience"),
        ("stage", "of another audience"),
    ]
    assert report.count("learn") == 2
    for project in ("shop", "blog"):
        (learning,) = mesh.get_all(filter="label = 'learning'", scope=Scope(project))
        assert learning.scope == Scope(project)
        assert "Observed in 2 executions" in learning.text
    told = mesh.care.run_jobs(JOB, dry_run=True, across=("project",))
    assert all(step.about != "of another audience" for step in told[0].steps)


@pytest.mark.req("R-002-008", "R-002-049")
def test_steps_that_successes_agree_on_are_staged_as_a_skill_once(mesh: MemoryMesh) -> None:
    traces = record_login(mesh, 4)
    (report,) = mesh.care.run_jobs(JOB)
    (learning,) = mesh.get_all(filter="label = 'learning'")
    assert {learning.id} < {*report.steps[-1].evidence} <= {learning.id, *traces}
    (skill,) = mesh.list_skills(include=["quarantined"])
    assert skill.status is Status.QUARANTINED
    assert report.steps[-1].ids == (skill.id,)
    assert "step_2;Freeze the clock in the fixture" in skill.text.replace("; ", ";")
    mesh.review(skill.id, approve=False, reason="not needed")
    record_login(mesh, 3)
    assert [step.action for step in mesh.care.run_jobs(JOB)[0].steps] == ["extend"]
    assert mesh.list_skills(include=["quarantined"]) == []


def test_a_learning_that_a_person_rewrote_keeps_their_words(mesh: MemoryMesh) -> None:
    record_login(mesh, 2)
    (id_,) = mesh.care.run_jobs(JOB)[0].steps[0].ids
    mesh.update(id_, "Ask Ana about the login test")
    more = record_login(mesh, 2)
    (step,) = mesh.care.run_jobs(JOB)[0].steps
    assert (step.action, step.ids, step.evidence) == ("mark", (id_,), tuple(more))
    found = mesh.get(id_)
    assert found is not None
    assert found.text == "Ask Ana about the login test"


def test_a_pinned_learning_stays_as_it_is(mesh: MemoryMesh) -> None:
    record_login(mesh, 2)
    (id_,) = mesh.care.run_jobs(JOB)[0].steps[0].ids
    mesh.pin(id_)
    before = mesh.history(id_)
    record_login(mesh, 2)
    assert [step.action for step in mesh.care.run_jobs(JOB)[0].steps] == ["mark"]
    assert mesh.history(id_) == before


def test_a_learning_keeps_its_tags_and_is_found_by_them(mesh: MemoryMesh) -> None:
    record_login(mesh, 2)
    (id_,) = mesh.care.run_jobs(JOB)[0].steps[0].ids
    mesh.update(id_, tags=["zebrafish"])
    record_login(mesh, 2)
    assert [step.action for step in mesh.care.run_jobs(JOB)[0].steps] == ["extend"]
    assert [hit.id for hit in mesh.search("zebrafish")] == [id_]
    assert mesh.care.verify().findings == ()


def test_an_agent_runs_jobs_and_does_not_archive_projects(mesh: MemoryMesh) -> None:
    agent = mesh.view(channel=Channel.ASSISTANT)
    record_login(agent, 2)
    assert agent.care.run_jobs(JOB)[0].count("learn") == 1
    with pytest.raises(NotAllowed, match="only the user can archive a project"):
        agent.care.archive_project("shop")


def test_a_learning_that_was_deleted_is_not_made_again(mesh: MemoryMesh) -> None:
    record_login(mesh, 2)
    (id_,) = mesh.care.run_jobs(JOB)[0].steps[0].ids
    mesh.delete(id_)
    record_login(mesh, 4)
    assert [step.action for step in mesh.care.run_jobs(JOB)[0].steps] == ["mark"]
    assert learnings(mesh) == {}


def test_a_deleted_trace_is_left_out_until_it_is_restored(mesh: MemoryMesh) -> None:
    gone, _ = record_login(mesh, 2)
    mesh.delete(gone)
    assert [step.action for step in mesh.care.run_jobs(JOB)[0].steps] == ["leave"]
    mesh.restore(gone)
    (step, *_) = mesh.care.run_jobs(JOB)[0].steps
    assert (step.action, gone in step.evidence) == ("learn", True)


def test_a_learning_is_trusted_no_more_than_its_traces(mesh: MemoryMesh) -> None:
    agent = mesh.view(channel=Channel.ASSISTANT)
    record_login(mesh, 2)
    (id_,) = mesh.care.run_jobs(JOB)[0].steps[0].ids
    record_login(agent, 2)
    (other,) = mesh.care.run_jobs(JOB)[0].steps[0].ids
    own, found = mesh.get(id_), mesh.get(other)
    assert own is not None
    assert found is not None
    assert own.source.kind is SourceKind.USER_IMPLICIT
    assert found.source.kind is SourceKind.INFERENCE


@pytest.mark.req("R-002-041")
@pytest.mark.req("R-002-042")
def test_it_is_due_after_ten_new_traces_or_a_week(mesh: MemoryMesh, clock: FrozenClock) -> None:
    assert [report.due.now for report in mesh.care.jobs()] == [False] * 4
    record_login(mesh, 9)
    assert not mesh.care.jobs()[0].due.now
    record_deploys(mesh, 1)
    due = mesh.care.jobs()[0].due
    assert (due.now, due.why) == (True, "10 or more new traces of one project")
    assert [report.ran for report in mesh.care.run_jobs()] == [True, False, False, False]
    assert not mesh.care.jobs()[0].due.now
    record_deploys(mesh, 1)
    clock.advance(timedelta(days=6))
    assert not mesh.care.jobs()[0].due.now
    clock.advance(timedelta(days=1))
    assert mesh.care.jobs()[0].due.now


@pytest.mark.req("R-002-042")
def test_without_any_run_the_week_begins_with_the_first_trace(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    record_deploys(mesh, 1)
    clock.advance(timedelta(days=7))
    record_deploys(mesh, 1)
    assert mesh.care.jobs()[0].due.now


@pytest.mark.req("R-002-043")
def test_a_project_is_consolidated_before_it_is_archived(mesh: MemoryMesh) -> None:
    shop, blog = Scope("shop"), Scope("blog")
    mine, others = record_login(mesh, 2, scope=shop), record_login(mesh, 2, scope=blog)
    alone = mesh.traces.record("Write the report", scope=shop).id
    planned = mesh.care.archive_project("shop", dry_run=True)
    assert planned[1].count("archive") == 2
    first, second = mesh.care.archive_project("shop")
    assert (first.count("learn"), first.count("leave")) == (1, 1)
    assert [step.ids[0] for step in second.steps] == mine
    assert learnings(mesh.view(scope=blog)) == {}
    left = [trace.trace_id for trace in mesh.traces(scope=shop)]
    assert left == [alone]  # nothing was learned from it yet
    kept = [trace.trace_id for trace in mesh.traces(scope=shop, include=["archived"])]
    assert set(kept) == {*mine, alone}
    assert {trace.trace_id for trace in mesh.traces(scope=blog)} == set(others)


def test_a_dry_run_says_what_the_run_does_and_changes_nothing(mesh: MemoryMesh) -> None:
    record_login(mesh, 8)
    record_deploys(mesh, 4)
    mesh.traces.record("Write the report")
    seq = mesh.stats().seq
    (planned,) = mesh.care.run_jobs(JOB, dry_run=True)
    assert planned.dry_run
    assert (mesh.stats().seq, learnings(mesh)) == (seq, {})
    (done,) = mesh.care.run_jobs(JOB)
    assert sorted(step.action for step in planned.steps) == sorted(
        step.action for step in done.steps
    )
    for action in ("learn", "leave"):
        told = [
            [(step.about, step.evidence) for step in report.steps if step.action == action]
            for report in (planned, done)
        ]
        assert told[0] == told[1]


def test_in_slices_it_learns_what_it_learns_at_once(tmp_path: Path, clock: FrozenClock) -> None:
    texts, counts = [], []
    for max_slices in (1, None):
        with MemoryMesh(db_dir=tmp_path / str(max_slices), clock=clock) as mesh:
            mesh.traces.record_many(
                Trace(
                    ("Deploy the shop", "Fix the login test", "Write docs")[number % 3],
                    trace_id=f"trace-{number:05}-abcdef",
                    learnings=(f"Check the {('queue', 'lock')[number % 2]} first",),
                )
                for number in range(230)
            )
            reports = [mesh.care.run_jobs(JOB, max_slices=max_slices)[0]]
            while not reports[-1].complete:
                reports += mesh.care.run_jobs(JOB, max_slices=max_slices)
            texts.append(learnings(mesh))
            counts.append(len(reports))
    assert texts[0] == texts[1]
    assert "Observed in 77 executions" in texts[0]["Deploy the shop"]
    assert counts[0] > counts[1] == 1


def test_the_cost_grows_with_the_new_traces_and_not_with_all(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    mesh.traces.record_many([Trace("Deploy the shop")] * 600)
    mesh.care.run_jobs(JOB)
    assert _counting(lambda: mesh.care.run_jobs(JOB)) <= 102  # one page, to see that nothing is new
    record_deploys(mesh, 2)
    assert (
        _counting(lambda: mesh.care.run_jobs(JOB)) < 400
    )  # a page, and 100 traces of the learning
    clock.advance(timedelta(days=2))
    mesh.care.run_jobs(["retention", "consolidate-memories"])
    assert _counting(mesh.care.jobs) < 150  # what is archived is not read again


def test_a_learning_of_many_traces_counts_all_and_quotes_the_newest(mesh: MemoryMesh) -> None:
    said = ["Look at the old queue"] * 100 + ["Look at the new cache"] * 140
    mesh.traces.record_many([Trace("Deploy the shop", learnings=(each,)) for each in said])
    mesh.care.run_jobs(JOB)
    (text,) = learnings(mesh).values()
    assert "Observed in 240 executions" in text
    assert "Look at the new cache" in text
    assert "Look at the old queue" not in text


def test_with_vectors_goals_in_other_words_are_one_learning(
    tmp_path: Path, model_folder: Path
) -> None:
    goals = ("write documentation for the API", "describe the API endpoints in the docs")
    counts = []
    for embedder in ("none", "local"):
        with MemoryMesh(
            db_dir=tmp_path / embedder, embedder=embedder, model_dir=model_folder
        ) as mesh:
            for goal in goals:
                mesh.traces.record(goal)
            counts.append(mesh.care.run_jobs(JOB)[0].count("learn"))
    assert counts == [0, 1]


def test_personal_data_in_traces_does_not_come_back_in_learnings(mesh: MemoryMesh) -> None:
    for _ in range(2):
        mesh.traces.record(
            "Write to ana.lopez@example.org", learnings=["Ask ana.lopez@example.org first"]
        )
    mesh.care.run_jobs(JOB)
    (text,) = learnings(mesh).values()
    assert "example.org" not in text
