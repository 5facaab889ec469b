"""A search that a threshold cut says how many hits it left out and the best score of them."""

import pytest

from memory_mesh.model import Scope
from memory_mesh.search.ranking.profiles import FURTHER_SHARE, MIN_RELEVANCE
from memory_mesh.sync import MemoryMesh

TEA = ["hot tea with milk", "tea", "tea in the garden", "a garden without water"]


@pytest.fixture
def teas(mesh):
    mesh.add_many([*TEA, *(f"filler {number}" for number in range(20))])
    return mesh


def cut(hits):
    return hits.explanation.below, hits.explanation.best_below


def split(profile, scores, least):
    """The scores that a threshold keeps and those it leaves out."""
    if profile == "mesh" and scores[0] >= least:
        least *= FURTHER_SHARE
    return [score for score in scores if score >= least], [
        score for score in scores if score < least
    ]


@pytest.mark.parametrize("profile", ["mesh", "rrf", "composite", "lane"])
def test_what_the_threshold_leaves_out_is_counted_in_every_profile(teas, profile):
    asked = {"profile": profile, "min_similarity": 0.0}
    every = teas.search("hot tea with milk", min_relevance=0.0, **asked)
    scores = [hit.score for hit in every]
    assert len(scores) == 3
    assert cut(every) == (0, None)
    for least in (*scores, *(min(1.0, score / FURTHER_SHARE) for score in scores), 1.0):
        hits = teas.search("hot tea with milk", min_relevance=least, **asked)
        kept, left = split(profile, scores, least)
        assert [hit.score for hit in hits] == kept
        assert cut(hits) == (len(left), max(left, default=None))


def test_below_a_best_hit_that_reaches_it_a_tenth_of_the_threshold_is_enough(teas):
    scores = [hit.score for hit in teas.search("tea")]
    assert scores[0] > scores[1] > scores[2] > scores[0] * FURTHER_SHARE
    hits = teas.search("tea", min_relevance=scores[0])
    assert [hit.score for hit in hits] == scores
    assert cut(hits) == (0, None)


def test_below_a_tenth_of_the_threshold_a_further_hit_is_left_out(teas):
    best, *others = [hit.score for hit in teas.search("hot tea with milk", min_relevance=0)]
    assert 0 < max(others) < best * FURTHER_SHARE
    hits = teas.search("hot tea with milk", min_relevance=best)
    assert [hit.score for hit in hits] == [best]
    assert cut(hits) == (len(others), max(others))


def test_a_best_hit_that_misses_the_threshold_brings_nothing_with_it(teas):
    scores = [hit.score for hit in teas.search("hot tea with milk", min_relevance=0)]
    hits = teas.search("hot tea with milk", min_relevance=scores[0] + 1e-6)
    assert list(hits) == []
    assert cut(hits) == (len(scores), scores[0])


@pytest.mark.parametrize("profile", ["rrf", "composite", "lane"])
def test_in_other_profiles_every_hit_needs_the_whole_threshold(teas, profile):
    asked = {"profile": profile, "min_similarity": 0.0}
    scores = [hit.score for hit in teas.search("hot tea with milk", **asked)]
    assert scores[0] > scores[1] >= scores[0] * FURTHER_SHARE  # in profile mesh it would be shown
    assert len(teas.search("hot tea with milk", min_relevance=scores[0], **asked)) == 1


def test_the_default_threshold_lets_an_answer_through_and_nothing_for_no_answer(
    tmp_path, real_embedder
):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=real_embedder) as mesh:
        mesh.add_many(
            [
                "The staging database runs on port 5433",
                "Ann prefers green tea in the morning",
                "The deploy script needs Python 3.12",
                "Bob moved to Lisbon in March",
            ]
        )
        found = mesh.search("Which port does the staging database use?")
        assert found[0].memory.text == "The staging database runs on port 5433"
        for nothing in ("Who won the chess tournament?", "unrelated quantum physics"):
            hits = mesh.search(nothing)
            assert (list(hits), hits.explanation.below) == ([], 4)
            assert (hits.explanation.best_below or 1) < MIN_RELEVANCE
            assert len(mesh.search(nothing, min_relevance=0)) == 4


def test_only_the_first_hits_are_counted(teas):
    best = teas.search("tea")[0].score
    assert cut(teas.search("tea", limit=2, min_relevance=1.0)) == (2, best)
    assert cut(teas.search("zebra", min_relevance=1.0)) == (0, None)


def test_what_the_reader_may_not_see_is_not_counted(teas):
    teas.add("tea of a project", scope=Scope(project="p"))
    teas.add("tea to be reviewed", quarantine="looks odd")
    deleted = teas.add("tea that is gone").id
    seen = teas.search("tea", min_relevance=1.0).explanation.below
    teas.delete(deleted)
    assert teas.search("tea", min_relevance=1.0).explanation.below == seen - 1 == 3
    reader = teas.view(scope=Scope(project="p"))
    assert reader.search("tea", min_relevance=1.0).explanation.below == 4


def test_an_answer_from_the_cache_says_it_too(teas):
    first = teas.search("tea", min_relevance=1.0)
    again = teas.search("tea", min_relevance=1.0)
    assert teas.get_cache_stats().hits == 1
    assert cut(again) == cut(first) != (0, None)
    assert isinstance(again, list)


def test_a_newer_statement_below_the_threshold_that_is_shown_is_not_counted(teas):
    older = teas.add("My favourite editor is vim").id
    newer = teas.add("My favourite editor is now emacs")
    assert newer.newer_than == (older,)
    hits = teas.search("which vim editor", min_relevance=0.5)
    assert [hit.id for hit in hits] == [newer.id, older]
    assert hits[0].parts == {}  # its own score is below: it was added for the older one
    assert cut(hits) == (0, None)


@pytest.mark.parametrize("profile", ["composite", "lane"])
def test_what_is_not_similar_enough_is_counted_for_the_profiles_that_ask_it(teas, profile):
    every = teas.search("hot tea with milk", profile=profile, min_similarity=0.0)
    assert every.explanation.dissimilar == 0
    assert every.explanation.best_dissimilar is None
    similar = sorted((hit.parts["keyword"] for hit in every), reverse=True)
    hits = teas.search("hot tea with milk", profile=profile, min_similarity=similar[0])
    assert len(hits) == 1
    how = hits.explanation
    assert (how.dissimilar, how.best_dissimilar) == (len(every) - 1, similar[1])


def test_the_threshold_of_lane_itself_is_counted(tmp_path, real_embedder):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=real_embedder) as mesh:
        mesh.add_many(["The user likes tea", "Ticket 4711 is closed"])
        how = mesh.search("a hot drink", profile="lane").explanation
        assert how.dissimilar == 1
        assert how.best_dissimilar is not None
        assert 0 <= how.best_dissimilar < 0.2
