"""Searching by neolata's face: statuses, times, sessions, agents and the weighted rank."""

import math
from array import array
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest

from memory_mesh.compat.neolata import memory_graph
from memory_mesh.model import Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.testing import FrozenClock
from tests.receipts import id_of

USER = {"source": "user_explicit"}


@pytest.fixture
def graph(tmp_path, clock):
    with memory_graph.create_memory(db_dir=tmp_path / "graph", clock=clock) as opened:
        yield opened


@pytest.fixture
def meaning(tmp_path, real_embedder):
    with memory_graph.create_memory(
        db_dir=tmp_path / "meaning", custom_embedder=real_embedder
    ) as opened:
        yield opened


def claim(predicate, value, **details):
    return {"subject": "project x", "predicate": predicate, "value": value, **details}


def texts(hits):
    return [hit.memory for hit in hits]


@pytest.mark.req("R-003-004", "R-003-008")
def test_a_session_sees_its_claims_and_they_stand_first(graph, clock):
    graph.store("a", "The port is 8080", claim=claim("port", "8080"), provenance=USER)
    clock.advance(timedelta(days=1))
    graph.store("a", "port 3000", claim=claim("port", "3000", sessionId="s1"))
    graph.store("a", "An unrelated port of Hamburg", provenance=USER)
    assert texts(graph.search("a", "the port is"))[0] == "The port is 8080"
    assert "port 3000" not in texts(graph.search("a", "the port is"))
    assert "port 3000" not in texts(graph.search("a", "the port is", session_id="s2"))
    seen = graph.search("a", "the port is", session_id="s1", explain=True)
    order = texts(seen)
    assert order.index("port 3000") < order.index("The port is 8080")
    assert [hit.explain.preferred for hit in seen if hit.memory == "port 3000"] == [True]
    assert texts(graph.search("a", "the port is", limit=1, session_id="s1")) == ["port 3000"]


@pytest.mark.req("R-003-005", "R-003-006", "R-003-004")
def test_statuses_are_shown_where_asked_for(graph):
    old = graph.store("a", "thing one", claim=claim("size", "1"), provenance=USER)
    graph.store("a", "thing two", claim=claim("size", "2"), provenance=USER)
    graph.store("a", "thing three", claim=claim("size", "3"))
    shaken = graph.store("a", "thing four", quarantine=False)
    rejected = id_of(graph.store("a", "thing five", quarantine=True))
    graph.review_quarantine(rejected, action="reject", reason="no")
    for _ in range(3):
        graph.dispute(id_of(shaken), reason="wrong")

    def found(**options):
        return sorted(
            hit.memory.removeprefix("thing ") for hit in graph.search("a", "thing", **options)
        )

    assert found() == ["two"]
    assert found(include_superseded=True) == ["one", "two"]
    assert found(include_quarantined=True) == ["four", "three", "two"]
    assert found(status_filter=["superseded"]) == ["one"]
    assert found(status_filter="quarantined") == ["four", "three"]
    assert found(include_all=True) == ["five", "four", "one", "three", "two"]
    (gone,) = graph.search("a", "thing", status_filter=[Status.SUPERSEDED])
    (now,) = graph.search("a", "thing")
    assert (gone.id, gone.superseded_by, now.supersedes) == (old.id, now.id, (old.id,))
    for wrong in (["deleted"], ["odd"]):
        with pytest.raises(InvalidInput):
            graph.search("a", "thing", status_filter=wrong)


@pytest.mark.req("R-003-004", "R-003-006")
def test_disputed_memories_are_shown_where_asked_for(tmp_path, clock):
    with memory_graph.create_memory(db_dir=tmp_path, clock=clock) as graph:
        shaky = id_of(graph.store("a", "a shaky thing"))
        graph.reinforce(shaky)
        clock.advance(timedelta(days=400))
        for _ in range(30):
            graph.dispute(shaky, reason="no")
        assert graph.search("a", "thing") == []
        (hit,) = graph.search("a", "thing", include_disputed=True)
        assert (hit.status, hit.disputes) == (Status.DISPUTED, 30)
        assert hit.confidence < 0.3


@pytest.mark.req("R-003-004", "R-003-007")
def test_before_and_after_go_by_when_it_happened_else_by_when_it_was_told(graph, clock):
    clock.set(datetime(2026, 3, 1, tzinfo=UTC))
    graph.store("a", "trip to Rome", event_time="2025-05-01T00:00:00Z")
    graph.store("a", "trip to Oslo", event_time="2025-07-01T00:00:00Z")
    graph.store("a", "trip to Bonn")

    def trips(**times):
        return sorted(hit.memory[8:] for hit in graph.search("a", "trip", **times))

    assert trips(before="2025-07-01T00:00:00Z") == ["Rome"]
    assert trips(after="2025-07-01T00:00:00Z") == ["Bonn", "Oslo"]
    assert trips(after="2025-05-02", before="2026-01-01") == ["Oslo"]
    assert trips(after=datetime(2026, 2, 1, tzinfo=UTC)) == ["Bonn"]
    assert trips() == ["Bonn", "Oslo", "Rome"]


def test_an_expired_claim_is_never_returned(graph, clock):
    graph.store("a", "the sale is on", claim=claim("sale", "on", validUntil="2026-02-01"))
    assert len(graph.search("a", "sale")) == 1
    clock.set(datetime(2026, 2, 2, tzinfo=UTC))
    assert graph.search("a", "sale", include_all=True) == []


def test_an_agent_sees_its_own_and_a_search_without_one_every_agents(tmp_path):
    with memory_graph.create_memory(db_dir=tmp_path, project="one") as graph:
        graph.store("a", "secret of a")
        graph.store("b", "secret of b")
        assert texts(graph.search("a", "secret")) == ["secret of a"]
        assert sorted(texts(graph.search(None, "secret"))) == ["secret of a", "secret of b"]
        assert graph.search("c", "secret", include_all=True) == []
    for project, namespace in (("two", None), (None, "other")):
        with memory_graph.create_memory(
            db_dir=tmp_path, project=project, namespace=namespace
        ) as graph:
            assert graph.search(None, "secret", include_all=True) == []
            assert graph.search("a", "secret") == []


@pytest.mark.req("R-003-011")
def test_many_questions_are_answered_in_the_order_asked(graph):
    graph.store_many("a", [f"fact about topic{number}" for number in range(30)])
    asked = [f"topic{number}" for number in range(30)]
    found = graph.search_many("a", asked, limit=1, rerank=False)
    assert [texts(each)[0].split()[-1] for each in found] == asked
    assert graph.search_many("a", []) == []
    with pytest.raises(InvalidInput):
        graph.search_many("a", ["x"] * 101)


@pytest.mark.req("R-003-011")
@pytest.mark.parametrize(
    "options",
    [
        {"limit": 1},
        {"min_similarity": 0.9},
        {"before": "2027-03-01T12:00:00Z"},
        {"after": "2027-03-01T12:00:00Z"},
        {"rerank": {"relevance": 0.0, "importance": 1.0}},
        {"include_all": True},
        {"status_filter": ["quarantined"]},
        {"include_superseded": True},
        {"include_disputed": True},
        {"include_quarantined": True},
        {"session_id": "s1"},
        {"explain": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_many_questions_are_answered_as_one_is_with_the_same_options(graph, clock, options):
    doubted = id_of(graph.store("a", "the fifth port"))
    graph.reinforce(doubted)
    clock.set(datetime(2027, 3, 1, tzinfo=UTC))
    for _ in range(30):
        graph.dispute(doubted, reason="no")
    graph.store("a", "a port of Hamburg", provenance=USER)
    graph.store("a", "port one", claim=claim("port", "1"), provenance=USER, importance="low")
    clock.advance(timedelta(days=1))
    graph.store("a", "the second port of two", claim=claim("port", "2"), provenance=USER)
    graph.store("a", "port three", claim=claim("port", "3"))
    graph.store("a", "port four", claim=claim("port", "4", sessionId="s1"), importance="high")
    (many,) = graph.search_many("a", ["port"], **options)
    one = graph.search("a", "port", **options)
    assert [(hit.id, hit.score, hit.explain) for hit in many] == [
        (hit.id, hit.score, hit.explain) for hit in one
    ]
    if "explain" not in options:
        (plain,) = graph.search_many("a", ["port"])
        assert [(hit.id, hit.score) for hit in many] != [(hit.id, hit.score) for hit in plain]


class _Together:
    """An embedder that answers a question only while another one is asked as well."""

    def __init__(self, embedder):
        self._embedder, self._both = embedder, Barrier(2, timeout=300)

    def embed(self, texts, *, query=False):
        if query:
            self._both.wait()
        return self._embedder.embed(texts, query=query)

    def close(self):
        """Nothing to release."""


@pytest.mark.req("R-003-011")
def test_many_questions_are_asked_at_the_same_time(tmp_path, real_embedder):
    together = _Together(real_embedder)
    with memory_graph.create_memory(db_dir=tmp_path, custom_embedder=together) as graph:
        graph.store("a", "The cat sleeps on the roof")
        graph.store("a", "Taxes are due in June")
        found = graph.search_many("a", ["a kitten", "money for the state"], limit=1)
    assert [texts(each) for each in found] == [
        ["The cat sleeps on the roof"], ["Taxes are due in June"],
    ]  # fmt: skip


@pytest.mark.req("R-003-059", "R-003-061", "R-003-062", "R-003-064", "R-003-114")
def test_the_rank_is_the_weighted_sum_of_four_parts(graph, clock):
    graph.store("a", "alpha beta", importance=0.4, provenance={"source": "document"})
    graph.store("a", "alpha gamma", claim=claim("x", "1"), provenance=USER)
    graph.store("a", "alpha delta", claim=claim("x", "2"), provenance=USER)
    clock.advance(timedelta(days=69))
    hits = graph.search("a", "alpha beta", explain=True)
    weights = {"relevance": 0.40, "confidence": 0.25, "recency": 0.20, "importance": 0.15}
    for hit in hits:
        parts = hit.explain.rerank
        assert hit.score == pytest.approx(sum(w * parts[name] for name, w in weights.items()))
        assert parts["confidence"] == hit.confidence
        assert parts["recency"] == pytest.approx(math.exp(-0.69))
        assert parts["importance"] == hit.importance
        assert parts["relevance"] == pytest.approx(hit.explain.retrieved["keyword"])
    assert hits.meta.weights == weights
    assert (hits.meta.returned, hits.meta.filtered_by_status) == (2, {"superseded": 1})
    assert hits.meta.found_by_keyword == 2
    trusting = graph.search("a", "alpha beta", rerank={"relevance": 0.0, "confidence": 1.0})
    assert texts(trusting)[0] == "alpha delta"
    plain = graph.search("a", "alpha beta", rerank=False, explain=True)
    assert texts(plain)[0] == "alpha beta"
    assert plain[0].score == pytest.approx(plain[0].explain.rerank["relevance"])
    assert graph.search("a", "alpha beta")[0].explain is None
    assert graph.search("a", "alpha beta").meta is None
    for wrong in ({"mood": 1.0}, {"recency": -1}, {"recency": math.nan}, {"recency": True}, 5):
        with pytest.raises(InvalidInput):
            graph.search("a", "alpha", rerank=wrong)
    with pytest.raises(InvalidInput):
        graph.search("a", "alpha", min_similarity=2)


@pytest.mark.req("R-003-004", "R-003-025")
def test_explain_tells_how_each_hit_was_found_and_ranked_and_counts_the_search(meaning):
    meaning.store("a", "The cat sleeps on the roof", claim=claim("cat", "roof"), provenance=USER)
    meaning.store("a", "The cat naps in the shed", claim=claim("cat", "shed"), provenance=USER)
    meaning.store("a", "The cat hides below", claim=claim("cat", "below"))
    meaning.store("a", "A kitten dozes", provenance=USER)
    assert meaning.search("a", "cat").meta is None
    hits = meaning.search("a", "cat", explain=True)
    found = {hit.memory: hit.explain for hit in hits}
    both, alike = found["The cat naps in the shed"], found["A kitten dozes"]
    assert both.retrieved["bm25"] > 0
    assert both.retrieved["cosine"] == pytest.approx(both.rerank["relevance"])
    assert alike.retrieved["cosine"] > 0
    assert "bm25" not in alike.retrieved
    for explained in (both, alike):
        names = {"relevance", "confidence", "recency", "importance", "score"}
        assert explained.rerank.keys() == names
    meta = hits.meta
    assert (meta.returned, meta.found_by_keyword, meta.found_by_vector) == (2, 1, 2)
    assert meta.filtered_by_status == {"superseded": 1, "quarantined": 1}
    assert meta.awaiting_vectors == 0


@pytest.mark.req("R-003-004", "R-003-060")
def test_relevance_is_the_cosine_of_the_vectors(tmp_path, real_embedder):
    with memory_graph.create_memory(db_dir=tmp_path, custom_embedder=real_embedder) as graph:
        text, query = "The cat sleeps on the warm roof", "a kitten naps"
        graph.store("a", text)
        graph.store("a", "Quarterly taxes are due in June")
        hits = graph.search("a", query, explain=True)
        vectors = [array("f", each[0]) for each in real_embedder.embed([text, query]).vectors]
        cosine = sum(x * y for x, y in zip(*vectors, strict=True))
        assert hits[0].memory == text
        assert hits[0].explain is not None
        assert hits[0].explain.rerank["relevance"] == pytest.approx(cosine, abs=1e-3)
        assert hits.meta is not None
        assert hits.meta.found_by_vector == 2
        near = graph.search("a", query, min_similarity=cosine - 0.05)
        assert texts(near) == [text]
        assert graph.search("a", query, min_similarity=cosine + 0.05) == []


def test_the_clock_of_trust_is_the_callers(tmp_path):
    clock = FrozenClock()
    with memory_graph.create_memory(db_dir=tmp_path, clock=clock) as graph:
        graph.store("a", "an old fact", provenance=USER)
        clock.advance(timedelta(days=365))
        assert graph.search("a", "fact")[0].confidence == pytest.approx(0.9)
