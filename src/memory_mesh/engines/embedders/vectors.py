"""Vectors as bytes: little-endian float32 of length 1, and never anything else."""

import math
import sys
from array import array
from collections.abc import Iterator, Sequence

from memory_mesh.errors import EmbeddingError
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def packed(rows: "NDArray[np.float32]") -> list[bytes]:
    """Each row at length 1, as bytes."""
    import numpy as np

    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and (norms > 0).all()):
        raise EmbeddingError("the model answered with a vector that is zero or not a number")
    return [row.tobytes() for row in (rows / norms).astype("<f4")]


def pack(numbers: Sequence[float]) -> bytes:
    """The numbers at length 1, as bytes."""
    try:
        norm = math.hypot(*numbers)
    except OverflowError:  # an integer beyond every float
        norm = math.inf
    if not (math.isfinite(norm) and norm > 0):
        raise EmbeddingError("the service answered with a vector that is zero or not a number")
    found = array("f", (number / norm for number in numbers))
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()


def mean(group: Sequence[bytes]) -> bytes:
    """One vector for a text of several windows: between theirs, at length 1."""
    if len(group) == 1:
        return group[0]
    columns = [array("f", vector) for vector in group]
    if sys.byteorder == "big":
        for column in columns:
            column.byteswap()
    return pack([sum(numbers) for numbers in zip(*columns, strict=True)])


def grouped(
    found: Iterator[bytes], cuts: Sequence[Sequence[object]], *, query: bool
) -> tuple[tuple[bytes, ...], ...]:
    """The vectors of each text, one for each of its windows; a query has one in all."""
    groups = [tuple(next(found) for _ in cut) for cut in cuts]
    return tuple((mean(group),) for group in groups) if query else tuple(groups)


def encodable(text: str) -> str:
    """The text with a question mark for each half of a character, which no encoder takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
