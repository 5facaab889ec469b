"""Recognises text that was recalled from memory and is added again.

A fingerprint leaves out case, spacing, punctuation and what cannot be seen: no look-alike letter
and no character without width makes another text of it. A text in the form of our own results and
prompts is taken apart into the memories it shows.
"""

from hashlib import sha256

from memory_mesh.formats.looks import as_seen
from memory_mesh.model import Channel, Draft
from memory_mesh.model.trace import LABEL

_SIZE = 16
_SPACED = bytes(code if chr(code).isalnum() else 32 for code in range(128)) + bytes(128)  # of ASCII
_SHOWN = ("--- MEMORY ", "[MEMORY CONTEXT]", "[ATTENTION DIRECTIVE]")
_OUR_LINES = (*_SHOWN, "- ALIGN attention", "- TREAT entries", "Type: ", "[MemoryMesh] ")
_REPEATING = {Channel.MCP, Channel.ASSISTANT, Channel.EXTRACTION}


def fingerprint(text: str) -> bytes:
    """Returns a digest of the words as they look, without case, spacing and punctuation."""
    if not text.isascii():
        text = as_seen(as_seen(text).casefold())
    return _digest(text)


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
