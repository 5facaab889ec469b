"""Memories that cite code: what a prompt is told, what waits for review, what is kept."""

import json
import subprocess
from pathlib import Path

import pytest

from memory_mesh.model import Scope
from memory_mesh.model.pack import LeftOutBy
from memory_mesh.platform.projects import project_of
from memory_mesh.sync import MemoryMesh

CODE = "def push(job):\n    if full():\n        raise Full(job)\n    jobs.append(job)\n\n\n"
POP = "def pop():\n    with changed:\n        return jobs.popleft()\n"
PUSHED = "push raises Full once the queue is full"
POPPED = "pop waits until the queue has a job"
QUESTION = "how do push and pop of the queue behave?"


def git(root: Path, *words: str) -> None:
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, *words], cwd=root, check=True, capture_output=True, timeout=60)


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "shop"
    root.mkdir()
    (root / "queue.py").write_text(CODE)
    (root / "pop.py").write_text(POP)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def mesh(root, tmp_path):
    with MemoryMesh(
        db_dir=tmp_path / "store", embedder="none", project=project_of(str(root))
    ) as mesh:
        mesh.add(PUSHED, evidence=["queue.py#push"])
        mesh.add(POPPED, evidence="pop.py:1-3")
        yield mesh


def entries(mesh):
    return mesh.context(QUESTION).text


def test_fresh_code_is_told_without_a_word_about_it(mesh):
    told = entries(mesh)
    assert PUSHED in told
    assert POPPED in told
    assert "the code" not in told


def test_changed_code_is_said_to_have_changed_and_stands_below_what_is_fresh(mesh, root):
    commit = mesh.get_all()[0].metadata["evidence"][0]["commit"]
    (root / "queue.py").write_text(CODE.replace("full()", "len(jobs) > 9"))
    told = entries(mesh)
    assert f"the code changed since, commit {commit}: queue.py#push" in told
    assert told.index(POPPED) < told.index(PUSHED)


def test_moved_code_is_followed_without_a_word(mesh, root):
    git(root, "mv", "queue.py", "jobs.py")
    assert PUSHED in entries(mesh)
    assert "the code" not in entries(mesh)


def test_a_memory_of_code_that_is_gone_is_left_out_and_says_why(mesh, root):
    (root / "pop.py").unlink()
    pack = mesh.context(QUESTION)
    assert POPPED not in pack.text
    [left] = [one for one in pack.left_out if one.by is LeftOutBy.ORPHANED]
    why = mesh.explain(left.id, query=QUESTION, max_tokens=2000)
    assert "gone from the repository" in " ".join(why.sentences)
    assert POPPED not in mesh.context().text  # nor at the start of a session


def test_a_reader_elsewhere_is_told_what_cannot_be_checked(mesh, root, tmp_path, monkeypatch):
    (root / "pop.py").unlink()
    monkeypatch.chdir(tmp_path)
    assert POPPED in entries(mesh)


def test_a_check_lists_what_changed_and_its_fix_is_decided_by_a_person(mesh, root):
    assert mesh.review.check() == []
    (root / "pop.py").unlink()
    (root / "queue.py").write_text(CODE.replace("full()", "len(jobs) > 9"))
    git(root, "commit", "-qam", "two")
    found = {one.content: one for one in mesh.review.check(fix=True)}
    assert {text: one.verdict for text, one in found.items()} == {
        PUSHED: "drifted",
        POPPED: "orphaned",
    }
    mesh.review.decide(found[PUSHED].proposal, approve=True)
    mesh.review.decide(found[POPPED].proposal, approve=True)
    assert mesh.review.check() == []
    assert [memory.text for memory in mesh.get_all()] == [PUSHED]
    assert mesh.review.check(fix=True) == []


def test_a_check_against_a_branch_lists_what_changed_since(mesh, root):
    git(root, "rm", "-q", "pop.py")
    git(root, "commit", "-qm", "two")
    git(root, "checkout", "-qb", "work")
    (root / "queue.py").write_text(CODE.replace("full()", "len(jobs) > 9"))
    assert {one.content for one in mesh.review.check()} == {PUSHED, POPPED}
    assert [one.content for one in mesh.review.check(against="main")] == [PUSHED]


def test_what_moved_is_cited_where_it_is_now(mesh, root):
    git(root, "mv", "queue.py", "jobs.py")
    assert [one.verdict for one in mesh.review.check(fix=True)] == ["moved"]
    assert mesh.review.check() == []
    [memory] = [one for one in mesh.get_all() if one.text == PUSHED]
    assert memory.metadata["evidence"][0]["path"] == "jobs.py"


def test_a_memory_of_another_project_is_not_judged_by_this_one(mesh, root):
    mesh.add("elsewhere push is slow", evidence="queue.py#push", scope=Scope(project="other"))
    (root / "queue.py").unlink()
    assert [one.content for one in mesh.review.check()] == [PUSHED]


def test_a_memory_edited_by_hand_keeps_its_evidence(mesh, root, tmp_path):
    from memory_mesh.mirror import Mirror

    folder = tmp_path / "mirror"
    mirror = Mirror(mesh, folder)
    mirror.init()
    mirror.run()
    [file] = [path for path in folder.rglob("*.md") if PUSHED in path.read_text()]
    file.write_text(file.read_text().replace(PUSHED, "push raises Full at a hundred jobs"))
    mirror.run()
    (root / "queue.py").unlink()
    assert "push raises Full at a hundred jobs" not in entries(mesh)
    assert [one.content for one in mesh.review.check()] == ["push raises Full at a hundred jobs"]


def test_evidence_survives_an_update_an_export_and_a_backup(mesh, tmp_path):
    [memory] = [one for one in mesh.get_all() if one.text == PUSHED]
    kept = memory.metadata["evidence"]
    changed = mesh.update(memory.id, "push raises Full at ten", {"team": "core"})
    assert changed.metadata["evidence"] == kept
    assert mesh.update(memory.id, evidence=None).metadata.get("evidence") is None
    mesh.update(memory.id, evidence=kept)
    mesh.export(tmp_path / "all.jsonl")
    assert json.dumps(kept[0]["hash"]) in (tmp_path / "all.jsonl").read_text()


def test_a_caller_who_is_elsewhere_learns_nothing_of_this_folder(mesh):
    """The service's views: what a caller cites is kept as it was written."""
    mesh._folder = ""
    memory = mesh.get(mesh.add("the caller's push", evidence="queue.py#push").id)
    assert memory.metadata["evidence"] == [{"path": "queue.py", "symbol": "push"}]
    assert mesh._cited_in("queue.py is slow") == []


def test_a_memory_for_all_projects_is_checked_where_its_commit_is(mesh, root, tmp_path):
    pushed = "push of any project is said to raise Full"
    mesh.add(pushed, evidence="queue.py#push", scope=Scope())
    with MemoryMesh(db_dir=tmp_path / "plain", embedder="none") as plain:
        plain.add(pushed, evidence="queue.py#push")
        assert plain.review.check() == []
        (root / "queue.py").unlink()
        assert [(one.content, one.verdict) for one in plain.review.check()] == [
            (pushed, "orphaned")
        ]
        assert pushed not in plain.context("does push raise Full?").text
    assert {one.content for one in mesh.review.check()} == {PUSHED, pushed}
    assert pushed not in entries(mesh)


def test_a_memory_for_all_projects_of_another_repository_is_told(mesh, root, tmp_path, monkeypatch):
    pushed = "push of any project is said to raise Full"
    mesh.add(pushed, evidence="queue.py#push", scope=Scope())
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.chdir(other)
    with MemoryMesh(db_dir=tmp_path / "store", embedder="none") as plain:
        assert plain.review.check() == []
        assert pushed in plain.context("does push raise Full?").text


def test_what_a_person_rejected_is_not_asked_anew_for_the_same_code(mesh, root, tmp_path):
    (root / "pop.py").unlink()
    (root / "queue.py").write_text(CODE.replace("full()", "len(jobs) > 9"))
    first = {one.content: one.proposal for one in mesh.review.check(fix=True)}
    for proposal in first.values():
        mesh.review.decide(proposal, approve=False)
    hooks = MemoryMesh(
        db_dir=tmp_path / "store", embedder="none", project=project_of(str(root)), agent_id="hook"
    )
    with hooks:
        for each in (mesh, hooks):
            again = each.review.check(fix=True)
            assert {one.content: one.proposal for one in again} == first
            assert all(one.rejected for one in again)
    assert mesh.review.proposals() == []
    (root / "queue.py").write_text(CODE.replace("full()", "len(jobs) > 8"))
    [changed] = [one for one in mesh.review.check(fix=True) if one.content == PUSHED]
    assert not changed.rejected
    assert changed.proposal != first[PUSHED]


@pytest.mark.parametrize(
    "place", ["queue.py#nosuch", "queue.py:90-99", "nosuch.py", "../other/x.py", "/nosuch/x.py"]
)
def test_what_is_not_there_is_said_when_it_is_cited_and_when_it_is_checked(
    mesh, tmp_path, capsys, monkeypatch, place
):
    from memory_mesh.cli.main import run

    receipt = mesh.add("The ledger is kept in order", evidence=place)
    assert "its evidence cannot be checked" in " ".join(receipt.reasons)
    two = mesh.add("The till is kept in order", evidence=["queue.py#push", place])
    assert "1 of 2 places of its evidence cannot be checked" in " ".join(two.reasons)
    assert mesh.add("Another till is shut", evidence="queue.py#push").reasons == ("stored",)
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "none")
    store = ("--db-dir", str(tmp_path / "store"))
    run([*store, "check"])
    said = "".join(capsys.readouterr())
    assert "2 memories cite what was not there when it was cited" in said
    monkeypatch.chdir(tmp_path)
    run(["--db-dir", str(tmp_path / "none"), "check"])
    assert "in no repository; nothing was checked" in "".join(capsys.readouterr())
    assert "in no repository" in " ".join(mesh.add("Elsewhere", evidence="a.py#b").reasons)


@pytest.mark.parametrize("place", ["pop.py:1-3", "pop.py", "pop.py#pop"])
def test_what_was_followed_on_a_branch_is_found_on_the_other_one(root, tmp_path, place):
    project = project_of(str(root))
    with MemoryMesh(db_dir=tmp_path / "store", embedder="none", project=project) as mesh:
        mesh.add(POPPED, evidence=place)
        git(root, "checkout", "-qb", "work")
        git(root, "mv", "pop.py", "taken.py")
        git(root, "commit", "-qm", "two")
        assert [one.verdict for one in mesh.review.check(fix=True)] == ["moved"]
        assert mesh.review.check() == []
        git(root, "checkout", "-q", "main")
        assert POPPED in entries(mesh)
        assert [one.verdict for one in mesh.review.check(fix=True)] == ["moved"]
        assert mesh.review.check() == []
        (root / "pop.py").unlink()
        assert [one.verdict for one in mesh.review.check()] == ["orphaned"]
