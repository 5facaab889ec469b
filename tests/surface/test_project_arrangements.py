"""Memories are found in every arrangement of one repository, and never in another one.

Each arrangement is made with real git. `Desk` is a machine: a home, a store, and commands that run
in a folder. What is stored in one folder is looked for in another, by the command line's own parts.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh

URL = "https://github.com/ada/app.git"
FORK = "https://github.com/bob/app.git"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")


@dataclass
class Desk:
    """One machine with its own home and store."""

    home: Path
    count: int = 0

    def git(self, *words: str, at: Path | None = None) -> str:
        environment = {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org",
            "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.org",
        }  # fmt: skip
        done = subprocess.run(
            ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words],
            cwd=at or self.home, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def repository(self, name: str, url: str | None = None, *, commits: int = 1) -> Path:
        """A new repository with a history of its own."""
        folder = self.home / name
        self.git("init", "--quiet", str(folder))
        for number in range(commits):
            self.count += 1
            words = f"{name} {number} {self.count}"
            self.git("commit", "--quiet", "--allow-empty", "-m", words, at=folder)
        if url is not None:
            self.git("remote", "add", "origin", url, at=folder)
        return folder

    def clone(self, source: Path, name: str, *words: str, url: str | None = URL) -> Path:
        """A clone whose remote is said to be at a host."""
        folder = self.home / name
        self.git("clone", "--quiet", *words, source.as_uri(), str(folder))
        if url is None:
            self.git("remote", "remove", "origin", at=folder)
        else:
            self.git("remote", "set-url", "origin", url, at=folder)
        return folder

    def keep(self, folder: Path, text: str) -> None:
        """Store a text in a folder, as the command line does."""
        with self._mesh() as mesh:
            mesh.add(text, scope=Scope(_name(mesh, folder)))
            _name(mesh, folder)

    def found(self, folder: Path, words: str = "parser") -> list[str]:
        """What a search in a folder finds, sorted."""
        with self._mesh() as mesh:
            hits = mesh.search(words, scope=Scope(_name(mesh, folder)), limit=50)
            return sorted(hit.content for hit in hits)

    def name(self, folder: Path) -> str | None:
        with self._mesh() as mesh:
            return _name(mesh, folder)

    def _mesh(self) -> MemoryMesh:
        return MemoryMesh(db_dir=self.home / "store", embedder="none", agent_id="test")


def _name(mesh: MemoryMesh, folder: Path) -> str | None:
    found = mesh.care.projects.at(folder)
    return None if found is None else found.name


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("HOME", str(tmp_path / "desk"))
    (tmp_path / "desk").mkdir()
    return Desk(tmp_path / "desk")


MINE, OTHERS = "our parser is recursive", "their parser is generated"
Shared = Callable[[Desk], tuple[Path, Path]]  # the folder that stores, and one that must find it


def clone(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first", URL)
    return first, desk.clone(first, "second")


def shallow_clone(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first", URL, commits=3)
    second = desk.clone(first, "second", "--depth", "1")
    assert (second / ".git/shallow").exists()
    return first, second


def other_spelling(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first", URL)
    return first, desk.clone(first, "second", url="ssh://git@GitHub.com:22/Ada/App/")


def scp_spelling_with_a_token(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first", "https://ada:ghp_0123456789@github.com/ada/app")
    return first, desk.clone(first, "second", url="git@github.com:ada/app.git")


def work_tree(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first")
    desk.git("worktree", "add", "--quiet", "--detach", str(desk.home / "side"), at=first)
    return first, desk.home / "side"


def work_trees_of_a_bare_repository(desk: Desk) -> tuple[Path, Path]:
    bare = desk.home / "app.git"
    desk.git("clone", "--quiet", "--bare", desk.repository("first").as_uri(), str(bare))
    desk.git("remote", "set-url", "origin", URL, at=bare)
    for name in ("one", "two"):
        desk.git("worktree", "add", "--quiet", "--detach", str(desk.home / name), at=bare)
    return desk.home / "one", desk.home / "two"


def bare_repository(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first", URL)
    bare = desk.home / "app.git"
    desk.git("clone", "--quiet", "--bare", first.as_uri(), str(bare))
    desk.git("remote", "set-url", "origin", URL, at=bare)
    return first, bare


def deep_folder_through_a_link(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first")
    (first / "src/deep").mkdir(parents=True)
    (desk.home / "short").symlink_to(first / "src")
    return first, desk.home / "short/deep"


def clone_of_a_clone(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first", URL)
    return first, desk.clone(first, "second", url=str(first))


def clone_of_a_folder_without_remote(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first")
    return first, desk.clone(first, "second", url=first.as_uri())


def copy_without_remote(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first")
    shutil.copytree(first, desk.home / "copy")
    return first, desk.home / "copy"


def submodule_and_its_own_clone(desk: Desk) -> tuple[Path, Path]:
    part, whole = desk.repository("part", URL), desk.repository("whole", FORK)
    desk.git("submodule", "--quiet", "add", part.as_uri(), "part", at=whole)
    desk.git("remote", "set-url", "origin", URL, at=whole / "part")
    return part, whole / "part"


SHARED: list[Shared] = [
    clone, shallow_clone, other_spelling, scp_spelling_with_a_token, work_tree,
    work_trees_of_a_bare_repository, bare_repository, deep_folder_through_a_link, clone_of_a_clone,
    clone_of_a_folder_without_remote, copy_without_remote, submodule_and_its_own_clone,
]  # fmt: skip


@pytest.mark.parametrize("arranged", SHARED, ids=lambda one: one.__name__)
def test_one_repository_is_one_project(desk: Desk, arranged: Shared) -> None:
    stored, asked = arranged(desk)
    other = desk.repository("other", "https://github.com/ada/other.git")
    desk.keep(other, OTHERS)
    desk.keep(stored, MINE)
    assert desk.found(asked) == desk.found(stored) == [MINE]
    assert desk.found(other) == [OTHERS]


Change = Callable[[Desk, Path], Path]  # what happens to a repository; where it is then


def renamed(desk: Desk, folder: Path) -> Path:
    return folder.rename(desk.home / "renamed")


def moved_deeper(desk: Desk, folder: Path) -> Path:
    (desk.home / "work/2026").mkdir(parents=True)
    return folder.rename(desk.home / "work/2026/app")


def remote_added(desk: Desk, folder: Path) -> Path:
    desk.git("remote", "add", "origin", URL, at=folder)
    return folder


def first_commit(desk: Desk, folder: Path) -> Path:
    desk.git("commit", "--quiet", "--allow-empty", "-m", "first", at=folder)
    return folder


def renamed_on_the_host(desk: Desk, folder: Path) -> Path:
    desk.git("remote", "set-url", "origin", "git@github.com:ada/better-name.git", at=folder)
    return folder


def remote_removed(desk: Desk, folder: Path) -> Path:
    desk.git("remote", "remove", "origin", at=folder)
    return folder


def named_by_the_user(desk: Desk, folder: Path) -> Path:
    desk.git("config", "memory-mesh.project", "the app", at=folder)
    return folder


def history_merged_in(desk: Desk, folder: Path) -> Path:
    other = desk.repository("library")
    desk.git("fetch", "--quiet", str(other), at=folder)
    merge = ["merge", "--quiet", "--allow-unrelated-histories", "-m", "merge", "FETCH_HEAD"]
    desk.git(*merge, at=folder)
    return folder


CHANGED: list[tuple[Change, str | None, int]] = [
    (renamed, None, 1),
    (renamed, None, 0),  # before its first commit
    (moved_deeper, URL, 1),
    (remote_added, None, 1),
    (remote_added, None, 0),
    (first_commit, None, 0),
    (renamed_on_the_host, URL, 1),
    (remote_removed, URL, 1),
    (named_by_the_user, URL, 1),
    (history_merged_in, None, 1),
]


@pytest.mark.parametrize(("change", "url", "commits"), CHANGED)
def test_a_changed_repository_keeps_its_memories(
    desk: Desk, change: Change, url: str | None, commits: int
) -> None:
    before = desk.repository("app", url, commits=commits)
    other = desk.repository("other")
    desk.keep(before, MINE)
    desk.keep(other, OTHERS)
    after = change(desk, before)
    assert desk.found(after) == [MINE]
    desk.keep(after, "our parser has tests")
    assert desk.found(after) == ["our parser has tests", MINE]
    assert desk.found(other) == [OTHERS]


Apart = Callable[[Desk], tuple[Path, Path]]


def fork(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first", URL)
    return first, desk.clone(first, "fork", url=FORK)


def fork_that_knows_where_it_comes_from(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first", URL)
    second = desk.clone(first, "fork", url=FORK)
    desk.git("remote", "add", "upstream", URL, at=second)
    return first, second


def local_history_and_its_published_fork(desk: Desk) -> tuple[Path, Path]:
    first = desk.repository("first")
    return first, desk.clone(first, "fork", url=FORK)


def submodule_and_its_parent(desk: Desk) -> tuple[Path, Path]:
    part, whole = desk.repository("part"), desk.repository("whole")
    desk.git("submodule", "--quiet", "add", part.as_uri(), "part", at=whole)
    return whole, whole / "part"


def nested_repository(desk: Desk) -> tuple[Path, Path]:
    whole = desk.repository("whole")
    inner = desk.repository("whole/vendored/inner")
    return whole, inner


def same_name_on_another_host(desk: Desk) -> tuple[Path, Path]:
    one = desk.repository("one", "git@github.com:ada/app.git")
    return one, desk.repository("two", "git@git.example.org:ada/app.git")


def folder_beside_repositories(desk: Desk) -> tuple[Path, Path]:
    (desk.home / "notes").mkdir()
    return desk.repository("app"), desk.home / "notes"


def empty_repositories(desk: Desk) -> tuple[Path, Path]:
    return desk.repository("one", commits=0), desk.repository("two", commits=0)


APART: list[Apart] = [
    fork, fork_that_knows_where_it_comes_from, local_history_and_its_published_fork,
    submodule_and_its_parent, nested_repository, same_name_on_another_host,
    folder_beside_repositories, empty_repositories,
]  # fmt: skip


@pytest.mark.parametrize("arranged", APART, ids=lambda one: one.__name__)
def test_two_repositories_are_two_projects(desk: Desk, arranged: Apart) -> None:
    one, other = arranged(desk)
    desk.keep(one, MINE)
    assert desk.found(other) == []
    if desk.name(other) is not None:
        desk.keep(other, OTHERS)
        assert desk.found(one) == [MINE]
        assert desk.found(other) == [OTHERS]


@pytest.mark.parametrize("first", [(None, 0), (None, 1), (URL, 1)])
@pytest.mark.parametrize("second", [(None, 0), (None, 1), (FORK, 1)])
def test_two_repositories_at_one_path_one_after_the_other_are_two_projects(
    desk: Desk, first: tuple[str | None, int], second: tuple[str | None, int]
) -> None:
    gone = desk.repository("app", first[0], commits=first[1])
    desk.keep(gone, MINE)
    shutil.rmtree(gone)
    came = desk.repository("app", second[0], commits=second[1])
    assert desk.found(came) == []
    desk.keep(came, OTHERS)
    assert desk.found(came) == [OTHERS]


def test_a_fork_cloned_to_the_path_of_its_parent_is_another_project(desk: Desk) -> None:
    origin = desk.repository("origin")
    app = desk.clone(origin, "app")
    desk.keep(app, MINE)
    shutil.rmtree(app)
    assert desk.found(desk.clone(origin, "app", url=FORK)) == []


def test_a_clone_that_becomes_a_fork_is_another_project(desk: Desk) -> None:
    app = desk.repository("app", URL)
    desk.keep(app, MINE)
    desk.git("remote", "rename", "origin", "upstream", at=app)
    desk.git("remote", "add", "origin", FORK, at=app)
    assert desk.found(app) == []


def test_another_machine_finds_what_a_shared_store_holds(desk: Desk, tmp_path: Path) -> None:
    app = desk.repository("app", URL)
    desk.keep(app, MINE)
    (tmp_path / "laptop").mkdir()
    laptop = Desk(tmp_path / "laptop")
    shutil.copytree(desk.home / "store", laptop.home / "store")
    there = laptop.clone(app, "src/somewhere/else", url="git@github.com:ada/app.git")
    assert laptop.found(there) == [MINE]
    assert laptop.found(laptop.repository("app", FORK)) == []


def test_what_was_stored_under_a_path_belongs_to_the_first_repository_seen_there(
    desk: Desk,
) -> None:
    app = desk.repository("app", URL)
    with desk._mesh() as mesh:  # as earlier versions stored it
        mesh.add(MINE, scope=Scope(str(app)))
    assert desk.found(app) == [MINE]
    assert desk.found(desk.clone(app, "second")) == [MINE]
    shutil.rmtree(app)
    assert desk.found(desk.repository("app", FORK)) == []
    shutil.rmtree(app)
    assert desk.found(desk.repository("app", commits=0)) == []
