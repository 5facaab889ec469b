"""The exact scan of a large space by its vector file: whose it is, how it grows, what is nearest.

::

    a search ── the file's first line is believed? ── no ──▶ emptied and filled anew
                 │ yes                                            │ under its lock, which nobody
                 │ far behind the ledger? ─────────────▶ filled up │ waits for: whoever does not
                 ▼                                                 ▼ get it reads the ledger
    rows compared ──▶ those that may be among the nearest ──▶ the ledger: text and exact cosine

A damaged file may cost a candidate. It gives no text, score or audience: the ledger does.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, dataclass, replace
from memory_mesh.ledgers.shared import exact_scan
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.ledgers.sqlite import namespace_file, vector_file
from memory_mesh.model.errors import StoreIsBusy
from memory_mesh.platform import locks, system

if TYPE_CHECKING:
    from memory_mesh.ledgers.shared.exact_scan import Floats, Numbers

GROWN = 1_024  # numbers that the file is behind the ledger before it is filled up
_STANDS = (
    "SELECT identity, position, head, seq, (SELECT hash FROM block WHERE position = ?1), "
    "(SELECT coalesce(crc, -1) FROM vector WHERE number = ?2 AND space = ?3) FROM store"
)


@dataclass(frozen=True, slots=True)
class SpaceVectors:
    """The vectors of one space as a read transaction sees them."""

    db: Database
    database: Path
    space: int
    dimension: int
    highest: int  # the last number of any space

    @property
    def path(self) -> Path:
        """Their file."""
        return vector_file.path_of(self.database, self.space)


class VectorFiles:
    """What a process knows of vector files: which first lines it holds for true."""

    def __init__(self) -> None:
        self._believed: dict[tuple[str, int], vector_file.Header] = {}
        self._failed: dict[tuple[str, int], int] = {}  # how far the ledger went when none was made

    def reach(
        self, key: tuple[str, int], source: SpaceVectors, *, fill: bool = True
    ) -> vector_file.Header | None:
        """The first line of a file that may be used, filled up if it is far behind."""
        header, sound = self._looked_at(key, source)
        upto = max(0 if header is None else header.upto, self._failed.get(key, 0))
        if fill and source.highest - upto > GROWN:
            grown = _filled(source, header if sound else None)
            self._failed.pop(key, None)
            if grown is None or source.highest - grown.upto > GROWN:
                self._failed[key] = source.highest
            header = grown or header
        if header is not None:
            self._believed[key] = header
        return header

    def distrust(self, key: tuple[str, int], source: SpaceVectors) -> None:
        """Removes a file that is not what it says, unless somebody is filling it."""
        self._believed.pop(key, None)
        with suppress(StoreIsBusy, OSError), _locked(source.path, 0.0):
            source.path.unlink(missing_ok=True)

    def _looked_at(
        self, key: tuple[str, int], source: SpaceVectors
    ) -> tuple[vector_file.Header | None, bool]:
        """What may be used, and whether the file is sound as far as is known."""
        before = self._believed.pop(key, None)
        file = vector_file.opened(source.path)
        if file is None:
            return None, True  # nothing that is wrong: it is made when it is worth it
        with file:
            header = vector_file.header_of(file)
        if header is None:
            return None, False
        if header == before and header.upto <= source.highest:
            return header, True
        told = belief(source, header)
        if told is None:  # somebody filled it up after this transaction began
            fits = before is not None and before.rows <= header.rows
            return (before if fits else None), True
        return (header if told else None), told


def belief(source: SpaceVectors, header: vector_file.Header) -> bool | None:
    """Whether a file is this ledger's; None if only a later transaction can tell."""
    found = source.db.execute(_STANDS, (header.position, header.last, source.space)).fetchone()
    identity, position, _, _, hashed, crc = found
    own = (identity, source.space, source.dimension)
    if (header.identity, header.space, header.dimension) != own:
        return False
    if header.position > position or header.upto > source.highest:
        mark = namespace_file.read_head(source.database)
        later = mark is not None and mark.identity == identity and mark.position > position
        return None if later and header.position > position else False
    return not (header.position and (hashed is None or bytes(hashed).hex() != header.hash)) and (
        not header.rows or header.last_crc == crc
    )


class NearestRows:
    """The nearest rows of a file to a question, exact."""

    def __init__(
        self, source: SpaceVectors, vector: "Floats", scanned: vector_file.Scanned
    ) -> None:
        self._source, self._vector, self._scanned = source, vector, scanned
        self._low, self._high = scanned.cosines - scanned.errors, scanned.cosines + scanned.errors
        self._known: dict[int, tuple[float, int]] = {}  # row -> cosine, text

    def best(self, count: int) -> list[tuple[float, int]]:
        """The `count` nearest as (cosine, text), nearest first, ties with the last included."""
        import numpy as np

        while True:
            if count < len(self._low):
                least = np.partition(self._low, -count)[-count]
                chosen = np.flatnonzero((self._high >= least) & (self._high > -np.inf))
            else:
                chosen = np.flatnonzero(self._high > -np.inf)
            wanted = chosen.tolist()
            if not self._score([row for row in wanted if row not in self._known]):
                break
        scores = [self._known[row] for row in wanted]
        texts = np.fromiter((text for _, text in scores), np.int64, len(scores))
        cosines = np.fromiter((cosine for cosine, _ in scores), np.float32, len(scores))
        return exact_scan.nearest(texts, cosines, count)

    def _score(self, wanted: Sequence[int]) -> bool:
        """Asks the ledger for these rows; True if some of them are gone from it."""
        import numpy as np

        numbers = self._scanned.numbers[wanted].tolist() if wanted else []
        found = exact_scan.scored(self._source.db, self._source.space, numbers, self._vector)
        gone = [row for row, number in zip(wanted, numbers, strict=True) if number not in found]
        for row, number in zip(wanted, numbers, strict=True):
            if number in found:
                self._known[row] = cosine, _ = found[number]
                off = abs(cosine - float(self._scanned.cosines[row]))
                if off > float(self._scanned.errors[row]) + 1e-5:
                    raise vector_file.Unusable
        self._low[gone] = self._high[gone] = -np.inf
        return bool(gone)


def compared(source: SpaceVectors, header: vector_file.Header, vector: "Floats") -> NearestRows:
    """Every row of a file against a question; raises Unusable for a file that is not whole."""
    with _reading(source) as file:
        return NearestRows(source, vector, vector_file.scan(file, header, vector))


def among(
    source: SpaceVectors, header: vector_file.Header, vector: "Floats", numbers: "Numbers"
) -> NearestRows:
    """Rows with these numbers, which ascend, against a question; others are left out."""
    import numpy as np

    with _reading(source) as file:
        few = 4 * len(numbers) < header.rows
        found = vector_file.pick(file, header, vector, numbers) if few else None
        if found is None:
            found = vector_file.scan(file, header, vector)
            own = np.isin(found.numbers, numbers, assume_unique=True)
            found = vector_file.Scanned(found.numbers[own], found.cosines[own], found.errors[own])
        return NearestRows(source, vector, found)


def _filled(source: SpaceVectors, believed: vector_file.Header | None) -> vector_file.Header | None:
    """Fills a file up to what this transaction sees; None if somebody else does, or it cannot be.

    A file that is not believed is emptied first.
    """
    if not os.access(source.database.parent, os.W_OK):
        return believed
    with suppress(StoreIsBusy, OSError), _locked(source.path, 0.0, make=True) as file:
        there = vector_file.header_of(file)
        stands = source.db.execute(_STANDS, (0, 0, 0)).fetchone()
        mark = namespace_file.read_head(source.database)
        if mark is not None and (mark.seq > stands[3] or mark.identity != stands[0]):
            return believed  # a later transaction fills it: what was erased since stays away
        if there != believed and there is not None and belief(source, there) is not False:
            return believed  # somebody was faster
        header = believed if there == believed else None
        if header is None:
            file.truncate(0)
            identity, position, hashed, *_ = stands
            header = vector_file.Header(
                identity, source.space, source.dimension, 0, 0, 0, 0, position, bytes(hashed).hex()
            )
        else:
            header = replace(header, position=stands[1], hash=bytes(stands[2]).hex())
        return _appended(source, file, header)
    return believed


def _appended(source: SpaceVectors, file: FileIO, header: vector_file.Header) -> vector_file.Header:
    """Adds what the ledger holds above the file; a full disk leaves it as it was."""
    size = vector_file.size_of(source.dimension)
    whole = vector_file.HEADER_BYTES + header.rows * size
    try:
        file.truncate(whole)
        for numbers, crcs, block in _blocks(source, header.upto):
            file.seek(vector_file.HEADER_BYTES + header.rows * size)
            _write(file, vector_file.packed(numbers, block))
            last = int(numbers[-1])
            header = replace(
                header, rows=header.rows + len(numbers), last=last, last_crc=crcs[-1], upto=last
            )
            _count(file, header)
            whole = vector_file.HEADER_BYTES + header.rows * size
        header = replace(header, upto=source.highest)
        _count(file, header)
    except OSError:
        with suppress(OSError):
            file.truncate(whole)
        raise
    return header


def _blocks(source: SpaceVectors, after: int) -> "Iterator[tuple[Numbers, list[int], Floats]]":
    """Vectors above a number, block by block, with their checksums."""
    import numpy as np

    cursor = source.db.execute(
        "SELECT number, coalesce(crc, -1), data FROM vector WHERE number > ? AND space = ? "
        "ORDER BY number",
        (after, source.space),
    )
    while got := cursor.fetchmany(exact_scan.BLOCK):
        numbers = np.fromiter((row[0] for row in got), np.int64, len(got))
        block = np.frombuffer(b"".join(row[2] for row in got), np.float32)
        yield numbers, [row[1] for row in got], block.reshape(len(got), source.dimension)


def _count(file: FileIO, header: vector_file.Header) -> None:
    """Says how many rows count: in one write, after the rows."""
    file.seek(0)
    _write(file, vector_file.line(header))


def _write(file: FileIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]


@contextmanager
def _reading(source: SpaceVectors) -> Iterator[FileIO]:
    file = vector_file.opened(source.path)
    if file is None:
        raise vector_file.Unusable
    with file:
        yield file


@contextmanager
def _locked(path: Path, seconds: float, *, make: bool = False) -> Iterator[FileIO]:
    """The file for writing, under its lock; raises StoreIsBusy if somebody else has it."""
    flags = os.O_RDWR | system.NO_LINK
    flags |= getattr(os, "O_BINARY", 0)
    descriptor = system.open_file(path, flags) if make else os.open(path, flags)
    with FileIO(descriptor, "r+") as file, locks.held(path, descriptor, seconds):
        if not locks.still_at(path, descriptor):
            raise StoreIsBusy(str(path))
        yield file
