import heapq
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from memory_mesh.model import Lens, Match, Matches, Memory, Near, Query
from memory_mesh.search.ranking.fusion import Legs, distance_similarity, fuse, rank
from memory_mesh.search.ranking.profiles import (
    COMPOSITE_WEIGHTS,
    LARGE_LEG_DEPTH,
    LARGE_STORE_WRITES,
    LEG_DEPTH,
    RANKED,
    RERANK_DEPTH,
    named,
)


def legs(keyword=(), vector=(), ceiling=10.0):
    return Legs(
        Matches(tuple(Match(version, bm25) for version, bm25 in keyword), ceiling),
        tuple(Near(version, cosine) for version, cosine in vector),
    )


def order(fused):
    return [candidate.version for candidate in fused]


@pytest.mark.req("R-000-165", "R-000-249", "R-000-015")
def test_rrf_adds_one_over_60_plus_rank_plus_1_for_each_list():
    fused = fuse(named("rrf"), legs([(1, 9.0), (2, 5.0)], [(2, 0.9), (3, 0.5)]), 10)
    scores = {candidate.version: candidate.score * 2 / 61 for candidate in fused}
    assert order(fused) == [2, 1, 3]
    assert scores[2] == pytest.approx(1 / 62 + 1 / 61)
    assert scores[1] == pytest.approx(1 / 61)
    assert scores[3] == pytest.approx(1 / 62)


@pytest.mark.req("R-000-145", "R-000-272")
def test_first_in_both_lists_is_1():
    (first, *_) = fuse(named("rrf"), legs([(1, 9.0), (2, 5.0)], [(1, 0.9), (2, 0.5)]), 10)
    assert first.score == pytest.approx(1.0)
    assert first.parts["rrf_keyword"] == first.parts["rrf_vector"] == 1 / 61


@pytest.mark.req("R-000-163", "R-000-164")
def test_rrf_asks_each_leg_for_twice_the_limit_and_mesh_for_at_least_100():
    assert (
        named("rrf").depth(10),
        named("mesh").depth(10),
        named("mesh").depth(250),
    ) == (20, 100, 250)


def test_mesh_looks_deeper_among_very_many_memories():
    mesh = named("mesh")
    assert (mesh.depth(10, LARGE_STORE_WRITES - 1), mesh.depth(10, LARGE_STORE_WRITES)) == (
        LEG_DEPTH,
        LARGE_LEG_DEPTH,
    )
    assert mesh.depth(500, LARGE_STORE_WRITES) == 500
    assert [named(profile).depth(10, LARGE_STORE_WRITES) for profile in ("rrf", *RANKED)] == [
        20,
        RERANK_DEPTH,
        RERANK_DEPTH,
    ]


def test_the_ranked_profiles_choose_by_normalised_scores_on_worked_numbers():
    fused = fuse(named("composite"), legs([(1, 8.0), (2, 4.0)], [(2, 0.8), (3, 0.6), (1, 0.2)]), 10)
    raw = {candidate.version: candidate.parts["fused"] for candidate in fused}
    assert raw[1] == pytest.approx(0.4 * 1.0 + 0.6 * 0.0)
    assert raw[2] == pytest.approx(0.4 * 0.5 + 0.6 * 1.0)
    assert raw[3] == pytest.approx(0.4 * 0.0 + 0.6 * (0.4 / 0.6))
    assert order(fused)[0] == 2
    assert {candidate.version: candidate.score for candidate in fused} == raw


@pytest.mark.parametrize("profile", [*RANKED, "rrf"])
def test_one_leg_alone_keeps_its_order(profile):
    assert order(fuse(named(profile), legs([(1, 9.0), (2, 5.0)]), 10)) == [1, 2]
    assert order(fuse(named(profile), legs([], [(3, 0.9), (4, 0.1)]), 10)) == [3, 4]
    assert fuse(named(profile), legs(), 10) == []


def test_nonsense_does_not_score_1_by_being_the_best():
    fused = fuse(named("composite"), legs([(1, 0.2)], [(1, 0.1), (2, 0.05)]), 10)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    memory = Memory(id="mem_1_000001", text="tea", created=now, recorded_from=now)
    alone = dict.fromkeys(COMPOSITE_WEIGHTS, 0.0) | {"relevance": 1.0}
    query = Query("tea", Lens(now), profile="composite", weights=alone)
    assert [hit.score for hit in rank(query, [(each, memory) for each in fused])] == [0.1, 0.05]


SCORES = st.lists(
    st.tuples(st.integers(1, 60), st.floats(0, 1)), max_size=60, unique_by=lambda s: s[0]
)


@pytest.mark.req("R-000-166", "R-000-169")
@given(SCORES, SCORES, st.integers(1, 20), st.sampled_from([*RANKED, "rrf"]))
def test_partial_selection_equals_a_full_sort(keyword, vector, limit, profile):
    ranked = lambda leg: sorted(leg, key=lambda pair: -pair[1])  # noqa: E731
    found = legs(ranked(keyword), ranked(vector))
    whole = fuse(named(profile), found, 1_000)
    assert fuse(named(profile), found, limit) == whole[:limit]
    assert [c.score for c in whole] == sorted((c.score for c in whole), reverse=True)
    assert all(0 <= candidate.score <= 1 + 1e-9 for candidate in whole)


@pytest.mark.req("R-000-166")
@pytest.mark.parametrize(("limit", "selected"), [(100, []), (50, []), (49, [49]), (1, [1])])
def test_only_more_than_twice_the_limit_are_not_sorted_whole(monkeypatch, limit, selected):
    chosen = list[int]()
    nsmallest = heapq.nsmallest

    def noted(count, *given, **more):
        chosen.append(count)
        return nsmallest(count, *given, **more)

    monkeypatch.setattr(heapq, "nsmallest", noted)
    found = legs([(version, float(version)) for version in range(100, 0, -1)])
    assert order(fuse(named("rrf"), found, limit)) == list(range(100, 100 - limit, -1))
    assert chosen == selected


@pytest.mark.req("R-000-170", "R-000-171")
@pytest.mark.parametrize(
    ("cosine", "score"), [(1.0, 1.0), (-1.0, 0.0), (0.0, 0.5), (0.7, 0.85), (0.667, 0.83)]
)
def test_rrf_tells_the_similarity_of_what_its_vector_leg_found(cosine, score):
    fused = fuse(named("rrf"), legs([(2, 5.0)], [(1, cosine)]), 10)
    parts = {candidate.version: candidate.parts for candidate in fused}
    assert parts[1]["similarity"] == score
    assert "distance_similarity" not in parts[2]


@pytest.mark.parametrize(
    ("distance", "score"),
    [(0.0, 1.0), (2.0, 0.0), (1.0, 0.5), (0.3, 0.85), (0.333, 0.83), (-0.1, 1.0), (2.5, 0.0)],
)
def test_a_cosine_distance_becomes_a_similarity_in_two_decimals(distance, score):
    assert distance_similarity(distance) == score
