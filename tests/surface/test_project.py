"""Memories stored inside a repository belong to its main work tree."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from memory_mesh.platform.projects import project_of
from tests.surface.command import CommandLine


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/src/deep").mkdir(parents=True)
    return tmp_path / "repo"


def test_a_folder_belongs_to_the_work_tree_above_it(repository: Path) -> None:
    assert project_of(str(repository / "src/deep")) == str(repository)
    assert project_of(str(repository)) == str(repository)


def test_outside_of_a_work_tree_there_is_no_project(tmp_path: Path) -> None:
    assert project_of(str(tmp_path)) is None
    assert project_of(None) is None


def test_a_folder_whose_name_is_no_text_still_names_a_project(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    (folder / ".git").mkdir(parents=True)
    assert project_of(str(folder)) == f"{tmp_path}/caf\\xe9"


@pytest.mark.parametrize("relative", [True, False])
def test_a_linked_work_tree_leads_to_the_main_one(
    repository: Path, tmp_path: Path, *, relative: bool
) -> None:
    private = repository / ".git/worktrees/side"
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n")
    (tmp_path / "side").mkdir()
    target = "../repo/.git/worktrees/side" if relative else str(private)
    (tmp_path / "side/.git").write_text(f"gitdir: {target}\n")
    assert project_of(str(tmp_path / "side")) == str(repository)


def test_a_work_tree_of_a_bare_repository_is_known_by_that(tmp_path: Path) -> None:
    private = tmp_path / "repo.git/worktrees/side"
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n")
    (tmp_path / "side").mkdir()
    (tmp_path / "side/.git").write_text(f"gitdir: {private}\n")
    assert project_of(str(tmp_path / "side")) == str(tmp_path / "repo.git")


def test_a_submodule_is_a_project_of_its_own(repository: Path) -> None:
    (repository / ".git/modules/part").mkdir(parents=True)
    (repository / "part").mkdir()
    (repository / "part/.git").write_text("gitdir: ../.git/modules/part\n")
    assert project_of(str(repository / "part")) == str(repository / "part")


def test_a_broken_link_counts_as_a_work_tree(repository: Path) -> None:
    (repository / "src/.git").write_text("nonsense\n")
    assert project_of(str(repository / "src/deep")) == str(repository / "src")


def test_git_itself_agrees(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not here")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    main = tmp_path / "main"
    subprocess.run([*git, "init", "--quiet", str(main)], check=True)
    for words in (
        ["commit", "--quiet", "--allow-empty", "-m", "first"],
        ["worktree", "add", "--quiet", "--detach", str(tmp_path / "side")],
    ):
        subprocess.run([*git, "-C", str(main), *words], check=True)
    root = subprocess.check_output([*git, "-C", str(main), "rev-parse", "HEAD"], text=True).strip()
    assert project_of(str(tmp_path / "side")) == project_of(str(main)) == f"commit:{root}"


def test_a_memory_stays_with_its_project_unless_it_is_global(
    cli: CommandLine, repository: Path
) -> None:
    cli("store", "--content", "themes of the project", cwd=repository / "src")
    cli("store", "--content", "themes for everybody", "--global", cwd=repository)
    inside = cli("search", "themes", cwd=repository).out
    outside = cli("search", "themes").out
    assert "Found 2 matches" in inside
    assert "Found 1 matches" in outside
    assert "themes for everybody" in outside
    assert "Found 2 matches" in cli("search", "themes", "--all-projects").out
    assert len(cli("list", "--all-projects").out.splitlines()) == 2


def test_a_memory_of_a_project_is_called_so_and_a_search_outside_tells_of_it(
    cli: CommandLine, repository: Path
) -> None:
    cli("store", "--content", "themes of the project", cwd=repository)
    assert "Type: project |" in cli("search", "themes", cwd=repository).out
    name = json.loads(cli("list", "--json", cwd=repository).out)["items"][0]["project"]
    for command in (["search", "themes"], ["list"]):
        outside, elsewhere = cli(*command), cli(*command, "--project", "other")
        rest = f"; 1 memory in {name}: --all-projects.\n"
        assert outside.err == f"[MemoryMesh] The memories of projects were not looked at{rest}"
        assert elsewhere.err == f"[MemoryMesh] Only the project other was looked at{rest}"
    assert cli("search", "themes", "--all-projects").err == ""


def test_the_project_can_be_stated_or_refused(cli: CommandLine, repository: Path) -> None:
    cli("store", "--content", "themes here", cwd=repository)
    cli("store", "--content", "themes there", "--project", "other", cwd=repository)
    cli("store", "--content", "themes of nobody", "--project", "", cwd=repository)
    other = CommandLine(cli.home, variables={"MEMORY_MESH_PROJECT": "other"})
    assert "Found 2 matches" in other("search", "themes", cwd=repository).out
    assert "Found 2 matches" in cli("search", "themes", "--project", "other").out
    assert "Found 1 matches" in cli("search", "themes", "--project", "", cwd=repository).out


def test_another_projects_memory_is_not_changed_by_its_id(
    cli: CommandLine, repository: Path
) -> None:
    id_ = cli("store", "--content", "themes here", cwd=repository).out.split()[-1]
    for command in ("get", "delete", "pin", "restore"):
        refused = cli(command, "--id", id_)
        assert refused.code == 1
        assert id_ in refused.err
    assert cli("delete", "--id", id_, "--project", str(repository)).code == 0
