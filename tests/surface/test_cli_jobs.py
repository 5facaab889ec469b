"""`memory-mesh jobs` in real processes."""

import json
import re
from dataclasses import replace

import pytest

from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh
from tests.flow.angles import Angles
from tests.flow.executions import record_deploys, record_login
from tests.surface.command import CommandLine


@pytest.fixture(autouse=True)
def _one_key(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What these tests store themselves has the key of the commands."""
    monkeypatch.setenv("HOME", str(cli.home))


@pytest.fixture
def recorded(cli: CommandLine) -> CommandLine:
    """A store with ten traces of two kinds."""
    with MemoryMesh(db_dir=cli.store) as mesh:
        record_login(mesh, 7)
        record_deploys(mesh, 3)
    return cli


def test_without_traces_nothing_is_due(cli: CommandLine) -> None:
    done = cli("jobs")
    assert done.out == (
        "[MemoryMesh] consolidate-traces: not due: no new traces.\n"
        "[MemoryMesh] retention: not due: nothing is old enough.\n"
        "[MemoryMesh] roll-system-memory: not due: the system memory is off.\n"
        "[MemoryMesh] consolidate-memories: not due: nothing is stored.\n"
    )
    assert cli("jobs", "run").out == done.out


def test_a_plan_says_what_upkeep_would_do_and_why_and_changes_nothing(
    recorded: CommandLine,
) -> None:
    plan = recorded("upkeep", "--plan").out
    assert "would embed 0, link 0, reindex" in plan
    assert "consolidate-traces: due: 10 or more new traces" in plan
    assert "; would learn 2, stage 1." in plan
    assert "not due, upkeep leaves it: at most four times a day; due in 6 hours; would" in plan
    assert recorded("upkeep", "--plan").out == plan
    jobs = json.loads(recorded("upkeep", "--plan", "--json").out)["jobs"]
    assert [job["due"] for job in jobs] == [True, False, False, False]
    every = recorded("upkeep", "--plan", "--all").out
    assert "default: consolidate-traces: due: " in every
    assert "learned 2" in recorded("upkeep").out
    assert "consolidate-traces: not due, upkeep leaves it" in recorded("upkeep", "--plan").out


def test_a_plan_names_three_steps_of_a_job_and_counts_the_others(cli: CommandLine) -> None:
    with MemoryMesh(db_dir=cli.store) as mesh:
        for lamp in ("desk", "hall", "roof", "yard", "shed"):
            for _ in range(2):
                mesh.add(f"The {lamp} lamp is green", source_kind="document", allow_duplicate=True)
    told = cli("upkeep", "--plan").out
    assert "; would dedupe 5." in told
    assert told.count("  dedupe ") == 3
    (more,) = re.findall("  and 2 more: (.*)", told)
    assert cli.shell(more).out.count("  dedupe ") == 5
    done = json.loads(cli("jobs", "run", "consolidate-memories", "--json").out)
    step = done["items"][0]["steps"][0]
    told = cli("review", "undo", step["ids"][0]).out
    (gone,), (kept,) = step["ids"], step["evidence"]
    assert f"Undone: supersede of {gone} by {kept}, it says the same" in told
    assert "contradict" not in told


def test_a_plan_counts_the_texts_that_have_no_vector_of_the_model_in_use(cli: CommandLine) -> None:
    with MemoryMesh(db_dir=cli.store) as mesh:
        mesh.add_many(["The shop opens at nine", "The harbour is closed"])
    plan = ("upkeep", "--plan", "--json")
    assert json.loads(cli(*plan).out)["embed"] == 0  # it searches by words only
    cli = replace(cli, variables={**cli.variables, "MEMORY_MESH_EMBEDDER": "static"})
    assert json.loads(cli(*plan).out)["embed"] == 2  # no vector was ever made
    assert "embedded 2" in cli("upkeep").out
    assert json.loads(cli(*plan).out)["embed"] == 0
    with MemoryMesh(db_dir=cli.store) as mesh:
        mesh.add("The lamp is green")
    assert json.loads(cli(*plan).out)["embed"] == 1
    with MemoryMesh(db_dir=cli.store, custom_embedder=Angles()) as mesh:
        assert len(mesh.stats().spaces) == 1
        mesh.add("Vectors of another model")
        assert sum(state.pending for state in mesh.stats().spaces) > 2
    assert json.loads(cli(*plan).out)["embed"] == 2  # not what another space lacks


def test_jobs_lists_what_is_due_and_run_does_it_once(recorded: CommandLine) -> None:
    due = "[MemoryMesh] consolidate-traces: due: 10 or more new traces of one project.\n"
    assert recorded("jobs", "list").out.startswith(due)
    planned = recorded("jobs", "run", "--dry-run")
    assert "consolidate-traces: would learn 2, stage 1.\n" in planned.out
    assert recorded("jobs").out.startswith(due)
    done = recorded("jobs", "run")
    assert "consolidate-traces: learn 2, stage 1.\n" in done.out
    assert "Fix the flaky login test in build 0: 7 executions, 71% succeeded" in done.out
    assert "not due: no new traces" in recorded("jobs", "run").out
    assert "Fix the flaky login test in build 0" in recorded("review").out


def test_as_json_a_run_gives_steps_with_ids_and_evidence(recorded: CommandLine) -> None:
    (report,) = json.loads(recorded("jobs", "run", "consolidate-traces", "--json").out)["items"]
    assert (report["job"], report["ran"], report["complete"]) == ("consolidate-traces", True, True)
    learned = [step for step in report["steps"] if step["action"] == "learn"]
    assert [len(step["evidence"]) for step in learned] == [7, 3]
    assert all(step["ids"][0].startswith("mem_") for step in learned)


def test_a_run_that_stops_at_its_limit_says_so_and_the_next_goes_on(recorded: CommandLine) -> None:
    done = recorded("jobs", "run", "consolidate-traces", "--max-slices", "1")
    assert "it stopped at --max-slices, run it again" in done.out
    assert "learn 2" in recorded("jobs", "run", "consolidate-traces").out


def test_upkeep_runs_what_is_due(recorded: CommandLine) -> None:
    done = recorded("upkeep")
    assert done.out.endswith("pending 0, learned 2, staged 1.\n")
    assert "not due: no new traces" in recorded("jobs").out
    assert "learned" not in recorded("upkeep").out


def test_a_project_is_archived_after_it_was_consolidated(cli: CommandLine) -> None:
    with MemoryMesh(db_dir=cli.store) as mesh:
        record_login(mesh, 2, scope=Scope("shop"))
    done = cli("jobs", "archive-project", "--project", "shop")
    assert "archive-project: archive 2.\n" in done.out
    assert "its project was archived" in done.out


def test_an_unknown_project_is_not_archived_and_no_other_is_touched(cli: CommandLine) -> None:
    with MemoryMesh(db_dir=cli.store) as mesh:
        record_login(mesh, 2, scope=Scope("shop"))
    done = cli("jobs", "archive-project", "--project", "shoop")
    assert (done.code, done.out) == (1, "")
    assert "there are no traces of a project 'shoop'; projects with traces: shop" in done.err
    assert "2 new traces" in cli("jobs").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "tidy"), "there is no job 'tidy'; the jobs are: consolidate-traces, retention"),
        (("list", "retention"), "name jobs after run: memory-mesh jobs run retention"),
        (("--dry-run",), "--dry-run goes with run: memory-mesh jobs run --dry-run"),
        (("run", "--max-slices", "0"), "--max-slices must be a whole number, 1 or more"),
    ],
)
def test_what_is_not_possible_is_refused_with_what_to_do(
    cli: CommandLine, words: tuple[str, ...], said: str
) -> None:
    done = cli("jobs", *words)
    assert done.code in {1, 2}
    assert said in done.err
