"""Pages of a database file and its log, read without SQLite: a damaged one has no other reader.

SQLite gives up the rest of a log at the first frame that is wrong. Here every frame of the last
round counts: one with a wrong checksum is read as it is, and its rows are judged one by one. A
page's earlier copies stay at hand.
"""

import os
import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.ledgers.sqlite.page_records import Values, payload, record, varint
from memory_mesh.platform import system

TABLE, INDEX = (13, 5), (10, 2)  # how a leaf and an inner page of a tree begin
_WHERE, _CELLS = 5, 3  # in a page's header: where its cells begin, and how many there are

HEADER = 100  # bytes of the file's header, before the first page's own
_USUAL = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)  # page sizes
_KINDS = frozenset((0, 2, 5, 10, 13))  # how a page begins; 0: of a longer value, or free
_LOG_HEADER, _FRAME_HEADER = 32, 24  # bytes
_BIG_ENDIAN = 0x377F0683  # the log's first word, if its sums are of such words
_WORD = 0xFFFFFFFF
_LOOKED_AT = 64  # pages that are read to find the size of one
# A descriptor stays open: closing one of a file drops every lock that SQLite has on it here.
_opened: dict[tuple[int, int], int] = {}


class Pages:
    """The newest copy of every page, and the ones before it."""

    def __init__(self, path: Path, *, log: bool = True) -> None:
        """Read a file with its log, or as if it had none."""
        # first: what is moved to the file stays right
        self._log = _Source(Path(f"{path}-wal") if log else None)
        self._file = _Source(path)
        self.size: int = self._page_size()
        self.log_counts: bool = False  # whether the log holds a whole write, and no broken frame
        self.log_is_cut: bool = False  # whether it ends within a write
        self._places: dict[int, list[int]] = {}  # of a page's copies in the log, oldest first
        self.broken_frames: int = 0
        length = self._read_log()
        self.count: int = max(-(-self._file.length // self.size), length)

    def page(self, number: int) -> bytes:
        """The newest copy of a page; zeros where the file ends before it."""
        places = self._places.get(number)
        return self._at(number) if places is None else self._log.read(places[-1], self.size)

    def earlier(self, number: int) -> list[bytes]:
        """The copies that the newest one replaced, newest first."""
        places = self._places.get(number)
        if places is None:
            return []
        copies = [self._log.read(place, self.size) for place in reversed(places[:-1])]
        return [*copies, self._at(number)]

    def schema_version(self) -> int:
        """What the header says is the last migration."""
        (found,) = struct.unpack(">I", self.page(1)[60:64])
        return int(found)

    def application(self) -> int:
        """Whose file the header says it is; files of before schema 11 do not say."""
        (found,) = struct.unpack(">I", self.page(1)[68:72])
        return int(found)

    def free_pages(self) -> set[int]:
        """The pages that hold nothing any more, as far as their list can be followed."""
        free: set[int] = set()
        (trunk,) = struct.unpack(">I", self.page(1)[32:36])
        while 1 < trunk <= self.count and trunk not in free:
            free.add(trunk)
            page = self.page(trunk)
            following, many = struct.unpack(">II", page[:8])
            many = min(many, self.size // 4 - 2)
            free.update(struct.unpack(f">{many}I", page[8 : 8 + 4 * many]))
            trunk = following
        return free

    def _at(self, number: int) -> bytes:
        return self._file.read((number - 1) * self.size, self.size)

    def _page_size(self) -> int:
        (told,) = struct.unpack(">H", self._file.read(16, 2))
        size = 65536 if told == 1 else told
        if size in _USUAL:
            return size
        (told,) = struct.unpack(">I", self._log.read(8, 4))
        if self._log.length and told in _USUAL:
            return int(told)
        return max(_USUAL, key=self._likelihood)  # the least of several: each begins at a page

    def _likelihood(self, size: int) -> float:
        """The share of pages that begin as one does, if pages were so large."""
        many = min(self._file.length // size, _LOOKED_AT)
        begun = [self._file.read(number * size, 1)[0] for number in range(1, many)]
        return sum(kind in _KINDS for kind in begun) / max(len(begun), 1)

    def _read_log(self) -> int:
        """Finds the frames of the last round up to its last commit; the pages there are then."""
        frame = _FRAME_HEADER + self.size
        many = (self._log.length - _LOG_HEADER) // frame
        if many < 1:
            return 0
        heads = [self._log.read(_LOG_HEADER + n * frame, _FRAME_HEADER) for n in range(many)]
        counted = self._counting(heads)
        ends = [n for n in counted if any(heads[n][4:8])]
        if not ends:
            return 0
        for n in counted:
            (page,) = struct.unpack(">I", heads[n][:4])
            if n <= ends[-1] and page:
                self._places.setdefault(page, []).append(_LOG_HEADER + n * frame + _FRAME_HEADER)
        self.log_counts = not self.broken_frames
        rest = (self._log.length - _LOG_HEADER) % frame
        self.log_is_cut = counted[-1] > ends[-1] or bool(rest and counted[-1] == many - 1)
        (length,) = struct.unpack(">I", heads[ends[-1]][4:8])
        return int(length) if length < 2 * (self._file.length // self.size + many) else 0

    def _counting(self, heads: list[bytes]) -> list[int]:
        """The frames of the last round; those of an earlier one may follow and have other marks."""
        header = self._log.read(0, _LOG_HEADER)
        marks = Counter(head[8:16] for head in heads)
        mark = header[16:24] if header[16:24] in marks else heads[0][8:16]
        before, counting, last = header[24:32], [], True
        big = header[:4] == struct.pack(">I", _BIG_ENDIAN)
        for n, head in enumerate(heads):
            right = last and self._sum(n, head, before, big=big) == head[16:24]
            last = right or head[8:16] == mark
            if last:
                counting.append(n)
                self.broken_frames += not right
            before = head[16:24]
        return counting

    def _sum(self, number: int, head: bytes, before: bytes, *, big: bool) -> bytes:
        """The checksum that a frame should have, after that of the frame before."""
        start = _LOG_HEADER + number * (_FRAME_HEADER + self.size) + _FRAME_HEADER
        data = head[:8] + self._log.read(start, self.size)
        words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
        first, second = struct.unpack(">II", before)
        for one, other in zip(words[::2], words[1::2], strict=True):
            first = (first + one + second) & _WORD
            second = (second + other + first) & _WORD
        return struct.pack(">II", first, second)


class _Source:
    """Bytes of a file; beyond its end there are zeros."""

    def __init__(self, path: Path | None) -> None:
        self._descriptor: int | None = None
        self.length = 0
        if path is not None and path.exists():
            self._descriptor = _open(path)
            self.length = os.fstat(self._descriptor).st_size

    def read(self, start: int, length: int) -> bytes:
        found = b"" if self._descriptor is None else system.read_at(self._descriptor, length, start)
        return found.ljust(length, b"\0")


def _open(path: Path) -> int:
    """A descriptor to read the file; one for each file and process, which is never closed."""
    status = path.stat()
    key = (status.st_dev, status.st_ino)
    if key not in _opened:
        _opened[key] = os.open(path, os.O_RDONLY)
    return _opened[key]


# Trees of pages: every row and index entry that can still be read, and where some cannot.
#
# A page that says it is of another kind, as one changed bit can make it, is read as what most of
# its
# cells make it. The rows of a page are in the order of their numbers, or one of them is wrong.


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


def parts(path: Path, size: int, overlap: int) -> Iterator[bytes]:
    """A database's bytes, so many at once and a little of those that follow; it stays open."""
    source = _Source(path)
    for start in range(0, source.length, size):
        yield source.read(start, min(size + overlap, source.length - start))
