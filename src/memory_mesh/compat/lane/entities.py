"""Entities a memory is about, as `type:slug`: stated, named in the text, or told by a path in it.

Only what is written there is found; nothing is made up where a text names nobody.
"""

import re
from collections.abc import Iterable

from memory_mesh.errors import InvalidInput, shown

TYPES = ("person", "project", "business", "feature", "agent", "other", "chore")
MAX_SLUG_CHARS = 128  # characters of a slug with its type
_SLUG = re.compile(rf"({'|'.join(TYPES)}):([a-z0-9]+(?:-+[a-z0-9]+)*)")
_NAMED = re.compile(r"(?<![\w:/-])(project|agent|feature|person|business|chore):([a-z0-9-]+)")
_PLACED = re.compile(
    r"(?<![\w.-])(features|components|packages|apps|services|docs)/([A-Za-z0-9][\w.-]*)"
)
_PLACES = {
    "features": "feature",
    "components": "feature",
    "packages": "project",
    "apps": "project",
    "services": "project",
    "docs": "other",
}
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,5}$")


def found(text: str) -> tuple[str, ...]:
    """Every entity that a text names, in order of appearance, those of its paths last."""
    named = [f"{type_}:{name.strip('-')}" for type_, name in _NAMED.findall(text)]
    placed = [f"{_PLACES[place]}:{_slug(name)}" for place, name in _PLACED.findall(text)]
    return tuple(dict.fromkeys(slug for slug in (*named, *placed) if is_slug(slug)))


def checked(slugs: Iterable[str]) -> tuple[str, ...]:
    """The slugs, each once; InvalidInput where one is none."""
    distinct = tuple(dict.fromkeys(slugs))
    for slug in distinct:
        if not is_slug(slug):
            raise InvalidInput(
                f"{shown(slug)} names no entity: write type:slug with a type of "
                f"{', '.join(TYPES)} and a slug of a-z, 0-9 and hyphens"
            )
    return distinct


def is_slug(text: str) -> bool:
    """True for `type:slug`."""
    return len(text) <= MAX_SLUG_CHARS and _SLUG.fullmatch(text) is not None


def _slug(name: str) -> str:
    """A file's or folder's name as a slug: `UserProfile.tsx` is `user-profile`."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", _ENDING.sub("", name))
    return re.sub(r"[^a-z0-9]+", "-", apart.lower()).strip("-")
