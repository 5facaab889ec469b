"""Why a memory stands where it stands in an answer, or the gate that kept it out of it."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from memory_mesh.model import Embedding, Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.why import Gate, Why
from memory_mesh.search.ranking.profiles import NAMES, RANKED
from memory_mesh.sync import MemoryMesh
from tests.embedding import real_embedder
from tests.receipts import id_of

NOWHERE = "mem_1_000000"


def adds_up(why: Why) -> bool:
    assert why.rank is not None
    return why.rank.base + sum(why.rank.shares.values()) == why.rank.margin


def told_alike(one: Why, other: Why) -> bool:
    return [said.replace(one.id, "X") for said in one.sentences] == [
        said.replace(other.id, "X") for said in other.sentences
    ]


def test_a_hit_has_its_place_its_score_and_shares_that_add_up(mesh):
    texts = [f"tea number {n} with milk" for n in range(5)]
    ids = {receipt.id for receipt in mesh.add_many([*texts, "green tea with honey", "coffee"])}
    hits = mesh.search("green tea", min_relevance=0)
    assert len(hits) == 6
    for place, hit in enumerate(hits, start=1):
        why = mesh.explain(hit.id, query="green tea", min_relevance=0)
        assert (why.gate, why.subject, why.id) == (None, "memory", hit.id)
        assert (why.rank.place, why.rank.score) == (place, hit.score)
        assert round(why.rank.margin, 4) == hit.parts["margin"]
        assert adds_up(why)
    assert ids
    first = mesh.explain(hits[0].id, query="green tea", min_relevance=0)
    assert "is hit 1 of 6" in first.sentences[0]


def test_shares_add_up_by_meaning_too_and_name_votes(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=real_embedder()) as mesh:
        mesh.add_many(["the cat sleeps on the sofa", "invoices are due in May", "dogs bark"])
        cat = mesh.search("where does the kitten rest?")[0]
        mesh.rate(cat.id, helpful=True)
        why = mesh.explain(cat.id, query="where does the kitten rest?")
    assert adds_up(why)
    assert why.rank is not None
    assert why.rank.shares["usefulness"] > 0
    assert why.rank.shares["line_cosine_mixed"] > 0
    assert why.found is not None
    assert why.found.space


@pytest.mark.parametrize("profile", NAMES)
def test_shares_of_every_profile_add_up_to_what_orders_it(mesh, profile):
    mesh.add("deploy on friday", triggers="deploy", importance="critical", tags=["code"])
    mesh.add_many(["deploy with care", "deploy twice", "never on sundays"])
    for hit in mesh.search("deploy on friday", profile=profile):
        why = mesh.explain(hit.id, query="deploy on friday", profile=profile)
        assert why.gate is None
        assert adds_up(why)
        assert why.rank.shares
        if profile != "mesh":
            assert why.rank.margin == pytest.approx(hit.score, abs=1e-11)


def test_what_a_trigger_calls_up_is_lifted_by_it(mesh):
    called = mesh.add("run the migrations first", triggers="deploy", importance="critical")
    found = mesh.add("deploy the service by hand", triggers="deploy", importance="critical")
    alone, both = (mesh.explain(each.id, query="deploy") for each in (called, found))
    assert (alone.rank.margin, alone.rank.lifts) == (0, {"trigger": 0.5})
    assert both.rank.lifts["trigger"] < 0.5
    assert adds_up(both)
    assert any("trigger" in said for said in alone.sentences)


def test_a_memory_out_of_sight_is_told_like_one_that_never_was(mesh):
    other = mesh.view(scope=Scope(project="other"))
    hidden = other.add("the door is red")
    elsewhere = mesh.view(namespace="elsewhere").add("the door is red")
    for id_ in (hidden.id, elsewhere.id, NOWHERE):
        why = mesh.explain(id_, query="door")
        assert why.gate is Gate.NAMESPACE
        assert told_alike(why, mesh.explain(NOWHERE, query="door"))
        assert (why.memory, why.rank, why.found) == (None, None, None)


def test_another_audience_is_the_gate_scope_for_who_may_look_there(mesh):
    other = mesh.view(scope=Scope(project="other"))
    hidden = other.add("the door is red")
    why = mesh.explain(hidden.id, query="door", see_across=("project",))
    assert why.gate is Gate.SCOPE
    assert "project other" in why.sentences[0]
    found = mesh.explain(hidden.id, query="door", see_across=["project"], across=["project"])
    assert found.gate is None
    assert mesh.explain(hidden.id, query="door", scope=Scope("other")).gate is Gate.NAMESPACE
    assert other.explain(hidden.id, query="door", scope=Scope("third")).gate is Gate.SCOPE
    assert other.explain(hidden.id, query="door").gate is None


@pytest.mark.parametrize("status", ["quarantined", "superseded", "archived", "deleted"])
def test_a_status_that_the_search_did_not_ask_for_is_the_gate(mesh, status):
    claim = {"subject": "door", "predicate": "colour"}
    memory = mesh.add("the door is red", claim={**claim, "value": "red"})
    if status == "quarantined":
        memory = mesh.add("the window is old", quarantine="unsure")
    elif status == "superseded":
        mesh.add("the door is blue", claim={**claim, "value": "blue"})
    elif status == "deleted":
        mesh.delete(memory.id)
    else:
        memory = mesh.add("the window is old", quarantine="unsure")
        mesh.review(memory.id, approve=False)
    why = mesh.explain(memory.id, query="door window")
    assert why.gate is Gate.STATUS
    assert status in why.sentences[0]
    assert mesh.explain(memory.id, query="door window", include=[status]).gate is None


def test_the_end_of_a_session_is_the_gate_status(mesh, clock):
    chat = mesh.view(scope=Scope(session="s1"))
    memory = chat.add("the door is red")
    clock.advance(timedelta(days=31))
    why = chat.explain(memory.id, query="door")
    assert why.gate is Gate.STATUS
    assert "expired" in why.sentences[0]
    assert chat.explain(memory.id, query="door", include=["expired"]).gate is None


def test_times_are_the_gate_validity(mesh, clock):
    start = clock.now()
    clock.advance(timedelta(days=1))
    over = mesh.add("the door was red", valid_until=start)
    soon = mesh.add("the door will be blue", valid_from=start + timedelta(days=9))
    plain = mesh.add("the door is green")
    assert mesh.explain(over.id, query="door").gate is Gate.VALIDITY
    assert mesh.explain(soon.id, query="door").gate is Gate.VALIDITY
    assert mesh.explain(plain.id, query="door", as_of=start).gate is Gate.VALIDITY
    later = start + timedelta(days=10)
    assert mesh.explain(soon.id, query="door", valid_at=later).gate is None
    assert "from 2026-01-10" in mesh.explain(soon.id, query="door").sentences[0]


def test_a_filter_that_does_not_hold_is_the_gate(mesh):
    memory = mesh.add("the door is red", tags=["house"])
    why = mesh.explain(memory.id, query="door", filter="tags = 'car'")
    assert why.gate is Gate.FILTER
    assert "tags = 'car'" in why.sentences[0]
    assert mesh.explain(memory.id, query="door", filter="tags = 'house'").gate is None


def test_what_no_leg_brought_up_is_no_candidate(mesh):
    memory = mesh.add("the door is red")
    mesh.add("trains run late")
    why = mesh.explain(memory.id, query="trains")
    assert (why.gate, why.rank) == (Gate.CANDIDATES, None)
    assert any("no word of the question" in said for said in why.sentences)


def test_a_candidate_below_the_limit_names_its_place(mesh):
    mesh.add_many([f"tea and cake number {n}" for n in range(4)])
    last = mesh.add("there is tea, coffee, bread, butter, jam, cheese, ham, and an egg")
    why = mesh.explain(last.id, query="tea and cake", limit=2, min_relevance=0)
    assert why.gate is Gate.LIMIT
    assert why.rank.place == 5
    assert adds_up(why)
    place = why.rank.place
    shown = mesh.explain(last.id, query="tea and cake", limit=place, min_relevance=0)
    assert (shown.gate, shown.rank.score) == (None, why.rank.score)


@pytest.mark.parametrize("profile", ["rrf", "composite", "lane", "points"])
def test_the_limit_is_a_gate_of_every_profile(mesh, profile):
    mesh.add_many(
        {"content": f"deploy step {n}", "triggers": "deploy", "importance": "critical"}
        for n in range(4)
    )
    hits = mesh.search("deploy step", profile=profile)
    last = hits[-1]
    why = mesh.explain(last.id, query="deploy step", profile=profile, limit=2)
    assert (why.gate, why.rank.place) == (Gate.LIMIT, len(hits))
    assert adds_up(why)


def test_a_score_below_the_threshold_is_a_gate(mesh):
    mesh.add_many([f"filler {n}" for n in range(20)])
    memory = mesh.add("tea is hot")
    why = mesh.explain(memory.id, query="hot tea with lemon and a biscuit", min_relevance=0.99)
    assert why.gate is Gate.THRESHOLD
    assert 0 < why.rank.score < why.rank.threshold
    lower = why.rank.score / 2
    shown = mesh.explain(memory.id, query="hot tea with lemon and a biscuit", min_relevance=lower)
    assert shown.gate is None


@pytest.mark.parametrize("profile", RANKED)
def test_too_little_similarity_is_the_gate_threshold(mesh, profile):
    memory = mesh.add("tea is hot, and so is soup, in most kitchens of the world")
    why = mesh.explain(memory.id, query="hot tea", profile=profile, min_similarity=0.999)
    assert why.gate is Gate.THRESHOLD
    assert why.rank.similarity < 0.999


def test_an_agents_rules_are_a_threshold_of_the_profile_points(mesh):
    memory = mesh.add("deploy by hand", triggers="deploy", importance="critical")
    for _ in range(2):
        mesh.rate(memory.id, helpful=False)
    assert mesh.search("deploy", profile="points") == []
    assert mesh.explain(memory.id, query="deploy", profile="points").gate is Gate.THRESHOLD
    other = mesh.add("write tests", triggers="testing")
    assert mesh.explain(other.id, query="deploy", profile="points").gate is Gate.CANDIDATES


def test_a_newer_statement_that_takes_the_place_is_the_gate_older(mesh, clock):
    old = mesh.add("The default branch is master")
    clock.advance(timedelta(days=1))
    new = mesh.add("The default branch is now main")
    assert new.newer_than == (old.id,)
    question = "master"
    assert [hit.id for hit in mesh.search(question, limit=1)] == [new.id]
    why = mesh.explain(old.id, query=question, limit=1)
    assert why.gate is Gate.OLDER
    assert new.id in why.sentences[0]
    assert mesh.explain(old.id, query=question, limit=2).gate is None
    brought = mesh.explain(new.id, query=question, limit=1)
    assert (brought.gate, brought.rank.place) == (None, 1)


def test_explaining_leaves_no_record_no_use_and_no_cached_answer(mesh):
    memory = mesh.add("the door is red")
    before, cached = mesh.care.recalls(), mesh.get_cache_stats()
    mesh.explain(memory.id, query="door")
    mesh.explain(memory.id)
    assert (mesh.care.recalls(), mesh.get_cache_stats()) == (before, cached)
    assert mesh.get(memory.id).uses == 0


def test_a_reranker_decides_on_the_place(tmp_path, clock):
    class Longest:
        """Prefers long texts."""

        def rank(self, query: str, texts: Sequence[str]) -> list[float]:
            return [float(len(text)) for text in texts]

    texts = ["tea", "tea and milk", "tea, milk and honey", "tea, milk, honey and a biscuit"]
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_reranker=Longest()) as mesh:
        mesh.add_many(texts)
        hits = mesh.search("tea")
        assert [hit.content for hit in hits] == texts[::-1]
        for place, hit in enumerate(hits, start=1):
            why = mesh.explain(hit.id, query="tea")
            assert why.rank is not None
            assert (why.gate, why.rank.place, why.rank.score) == (None, place, hit.score)
            assert adds_up(why)
        cut = mesh.explain(hits[3].id, query="tea", limit=2)
    assert cut.gate is Gate.LIMIT
    assert "others were moved above it" in cut.sentences[0]


def test_the_model_is_asked_once(tmp_path, clock):
    asked: list[str] = []

    class Counting:
        """Counts the questions that the model is asked."""

        def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
            asked.extend(texts if query else ())
            return real_embedder().embed(texts, query=query)

        def close(self) -> None:
            """Keep the model: others use it."""

    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=Counting()) as mesh:
        memory = mesh.add("the door is red")
        mesh.explain(id_of(memory), query="which colour?")
        mesh.explain(NOWHERE, query="which colour?")
    assert asked == ["which colour?"]


def test_a_wrong_option_is_refused_whoever_asks(mesh):
    for id_ in (mesh.add("the door is red").id, NOWHERE):
        with pytest.raises(InvalidInput, match="no profile"):
            mesh.explain(id_, query="door", profile="best")
        with pytest.raises(InvalidInput, match="limit"):
            mesh.explain(id_, query="door", limit=0)
