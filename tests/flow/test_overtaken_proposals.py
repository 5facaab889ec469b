"""A proposal does not undo, unseen, what the user changed after it was made."""

import pytest

from memory_mesh.errors import InvalidInput
from memory_mesh.model import Channel


@pytest.fixture
def memory_id(mesh):
    return mesh.add("The office closes at six.", tags=["office"]).id


@pytest.fixture
def document(mesh):
    return mesh.view(channel=Channel.FILE)


@pytest.mark.parametrize("verb", ["update", "delete"])
def test_a_text_that_the_user_changed_since_is_not_overwritten(mesh, document, memory_id, verb):
    if verb == "update":
        asked = document.propose_update(memory_id, "The office closes at five.")
    else:
        asked = document.propose_delete(memory_id)
    mesh.update(memory_id, "The office closes at seven.")
    with pytest.raises(InvalidInput, match=rf"changed after {asked.id} was proposed.*: text\b"):
        mesh.review(asked.id, approve=True)
    assert mesh.get(memory_id).text == "The office closes at seven."
    assert mesh.proposals() == [asked]
    assert mesh.review(asked.id, approve=False).approved is False


def test_a_change_of_something_else_is_kept_beside_the_approved_one(mesh, document, memory_id):
    asked = document.propose_update(memory_id, "The office closes at five.")
    mesh.update(memory_id, tags=["hours"])
    mesh.review(asked.id, approve=True)
    after = mesh.get(memory_id)
    assert (after.text, after.tags) == ("The office closes at five.", ("hours",))


def test_what_the_user_already_made_the_same_can_be_approved(mesh, document, memory_id):
    asked = document.propose_update(memory_id, tags=["hours"])
    mesh.update(memory_id, tags=["hours"])
    assert mesh.review(asked.id, approve=True).approved
    assert mesh.get(memory_id).tags == ("hours",)


def test_of_two_proposals_for_one_field_only_one_is_approved(mesh, document, memory_id):
    first = document.propose_update(memory_id, tags=["a"])
    second = document.propose_update(memory_id, tags=["b"])
    mesh.review(first.id, approve=True)
    with pytest.raises(InvalidInput, match=r": tags\b"):
        mesh.review(second.id, approve=True)
    mesh.undo_review(first.id)
    mesh.review(second.id, approve=True)
    assert mesh.get(memory_id).tags == ("b",)
