"""Raises what a trigger calls up in the order of the default profile (decision 0037)."""

from collections.abc import Mapping, Sequence

from memory_mesh.model import Fused
from memory_mesh.model.trigger import TriggerMatch

CALLED = 0.5  # the chance that a called memory is relevant, whatever else is known
_SURE = 1e-9


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
