"""Trees of pages: every row and index entry that can still be read, and where some cannot.

A page that says it is of another kind, as one changed bit can make it, is read as what most of its
cells make it. The rows of a page are in the order of their numbers, or one of them is wrong.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterator

from memory_mesh.engines.ledgers.sqlite.keeping.pages import HEADER, Pages
from memory_mesh.engines.ledgers.sqlite.keeping.records import Values, payload, record, varint
from memory_mesh.fastdataclass import dataclass

TABLE, INDEX = (13, 5), (10, 2)  # how a leaf and an inner page of a tree begin
_WHERE, _CELLS = 5, 3  # in a page's header: where its cells begin, and how many there are


@dataclass(frozen=True, slots=True)
class Cell:
    """A row, or an entry of an index."""

    rowid: int
    values: Values
    page: int


@dataclass(frozen=True, slots=True)
class Hole:
    """Where something cannot be read: between two numbers of rows, as far as they are known."""

    page: int
    why: str
    after: int | None = None
    until: int | None = None
    cell: Cell | None = None  # what was read there and is wrong


@dataclass(frozen=True, slots=True)
class _Leaf:
    cells: list[Cell]
    holes: list[Hole]
    long: list[int]  # pages of long values


@dataclass(frozen=True, slots=True)
class _Inner:
    children: list[tuple[int, int | None]]  # each with the highest number below it
    cells: list[Cell]  # of an index alone: a table's inner pages hold no rows
    holes: list[Hole]
    long: list[int]


class Trees:
    """Walks the trees of one file and remembers which pages belong to any."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.seen: set[int] = set()

    def walk(self, root: int, kind: tuple[int, int]) -> Iterator[Cell | Hole]:
        """Everything below a page, in order."""
        waiting: list[tuple[int, int | None, int | None]] = [(root, None, None)]
        walked: set[int] = set()  # a wrong number may lead into the tree of another table
        while waiting:
            number, after, until = waiting.pop()
            if not 0 < number <= self.pages.count or number in walked:
                yield Hole(number, "a page is named that is not part of the table", after, until)
                continue
            walked.add(number)
            self.seen.add(number)
            page = self._read(number, self.pages.page(number), kind)
            if page is None:
                yield Hole(number, "the page cannot be read", after, until)
                continue
            self.seen.update(page.long)
            yield from page.cells
            for hole in page.holes:
                yield Hole(number, hole.why, hole.after or after, hole.until or until, hole.cell)
            if isinstance(page, _Inner):
                below = []
                for child, highest in page.children:
                    below.append((child, after, until if highest is None else highest))
                    after = after if highest is None else highest
                waiting += reversed(below)

    def leaf(self, number: int, kind: tuple[int, int], data: bytes | None = None) -> list[Cell]:
        """The cells of one page, or of an earlier copy of it; none if it is no leaf."""
        page = self.pages.page(number) if data is None else data
        if page[_start(number)] != kind[0]:
            return []
        found = self._leaf(number, page, of_table=kind is TABLE)
        return [] if found is None or found.holes else found.cells

    def _read(self, number: int, data: bytes, kind: tuple[int, int]) -> _Leaf | _Inner | None:
        """The page as what it says it is if all of it fits, else as what fits better."""
        said, of_table = data[_start(number)], kind is TABLE
        leaf = self._leaf(number, data, of_table=of_table)
        if said == kind[0] and leaf is not None and not leaf.holes:
            return leaf
        inner = self._inner(number, data, of_table=of_table)
        if said == kind[1] and inner is not None and not inner.holes:
            return inner
        cells = len(leaf.cells) if leaf is not None else 0
        children = len(inner.children) - len(inner.holes) if inner is not None else 0
        if not cells and children < 1:
            return leaf if said == kind[0] and leaf is not None and not leaf.holes else None
        return leaf if cells >= children else inner

    def _leaf(self, number: int, data: bytes, *, of_table: bool) -> _Leaf | None:
        pointers = _pointers(number, data, 8)
        if pointers is None:
            return None
        cells: list[Cell] = []
        holes: list[Hole] = []
        long: list[int] = []
        for pointer in pointers:
            try:
                cells.append(self._cell(number, data, pointer, long, of_table=of_table))
            except ValueError as error:
                before = cells[-1].rowid if cells and of_table else None
                holes.append(Hole(number, f"a row cannot be read: {error}", before))
        if of_table:
            cells, wrong = _in_order(cells)
            holes += [Hole(number, "a row is out of order", cell=cell) for cell in wrong]
        return _Leaf(cells, holes, long)

    def _inner(self, number: int, data: bytes, *, of_table: bool) -> _Inner | None:
        pointers = _pointers(number, data, 12)
        if pointers is None:
            return None
        children: list[tuple[int, int | None]] = []
        cells: list[Cell] = []
        holes: list[Hole] = []
        long: list[int] = []
        for pointer in pointers:
            child = int.from_bytes(data[pointer : pointer + 4], "big")
            if not self._is_page(child):
                holes.append(Hole(number, "a page is named that there is not"))
                continue
            try:
                if of_table:
                    children.append((child, varint(data, pointer + 4)[0]))
                    continue
                children.append((child, None))
                cells.append(self._cell(number, data, pointer + 4, long, of_table=False))
            except ValueError as error:
                holes.append(Hole(number, f"an entry cannot be read: {error}"))
        start = _start(number)
        last = int.from_bytes(data[start + 8 : start + 12], "big")
        if self._is_page(last):
            children.append((last, None))
        else:
            holes.append(Hole(number, "the last page below is not there"))
        return _Inner(children, cells, holes, long)

    def _is_page(self, number: int) -> bool:
        return 1 < number <= self.pages.count

    def _cell(self, number: int, data: bytes, at: int, long: list[int], *, of_table: bool) -> Cell:
        length, at = varint(data, at)
        rowid = 0
        if of_table:
            rowid, at = varint(data, at)
        used: list[int] = []

        def more(following: int) -> bytes:
            if not self._is_page(following) or following in used or following in long:
                raise ValueError("the pages of a long value are not there")
            used.append(following)
            return self.pages.page(following)

        if length > self.pages.count * self.pages.size:
            raise ValueError("a cell is longer than the file")
        values = record(payload(data, at, length, of_table=of_table, more=more))
        long += used
        if not of_table and values and isinstance(values[-1], int):
            rowid = values[-1]  # an index of a table with numbered rows ends with the number
        return Cell(rowid, values, number)


def _start(number: int) -> int:
    return HEADER if number == 1 else 0


def _pointers(number: int, data: bytes, header: int) -> list[int] | None:
    """Where the cells of a page lie; None if there is no room for as many as it says."""
    start = _start(number)
    (many,) = struct.unpack_from(">H", data, start + _CELLS)
    first = start + header
    room = (len(data) - first) // 4  # a cell takes two bytes at least, and two point to it
    if many > room:
        return None
    found = struct.unpack_from(f">{many}H", data, first)
    return [pointer if pointer > first else len(data) for pointer in found]


def _in_order(cells: list[Cell]) -> tuple[list[Cell], list[Cell]]:
    """The longest run of rows in the order of their numbers, and the rows that are not in it."""
    tails: list[int] = []  # the lowest number that ends a run of each length
    places: list[int] = []
    for cell in cells:
        place = bisect_left(tails, cell.rowid)
        tails[place : place + 1] = [cell.rowid]
        places.append(place)
    wanted, kept, wrong = len(tails) - 1, [], []
    for cell, place in zip(reversed(cells), reversed(places), strict=True):
        if place == wanted:
            kept.append(cell)
            wanted -= 1
        else:
            wrong.append(cell)
    return kept[::-1], wrong[::-1]
