"""Selects the memories that an agent should know of: called by a trigger, ordered by points."""

from collections.abc import Iterable
from datetime import datetime

from memory_mesh.errors import InvalidInput, shown
from memory_mesh.model.trigger import (
    LEVELS,
    InjectionRules,
    MatchContext,
    MemoryMetadata,
    RelevantMemory,
    Strength,
    Triggered,
    TriggerMatch,
)
from memory_mesh.policy.ranking import points
from memory_mesh.policy.triggers.matching import Situation, match_any, situation

# The less important a memory is, the better the match that it needs (001's table of factors).
NEEDED = {
    "critical": Strength.LOOSE,
    "high": Strength.CLOSE,
    "medium": Strength.MODERATE,
    "low": Strength.EXACT,
}
_TITLE_CHARS, _TITLE_WORDS = 100, 12


def select(
    memories: Iterable[MemoryMetadata],
    context: MatchContext,
    now: datetime,
    rules: InjectionRules,
) -> list[RelevantMemory]:
    """Returns the relevant memories with the most points, best first."""
    there = situation(context)
    found = ((memory, called(memory, there)) for memory in memories)
    return best(((memory, met) for memory, met in found if met), context, now, rules)


def called(memory: Triggered | MemoryMetadata, there: Situation) -> TriggerMatch | None:
    """Returns the match that calls a memory up, if it is good enough for its importance."""
    met = match_any(memory.triggers, there)
    return met if met is not None and met.strength >= NEEDED[memory.level] else None


def best(
    found: Iterable[tuple[MemoryMetadata, TriggerMatch]],
    context: MatchContext,
    now: datetime,
    rules: InjectionRules,
) -> list[RelevantMemory]:
    """Returns the called memories with the most points that the rules let through.

    Among equals the better match comes first, then the newer memory.
    """
    least = LEVELS.index(rules.min_importance)
    scored = [
        _scored(memory, met, context, now, rules)
        for memory, met in found
        if LEVELS.index(memory.level) >= least and memory.usefulness >= rules.min_usefulness
    ]
    return sorted(scored, key=_order)[: rules.max_memories]


def title_of(text: str) -> str:
    """Returns the title of a text: its first heading, else its first words."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    heading = next((line for line in lines if line.startswith("#") and line.strip("# ")), None)
    words = (heading or (lines[0] if lines else "")).strip("# ").split()
    return " ".join(words[:_TITLE_WORDS])[:_TITLE_CHARS]


def level(value: object, name: str = "min_importance") -> str:
    """Returns the word of an importance, if it is one."""
    word = str(value).lower()
    if word not in LEVELS:
        raise InvalidInput(f"{name} must be one of: {', '.join(LEVELS)}; not {shown(value)}")
    return word


def _scored(
    memory: MemoryMetadata,
    met: TriggerMatch,
    context: MatchContext,
    now: datetime,
    rules: InjectionRules,
) -> RelevantMemory:
    parts = points.points(memory, context, now, rules.points)
    return RelevantMemory(memory, points.total(parts), parts, met)


def _order(each: RelevantMemory) -> tuple[float, int, float, int]:
    at = each.memory.discovered_at.timestamp()
    return (-each.points, -each.match.strength, -at, -each.memory.version)
