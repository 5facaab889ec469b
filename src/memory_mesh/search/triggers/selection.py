"""Selects the memories that an agent should know of: called by a trigger, ordered by points."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import Any
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.model.trigger import (
    LEVELS,
    InjectionRules,
    MatchContext,
    MemoryMetadata,
    PointRules,
    RelevantMemory,
    Strength,
    Triggered,
    TriggerMatch,
)
from memory_mesh.rules.arguments import MAX_RESULTS
from memory_mesh.search.ranking import points
from memory_mesh.search.triggers.patterns import Situation, match_any, situation

DEFAULT = "default"
_SPELLINGS = {"maxInjected": "max_injected", "minImportance": "min_importance"}
_KEYS = ("max_injected", "min_importance", "tags")

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


# How memories are selected for each agent, by the setting `injection`.


def check(setting: object) -> Mapping[str, Mapping[str, object]]:
    """Returns the setting with our spelling of its keys, or says what is wrong with it.

    ::

        [injection.developer]
        max_injected = 5
        min_importance = "medium"
        tags = ["implementation", "code"]

    `injection.default` holds for agents that are not named. 001's own spelling is read as well:
    `{"developer": {"memory": {"maxInjected": 5, "minImportance": "medium"}}}`.
    """
    if not isinstance(setting, Mapping):
        raise InvalidInput(f"must be one table per agent, not {setting!r}")
    return {str(agent).lower(): _table(str(agent), table) for agent, table in setting.items()}


def rules_of(
    setting: Mapping[str, Mapping[str, object]],
    agent: str,
    *,
    per_title_word: int,
    per_tag: int,
    min_usefulness: float,
    min_similarity: float = 0.0,
) -> InjectionRules:
    """Returns how memories are selected for an agent; its own table goes before the default."""
    name = agent.lower()
    given: dict[str, Any] = {**setting.get(DEFAULT, {}), **setting.get(name, {})}
    tags = given.get("tags", points.SPECIALTIES.get(name, ()))
    return InjectionRules(
        max_memories=given.get("max_injected", 5),
        min_importance=given.get("min_importance", "low"),
        min_usefulness=min_usefulness,
        min_similarity=min_similarity,
        points=PointRules(
            per_title_word=per_title_word,
            per_tag=per_tag,
            specialty=frozenset(str(tag).lower() for tag in tags),
        ),
    )


def _table(agent: str, table: object) -> dict[str, object]:
    if isinstance(table, Mapping) and isinstance(table.get("memory"), Mapping):
        table = table["memory"]
    if not isinstance(table, Mapping):
        raise InvalidInput(f"the entry of {agent!r} must be a table, not {table!r}")
    read = {_SPELLINGS.get(str(key), str(key)): value for key, value in table.items()}
    if unknown := sorted(read.keys() - set(_KEYS)):
        raise InvalidInput(
            f"the entry of {agent!r} has an unknown key {unknown[0]!r}; the keys are: "
            f"{', '.join(_KEYS)}"
        )
    if "max_injected" in read:
        _check_count(agent, read["max_injected"])
    if "min_importance" in read:
        read["min_importance"] = level(read["min_importance"], f"min_importance of {agent!r}")
    tags = read.get("tags", ())
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise InvalidInput(f"the tags of {agent!r} must be a list of texts, not {tags!r}")
    return read


def _check_count(agent: str, value: object) -> None:
    if type(value) is not int or not 0 <= value <= MAX_RESULTS:
        raise InvalidInput(
            f"max_injected of {agent!r} must be a whole number from 0 to {MAX_RESULTS}, "
            f"not {shown(value)}"
        )
