"""The profile `points`: 001's table.

======================  ======  ==============================================
factor                  points
======================  ======  ==============================================
importance              5-30    low 5, medium 15, high 25, critical 30
recency                 0-10    10 below 24 hours, 5 below 72
words of the task       0-20    `per_title_word` for each that the title holds
specialty of the agent  0-15    `per_tag` for each tag of its work
same discoverer         10
======================  ======  ==============================================
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from memory_mesh.model import Fused
from memory_mesh.model.trigger import MatchContext, MemoryMetadata, PointRules, TriggerMatch
from memory_mesh.text import analyzer

CALLED = 0.5  # the chance that a called memory is relevant, whatever else is known
_SURE = 1e-9

IMPORTANCE: Mapping[str, int] = {"critical": 30, "high": 25, "medium": 15, "low": 5}
RECENT = ((timedelta(hours=24), 10), (timedelta(hours=72), 5))
MOST_FOR_TITLE, MOST_FOR_TAGS, SAME_DISCOVERER = 20, 15, 10
MOST = 100
SPECIALTIES: Mapping[str, frozenset[str]] = {
    "planner": frozenset(("planning", "structure", "analysis", "architecture")),
    "developer": frozenset(("implementation", "code", "patterns", "development")),
    "tester": frozenset(("testing", "validation", "quality", "tests")),
    "reviewer": frozenset(("review", "quality", "standards", "code-review")),
}
_LEAST_LETTERS = 4  # of a word of the task that counts
_TASK_CHARS = 20_000  # characters of a task whose words are read


def points(
    memory: MemoryMetadata, context: MatchContext, now: datetime, rules: PointRules
) -> dict[str, float]:
    """Returns the points of each factor; their sum is the score."""
    age = now - memory.discovered_at
    title = set(analyzer.terms(memory.title))
    shared = {term for term in task_words(context.task[:_TASK_CHARS]) if term in title}
    tags = {tag.lower() for tag in memory.tags} & rules.specialty
    agent = context.agent_name.lower()
    return {
        "importance": IMPORTANCE[memory.level],
        "recency": next((given for limit, given in RECENT if age < limit), 0),
        "title": min(MOST_FOR_TITLE, rules.per_title_word * len(shared)),
        "specialty": min(MOST_FOR_TAGS, rules.per_tag * len(tags)),
        "discoverer": SAME_DISCOVERER
        if agent and agent == (memory.discovered_by or "").lower()
        else 0,
    }


def total(parts: Mapping[str, float]) -> int:
    """Returns the score, 0 to 100."""
    return round(min(MOST, sum(parts.values())))


def task_words(task: str) -> frozenset[str]:
    """Returns the stems of the words of a task that have more than three letters."""
    words = (word for word in task.split() if len(word.strip(_MARKS)) >= _LEAST_LETTERS)
    return frozenset(analyzer.query_terms(" ".join(words)))


_MARKS = ".,;:!?()[]{}\"'`*<>"


# Raises what a trigger calls up in the order of the default profile (decision 0037).


def lift(
    best: Sequence[Fused],
    called: Mapping[int, TriggerMatch],
    limit: int,
    authority: Mapping[int, int] | None = None,
) -> list[Fused]:
    """Returns the best `limit` of what was found and what was called, best first.

    A trigger and a search agree like two witnesses: either may be wrong on its own. A trigger
    carries nothing over a more trusted memory that stood above; `authority` is 0 for the highest.
    """
    if not called:
        return list(best)
    found = [_lifted(each, called.get(each.version)) for each in best]
    if authority:
        found = _below_betters(found, best, authority)
    known = {each.version for each in best}
    missing = [version for version in called if version not in known]
    missing.sort(key=lambda version: (-called[version].strength, -version))
    found += [_lifted(Fused(version, 0.0, {}), called[version]) for version in missing[:limit]]
    return sorted(found, key=lambda each: -each.score)[:limit]


def _below_betters(
    found: Sequence[Fused], before: Sequence[Fused], authority: Mapping[int, int]
) -> list[Fused]:
    """Keeps each below the more trusted that stood above it; `before` is in order."""
    kept, lowest = list[Fused](), dict[int, float]()  # the lowest score of each authority so far
    for each in found[: len(before)]:
        own = authority.get(each.version, 0)
        betters = [score for rank, score in lowest.items() if rank < own]
        most = min(betters, default=each.score)
        one = each if each.score <= most else Fused(each.version, most - _SURE, each.parts)
        lowest[own] = min(one.score, lowest.get(own, one.score))
        kept.append(one)
    return kept


def _lifted(found: Fused, met: TriggerMatch | None) -> Fused:
    if met is None:
        return found
    score = 1 - (1 - found.score) * (1 - CALLED)
    return Fused(found.version, score, {**found.parts, "trigger": float(met.strength)})
