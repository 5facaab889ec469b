"""Several updates in one transaction: all of them, or none."""

import pytest

from memory_mesh import InvalidInput
from memory_mesh.model import Channel
from memory_mesh.model.errors import NotAllowed, NotFound


@pytest.fixture
def ids(mesh):
    return [mesh.add(f"Service {number} runs at night.").id for number in range(3)]


def texts(mesh, ids):
    return [mesh.history(id_)[-1].text for id_ in ids]


def test_each_memory_gets_its_next_version_and_its_own_block(mesh, ids):
    after = mesh.update_many(
        {"id": id_, "content": f"Task {number} sleeps.", "tags": ["new"], "reason": f"why {number}"}
        for number, id_ in enumerate(ids)
    )
    assert [memory.id for memory in after] == ids
    assert texts(mesh, ids) == [f"Task {number} sleeps." for number in range(3)]
    assert all(memory.tags == ("new",) for memory in after)
    changes = [
        block for block in mesh.care.blocks() if block.entry.metadata.get("type") == "update"
    ]
    assert [block.entry.metadata["why"] for block in changes] == ["why 0", "why 1", "why 2"]
    assert len({block.seq for block in changes}) == 1
    assert mesh.care.verify().ok


def test_one_that_fails_lets_nothing_happen(mesh, ids):
    before = texts(mesh, ids)
    with pytest.raises(NotFound):
        mesh.update_many([{"id": ids[0], "content": "New."}, {"id": "mem_1_0", "content": "New."}])
    with pytest.raises(NotAllowed):
        mesh.view(channel=Channel.FILE).update_many([{"id": ids[0], "content": "New."}])
    with pytest.raises(InvalidInput):
        mesh.update_many([{"id": ids[0], "content": " "}])
    assert texts(mesh, ids) == before


def test_two_changes_about_the_same_must_follow_each_other(mesh, ids):
    claim = {"subject": "gate", "predicate": "colour", "value": "red"}
    with pytest.raises(InvalidInput, match="one after the other"):
        mesh.update_many([{"id": ids[0], "claim": claim}, {"id": ids[1], "claim": claim}])
    with pytest.raises(InvalidInput, match="one after the other"):
        mesh.update_many([{"id": ids[0], "content": "A."}, {"id": ids[0], "content": "B."}])


def test_what_changes_nothing_leaves_no_block(mesh, ids):
    before = len(mesh.care.blocks())
    (after,) = mesh.update_many([{"id": ids[0], "content": "Service 0 runs at night."}])
    assert after.id == ids[0]
    assert len(mesh.care.blocks()) == before
