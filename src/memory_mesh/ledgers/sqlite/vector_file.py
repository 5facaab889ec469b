"""The vector file: the vectors of one space in eight bits a number, for the exact scan.

::

    <name>.vectors-<space>   one line: whose it is, how many rows count, where the ledger stood
                             rows in the order of their numbers, each with its own checksum

A cache beside the database, which anybody may delete. Each value is a whole number from -127 to 127
times the row's scale, and the row says how far it is from its vector at most. So a scan knows of
each cosine between which two values it lies, and whoever needs the nearest asks the ledger for the
few that may be among them. It is read and not mapped: a file that is cut under a mapping ends the
process. Rows come before the line that counts them, so a kill leaves a shorter file, and a crash
of the machine leaves pages of zeros, which break the order of the numbers.
"""

import os
import zlib
from contextlib import suppress
from io import FileIO
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, dataclass
from memory_mesh.ledgers.shared.exact_scan import ALONE
from memory_mesh.platform import system
from memory_mesh.platform.durable_files import line_with_sum, words_of_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_mesh.ledgers.shared.exact_scan import Floats, Numbers

SUFFIX = ".vectors-"
HEADER_BYTES = 256
_FORM = "v1"
_FIELDS = 11
_STEPS = 127  # on each side of zero
_LEAST = 1e-30  # a scale; a vector of smaller values is as good as zero
_CHUNK_ROWS = 256  # rows that fit into a processor's own cache


class Unusable(Exception):
    """The file is not what its first line says."""


@dataclass(frozen=True, slots=True)
class Header:
    """Whose vectors a file holds, how many, and where the ledger stood then."""

    identity: str
    space: int
    dimension: int
    rows: int
    last: int  # the number of the last row
    last_crc: int  # the ledger's checksum of that vector
    upto: int  # every vector of the space up to this number is here
    position: int  # the end of the ledger's chain, and its hash
    hash: str


@dataclass(frozen=True, slots=True)
class Scanned:
    """Vectors compared with a question: each cosine, and how far it is off at most."""

    numbers: "Numbers"
    cosines: "Floats"
    errors: "Floats"


def path_of(database: Path, space: int) -> Path:
    """The vector file of a space, beside its database."""
    return database.with_suffix(f"{SUFFIX}{space}")


def files(database: Path) -> list[Path]:
    """The vector files beside a database."""
    stem = database.stem + SUFFIX
    names = [entry.name for entry in os.scandir(database.parent)]
    own = (name for name in names if name.startswith(stem) and name[len(stem) :].isdigit())
    return [database.with_name(name) for name in sorted(own)]


def remove(database: Path) -> int:
    """Removes the vector files beside a database: how many. The next search makes them anew."""
    found = files(database)
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def opened(path: Path) -> FileIO | None:
    """The file for reading; None if there is none, or it cannot be read."""
    with suppress(OSError):
        return FileIO(os.open(path, os.O_RDONLY | system.NO_LINK | getattr(os, "O_BINARY", 0)))
    return None


def size_of(dimension: int) -> int:
    """Bytes of a row: number, scale, error, values, checksum; a multiple of eight."""
    return (8 + 4 + 4 + dimension + 4 + 7) // 8 * 8


def line(header: Header) -> bytes:
    """The first line, with its checksum."""
    words = (
        _FORM, header.identity, header.space, header.dimension, header.rows, header.last,
        header.last_crc, header.upto, header.position, header.hash or "-",
    )  # fmt: skip
    return line_with_sum(" ".join(map(str, words)), HEADER_BYTES)


def header_of(file: FileIO) -> Header | None:
    """What the first line says; None if it is torn or damaged, or the rows do not follow it."""
    file.seek(0)
    words = words_of_line(file.read(HEADER_BYTES), HEADER_BYTES)
    if len(words) != _FIELDS or words[0] != _FORM:
        return None
    identity, hashed = words[1], words[9]
    space, dimension, rows, last, last_crc, upto, position = map(int, words[2:9])
    header = Header(
        identity, space, dimension, rows, last, last_crc, upto, position, hashed.strip("-")
    )
    whole = HEADER_BYTES + header.rows * size_of(header.dimension)
    return header if os.fstat(file.fileno()).st_size >= whole else None


def packed(numbers: "Numbers", vectors: "Floats") -> bytes:
    """Rows of the file for these vectors."""
    import numpy as np

    count, dimension = vectors.shape
    rows = np.zeros(count, _kind(dimension))
    rows["number"] = numbers
    with np.errstate(invalid="ignore", over="ignore"):
        scales = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(_STEPS)
        scales = np.where(np.isfinite(scales) & (scales > _LEAST), scales, np.float32(0))
        usable = scales[:, None] > 0
        steps = np.divide(vectors, scales[:, None], where=usable, out=np.zeros_like(vectors))
        np.rint(steps, out=steps)
        off = vectors - steps * scales[:, None]
        errors = np.sqrt(np.square(off).sum(axis=1)) * np.float32(1.0001)
        errors += np.sqrt(np.square(vectors).sum(axis=1)) * np.float32(dimension * 2.0**-23)
    rows["data"], rows["scale"] = steps.astype(np.int8), scales
    rows["error"] = np.where(np.isfinite(errors), errors, np.float32(np.inf))
    return _summed(rows.tobytes(), size_of(dimension))


def read_rows(file: FileIO, header: Header, first: int, count: int) -> bytes:
    """Rows as they are in the file."""
    size = size_of(header.dimension)
    file.seek(HEADER_BYTES + first * size)
    buffer = bytearray(count * size)
    _fill(file, memoryview(buffer))
    return bytes(buffer)


def is_sound(row: bytes) -> bool:
    """Whether a row has its own checksum."""
    return zlib.crc32(row[:-4]) == int.from_bytes(row[-4:], "little")


def number_of(row: bytes) -> int:
    """The number of a row."""
    return int.from_bytes(row[:8], "little")


def same(row: bytes, other: bytes) -> bool:
    """Whether two rows hold the same vector; how far off they are may be summed in two orders."""
    return row[:12] == other[:12] and row[16:-4] == other[16:-4]


def number_at(file: FileIO, header: Header, row: int) -> int:
    """The number of a row."""
    file.seek(HEADER_BYTES + row * size_of(header.dimension))
    data = file.read(8)
    if data is None or len(data) < 8:  # noqa: PLR2004
        raise Unusable
    return int.from_bytes(data, "little")


def scan(file: FileIO, header: Header, vector: "Floats") -> Scanned:
    """Compares every row with a question."""
    import numpy as np

    found = _Compared(header.rows, vector)
    size, chunk = size_of(header.dimension), rows_at_once(header.dimension)
    buffer = bytearray(chunk * size)
    view, rows = memoryview(buffer), np.frombuffer(buffer, _kind(header.dimension))
    file.seek(HEADER_BYTES)
    for start in range(0, header.rows, chunk):
        count = min(chunk, header.rows - start)
        _fill(file, view[: count * size])
        found.take(rows[:count])
    return found.all()


def pick(file: FileIO, header: Header, vector: "Floats", numbers: "Numbers") -> Scanned | None:
    """Compares the rows with these numbers, which ascend; None where each must be looked for.

    The row of a number is known where no number is missing: that is so in most stores.
    """
    import numpy as np

    first = number_at(file, header, 0) if header.rows else 0
    if header.last - first + 1 != header.rows:
        return None
    wanted = numbers[(numbers >= first) & (numbers <= header.last)] - first
    found = _Compared(len(wanted), vector)
    size, chunk = size_of(header.dimension), rows_at_once(header.dimension)
    buffer = bytearray(chunk * size)
    view, rows = memoryview(buffer), np.frombuffer(buffer, _kind(header.dimension))
    filled = 0
    for start, stop in _runs(wanted, chunk):
        if filled + stop - start > chunk:
            found.take(rows[:filled])
            filled = 0
        file.seek(HEADER_BYTES + start * size)
        _fill(file, view[filled * size : (filled + stop - start) * size])
        filled += stop - start
    found.take(rows[:filled])
    return found.all()


def rows_at_once(dimension: int) -> int:
    """Rows of which a product with one question keeps to one thread and to the cache."""
    return max(1, min(_CHUNK_ROWS, ALONE // max(1, dimension)))


class _Compared:
    """The cosines of rows, taken a few at a time."""

    def __init__(self, count: int, vector: "Floats") -> None:
        import numpy as np

        self._values = np.empty((rows_at_once(len(vector)), len(vector)), np.float32)
        self._vector = vector
        self._numbers: Numbers = np.empty(count, np.int64)
        self._cosines, self._scales, self._errors = np.empty((3, count), np.float32)
        self._taken = 0

    def take(self, rows: "NDArray[np.void]") -> None:
        import numpy as np

        count = len(rows)
        part = slice(self._taken, self._taken + count)
        np.copyto(self._values[:count], rows["data"])
        np.dot(self._values[:count], self._vector, out=self._cosines[part])
        self._numbers[part] = rows["number"]
        self._scales[part], self._errors[part] = rows["scale"], rows["error"]
        self._taken += count

    def all(self) -> Scanned:
        """Raises Unusable for rows that are not in their order: pages that were never written."""
        import numpy as np

        if len(self._numbers) and (
            self._numbers[0] < 1 or not (self._numbers[1:] > self._numbers[:-1]).all()
        ):
            raise Unusable
        length = np.float32(np.sqrt(np.square(self._vector).sum()) * 1.0001)
        with np.errstate(invalid="ignore", over="ignore"):
            cosines, errors = self._cosines * self._scales, self._errors * length
        damaged = ~(np.isfinite(cosines) & (errors >= 0))  # each of these is asked of the ledger
        if damaged.any():
            cosines[damaged], errors[damaged] = 0.0, np.inf
        return Scanned(self._numbers, cosines, errors)


def _kind(dimension: int) -> "np.dtype[np.void]":
    import numpy as np

    return np.dtype(
        {
            "names": ["number", "scale", "error", "data"],
            "formats": ["<i8", "<f4", "<f4", ("i1", (dimension,))],
            "offsets": [0, 8, 12, 16],
            "itemsize": size_of(dimension),
        }
    )


def _summed(rows: bytes, size: int) -> bytes:
    """Rows with their checksums, which are their last four bytes."""
    out = bytearray(rows)
    view, crc32 = memoryview(out), zlib.crc32
    for start in range(0, len(out), size):
        end = start + size - 4
        out[end : end + 4] = crc32(view[start:end]).to_bytes(4, "little")
    return bytes(out)


def _fill(file: FileIO, view: memoryview) -> None:
    """Reads as much as there is room for; raises Unusable if the file ends before."""
    done = 0
    while done < len(view):
        try:
            count = file.readinto(view[done:])
        except OSError as error:
            raise Unusable from error
        if not count:
            raise Unusable
        done += count


def _runs(wanted: "Numbers", most: int) -> list[tuple[int, int]]:
    """Ascending numbers as stretches without a gap, none longer than `most`."""
    import numpy as np

    if not len(wanted):
        return []
    cuts = np.flatnonzero(np.diff(wanted) > 1) + 1
    starts, stops = wanted[[0, *cuts]].tolist(), (wanted[[*(cuts - 1), -1]] + 1).tolist()
    return [
        (at, min(at + most, stop))
        for start, stop in zip(starts, stops, strict=True)
        for at in range(start, stop, most)
    ]
