"""Checks drafts that a caller made: what the ledger cannot hold is refused with its field."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_mesh.errors import InvalidInput, shown
from memory_mesh.fastdataclass import fields
from memory_mesh.model import (
    Channel,
    Claim,
    Draft,
    Heritage,
    Kind,
    Lesson,
    Origin,
    Scope,
    SkillDraft,
    Source,
    SourceKind,
    Tier,
)
from memory_mesh.policy.arguments import check_text, check_whole, moment
from memory_mesh.policy.writing.metadata import check_metadata
from memory_mesh.typed import TypeVar

Ready = TypeVar("Ready", Draft, SkillDraft)
_NEEDED = {"scope": Scope, "source": Source, "kind": Kind, "tier": Tier}  # what a field must hold
_WORDS = ("label", "speaker", "role", "skill", "key", "topic", "quarantine")
_OPTIONAL: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(_WORDS, str),
    "claim": Claim,
    "lesson": Lesson,
    "heritage": Heritage,
    "origin": Origin,
    "occurred_at": datetime,
    "valid_from": datetime,
    "valid_until": datetime,
    "importance": (int, float),
    "confidence": (int, float),
    "order": int,
}
_TEXTS = ("tags", "triggers", "derived_from", "notes")


def check_ready(draft: Ready) -> Ready:
    """The draft itself; InvalidInput names the text, number or time that cannot be stored."""
    for field in fields(draft):
        value = getattr(draft, field.name)
        if field.name in {"extra", "metadata"}:
            check_metadata(value)
        elif value is not None:
            _check(value, field.name)
    check_text(draft.text, "text")
    if isinstance(draft, Draft):
        _check_types(draft)
    return draft


def _check_types(draft: Draft) -> None:
    """Raises InvalidInput for a field of another type: it would be stored and never be read."""
    for name, kind in _NEEDED.items():
        if not isinstance(getattr(draft, name), kind):
            raise _wrong(draft, name)
    for name, kinds in _OPTIONAL.items():
        if not isinstance(getattr(draft, name), kinds) and getattr(draft, name) is not None:
            raise _wrong(draft, name)
    for name in _TEXTS:
        value = getattr(draft, name)
        if not isinstance(value, tuple) or not all(isinstance(each, str) for each in value):
            raise _wrong(draft, name)
    if not isinstance(draft.source.kind, SourceKind):
        raise _wrong(draft.source, "kind")
    if not isinstance(draft.source.channel, Channel):
        raise _wrong(draft.source, "channel")


def _wrong(value: object, name: str) -> InvalidInput:
    whose = type(value).__name__
    return InvalidInput(f"the {name} of a {whose} cannot be {shown(getattr(value, name))}")


def _check_number(value: float, name: str) -> None:
    if isinstance(value, int):
        check_whole(int(value), name)  # true and false are 1 and 0
    elif not math.isfinite(value):
        raise InvalidInput(f"{name} must be a number, not {value}")


def _check(value: object, name: str) -> None:
    """Checks one value and what is inside it."""
    if isinstance(value, str):
        check_text(value, name)
    elif isinstance(value, datetime):
        moment(name, value)
    elif isinstance(value, int | float):
        _check_number(value, name)
    elif parts := getattr(value, "__value_fields__", None):  # one of our own values
        for part in parts:
            _check(getattr(value, part), f"{name}.{part}")
    elif isinstance(value, Mapping):
        check_metadata(value)
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for item in value:
            _check(item, name)
