"""Clones, settings and variables that mislead git, or make it run, fetch or write something."""

import hashlib
import os
import shutil
import time
from pathlib import Path

import pytest

from memory_mesh.mirror import git as git_module, judge
from memory_mesh.mirror.authors import Author, Authors, Verdict
from tests.clones import Repo, author, clone, new_repo, shared, verdict

THEIRS = "theirs.md"


def ask_everything(repo: Repo) -> list[Author]:
    """Every question there is, about their note, mine and one that is gone."""
    gone = hashlib.sha256(b"gone").hexdigest()
    with Authors.of_folder(repo.notes, repo.top.parent / "state") as authors:
        for name in (THEIRS, "mine.md"):
            authors.waiting(name, b"<<<<<<< a\n=======\n>>>>>>> b\n")
            authors.baselines(name)
            authors.of_documents(
                name, repo.read(name), lambda content: content.decode().split("\n")
            )
        told = [authors.of(name, repo.read(name)) for name in (THEIRS, "mine.md")]
        told.append(authors.of("mine.md", b"edited"))
        told.append(authors.deleted("gone.md", gone))
        told.append(authors.deleted(THEIRS, gone))
        return told


USUAL = [Author.DOCUMENT, Author.USER, Author.USER, Author.DOCUMENT, Author.USER]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A clone with a note of theirs, one of mine, and one that they removed again."""
    repo, they, _ = shared(tmp_path_factory.mktemp("model"))
    they.commit("gone.md", "gone")
    they.git("rm", "-q", "notes/gone.md")
    they.git("commit", "-qm", "remove it")
    they.git("push", "-q")
    repo.git("pull", "-q")
    repo.commit("mine.md", "mine\n")
    return repo


@pytest.fixture
def mine(model: Repo, tmp_path: Path) -> Repo:
    """A copy of it that a test may spoil."""
    shutil.copytree(model.top, tmp_path / "mine", symlinks=True)
    return Repo(tmp_path / "mine")


def test_the_usual_answers(mine):
    assert ask_everything(mine) == USUAL


# --- what git must not do -------------------------------------------------------------------------


def test_no_command_of_the_repositorys_settings_runs(mine, tmp_path):
    trap = tmp_path / "trap"
    trap.mkdir()
    sprung = trap / "sprung"
    script = trap / "run"
    script.write_text(f"#!/bin/sh\necho $0 $@ >> {sprung}\n")
    script.chmod(0o755)
    hooks = trap / "hooks"
    hooks.mkdir()
    names = ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman")
    for name in names:
        (hooks / name).symlink_to(script)
        (mine.top / ".git" / "hooks" / name).symlink_to(script)
    settings = {
        "core.fsmonitor": str(script),
        "core.hooksPath": str(hooks),
        "core.pager": str(script),
        "core.sshCommand": str(script),
        "core.editor": str(script),
        "core.askPass": str(script),
        "core.alternateRefsCommand": str(script),
        "gpg.program": str(script),
        "log.showSignature": "true",
        "log.showRoot": "false",
        "diff.external": str(script),
        "diff.trap.command": str(script),
        "diff.trap.textconv": str(script),
        "filter.trap.clean": str(script),
        "filter.trap.smudge": str(script),
        "filter.trap.process": str(script),
        "merge.trap.driver": str(script),
        "credential.helper": str(script),
        "i18n.logOutputEncoding": "UTF-16",
        **{f"alias.{name}": f"!{script}" for name in ("log", "cat-file", "check-attr", "ls-files")},
        **{f"pager.{name}": str(script) for name in ("log", "cat-file", "ls-files")},
    }
    for name, value in settings.items():
        mine.git("config", name, value)
    (mine.top / ".git" / "info" / "attributes").write_text("other* filter=trap diff=trap\n")
    assert ask_everything(mine) == USUAL
    (mine.top / ".git" / "info" / "attributes").write_text("* filter=trap diff=trap merge=trap\n")
    told = ask_everything(mine)
    assert told[:2] == USUAL[:2]
    assert told[2] is Author.DOCUMENT  # what a filter changes cannot be told apart
    assert not sprung.exists(), sprung.read_text()


def test_nothing_in_the_repository_is_written(mine):
    os.utime(mine.notes / THEIRS, (1, 1))  # git would like to refresh its index
    before = listing(mine.top)
    ask_everything(mine)
    assert listing(mine.top) == before


def listing(top: Path) -> dict[str, tuple[int, int]]:
    found = (path for path in top.rglob("*") if not path.is_symlink())
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


def test_a_partial_clone_fetches_nothing(tmp_path):
    seed = new_repo(tmp_path / "seed", "them")
    seed.git("config", "uploadpack.allowFilter", "true")
    seed.git("config", "uploadpack.allowAnySHA1InWant", "true")
    old = seed.commit(THEIRS, "old")
    seed.commit(THEIRS, "new")
    mine = clone(f"file://{seed.top}", tmp_path / "mine", "me", "--filter=blob:none")
    sprung = tmp_path / "sprung"
    mine.git("config", "remote.origin.uploadpack", f"touch {sprung}; git-upload-pack")
    mine.commit("mine.md", "mine")
    mine.write(THEIRS, "mine")
    assert author(mine, THEIRS, b"new") is Author.DOCUMENT
    assert author(mine, "mine.md") is Author.USER
    assert author(mine, THEIRS, b"edited") is Author.USER
    with Authors.of_folder(mine.notes, tmp_path / "state") as authors:
        assert authors.baseline(THEIRS) == b"new"
        assert authors.of(THEIRS, old) is Author.DOCUMENT  # it is at the server, and stays there
        assert authors.of("mine.md", b"edited") is Author.USER
    assert not sprung.exists()
    mine.git("checkout", "-q", "-f", "HEAD~2")
    assert sprung.exists()
    assert author(mine, THEIRS, old) is Author.DOCUMENT


def test_a_partial_clone_without_the_committed_content_is_not_believed(tmp_path):
    seed = new_repo(tmp_path / "seed", "them")
    seed.git("config", "uploadpack.allowFilter", "true")
    seed.commit(THEIRS, "new")
    options = ("--filter=blob:none", "--no-checkout")
    mine = clone(f"file://{seed.top}", tmp_path / "mine", "me", *options)
    mine.write(THEIRS, "new")
    assert author(mine, THEIRS) is Author.DOCUMENT
    assert author(mine, "other.md", b"mine") is Author.USER


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GIT_DIR", "{other}/.git"),
        ("GIT_WORK_TREE", "{other}"),
        ("GIT_INDEX_FILE", "{other}/.git/index"),
        ("GIT_OBJECT_DIRECTORY", "{other}/.git/objects"),
        ("GIT_COMMON_DIR", "{other}/.git"),
        ("GIT_NAMESPACE", "other"),
        ("GIT_EXEC_PATH", "{other}"),
        ("GIT_CEILING_DIRECTORIES", "{mine}"),
        ("GIT_EXTERNAL_DIFF", "touch {sprung}"),
        ("GIT_SSH_COMMAND", "touch {sprung}"),
        ("GIT_TRACE", "{sprung}"),
        ("GIT_TRACE2_EVENT", "{sprung}"),
        ("GIT_CONFIG_GLOBAL", "{other}/evil"),
        ("GIT_CONFIG_SYSTEM", "{other}/evil"),
        ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='touch {sprung}'"),
        ("GIT_CONFIG_COUNT", "x"),
        ("GIT_LITERAL_PATHSPECS", "0"),
        ("GIT_ICASE_PATHSPECS", "1"),
        ("GIT_GLOB_PATHSPECS", "1"),
        ("GIT_REPLACE_REF_BASE", "refs/heads/"),
        ("GIT_SHALLOW_FILE", "{other}/shallow"),
        ("GIT_DEFAULT_HASH", "sha256"),
        ("GIT_PAGER", "touch {sprung}"),
        ("PAGER", "touch {sprung}"),
        ("LANG", "de_DE.UTF-8"),
        ("LC_ALL", "tr_TR.UTF-8"),
    ],
)
def test_a_variable_of_the_caller_does_not_steer_git(mine, tmp_path, monkeypatch, name, value):
    other = new_repo(tmp_path / "other")
    other.commit(THEIRS, "other")
    sprung = tmp_path / "sprung"
    (other.top / "evil").write_text(
        f"[core]\n\tfsmonitor = touch {sprung}\n[log]\n\tshowRoot=false\n"
    )
    monkeypatch.setenv(name, value.format(other=other.top, mine=mine.top, sprung=sprung))
    assert ask_everything(mine) == USUAL
    assert not sprung.exists()


def test_a_replaced_or_grafted_commit_is_read_as_it_is(mine):
    theirs = mine.git("rev-parse", "HEAD~1")
    forged = mine.git("commit-tree", "-m", "x", "HEAD^{tree}")
    mine.git("replace", "HEAD", forged)
    (mine.top / ".git" / "info" / "grafts").write_text(
        f"{theirs}\n{mine.git('rev-parse', 'HEAD')}\n"
    )
    assert author(mine, THEIRS) is Author.DOCUMENT
    assert author(mine, "mine.md") is Author.USER


# --- git that does not answer ---------------------------------------------------------------------


def fake_git(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize(
    "body",
    [
        "exec sleep 600",
        "exit 1",
        "echo nonsense; exec sleep 600",
        "echo 0123 blob 999999999999; exec sleep 600",
        "cat /dev/zero",
    ],
)
def test_a_git_that_does_not_answer_is_given_up(mine, tmp_path, monkeypatch, body):
    monkeypatch.setattr(git_module, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(git_module, "WALK_SECONDS", 0.3)
    monkeypatch.setattr(git_module, "MAX_BYTES", 1_000_000)
    fake_git(tmp_path / "bin", monkeypatch, body)
    start = time.monotonic()
    told = verdict(mine, "mine.md")
    assert told.author is Author.DOCUMENT
    assert "not known" in told.reason
    assert time.monotonic() - start < 300  # it did not wait for what sleeps twice as long
    assert ask_everything(mine) == [Author.DOCUMENT] * 5


def test_a_history_that_takes_too_long_is_given_up(mine, tmp_path, monkeypatch):
    monkeypatch.setattr(git_module, "WALK_SECONDS", 0.3)
    real = shutil.which("git")
    body = f'case "$*" in *" log "*) exec sleep 60;; *) exec {real} "$@";; esac'
    fake_git(tmp_path / "bin", monkeypatch, body)
    assert author(mine, "mine.md") is Author.DOCUMENT
    assert author(mine, "mine.md", b"edited") is Author.USER


def test_without_git_nothing_in_a_clone_is_the_users(mine, monkeypatch):
    monkeypatch.setenv("PATH", "")
    told = verdict(mine, "mine.md", b"edited")
    assert told == Verdict(Author.DOCUMENT, "where it came from is not known: git is not installed")


def test_a_git_in_the_work_tree_is_not_run(mine, tmp_path, monkeypatch):
    sprung = tmp_path / "sprung"
    fake_git(mine.top / "bin", monkeypatch, f"touch {sprung}")
    monkeypatch.setenv("PATH", f".{os.pathsep}bin{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(mine.top)
    assert ask_everything(mine) == USUAL
    assert not sprung.exists()


def test_damaged_repositories_give_no_user(mine):
    edited = b"edited"
    head = mine.top / ".git" / "HEAD"
    kept = head.read_text()
    for text in ("", "ref: \n", "0" * 40 + "\n", "1" * 40 + "\n", "nonsense\n"):
        head.write_text(text)
        assert author(mine, "mine.md", edited) is Author.DOCUMENT, text
    head.write_text(kept)
    branch = mine.top / ".git" / "refs" / "heads" / "main"
    branch.write_text("1" * 40 + "\n")
    assert author(mine, "mine.md", edited) is Author.DOCUMENT


def test_an_empty_git_folder_gives_no_user(tmp_path):
    outer = new_repo(tmp_path / "outer")
    outer.commit("a.md", "words")
    (outer.notes / "inner" / ".git").mkdir(parents=True)
    assert author(outer, "inner/a.md", b"words") is Author.DOCUMENT
    (outer.notes / "linked").mkdir()
    (outer.notes / "linked" / ".git").write_text("gitdir: /nowhere\n")
    assert author(outer, "linked/a.md", b"words") is Author.DOCUMENT


@pytest.mark.parametrize("name", [".hg", ".jj", ".svn", "_darcs", ".fslckout"])
def test_another_version_control_system_gives_no_user(tmp_path, name):
    repo = new_repo(tmp_path / "repo")
    (repo.top / name).mkdir()
    told = verdict(repo, "a.md", b"words")
    assert told.author is Author.DOCUMENT
    assert name in told.reason


# --- forms of clones ------------------------------------------------------------------------------


def test_a_shallow_clone_knows_mine_from_theirs(tmp_path):
    seed = new_repo(tmp_path / "seed", "them")
    for number in range(3):
        seed.commit(THEIRS, f"version {number}")
    mine = clone(f"file://{seed.top}", tmp_path / "mine", "me", "--depth=1")
    mine.commit("mine.md", "mine")
    assert author(mine, THEIRS) is Author.DOCUMENT
    assert author(mine, "mine.md") is Author.USER


def test_a_history_cut_behind_a_commit_of_mine_does_not_make_theirs_mine(tmp_path):
    mine, _, server = shared(tmp_path)
    mine.commit("mine.md", "mine")
    mine.git("push", "-q")
    mine.git("remote", "set-url", "origin", f"file://{server.top}")
    mine.git("fetch", "-q", "--depth=1", "origin", "main")
    mine.git("reflog", "expire", "--expire=now", "refs/remotes/origin/main")
    assert author(mine, THEIRS) is Author.DOCUMENT


def test_amending_a_commit_further_back_than_is_looked_at_makes_nothing_mine(tmp_path, monkeypatch):
    seed = new_repo(tmp_path / "seed", "them")
    seed.commit(THEIRS, "theirs")
    seed.git("branch", "old")
    for number in range(5):
        seed.commit("other.md", f"version {number}")
    mine = clone(seed.top, tmp_path / "mine")
    mine.git("checkout", "-q", "old")
    mine.commit("mine.md", "mine", "--amend")
    monkeypatch.setattr(judge, "MAX_COMMITS", 3)
    assert verdict(mine, THEIRS).author is Author.DOCUMENT
    assert author(mine, "mine.md") is Author.DOCUMENT
    assert author(mine, "new.md", b"edited") is Author.USER


def test_references_that_are_no_commits_do_no_harm(mine):
    blob = mine.git("hash-object", "-w", "--stdin", given="a blob")
    mine.git("update-ref", "refs/tags/blob", blob)
    mine.git("update-ref", "refs/tags/tree", mine.git("rev-parse", "HEAD^{tree}"))
    mine.git("tag", "-a", "-m", "annotated", "tag")
    assert ask_everything(mine) == USUAL


def test_a_submodule_in_the_folder_is_a_clone_of_its_own(tmp_path):
    seed = new_repo(tmp_path / "seed", "them")
    seed.commit(THEIRS, "theirs")
    outer = new_repo(tmp_path / "outer")
    source = str(seed.top)
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", source, "notes/sub")
    outer.git("commit", "-qm", "add a submodule")
    outer.write("sub/notes/mine.md", "mine")
    assert author(outer, f"sub/notes/{THEIRS}") is Author.DOCUMENT
    assert author(outer, "sub/notes/mine.md") is Author.USER
    inner = Repo(outer.notes / "sub")
    inner.commit("mine.md", "mine")
    assert author(outer, "sub/notes/mine.md") is Author.USER
    assert author(inner, "mine.md") is Author.USER
    assert author(inner, THEIRS) is Author.DOCUMENT


def test_a_sha256_repository_knows_mine_from_theirs(tmp_path):
    seed = new_repo(tmp_path / "seed", "them", "--object-format=sha256")
    seed.commit(THEIRS, "theirs")
    mine = clone(seed.top, tmp_path / "mine")
    mine.commit("mine.md", "mine")
    mine.write("staged.md", "staged")
    mine.git("add", "-A")
    told = [author(mine, name) for name in (THEIRS, "mine.md", "staged.md")]
    assert told == [Author.DOCUMENT, Author.USER, Author.USER]


def test_a_clone_without_a_reflog_has_no_commits_of_the_user(tmp_path):
    repo = new_repo(tmp_path / "repo")
    repo.git("config", "core.logAllRefUpdates", "false")
    repo.commit("a.md", "words")
    assert author(repo, "a.md") is Author.DOCUMENT
    assert author(repo, "a.md", b"edited") is Author.USER


@pytest.mark.parametrize(
    "message",
    [
        "commit: mine",
        "pull commit: mine",
        "merge commit (amend): x: Fast-forward",
        "fetch: commit: mine",
        "checkout: moving from commit: to main",
    ],
)
def test_a_branch_or_message_named_commit_is_not_a_commit_of_mine(tmp_path, message):
    mine, they, _ = shared(tmp_path)
    they.commit("added.md", "theirs", "-m", message)
    they.git("push", "-q", "origin", "main:commit")
    mine.git("fetch", "-q")
    mine.git("merge", "-q", "--ff-only", "origin/commit")
    assert author(mine, "added.md") is Author.DOCUMENT
