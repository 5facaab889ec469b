"""Stage 5, annotation: adds source, section, hash and time to chunks."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

from memory_mesh.policy.scrub import tokens
from memory_mesh.policy.scrub.parts import Chunk, Piece


def annotated(
    pieces: Iterable[Piece], *, source: str | None = None, at: datetime | None = None
) -> list[Chunk]:
    """Returns the pieces as chunks, with the caller's time."""
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
