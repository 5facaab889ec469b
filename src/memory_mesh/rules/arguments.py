"""Checks of arguments: text, share, limit, time and enum."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum

from memory_mesh.base.typed import Any, TypeVar
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.rules.limits import LONGEST, TEXT_CHARS

MAX_RESULTS = 1_000  # things one call may return
INTEGERS = 2**63  # a ledger's whole numbers are smaller


class NotGiven:
    """The type of NOT_GIVEN."""

    def __repr__(self) -> str:
        return "..."


NOT_GIVEN = NotGiven()  # the default of an option for which None means something


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without those that are None, which is as if they were not given."""
    return {name: value for name, value in options.items() if value is not None}


def check_limit(limit: int, name: str = "limit") -> int:
    """The limit, if it is a sensible one."""
    if type(limit) is not int or not 1 <= limit <= MAX_RESULTS:
        raise InvalidInput(
            f"{name} must be a whole number from 1 to {MAX_RESULTS}, not {shown(limit)}"
        )
    return limit


Member = TypeVar("Member", bound=StrEnum)


def moment(name: str, value: object) -> datetime | None:
    """A time that says its zone, as datetime or ISO 8601 text; a bare date is its midnight UTC."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            typed = "yesterday, 7d, 'last week', 2026-11 or " if name.startswith("--") else ""
            raise InvalidInput(
                f"{name} must be {typed}an ISO 8601 time such as 2026-03-01T12:00:00Z, "
                f"not {shown(value)}"
            ) from None
        value = parsed.replace(tzinfo=UTC) if "T" not in value and " " not in value else parsed
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidInput(f"{name} must say its time zone, for example 2026-03-01T12:00:00Z")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{name} is out of the years 1 to 9999") from None


def member(name: str, kind: type[Member], value: object) -> Member:
    """One of an enum's words."""
    try:
        return kind(value) if isinstance(value, str) else kind(shown(value))
    except ValueError:
        words = ", ".join(kind)
        raise InvalidInput(f"{name} must be one of: {words}; not {shown(value)}") from None


def check_text(value: object, name: str) -> str:
    """The value as storable text: a str of limited length without NUL and lone surrogates."""
    if not isinstance(value, str):
        hint = _as_text(value) if name == "content" else ""
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}{hint}")
    if len(value) > (most := LONGEST.get(name, TEXT_CHARS)):
        raise InvalidInput(f"{name} has {len(value)} characters; the limit is {most}: shorten it")
    if "\0" in value:
        raise InvalidInput(f"{name} holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{name} is not valid Unicode (a lone surrogate at {error.start})"
        ) from None
    return value


def _as_text(value: object) -> str:
    """How to store what is no text."""
    if isinstance(value, Mapping):
        return ". Give its text, and the rest as metadata: add(text, {...})"
    if isinstance(value, list | tuple):
        return '. Store each message by itself: add(message["content"], role=message["role"])'
    return ". Convert it: add(str(value))"


def check_whole(value: object, name: str, *, least: int = -INTEGERS) -> int:
    """The value as a whole number that a ledger can hold."""
    if type(value) is not int or not least <= value < INTEGERS:
        said = "must be a whole number below 2**63"
        raise InvalidInput(f"{name} {said}" + (f" and at least {least}" if least >= 0 else ""))
    return value


def check_share(value: object, name: str) -> float:
    """The value as a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number from 0 to 1, not {shown(value)}")
    return float(value)


def snake_case(name: str) -> str:
    """The name as Python writes it: minSimilarity is min_similarity."""
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def near(word: str, known: Iterable[str]) -> str | None:
    """The known word that somebody most likely meant; dashes in front say nothing."""
    from difflib import get_close_matches  # only a mistake needs it

    bare = {one.lstrip("-"): one for one in known}
    return next((bare[one] for one in get_close_matches(word.lstrip("-"), bare, n=1)), None)
