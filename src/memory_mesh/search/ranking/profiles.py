"""The ranking profiles: what each does, their depths, weights and half-lives.

A profile is a value: it is looked up by its name once, and what asks about it asks the value.
"""

from collections.abc import Iterable, Mapping

from memory_mesh.base.typed import dataclass
from memory_mesh.model import InvalidInput, Kind
from memory_mesh.rules.arguments import check_share

LEG_DEPTH = 100  # candidates of a leg
LARGE_STORE_WRITES = 20_000  # from so many writes on a leg is asked for more candidates
LARGE_LEG_DEPTH = 200  # results/benchmarks/depth.json
RERANK_DEPTH = 1_000
MIN_RELEVANCE = 0.08  # keeps 95 % of right first answers by words, static vectors and a model
MOST_TRIGGERED = 500  # memories with triggers that a search looks at beside those it found
FURTHER_SHARE = 0.15  # of min_relevance that hits below the best one need in profile `mesh`
LANE_MIN_SIMILARITY, LANE_MIN_ENTITY_SIMILARITY = (
    0.2,
    0.15,
)  # similarity; less where the question names an entity


@dataclass(frozen=True, slots=True)
class Profile:
    """What one profile looks at, how deep, and how it scores."""

    name: str
    weighs: bool = False  # each candidate by its features; scores of several views compare
    by_place: bool = False  # fuses the legs by the place in each, as RFC-0011 does
    by_triggers: bool = False  # finds by triggers alone
    reorders: bool = False  # by more than relevance: must see more candidates
    literal: bool = False  # asks for RFC-0011's tokens, which have no other names
    ages: bool = False  # the answer changes without a write: it is never cached
    min_similarity: float = 0.0  # where the query states none
    min_relevance: float = 0.0  # where the query states none
    further_share: float = 1.0  # of min_relevance that hits below the best one need

    def threshold(self, stated: float | None) -> float:
        """The stated threshold, checked, else that of the profile."""
        return self.min_relevance if stated is None else check_share(stated, "min_relevance")

    def depth(self, limit: int, writes: int = 0) -> int:
        """Returns the candidates to request per search: twice the limit, at least 100 or 1,000.

        In very large stores the right memory ranks a little lower.
        """
        if self.by_place:
            return 2 * limit
        if self.reorders:
            return max(RERANK_DEPTH, limit)
        return max(LARGE_LEG_DEPTH if writes >= LARGE_STORE_WRITES else LEG_DEPTH, limit)

    def least_score(self, min_relevance: float, scores: Iterable[float]) -> float:
        """The score that a hit needs: less below a best one that reaches the threshold.

        A question with one right answer in first place often has more of it further down, where
        the chance of each is small.
        """
        reached = max(scores, default=0.0) >= min_relevance
        return min_relevance * (self.further_share if reached else 1.0)


_ALL = (
    Profile("mesh", weighs=True, min_relevance=MIN_RELEVANCE, further_share=FURTHER_SHARE),
    Profile("rrf", by_place=True, literal=True),
    Profile("points", by_triggers=True, ages=True),
    Profile("composite", reorders=True, ages=True),
    Profile("lane", reorders=True, ages=True, min_similarity=LANE_MIN_SIMILARITY),
)
NAMES = tuple(profile.name for profile in _ALL)
RANKED = tuple(profile.name for profile in _ALL if profile.reorders)
MESH = _ALL[0].name  # the default


def named(name: str) -> Profile:
    """The profile of a name; raises InvalidInput for one that does not exist."""
    for profile in _ALL:  # a caller may hand in what no mapping takes
        if profile.name == name:
            return profile
    raise InvalidInput(f"there is no profile {name!r}; choose one of: {', '.join(NAMES)}")


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
LANE_KIND_OF: Mapping[Kind, Kind] = {Kind.PREFERENCE: Kind.COMMITMENT}  # by Memory Lane's words
LANE_OTHER_KIND_WEIGHT = 0.5  # any other kind
LANE_INTENT_BOOST = 1.15
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
