"""A reranker changes the order of what was found anyway, within its budget, and breaks nothing."""

import asyncio
import json
import logging
from contextlib import contextmanager
from typing import Any

import pytest

import memory_mesh
from memory_mesh.model import Scope
from memory_mesh.model.errors import EmbeddingError, InvalidInput
from memory_mesh.search.ranking.profiles import FURTHER_SHARE
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of
from tests.rerankers import route, sent, shaped
from tests.servers import Reply, serve
from tests.until import until

TEAS = ["green tea is hot", "iced tea", "black tea with milk", "tea"]
QUESTION = "hot tea"


class ByNumber:
    """Prefers texts with a higher number in them, and remembers what it was asked."""

    def __init__(self):
        self.queries, self.texts = [], []

    def rank(self, query, texts):
        self.queries.append(query)
        self.texts.append(list(texts))
        return [float("".join(filter(str.isdecimal, text)) or 0) for text in texts]


@contextmanager
def reranked(folder, answer, **settings: Any):
    """A mesh whose reranker is a real server that answers so."""
    stated: dict[str, Any] = {"reranker": "http", "reranker_timeout": 30} | settings
    with (
        serve(answer) as server,
        MemoryMesh(db_dir=folder, settings={"reranker_base_url": server.url}, **stated) as mesh,
    ):
        yield mesh, server


def contents(hits):
    return [hit.content for hit in hits]


def usual(mesh, question=QUESTION, **options):
    return contents(mesh.search(question, rerank=False, **options))


@pytest.mark.parametrize("shape", ["results", "rows"])
@pytest.mark.parametrize("provider", ["http", "tei"])
def test_the_order_is_what_the_server_says_and_the_score_stays_ours(tmp_path, provider, shape):
    with reranked(tmp_path, route(len, shape=shape), reranker=provider) as (mesh, server):
        mesh.add_many(TEAS)
        before = mesh.search(QUESTION, rerank=False)
        assert not server.requests
        hits = mesh.search(QUESTION)
    assert contents(hits) == sorted(TEAS, key=len, reverse=True)
    assert contents(hits) != contents(before)
    assert {hit.id: hit.score for hit in hits} == {hit.id: hit.score for hit in before}
    assert [hit.parts["rerank"] for hit in hits] == [len(hit.content) for hit in hits]
    assert all("rerank" not in hit.parts for hit in before)
    assert (hits.explanation.reranked, hits.explanation.note) == (4, None)
    assert before.explanation.reranked == 0


def test_it_reaches_hits_beyond_the_limit(tmp_path):
    with reranked(tmp_path, route(lambda text: float(text == "tea 7"))) as (mesh, server):
        mesh.add_many([f"tea {number}" for number in range(30)])
        assert "tea 7" not in usual(mesh, "tea", limit=2)
        hits = mesh.search("tea", limit=2)
    assert contents(hits)[0] == "tea 7"
    assert (len(hits), len(sent(server.requests[0]))) == (2, 30)
    assert hits.explanation.reranked == 30


@pytest.mark.parametrize("profile", ["mesh", "rrf", "composite", "lane"])
def test_the_budget_is_kept_to_the_text_and_the_character(tmp_path, profile):
    settings = {"reranker_candidates": 7, "reranker_chars": 12}
    with reranked(tmp_path, route(len), **settings) as (mesh, server):
        mesh.add_many([f"tea number {number:02}" for number in range(30)])
        mesh.search("tea", limit=20, profile=profile)
        first = usual(mesh, "tea", limit=20, profile=profile)
    (request,) = server.requests
    assert sent(request) == [text[:12] for text in first[:7]]
    assert json.loads(request.body)["top_n"] == 7


def test_hits_beyond_the_budget_stay_below_in_their_own_order(tmp_path):
    reranker = ByNumber()
    with MemoryMesh(
        db_dir=tmp_path, custom_reranker=reranker, settings={"reranker_candidates": 3}
    ) as mesh:
        mesh.add_many([f"tea {number}" for number in range(8)])
        before, after = usual(mesh, "tea"), contents(mesh.search("tea"))
    assert after[:3] == sorted(before[:3], reverse=True)
    assert after[3:] == before[3:]


def test_of_a_long_text_the_best_part_is_sent(tmp_path):
    filler = "The weather report of that day says nothing. " * 60
    text = f"Tomatoes want sun. {filler}\n\nBread needs flour and a night. {filler}"
    settings = {"reranker_chars": 100}
    with reranked(tmp_path, route(len), **settings) as (mesh, server):
        mesh.add_many([text, "flour is white"])
        mesh.search("flour for bread")
    texts = sent(server.requests[0])
    assert sorted(len(text) for text in texts) == [14, 100]
    assert any(text.startswith("Bread needs flour") for text in texts)


def test_fewer_results_than_texts_stand_above_the_others(tmp_path):
    body = json.dumps(shaped([(3, 0.9), (2, 0.8)])).encode()
    with reranked(tmp_path, lambda _: Reply(body)) as (mesh, _):
        mesh.add_many(TEAS)
        before = usual(mesh)
        hits = mesh.search(QUESTION)
    assert contents(hits) == [before[3], before[2], before[0], before[1]]
    assert hits.explanation.reranked == 2


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=500), "answered 500"),
        (Reply(b"<html>"), "not JSON"),
        (Reply(b"{}"), "not understood"),
        (Reply(b"[]"), "no score for 4 texts"),
        (Reply(json.dumps(shaped([(0, 1), (9, 2)])).encode()), "not understood"),
    ],
)
def test_one_that_fails_leaves_the_order_and_says_so(tmp_path, reply, reason):
    with reranked(tmp_path, lambda _: reply) as (mesh, server):
        mesh.add_many(TEAS)
        before = mesh.search(QUESTION, rerank=False)
        for _ in range(2):  # a failure is not cached: the next search asks again
            hits = mesh.search(QUESTION)
            assert list(hits) == list(before)
            assert reason in hits.explanation.note
            assert "the hits are in their usual order" in hits.explanation.note
            assert hits.explanation.reranked == 0
    assert len(server.requests) == 2


@pytest.mark.parametrize("profile", ["mesh", "rrf", "composite", "lane"])
def test_one_that_fails_leaves_the_scores_of_every_profile(tmp_path, profile, clock, real_embedder):
    settings = {"custom_embedder": real_embedder, "clock": clock}
    with reranked(tmp_path, lambda _: Reply(status=500), **settings) as (mesh, _):
        mesh.add_many([f"tea {number} for {'cold ' * number}days" for number in range(12)])
        options = {"profile": profile, "limit": 3}
        before = mesh.search("tea for cold days", rerank=False, **options)
        assert list(mesh.search("tea for cold days", **options)) == list(before)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_one_that_fails_leaves_what_stands_above_what_as_well(tmp_path, limit):
    """The narrower of two contradictions goes first if both are hits, not if one is a candidate."""
    project = Scope(project="p")
    about = {"subject": "api", "predicate": "timeout"}
    with reranked(tmp_path, lambda _: Reply(status=500)) as (mesh, _):
        mesh.add("the API timeout is long: 30", claim={**about, "value": "30"})
        mesh.add("the API timeout matters")
        mesh.add("timeout here: 60", claim={**about, "value": "60"}, scope=project)
        asked = {"scope": project, "limit": limit, "min_relevance": 0}
        before = mesh.search("long API timeout", rerank=False, **asked)
        hits = mesh.search("long API timeout", **asked)
    assert list(hits) == list(before)
    assert contents(hits)[0].startswith("timeout here" if limit == 3 else "the API timeout is")


def test_one_that_is_slow_is_given_up_and_not_asked_for_a_while(tmp_path):
    with reranked(tmp_path, lambda _: Reply(b"{}", wait=60), reranker_timeout=0.1) as (
        mesh,
        server,
    ):
        mesh.add_many(TEAS)
        before = usual(mesh)
        first, second = mesh.search(QUESTION), mesh.search(QUESTION)
        assert contents(first) == contents(second) == before
        until(lambda: server.requests)
    assert "the reranker fails" in first.explanation.note
    assert "asked again in" in second.explanation.note
    assert len(server.requests) == 1


def test_a_failing_one_is_told_once(tmp_path, caplog, monkeypatch):
    with reranked(tmp_path, lambda _: Reply(status=503)) as (mesh, _):
        mesh.add_many(TEAS)
        mesh.search(QUESTION)
        mesh.search(QUESTION)
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "answered 503" in warning.getMessage()
    assert "Searches answer in their usual order" in warning.getMessage()


def test_a_failing_embedder_and_a_failing_reranker_are_both_said(tmp_path):
    class Broken:
        def embed(self, texts, *, query=False):
            raise EmbeddingError("the model file is missing")

        def close(self):
            pass

    answer = lambda _: Reply(status=500)  # noqa: E731
    with reranked(tmp_path, answer, custom_embedder=Broken()) as (mesh, _):
        mesh.add_many(TEAS)
        note = mesh.search(QUESTION).explanation.note
    assert "the model file is missing" in note
    assert "the reranker fails" in note


def test_it_sees_only_what_the_reader_may_see(tmp_path):
    reranker = ByNumber()
    with MemoryMesh(db_dir=tmp_path, custom_reranker=reranker) as mesh:
        mesh.add_many(["tea 1", "tea 2", {"content": "tea 3", "tags": ["mine"]}])
        mesh.add("tea 4 of another project", scope=Scope(project="other"))
        mesh.add("tea 5 of another session", scope=Scope(session="other"))
        mesh.add("tea 6 that waits", quarantine="not sure")
        mesh.delete(id_of(mesh.add("tea 7 that is gone")))
        mesh.for_user("ana").add("tea 8 of ana")
        mesh.view(namespace="other").add("tea 9 elsewhere")
        mesh.search("tea")
        assert sorted(reranker.texts[-1]) == ["tea 1", "tea 2", "tea 3"]
        mesh.search("tea", filter="tags != 'mine'")
        assert sorted(reranker.texts[-1]) == ["tea 1", "tea 2"]
        mesh.search("tea", scope=Scope(project="other"))
        assert "tea 4 of another project" in reranker.texts[-1]


def test_question_and_texts_are_redacted_before_they_leave(tmp_path):
    with reranked(tmp_path, route(len)) as (mesh, server):
        mesh.add_many(["ana@example.org drinks tea", "tea for everybody"])
        mesh.search("tea of ana@example.org", min_relevance=0)
    (request,) = server.requests
    assert b"example.org" not in request.body
    assert "EMAIL" in json.loads(request.body)["query"]


def test_what_is_below_the_threshold_is_not_sent(tmp_path):
    reranker = ByNumber()
    with MemoryMesh(db_dir=tmp_path, custom_reranker=reranker) as mesh:
        mesh.add_many(["green tea is hot 1", "hot tea 2", "green stones 3"])
        best, second, worst = mesh.search("hot green tea", rerank=False, min_relevance=0)
        hits = mesh.search("hot green tea", min_relevance=(worst.score + 1e-6) / FURTHER_SHARE)
        assert reranker.texts == [[best.content, second.content]]
        assert worst.content not in contents(hits)
        assert not mesh.search("hot green tea", min_relevance=best.score + 1e-6)
    assert len(reranker.texts) == 1  # nothing reaches it: nothing is sent


def test_a_newer_statement_still_stands_above_the_older(tmp_path):
    old, new = "The API timeout is 30 seconds", "The API timeout was raised to 60 seconds"
    with reranked(tmp_path, route(lambda text: float(text == old))) as (mesh, _):
        mesh.add(old)
        newer = id_of(mesh.add(new))
        mesh.add("API keys are rotated")
        hits = mesh.search("What is the API timeout?")
    assert contents(hits)[:2] == [new, old]
    assert hits[1].newer == newer
    assert hits[1].parts["rerank"] == 1


def test_the_cache_keeps_answers_with_and_without_apart(tmp_path):
    with reranked(tmp_path, route(len)) as (mesh, server):
        mesh.add_many(TEAS)
        asked = {"min_relevance": 0}
        first = mesh.search(QUESTION, **asked)
        assert contents(first) != usual(mesh, **asked)
        again = mesh.search(QUESTION, **asked)
        assert (list(again), again.explanation) == (list(first), first.explanation)
        assert usual(mesh) == usual(mesh, use_cache=False)
        assert len(server.requests) == 1
        mesh.search(QUESTION, use_cache=False, **asked)
        mesh.add("one more tea")
        mesh.search(QUESTION, **asked)
        assert len(server.requests) == 3


def test_answers_of_an_object_that_one_search_brings_are_not_cached(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add_many([f"tea {number}" for number in range(5)])
        before = usual(mesh, "tea")
        one, two = ByNumber(), ByNumber()
        found = [contents(mesh.search("tea", rerank=each)) for each in (one, one, two)]
        assert found == [sorted(before, reverse=True)] * 3
        assert (len(one.texts), len(two.texts)) == (2, 1)
        assert contents(mesh.search("tea")) == before


def test_an_object_that_fails_leaves_the_order(mesh):
    class Broken:
        def rank(self, query, texts):
            raise RuntimeError("out of memory")

    mesh.add_many(TEAS)
    hits = mesh.search(QUESTION, rerank=Broken())
    assert contents(hits) == usual(mesh)
    assert "RuntimeError: out of memory" in hits.explanation.note


def test_ties_keep_our_order(mesh):
    class Equal:
        def rank(self, query, texts):
            return [0.5] * len(texts)

    mesh.add_many(TEAS)
    assert contents(mesh.search(QUESTION, rerank=Equal())) == usual(mesh)


def test_it_is_asked_outside_the_read_transaction(mesh):
    """A write of the reranker's own is seen by the next read, and the search ends as it began."""

    class Writes:
        def rank(self, query, texts):
            mesh.add("tea that came meanwhile")
            assert len(mesh.search("tea", rerank=False, use_cache=False)) == len(texts) + 1
            return [1.0] * len(texts)

    mesh.add_many(TEAS)
    hits = mesh.search("tea", rerank=Writes())
    assert hits.explanation.note is None
    assert "tea that came meanwhile" not in contents(hits)


@pytest.mark.parametrize("question", ["", "  ", "unheard"])
def test_it_is_not_asked_where_there_is_nothing_to_order(mesh, question):
    reranker = ByNumber()
    mesh.add_many(["tea 1", "tea 2", "unheard of"])
    assert mesh.search(question, rerank=reranker).explanation.note is None
    assert reranker.texts == []


def test_without_one_rerank_true_says_what_to_set(mesh):
    mesh.add_many(TEAS)
    assert contents(mesh.search(QUESTION)) == usual(mesh)
    with pytest.raises(InvalidInput, match="MEMORY_MESH_RERANKER"):
        mesh.search(QUESTION, rerank=True)
    with pytest.raises(InvalidInput, match=r"rank\(query, texts\)"):
        mesh.search(QUESTION, rerank="cohere")


def test_every_script_is_ordered(tmp_path):
    texts = ["お茶は熱い", "お茶は熱いです、はい", "お茶"]
    with reranked(tmp_path, route(len)) as (mesh, server):
        mesh.add_many(texts)
        hits = mesh.search("お茶")
    assert contents(hits) == sorted(texts, key=len, reverse=True)
    assert sorted(sent(server.requests[0])) == sorted(texts)


def test_a_view_and_a_mesh_with_vectors_rerank_too(tmp_path, real_embedder):
    with reranked(tmp_path, route(len), custom_embedder=real_embedder) as (mesh, server):
        user = mesh.for_user("ana")
        user.add_many(TEAS)
        hits = user.search("something warm to drink")
        assert contents(hits) == sorted(TEAS, key=len, reverse=True)
        assert contents(user.search("something warm to drink")) == contents(hits)
    assert len(server.requests) == 1


def test_the_async_class_takes_the_same_options(tmp_path):
    async def story(url: str) -> None:
        async with memory_mesh.MemoryMesh(
            db_dir=tmp_path,
            reranker="http",
            settings={"reranker_base_url": url, "reranker_timeout": 30},
        ) as mesh:
            await mesh.add_many(TEAS)
            assert contents(await mesh.search(QUESTION)) == sorted(TEAS, key=len, reverse=True)
            assert (await mesh.search(QUESTION, rerank=False)).explanation.reranked == 0
            assert (await mesh.search(QUESTION, rerank=ByNumber())).explanation.reranked == 4

    with serve(route(len)) as server:
        asyncio.run(story(server.url))
