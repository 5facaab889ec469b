"""Which part of a long text answers a question, by the words they share."""

from collections.abc import Sequence

from memory_mesh.model import Part, Span
from memory_mesh.policy import analyze, scrub


def best(content: str, terms: Sequence[str]) -> Span | None:
    """The chunk that holds most of the question's terms; None where there is only one."""
    chunks = scrub.chunks_of(content)
    if len(chunks) < 2:  # noqa: PLR2004
        return None
    wanted = set(terms)
    chosen = max(chunks, key=lambda chunk: len(wanted.intersection(analyze.terms(chunk.text))))
    return (chosen.start, chosen.stop)


def nearest(parts: Sequence[Part], vector: bytes) -> Span | None:
    """The span whose vector is nearest; None where the text has but one part."""
    import numpy as np

    placed = [part for part in parts if part.span is not None]
    if not placed:
        return None
    matrix = np.frombuffer(b"".join(part.vector for part in placed), np.float32)
    cosines = matrix.reshape(len(placed), -1) @ np.frombuffer(vector, np.float32)
    return placed[int(cosines.argmax())].span
