"""The ranking profiles: their names, depths, weights and half-lives."""

from collections.abc import Iterable, Mapping

from memory_mesh.model import Kind

MESH = "mesh"
POINTS = "points"  # finds by triggers alone
PROFILES = (MESH, "rrf", POINTS)
RANKED = ("composite", "lane")  # these reorder by more than relevance: they must see more
LEG_DEPTH = 100  # candidates of a leg
LARGE_STORE_WRITES = 20_000  # from so many writes on a leg is asked for more candidates
LARGE_LEG_DEPTH = 200  # docs/benchmarks/depth.json
RERANK_DEPTH = 1_000
MIN_RELEVANCE = 0.12  # the threshold that the documentation recommends
MOST_TRIGGERED = 500  # memories with triggers that a search looks at beside those it found
FURTHER_SHARE = 0.1  # of min_relevance that hits below the best one need in profile `mesh`


def least_score(profile: str, min_relevance: float, scores: Iterable[float]) -> float:
    """The score that a hit needs: less below a best one that reaches the threshold.

    A question with one right answer in first place often has more of it further down, where the
    chance of each is small.
    """
    reached = max(scores, default=0.0) >= min_relevance
    return min_relevance * (FURTHER_SHARE if reached and profile == MESH else 1.0)


def depth(profile: str, limit: int, writes: int = 0) -> int:
    """Returns the candidates to request per search: twice the limit, at least 100 or 1,000.

    In very large stores the right memory ranks a little lower.
    """
    if profile == "rrf":
        return 2 * limit
    if profile in RANKED:
        return max(RERANK_DEPTH, limit)
    return max(LARGE_LEG_DEPTH if writes >= LARGE_STORE_WRITES else LEG_DEPTH, limit)


LANE_KIND_WEIGHTS: Mapping[Kind, float] = {
    Kind.CORRECTION: 1.0,
    Kind.DECISION: 1.0,
    Kind.COMMITMENT: 1.0,
    Kind.INSIGHT: 0.7,
    Kind.LEARNING: 0.7,
    Kind.CONFIDENCE: 0.7,
    Kind.PATTERN_SEED: 0.4,
    Kind.CROSS_AGENT: 0.4,
    Kind.WORKFLOW_NOTE: 0.4,
    Kind.GAP: 0.4,
}
LANE_OTHER_KIND_WEIGHT = 0.5  # any other kind
LANE_INTENT_BOOST = 1.15
LANE_MIN_SIMILARITY, LANE_MIN_ENTITY_SIMILARITY = (
    0.2,
    0.15,
)  # similarity; less where the question names an entity
LANE_DECAY_STEPS = ((7, 1.0), (30, 0.8), (90, 0.6))  # days since the last use, and what is left
LANE_DECAY_FLOOR = 0.4

COMPOSITE_WEIGHTS: Mapping[str, float] = {
    "relevance": 0.40,
    "confidence": 0.25,
    "recency": 0.20,
    "importance": 0.15,
}
RECENCY_RATE_PER_DAY = 0.01  # a day: half of it is left after 69
DEFAULT_IMPORTANCE = 0.7  # importance where none was stated, as neolata has it
