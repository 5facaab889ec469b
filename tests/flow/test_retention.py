"""Retention archives, merges and packs what is old, and leaves what is protected alone."""

from datetime import timedelta
from pathlib import Path

import pytest

from memory_mesh.learn import system_memory
from memory_mesh.model import Memory, Scope, Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.learning import LessonContext
from memory_mesh.model.trace import PACKED, Step, Trace, packed, trace_of, unpacked
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.flow.executions import GROWING_TOGETHER, learnings, record_deploys, record_login

BOTH = ["consolidate-traces", "retention"]
DAY, HALF_YEAR, YEAR = timedelta(hours=25), timedelta(days=183), timedelta(days=365)


def _status(mesh: MemoryMesh, memory_id: str) -> Status:
    return mesh.history(memory_id)[-1].status


def _stored(mesh: MemoryMesh, memory_id: str) -> Memory:
    return mesh.history(memory_id)[-1]


@pytest.mark.req("R-002-058")
@pytest.mark.req("R-002-059")
def test_consolidated_traces_are_archived_after_a_day_without_use(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    one, used = record_deploys(mesh, 2)
    mesh.care.run_jobs(BOTH)
    assert len(mesh.traces()) == 2
    clock.advance(timedelta(hours=20))
    mesh.traces.get(used)
    clock.advance(timedelta(hours=4))
    assert mesh.care.jobs()[1].due.why == "traces to archive: 1"
    (report,) = mesh.care.run_jobs(["retention"])
    assert [(step.action, step.ids) for step in report.steps] == [("archive", (one,))]
    assert [trace.trace_id for trace in mesh.traces()] == [used]
    clock.advance(timedelta(hours=20))
    mesh.care.run_jobs()
    assert mesh.traces() == []


@pytest.mark.req("R-002-080")
def test_an_archived_trace_is_read_and_found_where_the_archive_is_included(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    one, _ = record_deploys(mesh, 2)
    mesh.care.run_jobs(BOTH)
    clock.advance(DAY)
    mesh.care.run_jobs(BOTH)
    assert _status(mesh, one) is Status.ARCHIVED
    found = mesh.search("deploy to staging", include=["archived"])
    assert one in {hit.id for hit in found}
    assert mesh.traces.get(one, include=["archived"]) is not None
    assert mesh.care.verify().findings == ()


@pytest.mark.req("R-002-060")
def test_when_a_project_is_opened_again_its_earlier_session_is_archived(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    one, two = record_deploys(mesh, 2)
    mesh.care.run_jobs(BOTH)
    clock.advance(DAY)
    mesh.traces.get(one)  # in use today, but of a session that is over
    (new,) = record_deploys(mesh, 1)
    mesh.care.run_jobs(BOTH)
    assert [trace.trace_id for trace in mesh.traces()] == [new]
    assert {_status(mesh, id_) for id_ in (one, two)} == {Status.ARCHIVED}


def test_what_is_protected_stays_as_it_is(mesh: MemoryMesh, clock: FrozenClock) -> None:
    record_login(mesh, 3)
    mesh.care.run_jobs(BOTH)
    pinned, *_ = (trace.trace_id for trace in mesh.traces())
    mesh.pin(pinned)
    alone = str(mesh.traces.record("Write the quarterly report").id)
    note = str(mesh.add("The staging cluster is called blue", tier="short_term").id)
    system = str(mesh.add("17 executions", tier="system").id)
    lesson = mesh.distill_lesson(
        LessonContext(
            situation="deploy",
            error_pattern="lock",
            oversight="none",
            fix="none",
            preventative_rule="Always take the lock",
            severity="high",
            applicable_scope="deploys",
        )
    ).memory_id
    protected = [pinned, alone, note, system, lesson]
    before = [mesh.history(id_) for id_ in protected]
    for step in (DAY, HALF_YEAR, YEAR, 10 * YEAR):
        clock.advance(step)
        mesh.care.run_jobs(BOTH)
    assert [mesh.history(id_) for id_ in protected] == before


@pytest.mark.req("R-002-061")
@pytest.mark.req("R-002-062")
def test_after_six_months_learnings_of_the_same_kind_become_one(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    for goal in GROWING_TOGETHER:
        mesh.traces.record(goal)
    mesh.care.run_jobs(BOTH)
    first, second = (each.id for each in reversed(mesh.get_all(filter="label = 'learning'")))
    held = mesh.history(second)[-1]
    clock.advance(HALF_YEAR - timedelta(hours=1))
    assert mesh.care.run_jobs(["retention"])[0].count("merge") == 0
    clock.advance(timedelta(hours=2))
    planned = mesh.care.run_jobs(["retention"], dry_run=True)[0]
    (report,) = mesh.care.run_jobs(["retention"])
    assert planned.count("merge") == report.count("merge") == 1
    (text,) = learnings(mesh).values()
    assert "Observed in 4 executions" in text
    gone = mesh.history(second)[-1]
    assert (gone.status, gone.successor, gone.text) == (Status.SUPERSEDED, first, held.text)
    assert second in {link.target for link in mesh.graph.links(first)}
    assert mesh.care.run_jobs(["retention"])[0].steps == ()
    assert mesh.care.verify().findings == ()


@pytest.mark.req("R-002-063")
@pytest.mark.req("R-002-080")
def test_after_a_year_the_traces_of_a_learning_are_packed_and_still_read_and_found(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    details = Trace(
        "Deploy the shop to staging",
        tools_used=("kubectl",),
        plan="Build, push and roll out. " * 100,
        results="Everything is up.",
        learnings=("Wait for the rollout",),
    )
    ids = [str(receipt.id) for receipt in mesh.traces.record_many([details, details])]
    mesh.care.run_jobs(BOTH)
    before = [mesh.traces.get(id_) for id_ in ids]
    clock.advance(DAY)
    mesh.care.run_jobs(BOTH)
    text = learnings(mesh)
    clock.advance(YEAR)
    planned = mesh.care.run_jobs(["retention"], dry_run=True)[0]
    (report,) = mesh.care.run_jobs(["retention"])
    assert planned.steps == report.steps
    assert [(step.action, set(step.evidence)) for step in report.steps] == [("compress", set(ids))]
    held = _stored(mesh, ids[0]).extra["trace"]
    assert isinstance(held, dict)
    assert (PACKED in held, "plan" in held, held["tools_used"]) == (True, False, ["kubectl"])
    assert [mesh.traces.get(id_, include=["archived"]) for id_ in ids] == before
    assert ids[0] in {hit.id for hit in mesh.search("deploy shop", include=["archived"])}
    assert learnings(mesh) == text
    assert mesh.care.run_jobs(["retention"])[0].steps == ()
    again = mesh.traces.record(before[0]) if before[0] else None
    assert again is not None
    assert again.reasons == ("this trace is recorded already",)


def test_a_policy_of_noughts_keeps_everything(mesh: MemoryMesh, clock: FrozenClock) -> None:
    record_deploys(mesh, 3)
    mesh.care.run_jobs(BOTH)
    with MemoryMesh(
        db_dir=mesh.folder,
        clock=clock,
        settings={
            "retention_hours": 0,
            "retention_consolidate_days": 0,
            "retention_compress_days": 0,
        },
    ) as other:
        clock.advance(10 * YEAR)
        assert other.care.run_jobs(["retention"])[0].steps == ()
        assert not other.care.jobs()[1].due.now
    assert mesh.care.run_jobs(["retention"])[0].count("archive") == 3


def test_a_trace_that_its_user_deleted_is_none_of_retention_s_business(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    gone, _ = record_deploys(mesh, 2)
    mesh.care.run_jobs(BOTH)
    mesh.delete(gone)
    clock.advance(DAY)
    assert mesh.care.run_jobs(["retention"])[0].count("archive") == 1
    assert _status(mesh, gone) is Status.DELETED
    mesh.restore(gone)
    mesh.care.run_jobs(BOTH)
    assert _status(mesh, gone) is Status.ACTIVE


@pytest.mark.req("R-002-064")
@pytest.mark.req("R-002-065")
def test_system_entries_beyond_a_thousand_go_to_a_compressed_archive_that_is_still_searched(
    tmp_path: Path,
) -> None:
    with MemoryMesh(db_dir=tmp_path, settings={"system_memory": True}) as mesh:
        access, files = mesh.traces._system()  # as many at once, without rolling
        entry = mesh.traces._experience(access, Trace("Fix a test"), "shop")
        first = mesh.traces._experience(access, Trace("Deploy", tools_used=("kubectl",)), "shop")
        system_memory.append(access, files, [first, *[entry] * 1_200], keep=5_000)
        assert mesh.care.jobs()[2].due.why == "entries to archive: 199; the newest 1,000 stay"
        (planned,) = mesh.care.run_jobs(["roll-system-memory"], dry_run=True)
        assert files.archives() == []
        (report,) = mesh.care.run_jobs(["roll-system-memory"])
        assert planned.steps == report.steps
        assert [path.suffix for path in files.archives()] == [".gz"]
        assert len(mesh.traces.experiences(limit=1_000)) == 1_000
        (found,) = mesh.traces.search_experiences("kubectl")
        assert found.number == 1
        assert not mesh.care.jobs()[2].due.now
        assert mesh.care.run_jobs(["roll-system-memory"])[0].steps == ()


def test_archived_traces_still_help_with_similar_tasks(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    logins = record_login(mesh, 2)
    mesh.care.run_jobs(BOTH)
    clock.advance(DAY)
    mesh.care.run_jobs(BOTH)
    assert mesh.traces() == []
    found = mesh.traces.similar("fix the flaky login test")
    assert {match.trace_id for match in found} == set(logins)
    cited = {
        id_ for item in mesh.traces.plan("fix the flaky login test").worked for id_ in item.cites
    }
    assert cited & set(logins)


def test_an_unknown_job_and_a_wrong_limit_are_refused_with_what_to_do(mesh: MemoryMesh) -> None:
    with pytest.raises(InvalidInput, match="the jobs are: consolidate-traces, retention, roll"):
        mesh.care.run_jobs(["tidy"])
    with pytest.raises(InvalidInput, match="names must be a list"):
        mesh.care.run_jobs("retention")
    with pytest.raises(InvalidInput, match="max_slices must be a whole number"):
        mesh.care.run_jobs(max_slices=0)


def test_packing_loses_nothing_and_a_damaged_pack_is_read_as_far_as_it_can_be() -> None:
    plain = {"status": "failure", "tools_used": ["git"], "plan": "x" * 500, "results": "ü" * 99}
    small = packed(plain)
    assert small is not None
    assert unpacked(small) == plain
    assert packed(small) is None
    assert packed({"status": "failure"}) is None  # nothing is gained
    broken = {**small, PACKED: ["!"]}
    assert unpacked(broken)["status"] == "failure"
    memory = Memory(
        id="trace-1-abcdef",
        text="Deploy",
        label="trace",
        extra={"trace": small},
        created=FrozenClock().now(),
        recorded_from=FrozenClock().now(),
    )
    assert trace_of(memory).plan == "x" * 500


def test_a_dry_run_counts_what_follows_from_its_own_steps(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    deploy = Trace(
        "Deploy the shop", plan="Build and push. " * 50, steps=(Step("Build"), Step("Push"))
    )
    mesh.traces.record_many([deploy] * 120)  # two slices, one skill
    for actions in (["learn", "extend", "stage"], [*["archive"] * 120, *["compress"] * 2]):
        planned, done = mesh.care.run_jobs(BOTH, dry_run=True), mesh.care.run_jobs(BOTH)
        told = [
            [(step.action, report.slices) for report in reports for step in report.steps]
            for reports in (planned, done)
        ]
        assert told[0] == told[1]
        assert [action for action, _ in told[1]] == actions
        clock.advance(YEAR + DAY)


def test_sessions_side_by_side_do_not_archive_each_other(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    for number in range(6):
        mesh.traces.record("Fix the login page", scope=Scope("shop", None, "ab"[number % 2]))
        clock.advance(timedelta(minutes=1))
    mesh.care.run_jobs(BOTH)
    shown = mesh.traces(scope=Scope("shop"), across=["session"])
    assert len(shown) == 6
