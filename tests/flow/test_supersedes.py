"""A draft that names its earlier versions takes their place, as far as its channel may do that."""

import pytest

from memory_mesh.model import Draft, Outcome, Receipt, Scope, Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh

ANYBODY = Scope()


@pytest.fixture
def mesh(tmp_path):
    with MemoryMesh(db_dir=str(tmp_path), embedder="none", project=None) as mesh:
        yield mesh


def added(mesh: MemoryMesh, text: str, *ids: str | None, scope: Scope = ANYBODY) -> Receipt:
    named = tuple(id_ for id_ in ids if id_ is not None)
    (receipt,) = mesh.add_many([Draft(text=text, supersedes=named, scope=scope)])
    return receipt


def status(mesh: MemoryMesh, receipt: Receipt) -> Status:
    assert receipt.id is not None
    return mesh.history(receipt.id)[-1].status


def test_several_earlier_versions_are_superseded_and_come_back(mesh):
    one, two = added(mesh, "The office closes at six"), added(mesh, "The office closes at seven")
    new = added(mesh, "The office closes at five", one.id, two.id, "mem_1_000000", one.id)
    assert set(new.superseded) == {one.id, two.id}
    assert len(new.conflicts) == 2
    assert status(mesh, one) is status(mesh, two) is Status.SUPERSEDED
    mesh.review.undo(one.id)
    assert status(mesh, one) is Status.ACTIVE
    assert status(mesh, two) is Status.SUPERSEDED
    mesh.review.undo(new.id)
    assert status(mesh, two) is status(mesh, new) is Status.ACTIVE


def test_a_text_that_is_stored_already_takes_the_place_too(mesh):
    old, known = added(mesh, "The office closes at six"), added(mesh, "The office closes at five")
    again = added(mesh, "The office closes at five", old.id, known.id)
    assert (again.outcome, again.superseded) == (Outcome.MERGED, (old.id,))
    assert f"it supersedes {old.id}" in again.reasons
    assert status(mesh, known) is Status.ACTIVE
    mesh.review.undo(old.id)
    assert status(mesh, old) is Status.ACTIVE


def test_a_chain_of_one_slice_ends_in_the_last(mesh):
    old = added(mesh, "The office closes at six")
    drafts = [
        Draft(text=f"The office closes at {at}", supersedes=(old.id or "",)) for at in ("4", "5")
    ]
    first, second = mesh.add_many(drafts)
    assert (first.superseded, second.superseded) == ((old.id,), ())


@pytest.mark.parametrize("channel", ["mcp", "file", "tool"])
def test_a_channel_replaces_nothing_that_it_could_not_have_written(mesh, channel):
    said = added(mesh, "The office closes at six")
    below = mesh.view(channel=channel)
    assert added(below, "The office closes at five", said.id).superseded == ()
    own = added(below, "The garage opens at seven")
    mesh.pin(own.id)
    assert added(below, "The garage opens at eight", own.id).superseded == ()
    mesh.pin(own.id, pinned=False)
    assert added(below, "The garage opens at nine", own.id).superseded == (own.id,)


def test_a_memory_for_others_stays(mesh):
    wide, apart = added(mesh, "Tea is green"), added(mesh, "Tea is red", scope=Scope("other"))
    assert added(mesh, "Tea is black", apart.id).superseded == ()
    assert added(mesh, "Tea is white", wide.id, scope=Scope("other")).superseded == ()


def test_what_others_confirmed_stays(mesh):
    file = mesh.view(channel="file")
    old = added(file, "The office closes at six")
    added(mesh.view(channel="web"), "The office closes at six")
    assert added(file, "The office closes at five", old.id).superseded == ()


def test_a_draft_that_waits_for_review_supersedes_nothing(mesh):
    old = added(mesh, "The office closes at six")
    draft = Draft(text="The office closes at 5", supersedes=(old.id or "",), quarantine="a doubt")
    (receipt,) = mesh.add_many([draft])
    assert (receipt.outcome, receipt.superseded) == (Outcome.QUARANTINED, ())


def test_a_field_of_another_type_is_refused(mesh):
    with pytest.raises(InvalidInput, match="supersedes"):
        mesh.add_many([Draft(text="Tea", supersedes="mem_1")])  # type: ignore[arg-type]  # on purpose
