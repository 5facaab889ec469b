"""Stage 5, metadata annotation: where a chunk comes from, its section, its hash and its time."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

from memory_mesh.policy.scrub import tokens
from memory_mesh.policy.scrub.parts import Chunk, Piece


def annotated(
    pieces: Iterable[Piece], *, source: str | None = None, at: datetime | None = None
) -> list[Chunk]:
    """The pieces as chunks; the time is the caller's, so that equal text gives equal chunks."""
    return [
        Chunk(
            text=piece.text,
            start=piece.start,
            stop=piece.stop,
            section=piece.section,
            hash=sha256(piece.text.encode("utf-8", "surrogatepass")).hexdigest(),
            tokens=tokens.count(piece.text),
            source=source,
            at=at,
        )
        for piece in pieces
    ]
