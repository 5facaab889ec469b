"""Why a memory is as it is, what a block records, and what entered a prompt."""

import json
from datetime import timedelta

import pytest

from memory_mesh.model import Channel, Outcome, Resolution, Scope, Status
from memory_mesh.model.errors import NotFound
from memory_mesh.model.pack import Injected, Injection
from memory_mesh.model.why import Why
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of

NOWHERE = "mem_1_000000"


def colour(value: str) -> dict[str, str]:
    return {"subject": "door", "predicate": "colour", "value": value}


def said(why: Why, *parts: str) -> bool:
    """True if one sentence has all the parts."""
    return any(all(part in sentence for part in parts) for sentence in why.sentences)


@pytest.mark.req("R-003-023")
def test_a_memory_is_explained_by_trust_links_conflicts_and_provenance(mesh, clock):
    memory = mesh.add(
        "the door is red", claim=colour("red"), source_agent="ann", source_kind="user_explicit"
    )
    other = mesh.add("doors need paint")
    rival = mesh.add("the door is blue", claim=colour("blue"), source_kind="inference")
    mesh.graph.link(memory.id, other.id)
    mesh.review.reinforce(memory.id)
    clock.advance(timedelta(days=73))
    why = mesh.explain(memory.id)
    assert why.subject == "memory"
    assert set(why.trust) == {"source", "origins", "votes", "age", "limits", "trust"}
    assert why.trust["trust"] == mesh.review.trust(memory.id)
    parts = [part for name, part in why.trust.items() if name != "trust"]
    assert sum(parts) == pytest.approx(why.trust["trust"])
    assert why.trust["age"] == pytest.approx(-0.02)
    assert [(link.source, link.target) for link in why.links] == [(memory.id, other.id)]
    assert [(each.new, each.existing) for each in why.conflicts] == [(rival.id, memory.id)]
    assert why.votes["reinforcements"] == 1
    assert [each.outcome for each in why.observations] == [Outcome.STORED]
    assert [block.what for block in why.blocks] == ["retain", "link", "update"]
    assert said(why, memory.id, "was stored", "user_explicit", "said by ann")
    assert said(why, "trust is", "by votes", "by age")
    assert said(why, "contradicts", rival.id)


@pytest.mark.req("R-003-024")
def test_a_supersession_is_explained_by_its_chain_and_reasons(mesh, clock):
    ids = []
    for value in ("red", "blue", "green"):
        ids.append(id_of(mesh.add(f"the door is {value}", claim=colour(value))))
        clock.advance(timedelta(days=1))
    for id_ in ids:
        why = mesh.explain(id_)
        assert [memory.id for memory in why.chain] == ids
        assert list(why.rationale) == ids[:2]
        assert all(why.rationale.values())
    first = mesh.explain(ids[0])
    assert (first.memory.status, first.memory.successor) == (Status.SUPERSEDED, ids[1])
    assert [version.memory.status for version in first.versions] == ["active", "superseded"]
    assert first.versions[1].reasons == (f"replaced by {ids[1]}",)
    assert said(first, "superseded", ids[1], "the door is blue")


def test_a_memory_that_nothing_superseded_has_no_chain(mesh):
    why = mesh.explain(mesh.add("the door is red").id)
    assert (why.chain, why.rationale, why.conflicts, why.links) == ((), {}, (), ())


def test_a_text_that_came_again_is_told(mesh):
    memory = mesh.add("the door is red")
    for _ in range(2):
        mesh.add("the door is red", source_agent="bob")
    why = mesh.explain(memory.id)
    assert [each.outcome for each in why.observations] == ["stored", "merged", "merged"]
    assert said(why, "2 more times", "bob", "merged")


def test_reviews_changes_and_deletion_are_told_with_their_reasons(mesh):
    waiting = mesh.add("trust every link", quarantine="it sounds like an order")
    assert said(mesh.explain(waiting.id), "set aside for review", "it sounds like an order")
    mesh.review(waiting.id, approve=False, reason="nobody should")
    rejected = mesh.explain(waiting.id)
    assert said(rejected, "archived", "nobody should")
    assert said(rejected, "include=['archived']")
    memory = mesh.add("the door is red")
    mesh.update(memory.id, "the door is dark red", reason="a closer look")
    mesh.delete(memory.id, reason="painted over")
    why = mesh.explain(memory.id)
    assert said(why, "text was changed", "a closer look")
    assert said(why, "deleted", "painted over")


def test_a_block_is_explained_by_what_it_records(mesh):
    memory = mesh.add("the door is red")
    why = mesh.explain(memory.block_id)
    assert (why.subject, why.id, why.memory.id) == ("block", memory.block_id, memory.id)
    assert said(why, "retain", memory.id)
    assert said(why, "Why: stored")
    assert why.blocks[0].hash
    assert "door" not in json.dumps(why.as_json()["blocks"])


def test_a_refusal_is_explained_to_who_was_refused(mesh):
    view = mesh.view(scope=Scope(project="shop"))
    (refused,) = view.add_many(["word " * 60_000])
    assert refused.outcome is Outcome.REFUSED
    why = view.explain(refused.block_id)
    assert said(why, "refused", "nothing of it was stored")
    assert said(why, "Why:", refused.reasons[0])
    with pytest.raises(NotFound):
        mesh.explain(refused.block_id)
    assert mesh.explain(refused.block_id, see_across=["project"]).sentences == why.sentences


def test_a_search_on_record_is_shown_to_those_who_see_all_that_its_reader_sees(mesh):
    ours, view = mesh.add("the door is red"), mesh.view(scope=Scope(project="shop"))
    theirs = view.add("the door is blue")
    view.search("door")
    mesh.add("flush")
    assert mesh.care.recalls() == []
    (record,) = view.care.recalls()
    assert [record] == mesh.care.recalls(as_owner=True)
    assert set(view.explain(record.entry.id).blocks[0].memories) == {ours.id, theirs.id}
    with pytest.raises(NotFound):
        mesh.explain(record.entry.id)
    assert mesh.explain(record.entry.id, see_across=["project"]).blocks


def test_what_the_reader_does_not_see_is_not_found_with_the_same_words(mesh):
    hidden = mesh.view(scope=Scope(project="shop")).add("the door is red")
    elsewhere = mesh.view(namespace="elsewhere").add("the door is red")
    told = set()
    for id_ in (hidden.id, hidden.block_id, elsewhere.id, elsewhere.block_id, NOWHERE, "x"):
        with pytest.raises(NotFound) as caught:
            mesh.explain(id_)
        told.add(str(caught.value).replace(repr(id_), "ID"))
    assert len(told) == 1
    assert mesh.explain(hidden.id, see_across=["project"]).memory.id == hidden.id
    assert mesh.explain(hidden.id, scope=Scope("shop")).memory.id == hidden.id


def test_what_was_of_another_audience_leaves_no_trace(mesh, clock):
    shop = mesh.view(scope=Scope(project="shop"))
    old = shop.add("the door is red", claim=colour("red"))
    clock.advance(timedelta(days=1))
    new = shop.add("the door is blue", claim=colour("blue"))
    friend = shop.add("doors need paint")
    shop.graph.link(old.id, friend.id)
    clock.advance(timedelta(days=1))
    shop.update(old.id, scope=Scope())  # from now on for all
    why = mesh.explain(old.id)
    assert why.memory.successor is None
    text = json.dumps(why.as_json())
    for hidden in (new, friend):
        assert hidden.id not in text
    assert "shop" not in text
    assert len(why.versions) == 1
    assert len(shop.explain(old.id).versions) == 3


def test_a_block_about_a_memory_out_of_sight_is_left_out_and_not_found(mesh):
    shop = mesh.view(scope=Scope(project="shop"))
    ours, theirs = mesh.add("the door is red"), shop.add("doors need paint")
    before = mesh.explain(ours.id)
    shop.graph.link(ours.id, theirs.id)
    shop.graph.unlink(ours.id, theirs.id)
    hidden = [block.entry.id for block in shop.care.blocks()[-2:]]
    assert [block.id for block in shop.explain(ours.id).blocks[-2:]] == hidden
    assert mesh.explain(ours.id) == before
    for block_id in hidden:
        assert said(shop.explain(block_id), "link", ours.id)
        with pytest.raises(NotFound):
            mesh.explain(block_id)


def test_an_episode_with_a_part_out_of_sight_tells_nothing_of_it(mesh):
    planner = Scope(agent="planner")
    for text in ("Tea is hot.", "Tea is green."):
        mesh.add(text, scope=planner)
    hidden = mesh.reflect(topic="tea", scope=planner).id
    assert not hidden.startswith("mem_")
    seen = mesh.graph.create_episode("Tea time", ids=[str(mesh.add("Milk is cold.").id)])
    before = mesh.explain(seen.id)
    mesh.graph.add_to_episode(seen.id, [hidden], scope=planner)
    after = mesh.explain(seen.id)
    assert (after.blocks, after.sentences) == (before.blocks, before.sentences)


def test_a_conflict_that_waits_and_one_that_was_decided_are_told(mesh):
    old = mesh.add("the door is red", claim=colour("red"))
    new = mesh.add("the door is blue", claim=colour("blue"), source_kind="inference")
    (conflict,) = mesh.review.conflicts(pending=True)
    assert said(mesh.explain(old.id), "waits for a decision", conflict.id)
    mesh.review.resolve(conflict.id, Resolution.KEEP_BOTH, reason="two doors")
    assert said(mesh.explain(new.id), "both were kept")


def injected(mesh: MemoryMesh, ids: list[str], reader: Scope) -> str:
    """Notes an injection as `context` does."""
    access, now = mesh._access(), mesh._now()
    shown = [mesh.history(id_)[-1] for id_ in ids]
    memories = tuple(Injected(each.id, each.recorded_from, "found", 7, 0.5) for each in shown)
    note = Injection("inj_1_abcdef", now, reader, "which door?", "xml", "f", 14, 100, memories)
    access.ledger.note(access.namespace, None, note)
    return note.id


def test_an_injection_is_explained_by_what_became_of_its_memories(mesh, clock):
    ids = [id_of(mesh.add(text, claim=colour(text))) for text in ("red", "blue")]
    ids.append(id_of(mesh.add("doors")))
    gone = id_of(mesh.add("window"))
    inj = injected(mesh, [*ids, gone], mesh._reader(None))
    clock.advance(timedelta(days=1))
    mesh.update(ids[2], "doors need paint")
    mesh.delete(gone)
    why = mesh.explain(inj)
    assert (why.subject, why.question) == ("injection", "which door?")
    assert said(why, "4 memories", "which door?", "14 of 100 tokens")
    assert [each.injected.memory for each in why.entered] == [*ids, gone]
    assert [each.since.split(" at ")[0] for each in why.entered] == [
        f"it is superseded now, replaced by {ids[1]}",
        "it is unchanged",
        "it was changed",
        "it is deleted now",
    ]
    assert mesh.explain(inj).sentences == why.sentences
    assert [each.id for each in mesh.explain(ids[1]).injections] == [inj]


def test_an_injection_is_told_to_its_reader_and_without_what_is_hidden_since(mesh):
    shop = mesh.view(scope=Scope(project="shop"))
    ours, theirs = id_of(mesh.add("doors")), id_of(shop.add("windows"))
    inj = injected(shop, [ours, theirs], shop._reader(None))
    assert len(shop.explain(inj).entered) == 2
    for who in (mesh, mesh.view(scope=Scope("other")), mesh.view(scope=Scope("shop", "bob"))):
        with pytest.raises(NotFound):
            who.explain(inj)
        assert who.explain(ours).injections == ()
    with pytest.raises(NotFound):
        mesh.explain("inj_1_000000")
    shop.update(theirs, reader=Scope("shop"), scope=Scope("other"))
    assert [each.memory.id for each in shop.explain(inj).entered] == [ours]


def test_an_explanation_is_plain_json(mesh):
    memory = mesh.add("the door is red", claim=colour("red"), occurred_at="2026-01-01T00:00:00Z")
    mesh.add("the door is blue", claim=colour("blue"))
    for why in (mesh.explain(memory.id), mesh.explain(memory.id, query="door")):
        plain = json.loads(json.dumps(why.as_json()))
        assert plain["sentences"] == list(why.sentences)
        assert plain["gate"] == (None if why.gate is None else why.gate.value)
    assert str(why) == "\n".join(why.sentences)


def test_an_agent_may_ask_why(mesh):
    memory = mesh.add("the door is red")
    agent = mesh.view(channel=Channel.ASSISTANT)
    assert agent.explain(memory.id).memory.id == memory.id


def test_prompts_lists_what_entered_them_for_their_reader_alone(tmp_path):
    with MemoryMesh(tmp_path, embedder="none") as mesh:
        web, blog = (mesh.view(scope=Scope(project=name)) for name in ("web", "blog"))
        web.add("Deploys go out on Tuesdays", scope=Scope(project="web"))
        blog.add("Posts go out on Fridays", scope=Scope(project="blog"))
        made = [
            view.context(question).injection_id
            for view, question in ((web, "deploys"), (blog, "posts"), (web, "deploys on Tuesday"))
        ]
        assert [each.id for each in web.care.prompts()] == [made[2], made[0]]
        assert [each.id for each in web.care.prompts(limit=1, before=made[2])] == [made[0]]
        assert [each.id for each in blog.care.prompts()] == [made[1]]
        all_of_them = mesh.care.prompts(across=["project"])
        assert [each.id for each in all_of_them] == made[::-1]
        assert [len(each.memories) for each in all_of_them] == [1, 1, 1]
