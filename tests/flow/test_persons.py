"""Memories that state different speakers or users do not meet, by whichever door they come."""

import pytest

from memory_mesh.model import Channel, Outcome, Resolution, Status
from memory_mesh.model.conversation import InteractionContext
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryContextManager

ROOMY = {"subject": "server", "predicate": "port", "value": "8080"}
WAYS = {
    "speaker": lambda name: {"speaker": name},
    "user_id": lambda name: {"metadata": {"user_id": name}},
    "userId": lambda name: {"metadata": {"userId": name}},
    "user": lambda name: {"metadata": {"user": name}},
    "address": lambda name: {"metadata": {"user_id": f"{name}@example.com"}},
}
every_way = pytest.mark.parametrize("by", WAYS.values(), ids=WAYS)


def on(value):
    return ROOMY | {"value": value}


@every_way
def test_the_same_text_of_two_is_stored_twice_and_of_one_once(mesh, by):
    ann, bob = (mesh.add("I live in Oslo", **by(name)) for name in ("ann", "bob"))
    assert (ann.outcome, bob.outcome) == (Outcome.STORED, Outcome.STORED)
    again = mesh.add("I live in Oslo", **by("bob"))
    assert (again.outcome, again.id) == (Outcome.MERGED, bob.id)
    assert mesh.add("I live in Oslo").id == ann.id  # who said it is not stated


@every_way
def test_stated_claims_of_two_do_not_contradict_each_other(mesh, by):
    mesh.add("port 8080", claim=on("8080"), **by("ann"))
    bob = mesh.add("port 9090", claim=on("9090"), **by("bob"))
    assert (bob.outcome, bob.superseded, bob.conflicts) == (Outcome.STORED, (), ())
    weak = mesh.add("port 1", claim=on("1"), source_kind="inference", **by("carl"))
    assert weak.outcome is Outcome.STORED
    assert mesh.review.conflicts(pending=False) == []
    same = mesh.add("the port: 9090", claim=on("9090"), **by("dora"))
    assert same.outcome is Outcome.STORED
    assert mesh.add("port 7", claim=on("7"), **by("bob")).superseded == (bob.id,)


@every_way
def test_one_who_is_not_named_still_contradicts(mesh, by):
    ann = mesh.add("port 8080", claim=on("8080"), **by("ann"))
    said = mesh.add("port 9090", claim=on("9090"), role="user")
    assert said.superseded == (ann.id,)


@every_way
def test_two_in_one_batch_do_not_meet(mesh, by):
    items = [
        {"content": "port", "claim": on(name), **by(name)} for name in ("ann", "bob", "ann", "bob")
    ]
    outcomes = [receipt.outcome for receipt in mesh.add_many(items)]
    assert outcomes == [Outcome.STORED, Outcome.STORED, Outcome.MERGED, Outcome.MERGED]


@every_way
def test_an_update_is_compared_with_the_same_person_only(mesh, by):
    mesh.add("port 8080", claim=on("8080"), **by("ann"))
    bob = mesh.add("port 9090", claim=on("9090"), **by("bob")).id
    assert mesh.update(bob, claim=on("7070")).claim.value == "7070"
    with pytest.raises(InvalidInput, match="contradicts"):
        mesh.update(bob, **by("ann"))


@every_way
def test_a_review_lets_in_a_memory_beside_those_of_others(mesh, by):
    ann = mesh.add("port 8080", claim=on("8080"), **by("ann")).id
    waits = mesh.add("port 9090", claim=on("9090"), quarantine="look at it", **by("bob")).id
    mesh.review(waits, approve=True)
    assert mesh.get(ann).status is Status.ACTIVE
    assert mesh.review.conflicts(pending=False) == []


def test_a_review_leaves_what_turned_out_to_be_of_somebody_else(mesh):
    ann = mesh.add("port 8080", claim=on("8080")).id
    waits = mesh.add("port 9090", claim=on("9090"), source_kind="inference").id
    mesh.update(ann, speaker="ann")
    assert len(mesh.review.conflicts()) == 1
    mesh.update(waits, speaker="bob")
    mesh.review(waits, approve=True)
    assert mesh.get(ann).status is Status.ACTIVE
    assert [each.resolution for each in mesh.review.conflicts(decided=True)] == [
        Resolution.KEEP_BOTH
    ]


@every_way
def test_what_was_rejected_of_one_is_kept_out_for_that_one_only(mesh, by):
    for name in ("ann", "carl"):
        mesh.add("the plan is off", quarantine="is it?", **by(name))
    for memory in mesh.review.waiting():
        mesh.review(memory.id, approve=False)
    assert mesh.add("the plan is off", **by("bob")).outcome is Outcome.STORED
    assert mesh.add("the plan is off", **by("ann")).outcome is Outcome.REFUSED
    assert mesh.add("the plan is off", allow_duplicate=True).outcome is Outcome.REFUSED


@every_way
def test_a_plain_text_of_somebody_else_is_no_echo(mesh, by):
    ann = mesh.add("I live in Oslo", **by("ann"))
    agent = mesh.view(channel=Channel.MCP)
    assert agent.add("i live in oslo!", **by("bob")).outcome is Outcome.STORED
    assert agent.add("i live in oslo.", **by("ann")).outcome is Outcome.REFUSED
    assert agent.add("i live in oslo?", **by("bob")).outcome is Outcome.REFUSED
    shown = mesh.format_results([hit for hit in mesh.search("Oslo") if hit.id == ann.id])
    assert agent.add(shown, **by("bob")).outcome is Outcome.REFUSED


def test_an_exchange_of_another_user_is_captured_too(mesh):
    manager = MemoryContextManager(mesh=mesh)
    prompt = "Remember that I live in Oslo, Norway"
    for name in ("ann@example.com", "bob@example.com"):
        context = InteractionContext(metadata={"user_id": name})
        assert manager.capture_interaction(prompt, "", context) is not None
        assert manager.capture_interaction(prompt, "", context) is None
