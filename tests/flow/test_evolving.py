"""Storing a text as the newer statement of what is known."""

import pytest

from memory_mesh.learn import evolve
from memory_mesh.model import Channel, Link, Outcome, Scope, Status
from memory_mesh.sync import MemoryMesh
from tests.flow.angles import Angles

OLD = "The deploy day of the shop is Friday."
NEW = "The deploy day of the shop is Monday."
PORT = {"subject": "server", "predicate": "port"}


@pytest.fixture
def meaning(tmp_path, clock, real_embedder):
    with MemoryMesh(db_dir=tmp_path / "m", clock=clock, custom_embedder=real_embedder) as opened:
        yield opened


@pytest.mark.req("R-003-016")
def test_a_related_memory_is_found_and_superseded_in_the_same_write(meaning):
    other = meaning.add("The cat sleeps on the sofa.").id
    old = meaning.add(OLD).id
    receipt = meaning.evolve(NEW, importance=0.8, tags=["ops"])
    assert receipt.outcome is Outcome.STORED
    assert receipt.superseded == (old,)
    assert any("it supersedes" in reason and old in reason for reason in receipt.reasons)
    new = meaning.get(receipt.id)
    assert (new.importance, new.tags) == (0.8, ("ops",))
    gone = meaning.get(old, include=["superseded"])
    assert (gone.status, gone.successor) == (Status.SUPERSEDED, receipt.id)
    assert meaning.get(other).status is Status.ACTIVE
    assert meaning.care.verify().ok


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Backups of the shop run at 02:00 UTC.", "Backups of the blog run at 04:00 UTC."),
        ("Deploy to staging with make stage.", "Deploy to production with make ship."),
        ("Bob owns the billing service.", "Bob owns the search service."),
        ("Ann likes coffee in the morning.", "Ann likes tea in the evening."),
    ],
)
def test_what_is_only_similar_is_linked_and_never_hidden(meaning, known, said):
    old = meaning.add(known).id
    receipt = meaning.evolve(said)
    assert receipt.superseded == ()
    assert meaning.get(old).status is Status.ACTIVE
    assert any("both may be true" in why or "can be true" in why for why in receipt.reasons)
    assert old in {link.target for link in meaning.graph.links(receipt.id)}


def test_it_can_be_undone_from_either_side(meaning):
    for asked in (0, 1):
        old = meaning.add(OLD).id
        new = meaning.evolve(NEW).id
        meaning.review.undo((old, new)[asked])
        assert meaning.get(old).status is Status.ACTIVE
        assert meaning.get(new).status is Status.ACTIVE
        for id_ in (old, new):
            meaning.delete(id_)


def test_it_works_by_words_where_there_are_no_vectors(mesh):
    old = mesh.add("The backup job of the server runs at night.").id
    assert mesh.evolve("The backup job of the server runs at noon.").superseded == (old,)


def test_a_claim_is_replaced_whatever_its_words(mesh):
    old = mesh.add("The server listens on 3000.", claim={**PORT, "value": "3000"}).id
    mesh.add("The server belongs to Ann.", claim={**PORT, "predicate": "owner", "value": "Ann"})
    receipt = mesh.evolve("We moved to 8080.", claim={**PORT, "value": "8080"})
    assert receipt.superseded == (old,)


def test_a_guessed_claim_is_replaced_because_the_caller_asked(mesh):
    old = mesh.add("The port of the server is 3000.").id
    receipt = mesh.evolve("The port of the server is 8080.")
    assert receipt.superseded == (old,)
    assert receipt.newer_than == ()
    assert mesh.get(old) is None


def test_a_more_trusted_memory_stays_and_is_linked(mesh):
    old = str(mesh.add("The backup job of the server runs at night.", role="user").id)
    agent = mesh.view(channel=Channel.ASSISTANT)
    receipt = agent.evolve("The backup job of the server runs at noon.")
    assert receipt.outcome is Outcome.STORED
    assert receipt.superseded == ()
    assert any(f"linked to {old}, which stays" in reason for reason in receipt.reasons)
    assert mesh.graph.links(old) == [Link(str(receipt.id), old, "related")]
    assert mesh.get(old).status is Status.ACTIVE


def test_what_the_user_pinned_stays_for_others(mesh):
    text = "The backup job of the server runs at night."
    old = mesh.add(text, role="assistant").id
    mesh.pin(old)
    agent = mesh.view(channel=Channel.ASSISTANT)
    assert agent.evolve("The backup job of the server runs at noon.").superseded == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ann likes green tea in the morning.", "Bob likes green tea in the morning."),
        ("The cat sleeps on the sofa.", "The build of the server is broken."),
    ],
)
def test_another_subject_is_left_alone(meaning, old, new):
    kept = meaning.add(old).id
    receipt = meaning.evolve(new)
    assert receipt.superseded == ()
    assert any("no memory on the same subject" in reason for reason in receipt.reasons)
    assert meaning.get(kept).status is Status.ACTIVE


def test_another_audience_and_another_speaker_are_left_alone(mesh):
    text = "The backup job of the server runs at {}."
    wider = mesh.add(text.format("night")).id
    spoken = mesh.add(text.format("dusk"), speaker="Ann").id
    assert mesh.evolve(text.format("noon"), scope=Scope(agent="planner")).superseded == ()
    mesh.delete(wider)
    assert mesh.evolve(text.format("dawn"), speaker="Bob").superseded == ()
    assert mesh.get(spoken).status is Status.ACTIVE


def test_a_lesson_and_an_episode_are_not_replaced(mesh):
    text = "The backup job of the server runs at {}."
    for label in ("reflection", "episode", "trace"):
        mesh.add(text.format(label), kind=label)
    assert mesh.evolve(text.format("noon")).superseded == ()


def test_the_same_text_again_is_merged(mesh):
    old = mesh.add("The backup job of the server runs at night.").id
    again = mesh.evolve("The backup job of the server runs at night.")
    assert (again.outcome, again.merged_into) == (Outcome.MERGED, old)


def test_the_receipt_does_not_say_that_what_is_superseded_stays(mesh):
    mesh.add("The port of the server is 3000.")
    receipt = mesh.evolve("The port of the server is 8080.")
    assert receipt.reasons[0] == "stored; it takes the place of the memory on the same subject"
    assert not any("which stays" in reason for reason in receipt.reasons)


def test_a_text_that_is_not_stored_anew_is_not_told_as_new(mesh):
    text = "The backup job of the server runs at night."
    mesh.evolve(text, key="nightly")
    for again in (mesh.evolve(text, key="nightly"), mesh.evolve(text)):
        assert not any("no memory on the same subject" in reason for reason in again.reasons)


def test_a_text_that_waits_is_neither_linked_nor_told_as_linked(mesh):
    old = mesh.add("The backup job of the server runs at night.", role="user").id
    agent = mesh.view(channel=Channel.ASSISTANT)
    receipt = agent.evolve("The backup job of the server runs at noon.", quarantine="look at it")
    assert receipt.outcome is Outcome.QUARANTINED
    assert not any("linked to" in reason for reason in receipt.reasons)
    assert mesh.graph.links(old) == []


def test_a_memory_that_others_confirmed_is_trusted_more_and_stays(mesh):
    text = "The backup job of the server runs at {}."
    old = str(mesh.add(text.format("night"), source_kind="inference").id)
    mesh.review.reinforce(old)
    receipt = mesh.evolve(text.format("noon"), source_kind="inference")
    assert receipt.superseded == ()
    assert mesh.graph.links(old) == [Link(str(receipt.id), old, "related")]


def test_what_was_true_before_the_new_text_holds_stays(mesh, clock):
    text = "The backup job of the server runs at {}."
    past = mesh.add(text.format("night"), valid_until="2025-01-01").id
    assert mesh.evolve(text.format("noon"), valid_from="2025-01-01").superseded == ()
    assert mesh.evolve(text.format("dawn")).superseded != (past,)
    assert mesh.get(past, include=[Status.ACTIVE], valid_at="2024-06-01") is not None


@pytest.mark.parametrize("rule", [{"cardinality": "multi"}, {"conflict_policy": "keep_both"}])
def test_values_that_stand_side_by_side_by_the_users_rule_stay(mesh, rule):
    mesh.review.register_predicates({"port": rule})
    old = mesh.add("The server listens on 3000.", claim={**PORT, "value": "3000"}).id
    receipt = mesh.evolve("The server listens on 8080.", claim={**PORT, "value": "8080"})
    assert receipt.superseded == ()
    assert mesh.get(old).status is Status.ACTIVE


def test_words_alone_decide_for_a_memory_that_has_no_vector_yet(tmp_path, clock):
    text = "The deploy day of the old cluster is {}."
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock) as plain:
        old = plain.add(text.format("Friday")).id
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock, custom_embedder=Angles()) as mesh:
        assert mesh.evolve(text.format("Monday")).superseded == (old,)


def test_a_model_that_does_not_read_the_script_decides_nothing(meaning):
    old = meaning.add("猫喜欢睡在沙发上。").id
    assert meaning.evolve("猫喜欢吃鱼。").superseded == ()
    assert meaning.get(old).status is Status.ACTIVE


def test_two_that_evolve_the_same_at_once_replace_one_after_the_other(mesh, monkeypatch):
    text = "The deploy day of the old cluster is {}."
    mesh.add(text.format("Friday"))
    found = evolve._candidates
    other: list[str | None] = []

    def meanwhile(access, worded):
        candidates = found(access, worded)
        if not other:
            monkeypatch.setattr(evolve, "_candidates", found)
            other.append(mesh.evolve(text.format("Monday")).id)
        return candidates

    monkeypatch.setattr(evolve, "_candidates", meanwhile)
    assert mesh.evolve(text.format("Sunday")).superseded == tuple(other)
    assert mesh.care.verify().ok
