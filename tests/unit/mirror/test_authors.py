"""Whose words an edit in a mirror folder is; with real git."""

import hashlib
from pathlib import Path

import pytest

from memory_mesh.mirror.authors import Author, Authors
from tests.clones import Repo, author, clone, new_repo, shared, verdict

THEIRS = "theirs.md"


def who_removed(repo: Repo, name: str, last: bytes) -> Author:
    with Authors.of_folder(repo.notes, repo.top.parent / "state") as authors:
        return authors.deleted(name, hashlib.sha256(last).hexdigest())


@pytest.fixture
def repos(tmp_path: Path) -> tuple[Repo, Repo]:
    mine, they, _ = shared(tmp_path)
    return mine, they


def receive(mine: Repo, they: Repo, name: str, text: str) -> None:
    """They push a change and I merge it."""
    they.git("pull", "-q", "--rebase")
    they.commit(name, text)
    they.git("push", "-q")
    mine.git("pull", "-q", "--no-rebase", "--no-edit")


# --- by hand --------------------------------------------------------------------------------------


def test_an_edit_in_a_folder_without_version_control_is_the_users(tmp_path):
    with Authors.of_folder(tmp_path, tmp_path / "state") as authors:
        assert authors.of("a.md", b"words") is Author.USER
        assert authors.processes == 0


def test_an_edit_that_is_not_committed_is_the_users(repos):
    mine, _ = repos
    mine.write("new.md", "mine")
    mine.write(THEIRS, "changed by me")
    assert author(mine, "new.md") is Author.USER
    assert author(mine, THEIRS) is Author.USER


def test_a_staged_or_stashed_edit_is_the_users(repos):
    mine, _ = repos
    mine.write("new.md", "mine")
    mine.git("add", "-A")
    assert author(mine, "new.md") is Author.USER
    mine.write(THEIRS, "changed by me")
    mine.git("stash")
    mine.git("stash", "apply")
    assert author(mine, THEIRS) is Author.USER
    mine.git("checkout", "--", ".")
    mine.git("stash", "drop")
    assert author(mine, THEIRS) is Author.DOCUMENT


def test_a_commit_of_this_clone_is_the_users(repos):
    mine, _ = repos
    mine.commit("new.md", "mine")
    assert author(mine, "new.md") is Author.USER
    mine.commit(THEIRS, "changed by me")
    assert author(mine, THEIRS) is Author.USER
    mine.commit("new.md", "mine, amended", "--amend")
    assert author(mine, "new.md") is Author.USER
    mine.git("mv", "notes/new.md", "notes/moved.md")
    mine.git("commit", "-qm", "move")
    assert author(mine, "moved.md") is Author.USER


def test_the_first_commit_of_a_repository_is_the_users(tmp_path):
    repo = new_repo(tmp_path / "repo")
    repo.write("a.md", "words")
    assert author(repo, "a.md") is Author.USER
    repo.commit("a.md", "words")
    assert author(repo, "a.md") is Author.USER


def test_a_commit_on_another_branch_of_mine_stays_mine_when_it_is_checked_out(repos):
    mine, _ = repos
    mine.commit("a.md", "one")
    mine.git("checkout", "-q", "-b", "other")
    mine.commit("a.md", "two")
    mine.git("checkout", "-q", "main")
    assert author(mine, "a.md") is Author.USER
    mine.git("merge", "-q", "other")
    assert author(mine, "a.md") is Author.USER


def test_a_commit_made_in_another_work_tree_of_this_clone_is_the_users(repos):
    mine, _ = repos
    mine.git("worktree", "add", "-q", "-b", "side", "../side")
    side = Repo(mine.top.parent / "side")
    side.commit("a.md", "from the side")
    assert author(side, "a.md") is Author.USER
    assert author(side, THEIRS) is Author.DOCUMENT
    mine.git("merge", "-q", "side")
    assert author(mine, "a.md") is Author.USER
    mine.git("worktree", "remove", "--force", "../side")
    assert author(mine, "a.md") is Author.USER


# --- from elsewhere -------------------------------------------------------------------------------


def test_what_a_clone_brought_is_a_documents(repos):
    mine, _ = repos
    assert author(mine, THEIRS) is Author.DOCUMENT
    assert "clone" in verdict(mine, THEIRS).reason


@pytest.mark.parametrize("way", [["--ff-only"], ["--no-ff", "--no-edit"], ["--rebase"]])
def test_what_a_pull_brought_is_a_documents(repos, way):
    mine, they = repos
    they.commit(THEIRS, "changed by them")
    they.commit("added.md", "added by them")
    they.git("push", "-q")
    mine.git("pull", "-q", *way)
    assert author(mine, THEIRS) is Author.DOCUMENT
    assert author(mine, "added.md") is Author.DOCUMENT


def test_what_a_merge_beside_a_commit_of_mine_brought_is_a_documents(repos):
    mine, they = repos
    mine.commit("mine.md", "mine")
    receive(mine, they, THEIRS, "changed by them")
    assert author(mine, THEIRS) is Author.DOCUMENT
    assert author(mine, "mine.md") is Author.USER


def test_a_rebase_keeps_my_commits_mine(repos):
    mine, they = repos
    mine.commit("mine.md", "mine")
    they.commit(THEIRS, "changed by them")
    they.git("push", "-q")
    mine.git("pull", "-q", "--rebase")
    assert author(mine, "mine.md") is Author.USER
    assert author(mine, THEIRS) is Author.DOCUMENT


def test_a_cherry_pick_of_their_commit_is_a_documents(repos):
    mine, they = repos
    they.git("checkout", "-q", "-b", "side")
    they.commit("picked.md", "theirs")
    they.git("push", "-q", "origin", "side")
    mine.git("fetch", "-q")
    mine.git("cherry-pick", "origin/side")
    assert author(mine, "picked.md") is Author.DOCUMENT
    mine.git("branch", "-dr", "origin/side")
    assert author(mine, "picked.md") is Author.DOCUMENT


@pytest.mark.parametrize(
    "take",
    [
        ["checkout", "origin/side", "--", "notes/side.md"],
        ["restore", "--source=origin/side", "notes/side.md"],
        ["merge", "--squash", "origin/side"],
        ["cherry-pick", "-n", "origin/side"],
        ["checkout", "-q", "origin/side"],
        ["reset", "-q", "--hard", "origin/side"],
    ],
)
def test_what_was_taken_from_a_fetched_branch_is_a_documents_committed_or_not(repos, take):
    mine, they = repos
    they.git("checkout", "-q", "-b", "side")
    they.commit("side.md", "theirs")
    they.git("push", "-q", "origin", "side")
    mine.git("fetch", "-q")
    mine.git(*take)
    assert author(mine, "side.md") is Author.DOCUMENT
    mine.git("add", "-A")
    mine.git("commit", "-qm", "take it", "--allow-empty")
    assert author(mine, "side.md") is Author.DOCUMENT


def test_their_commit_stays_theirs_when_i_amend_or_squash_it(repos):
    mine, they = repos
    receive(mine, they, "added.md", "theirs")
    mine.git("commit", "-q", "--amend", "-m", "another message")
    assert author(mine, "added.md") is Author.DOCUMENT
    mine.commit("mine.md", "mine", "--amend")
    assert author(mine, "mine.md") is Author.USER
    assert author(mine, "added.md") is Author.DOCUMENT
    mine.git("reset", "-q", "--soft", "HEAD~1")
    mine.git("commit", "-qm", "all in one")
    assert author(mine, "added.md") is Author.DOCUMENT
    mine.git("checkout", "-q", "--orphan", "fresh")
    mine.git("commit", "-qm", "without history")
    assert author(mine, "added.md") is Author.DOCUMENT
    assert author(mine, "mine.md") is Author.USER


def test_an_older_text_of_mine_that_they_bring_back_is_a_documents(repos):
    mine, they = repos
    old = mine.commit("mine.md", "the first words")
    mine.commit("mine.md", "the second words")
    mine.git("push", "-q")
    receive(mine, they, "mine.md", old.decode())
    assert author(mine, "mine.md") is Author.DOCUMENT


def test_my_newest_text_that_a_server_squashed_stays_mine(repos):
    mine, they = repos
    mine.git("checkout", "-q", "-b", "side")
    mine.commit("mine.md", "my words")
    mine.git("push", "-q", "origin", "side")
    they.git("fetch", "-q")
    they.git("merge", "--squash", "origin/side")
    they.git("commit", "-qm", "squashed")
    they.git("push", "-q")
    mine.git("checkout", "-q", "main")
    mine.git("pull", "-q")
    assert author(mine, "mine.md") is Author.USER


# --- merges ---------------------------------------------------------------------------------------

BOTH = "one\n\n---\n\ntwo\n\n---\n\nthree\n"


def conflict(mine: Repo, they: Repo) -> None:
    mine.commit("both.md", "the port is 1\n")
    mine.git("push", "-q")
    they.git("pull", "-q")
    they.commit("both.md", "the port is 2\n")
    they.commit("beside.md", "theirs")
    they.git("push", "-q")
    mine.commit("both.md", "the port is 3\n")
    mine.git("fetch", "-q")


def test_a_conflict_resolved_by_hand_is_the_users_and_the_rest_of_the_merge_is_not(repos):
    mine, they = repos
    conflict(mine, they)
    mine.git("merge", "origin/main", fails=True)
    assert author(mine, "both.md") is Author.DOCUMENT
    assert author(mine, "beside.md") is Author.DOCUMENT
    with Authors.of_folder(mine.notes, mine.top / "state") as authors:
        assert "resolve" in (authors.waiting("both.md", mine.read("both.md")) or "")
        assert authors.waiting("beside.md", mine.read("beside.md")) is None
    mine.write("both.md", "the port is 4, we agreed\n")
    assert author(mine, "both.md") is Author.USER
    mine.git("add", "-A")
    mine.git("commit", "-qm", "merged")
    assert author(mine, "both.md") is Author.USER
    assert author(mine, "beside.md") is Author.DOCUMENT


def test_a_conflict_resolved_with_their_side_is_a_documents(repos):
    mine, they = repos
    conflict(mine, they)
    mine.git("merge", "origin/main", fails=True)
    mine.git("checkout", "--theirs", "notes/both.md")
    mine.git("add", "-A")
    assert author(mine, "both.md") is Author.DOCUMENT
    mine.git("commit", "-qm", "merged")
    assert author(mine, "both.md") is Author.DOCUMENT


def test_a_conflict_resolved_with_my_side_is_the_users(repos):
    mine, they = repos
    conflict(mine, they)
    mine.git("merge", "origin/main", fails=True)
    mine.git("checkout", "--ours", "notes/both.md")
    mine.git("add", "-A")
    mine.git("commit", "-qm", "merged")
    assert author(mine, "both.md") is Author.USER


def test_a_conflict_of_a_rebase_resolved_by_hand_is_the_users(repos):
    mine, they = repos
    conflict(mine, they)
    mine.git("rebase", "origin/main", fails=True)
    mine.write("both.md", "the port is 4, we agreed\n")
    mine.git("add", "-A")
    mine.git("rebase", "--continue")
    assert author(mine, "both.md") is Author.USER
    assert author(mine, "beside.md") is Author.DOCUMENT


@pytest.mark.parametrize("way", ["--no-rebase", "--rebase"])
def test_what_git_mixed_by_itself_is_a_documents_and_both_sides_can_be_told(repos, way):
    mine, they = repos
    mine.commit("both.md", BOTH)
    mine.git("push", "-q")
    they.git("pull", "-q")
    they.commit("both.md", BOTH.replace("three", "their three"))
    they.git("push", "-q")
    mine.commit("both.md", BOTH.replace("one", "my one"))
    mine.git("pull", "-q", "--no-edit", way)
    mixed = mine.read("both.md")
    assert mixed == BOTH.replace("one", "my one").replace("three", "their three").encode()
    assert author(mine, "both.md") is Author.DOCUMENT
    with Authors.of_folder(mine.notes, mine.top / "state") as authors:
        told = authors.of_documents("both.md", mixed, split)
        assert told == [Author.USER, Author.DOCUMENT, Author.DOCUMENT]
    edited = mine.write("both.md", mixed.decode().replace("two", "my two"))
    with Authors.of_folder(mine.notes, mine.top / "state") as authors:
        assert authors.of_documents("both.md", edited, split)[1] is Author.USER
        assert authors.of_documents("both.md", edited, split)[2] is Author.DOCUMENT


def split(content: bytes) -> list[str]:
    return content.decode().strip().split("\n\n---\n\n")


def test_committing_what_git_mixed_by_itself_does_not_make_it_mine(repos):
    mine, they = repos
    mine.commit("both.md", BOTH)
    mine.git("push", "-q")
    they.git("pull", "-q")
    they.commit("both.md", BOTH.replace("three", "their three"))
    they.git("push", "-q")
    mine.commit("both.md", BOTH.replace("one", "my one"))
    mine.git("fetch", "-q")
    mine.git("merge", "--no-commit", "origin/main")
    assert author(mine, "both.md") is Author.DOCUMENT
    mine.git("commit", "-qm", "merged")
    assert author(mine, "both.md") is Author.DOCUMENT


def test_what_git_mixed_from_my_own_branches_is_the_users(repos):
    mine, _ = repos
    mine.commit("both.md", BOTH)
    mine.git("checkout", "-q", "-b", "side")
    mine.commit("both.md", BOTH.replace("two", "new two"))
    mine.git("checkout", "-q", "main")
    mine.commit("both.md", BOTH.replace("one", "new one"))
    mine.git("merge", "-q", "--no-edit", "side")
    assert author(mine, "both.md") is Author.USER


# --- baselines ------------------------------------------------------------------------------------


def test_the_baseline_is_the_content_from_elsewhere_below_my_edits(repos):
    mine, _ = repos
    fetched = mine.read(THEIRS)
    state = mine.top / "state"
    edited = mine.write(THEIRS, fetched.decode() + "\n---\n\nadded by hand\n")
    with Authors.of_folder(mine.notes, state) as authors:
        assert authors.baseline(THEIRS) == fetched
        told = authors.of_documents(THEIRS, edited, split)
        assert told == [Author.DOCUMENT, Author.USER]
    mine.commit(THEIRS, "mine")
    mine.commit(THEIRS, "mine again")
    mine.write(THEIRS, "and again")
    mine.commit("mine.md", "mine")
    with Authors.of_folder(mine.notes, state) as authors:
        assert authors.baseline(THEIRS) == fetched
        assert authors.baseline("mine.md") is None
        assert authors.baseline("unknown.md") is None


# --- removals -------------------------------------------------------------------------------------


def test_a_removal_by_hand_is_the_users_committed_or_not(repos):
    mine, _ = repos
    last = mine.read(THEIRS)
    (mine.notes / THEIRS).unlink()
    assert who_removed(mine, THEIRS, last) is Author.USER
    mine.git("commit", "-qam", "remove it")
    assert who_removed(mine, THEIRS, last) is Author.USER
    assert who_removed(mine, "never.md", b"x") is Author.USER


@pytest.mark.parametrize("way", ["--no-rebase", "--rebase"])
def test_a_removal_that_came_by_pull_is_a_documents(repos, way):
    mine, they = repos
    last = mine.commit("mine.md", "mine")
    mine.git("push", "-q")
    they.git("pull", "-q")
    they.git("rm", "-q", "notes/mine.md")
    they.git("commit", "-qm", "remove it")
    they.git("push", "-q")
    mine.commit("other.md", "mine")
    mine.git("pull", "-q", "--no-edit", way)
    assert not (mine.notes / "mine.md").exists()
    assert who_removed(mine, "mine.md", last) is Author.DOCUMENT


def test_a_removal_by_an_unfinished_merge_is_a_documents(repos):
    mine, they = repos
    last = mine.commit("mine.md", "mine")
    mine.git("push", "-q")
    they.git("pull", "-q")
    they.git("rm", "-q", "notes/mine.md")
    they.git("commit", "-qm", "remove it")
    they.git("push", "-q")
    mine.git("fetch", "-q")
    mine.git("merge", "--no-commit", "--no-ff", "origin/main")
    assert who_removed(mine, "mine.md", last) is Author.DOCUMENT


def test_a_removal_by_checkout_reset_stash_or_sparse_checkout_is_a_documents(repos):
    mine, _ = repos
    last = mine.commit("mine.md", "mine")
    mine.git("checkout", "-q", "origin/main")
    assert who_removed(mine, "mine.md", last) is Author.DOCUMENT
    mine.git("checkout", "-q", "main")
    mine.write("fresh.md", "not committed")
    mine.git("stash", "-u")
    assert who_removed(mine, "fresh.md", b"not committed") is Author.DOCUMENT
    mine.git("stash", "pop")
    mine.git("sparse-checkout", "set", "--no-cone", "/notes/theirs.md")
    assert not (mine.notes / "mine.md").exists()
    assert who_removed(mine, "mine.md", last) is Author.DOCUMENT
    mine.git("sparse-checkout", "disable")
    mine.git("reset", "-q", "--hard", "origin/main")
    assert who_removed(mine, "mine.md", last) is Author.DOCUMENT


def test_a_removal_by_amending_is_the_users(repos):
    mine, _ = repos
    last = mine.commit("mine.md", "mine")
    mine.git("rm", "-q", "notes/mine.md")
    mine.git("commit", "-q", "--amend", "--allow-empty", "-m", "without it")
    assert who_removed(mine, "mine.md", last) is Author.USER


def test_their_removal_of_what_i_once_removed_and_wrote_again_is_a_documents(repos):
    mine, they = repos
    mine.commit("mine.md", "mine")
    mine.git("rm", "-q", "notes/mine.md")
    mine.git("commit", "-qm", "remove it")
    last = mine.commit("mine.md", "mine again")
    mine.git("push", "-q")
    they.git("pull", "-q")
    they.git("rm", "-q", "notes/mine.md")
    they.git("commit", "-qm", "remove it")
    they.git("push", "-q")
    mine.git("pull", "-q")
    assert who_removed(mine, "mine.md", last) is Author.DOCUMENT


def test_their_removal_of_what_i_once_removed_and_they_wrote_again_is_a_documents(repos):
    mine, they = repos
    mine.commit("a.md", "mine")
    mine.git("rm", "-q", "notes/a.md")
    mine.git("commit", "-qm", "remove it")
    mine.git("push", "-q")
    receive(mine, they, "a.md", "theirs now")
    they.git("rm", "-q", "notes/a.md")
    they.git("commit", "-qm", "remove it")
    they.git("push", "-q")
    mine.git("pull", "-q")
    assert who_removed(mine, "a.md", b"theirs now") is Author.DOCUMENT
    assert who_removed(mine, "a.md", b"mine") is Author.USER


def test_gc_changes_no_answer(repos):
    mine, they = repos
    mine.commit("mine.md", "mine")
    mine.commit("mine.md", "mine, amended", "--amend")
    receive(mine, they, THEIRS, "changed by them")
    mine.git("gc", "-q", "--prune=now")
    mine.git("pack-refs", "--all")
    assert author(mine, "mine.md") is Author.USER
    assert author(mine, THEIRS) is Author.DOCUMENT
    mine.git("reflog", "expire", "--expire=now", "--all")
    assert author(mine, "mine.md") is Author.DOCUMENT


def test_a_local_clone_of_my_own_repository_is_a_clone(tmp_path):
    repo = new_repo(tmp_path / "repo")
    repo.commit("a.md", "words")
    assert author(clone(repo.top, tmp_path / "copy"), "a.md") is Author.DOCUMENT
