"""The exact scan: vectors above the body's watermark.

They are held in one matrix per namespace and space: a process loads each once and then only what is
new (`number > last`). All matrices of a process together stay under CAP_BYTES: the least recently
used go first. What alone is larger is streamed from the ledger in blocks at every search.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from memory_mesh.base.typed import TYPE_CHECKING, TypeAlias
from memory_mesh.ledgers.shared import rows
from memory_mesh.ledgers.shared.engine import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]
    Numbers: TypeAlias = NDArray[np.int64]

Best: TypeAlias = Callable[[int], list[tuple[float, int]]]  # how many -> (cosine, text), best first
Key: TypeAlias = tuple[str, int]  # which file in which of its lives, and the space in it
CAP_BYTES = 256 * 1024 * 1024  # all matrices of a process
HELD_BYTES = 32 * 1024 * 1024  # a matrix that is loaded to compare many texts with all there are
ALONE = 400_000  # values: OpenBLAS starts its threads for a product of more than 460,800
BLOCK = 8_192  # rows read and multiplied at a time when streaming
_FIRST = 1_024  # rows a matrix starts with
_ROWS_TOGETHER = 8


class Tail:
    """The vectors of one space above a floor, in the order of their numbers."""

    def __init__(self, dimension: int, floor: int) -> None:
        import numpy as np

        self.floor = floor
        self.last: int = floor
        self.rows: int = 0
        self._dimension = dimension
        self._matrix: Floats = np.empty((_FIRST, dimension), np.float32)
        self._texts: Numbers = np.empty(_FIRST, np.int64)
        self._mutex = threading.Lock()

    @property
    def bytes(self) -> int:
        """Memory held."""
        return int(self._matrix.nbytes + self._texts.nbytes)

    def extend(self, db: Database, space: int) -> None:
        """Take in what was written since."""
        with self._mutex:
            for last, texts, block in read_blocks(db, space, self.last, self._dimension):
                self._append(texts, block)
                self.last = last

    def against(self, vector: "Floats") -> Best:
        """A function that gives the n nearest as (cosine, text), nearest first."""
        with self._mutex:
            texts, matrix = self._texts[: self.rows], self._matrix[: self.rows]
        cosines = product(matrix, vector)
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
        self._held: OrderedDict[Key, Tail] = OrderedDict()
        self._mutex = threading.Lock()

    def against(self, db: Database, key: Key, vector: "Floats", floor: int, highest: int) -> Best:
        """A function that gives the n nearest above the floor as (cosine, text), nearest first.

        Ties with the last are included. `highest` is the last number that the transaction sees.
        """
        return self.from_ledger(db, key, vector, floor, highest)

    def among(
        self, db: Database, key: Key, vector: "Floats", numbers: "Numbers", count: int
    ) -> list[tuple[float, int]]:
        """The `count` nearest of the vectors with these numbers, which ascend, ties included."""
        return first([*scored(db, key[1], numbers.tolist(), vector).values()], count)

    def tail(self, db: Database, key: Key, dimension: int, floor: int) -> Tail:
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
        self, db: Database, key: Key, dimension: int, floor: int, most: int
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

    def blocks(
        self, db: Database, key: Key, dimension: int, highest: int
    ) -> "Iterator[tuple[Numbers, Floats]]":
        """All vectors, block by block: from memory if they are few enough to be held, else read.

        For comparing many texts, one slice after another, with all there are.
        """
        if highest * dimension * 4 > HELD_BYTES:
            for _, texts, block in read_blocks(db, key[1], 0, dimension):
                yield texts, block
            return
        with self._mutex:
            searched = self._held.get(key)
        if searched is not None and searched.floor:  # searches go on with what they hold
            key = (f"{key[0]} all", key[1])
        texts, matrix = self.tail(db, key, dimension, 0).newest(highest)
        for start in range(0, len(texts), BLOCK):
            yield texts[start : start + BLOCK], matrix[start : start + BLOCK]

    def after_fork(self) -> None:
        """A child loads its own."""
        self._mutex = threading.Lock()
        self._held = OrderedDict()

    def from_ledger(
        self, db: Database, key: Key, vector: "Floats", floor: int, highest: int
    ) -> Best:
        """From memory where it fits, and by a stream where not."""
        if (highest - floor) * vector.nbytes > CAP_BYTES:
            return lambda count: stream(db, key[1], floor, vector, count)
        return self.tail(db, key, len(vector), floor).against(vector)


def product(matrix: "Floats", vector: "Floats") -> "Floats":
    """The product of rows and a question, in one thread, and of each row always the same.

    The threads of the linear algebra double the time of the processor, and are started above a size
    that no part of this has. It takes rows by fours and those that are left over in another way,
    with another last digit: so they are filled up.
    """
    import numpy as np

    step = max(_ROWS_TOGETHER, ALONE // max(1, len(vector)) // _ROWS_TOGETHER * _ROWS_TOGETHER)
    whole = len(matrix) // _ROWS_TOGETHER * _ROWS_TOGETHER
    out = np.empty(len(matrix), np.float32)
    for start in range(0, whole, step):
        stop = min(start + step, whole)
        np.dot(matrix[start:stop], vector, out=out[start:stop])
    if whole < len(matrix):
        rest = np.zeros((_ROWS_TOGETHER, len(vector)), np.float32)
        rest[: len(matrix) - whole] = matrix[whole:]
        out[whole:] = (rest @ vector)[: len(matrix) - whole]
    return out


def read_blocks(
    db: Database, space: int, after: int, dimension: int
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


def scored(
    db: Database, space: int, numbers: Sequence[int], vector: "Floats"
) -> dict[int, tuple[float, int]]:
    """Of each vector that is in the ledger the exact cosine, and its text."""
    import numpy as np

    found: dict[int, tuple[float, int]] = {}
    for start in range(0, len(numbers), BLOCK):
        got = db.execute(
            "SELECT number, text, data FROM vector WHERE number IN "
            "(SELECT value FROM json_each(?)) AND space = ?",
            (rows.dumped(numbers[start : start + BLOCK]), space),
        ).fetchall()
        matrix = np.frombuffer(b"".join(data for _, _, data in got), np.float32)
        cosines = product(matrix.reshape(len(got), len(vector)), vector).tolist()
        for (number, text, _), cosine in zip(got, cosines, strict=True):
            found[number] = cosine, text
    return found


def stream(
    db: Database, space: int, after: int, vector: "Floats", count: int
) -> list[tuple[float, int]]:
    """The `count` nearest above a number as (cosine, text), holding no more than a block."""
    best: list[tuple[float, int]] = []
    for _, texts, block in read_blocks(db, space, after, len(vector)):
        best = first([*best, *nearest(texts, product(block, vector), count)], count)
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


def first(found: list[tuple[float, int]], count: int) -> list[tuple[float, int]]:
    """The `count` nearest, and all that are as near as the last of them."""
    found.sort(reverse=True)
    if not 0 < count < len(found):
        return found
    last = found[count - 1][0]
    return [pair for pair in found if pair[0] >= last]
