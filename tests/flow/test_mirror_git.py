"""Whose words a change in a clone is, and what becomes of it: version, proposal, or new memory."""

import pytest

from memory_mesh.mirror import Mirror
from memory_mesh.mirror.state import FOLDER, AgentEdits
from memory_mesh.model import ProposedVerb, SourceKind, Status
from memory_mesh.sync import MemoryMesh
from tests.clones import shared

NOTE = "---\ntitle: Port\ntags: [net]\n---\n\nThe port is {}.\n"


@pytest.fixture
def own(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store", project="p") as mesh:
        yield mesh


@pytest.fixture
def clones(tmp_path):
    mine, theirs, _ = shared(tmp_path / "git")
    return mine, theirs


def push(repo):
    repo.git("push", "-q", "origin", "HEAD:main")


def pull(repo):
    repo.git("pull", "-q", "--no-rebase", "origin", "main")


def test_my_commit_is_the_next_version_and_their_merge_is_a_proposal(own, clones):
    mine, theirs = clones
    mirror = Mirror(own, mine.notes)
    mine.commit("port.md", NOTE.format(1))
    mirror.run()
    mine.commit("port.md", NOTE.format(2))
    assert len(mirror.run().changed) == 1
    push(mine)
    pull(theirs)
    theirs.commit("port.md", NOTE.format(3))
    push(theirs)
    pull(mine)
    report = mirror.run()
    assert report.counts == {"proposed": 1}
    (asked,) = own.review.proposals()
    assert asked.verb is ProposedVerb.UPDATE
    (memory,) = [m for m in own.get_all() if m.extra.get("title") == "Port"]
    assert memory.text == "The port is 2."
    assert mirror.run().quiet
    assert len(mirror.status().proposed) == 1
    own.review(asked.id, approve=True)
    assert own.history(memory.id)[-1].text == "The port is 3."
    assert mirror.run().disagreements == []
    assert mirror.status().quiet
    assert mine.read("port.md").decode() == NOTE.format(3)


def test_a_document_that_came_by_clone_changes_with_its_file(own, clones):
    mine, theirs = clones
    mirror = Mirror(own, mine.notes)
    assert len(mirror.run().added) == 1
    (memory,) = own.get_all()
    assert memory.source.kind is SourceKind.DOCUMENT
    theirs.commit("theirs.md", "# Theirs\n\nThe port is 5.\n")
    push(theirs)
    pull(mine)
    assert mirror.run().counts == {"changed": 1}
    assert own.review.proposals() == []


def test_my_edit_of_their_document_makes_it_my_word(own, clones):
    mine, _ = clones
    mirror = Mirror(own, mine.notes)
    mirror.run()
    mine.write("theirs.md", "# Theirs\n\nThe port is 6.\n")
    mirror.run()
    (memory,) = own.get_all()
    assert memory.source.kind is SourceKind.USER_EXPLICIT


def test_a_delete_that_came_by_git_is_a_proposal_for_my_memory(own, clones):
    mine, theirs = clones
    mirror = Mirror(own, mine.notes)
    mine.commit("kept.md", "# Kept\n\nThis one stays.\n")
    mine.commit("port.md", NOTE.format(1))
    mirror.run()
    push(mine)
    pull(theirs)
    theirs.git("rm", "-q", "notes/port.md", "notes/theirs.md")
    theirs.git("commit", "-q", "-m", "remove")
    push(theirs)
    pull(mine)
    report = mirror.run()
    assert [line.path for line in report.proposed] == ["port.md"]
    assert [line.path for line in report.deleted] == ["theirs.md"]
    (asked,) = own.review.proposals()
    assert asked.verb is ProposedVerb.DELETE
    assert mirror.run().quiet
    own.review(asked.id, approve=False)
    assert mirror.run().counts == {"written": 1}
    assert (mine.notes / "port.md").exists()


def test_my_own_delete_is_a_delete(own, clones):
    mine, _ = clones
    mirror = Mirror(own, mine.notes)
    mine.commit("port.md", NOTE.format(1))
    mirror.run()
    (mine.notes / "port.md").unlink()
    assert len(mirror.run().deleted) == 1
    assert own.review.proposals() == []


def test_what_an_agent_marked_is_inference_and_a_proposal_for_my_memory(own, clones):
    mine, _ = clones
    mirror = Mirror(own, mine.notes)
    mine.commit("port.md", NOTE.format(1))
    mirror.run()
    marks = AgentEdits(own.folder / FOLDER)
    marks.mark(mine.notes / "port.md", mine.write("port.md", NOTE.format(9)))
    marks.mark(mine.notes / "new.md", mine.write("new.md", "# New\n\nBy the agent.\n"))
    report = mirror.run()
    assert len(report.proposed) == 1
    new = own.history(report.added[0].memory)[-1]
    assert new.source.kind is SourceKind.INFERENCE
    assert new.status is Status.ACTIVE


def test_a_file_with_a_conflict_waits_until_it_is_resolved(own, clones):
    mine, theirs = clones
    mirror = Mirror(own, mine.notes)
    mine.commit("port.md", NOTE.format(1))
    push(mine)
    pull(theirs)
    mirror.run()
    theirs.commit("port.md", NOTE.format(3))
    push(theirs)
    mine.commit("port.md", NOTE.format(2))
    mirror.run()
    mine.git("pull", "-q", "--no-rebase", "origin", "main", fails=True)
    report = mirror.run()
    assert "conflict" in report.refused[0].words
    assert report.changed == []
    mine.commit("port.md", NOTE.format(4))
    assert len(mirror.run().changed) == 1
    (memory,) = [m for m in own.get_all() if m.extra.get("title") == "Port"]
    assert memory.text == "The port is 4."


def test_a_repository_may_lower_every_edit_to_a_document(own, clones):
    mine, _ = clones
    (mine.top / ".rawko").mkdir(exist_ok=True)
    (mine.top / ".rawko" / "mirror.toml").write_text('trust = "document"\n')
    mine.write("port.md", NOTE.format(1))
    report = Mirror(own, mine.notes).run()
    kinds = {own.history(line.memory)[-1].source.kind for line in report.added}
    assert kinds == {SourceKind.DOCUMENT}


def test_a_document_that_they_removed_is_a_proposal_though_i_edited_its_file(own, clones):
    mine, theirs = clones
    mirror = Mirror(own, mine.notes)
    other = NOTE.replace("Port", "Host")
    mine.commit("net.md", other.format("a") + "\n\n---\n\n" + NOTE.format(1))
    mirror.run()
    push(mine)
    pull(theirs)
    theirs.commit("net.md", other.format("a"))
    push(theirs)
    pull(mine)
    (mine.notes / "net.md").write_text(other.format("b"))
    assert mirror.run().counts == {"changed": 1, "proposed": 1}
    (asked,) = own.review.proposals()
    assert asked.verb is ProposedVerb.DELETE
    assert {memory.text for memory in own.get_all()} >= {"The port is b.", "The port is 1."}


def test_a_document_that_i_cut_out_of_my_file_is_deleted(own, clones):
    mine, _ = clones
    mirror = Mirror(own, mine.notes)
    other = NOTE.replace("Port", "Host")
    mine.commit("net.md", other.format("a") + "\n\n---\n\n" + NOTE.format(1))
    mirror.run()
    (mine.notes / "net.md").write_text(other.format("b"))
    assert mirror.run().counts == {"changed": 1, "deleted": 1}


@pytest.fixture
def rejected(own, clones):
    """My memory, after I rejected a change of its document that came by git."""
    mine, theirs = clones
    mirror = Mirror(own, mine.notes)
    mine.commit("port.md", NOTE.format(1))
    mirror.run()
    push(mine)
    pull(theirs)
    theirs.commit("port.md", NOTE.format("EVIL"))
    push(theirs)
    pull(mine)
    assert mirror.run().counts == {"proposed": 1}
    (asked,) = own.review.proposals()
    own.review(asked.id, approve=False)
    return mirror, mine, asked


def port(mesh):
    (memory,) = [m for m in mesh.get_all() if m.extra.get("title") == "Port"]
    return memory


def test_after_a_rejected_change_the_stores_words_are_written_back(own, rejected):
    mirror, mine, _ = rejected
    assert mirror.status().counts == {"written": 1}
    assert mirror.run().counts == {"written": 1}
    assert mine.read("port.md").decode().rstrip().endswith("The port is 1.")
    assert mirror.run().quiet
    assert port(own).text == "The port is 1."
    whole = mine.read("port.md").decode()
    mine.write("port.md", whole.rstrip().removesuffix("1.") + "7.\n")
    assert mirror.run().counts == {"changed": 1}
    assert port(own).text == "The port is 7."


@pytest.mark.parametrize(
    ("keep", "text"), [("file", "The port is EVIL. Indeed."), ("store", "The port is 1.")]
)
def test_an_edit_does_not_carry_rejected_words_into_the_store(own, rejected, keep, text):
    mirror, mine, _ = rejected
    mine.write("port.md", NOTE.format("EVIL. Indeed"))
    assert mirror.status().counts == {"disagreements": 1}
    for _ in range(2):
        (line,) = mirror.run().disagreements
        assert "rejected" in line.words
    assert port(own).text == "The port is 1."
    mirror.resolve("port.md", keep=keep)
    assert port(own).text == text
    assert mirror.run().quiet
    assert text in mine.read("port.md").decode()


def test_keeping_the_file_takes_rejected_words_though_only_a_tag_was_edited(own, rejected):
    mirror, mine, _ = rejected
    mine.write("port.md", NOTE.format("EVIL").replace("[net]", "[net, evil]"))
    assert mirror.run().counts == {"disagreements": 1}
    mirror.resolve("port.md", keep="file")
    assert port(own).text == "The port is EVIL."
    assert port(own).tags == ("net", "evil")


def test_a_file_with_rejected_words_that_is_deleted_disagrees(own, rejected):
    mirror, mine, _ = rejected
    (mine.notes / "port.md").unlink()
    assert mirror.run().counts == {"disagreements": 1}
    assert port(own).text == "The port is 1."


def test_taking_the_rejected_words_out_by_hand_agrees(own, rejected):
    mirror, mine, _ = rejected
    mine.write("port.md", NOTE.format(1))
    assert mirror.run().counts == {"agreed": 1}
    assert mirror.run().quiet


@pytest.mark.parametrize("ran", [False, True])
def test_a_proposal_whose_rejection_is_undone_is_listed_again(own, rejected, ran):
    mirror, _, asked = rejected
    if ran:
        mirror.run()
    own.review.undo(asked.id)
    (line,) = mirror.status().proposed
    assert asked.id in line.words


def test_a_proposal_whose_approval_is_undone_is_listed_again(own, rejected):
    mirror, _, asked = rejected
    own.review.undo(asked.id)
    own.review(asked.id, approve=True)
    mirror.run()
    own.review.undo(asked.id)
    assert mirror.status().counts == {"proposed": 1, "written": 1}


def test_an_edit_after_an_approved_change_is_the_next_version(own, rejected):
    mirror, mine, asked = rejected
    own.review.undo(asked.id)
    own.review(asked.id, approve=True)
    assert mirror.run().quiet
    mine.write("port.md", NOTE.format("EVIL no more"))
    assert mirror.run().counts == {"changed": 1}
