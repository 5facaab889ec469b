"""Reads the value at the end of a statement: its start, its kind, what it replaces."""

from memory_mesh.text.claim_keys import key
from memory_mesh.write.claims import word_lists

_MARKS = tuple("`\"'\u201c$€£/~.@#")
_INSTEAD = (("instead", "of"), ("rather", "than"))


def of_class(rest: list[str]) -> tuple[list[str], str]:
    """Returns value and class: "the city of Rome" is Rome, a city; other values have no class."""
    if rest[:1] == ["the"] and rest[2:3] == ["of"] and rest[1] in word_lists.CLASSES and rest[3:]:
        return rest[3:], rest[1]
    return rest, ""


def scale(predicate: str, value: list[str], kind: str) -> str:
    """Returns the predicate for the class of the value: a town and a country do not conflict."""
    if kind:
        return predicate if kind == "city" else f"{predicate} {kind}"
    if predicate not in word_lists.PLACED or not value:
        return predicate
    if " ".join(value).casefold().removeprefix("the ") in word_lists.COUNTRIES:
        return f"{predicate} country"
    when = value[0].casefold().rstrip("s,") in word_lists.TIMES or value[-1][:1].isdigit()
    return f"{predicate} time" if when else predicate


def replaced(rest: list[str]) -> tuple[list[str], list[str]]:
    """Returns the value and what it replaces: "X, not Y", "X instead of Y", "X over Y"."""
    for at in range(1, len(rest) - 1):
        word = rest[at]
        if word == "not" and rest[at - 1].endswith(","):
            return [*rest[: at - 1], rest[at - 1][:-1]], rest[at + 1 :]
        if (word, rest[at + 1]) in _INSTEAD and at + 2 < len(rest):
            return [*rest[: at - 1], rest[at - 1].rstrip(",")], rest[at + 2 :]
    return rest, []


def qualified(value: list[str], predicate: str) -> tuple[list[str], str]:
    """Returns the value and its restriction: "five in project:x", "Friday for the web team".

    A place in a place is one place, and "at 9:30" tells the rest of a time.
    """
    for at in range(1, len(value)):
        word = value[at]
        if word in word_lists.LOCAL or (word[0] == "(" and value[-1][-1] == ")"):
            return value[:at], key(" ".join(value[at:]))
        if word not in word_lists.QUALIFIERS or at + 1 == len(value):
            continue
        if word == "at" and value[at + 1][0].isdigit():
            continue
        if word == "in" and predicate in word_lists.PLACED:
            continue
        return value[:at], key(" ".join(value[at:]))
    return value, ""


def last_value(rest: list[str]) -> tuple[list[str], list[str]]:
    """Splits off the last value, which follows the last preposition."""
    for at in range(len(rest) - 2, -1, -1):
        if rest[at] in word_lists.PREPOSITIONS:
            return rest[: at + 1], rest[at + 1 :]
    return [], rest


def identifying(value: list[str]) -> bool:
    """True if the value names one thing: a name, a number, a path or a quoted text."""
    first = value[0] if value else ""
    if first in ("the", "our", "my") and len(value) > 1:
        first = value[1]
    if first[:1].isupper() or first.startswith(_MARKS):
        return True
    return any(any(sign.isdigit() or sign in "/@_=" for sign in part) for part in value)


def describing(value: list[str]) -> bool:
    """True if the value tells how a thing is, not which one: "tight", "very late", "approved"."""
    first = value[0].casefold().rstrip(",") if value else ""
    if first in word_lists.DESCRIBING:
        return True
    return len(value) == 1 and first.isalpha() and first.endswith(word_lists.DESCRIBING_ENDS)
