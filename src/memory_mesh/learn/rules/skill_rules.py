"""Reads a skill's name, intent and other fields from its text."""

import hashlib
import re
from collections.abc import Mapping, Sequence

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.formats import yaml_text
from memory_mesh.model import InvalidInput, Json

START, SUCCESS, FAILURE = 0.5, 0.10, -0.20  # reliability

GENERAL = "general_procedure"
_MAX_NAME_CHARS = 200  # characters of a name
_ROOT_KEYS = ("name", "intent", "description", "tags")


@dataclass(frozen=True, slots=True)
class Described:
    """The fields read from a skill's text."""

    name: str
    intent: str
    description: str
    tags: tuple[str, ...]
    extra: Mapping[str, Json]


def describe(text: str, given: Mapping[str, Json]) -> Described:
    """Reads name, intent and other fields: as given, from the frontmatter, or from root lines."""
    if not text.strip():
        raise InvalidInput("the text of the skill is empty")
    said = {**_root_lines(text), **_frontmatter(text), **given}
    name = _string(said.get("name")) or f"Unnamed_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if len(name) > _MAX_NAME_CHARS:
        raise InvalidInput(
            f"the skill's name is too long; the limit is {_MAX_NAME_CHARS} characters"
        )
    if _doubled().search(name):
        raise InvalidInput(f"{name!r} is not a valid name; name the skill by what it does")
    description = _string(said.get("description"))
    intent = _string(said.get("intent")) or description or GENERAL
    known = {*_ROOT_KEYS, "agent"}
    return Described(
        name,
        intent,
        description,
        _tags(said.get("tags")),
        {key: value for key, value in given.items() if key not in known},
    )


def named_in(query: str) -> str | None:
    """Returns the name in a query such as `Name: …`."""
    head, colon, rest = query.partition(":")
    return rest.strip() or None if colon and head.strip().lower() == "name" else None


def _frontmatter(text: str) -> dict[str, Json]:
    """Returns the YAML between the first two `---` lines, if there is any."""
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        return {}
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    return {} if end is None else yaml_text.read("\n".join(lines[1:end]))


def _root_lines(text: str) -> dict[str, Json]:
    """Reads unindented lines such as `name: Deploy;` or `name;Deploy;`; the first one counts."""
    found: dict[str, Json] = {}
    for match in _lines().finditer(text):
        found.setdefault(match[1].lower(), match[2].strip().rstrip(";").strip())
    if "name" not in found and "agent" in found:
        found["name"] = found["agent"]
    return found


def _string(value: Json) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _tags(value: Json) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.replace(";", ",").split(",")
    if not isinstance(value, Sequence):
        return ()
    return tuple(tag.strip() for tag in value if isinstance(tag, str) and tag.strip())


_lines = lazy_pattern(
    r"^(name|agent|intent|description|tags)[:;][ \t]*(.+)$", re.IGNORECASE | re.MULTILINE
)


_doubled = lazy_pattern(r"(?:Skill){2,}")


# Computes the reliability of a skill.


def relied(reliability: float, *, success: bool) -> float:
    """Returns the reliability after one more use, from 0 to 1; at 0 it stays 0."""
    if reliability <= 0.0:
        return 0.0
    return round(max(0.0, min(1.0, reliability + (SUCCESS if success else FAILURE))), 10)
