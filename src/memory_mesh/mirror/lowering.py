"""A repository's own word that nothing in its mirror folder speaks for the user."""

import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path

FILE = ".rawko/mirror.toml"
_MAX_BYTES = 100_000
_VALUES = {"user": False, "document": True}  # whether it lowers


def lowered_by(folder: Path) -> str | None:
    """Returns why all edits in a folder count as a document's, or None if they do not.

    `.rawko/mirror.toml` in the folder, or above it up to the top of its clone, says so with
    `trust = "document"`. One that cannot be understood says so too.
    """
    for place in _places(folder):
        reason = _read(place / FILE)
        if reason is not None:
            return reason
    return None


def _places(folder: Path) -> Iterator[Path]:
    """The folder and those above it, up to the clone's top; two above where there is no clone."""
    above = (folder, *folder.parents)
    top = next((at for at, place in enumerate(above) if (place / ".git").exists()), 2)
    yield from above[: top + 1]


def _read(file: Path) -> str | None:
    try:
        kind = file.stat()
    except OSError:
        return None
    try:
        if not stat.S_ISREG(kind.st_mode) or kind.st_size > _MAX_BYTES:
            return f"{FILE} cannot be read; it may say so"
        value = tomllib.loads(file.read_text(encoding="utf-8")).get("trust", "user")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return f"{FILE} cannot be read ({error}); it may say so"
    if _VALUES.get(value if isinstance(value, str) else "", True):
        known = value == "document"
        return f'{FILE} says trust = "document"' if known else f"{FILE} has an unknown trust"
    return None
