"""Checks drafts that a caller made: what the ledger cannot hold is refused with its field."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import fields
from memory_mesh.model import Draft, SkillDraft
from memory_mesh.policy.arguments import check_text, check_whole, moment
from memory_mesh.policy.writing.metadata import check_metadata
from memory_mesh.typed import TypeVar

Ready = TypeVar("Ready", Draft, SkillDraft)


def check_ready(draft: Ready) -> Ready:
    """The draft itself; InvalidInput names the text, number or time that cannot be stored."""
    for field in fields(draft):
        value = getattr(draft, field.name)
        if field.name in {"extra", "metadata"}:
            check_metadata(value)
        elif value is not None:
            _check(value, field.name)
    check_text(draft.text, "text")
    return draft


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
