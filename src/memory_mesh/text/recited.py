"""Recognises text that was recalled from memory and is added again.

A fingerprint leaves out case, spacing, punctuation and what cannot be seen: no look-alike letter
and no character without width makes another text of it. A text in the form of our own results and
prompts is taken apart into the memories it shows.
"""

import re
from unicodedata import category

from memory_mesh.base.digests import sha256
from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.formats.looks import as_seen
from memory_mesh.model import Channel, Draft
from memory_mesh.model.trace import LABEL

_SIZE = 16
_SPACED = bytes(code if chr(code).isalnum() else 32 for code in range(128)) + bytes(128)  # of ASCII
_parts = lazy_pattern(
    r"""[^\W\d_]+ | \d+ | (?<=\d)[.,:](?=\d) | (?<!\S)\.(?=\w) | (?<!\w)-(?=\d)  # 3.5 .NET -5
    | (?<=\w)\#+ | \#(?=\d) | (?:(?<=[\w+])|(?<=\w[ ]))[+%\u2030$\xa2-\xa5\u20a0-\u20cf]  # C# 5%
    | (?:(?<=\w)|(?<=\w[ ]))[<>=&/\\\u2200-\u22ff](?=[ ]?\w) | [+@/\\$\xa2-\xa5\u20a0-\u20cf](?=\w)
    | ([^\x00-\x7f\w\s])  # a mark of a letter, or a sign that says nothing""",
    re.VERBOSE,
)
# A blank beside Thai, Lao, Myanmar, Khmer, Han, kana or Hangul.
_OF_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\ua4cf\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_beside_spaceless = lazy_pattern(f"(?<=[{_OF_SPACELESS}]) | (?=[{_OF_SPACELESS}])")
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
    found = _parts().finditer(_folded(text))
    parts = (part[0] for part in found if part[1] is None or category(part[1])[0] == "M")
    return _beside_spaceless().sub("", " ".join(parts))


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
