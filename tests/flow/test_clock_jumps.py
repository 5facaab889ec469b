"""One jump of the clock fixes no later time, and reads of the past stay consistent."""

from datetime import timedelta

import pytest

from memory_mesh.learn.rules.retention import JobRules, consolidation_due
from memory_mesh.model import Scope
from memory_mesh.model.job import Due

YEARS, SECOND = timedelta(days=3650), timedelta(seconds=1)


@pytest.fixture
def jumped(mesh, clock):
    """Two memories, one changed and one made while the clock was ten years ahead."""
    old = str(mesh.add("The printer is on the third floor").id)
    clock.advance(timedelta(hours=1))
    now = clock.now()
    clock.advance(YEARS)
    new = str(mesh.add("The kitchen is on the second floor").id)
    mesh.update(old, "The printer is on the fourth floor")
    clock.set(now)
    return old, new, now


def test_later_writes_have_the_clocks_time(mesh, clock, jumped):
    _, _, now = jumped
    receipt = mesh.add("The garden is behind the house")
    assert receipt.created == now
    assert int(str(receipt.id).split("_")[1]) == int(now.timestamp() * 1000)
    clock.advance(SECOND)
    assert mesh.add("The cellar is below the house").created == now + SECOND
    assert mesh.care.blocks(limit=100)[-1].entry.at == now + SECOND
    assert mesh.care.verify().findings == ()


def test_a_memory_of_the_jump_goes_on_just_after_it(mesh, clock, jumped):
    old, new, now = jumped
    changed = mesh.update(old, "The printer is on the fifth floor")
    assert changed.recorded_from == mesh.history(old)[-1].recorded_from
    for id_ in (old, new):
        mesh.pin(id_)
        mesh.delete(id_)
        mesh.restore(id_)
        versions = mesh.history(id_)
        begun = [version.recorded_from for version in versions]
        assert begun == sorted(set(begun))
        assert begun[-1] - (now + YEARS) < SECOND
        ended = [version.recorded_until for version in versions]
        assert ended == [*begun[1:], None]
    assert [memory.text for memory in mesh.get_all()] == [
        "The kitchen is on the second floor",
        "The printer is on the fifth floor",
    ]
    assert mesh.care.verify().findings == ()


def test_a_read_of_the_past_shows_each_memory_as_its_times_say(mesh, clock, jumped):
    old, new, now = jumped
    garden = str(mesh.add("The garden is behind the house").id)
    clock.advance(SECOND)
    then = {memory.id: memory.text for memory in mesh.get_all(as_of=clock.now())}
    assert then == {
        old: "The printer is on the third floor",
        garden: "The garden is behind the house",
    }
    later = {memory.id for memory in mesh.get_all(as_of=now + YEARS + SECOND)}
    assert later == {old, new, garden}
    assert {hit.id for hit in mesh.search("printer kitchen garden")} == {old, new, garden}


def test_one_write_in_the_past_changes_no_stored_time(mesh, clock):
    first = mesh.add("The printer is on the third floor")
    begun = clock.now()
    clock.advance(-YEARS)
    behind = mesh.add("The kitchen is on the second floor")
    changed = mesh.pin(str(first.id))
    clock.set(begun + SECOND)
    after = mesh.add("The garden is behind the house")
    assert (behind.created, after.created) == (begun - YEARS, begun + SECOND)
    assert mesh.history(str(first.id))[0].recorded_from == begun
    assert changed.recorded_from == begun + timedelta(microseconds=1)
    assert mesh.care.verify().findings == ()


def test_a_claim_of_the_jump_is_superseded_at_the_clocks_time(mesh, clock):
    now = clock.now()
    claim = {"subject": "ann", "predicate": "lives_in"}
    clock.advance(YEARS)
    wrong = mesh.add("Ann lives in Rome", claim=claim | {"value": "Rome"})
    clock.set(now + SECOND)
    right = mesh.add("Ann lives in Oslo", claim=claim | {"value": "Oslo"})
    assert right.superseded == (wrong.id,)
    assert right.created == now + SECOND
    assert [memory.text for memory in mesh.get_all()] == ["Ann lives in Oslo"]
    assert mesh.care.verify().findings == ()


def test_a_proposal_for_a_memory_of_the_jump_can_be_decided_and_undone(mesh, jumped):
    old, _, _ = jumped
    asked = mesh.review.propose_update(old, "The printer is on the sixth floor")
    mesh.review(asked.id, approve=True)
    assert mesh.get(old).text == "The printer is on the sixth floor"
    mesh.review.undo(asked.id)
    assert mesh.get(old).text == "The printer is on the fourth floor"
    assert mesh.care.verify().findings == ()


def test_maintenance_whose_last_run_lies_in_the_future_is_due(clock):
    due = consolidation_due({Scope("p"): 1}, clock.now() + YEARS, clock.now(), JobRules())
    assert due == Due(now=True, why="new traces, and the last run lies in the future")
