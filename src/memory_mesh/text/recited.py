"""Recognises text that was recalled from memory and is added again.

A fingerprint leaves out case, spacing, punctuation and what cannot be seen: no look-alike letter
and no character without width makes another text of it. A text in the form of our own results and
prompts is taken apart into the memories it shows.
"""

import re
from functools import cache
from hashlib import sha256
from unicodedata import category

from memory_mesh.formats.looks import as_seen
from memory_mesh.model import Channel, Draft
from memory_mesh.model.trace import LABEL

_SIZE = 16
_SPACED = bytes(code if chr(code).isalnum() else 32 for code in range(128)) + bytes(128)  # of ASCII
_PART = re.compile(r"[^\W\d_]+|\d+|([^\w\s])\1*")  # letters, digits, one sign and its repeats
_SIGNS = frozenset("%\u2030&@/\\")  # besides those of mathematics and money
_QUOTING = frozenset(">|~")  # marks of quotes, tables and other layout
_SHOWN = ("--- MEMORY ", "[MEMORY CONTEXT]", "[ATTENTION DIRECTIVE]")
_OUR_LINES = (*_SHOWN, "- ALIGN attention", "- TREAT entries", "Type: ", "[MemoryMesh] ")
_REPEATING = {Channel.MCP, Channel.ASSISTANT, Channel.EXTRACTION}


def fingerprint(text: str) -> bytes:
    """Returns a digest of the words as they look, without case, spacing and punctuation."""
    return _digest(_folded(text))


def fingerprint_before(text: str) -> bytes:
    """Returns the fingerprint that versions before migration 10 made of a text."""
    return _digest(text)


def _digest(text: str) -> bytes:
    if text.isascii():
        said = b" ".join(text.lower().encode().translate(_SPACED).split())
    else:
        words = "".join(char if char.isalnum() else " " for char in text.casefold()).split()
        said = " ".join(words).encode("utf-8", "surrogatepass")
    return sha256(said).digest()[:_SIZE] if said else b""


def wording(text: str) -> str:
    """Returns the words as they look, with the signs that make other words of them (`C++`, `-5`).

    Case, the punctuation of sentences and all spacing are left out: also what stands between
    characters of scripts that put no spaces between words.
    """
    text = _folded(text)
    parts = (part for part in _PART.finditer(text) if part[1] is None or _belongs(text, part))
    return _beside_spaceless().sub("", " ".join(part[0] for part in parts))


def _belongs(text: str, part: re.Match[str]) -> bool:
    """Whether a sign belongs to the word beside it: `C#`, `.NET`, `3.5`, `-5`, `50 %`."""
    sign, (start, end) = part[1], part.span()
    near = text[max(0, start - 2) : start], text[end : end + 2]
    before, after = near[0][-1:], near[1][:1]
    if sign in ".,:":
        of_number = before.isdigit() and after.isdigit()
        return of_number or (part[0] == "." and after.isalnum() and not before.strip())
    if sign == "-":
        return after.isdigit() and not before.isalnum()
    if sign == "#":
        return before.isalnum() or after.isdigit()
    kind = category(sign)
    is_sign = sign in _SIGNS or (kind in {"Sm", "Sc"} and sign not in _QUOTING)
    return kind[0] == "M" or (is_sign and any(map(str.isalnum, "".join(near))))


@cache
def _beside_spaceless() -> re.Pattern[str]:
    from memory_mesh.text.analyzer import SPACELESS  # only where something was erased

    held = "".join(f"{chr(first)}-{chr(last)}" for first, last in SPACELESS)
    return re.compile(f"(?<=[{held}]) | (?=[{held}])")


def _folded(text: str) -> str:
    """The text as it looks, without case."""
    return text.lower() if text.isascii() else as_seen(as_seen(text).casefold())


def suspects(draft: Draft, own: bytes) -> tuple[bytes, ...]:
    """Returns fingerprints of recalled texts that the draft may repeat.

    A trace repeats nothing: the same goal again is another execution.
    """
    shown = tuple(filter(None, map(fingerprint, entries(draft.text))))
    if shown:
        return shown
    repeats = draft.source.channel in _REPEATING and not (
        draft.origin is not None and draft.label == LABEL
    )
    return (own,) if own and repeats else ()


def entries(text: str) -> list[str]:
    """Returns the memories in a text that has the format of search results."""
    if not any(mark in text for mark in _SHOWN):
        return []
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("--- MEMORY "):
            found.append([])
        elif found and not line.startswith(_OUR_LINES):
            found[-1].append(line)
    return [" ".join(lines).strip() for lines in found if any(line.strip() for line in lines)]
