"""What the author of document 002 (LLMos's memory schema) would try first, in its own words."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from memory_mesh.formats import memory_log, trace_file
from memory_mesh.model import Status
from memory_mesh.model.trace import TraceStatus
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from memory_mesh.traces import recording
from memory_mesh.traces.files import export_files, write_layout
from tests.receipts import id_of

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

TRACE_FILE = """---
trace_id: trace-1704110400000-4f2a9c
timestamp: "2024-01-01T12:00:00.000Z"
goal: "Plot the tides of Bergen"
status: success
duration_ms: 12345
tools_used:
  - tool_name_1
  - tool_name_2
files_created:
  - path/to/file1.py
  - path/to/file2.md
---

# Execution Trace: Plot the tides of Bergen

## Plan
Read the table, then draw it

## Steps Executed
1. Read the table - success
2. Draw the curve - failure

## Results
One curve of 24 hours

## Learnings
- The table is in UTC
- Ask for the harbour first
"""
LOG_ENTRY = """---
experience_id: exp_7
project_name: tides
primary_goal: Plot the tides of Bergen
final_outcome: success_with_recovery
components_used:
  - planner
  - plotter
files_created: 2
output_summary: One curve
execution_time_ms: 12345
learnings_or_issues: |
  The table is in UTC.
  Ask for the harbour first.
timestamp: "2024-01-01T12:00:00.000Z"
---
"""


@pytest.fixture
def project(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryMesh]:
    """A mesh of the project `tides`."""
    with MemoryMesh(db_dir=tmp_path / "store", project="tides", clock=clock) as opened:
        yield opened


def record_runs(mesh: MemoryMesh, goal: str, count: int, *, failures: int = 0) -> list[str]:
    """Record runs of one task, some of which failed; their ids."""
    return [
        id_of(
            mesh.traces.record(
                goal,
                status="failure" if number < failures else "success",
                tools_used=["kubectl", "helm"],
                steps=["Build the image", "Push the image", "Roll it out"],
                learnings=["Warm the cache before the rollout"]
                if number >= failures
                else ["Never roll out without a health check"],
                duration_ms=1000 + number,
            )
        )
        for number in range(count)
    ]


def test_the_trace_of_the_schema_is_read_and_written_alike() -> None:
    """Execution Trace Schema: "Each execution creates a trace"."""
    trace = trace_file.parse(TRACE_FILE)
    assert trace.goal == "Plot the tides of Bergen"
    assert trace.status is TraceStatus.SUCCESS
    assert trace.duration_ms == 12345
    assert trace.tools_used == ("tool_name_1", "tool_name_2")
    assert trace.files_created == ("path/to/file1.py", "path/to/file2.md")
    assert trace.plan == "Read the table, then draw it"
    assert [(each.text, each.status) for each in trace.steps] == [
        ("Read the table", "success"),
        ("Draw the curve", "failure"),
    ]
    assert trace.learnings == ("The table is in UTC", "Ask for the harbour first")
    assert trace_file.render(trace) == TRACE_FILE


def test_an_execution_is_recorded_with_an_id_of_its_time(project: MemoryMesh) -> None:
    """Execution Trace Schema: "trace_id: trace-{timestamp}-{random}"."""
    id_ = id_of(project.traces.record("Plot the tides", status="failure", duration_ms=900))
    assert re.fullmatch(r"trace-[0-9-]+-[0-9a-z]+", id_)
    trace = project.traces.get(id_)
    assert trace is not None
    assert (trace.goal, trace.status, trace.duration_ms) == (
        "Plot the tides",
        TraceStatus.FAILURE,
        900,
    )
    assert trace.timestamp is not None


def test_a_similar_task_is_answered_by_at_most_three_matches(project: MemoryMesh) -> None:
    """Similarity Search: "`limit`: Maximum results (default: 3)"."""
    record_runs(project, "Deploy the shop to staging", 5)
    assert len(project.traces.similar("Deploy the shop to staging")) == 3
    assert len(project.traces.similar("Deploy the shop to staging", limit=5)) == 5


def test_the_query_is_normalized_before_it_is_compared(project: MemoryMesh) -> None:
    """Similarity Search: "Normalize the query (lowercase, remove punctuation)"."""
    record_runs(project, "Deploy the shop to staging", 1)
    plain = project.traces.similar("deploy the shop to staging")
    loud = project.traces.similar("DEPLOY the shop, to: staging!!!")
    assert plain == loud
    assert plain[0].similarity == pytest.approx(1.0, abs=0.01)


def test_what_is_less_similar_than_three_tenths_is_left_out(project: MemoryMesh) -> None:
    """Similarity Search: "`min_similarity`: Minimum match score (default: 0.3)"."""
    record_runs(project, "Deploy the shop to staging", 1)
    record_runs(project, "Translate the manual into Finnish", 1)
    found = project.traces.similar("Deploy the blog to staging")
    assert [each.goal for each in found] == ["Deploy the shop to staging"]
    assert all(each.similarity >= 0.3 for each in found)
    assert project.traces.similar("Deploy the blog to staging", min_similarity=0.99) == []


def test_a_time_window_limits_the_search(project: MemoryMesh, clock: FrozenClock) -> None:
    """Similarity Search: "`time_window`: Optional date range filter"."""
    (old,) = record_runs(project, "Deploy the shop to staging", 1)
    clock.advance(30 * DAY)
    begin = clock.now() - DAY
    (new,) = record_runs(project, "Deploy the shop to staging", 1)
    goal = "Deploy the shop to staging"
    in_window = project.traces.similar(goal, time_window=(begin, None))
    before = project.traces.similar(goal, time_window=(None, begin))
    assert [each.trace_id for each in in_window] == [new]
    assert [each.trace_id for each in before] == [old]


def test_a_match_says_what_was_used_and_whether_it_worked(project: MemoryMesh) -> None:
    """Query Response: "interface PatternMatch { goal; similarity; suggestedApproach?; … }"."""
    (id_,) = record_runs(project, "Deploy the shop to staging", 1)
    (match,) = project.traces.similar("Deploy the shop to staging")
    assert (match.goal, match.trace_id) == ("Deploy the shop to staging", id_)
    assert match.success is True
    assert match.tools_used == ("kubectl", "helm")
    assert match.suggested_approach is not None
    assert "Push the image" in match.suggested_approach
    assert 0.0 <= match.similarity <= 1.0


def test_ten_traces_make_consolidation_due(project: MemoryMesh) -> None:
    """When to Consolidate: "After 10+ traces in short-term memory"."""

    def due() -> bool:
        (job,) = [each for each in project.care.jobs() if each.job == "consolidate-traces"]
        return job.due.now

    record_runs(project, "Deploy the shop to staging", 9)
    assert not due()
    record_runs(project, "Deploy the shop to staging", 1)
    assert due()


def test_a_week_makes_consolidation_due(project: MemoryMesh, clock: FrozenClock) -> None:
    """When to Consolidate: "Weekly scheduled consolidation"."""
    record_runs(project, "Deploy the shop to staging", 10)
    project.care.run_jobs()
    record_runs(project, "Deploy the shop to staging", 2)
    clock.advance(6 * DAY)
    assert not project.care.jobs()[0].due.now
    clock.advance(DAY)
    assert project.care.jobs()[0].due.now


def test_a_project_is_consolidated_before_it_is_archived(project: MemoryMesh) -> None:
    """When to Consolidate: "Before project archival"."""
    ids = record_runs(project, "Deploy the shop to staging", 3)
    project.care.archive_project()
    learnings = project.get_all(filter="type = 'learning'")
    assert len(learnings) == 1
    archived = project.get_many(ids, include=[Status.ARCHIVED])
    assert [each.status for each in archived] == [Status.ARCHIVED] * 3


def test_traces_are_grouped_by_goal_into_learnings_of_the_format(project: MemoryMesh) -> None:
    """Consolidated Learning Format: "Observed in {count} executions", "Success rate: {rate}%"."""
    record_runs(project, "Deploy the shop to staging", 8, failures=2)
    for _ in range(2):
        project.traces.record(
            "Translate the manual into Finnish",
            tools_used=["deepl"],
            steps=["Split the text", "Translate each part"],
            learnings=["Keep the names of the buttons"],
        )
    project.care.run_jobs(["consolidate-traces"])
    texts = sorted(each.text for each in project.get_all(filter="type = 'learning'"))
    assert len(texts) == 2
    deploy = next(each for each in texts if "Deploy" in each)
    assert deploy.startswith("# Learning: ")
    assert "- Observed in 8 executions\n- Success rate: 75%\n- Common tools: " in deploy
    parts = ["## Context", "## Key Insights", "## Recommended Approach", "## Anti-Patterns"]
    places = [deploy.index(each) for each in parts]
    assert places == sorted(places)
    assert deploy.index("Warm the cache") < deploy.index("## Recommended Approach")
    assert deploy.index("Never roll out without") > deploy.index("## Anti-Patterns")


def test_learnings_may_become_skills_after_a_review(project: MemoryMesh) -> None:
    """Consolidation Process: "Optionally generate skills"."""
    record_runs(project, "Deploy the shop to staging", 10)
    project.care.run_jobs(["consolidate-traces"])
    assert project.skills.get_all() == []
    (staged,) = project.skills.get_all(include=["quarantined"])
    assert "Push the image" in staged.text
    project.review(staged.id, approve=True)
    assert [each.id for each in project.skills.get_all()] == [staged.id]


def test_a_project_has_the_layout_of_the_document(project: MemoryMesh, tmp_path: Path) -> None:
    """Project Memory Structure: "projects/{name}/ … └── context.md # Project-level context"."""
    ids = record_runs(project, "Deploy the shop to staging", 10)
    project.add("We host in Oslo because of the law", kind="decision", role="user")
    project.care.run_jobs(["consolidate-traces"])
    write_layout(project, tmp_path / "out")
    root = tmp_path / "out" / "projects" / "tides"
    for name in (
        "context.md",
        "memory/short_term/execution_log.md",
        "memory/short_term/context_cache.md",
        "memory/long_term/learnings.md",
        "memory/long_term/patterns.md",
        "memory/long_term/decisions.md",
    ):
        assert (root / name).is_file(), name
    assert len(list((root / "memory/short_term/tool_results").iterdir())) == len(ids)
    assert "We host in Oslo" in (root / "memory/long_term/decisions.md").read_text()
    assert "# Learning: " in (root / "memory/long_term/learnings.md").read_text()
    assert ids[0] in (root / "memory/short_term/execution_log.md").read_text()


def test_a_consolidated_trace_leaves_short_term_memory_after_a_day_without_use(
    project: MemoryMesh, clock: FrozenClock
) -> None:
    """Retention, Short-Term: "Prune after 24 hours of inactivity".

    Ruling C22: a trace that is not consolidated is never pruned.
    """
    ids = record_runs(project, "Deploy the shop to staging", 10)
    (alone,) = record_runs(project, "Translate the manual into Finnish", 1)
    project.care.run_jobs(["consolidate-traces"])
    clock.advance(23 * HOUR)
    project.care.run_jobs(["retention"])
    assert len(project.traces.get_all()) == 11
    clock.advance(2 * HOUR)
    project.care.run_jobs(["retention"])
    assert [each.trace_id for each in project.traces.get_all()] == [alone]
    archived = project.traces.get_all(include=["archived"])
    assert set(ids) < {each.trace_id for each in archived}
    assert project.traces.similar("Deploy the shop to staging")


def test_a_learning_is_kept_for_years(project: MemoryMesh, clock: FrozenClock) -> None:
    """Retention, Long-Term: "Keep permanently unless manually deleted"."""
    record_runs(project, "Deploy the shop to staging", 10)
    project.care.run_jobs()
    for _ in range(4):
        clock.advance(200 * DAY)
        project.care.run_jobs()
    (learning,) = project.get_all(filter="type = 'learning'")
    assert learning.status is Status.ACTIVE
    project.delete(learning.id)
    assert list(project.get_all(filter="type = 'learning'")) == []


def test_the_system_log_is_chronological_and_numbered(tmp_path: Path, clock: FrozenClock) -> None:
    """System Memory: "Location: `/system/memory_log.md`", "experience_id: exp_{auto_increment}".

    Ruling (section 6, R-002-066): the system memory is opt-in and anonymised.
    """
    with MemoryMesh(
        db_dir=tmp_path, project="tides", clock=clock, settings={"system_memory": True}
    ) as mesh:
        for goal in ("Fix the login", "Deploy the shop to staging"):
            mesh.traces.record(goal, tools_used=["git"], files_created=["a.py", "b.py"])
            clock.advance(HOUR)
        text = Path(mesh.traces.write_memory_log()).read_text()
        entries = mesh.traces.experiences()
    assert (tmp_path / "system" / "memory_log.md").read_text() == text
    assert text.index("experience_id: exp_1") < text.index("experience_id: exp_2")
    assert [each.experience_id for each in entries] == ["exp_2", "exp_1"]
    assert entries[0].files_created == 2
    assert "login" not in text
    assert "tides" not in text


def test_nothing_is_logged_across_projects_unless_it_is_switched_on(project: MemoryMesh) -> None:
    """System Memory: "Scope: Cross-project, cross-user".

    Ruling (section 6, R-002-066): the system memory is opt-in.
    """
    record_runs(project, "Deploy the shop to staging", 1)
    assert not (project.folder / "system").exists()


def test_an_entry_of_the_memory_log_is_read_as_the_schema_has_it() -> None:
    """Memory Log Entry Schema: "final_outcome: success|failure|success_with_recovery"."""
    read = memory_log.parse(LOG_ENTRY)
    assert read.faults == ()
    (entry,) = read.entries
    assert (entry.experience_id, entry.project_name) == ("exp_7", "tides")
    assert entry.final_outcome.value == "success_with_recovery"
    assert entry.components_used == ("planner", "plotter")
    assert (entry.files_created, entry.execution_time_ms) == (2, 12345)
    assert entry.learnings_or_issues.splitlines() == [
        "The table is in UTC.",
        "Ask for the harbour first.",
    ]


def test_the_system_log_keeps_a_thousand_and_archives_the_rest(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """Retention, System Memory: "Keep last 1000 entries", "Archive older entries"."""
    with MemoryMesh(
        db_dir=tmp_path, project="tides", clock=clock, settings={"system_memory": True}
    ) as mesh:
        trace = trace_file.parse(TRACE_FILE)
        for _ in range(1003):
            mesh.traces.log_experience(trace)
        mesh.traces.roll_experiences()
        text = Path(mesh.traces.write_memory_log()).read_text()
        oldest = mesh.traces.experiences(before="exp_3")
    assert 1000 <= text.count("experience_id: ") <= 1003
    assert [each.experience_id for each in oldest] == ["exp_2", "exp_1"]


def test_credentials_and_personal_data_of_a_run_are_not_stored(project: MemoryMesh) -> None:
    """What NOT to Store: "Credentials and API keys", "Personal identifying information (PII)"."""
    token, mail = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "nils.berg@example.com"
    id_ = id_of(
        project.traces.record(
            f"Mail the report to {mail}",
            steps=[f"Log in with {token}"],
            results=f"Sent to {mail}",
            learnings=[f"{mail} wants PDF"],
            plan=f"Use {token}",
        )
    )
    trace = project.traces.get(id_)
    assert trace is not None
    told = trace_file.render(trace)
    assert token not in told
    assert mail not in told
    assert "wants PDF" in told


def test_names_of_users_become_ids(tmp_path: Path, clock: FrozenClock) -> None:
    """Anonymization: "Replace user names with IDs"."""
    with MemoryMesh(
        db_dir=tmp_path, project="tides", clock=clock, settings={"private_names": ["Solveig Aas"]}
    ) as mesh:
        one = mesh.traces.record("Send Solveig Aas the tide table")
        other = mesh.traces.record("Ask Solveig Aas about the harbour")
        goals = [each.goal for each in mesh.traces.get_all()]
    assert one.id != other.id
    assert not any("Solveig" in each for each in goals)
    ids = {re.findall(r"\[USER_\w+\]", each)[0] for each in goals}
    assert len(ids) == 1


def test_raw_input_is_summarised_where_that_is_asked_for(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """What NOT to Store: "Raw user input (summarize instead)".

    Ruling C19: everything is scrubbed; `summarise` is a setting.
    """
    asked = (
        "Please be so kind and plot the tides of Bergen for the next four weeks, with the "
        "harbour in the title, and do send it to the team before lunch if you can manage that"
    )
    with MemoryMesh(
        db_dir=tmp_path, project="tides", clock=clock, settings={"raw_input": "summarise"}
    ) as mesh:
        mesh.traces.record(asked)
        (trace,) = mesh.traces.get_all()
    assert len(trace.goal.split()) <= 12
    assert trace.goal != asked


def test_memory_is_asked_first_and_what_failed_is_avoided(project: MemoryMesh) -> None:
    """Memory-Aware Planning: "Query memory FIRST", "Avoid anti-patterns", "Cite relevant …"."""
    worked = record_runs(project, "Deploy the shop to staging", 1)
    failed = id_of(
        project.traces.record(
            "Deploy the shop to production",
            status="failure",
            steps=[("Roll it out", "failure")],
            learnings=["Never roll out without a health check"],
        )
    )
    plan = project.traces.plan("Deploy the shop to production")
    assert any(worked[0] in each.cites for each in plan.worked)
    assert any(failed in each.cites for each in plan.failed)
    assert [each.text for each in plan.avoid] == ["Never roll out without a health check"]
    assert plan.tools == ("kubectl", "helm")


def test_a_run_updates_memory_and_the_next_one_knows(project: MemoryMesh, tmp_path: Path) -> None:
    """Memory-Aware Planning: "Update memory - Record new learnings"."""
    with recording(project, "Import the customers of March") as first:
        first.tool("psql")
        with first.doing("Load the file"):
            pass
        first.learned("The file has a byte order mark")

    def times_out() -> None:
        with recording(project, "Import the customers of April") as second:
            assert second.advice is not None
            assert second.advice.matches[0].trace_id == first.trace_id
            raise TimeoutError("the database does not answer")

    with pytest.raises(TimeoutError):
        times_out()
    newest = project.traces.get_all()[0]
    assert newest.status is TraceStatus.FAILURE
    assert "the database does not answer" in newest.results
    written = export_files(project.traces.get_all(), tmp_path / "traces")
    assert len(written) == 2
