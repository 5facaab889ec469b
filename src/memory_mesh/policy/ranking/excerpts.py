"""Finds the part of a long text that answers a question, by words or by meaning."""

from collections.abc import Iterator, Sequence

from memory_mesh.model import Part, Span
from memory_mesh.policy.text import analyze

_LEAST = 600  # characters of a part; shorter paragraphs are taken together


def best(content: str, terms: Sequence[str]) -> Span | None:
    """Returns the span with most of the question's terms; None if there is only one part."""
    parts = list(_parts(content))
    if len(parts) < 2:  # noqa: PLR2004
        return None
    wanted = set(terms)
    return max(
        parts, key=lambda part: len(wanted.intersection(analyze.terms(content[slice(*part)])))
    )


def nearest(parts: Sequence[Part], vector: bytes) -> Span | None:
    """Returns the span with the nearest vector; None if the text has only one part."""
    import numpy as np

    placed = [part for part in parts if part.span is not None]
    if not placed:
        return None
    matrix = np.frombuffer(b"".join(part.vector for part in placed), np.float32)
    cosines = matrix.reshape(len(placed), -1) @ np.frombuffer(vector, np.float32)
    return placed[int(cosines.argmax())].span


def _parts(content: str) -> Iterator[Span]:
    """Groups whole paragraphs into parts; a short remainder joins the last part."""
    start, stop, at = -1, -1, 0
    waiting: Span | None = None
    for line in content.splitlines(keepends=True):
        if line.strip():
            start, stop = (at if start < 0 else start), at + len(line.rstrip())
        elif 0 <= start <= stop - _LEAST:
            if waiting is not None:
                yield waiting
            waiting, start = (start, stop), -1
        at += len(line)
    if waiting is None:
        return
    if start >= 0 and stop - start >= _LEAST:
        yield from (waiting, (start, stop))
    else:
        yield (waiting[0], stop) if start >= 0 else waiting
