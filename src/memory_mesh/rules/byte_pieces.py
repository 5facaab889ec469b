"""Pieces of bytes: whether anything of some texts or vectors still stands in other bytes.

Every 16 bytes of a needle are known, at whatever place they begin; of the bytes that are searched,
16 are looked up at every fourth place. So any 19 bytes of a needle that stand together are found,
and a needle that is shorter is looked for as a whole. Of long bytes that are no text some stretches
are enough: whatever keeps such bytes keeps more than a few of them together.
"""

import re
from collections.abc import Iterable, Iterator

GRAM, STEP = 16, 4
_LEAST = 8  # bytes of a needle that says anything
_VARIED = 4  # different bytes in a piece: zeros and blanks are nobody's
_STRETCH = 128  # bytes of a value that is no text, of which the beginning is looked for
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> set[str]:
    """The words of a text as they are written, in small letters."""
    return set(_WORD.findall(text.casefold()))


class BytePieces:
    """What is searched for."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._grams: set[bytes] = set()
        self._short: set[bytes] = set()
        for needle in needles:
            if len(needle) < GRAM + STEP - 1:
                self._short.update({needle} if len(needle) >= _LEAST else ())
            else:
                self._grams.update(piece for piece in _pieces(needle) if len(set(piece)) >= _VARIED)

    def hits(self, data: bytes) -> set[bytes]:
        """The pieces that stand in these bytes, as far as they are looked up."""
        found = self._grams.intersection(_every(data, STEP)) if self._grams else set[bytes]()
        found.update(needle for needle in self._short if needle in data)
        return found


def _every(data: bytes, step: int) -> Iterator[bytes]:
    return (data[start : start + GRAM] for start in range(0, len(data) - GRAM + 1, step))


def _pieces(needle: bytes) -> Iterator[bytes]:
    """Every piece of a text; of anything else those at the beginning of each stretch."""
    try:
        needle.decode()
    except UnicodeDecodeError:
        for start in range(0, len(needle), _STRETCH):
            yield from _every(needle[start : start + GRAM + STEP - 1], 1)
    else:
        yield from _every(needle, 1)
