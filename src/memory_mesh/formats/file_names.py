"""Names of memory files: kebab-case, the same on every system, never outside of their folder."""

import hashlib
import unicodedata
from collections.abc import Collection

from memory_mesh.model.errors import InvalidInput, shown

FOLDER = ".rawko/memories"  # where memory files live unless a setting says otherwise
ENDING = ".md"
LONGEST = 80  # characters of a slug
_MOST_BYTES = 180  # of a slug; a file's name may have 255 with its ending and a number
_COMPONENT_BYTES = 255
_PATH_BYTES = 1_024
_TRIES = 100
_RESERVED = {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"} | {
    f"{device}{number}" for device in ("com", "lpt") for number in range(10)
}
_TURNING = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def slug(title: str) -> str:
    """Returns the title in kebab-case: letters and digits of any script, without accents on a-z."""
    words = "".join(map(_slug_character, unicodedata.normalize("NFKC", title).casefold())).split()
    name = _cut("-".join(words))
    if not name:
        return f"memory-{_digest(title)}"
    return f"{name}-memory" if _reserved(name) else name


def file_name(title: str, taken: Collection[str] = ()) -> str:
    """Returns the file's name for a title; a number follows where the name is taken already."""
    used = {_folded(name) for name in taken}
    name = slug(title)
    for number in range(1, _TRIES):
        found = name + (f"-{number}" if number > 1 else "") + ENDING
        if _folded(found) not in used:
            return found
    number = len(used)
    while _folded(found := f"{name}-{_digest(f'{number} {title}')}{ENDING}") in used:
        number += 1
    return found


def safe_path(folder: str, name: str) -> str:
    """Returns folder and name joined; InvalidInput when the name could lead out of the folder."""
    if not name or len(name.encode("utf-8", "replace")) > _PATH_BYTES:
        raise InvalidInput("a memory file needs a name of 1 to 1,024 bytes")
    for part in name.split("/"):
        why = _unsafe(part)
        if why is not None:
            raise InvalidInput(f"{shown(name, 100)} {why}; use a name such as {slug(name)}{ENDING}")
    return f"{folder.rstrip('/')}/{name}" if folder else name


def _unsafe(part: str) -> str | None:
    """Why a part of a path is not taken, if it is not."""
    if not part:
        return "is absolute or has an empty part"
    if unicodedata.normalize("NFKC", part).strip(". ") == "":
        return "leads to another folder"
    if part.startswith("."):
        return "is hidden"
    if part[-1] in ". ":
        return "ends a part with a dot or blank"
    if any(character in "\\:" or _unprintable(character) for character in part):
        return "holds a character that is not taken in a name"
    if _reserved(part.partition(".")[0].strip().casefold()):
        return "is a name that some systems reserve"
    if len(part.encode("utf-8")) > _COMPONENT_BYTES:
        return "has a part of more than 255 bytes"
    return None


def _unprintable(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} or character in _TURNING


def _reserved(name: str) -> bool:
    return unicodedata.normalize("NFKC", name) in _RESERVED


def _slug_character(character: str) -> str:
    """The character as it stands in a slug; a blank where words part."""
    base = unicodedata.normalize("NFKD", character)[0]
    if base.isascii():
        return base if base.isalnum() else ("" if character in "'\u2019" else " ")
    return character if unicodedata.category(character)[0] in "LMN" else " "


def _cut(name: str) -> str:
    """At most 80 characters and 180 bytes, cut between words where there is a place."""
    short = name[:LONGEST].encode()[:_MOST_BYTES].decode("utf-8", "ignore")
    if len(short) < len(name) and name[len(short)] != "-":
        head, dash, _ = short.rpartition("-")
        short = head if dash and len(head) >= len(short) // 2 else short
    return short.strip("-")


def _folded(name: str) -> str:
    """Names that some file system takes for the same one are equal."""
    return unicodedata.normalize("NFKC", name.casefold()).casefold()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
