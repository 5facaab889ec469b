"""Raises what a trigger calls up in the order of the default profile (decision 0037)."""

from collections.abc import Mapping, Sequence

from memory_mesh.model import Fused
from memory_mesh.model.trigger import TriggerMatch

CALLED = 0.5  # the chance that a called memory is relevant, whatever else is known


def lift(best: Sequence[Fused], called: Mapping[int, TriggerMatch], limit: int) -> list[Fused]:
    """Returns the best `limit` of what was found and what was called, best first.

    A trigger and a search agree like two witnesses: either may be wrong on its own.
    """
    if not called:
        return list(best)
    found = [_lifted(each, called.get(each.version)) for each in best]
    known = {each.version for each in best}
    missing = [version for version in called if version not in known]
    missing.sort(key=lambda version: (-called[version].strength, -version))
    found += [_lifted(Fused(version, 0.0, {}), called[version]) for version in missing[:limit]]
    return sorted(found, key=lambda each: -each.score)[:limit]


def _lifted(found: Fused, met: TriggerMatch | None) -> Fused:
    if met is None:
        return found
    score = 1 - (1 - found.score) * (1 - CALLED)
    return Fused(found.version, score, {**found.parts, "trigger": float(met.strength)})
