"""Reads a piece of a configuration: where it stands, and the one setting that it shows.

::

    # docker-compose.yml, service db
    port: 5432                           ->  docker compose yml service db | port | 5432

A setting belongs to its file, section and parent keys: `port` of one service is not `port` of
another. A piece that shows two settings, or that does not say where it stands, is no claim.
"""

import re

from memory_mesh.model import Claim
from memory_mesh.policy.claims.claim import MAX_KEY, MAX_VALUE, key

_MAX_LINES = 8
_HEADER = re.compile(r"^(?:#|//|;|--)\s*(?P<said>\S.*)$|^(?P<section>\[[^\]]+\].*)$")
_PLACE = re.compile(r"[\w-]\.[a-z]{1,10}\b|/[\w.-]|\.env\b", re.IGNORECASE)
_PARENT = re.compile(r"^[\w.\"'/*{},-]+:$")
_SETTING = re.compile(r"^-?\s*+(?P<name>[\w.\"'/-]+)\s*+(?::\s++|=\s*+|(?<=\s))(?P<value>\S.*)$")


def snippet(text: str) -> Claim | None:
    """Reads the one setting of a piece of configuration, or None."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if not 1 < len(lines) <= _MAX_LINES:
        return None
    place = _place(lines[0])
    while place and len(lines) > 2 and (more := _HEADER.match(lines[1].strip())):  # noqa: PLR2004
        place, lines = f"{place} {more['said'] or more['section']}", lines[1:]
    parents = [line.strip().rstrip(":") for line in lines[1:-1]]
    if not place or not all(_PARENT.match(line.strip()) for line in lines[1:-1]):
        return None
    setting = _SETTING.match(lines[-1].strip())
    if setting is None:
        return None
    subject, name = key(" ".join((place, *parents))), key(setting["name"])
    value = setting["value"].strip().strip("\"'")
    if not subject or not name or not value or len(value) > MAX_VALUE:
        return None
    if max(len(subject), len(name)) > MAX_KEY:
        return None
    return Claim(subject=subject, predicate=name, value=value, read=True)


def _place(line: str) -> str:
    """Returns the file or section that a first line names; empty if it names none."""
    found = _HEADER.match(line.strip())
    if found is not None:
        return found["said"] or found["section"]
    return line.strip() if _PLACE.search(line) and ": " not in line else ""
