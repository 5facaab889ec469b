"""`memory-mesh project` shows, names, merges and splits, and says what to do next."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.surface.command import CommandLine

CONFIG = '[remote "origin"]\n\turl = https://ada:ghp_0123456789abcdef0123@github.com/ada/app.git\n'


def made(folder: Path, config: str = "") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/description").write_text("x")
    (folder / ".git/config").write_text(config)
    return folder


@pytest.fixture
def app(tmp_path: Path) -> Path:
    return made(tmp_path / "app", CONFIG)


def shown(cli: CommandLine, folder: Path) -> dict[str, object]:
    done = cli("project", "--json", cwd=folder)
    assert done.code == 0, done.err
    found: dict[str, object] = json.loads(done.out)
    return found


def test_it_shows_the_name_where_it_comes_from_and_what_is_read(
    cli: CommandLine, app: Path
) -> None:
    cli("store", "--content", "themes of the past", "--project", str(app))
    cli("store", "--content", "themes of today", cwd=app)
    done = cli("project", cwd=app)
    assert done.code == 0
    assert done.out == (
        "project:  github.com/ada/app\n"
        "named by: the repository's remote\n"
        f"folder:   {app}\n"
        "memories: 1\n"
        "it also reads:\n"
        f"  {app}  (a former name, memories: 1)\n"
    )
    assert shown(cli, app)["memories"] == {"github.com/ada/app": 1, str(app): 1}
    assert "Found 2 matches" in cli("search", "themes", cwd=app).out
    assert "ghp_" not in (cli.store / "namespaces/default.db").read_bytes().decode("latin-1")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_a_clone_of_a_local_repository_says_what_named_it(cli: CommandLine, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "first")
    git("-C", "first", "commit", "--allow-empty", "-m", "x")
    git("clone", "first", "second")
    git("-C", "second", "worktree", "add", "../tree")
    for name, more in (("second", ""), ("tree/deep", f"work tree: {tmp_path}/tree\n")):
        (tmp_path / name).mkdir(exist_ok=True)
        done = cli("project", cwd=tmp_path / name)
        project, how, *rest = re.sub(": +", ": ", done.out).splitlines(keepends=True)
        assert project.startswith("project: commit:")
        assert how.startswith("named by: the repository on this machine that its remote leads to")
        assert "".join(rest) == f"folder: {tmp_path}/second\n{more}memories: 0\n"


def test_a_repository_is_named_for_all_its_work_trees_and_keeps_what_it_had(
    cli: CommandLine, app: Path, tmp_path: Path
) -> None:
    cli("store", "--content", "themes of the app", cwd=app)
    done = cli("project", "set", "the app", cwd=app)
    assert done.out == f"[MemoryMesh] the project of {app} is the app.\n"
    assert 'project = "the app"' in (app / ".git/config").read_text()
    moved = app.rename(tmp_path / "moved")
    assert shown(cli, moved)["project"] == "the app"
    assert "Found 1 matches" in cli("search", "themes", cwd=moved).out
    assert cli("project", "unset", cwd=moved).code == 0
    assert (moved / ".git/config").read_text() == CONFIG
    assert "Found 1 matches" in cli("search", "themes", cwd=moved).out


def test_a_folder_outside_of_git_is_named_in_the_store(cli: CommandLine, tmp_path: Path) -> None:
    deep = tmp_path / "notes/2026"
    deep.mkdir(parents=True)
    refused = cli("project", cwd=deep)
    assert refused.code == 1
    assert "memory-mesh project set NAME" in refused.err
    assert cli("project", "set", "notes", cwd=tmp_path / "notes").code == 0
    assert shown(cli, deep)["project"] == "notes"
    cli("store", "--content", "themes of the notes", cwd=deep)
    assert "Found 0 matches" in cli("search", "themes").out
    assert cli("project", "unset", cwd=deep).out == (
        "[MemoryMesh] this folder belongs to no project now.\n"
    )
    assert cli("project", cwd=deep).code == 1


def test_another_project_is_merged_by_its_name_or_folder_and_split_again(
    cli: CommandLine, app: Path, tmp_path: Path
) -> None:
    old = made(tmp_path / "old")
    cli("store", "--content", "themes of old", cwd=old)
    cli("store", "--content", "themes of the app", cwd=app)
    missing = cli("project", "merge", "nothing", cwd=app)
    assert missing.code == 1
    assert f"Projects with memories: {old}" in missing.err
    done = cli("project", "merge", "../old", cwd=app)
    assert done.out == f"[MemoryMesh] github.com/ada/app reads {old} from now on.\n"
    assert shown(cli, app)["merged"] == [str(old)]
    assert "Found 2 matches" in cli("search", "themes", cwd=app).out
    assert "Found 1 matches" in cli("search", "themes", cwd=old).out
    assert cli("project", "split", str(old), cwd=app).code == 0
    assert "Found 1 matches" in cli("search", "themes", cwd=app).out
    again = cli("project", "split", str(old), cwd=app)
    assert again.code == 1
    assert "does not read" in again.err


def test_a_project_with_memories_of_a_former_name_only_is_no_empty_one(
    cli: CommandLine, app: Path, tmp_path: Path
) -> None:
    old, here = made(tmp_path / "old"), made(tmp_path / "here")
    cli("store", "--content", "themes of old", cwd=old)
    cli("project", "merge", "../old", cwd=app)
    for name in ("github.com/ada/app", str(old)):
        done = cli("search", "themes", "--also-project", name, cwd=here)
        assert "themes of old" in done.out
        assert "No memory has the project" not in done.err
    done = cli("search", "themes", "--also-project", "github.com/ada/none", cwd=here)
    assert "themes of old" not in done.out
    assert "No memory has the project" in done.err


def test_wrong_use_says_what_to_do(cli: CommandLine, app: Path) -> None:
    for words, said in (
        (("set",), "needs a NAME"),
        (("merge",), "needs a NAME"),
        (("show", "x"), "takes no name"),
        (("set", "x", "--project", "y"), "leave it out"),
        (("set", " x"), "printable"),
    ):
        done = cli("project", *words, cwd=app)
        assert done.code != 0
        assert said in done.err


def test_gits_lock_is_respected(cli: CommandLine, app: Path) -> None:
    (app / ".git/config.lock").touch()
    done = cli("project", "set", "x", cwd=app)
    assert done.code == 1
    assert "config.lock" in done.err
    assert (app / ".git/config").read_text() == CONFIG


def test_nothing_of_a_repository_is_run_or_waited_for(cli: CommandLine, tmp_path: Path) -> None:
    """A folder that somebody made: its configuration names programs, its files are pipes."""
    evil = tmp_path / "evil"
    subprocess.run(["git", "init", "--quiet", str(evil)], check=True)
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external"):
        subprocess.run(["git", "-C", str(evil), "config", key, str(trap)], check=True)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.fsmonitor="]
    subprocess.run(
        ["git", "-C", str(evil), *identity, "commit", "--quiet", "--allow-empty", "-m", "x"],
        check=True,
    )
    (tmp_path / "sprung").unlink(missing_ok=True)
    assert str(shown(cli, evil)["project"]).startswith("commit:")
    assert not (tmp_path / "sprung").exists()
    made(tmp_path / "pipes")
    import os

    (tmp_path / "pipes/.git/config").unlink()
    os.mkfifo(tmp_path / "pipes/.git/config")
    assert shown(cli, tmp_path / "pipes")["project"] == str(tmp_path / "pipes")


def test_a_repository_that_lies_in_a_work_tree_as_plain_files_names_nothing(
    cli: CommandLine, app: Path
) -> None:
    """Such files come with a clone; what `.git` holds never does."""
    bare = app / "docs/bare"
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text('[remote "origin"]\n\turl = git@github.com:victim/secret.git\n')
    assert shown(cli, bare)["project"] == "github.com/ada/app"
