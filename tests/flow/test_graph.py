"""neolata's face: store, search, trust, quarantine and conflicts under its names."""

import asyncio
import inspect
from datetime import UTC, datetime, timedelta

import pytest

from memory_mesh.compat import neolata as awaited
from memory_mesh.compat.neolata import memory_graph, translate
from memory_mesh.mesh import mesh as sync
from memory_mesh.model import Channel, Claim, Outcome, PredicateSchema, Resolution, Status
from memory_mesh.model.errors import InvalidInput, NotFound
from tests.receipts import id_of

USER = {"source": "user_explicit"}
SCHEMAS = {
    "budget": {"cardinality": "single", "conflictPolicy": "supersede", "normalize": "currency",
               "dedupPolicy": "corroborate"},
    "phone": {"cardinality": "multi"},
    "owner": {"conflictPolicy": "require_review"},
    "mood": {"conflictPolicy": "keep_both"},
    "visit": {"dedupPolicy": "store"},
    "city": {"normalize": "lowercase_trim"},
    "code": {"normalize": "trim"},
    "branch": {"normalize": "lowercase"},
}  # fmt: skip


@pytest.fixture
def graph(tmp_path, clock):
    with memory_graph.create_memory(
        db_dir=tmp_path / "graph", clock=clock, predicate_schemas=SCHEMAS
    ) as opened:
        yield opened


def claim(predicate, value, **details):
    return {"subject": "project x", "predicate": predicate, "value": value, **details}


def texts(hits):
    return [hit.memory for hit in hits]


def test_create_memory_hands_out_every_verb_blocking_and_awaited(tmp_path):
    verbs = {
        "store", "store_many", "search", "search_many", "list_quarantined", "review_quarantine",
        "reinforce", "dispute", "conflicts", "pending_conflicts", "resolve_conflict", "close",
    }  # fmt: skip
    blocking = memory_graph.create_memory(db_dir=tmp_path)
    faces = (blocking, awaited.create_memory(db_dir=tmp_path))
    assert isinstance(blocking, memory_graph.MemoryGraph)
    assert isinstance(faces[1], awaited.MemoryGraph)
    for name in verbs:
        signatures = [inspect.signature(getattr(type(face), name)) for face in faces]
        assert signatures[0] == signatures[1]
        assert inspect.iscoroutinefunction(getattr(faces[1], name))
    assert not (tmp_path / "default").exists()


def test_the_async_face_tells_the_same_story(tmp_path):
    async def story():
        async with awaited.create_memory(db_dir=tmp_path) as graph:
            stored = await graph.store("kuro", "The harbour opens at six", provenance=USER)
            many = await graph.store_many("kuro", ["The harbour closes at nine"])
            found = await graph.search("kuro", "harbour", explain=True)
            several = await graph.search_many("kuro", ["harbour", "closes"])
            await graph.reinforce(id_of(stored))
            return stored, many, found, several

    stored, many, found, several = asyncio.run(story())
    assert {hit.id for hit in found} == {stored.id, many[0].id}
    assert [len(each) for each in several] == [2, 1]


def test_a_batch_that_is_too_large_and_a_provenance_that_is_none_are_refused(graph):
    with pytest.raises(InvalidInput, match="3 items are too many: at most 2 at once"):
        translate.bounded("items", "abc", 2)
    assert translate.bounded("items", "ab", 2) == ["a", "b"]
    with pytest.raises(InvalidInput, match="provenance must be a mapping with source and sourceId"):
        graph.store_many("kuro", [{"text": "a green lamp", "provenance": "the manual"}])


@pytest.mark.req("R-003-002", "R-003-063")
def test_store_keeps_all_it_is_told(graph, clock):
    stored = graph.store(
        "kuro",
        "The budget is 5k",
        category="decision",
        importance=0.9,
        tags=["money", "q1"],
        event_time="2025-12-01T09:00:00Z",
        claim=claim("budget", "$5,000", validUntil="2026-06-01"),
        provenance={"source": "user_explicit", "sourceId": "mail 7"},
    )
    assert stored.outcome is Outcome.STORED
    (hit,) = graph.search("kuro", "budget")
    assert (hit.id, hit.agent, hit.memory) == (stored.id, "kuro", "The budget is 5k")
    assert (hit.category, hit.importance, hit.tags) == ("decision", 0.9, ("money", "q1"))
    assert hit.event_time == datetime(2025, 12, 1, 9, tzinfo=UTC)
    assert hit.claim == Claim(subject="project x", predicate="budget", value="$5,000")
    provenance = hit.provenance
    assert (provenance.source, provenance.source_id) == ("user_explicit", "mail 7")
    assert (provenance.corroboration, provenance.trust, hit.confidence) == (1, 1.0, 1.0)
    assert hit.created_at == hit.updated_at
    assert hit.created_at - clock.now() < timedelta(milliseconds=1)
    assert (hit.status, hit.quarantine) == (Status.ACTIVE, None)
    assert (hit.reinforcements, hit.disputes, hit.supersedes) == (0, 0, ())


def test_a_plain_store_has_neolatas_defaults(graph):
    graph.store("kuro", "a green lamp")
    (hit,) = graph.search("kuro", "lamp")
    assert (hit.category, hit.tags, hit.claim) == ("fact", (), None)
    assert (hit.provenance.source, hit.confidence) == ("inference", 0.5)
    assert hit.importance == 0.7  # in this face an inference weighs what its caller says


@pytest.mark.parametrize(
    ("agent", "text", "options"),
    [
        ("", "a", {}),
        (" ", "a", {}),
        ("a" * 65, "a", {}),
        ("a/b", "a", {}),
        ("a\n", "a", {}),
        ("a", "x" * 10_001, {}),
        ("a", "x", {"on_conflict": "shrug"}),
        ("a", "x", {"importance": 2}),
        ("a", "x", {"provenance": {"mood": "good"}}),
        ("a", "x", {"provenance": "me"}),
        ("a", "x", {"claim": {"subject": "s", "predicate": "p"}}),
        ("a", "x", {"claim": {"subject": "s", "predicate": "p", "value": "v", "scope": "odd"}}),
        ("a", "x", {"claim": {"subject": "s", "predicate": "p", "value": "v", "scope": "session"}}),
        ("a", "x", {"event_time": "yesterday"}),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_stored(graph, agent, text, options):
    with pytest.raises(InvalidInput):
        graph.store(agent, text, **options)
    assert graph.search(None, "x a") == []


def test_names_and_texts_up_to_the_limits_are_taken(graph):
    longest = ("word " * 2_000)[:10_000]
    assert graph.store("Agent-1_b. c" + "x" * 52, longest).outcome is Outcome.STORED


@pytest.mark.req("R-003-003", "R-003-044")
def test_a_weaker_claim_waits_and_keep_active_lets_it_stand_beside(graph):
    first = graph.store("a", "Budget 5k", claim=claim("budget", "$5000"), provenance=USER)
    waiting = graph.store("a", "Budget 9k", claim=claim("budget", "$9000"))
    assert waiting.outcome is Outcome.QUARANTINED
    assert texts(graph.search("a", "budget")) == ["Budget 5k"]
    (conflict,) = graph.pending_conflicts()
    assert (conflict.new, conflict.existing, conflict.id) == (
        waiting.id,
        first.id,
        waiting.conflicts[0],
    )
    beside = graph.store(
        "a", "Budget 7k", claim=claim("budget", "$7000"), on_conflict="keep_active"
    )
    assert beside.outcome is Outcome.STORED
    assert set(texts(graph.search("a", "budget"))) == {"Budget 5k", "Budget 7k"}
    assert len(graph.pending_conflicts()) == 2


@pytest.mark.req("R-003-034", "R-003-040", "R-003-045", "R-003-046", "R-003-047", "R-003-048",
                 "R-003-049")  # fmt: skip
def test_predicate_schemas_decide_what_a_second_value_does(graph):
    def twice(predicate, one, other, **details):
        said = [
            graph.store("a", f"{predicate} {number}", claim=claim(predicate, value), **details)
            for number, value in enumerate((one, other))
        ]
        return said[1].outcome.value, len(said[1].superseded), said[1].id == said[0].id

    assert twice("budget", "$5,000.00", "5000 USD") == ("merged", 0, True)
    assert twice("budget", "5001 usd", "$5,002") == ("stored", 1, False)
    assert twice("phone", "111", "222") == ("stored", 0, False)
    assert twice("owner", "Ann", "Bob") == ("quarantined", 0, False)
    assert twice("mood", "good", "bad") == ("stored", 0, False)
    assert twice("visit", "Rome", "Rome") == ("stored", 0, False)
    assert twice("city", " Rome", "ROME ") == ("merged", 0, True)
    assert twice("code", " A1", "A1 ") == ("merged", 0, True)
    assert twice("code", "a1", "A2") == ("stored", 1, False)
    assert twice("branch", "Main", "MAIN") == ("merged", 0, True)
    assert twice("unregistered", "a ", "a") == ("stored", 1, False)
    kept = [each for each in graph.conflicts() if each.resolution is Resolution.KEEP_BOTH]
    assert len(kept) == 1


def test_schemas_stay_with_the_store_and_a_wrong_one_is_named(tmp_path):
    money = PredicateSchema(normalize="currency")
    with memory_graph.create_memory(db_dir=tmp_path, predicate_schemas={"budget": money}):
        pass
    with sync.MemoryMesh(db_dir=tmp_path) as mesh:
        assert mesh.review.predicates() == {"budget": money}
        before = mesh.stats().seq
    with memory_graph.create_memory(db_dir=tmp_path, predicate_schemas={"budget": money}) as again:
        again.search("a", "x")
    with sync.MemoryMesh(db_dir=tmp_path) as mesh:
        assert mesh.stats().seq == before
    wrong = memory_graph.create_memory(
        db_dir=tmp_path, predicate_schemas={"x": {"cardinality": "few"}}
    )
    with pytest.raises(InvalidInput, match="few"):
        wrong.store("a", "x")
    wrong.close()


def test_predicates_of_the_configuration_hold_from_the_first_use(tmp_path):
    mesh = sync.MemoryMesh(db_dir=tmp_path, predicates={"phone": {"cardinality": "multi"}})
    for number in ("111", "222"):
        mesh.add(f"call {number}", claim=claim("phone", number))
    assert len(mesh.get_all()) == 2
    mesh.close()


@pytest.mark.req("R-003-039")
def test_a_session_and_everybody_do_not_contradict_each_other(graph):
    everybody = graph.store("a", "Port 8080", claim=claim("port", "8080"))
    one = graph.store("a", "Port 3000 today", claim=claim("port", "3000", sessionId="s1"))
    other = graph.store(
        "a", "Port 4000 here", claim=claim("port", "4000", scope="session", sessionId="s2")
    )
    again = graph.store("a", "Port 8081", claim=claim("port", "8081"))
    assert [each.superseded for each in (one, other)] == [(), ()]
    assert again.superseded == (everybody.id,)
    assert len(graph.search("a", "port", session_id="s1")) == 2


@pytest.mark.req("R-003-010")
def test_a_batch_goes_through_the_same_judgement_as_single_stores(graph):
    said = [
        "plain one",
        {"text": "Budget 5k", "category": "decision", "importance": 0.8, "tags": ["m"],
         "claim": claim("budget", "$5000"), "provenance": USER},
        {"text": "Budget 9k", "claim": claim("budget", "$9000")},
        {"text": "Budget 6k", "claim": claim("budget", "$6000"), "provenance": USER,
         "eventTime": "2025-01-01", "onConflict": "keep_active"},
        {"text": "plain one"},
    ]  # fmt: skip
    receipts = graph.store_many("a", said, embedding_batch_size=2)
    outcomes = [receipt.outcome.value for receipt in receipts]
    assert outcomes == ["stored", "stored", "quarantined", "stored", "merged"]
    assert receipts[3].superseded == (receipts[1].id,)
    (hit,) = graph.search("a", "budget")
    assert (hit.memory, hit.category, hit.agent) == ("Budget 6k", "fact", "a")
    before = len(graph.search("a", "plain", limit=100))
    with pytest.raises(InvalidInput):
        graph.store_many("a", ["plain two", {"text": "x", "mood": "good"}])
    for wrong in (["x"] * 1_001, [5], [{"category": "fact"}]):
        with pytest.raises(InvalidInput):
            graph.store_many("a", wrong)
    with pytest.raises(InvalidInput):
        graph.store_many("a", ["x"], embedding_batch_size=0)
    assert len(graph.search("a", "plain", limit=100)) == before


@pytest.mark.req("R-003-017", "R-003-018")
def test_reinforcing_raises_trust_and_importance(graph):
    stored = id_of(graph.store("a", "doors close at nine", importance=0.3))
    before = graph.search("a", "doors")[0]
    after = graph.reinforce(stored)
    assert after.reinforcements == 1
    assert after.importance == pytest.approx(0.4)
    assert after.confidence > before.confidence
    assert graph.reinforce(stored, 0.5).importance == pytest.approx(0.9)
    assert graph.reinforce(stored, boost=1).importance == 1
    for wrong in (-0.1, 1.1, True):
        with pytest.raises(InvalidInput):
            graph.reinforce(stored, wrong)
    with pytest.raises(NotFound):
        graph.reinforce("mem_1_abcdef")


@pytest.mark.req("R-003-019", "R-003-020", "R-003-022", "R-003-117")
def test_disputes_lead_to_review_and_a_review_ends_them(graph):
    stored = id_of(graph.store("a", "doors close at nine"))
    assert graph.dispute(stored, reason="not so").disputes == 1
    graph.dispute(stored)
    assert graph.list_quarantined() == []
    shaken = graph.dispute(stored, reason="no")
    assert (shaken.status, shaken.quarantine) == (Status.QUARANTINED, "disputed")
    other = id_of(graph.store("b", "doors are red", quarantine="sounds odd"))
    waiting = graph.list_quarantined()
    assert [(each.id, each.quarantine) for each in waiting] == [
        (other, "sounds odd"),
        (stored, "disputed"),
    ]
    assert [each.id for each in graph.list_quarantined(agent="a")] == [stored]
    assert [each.id for each in graph.list_quarantined(limit=1)] == [other]
    assert graph.review_quarantine(other, action="activate", reason="seen").status == "active"
    assert graph.review_quarantine(stored, action="reject", reason="no").status == "archived"
    assert texts(graph.search(None, "doors")) == ["doors are red"]
    assert graph.store("a", "Doors CLOSE at nine!").outcome is Outcome.REFUSED
    with pytest.raises(InvalidInput):
        graph.review_quarantine(other, action="activate")
    with pytest.raises(InvalidInput):
        graph.review_quarantine(other, action="maybe")


@pytest.mark.req("R-003-021")
def test_listing_shows_fifty_unless_told_otherwise(graph):
    graph.store_many("a", [{"text": f"doubt {n}", "quarantine": True} for n in range(60)])
    assert len(graph.list_quarantined()) == 50
    assert {each.quarantine for each in graph.list_quarantined(limit=60)} == {"manual"}


def test_why_something_waits_is_said_in_neolatas_words(graph):
    graph.store("a", "Ann owns it", claim=claim("owner", "Ann"))
    graph.store("a", "Bob owns it", claim=claim("owner", "Bob"), provenance=USER)
    graph.store("a", "Budget 5k", claim=claim("budget", "$5000"), provenance=USER)
    graph.store("a", "Budget 9k", claim=claim("budget", "$9000"))
    assert {each.memory: each.quarantine for each in graph.list_quarantined()} == {
        "Bob owns it": "predicate_requires_review",
        "Budget 9k": "trust_insufficient",
    }


@pytest.mark.parametrize(
    ("resolution", "shown"),
    [("supersede", ["Budget 9k"]), ("reject", ["Budget 5k"]),
     ("keep_both", ["Budget 5k", "Budget 9k"])],
)  # fmt: skip
def test_a_conflict_is_resolved_three_ways(graph, resolution, shown):
    graph.store("a", "Budget 5k", claim=claim("budget", "$5000"), provenance=USER)
    (conflict,) = graph.store("a", "Budget 9k", claim=claim("budget", "$9000")).conflicts
    done = graph.resolve_conflict(conflict, resolution, reason="asked")
    assert (done.resolution, done.why) == (resolution, "asked")
    assert sorted(texts(graph.search("a", "budget"))) == shown
    assert graph.pending_conflicts() == []
    with pytest.raises(InvalidInput):
        graph.resolve_conflict(conflict, resolution)
    with pytest.raises(InvalidInput):
        graph.resolve_conflict(conflict, "shrug")
    with pytest.raises(NotFound):
        graph.resolve_conflict("conflict_1", "reject")


def test_stated_provenance_is_lowered_to_the_channel_and_never_raised(tmp_path):
    with memory_graph.create_memory(db_dir=tmp_path, channel=Channel.WEB) as graph:
        graph.store("a", "the page says so", provenance=USER, importance=1.0)
        (hit,) = graph.search("a", "page")
        assert (hit.provenance.source, hit.importance) == ("document", 0.5)
        assert hit.confidence == pytest.approx(0.6)


def test_distinct_origins_corroborate_and_one_repeating_itself_does_not(graph):
    said = claim("city", "Rome")
    first = graph.store("a", "They live in Rome", claim=said, provenance={"sourceId": "mail 1"})
    for source in ("mail 1", "mail 2", "mail 2", "mail 3"):
        again = graph.store("a", f"Rome, by {source}", claim=said, provenance={"sourceId": source})
        assert (again.outcome, again.id) == (Outcome.MERGED, first.id)
    (hit,) = graph.search("a", "Rome")
    assert hit.provenance.corroboration == 3
    assert hit.confidence == pytest.approx(0.6)
