"""Traces: one execution, one memory, through the same gates as any other write."""

import re
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory_mesh.base.typed import replace
from memory_mesh.formats import trace_file
from memory_mesh.ledgers.shared.snapshot import SqlSnapshot
from memory_mesh.mesh import flows
from memory_mesh.model import (
    Channel,
    Hits,
    Kind,
    Link,
    Outcome,
    Query,
    Scope,
    SourceKind,
    Status,
    Tier,
)
from memory_mesh.model.errors import InvalidInput, NotFound
from memory_mesh.model.query import Compare, Sign
from memory_mesh.model.trace import Step, Trace, TraceStatus
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from memory_mesh.write.access import Access
from tests.stores import grow

AT = datetime(2026, 3, 1, 12, 30, 0, 123000, tzinfo=UTC)
TRACE = Trace(
    "Fix the failing login test",
    TraceStatus.FAILURE,
    1234,
    tools_used=("pytest", "git"),
    files_created=("tests/test_login.py",),
    plan="1. Run it\n2. Read the log",
    steps=(Step("run it"), Step("read the log", "failure")),
    results="2 of 3 tests pass",
    learnings=("The log names the fixture",),
    timestamp=AT,
    trace_id="trace-1772368200123-0a1b2c",
)


@pytest.mark.req("R-002-001")
@pytest.mark.req("R-002-023", "R-002-025")
def test_a_recorded_trace_is_read_back_as_it_was_given(mesh: MemoryMesh) -> None:
    receipt = mesh.traces.record(TRACE)
    assert (receipt.id, receipt.outcome) == (TRACE.trace_id, Outcome.STORED)
    assert mesh.traces.get(TRACE.trace_id) == TRACE
    assert mesh.traces() == [TRACE]


@pytest.mark.req("R-002-006")
def test_a_trace_is_an_event_of_short_term_memory_for_the_whole_project(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path, project="web", session="monday") as mesh:
        receipt = mesh.traces.record("Fix the login")
        memory = mesh.get(str(receipt.id))
    assert memory is not None
    assert (memory.text, memory.kind, memory.label) == ("Fix the login", Kind.EVENT, "trace")
    assert (memory.tier, memory.scope) == (Tier.SHORT_TERM, Scope("web"))


@pytest.mark.req("R-002-013")
def test_a_new_trace_gets_an_id_of_time_and_chance(mesh: MemoryMesh, clock: FrozenClock) -> None:
    receipt = mesh.traces.record("Fix the login")
    milliseconds = int(clock.now().timestamp() * 1000)
    assert re.fullmatch(rf"trace-{milliseconds}-[0-9a-f]{{6}}", str(receipt.id))


@pytest.mark.req("R-002-011")
@pytest.mark.parametrize("channel", [Channel.LIBRARY, Channel.ASSISTANT, Channel.MCP])
def test_every_execution_of_one_goal_is_a_trace_of_its_own(
    tmp_path: Path, channel: Channel
) -> None:
    with MemoryMesh(db_dir=tmp_path, channel=channel) as mesh:
        receipts = [mesh.traces.record("Fix the login") for _ in range(5)]
        assert {receipt.outcome for receipt in receipts} == {Outcome.STORED}
        assert len({receipt.id for receipt in receipts}) == len(mesh.traces()) == 5


def test_the_same_trace_again_is_stored_once(mesh: MemoryMesh) -> None:
    mesh.traces.record(TRACE)
    again = mesh.traces.record(TRACE)
    assert (again.outcome, again.again) == (Outcome.MERGED, True)
    assert again.reasons == ("this trace is recorded already",)
    other = mesh.traces.record(TRACE, results="3 of 3 tests pass")
    assert other.outcome is Outcome.REFUSED
    assert "is taken by another trace" in other.reasons[0]
    assert mesh.traces() == [TRACE]


def test_a_trace_of_another_project_is_neither_shown_nor_overwritten(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path, project="web") as mesh:
        mesh.traces.record(TRACE)
        other = mesh.view(scope=Scope("shop"))
        assert other.traces.get(TRACE.trace_id) is None
        assert other.traces() == []
        receipt = other.traces.record(TRACE)
        assert (receipt.outcome, receipt.id) == (Outcome.REFUSED, None)
        assert mesh.traces.get(TRACE.trace_id) == TRACE


def test_personal_data_is_redacted_in_every_part_of_a_trace(mesh: MemoryMesh) -> None:
    secret = "anna@example.com"
    receipt = mesh.traces.record(
        f"Write to {secret}",
        plan=f"ask {secret}",
        steps=[f"mail {secret}"],
        results=f"{secret} answered",
        learnings=[f"{secret} is quick"],
        tools_used=[secret],
        files_created=[f"{secret}.md"],
    )
    assert secret not in repr(mesh.traces.get(str(receipt.id)))
    assert receipt.redacted


def test_a_trace_id_that_is_personal_data_is_refused(mesh: MemoryMesh) -> None:
    with pytest.raises(InvalidInput, match="personal data"):
        mesh.traces.record("Pay", trace_id="trace-4111111111111111")


def test_no_claim_is_read_from_a_goal(mesh: MemoryMesh) -> None:
    mesh.add("The database is PostgreSQL")
    receipt = mesh.traces.record("The database is SQLite")
    assert (receipt.conflicts, receipt.newer_than) == ((), ())


def test_what_a_file_states_is_a_document(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path, channel=Channel.FILE) as mesh:
        memory = mesh.get(str(mesh.traces.record("Fix the login").id))
    assert memory is not None
    assert memory.source.kind is SourceKind.DOCUMENT


def test_traces_are_listed_newest_first_by_page_and_time(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    mesh.add("no trace")
    for day in range(5):
        mesh.traces.record(f"Task {day}", timestamp=AT + timedelta(days=day))
    first = mesh.traces(limit=3)
    assert [trace.goal for trace in first] == ["Task 4", "Task 3", "Task 2"]
    assert [trace.goal for trace in mesh.traces(cursor=first.cursor)] == ["Task 1", "Task 0"]
    window = (AT + timedelta(days=1), "2026-03-04T00:00:00Z")
    assert [trace.goal for trace in mesh.traces(time_window=window)] == ["Task 2", "Task 1"]
    assert [trace.goal for trace in mesh.traces(time_window=(None, AT))] == ["Task 0"]


def test_a_deleted_trace_is_gone_and_does_not_come_back(mesh: MemoryMesh) -> None:
    mesh.traces.record(TRACE)
    mesh.delete(TRACE.trace_id)
    assert mesh.traces.get(TRACE.trace_id) is None
    mesh.traces.record(TRACE)
    assert mesh.traces() == []
    assert mesh.traces(include=[Status.DELETED]) == [TRACE]


def test_a_memory_that_is_no_trace_is_none(mesh: MemoryMesh) -> None:
    receipt = mesh.add("no trace", kind="trace")
    assert mesh.traces.get(str(receipt.id)) is None


def test_ties_between_traces_are_links(mesh: MemoryMesh) -> None:
    whole, first = (str(mesh.traces.record(goal).id) for goal in ("Release", "Build"))
    last = str(
        mesh.traces.record("Deploy", follows=[first], part_of=[whole], depends_on=[first]).id
    )
    assert set(mesh.graph.links(last)) == {
        Link(last, first, "follows"),
        Link(last, whole, "part_of"),
        Link(last, first, "depends_on"),
    }
    found = mesh.traces.get(last)
    assert found is not None
    assert (found.follows, found.part_of, found.depends_on) == ((first,), (whole,), (first,))


def test_an_importer_links_traces_of_one_batch_and_is_not_linked_to_other_projects(
    tmp_path: Path,
) -> None:
    with MemoryMesh(db_dir=tmp_path, project="web") as mesh:
        hidden = str(mesh.view(scope=Scope("shop")).traces.record("Plan").id)
        ties = (TRACE.trace_id, hidden)
        receipts = mesh.traces.record_many([TRACE, Trace("Deploy", follows=ties)])
        assert mesh.graph.links(str(receipts[1].id)) == [
            Link(str(receipts[1].id), TRACE.trace_id, "follows")
        ]


def test_a_trace_may_only_name_known_traces(mesh: MemoryMesh) -> None:
    with pytest.raises(NotFound, match="follows names the trace trace-1-a"):
        mesh.traces.record("Deploy", follows=["trace-1-a"])
    assert mesh.traces() == []
    assert mesh.traces.record_many([Trace("Deploy", follows=("trace-1-a",))])[0].id


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"trace": " "}, "needs a goal"),
        ({"trace": 7}, "trace must be a Trace or text"),
        ({"status": "done"}, "status must be one of"),
        ({"duration_ms": -1}, "duration_ms must be"),
        ({"duration_ms": 1.5}, "duration_ms must be"),
        ({"tools_used": "pytest"}, "tools_used must be a list"),
        ({"steps": [3]}, "an item of steps must be a Step or text"),
        ({"timestamp": "2026-01-01T10:00:00"}, "time zone"),
        ({"trace_id": "mem_1_000001"}, "a trace_id is like"),
        ({"follows": ["x"]}, "a trace_id is like"),
        ({"results": "x" * 70_000}, "the limits are"),
        ({"learnings": ["x"] * 2_000}, "the limits are"),
        ({"plan": "a\0b"}, "NUL"),
    ],
)
def test_a_wrong_field_is_refused_with_its_name(
    mesh: MemoryMesh, fields: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        mesh.traces.record(**({"trace": "Deploy"} | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("cursor", [None, "40"])
def test_a_page_of_traces_is_read_from_the_index_without_sorting(
    mesh: MemoryMesh, cursor: str | None
) -> None:
    mesh.add_many([f"note {number}" for number in range(20)])
    mesh.traces.record_many(Trace(f"Task {number}") for number in range(30))
    statements: list[str] = []
    with mesh._read() as snapshot:
        assert isinstance(snapshot, SqlSnapshot)
        db = snapshot._db
        assert isinstance(db, sqlite3.Connection)
        grow(db)
        lens = replace(mesh._lens(None), where=Compare("label", Sign.EQUAL, "trace"))
        db.set_trace_callback(statements.append)
        assert len(snapshot.page(lens, 5, cursor)) == 5
        db.set_trace_callback(None)
        (asked,) = [text for text in statements if "ORDER BY" in text]
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {asked}")]
    assert any("version_label" in step for step in plan)
    assert not any("TEMP B-TREE" in step for step in plan)


def test_a_recorded_trace_is_read_back_from_its_file(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:  # the system's clock has microseconds
        for number in range(3):
            trace = mesh.traces.get(str(mesh.traces.record(f"Fix page {number}").id))
            assert trace is not None
            assert trace_file.parse(trace_file.render(trace)) == trace


def test_a_huge_goal_is_compared_by_its_beginning(
    mesh: MemoryMesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh.traces.record("Fix the login test")
    asked: list[int] = []

    def measured(access: Access, query: Query) -> Hits:
        asked.append(len(query.text))
        return flows.recall.recall(access, query)

    monkeypatch.setattr(flows.traces, "recall", measured)
    huge = "Fix the login test " * 50_000  # to embed all of it takes minutes
    assert mesh.traces.similar(huge)
    assert mesh.traces.plan(huge).matches
    assert max(asked) <= 10_002
