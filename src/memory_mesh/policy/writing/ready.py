"""Checks drafts that a caller made: what the ledger cannot hold is refused with its field."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import fields
from memory_mesh.model import Draft
from memory_mesh.policy.arguments import check_text, check_whole
from memory_mesh.policy.writing.metadata import check_metadata


def check_ready(draft: Draft) -> Draft:
    """The draft itself; InvalidInput names the text or number in it that cannot be stored."""
    for field in fields(draft):
        value = getattr(draft, field.name)
        if field.name == "extra":
            check_metadata(value)
        elif value is not None:
            _check(value, field.name)
    check_text(draft.text, "text")
    return draft


def _check(value: object, name: str) -> None:
    """Checks one value and what is inside it."""
    if isinstance(value, str):
        check_text(value, name)
    elif isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInput(f"{name} must say its time zone")
    elif isinstance(value, int) and not isinstance(value, bool):
        check_whole(value, name)
    elif parts := getattr(value, "__value_fields__", None):  # one of our own values
        for part in parts:
            _check(getattr(value, part), f"{name}.{part}")
    elif isinstance(value, Mapping):
        check_metadata(value)
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for item in value:
            _check(item, name)
