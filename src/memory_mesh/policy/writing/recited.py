"""Recognising what came from memory when it is handed in again.

A fingerprint leaves out case, spacing and punctuation. A text in the form that our own results and
prompts have is taken apart into the memories it shows.
"""

from hashlib import sha256

from memory_mesh.model import Channel, Draft

_SIZE = 16
_SHOWN = ("--- MEMORY ", "[MEMORY CONTEXT]", "[ATTENTION DIRECTIVE]")
_OUR_LINES = (*_SHOWN, "- ALIGN attention", "- TREAT entries", "Type: ", "[MemoryMesh] ")
_REPEATING = {Channel.MCP, Channel.ASSISTANT, Channel.EXTRACTION}


def fingerprint(text: str) -> bytes:
    """The same for texts that differ in case, spacing and punctuation only; empty for no words."""
    words = "".join(char if char.isalnum() else " " for char in text.casefold()).split()
    if not words:
        return b""
    return sha256(" ".join(words).encode("utf-8", "surrogatepass")).digest()[:_SIZE]


def suspects(draft: Draft, own: bytes) -> tuple[bytes, ...]:
    """Fingerprints of what a draft may repeat: itself, where a model speaks, and what it shows."""
    shown = tuple(filter(None, map(fingerprint, entries(draft.text))))
    if shown:
        return shown
    return (own,) if own and draft.source.channel in _REPEATING else ()


def entries(text: str) -> list[str]:
    """The memories that a text in the form of our results shows; none where it has another form."""
    if not any(mark in text for mark in _SHOWN):
        return []
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("--- MEMORY "):
            found.append([])
        elif found and not line.startswith(_OUR_LINES):
            found[-1].append(line)
    return [" ".join(lines).strip() for lines in found if any(line.strip() for line in lines)]
