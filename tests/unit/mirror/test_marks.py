"""What agents marked, what a repository lowers, and what it costs to tell."""

import hashlib
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from memory_mesh.mirror import history
from memory_mesh.mirror.authors import Author, Authors
from memory_mesh.mirror.state import FILE, AgentEdits
from memory_mesh.model.errors import StoreError
from memory_mesh.testing import FrozenClock
from tests.clones import new_repo, shared


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# --- marks ----------------------------------------------------------------------------------------


def test_what_an_agent_marked_is_the_agents_until_it_is_edited(tmp_path, clock):
    state = tmp_path / "state"
    repo = new_repo(tmp_path / "repo")
    content = repo.write("a.md", "by an agent")
    AgentEdits(state, clock=clock).mark(repo.notes / "a.md", content)
    with Authors.of_folder(repo.notes, state, clock=clock) as authors:
        assert authors.of("a.md", content) is Author.AGENT
        assert "agent" in authors.why("a.md", content)
        assert authors.of("moved.md", content) is Author.AGENT
        assert authors.of("a.md", b"by hand") is Author.USER
        assert (
            authors.of_documents("a.md", content, lambda text: ["one", "two"]) == [Author.AGENT] * 2
        )
    repo.commit("a.md", "by an agent")
    with Authors.of_folder(repo.notes, state, clock=clock) as authors:
        assert authors.of("a.md", content) is Author.AGENT


def test_a_removal_that_an_agent_marked_is_the_agents(tmp_path, clock):
    folder = tmp_path / "notes"
    folder.mkdir()
    AgentEdits(tmp_path, clock=clock).mark_removal(folder / "a.md", b"old")
    with Authors.of_folder(folder, tmp_path, clock=clock) as authors:
        assert authors.deleted("a.md", sha256(b"old")) is Author.AGENT
        assert authors.deleted("a.md", sha256(b"new")) is Author.USER
        assert authors.deleted("b.md", sha256(b"old")) is Author.USER
        assert authors.of("a.md", b"old") is Author.USER


def test_marks_are_kept_for_30_days_and_then_forgotten(tmp_path, clock: FrozenClock):
    marks = AgentEdits(tmp_path, clock=clock)
    marks.mark(tmp_path / "a.md", b"one")
    clock.advance(timedelta(days=30))
    assert marks.written(b"one") == str(tmp_path / "a.md")
    clock.advance(timedelta(seconds=1))
    assert marks.written(b"one") is None
    marks.mark(tmp_path / "b.md", b"two")
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        kept = db.execute("SELECT path, sha256 FROM mark").fetchall()
    assert kept == [(str(tmp_path / "b.md"), sha256(b"two"))]  # never the content


def test_a_mark_is_found_through_a_link_to_the_folder(tmp_path, clock, monkeypatch):
    folder = tmp_path / "real"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path / "link")
    AgentEdits(tmp_path, clock=clock).mark_removal(Path("a.md"), b"old")
    with Authors.of_folder(tmp_path / "link", tmp_path, clock=clock) as authors:
        assert authors.deleted("a.md", sha256(b"old")) is Author.AGENT


def test_damaged_marks_are_an_error_that_says_what_to_do(tmp_path, clock):
    (tmp_path / FILE).write_text("this is no database, but it is long enough to be read as one")
    with pytest.raises(StoreError, match="Remove the file"):
        AgentEdits(tmp_path, clock=clock).written(b"one")
    with pytest.raises(StoreError, match="counts as the user's"):
        AgentEdits(tmp_path, clock=clock).mark(tmp_path / "a.md", b"one")


# --- a repository that lowers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('trust = "document"\n', Author.DOCUMENT),
        ('trust = "user"\n', Author.USER),
        ("", Author.USER),
        ("other = 1\n", Author.USER),
        ('trust = "agent"\n', Author.DOCUMENT),
        ("trust = 1\n", Author.DOCUMENT),
        ("trust = []\n", Author.DOCUMENT),
        ("trust = \n", Author.DOCUMENT),
        ("\udcff", Author.DOCUMENT),
        ("#" * 200_000, Author.DOCUMENT),
    ],
)
@pytest.mark.parametrize("under_git", [True, False])
def test_a_repository_may_lower_all_to_document(tmp_path, text, told, under_git):
    if under_git:
        new_repo(tmp_path / "repo")
    folder = tmp_path / "repo" / ".rawko" / "memories"
    folder.mkdir(parents=True)
    (folder.parent / "mirror.toml").write_text(text, errors="surrogateescape")
    with Authors.of_folder(folder, tmp_path / "state") as authors:
        assert authors.of("a.md", b"by hand") is told
        assert authors.deleted("a.md", sha256(b"old")) is told
        assert "mirror.toml" in authors.why("a.md", b"x") or told is Author.USER
        AgentEdits(tmp_path / "state").mark(folder / "b.md", b"by an agent")
        assert authors.of("b.md", b"by an agent") is Author.AGENT


def test_a_file_that_lowers_outside_of_the_clone_says_nothing(tmp_path):
    (tmp_path / ".rawko").mkdir()
    (tmp_path / ".rawko" / "mirror.toml").write_text('trust = "document"')
    repo = new_repo(tmp_path / "repo")
    with Authors.of_folder(repo.notes, tmp_path / "state") as authors:
        assert authors.of("a.md", b"by hand") is Author.USER


# --- cost -----------------------------------------------------------------------------------------


def test_the_number_of_git_processes_does_not_grow_with_the_files(tmp_path):
    mine, they, _ = shared(tmp_path)
    for number in range(20):
        they.write(f"theirs-{number}.md", f"theirs {number}")
        mine.write(f"mine-{number}.md", f"mine {number}")
    they.commit("last.md", "last")
    they.git("push", "-q")
    mine.commit("last-of-mine.md", "last")
    mine.git("pull", "-q", "--rebase")
    with Authors.of_folder(mine.notes, tmp_path / "state") as authors:
        assert authors.processes == 0
        for number in range(20):
            assert authors.of(f"mine-{number}.md", b"edited %d" % number) is Author.USER
        assert authors.processes == 2
        for number in range(20):
            assert authors.of(f"mine-{number}.md", b"mine %d" % number) is Author.USER
            assert authors.of(f"theirs-{number}.md", b"theirs %d" % number) is Author.DOCUMENT
            assert authors.baselines(f"theirs-{number}.md") == [b"theirs %d" % number]
        assert authors.processes == 4
        for number in range(20):
            assert authors.deleted(f"mine-{number}.md", sha256(b"x")) is Author.USER
        assert authors.processes == 5
    with Authors.of_folder(mine.notes, tmp_path / "state") as authors:
        assert authors.of("mine-1.md", b"mine 1") is Author.USER
        assert authors.of("theirs-1.md", b"theirs 1") is Author.DOCUMENT
        assert authors.processes == 2  # nothing is new, so nothing is walked


def test_many_questions_are_answered_like_few(tmp_path, monkeypatch):
    mine, they, _ = shared(tmp_path)
    mine.commit("mine-1.md", "mine 1")
    they.commit("theirs-1.md", "theirs 1")
    they.git("push", "-q")
    mine.git("pull", "-q", "--rebase")
    told = []
    for few in (100, 0):
        monkeypatch.setattr(history, "_FEW", few)
        with Authors.of_folder(mine.notes, tmp_path / "state") as authors:
            told.append(everything(authors))
            assert authors.baseline("theirs-1.md") == b"theirs 1"
    assert told[0] == told[1]


def test_a_walk_goes_on_where_the_last_one_ended(tmp_path):
    mine, they, _ = shared(tmp_path)
    state = tmp_path / "state"
    told = []
    for number in range(3):
        mine.commit(f"mine-{number}.md", f"mine {number}")
        they.commit(f"theirs-{number}.md", f"theirs {number}")
        they.git("push", "-q")
        mine.git("pull", "-q", "--rebase")
        with Authors.of_folder(mine.notes, state) as authors:
            told.append(everything(authors))
            assert told[-1][f"mine-{number}.md"] is Author.USER
            assert told[-1][f"theirs-{number}.md"] is Author.DOCUMENT
        mine.git("push", "-q")
        they.git("pull", "-q", "--rebase")
    (walk,) = state.glob("*.walk")
    for word in (b"them", b"example.org", b"theirs-1"):
        assert word not in walk.read_bytes()  # no author and no file by name
    for text in (
        b"",
        b"nonsense",
        walk.read_bytes().replace(b"walk 1", b"walk 0"),
        b"a\nb\nc\nd\n",
    ):
        walk.write_bytes(text)
        with Authors.of_folder(mine.notes, state) as authors:
            assert everything(authors) == told[-1]
    mine.git("checkout", "-q", "--orphan", "fresh")
    mine.git("commit", "-qm", "all anew")
    mine.git("branch", "-D", "main")
    mine.git("branch", "-dr", "origin/main", "origin/HEAD")
    mine.git("reflog", "expire", "--expire=now", "--all")
    mine.git("gc", "-q", "--prune=now")
    with Authors.of_folder(mine.notes, state) as authors:  # the walk outlives what it walked
        assert set(everything(authors).values()) == {Author.DOCUMENT}


def everything(authors: Authors) -> dict[str, Author]:
    whose = ("mine", "theirs")
    names = {f"{who}-{number}.md": f"{who} {number}" for who in whose for number in range(3)}
    return {name: authors.of(name, text.encode()) for name, text in names.items()}


def test_processes_end_with_the_authors(tmp_path):
    repo = new_repo(tmp_path / "repo")
    repo.commit("a.md", "words")
    authors = Authors.of_folder(repo.notes, tmp_path / "state")
    assert authors.of("a.md", b"edited") is Author.USER
    judge = next(iter(authors._judges.values()))
    process = judge.git._objects._process  # type: ignore[union-attr]  # it was just used
    assert process.poll() is None
    del authors, judge
    assert process.poll() is not None
