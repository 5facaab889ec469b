"""The exact scan: vectors above the body's watermark, held in one matrix per namespace and space.

A process loads each vector once and then only what is new (`number > last`), so a search costs one
matrix product. All matrices of a process together stay under CAP_BYTES: the least recently used go
first, and a tail that alone is larger is streamed from the ledger in blocks at every search.
"""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator

from memory_mesh.typed import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]
    Numbers: TypeAlias = NDArray[np.int64]

CAP_BYTES = 256 * 1024 * 1024  # all matrices of a process
BLOCK = 8_192  # rows read and multiplied at a time when streaming
_FIRST = 1_024  # rows a matrix starts with


class Tail:
    """The vectors of one space above a floor, in the order of their numbers."""

    def __init__(self, dimension: int, floor: int) -> None:
        import numpy as np

        self.floor = self.last = floor
        self.rows = 0
        self._dimension = dimension
        self._matrix: Floats = np.empty((_FIRST, dimension), np.float32)
        self._texts: Numbers = np.empty(_FIRST, np.int64)
        self._mutex = threading.Lock()

    @property
    def bytes(self) -> int:
        """Memory held."""
        return int(self._matrix.nbytes + self._texts.nbytes)

    def extend(self, db: sqlite3.Connection, space: int) -> None:
        """Take in what was written since."""
        with self._mutex:
            for last, texts, block in read_blocks(db, space, self.last, self._dimension):
                self._append(texts, block)
                self.last = last

    def against(self, vector: "Floats") -> Callable[[int], list[tuple[float, int]]]:
        """A function that gives the n nearest as (cosine, text), nearest first."""
        with self._mutex:
            texts, matrix = self._texts[: self.rows], self._matrix[: self.rows]
        cosines = matrix @ vector
        return lambda count: nearest(texts, cosines, count)

    def newest(self, most: int) -> "tuple[Numbers, Floats]":
        """The newest vectors: their texts and their values."""
        with self._mutex:
            start = max(0, self.rows - most)
            return self._texts[start : self.rows], self._matrix[start : self.rows]

    def _append(self, texts: "Numbers", block: "Floats") -> None:
        import numpy as np

        needed = self.rows + len(texts)
        if needed > len(self._texts):
            room = max(needed, 2 * len(self._texts))
            matrix = np.empty((room, self._dimension), np.float32)
            matrix[: self.rows] = self._matrix[: self.rows]
            grown = np.empty(room, np.int64)
            grown[: self.rows] = self._texts[: self.rows]
            self._matrix, self._texts = matrix, grown
        self._matrix[self.rows : needed] = block
        self._texts[self.rows : needed] = texts
        self.rows = needed


class Tails:
    """The matrices of a process, bounded together."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, int], Tail] = OrderedDict()
        self._mutex = threading.Lock()

    def tail(
        self, db: sqlite3.Connection, key: tuple[str, int], dimension: int, floor: int
    ) -> Tail:
        """The up-to-date tail of a namespace and space above the floor."""
        with self._mutex:
            tail = self._held.get(key)
            if tail is None or tail.floor != floor:
                tail = self._held[key] = Tail(dimension, floor)
            self._held.move_to_end(key)
        tail.extend(db, key[1])
        with self._mutex:
            while (
                len(self._held) > 1 and sum(held.bytes for held in self._held.values()) > CAP_BYTES
            ):
                self._held.popitem(last=False)
        return tail

    def newest(
        self, db: sqlite3.Connection, key: tuple[str, int], dimension: int, floor: int, most: int
    ) -> "tuple[Numbers, Floats]":
        """The newest vectors above the floor, from the tail that searches hold if it has them.

        Else a tail of their own is held, which starts anew when it has twice as many.
        """
        own = (f"{key[0]} newest", key[1])
        with self._mutex:
            searched, held = self._held.get(key), self._held.get(own)
        if searched is not None and searched.floor <= floor:
            return self.tail(db, key, dimension, searched.floor).newest(most)
        start = floor if held is None or held.rows > 2 * most else held.floor
        return self.tail(db, own, dimension, start).newest(most)

    def after_fork(self) -> None:
        """A child loads its own."""
        self._mutex = threading.Lock()
        self._held = OrderedDict()


def read_blocks(
    db: sqlite3.Connection, space: int, after: int, dimension: int
) -> Iterator[tuple[int, "Numbers", "Floats"]]:
    """Vectors above a number, block by block: the last number, their texts, their values."""
    import numpy as np

    cursor = db.execute(
        "SELECT number, text, data FROM vector WHERE number > ? AND space = ? ORDER BY number",
        (after, space),
    )
    while rows := cursor.fetchmany(BLOCK):
        texts = np.fromiter((row[1] for row in rows), np.int64, len(rows))
        block = np.frombuffer(b"".join(row[2] for row in rows), np.float32)
        yield rows[-1][0], texts, block.reshape(len(rows), dimension)


def stream(
    db: sqlite3.Connection, space: int, after: int, vector: "Floats", count: int
) -> list[tuple[float, int]]:
    """The `count` nearest above a number as (cosine, text), holding no more than a block."""
    best: list[tuple[float, int]] = []
    for _, texts, block in read_blocks(db, space, after, len(vector)):
        best += nearest(texts, block @ vector, count)
        best = sorted(best, reverse=True)[:count]
    return best


def nearest(texts: "Numbers", cosines: "Floats", count: int) -> list[tuple[float, int]]:
    """The `count` largest as (cosine, text), largest first, ties with the last included."""
    import numpy as np

    if not len(texts):
        return []
    if count < len(texts):  # and all that are as near as the last of them
        last = np.partition(cosines, -count)[-count]
        chosen = np.flatnonzero(cosines >= last)
        texts, cosines = texts[chosen], cosines[chosen]
    return sorted(zip(cosines.tolist(), texts.tolist(), strict=True), reverse=True)
