"""The exact scan: vectors above the body's watermark, held in one matrix per namespace and space.

A process loads each vector once and then only what is new (`number > last`), so a search costs one
matrix product. All matrices of a process together stay under CAP_BYTES: the least recently used go
first, and a tail that alone is larger is streamed from the ledger in blocks at every search.
"""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

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
        self._numbers: Numbers = np.empty(_FIRST, np.int64)
        self._mutex = threading.Lock()

    @property
    def bytes(self) -> int:
        """Memory held."""
        return int(self._matrix.nbytes + self._numbers.nbytes)

    def extend(self, db: sqlite3.Connection, space: int) -> None:
        """Take in what was written since."""
        with self._mutex:
            for numbers, block in read_blocks(db, space, self.last, self._dimension):
                self._append(numbers, block)

    def against(self, vector: "Floats") -> Callable[[int], list[tuple[float, int]]]:
        """A function that gives the n nearest as (cosine, number), nearest first."""
        with self._mutex:
            numbers, matrix = self._numbers[: self.rows], self._matrix[: self.rows]
        cosines = matrix @ vector
        return lambda count: nearest(numbers, cosines, count)

    def _append(self, numbers: "Numbers", block: "Floats") -> None:
        import numpy as np

        needed = self.rows + len(numbers)
        if needed > len(self._numbers):
            room = max(needed, 2 * len(self._numbers))
            matrix = np.empty((room, self._dimension), np.float32)
            matrix[: self.rows] = self._matrix[: self.rows]
            grown = np.empty(room, np.int64)
            grown[: self.rows] = self._numbers[: self.rows]
            self._matrix, self._numbers = matrix, grown
        self._matrix[self.rows : needed] = block
        self._numbers[self.rows : needed] = numbers
        self.rows, self.last = needed, int(numbers[-1])


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

    def after_fork(self) -> None:
        """A child loads its own."""
        self._mutex = threading.Lock()
        self._held = OrderedDict()


def read_blocks(
    db: sqlite3.Connection, space: int, after: int, dimension: int
) -> Iterator[tuple["Numbers", "Floats"]]:
    """Vectors above a number, block by block."""
    import numpy as np

    cursor = db.execute(
        "SELECT number, data FROM vector WHERE number > ? AND space = ? ORDER BY number",
        (after, space),
    )
    while rows := cursor.fetchmany(BLOCK):
        numbers = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        block = np.frombuffer(b"".join(row[1] for row in rows), np.float32)
        yield numbers, block.reshape(len(rows), dimension)


def stream(
    db: sqlite3.Connection, space: int, after: int, vector: "Floats", count: int
) -> list[tuple[float, int]]:
    """The `count` nearest above a number without holding more than a block."""
    best: list[tuple[float, int]] = []
    for numbers, block in read_blocks(db, space, after, len(vector)):
        best += nearest(numbers, block @ vector, count)
        best = sorted(best, reverse=True)[:count]
    return best


def nearest(numbers: "Numbers", cosines: "Floats", count: int) -> list[tuple[float, int]]:
    """The `count` largest, largest first."""
    import numpy as np

    if not len(numbers):
        return []
    count = min(count, len(numbers))
    chosen = np.argpartition(cosines, -count)[-count:]
    pairs = zip(cosines[chosen].tolist(), numbers[chosen].tolist(), strict=True)
    return sorted(pairs, reverse=True)
