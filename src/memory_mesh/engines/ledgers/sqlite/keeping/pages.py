"""Pages of a database file and its log, read without SQLite: a damaged one has no other reader.

SQLite gives up the rest of a log at the first frame that is wrong. Here every frame of the last
round counts: one with a wrong checksum is read as it is, and its rows are judged one by one. A
page's earlier copies stay at hand.
"""

import os
import struct
from collections import Counter
from pathlib import Path

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

    def __init__(self, path: Path) -> None:
        self._log = _Source(Path(f"{path}-wal"))  # first: what is moved to the file stays right
        self._file = _Source(path)
        self.size: int = self._page_size()
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

    def __init__(self, path: Path) -> None:
        self._descriptor: int | None = None
        self.length = 0
        if path.exists():
            self._descriptor = _open(path)
            self.length = os.fstat(self._descriptor).st_size

    def read(self, start: int, length: int) -> bytes:
        found = b"" if self._descriptor is None else os.pread(self._descriptor, length, start)
        return found.ljust(length, b"\0")


def _open(path: Path) -> int:
    """A descriptor to read the file; one for each file and process, which is never closed."""
    status = path.stat()
    key = (status.st_dev, status.st_ino)
    if key not in _opened:
        _opened[key] = os.open(path, os.O_RDONLY)
    return _opened[key]
