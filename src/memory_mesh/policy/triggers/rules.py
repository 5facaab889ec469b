"""Reads the setting `injection`: how memories are selected for each agent.

::

    [injection.developer]
    max_injected = 5
    min_importance = "medium"
    tags = ["implementation", "code"]

`injection.default` holds for agents that are not named. 001's own spelling is read as well:
`{"developer": {"memory": {"maxInjected": 5, "minImportance": "medium"}}}`.
"""

from collections.abc import Mapping, Sequence

from memory_mesh.errors import InvalidInput, shown
from memory_mesh.model.trigger import InjectionRules, PointRules
from memory_mesh.policy.arguments import MAX_RESULTS
from memory_mesh.policy.ranking.points import SPECIALTIES
from memory_mesh.policy.triggers.selecting import level
from memory_mesh.typed import Any

DEFAULT = "default"
_SPELLINGS = {"maxInjected": "max_injected", "minImportance": "min_importance"}
_KEYS = ("max_injected", "min_importance", "tags")


def check(setting: object) -> Mapping[str, Mapping[str, object]]:
    """Returns the setting with our spelling of its keys, or says what is wrong with it."""
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
    tags = given.get("tags", SPECIALTIES.get(name, ()))
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
