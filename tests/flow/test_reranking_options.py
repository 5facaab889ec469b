"""A reranker together with thresholds, which count the same, and with several views."""

import asyncio

import pytest

import memory_mesh
from memory_mesh.model.errors import InvalidInput
from memory_mesh.search.ranking.profiles import FURTHER_SHARE
from memory_mesh.sync import MemoryMesh

TEAS = ["hot tea with milk", "tea", "tea in the garden", "a garden without water"]
QUESTION = "hot tea with milk"


class Reversed:
    """Puts the hits in the opposite order, and remembers what it was asked."""

    def __init__(self):
        self.texts = []

    def rank(self, query, texts):
        self.texts.append(list(texts))
        return [float(place) for place, _ in enumerate(texts)]


@pytest.fixture
def reranker():
    return Reversed()


@pytest.fixture
def reranked(tmp_path, reranker, clock):
    with MemoryMesh(db_dir=tmp_path / "reranked", custom_reranker=reranker, clock=clock) as mesh:
        mesh.add_many([*TEAS, *(f"filler {number}" for number in range(20))])
        yield mesh


def contents(hits):
    return [hit.content for hit in hits]


def left_out(hits):
    how = hits.explanation
    return how.below, how.best_below, how.dissimilar, how.best_dissimilar


@pytest.mark.parametrize("limit", [1, 2, 10])
@pytest.mark.parametrize("profile", ["mesh", "rrf", "composite", "lane"])
def test_what_a_threshold_leaves_out_is_counted_as_without_a_reranker(reranked, profile, limit):
    asked = {"profile": profile, "min_similarity": 0.0, "limit": limit}
    every = reranked.search(QUESTION, rerank=False, min_relevance=0.0, **asked)
    scores = [hit.score for hit in every]
    for threshold in (*scores, 1.0):
        usual = reranked.search(QUESTION, rerank=False, min_relevance=threshold, **asked)
        hits = reranked.search(QUESTION, min_relevance=threshold, **asked)
        assert left_out(hits) == left_out(usual)
        assert len(hits) == len(usual)
    below = [score for score in scores if score < 1]
    assert left_out(hits)[:2] == (len(below), max(below))


def test_a_reranked_search_counts_and_orders_at_once(reranked):
    question = "hot tea in the garden"
    usual = reranked.search(question, rerank=False)
    worst = usual[-1].score
    kept = [hit for hit in usual if hit.score > worst]
    hits = reranked.search(question, min_relevance=(worst + 1e-9) / FURTHER_SHARE)
    assert contents(hits) == contents(kept)[::-1] != contents(kept)
    assert (hits.explanation.reranked, hits.explanation.below) == (
        len(kept),
        len(usual) - len(kept),
    )
    assert hits.explanation.best_below == worst


@pytest.mark.parametrize("profile", ["composite", "lane"])
def test_what_is_not_similar_enough_is_counted_as_without_a_reranker(
    tmp_path, reranker, real_embedder, clock, profile
):
    settings = {"custom_reranker": reranker, "custom_embedder": real_embedder, "clock": clock}
    with MemoryMesh(db_dir=tmp_path, **settings) as mesh:
        mesh.add_many(TEAS)
        asked = {"profile": profile, "min_similarity": 0.6, "limit": 3}
        usual = mesh.search(QUESTION, rerank=False, **asked)
        assert left_out(mesh.search(QUESTION, **asked)) == left_out(usual)
    assert usual.explanation.dissimilar > 0


def test_several_views_are_merged_by_score_and_no_reranker_is_asked(reranked, reranker):
    team = reranked.view(namespace="team")
    team.add_many(["hot tea for the team", "tea of the team"])
    plain = reranked.search(QUESTION, also=[team], rerank=False, min_relevance=0.0)
    hits = reranked.search(QUESTION, also=[team], min_relevance=0.0)
    assert list(hits) == list(plain)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert plain.explanation.note is None
    assert hits.explanation.note == "hits of several views are merged by score, without a reranker"
    assert (hits.explanation.reranked, reranker.texts) == (0, [])
    cut = reranked.search(QUESTION, also=[team], min_relevance=1.0)
    assert cut.explanation.below > 0
    asked = {"min_relevance": 0.0}
    found = contents(reranked.search(QUESTION, **asked))
    assert found != contents(reranked.search(QUESTION, rerank=False, **asked))


def test_the_reranker_of_another_store_is_not_asked_either(mesh, reranked, reranker):
    mesh.add("tea at home")
    assert mesh.search(QUESTION, also=[mesh.view(namespace="team")]).explanation.note is None
    hits = mesh.search(QUESTION, also=[reranked])
    assert hits.explanation.note is not None
    assert reranker.texts == []


def test_naming_both_is_refused(reranked, reranker):
    team = reranked.view(namespace="team")
    for asked in (True, reranker):
        with pytest.raises(InvalidInput, match="rerank and also cannot be combined"):
            reranked.search(QUESTION, also=[team], rerank=asked)
    assert contents(reranked.search(QUESTION, also=[], rerank=reranker, min_relevance=0))
    assert len(reranker.texts) == 1


def test_naming_both_is_refused_in_the_async_class(tmp_path, reranker):
    async def story() -> None:
        async with memory_mesh.MemoryMesh(db_dir=tmp_path, custom_reranker=reranker) as mesh:
            await mesh.add_many(TEAS)
            team = mesh.view(namespace="team")
            with pytest.raises(InvalidInput, match="rerank and also cannot be combined"):
                await mesh.search(QUESTION, also=[team], rerank=True)
            assert (await mesh.search(QUESTION, also=[team])).explanation.reranked == 0

    asyncio.run(story())
