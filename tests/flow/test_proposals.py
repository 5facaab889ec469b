"""Proposals: a change that its writer may not make alone waits for a person."""

import pytest

from memory_mesh.model import Channel, Proposal, ProposedVerb, Scope, SourceKind, Status
from memory_mesh.model.errors import InvalidInput, NotAllowed, NotFound
from memory_mesh.rules.arguments import MAX_PROPOSALS
from memory_mesh.sync import MemoryMesh


@pytest.fixture
def memory_id(mesh: MemoryMesh) -> str:
    stored = mesh.add("The office closes at six.", tags=["office"], source_kind="user_explicit")
    assert stored.id is not None
    return stored.id


@pytest.fixture
def document(mesh: MemoryMesh) -> MemoryMesh:
    return mesh.view(channel=Channel.FILE)


def test_what_a_document_may_not_change_it_may_propose(mesh, document, memory_id):
    with pytest.raises(NotAllowed, match="propose_update"):
        document.update(memory_id, "The office closes at five.")
    asked = document.review.propose_update(
        memory_id, "The office closes at five.", reason="new sign"
    )
    assert (asked.verb, asked.memory, asked.reason) == (ProposedVerb.UPDATE, memory_id, "new sign")
    assert asked.source.kind is SourceKind.DOCUMENT
    assert mesh.get(memory_id).text == "The office closes at six."
    assert mesh.review.waiting() == mesh.review.proposals() == [asked]


def test_an_approved_proposal_is_the_memorys_next_version(mesh, document, memory_id):
    asked = document.review.propose_update(memory_id, "It closes at five.", tags=["hours"])
    done = mesh.review(asked.id, approve=True, reason="I saw it")
    after = mesh.get(memory_id)
    assert (after.text, after.tags) == ("It closes at five.", ("hours",))
    assert after.source.kind is SourceKind.USER_EXPLICIT
    assert (done.approved, done.why, done.pending) == (True, "I saw it", False)
    assert mesh.review.proposals() == []
    assert mesh.review.proposals(pending=False) == [done]
    assert [hit.id for hit in mesh.search("when does it close five")] == [memory_id]


def test_a_rejected_proposal_changes_nothing_and_can_be_undone(mesh, document, memory_id):
    asked = document.review.propose_delete(memory_id, reason="the file is gone")
    assert mesh.review(asked.id, approve=False).approved is False
    assert mesh.get(memory_id).status is Status.ACTIVE
    assert mesh.review.undo(asked.id).pending
    assert mesh.review.proposals() == [asked]


def test_an_approved_delete_can_be_undone(mesh, document, memory_id):
    asked = document.review.propose_delete(memory_id)
    mesh.review(asked.id, approve=True)
    assert mesh.get(memory_id) is None
    assert mesh.review.undo(asked.id).pending
    assert mesh.get(memory_id).text == "The office closes at six."


def test_an_approved_update_can_be_undone(mesh, document, memory_id):
    before = mesh.get(memory_id)
    asked = document.review.propose_update(memory_id, "It closes at five.", tags=["hours"])
    mesh.review(asked.id, approve=True)
    mesh.review.undo(asked.id)
    after = mesh.get(memory_id)
    assert (after.text, after.tags, after.source) == (before.text, before.tags, before.source)
    assert [version.text for version in mesh.history(memory_id)] == [
        "The office closes at six.",
        "It closes at five.",
        "The office closes at six.",
    ]
    assert mesh.review.proposals() == [asked]


def test_what_changed_since_is_not_undone(mesh, document, memory_id):
    asked = document.review.propose_update(memory_id, "It closes at five.")
    mesh.review(asked.id, approve=True)
    mesh.update(memory_id, "It closes at four.")
    with pytest.raises(InvalidInput, match="changed after the proposal was approved"):
        mesh.review.undo(asked.id)
    assert mesh.get(memory_id).text == "It closes at four."


def test_the_same_proposal_is_recorded_once(mesh, document, memory_id):
    asked = [document.review.propose_update(memory_id, "It closes at five.") for _ in range(3)]
    assert len({each.id for each in asked}) == 1
    other = mesh.view(channel=Channel.WEB).review.propose_update(memory_id, "It closes at five.")
    assert other.id != asked[0].id
    assert len(mesh.review.proposals()) == 2


def test_a_proposal_is_decided_once(mesh, document, memory_id):
    asked = document.review.propose_delete(memory_id)
    mesh.review(asked.id, approve=False)
    with pytest.raises(InvalidInput, match="is decided; undo that first"):
        mesh.review(asked.id, approve=True)


def test_only_the_user_decides(document, memory_id):
    asked = document.review.propose_delete(memory_id)
    with pytest.raises(NotAllowed):
        document.review(asked.id, approve=True)
    with pytest.raises(NotAllowed):
        document.review.undo(asked.id)


def test_a_reader_sees_proposals_for_visible_memories_only(mesh):
    private = mesh.add("For the planner.", scope=Scope(agent="planner")).id
    asked = mesh.review.propose_delete(private, reader=Scope(agent="planner"))
    assert mesh.review.proposals() == []
    assert mesh.review.proposals(scope=Scope(agent="planner")) == [asked]
    with pytest.raises(NotFound):
        mesh.review.propose_delete(private)
    with pytest.raises(NotFound, match="there is no proposal prop_"):
        mesh.review(asked.id, approve=False)


def test_a_reader_undoes_no_decision_on_what_it_does_not_see(mesh):
    planner = Scope(agent="planner")
    private = mesh.add("For the planner.", scope=planner).id
    asked = mesh.review.propose_delete(private, reader=planner)
    with pytest.raises(NotFound, match="there is no proposal prop_"):
        mesh.review.undo(asked.id)
    done = mesh.review(asked.id, approve=False, scope=planner)
    for decide in (mesh.review.undo, lambda id_: mesh.review(id_, approve=True)):
        with pytest.raises(NotFound, match="there is no proposal prop_"):
            decide(asked.id)
    assert mesh.review.proposals(pending=False, scope=planner) == [done]


def test_the_text_of_a_proposal_is_redacted(mesh, document, memory_id):
    asked = document.review.propose_update(
        memory_id, "Ask jane.doe@example.com.", reason="from jane.doe@example.com"
    )
    assert "jane.doe" not in str(asked.change)
    assert "jane.doe" not in asked.reason


def test_each_step_leaves_a_block_and_the_chain_verifies(mesh, document, memory_id):
    asked = document.review.propose_update(memory_id, "It closes at five.")
    mesh.review(asked.id, approve=True)
    mesh.review.undo(asked.id)
    said = [block.entry.metadata for block in mesh.care.blocks()]
    assert [each["type"] for each in said if "proposal" in each] == ["propose", "review", "review"]
    assert not mesh.care.verify().findings


def test_nonsense_is_refused_before_anything_is_proposed(mesh, memory_id):
    with pytest.raises(InvalidInput, match="no change was given"):
        mesh.review.propose_update(memory_id)
    with pytest.raises(InvalidInput, match="who may see"):
        mesh.review.propose_update(memory_id, scope=Scope(project="p"))
    with pytest.raises(InvalidInput, match="importance"):
        mesh.review.propose_update(memory_id, importance=7)
    with pytest.raises(NotFound, match="there is no proposal prop_1"):
        mesh.review("prop_1_abcdef", approve=True)
    with pytest.raises(InvalidInput, match="nothing to undo"):
        mesh.review.undo(mesh.review.propose_delete(memory_id).id)
    assert mesh.review.proposals()[0].verb is ProposedVerb.DELETE


def test_too_many_waiting_proposals_are_refused(mesh, memory_id):
    for number in range(MAX_PROPOSALS):
        mesh.review.propose_update(memory_id, f"It closes at {number}.")
    with pytest.raises(InvalidInput, match="wait already; review them first"):
        mesh.review.propose_update(memory_id, "It never closes.")
    assert all(isinstance(each, Proposal) for each in mesh.review.proposals())


def test_details_of_every_sort_survive_the_wait(mesh, document, memory_id):
    asked = document.review.propose_update(
        memory_id,
        metadata={"floor": 3},
        merge=True,
        occurred_at="2026-01-02T03:04:05Z",
        importance="high",
        triggers=["office|closing"],
        claim={"subject": "office", "predicate": "closes at", "value": "17:00"},
    )
    mesh.review(asked.id, approve=True)
    after = mesh.get(memory_id)
    assert after.extra["floor"] == 3
    assert after.occurred_at.isoformat() == "2026-01-02T03:04:05+00:00"
    assert after.importance == 0.8
    assert after.triggers == ("office|closing",)
    assert after.claim.value == "17:00"


def test_what_is_given_as_an_iterator_is_proposed_whole(document, memory_id):
    asked = document.review.propose_update(memory_id, tags=iter(["a", "b"]), triggers=iter(["c"]))
    assert asked.change == {"tags": ["a", "b"], "triggers": ["c"]}


def test_the_name_of_who_proposes_is_redacted(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store", agent_id="jane.doe@example.com") as mesh:
        stored = str(mesh.add("The office closes at six.").id)
        assert "jane" not in str(mesh.review.propose_delete(stored))
        assert mesh.review.propose_delete(stored) == mesh.review.proposals()[0]


def test_a_number_is_proposed_as_it_is(mesh, document, memory_id):
    asked = document.review.propose_update(memory_id, order=4111111111111111)
    mesh.review(asked.id, approve=True)
    assert mesh.get(memory_id).order == 4111111111111111


def test_a_text_that_could_never_be_approved_is_not_proposed(mesh, document, memory_id):
    with pytest.raises(InvalidInput, match="the limit is 100000"):
        document.review.propose_update(memory_id, "x" * 100_001)
    assert mesh.review.proposals() == []


def test_an_approval_that_changed_nothing_is_undone_whatever_came_after(mesh, document, memory_id):
    asked = document.review.propose_update(memory_id, tags=["office"])
    mesh.review(asked.id, approve=True)
    mesh.update(memory_id, tags=["hours"])
    assert mesh.review.undo(asked.id).pending
    assert mesh.get(memory_id).tags == ("hours",)


def test_a_delete_that_was_taken_back_and_made_again_is_not_undone(mesh, document, memory_id):
    asked = document.review.propose_delete(memory_id)
    mesh.review(asked.id, approve=True)
    mesh.restore(memory_id)
    mesh.delete(memory_id)
    with pytest.raises(InvalidInput, match="changed after the proposal was approved"):
        mesh.review.undo(asked.id)
    assert mesh.get(memory_id) is None


def test_nothing_waits_for_a_memory_that_is_deleted(mesh, document, memory_id):
    asked = document.review.propose_update(memory_id, "It closes at five.")
    mesh.delete(memory_id)
    assert mesh.review.waiting() == mesh.review.proposals() == []
    mesh.restore(memory_id)
    assert mesh.review.waiting() == [asked]


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"type": "session", "session_id": "s9"}},
        {"metadata": {"type": "session", "session_id": "s9"}, "merge": True},
        {
            "claim": {
                "subject": "office",
                "predicate": "closes at",
                "value": "17:00",
                "scope": "session",
                "sessionId": "s9",
            }
        },
    ],
)
def test_no_proposal_changes_who_sees_a_memory(mesh, document, memory_id, change):
    with pytest.raises(InvalidInput, match="cannot change who may see a memory"):
        document.review.propose_update(memory_id, **change)
    assert mesh.review.proposals() == []


def test_what_does_not_fit_the_memory_is_not_proposed(mesh, document):
    stored = mesh.add("The office is open.", valid_from="2026-01-01T00:00:00Z").id
    with pytest.raises(InvalidInput, match="valid_until must be later than valid_from"):
        document.review.propose_update(stored, valid_until="2025-01-01T00:00:00Z")
    assert mesh.review.proposals() == []


def test_a_proposal_has_a_size_that_a_person_can_review(mesh, document, memory_id):
    many = [f"{number:0500}" for number in range(256)]
    with pytest.raises(InvalidInput, match="the limit is 200000"):
        document.review.propose_update(memory_id, "x" * 99_000, tags=many)
    assert mesh.review.proposals() == []


def test_what_was_rejected_is_not_proposed_again_until_the_memory_changes(
    mesh, document, memory_id
):
    asked = document.review.propose_update(memory_id, "It closes at five.")
    rejected = mesh.review(asked.id, approve=False, reason="no")
    assert document.review.propose_update(memory_id, "It closes at five.") == rejected
    assert mesh.review.proposals() == []
    mesh.update(memory_id, "It closes at seven.")
    again = document.review.propose_update(memory_id, "It closes at five.")
    assert (again.pending, mesh.review.proposals()) == (True, [again])


def test_what_was_approved_and_changed_back_can_be_proposed_again(mesh, document, memory_id):
    asked = document.review.propose_update(memory_id, "It closes at five.")
    mesh.review(asked.id, approve=True)
    mesh.update(memory_id, "It closes at six.")
    assert document.review.propose_update(memory_id, "It closes at five.").pending
