"""The system memory: off by default; anonymised figures of all projects and users in one log."""

import asyncio
import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_mesh import MemoryMesh as Awaited
from memory_mesh.config.tables import Settings
from memory_mesh.formats import memory_log
from memory_mesh.learn.system_memory import PUBLIC, ExperienceFiles, anonymous, public_name
from memory_mesh.mesh import flows
from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput, StoreError
from memory_mesh.model.learning import Experience, FinalOutcome
from memory_mesh.model.trace import Trace, TraceStatus
from memory_mesh.sync import MemoryMesh
from tests.postgres import SECRET
from tests.receipts import id_of

GOAL = "Fix the login of Acme Holding for jane.doe@example.com in /srv/acme/app.py"


@pytest.fixture
def shared(tmp_path, clock):
    with MemoryMesh(
        db_dir=tmp_path / "store",
        clock=clock,
        project="/srv/acme",
        settings={"system_memory": True},
    ) as mesh:
        yield mesh


def log_of(mesh: MemoryMesh) -> Path:
    return mesh.folder / "system" / "memory_log.md"


def record(mesh: MemoryMesh, **more: object) -> None:
    mesh.traces.record(
        GOAL,
        status="success",
        duration_ms=12_345,
        tools_used=["/opt/acme/bin/acme-deploy --prod", "git", "Bash"],
        files_created=["/srv/acme/a.py", "/srv/acme/b.py"],
        steps=[("read the code", "success"), ("run the tests", "failure")],
        results="jane can log in",
        learnings=["acme caches tokens"],
        **more,  # type: ignore[arg-type]
    )


def fill(mesh: MemoryMesh, count: int, *, keep: int = 1_000) -> list[Experience]:
    """Log many experiences at once."""
    access, files = mesh.traces._system()
    given = [
        Experience(
            number=0,
            project_name=f"project_{number % 7}",
            primary_goal="fix task" if number % 2 else "build task",
            final_outcome=FinalOutcome.SUCCESS,
            components_used=("git",) if number != 3 else ("kubectl",),
            timestamp=mesh._now(),
        )
        for number in range(1, count + 1)
    ]
    return [
        one
        for start in range(0, count, 50)
        for one in flows.system_memory.append(access, files, given[start : start + 50], keep=keep)
    ]


@pytest.mark.req("R-002-010")
def test_nothing_crosses_projects_unless_it_is_switched_on(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, project="a") as mesh:
        record(mesh)
        assert mesh.care.namespaces() == ["default"]
        assert not (mesh.folder / "system").exists()
        for read in (
            mesh.traces.experiences,
            mesh.traces.experience_summary,
            mesh.traces.write_memory_log,
        ):
            with pytest.raises(InvalidInput, match="system_memory = true"):
                read()


@pytest.mark.req("R-002-009", "R-002-026", "R-002-027", "R-002-028", "R-002-029", "R-002-030")
@pytest.mark.req("R-002-031", "R-002-032", "R-002-033")
def test_a_trace_leaves_an_entry_in_the_log(shared):
    record(shared)
    (entry,) = memory_log.parse(log_of(shared).read_text()).entries
    assert entry == shared.traces.experiences()[0]
    assert entry.experience_id == "exp_1"
    assert entry.primary_goal == "fix task"
    assert entry.final_outcome is FinalOutcome.RECOVERED
    assert entry.components_used == ("bash", "git", "other")
    assert (entry.files_created, entry.execution_time_ms) == (2, 12_000)
    assert entry.output_summary == "2 steps, 1 failed"
    assert entry.project_name.startswith("project_")


@pytest.mark.req("R-002-009", "R-002-026")
def test_many_traces_leave_an_entry_each_in_one_commit(shared, monkeypatch):
    commits: list[int] = []
    append = flows.system_memory.append

    def counted(access, files, experiences):
        commits.append(len(experiences))
        return append(access, files, experiences)

    monkeypatch.setattr(flows.system_memory, "append", counted)
    named = Trace(
        "Deploy the shop", trace_id="trace-1767225600000-abc123", status=TraceStatus.FAILURE
    )
    others = [Trace(f"Fix bug {number}", tools_used=("git",)) for number in range(4)]
    bad = Trace("Fix it", status="lost")  # type: ignore[arg-type]  # that is the point
    assert len(shared.traces.record_many([named, bad, *others])) == 6
    shared.traces.record_many([named])  # known already
    assert commits == [5]
    entries = memory_log.parse(log_of(shared).read_text()).entries
    assert [one.primary_goal for one in entries] == ["release task", *["fix task"] * 4]
    assert {one.components_used for one in entries} == {(), ("git",)}
    shared.traces.record_many([Trace("Plan the work")], scope=Scope(project="other"))
    assert len({one.project_name for one in shared.traces.experiences()}) == 2


@pytest.mark.req("R-002-010", "R-002-073")
def test_projects_and_users_share_figures_and_no_text(shared):
    record(shared)
    record(shared.view(scope=Scope(project="/srv/other")), timestamp="2026-01-01T10:20:30Z")
    record(shared.for_user("alice"))
    shared.traces.record("Deploy it", status="failure", tools_used=["docker"])
    summary = shared.traces.experience_summary()
    assert (summary.entries, summary.projects) == (4, 2)
    assert summary.outcomes == {
        "fix task": {"success_with_recovery": 3},
        "release task": {"failure": 1},
    }
    assert summary.components == {"bash": 3, "git": 3, "other": 3, "docker": 1}
    assert (summary.files_created, summary.execution_time_ms) == (6, 36_000)


@pytest.mark.req("R-002-067", "R-002-068", "R-002-069", "R-002-071")
def test_no_word_of_a_trace_reaches_the_system_memory(shared):
    record(shared)
    shared.close()
    stored = b"".join(
        path.read_bytes()
        for path in shared.config.db_dir.rglob("*")
        if path.is_file() and "system" in path.as_posix().removeprefix(str(shared.config.db_dir))
    ).lower()
    assert b"fix task" in stored
    for word in (b"acme", b"jane", b"login", b"/srv", b"caches", b"deploy"):
        assert word not in stored


def test_only_names_of_public_tools_are_kept():
    assert public_name("/usr/local/bin/Git push origin") == "git"
    assert public_name("acme-deploy") == public_name("") == "other"
    assert all(name == name.lower() for name in PUBLIC)


@pytest.mark.req("R-002-064", "R-002-065")
def test_the_last_thousand_stay_active_and_older_ones_are_archived_and_found(shared):
    added = fill(shared, 1_250)
    assert [one.number for one in added] == list(range(1, 1_251))
    active = memory_log.parse(log_of(shared).read_text()).entries
    assert 1_000 <= len(active) < 1_100
    assert [one.number for one in active] == list(range(1_251 - len(active), 1_251))
    (archive,) = sorted((shared.folder / "system").glob("*.gz"))
    assert archive.name == "memory_log.0001.md.gz"
    archived = memory_log.parse(gzip.decompress(archive.read_bytes()).decode()).entries
    assert [one.number for one in (*archived, *active)] == list(range(1, 1_251))
    assert [one.number for one in shared.traces.search_experiences("kubectl")] == [3]
    assert shared.traces.experience_summary().entries == 1_250


@pytest.mark.req("R-002-009")
def test_the_log_is_listed_newest_first_over_archives_too(shared):
    fill(shared, 430, keep=100)
    ids = [one.number for one in shared.traces.experiences(limit=1_000)]
    assert ids == list(range(430, 0, -1))
    page = shared.traces.experiences(limit=10, before="exp_105")
    assert [one.experience_id for one in page] == [f"exp_{n}" for n in range(104, 94, -1)]
    with pytest.raises(InvalidInput, match="such as exp_42"):
        shared.traces.experiences(before="last")


def test_an_append_costs_no_more_in_a_long_log(shared, monkeypatch):
    """It reads two values and appends; it reads neither the other entries nor an archive."""
    fill(shared, 450, keep=300)
    access, files = shared.traces._system()
    monkeypatch.setattr(ExperienceFiles, "archived", None)
    monkeypatch.setattr(flows.system_memory, "_active", None)
    before = log_of(shared).stat()
    new = shared.traces._experience(access, Trace("Fix it"), None)
    one = flows.system_memory.append(access, files, [new], keep=300)
    assert one[0].number == 451
    assert log_of(shared).stat().st_ino == before.st_ino
    assert log_of(shared).stat().st_size - before.st_size < 1_000


def test_a_roll_reads_a_block_and_one_archive(shared, monkeypatch):
    fill(shared, 2_450, keep=2_400)
    access, files = shared.traces._system()
    parsed: list[str] = []
    read: list[Path] = []
    parse, archived = flows.system_memory._parsed, ExperienceFiles.archived

    def noted(text: str) -> Experience:
        parsed.append(text)
        return parse(text)

    def opened(self: ExperienceFiles, path: Path) -> Iterator[Experience]:
        read.append(path)
        return archived(self, path)

    monkeypatch.setattr(flows.system_memory, "_parsed", noted)
    monkeypatch.setattr(ExperienceFiles, "archived", opened)
    assert flows.system_memory.roll(access, files, keep=2_350) == 99
    assert len(parsed) == 99
    assert len(read) == 1


def test_a_log_that_was_lost_or_torn_is_written_anew(shared):
    fill(shared, 5)
    whole = log_of(shared).read_text()
    log_of(shared).write_text(whole[:-40])
    record(shared)
    assert [one.number for one in memory_log.parse(log_of(shared).read_text()).entries] == [
        1, 2, 3, 4, 5, 6,
    ]  # fmt: skip
    log_of(shared).unlink()
    assert shared.traces.write_memory_log() == str(log_of(shared))
    assert len(memory_log.parse(log_of(shared).read_text()).entries) == 6


@pytest.mark.req("R-002-066", "R-002-081")
def test_a_project_or_everything_can_be_erased_for_good(shared):
    record(shared)
    fill(shared, 250, keep=100)
    mine = {one.project_name for one in shared.traces.experiences(limit=1_000)}
    other = shared.view(scope=Scope(project="other"))
    record(other)
    (name,) = {one.project_name for one in other.traces.experiences(limit=1)}
    assert other.traces.erase_experiences(project="other", reason="asked by the owner") == 1
    assert name not in mine
    assert name not in {one.project_name for one in shared.traces.experiences(limit=1_000)}
    assert shared.traces.erase_experiences(project="/srv/acme") == 1  # from an archive
    assert shared._of_same_store("system", None, None).care.verify().findings == ()
    record(shared)
    assert shared.traces.experiences(limit=1)[0].number == 253  # no number is given twice
    assert shared.traces.erase_experiences(everything=True) == 251
    assert shared.traces.experiences() == []
    folder = shared.folder
    shared.close()
    left = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert name.encode() not in left
    with pytest.raises(InvalidInput, match="either project"):
        shared.traces.erase_experiences()


def test_a_damaged_archive_is_told_and_not_written_over(shared):
    fill(shared, 250, keep=100)
    (archive,) = (shared.folder / "system").glob("*.gz")
    damaged = archive.read_bytes()[:-20]
    archive.write_bytes(damaged)
    with pytest.raises(StoreError, match="restore it from a backup"):
        shared.traces.search_experiences("git")
    with pytest.raises(StoreError, match="restore it from a backup"):
        fill(shared, 100, keep=100)
    assert archive.read_bytes() == damaged


def test_the_async_face_has_the_same_methods(tmp_path):
    async def act() -> int:
        async with Awaited(db_dir=tmp_path / "store", settings={"system_memory": True}) as mesh:
            await mesh.traces.record("Fix it")
            return len(await mesh.traces.experiences())

    assert asyncio.run(act()) == 1


def test_an_entry_is_made_of_closed_lists_and_numbers():
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    one = anonymous(Trace("???", timestamp=at, duration_ms=7), project="p", agent="me")
    assert one.timestamp == datetime(2026, 1, 2, 3, tzinfo=UTC)
    assert one.primary_goal == "other task"
    assert one.components_used == ()


def test_a_trace_is_recorded_where_the_log_cannot_be_written(shared: MemoryMesh) -> None:
    shared.folder.mkdir(parents=True)
    (shared.folder / "system").write_text("in the way")
    assert shared.traces.record("Fix the login").id == shared.traces()[0].trace_id


# The level `own`: a log of one user's own projects.


@pytest.fixture
def own(tmp_path, clock):
    settings: Settings = {"system_memory": "own"}
    with MemoryMesh(
        db_dir=tmp_path / "store", clock=clock, project="/srv/acme", settings=settings
    ) as mesh:
        yield mesh


@pytest.mark.req("R-002-009", "R-002-010", "R-002-067", "R-002-071")
def test_at_own_a_user_reads_goals_and_learnings_of_all_their_projects(own):
    key = "sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"
    own.traces.record(GOAL, status="failure", learnings=["acme caches tokens", f"the key is {key}"])
    own.view(scope=Scope(project="/srv/other")).traces.record("Deploy\nit", status="success")
    newest, first = own.traces.experiences()
    assert (newest.project_name, newest.primary_goal) == ("/srv/other", "Deploy\nit")
    assert (first.experience_id, first.project_name) == ("exp_1", "/srv/acme")
    assert first.primary_goal.startswith("Fix the login of Acme Holding for [EMAIL_")
    assert first.learnings_or_issues.startswith("- acme caches tokens\n- the key is [")
    assert "jane" not in str(first)
    assert key not in str(first)
    assert [one.number for one in own.traces.search_experiences("acme tokens")] == [1]
    assert own.traces.experience_summary().projects == 2
    assert not (own.folder / "system").exists()
    assert own.traces.roll_experiences() == 0
    with pytest.raises(InvalidInput, match="your own log has no file"):
        own.traces.write_memory_log()


@pytest.mark.parametrize(("raw", "goal"), [("drop", "fix"), ("scrub", "Fix")])
def test_at_own_no_more_of_a_goal_is_kept_than_in_its_trace(tmp_path, clock, raw, goal):
    settings: Settings = {"system_memory": "own", "raw_input": raw}
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, settings=settings) as mesh:
        receipt = mesh.traces.record(GOAL, learnings=[f"It was said: {GOAL}"])
        (one,) = mesh.traces.experiences()
        trace = mesh.traces.get(id_of(receipt))
    assert trace is not None
    assert one.primary_goal == trace.goal
    assert one.learnings_or_issues == f"- {trace.learnings[0]}\n"
    assert one.primary_goal.startswith(goal)


@pytest.mark.req("R-002-081")
def test_at_own_no_user_sees_or_erases_another_ones_entries(own):
    record(own)
    lin, kim = own.for_user("lin"), own.for_user("kim")
    lin.traces.record("Sell the boat", learnings=["the harbour pays late"])
    kim.traces.record("Buy the boat")
    assert [one.primary_goal for one in lin.traces.experiences()] == ["Sell the boat"]
    assert [one.primary_goal for one in kim.traces.experiences()] == ["Buy the boat"]
    assert kim.traces.search_experiences("harbour login") == []
    assert kim.traces.experience_summary().entries == 1
    assert kim.traces.erase_experiences(everything=True) == 1
    assert (len(own.traces.experiences()), len(lin.traces.experiences())) == (1, 1)
    own.delete_user("lin")
    assert own.for_user("lin").traces.experiences() == []
    own.close()
    for path in own.config.db_dir.rglob("*"):
        assert not path.is_file() or b"harbour pays" not in path.read_bytes()


@pytest.mark.req("R-002-081")
def test_at_own_a_project_is_erased_by_its_name_also_when_it_is_off(own, tmp_path, clock):
    for project in ("/srv/acme", "/srv/other"):
        own.view(scope=Scope(project=project)).traces.record("Fix it")
    assert own.traces.erase_experiences(project="acme") == 1
    own.close()
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock) as mesh:
        assert mesh.traces.erase_experiences(project="/srv/other") == 1
        assert mesh.traces.erase_experiences(everything=True) == 0


def test_at_own_nothing_is_rolled_away(own):
    fill(own, 1_250)
    assert own.traces.experiences(limit=1_000, before="exp_201")[-1].number == 1
    assert all(step.action != "roll" for report in own.care.run_jobs() for step in report.steps)
    assert own.traces.experience_summary().entries == 1_250


def test_a_store_of_today_keeps_its_log_and_what_its_setting_means(shared, tmp_path, clock):
    record(shared)
    shared.close()
    said: list[tuple[bool | str, str]] = [
        (True, "counts"), ("on", "counts"), ("counts", "counts"), (False, "off"), ("no", "off"),
    ]  # fmt: skip
    for value, level in said:
        with MemoryMesh(
            db_dir=tmp_path / "store", clock=clock, settings={"system_memory": value}
        ) as mesh:
            assert mesh.config.system_memory == level
            if level == "counts":
                assert mesh.traces.experiences()[0].primary_goal == "fix task"
    with (
        pytest.raises(InvalidInput, match="must be one of off, counts, own, not 'all'"),
        MemoryMesh(db_dir=tmp_path / "store", settings={"system_memory": "all"}),
    ):
        pass
    with MemoryMesh(db_dir=tmp_path / "store", settings={"system_memory": "own"}) as mesh:
        assert mesh.traces.experiences() == []  # what all share is no log of one's own


def test_at_own_users_are_apart_in_postgresql_too(database, monkeypatch):
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "none")
    with MemoryMesh(database, settings={"system_memory": "own"}) as mesh:
        lin, kim = mesh.for_user("lin"), mesh.for_user("kim")
        lin.traces.record("Sell the boat")
        kim.traces.record("Buy the boat")
        assert [one.primary_goal for one in lin.traces.experiences()] == ["Sell the boat"]
        mesh.delete_user("lin")
        assert lin.traces.experiences() == []
        assert [one.primary_goal for one in kim.traces.experiences()] == ["Buy the boat"]
