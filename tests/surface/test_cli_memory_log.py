"""`memory-mesh memory-log` as a user runs it."""

import json
from pathlib import Path

import pytest

from memory_mesh.formats import memory_log
from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine


@pytest.fixture
def shared(cli, monkeypatch) -> CommandLine:
    """A home where the system memory is on and three executions were logged."""
    monkeypatch.setenv("HOME", str(cli.home))
    with MemoryMesh(db_dir=cli.store, project="acme", settings={"system_memory": True}) as mesh:
        mesh.traces.record("Fix the login", tools_used=["git", "pytest"])
        mesh.traces.record("Deploy to staging", status="failure", tools_used=["docker"])
        mesh.traces.record("Fix the build", tools_used=["make"])
    return CommandLine(cli.home, variables={"MEMORY_MESH_SYSTEM_MEMORY": "on"})


def test_it_says_how_to_switch_it_on(cli):
    done = cli("memory-log", "list")
    assert done.code == 1
    assert "system_memory = true" in done.err


@pytest.mark.req("R-002-009", "R-002-033")
def test_entries_are_listed_in_the_format_of_the_log(shared):
    done = shared("memory-log", "list", "--limit", "2")
    assert done.code == 0, done.err
    found = memory_log.parse(done.out)
    assert [one.experience_id for one in found.entries] == ["exp_3", "exp_2"]
    assert found.faults == ()
    older = json.loads(shared("memory-log", "list", "--before", "exp_2", "--json").out)["items"]
    assert [one["experience_id"] for one in older] == ["exp_1"]


def test_entries_are_found_by_words(shared):
    done = shared("memory-log", "search", "failed release with docker", "--json")
    assert json.loads(done.out)["items"][0]["experience_id"] == "exp_2"
    assert "no such entry" in shared("memory-log", "search", "kubectl").out


@pytest.mark.req("R-002-073")
def test_figures_are_summed_up(shared):
    out = shared("memory-log", "summary").out
    assert "3 executions in 1 projects" in out
    assert "fix task: 2 success" in out
    assert "release task: 1 failure" in out


def test_the_log_is_written_and_rolled(shared):
    path = shared.store / "system" / "memory_log.md"
    path.unlink()
    assert f"Wrote {path}" in shared("memory-log", "write").out
    assert len(memory_log.parse(path.read_text()).entries) == 3
    assert "Archived 0 entries" in shared("memory-log", "roll").out


@pytest.mark.req("R-002-066")
def test_entries_are_erased_also_when_it_is_off(shared, cli):
    assert cli("memory-log", "erase").code == 2
    nothing = cli("memory-log", "erase", "--of-project", "other")
    assert nothing.code == 1
    assert "nothing was erased: the log has no entry of a project 'other'" in nothing.err
    assert "--all" in nothing.err
    assert "Erased 3" in cli("memory-log", "erase", "--of-project", "acme").out
    assert "The log is empty. Every trace" in shared("memory-log", "list").out


def test_a_work_tree_is_erased_by_the_name_of_its_folder(shared, tmp_path):
    for folder in ("a/tr", "b/tr", "shop"):
        (tmp_path / folder / ".git").mkdir(parents=True)
        done = shared("trace", "record", "Fix the build", cwd=tmp_path / folder)
        assert done.code == 0, done.err
    two = shared("memory-log", "erase", "--of-project", "tr")
    assert two.code == 1
    assert f"Give the path of one: {tmp_path}/a/tr, {tmp_path}/b/tr" in two.err
    path = shared("memory-log", "erase", "--of-project", str(tmp_path / "a/tr"))
    assert "Erased 1 entry." in path.out
    here = shared("memory-log", "erase", "--of-project", "tr", cwd=tmp_path / "b/tr")
    assert "Erased 1 entry." in here.out
    assert "Erased 1 entry." in shared("memory-log", "erase", "--of-project", "shop").out
    assert "Erased 3 entries." in shared("memory-log", "erase", "--of-project", "acme").out


def test_words_belong_to_search_alone(cli):
    assert cli("memory-log", "search").code == 2
    assert cli("memory-log", "list", "words").code == 2


def test_the_page_shows_an_entry_and_commands_as_they_are(shared):
    jobs = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text(encoding="utf-8")
    page = jobs.partition("## The system memory")[2].partition("\n## ")[0]
    example = page.partition("```yaml\n")[2].partition("```")[0]
    (entry,) = memory_log.parse(example).entries
    assert memory_log.render(entry) == example
    commands = [line[2:] for line in page.split("\n") if line.startswith("$ memory-mesh")]
    assert len(commands) == 8
    with MemoryMesh(
        db_dir=shared.store, project="my-project", settings={"system_memory": True}
    ) as mesh:
        mesh.traces.record("Fix the login")
    for command in commands:
        done = shared.shell(command)
        assert done.code == 0, (command, done.err)
