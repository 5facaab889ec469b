"""The SQLite ledger: a file per namespace, one transaction per write, any number of processes."""

import os
import sqlite3
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, replace
from memory_mesh.ledgers.shared import commit as sql_commit, exact_scan, history, rows, snapshot
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.ledgers.sqlite import namespace_file, schema, spool
from memory_mesh.ledgers.sqlite.connection import SqliteConnection, looked_at
from memory_mesh.ledgers.sqlite.connections import Files
from memory_mesh.ledgers.sqlite.namespace_places import (
    FLAT_NAMESPACES,
    SUFFIX,
    refuse_network_folder,
)
from memory_mesh.model import (
    Body,
    Checkpoint,
    Commit,
    Entry,
    Finding,
    Sizes,
    Space,
    Standing,
    Stats,
    StoreError,
    StoreIsBusy,
    StoreIsDamaged,
    Verification,
    Wanted,
)
from memory_mesh.model.pack import Injection
from memory_mesh.model.ports import Clock, Snapshot
from memory_mesh.platform import forks, locks, moved_marks, telemetry

if TYPE_CHECKING:
    from memory_mesh.ledgers.shared.exact_scan import Floats, Numbers
    from memory_mesh.ledgers.sqlite.file_scan import VectorFiles

_COPY, _VECTORS = ".before-", ".vectors-"

# The record of what was written and recalled, checked against the files beside it.


class SqliteAudit(history.SqlRecords):
    """Implements `ports.Audit` and `ports.SinkCursors`."""

    _clock: Clock
    _files: Files

    def verify(self, namespace: str, against: Checkpoint | None = None) -> Verification:
        """Walk the chain and every invariant, hold it against a checkpoint; never repair."""
        from memory_mesh.ledgers.sqlite.verify import verify

        left = spool.waiting(self._files.spool(namespace))
        try:
            with self._files.looking(namespace) as (db, flaw):
                found = verify(db, against, namespace)
        except StoreIsDamaged as error:  # nothing of it can be opened
            said = looked_at(str(error), namespace)
            return Verification(namespace, left, (Finding("opening", said),), None)
        beside = self._files.spool(namespace)
        wrong, check = flaw or namespace_file.unreadable_head(beside), "head file"
        if wrong is None and found.head is not None and found.head.seq:
            wrong = namespace_file.absent_head(beside, namespace)
            check = "hard link" if wrong and "hard link" in wrong else "missing head file"
        if wrong is not None:
            found = replace(found, findings=(Finding(check, str(wrong)), *found.findings))
        return replace(found, checked={**found.checked, "head file": 1, **left})

    def _reading(self, namespace: str) -> AbstractContextManager[Database]:
        return self._files.reading(namespace)

    def _writing(self, namespace: str) -> AbstractContextManager[Database]:
        return self._files.writing(namespace)

    def _exists(self, namespace: str) -> bool:
        return self._files.exists(namespace)


CLOSING_SECONDS = 1.0  # that `close` waits for a lock; then it leaves its records in the spool


class SqliteLedger(SqliteAudit):
    """Implements `ports.Ledger` on one folder."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        allow_network: bool = False,
        recall_days: int = 0,
        lock_wait: float = locks.USUAL_SECONDS,
        flat_namespaces: int = FLAT_NAMESPACES,
    ) -> None:
        schema.check_sqlite()
        moved_marks.refuse_store(folder)
        if not allow_network:
            refuse_network_folder(folder)
        self._clock, self._recall_days = clock, recall_days
        self._files = Files(folder / "namespaces", lock_wait, flat_namespaces)
        self._closing = min(lock_wait, CLOSING_SECONDS)
        self._waiting = history.NotedBuffer()
        self._left: set[str] = set()  # namespaces of records that this process left in the spool
        self._leaving = weakref.finalize(self, _leave, self._files, self._waiting)
        self._tails = FileTails()
        forks.protect(self._waiting)
        forks.protect(self._tails)

    def commit(
        self, namespace: str, wanted: Wanted, decide: Callable[[Standing], Commit]
    ) -> Commit:
        """Take the lock, read what stands, let `decide` decide, write all of it or nothing."""
        start = telemetry.started()
        with self._recording(namespace) as db:
            head = rows.head(db) if db.stands is None else rows.head_of(db.stands)
            commit = sql_commit.decided(db, head, wanted, decide, self._clock.now())
        sql_commit.tell(commit, start)
        return commit

    @contextmanager
    def read(self, namespace: str) -> Iterator[Snapshot]:
        """One read transaction; a namespace that does not exist reads as empty."""
        with self._files.reading(namespace) as db:
            life = db.life if isinstance(db, SqliteConnection) else ""
            yield snapshot.SqlSnapshot(db, self._tails, f"{namespace} {life}")

    def note(
        self, namespace: str, entry: Entry | None, injection: "Injection | None" = None
    ) -> None:
        """Record a recall soon: with the next commit, when 64 wait, or at close."""
        if self._waiting.add(namespace, history.Noted(entry, injection)):
            self.flush(namespace)

    def flush(self, namespace: str) -> None:
        """Write what waits, here and in the spool; drop it if refused.

        If somebody else writes now, it is left in the spool, where no kill of this process ends it.
        """
        self._flush(namespace, 0.0)

    def use(self, namespace: str, ids: Sequence[str], entry: Entry | None) -> None:
        """Count one use of each memory and record it, as soon as `note` records a recall."""
        telemetry.debug("use", ids=",".join(ids))
        if self._waiting.add(
            namespace, history.Noted(entry, used=tuple(ids), at=self._clock.now())
        ):
            self.flush(namespace)

    def stats(self, namespace: str, session_days: int = 0, *, counted: bool = True) -> Stats:
        """The namespace in numbers; sessions expire after so many days, or never."""
        with self._files.reading(namespace) as db:
            found = sizes(self._files.spool(namespace))
            if not counted:
                return snapshot.uncounted(db, found)
            return snapshot.stats(db, found, self._clock.now(), session_days)

    def index_some(self, namespace: str, space: Space) -> Body | None:  # noqa: ARG002
        """None: the index of a file is kept beside it."""
        return None

    def unswept(self, namespace: str, since: str | None) -> tuple[str | None, int]:  # noqa: ARG002
        """Nothing waits for a vacuum here: a file is written anew."""
        return since, 0

    def namespaces(self, after: str = "", limit: int | None = None) -> Iterator[str]:
        """The names of namespaces, sorted as people see them: those after one, at most so many."""
        return self._files.names(after, limit)

    def close(self) -> None:
        """Write what waits, or leave it in the spool, and release every file: within a second."""
        try:
            with locks.at_most(self._closing):
                for namespace in {*self._waiting.namespaces(), *self._left}:
                    self._flush(namespace, self._closing)
        finally:
            self._leaving()
            self._files.close()

    @contextmanager
    def _recording(self, namespace: str, wait: float | None = None) -> Iterator[SqliteConnection]:
        """A write that also records what waits here, and what other processes left in the spool."""
        with (
            spool.taking(self._files.spool(namespace)) as spooled,
            self._waiting.taken(namespace) as waiting,
            self._files.writing(namespace, wait) as db,
        ):
            yield db
            self._record(db, [*spooled.records(db), *waiting.all()])

    def _flush(self, namespace: str, wait: float) -> None:
        if not self._waiting.holds(namespace) and not self._files.spool(namespace).exists():
            return
        if not self._files.exists(namespace):  # never make a file to say it was empty
            self._waiting.drained(namespace)
            return
        try:
            with self._recording(namespace, wait):
                pass
        except StoreIsBusy:
            self._leave(namespace)
        except StoreError:
            self._waiting.drained(namespace)

    def _leave(self, namespace: str, *noted: history.Noted) -> None:
        """Leaves these records and what waits in the spool; what finds no room there waits on."""
        waiting = [*self._waiting.drained(namespace), *noted]
        if waiting and self._files.exists(namespace):  # else it was just deleted
            self._left.add(namespace)
            rest = spool.append(self._files.spool(namespace), waiting, 0.0)
            self._waiting.wait_again(namespace, rest)

    def _record(self, db: sqlite3.Connection, noted: Sequence[history.Noted]) -> None:
        history.record(db, noted, self._clock.now(), self._recall_days)


def _leave(files: Files, waiting: history.NotedBuffer) -> None:
    """Leaves what still waits in the spool: at close, or when the process ends without it."""
    for namespace in waiting.namespaces():
        noted = waiting.drained(namespace)
        if not files.exists(namespace):
            continue
        if rest := spool.append(files.spool(namespace), noted, spool.LEAVING_SECONDS):
            history.tell_lost(len(rest))


# Bytes of the files of a namespace.


def sizes(spool: Path) -> Sizes:
    """Bytes of the files of a namespace, which lie beside its spool."""
    path = spool.with_suffix(SUFFIX)
    stem, found = path.stem, Counter[str]()
    with suppress(FileNotFoundError):
        names = os.listdir(path.parent)  # noqa: PTH208  # once: there may be 10,000 namespaces
        for name in (name for name in names if name.startswith(stem)):
            found[_part(name.removeprefix(stem))] += _bytes(path.with_name(name))
    return Sizes(
        database=_bytes(path),
        wal=_bytes(path.with_suffix(f"{SUFFIX}-wal")),
        spool=_bytes(spool),
        copies=found["copies"],
        vectors=found["vectors"],
    )


def _part(ending: str) -> str:
    """What a file with this ending is, of those whose names differ."""
    if ending.startswith(_COPY) and ending.endswith(".bak"):
        return "copies"
    is_vectors = ending.startswith(_VECTORS) and ending.removeprefix(_VECTORS).isdigit()
    return "vectors" if is_vectors else ""


def _bytes(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


# The exact scan of a store in a folder: of many vectors a file holds all but the newest.
#
# So a new process need not load them (`file_scan`); one that asks often loads up to HELD_BYTES,
# which is twice as fast. In a folder that cannot be written for a file they come from the ledger.


HELD_AFTER = 32  # searches of a process: then it has paid for the loading of such a matrix
FILE_FROM = 2_048  # vectors of which a file is made; below that a matrix is as fast
FEW = 512  # vectors that are read from the ledger one by one


class FileTails(exact_scan.Tails):
    """The matrices of a process, and what it knows of vector files."""

    def __init__(self) -> None:
        super().__init__()
        self._files: VectorFiles | None = None
        self._asked: dict[exact_scan.Key, int] = {}  # searches of a file

    def against(
        self, db: Database, key: exact_scan.Key, vector: "Floats", floor: int, highest: int
    ) -> exact_scan.Best:
        """A function that gives the n nearest above the floor, from a file if they are many."""
        database = getattr(db, "path", None)
        if floor or highest <= FILE_FROM or database is None:
            return self.from_ledger(db, key, vector, floor, highest)
        asked = self._asked[key] = self._asked.get(key, 0) + 1
        if asked > HELD_AFTER and highest * vector.nbytes <= exact_scan.HELD_BYTES:
            return self.from_ledger(db, key, vector, floor, highest)
        return self._from_file(db, key, vector, highest, database)

    def among(
        self, db: Database, key: exact_scan.Key, vector: "Floats", numbers: "Numbers", count: int
    ) -> list[tuple[float, int]]:
        """The `count` nearest of the vectors with these numbers, which ascend, ties included.

        Few are read from the ledger; of many a vector file tells which may be among the nearest.
        """
        database = getattr(db, "path", None)
        if database is None or len(numbers) <= FEW:
            return super().among(db, key, vector, numbers, count)
        from memory_mesh.ledgers.sqlite import file_scan, vector_file

        best, rest = list[tuple[float, int]](), numbers
        (highest,) = db.execute("SELECT max(number) FROM vector").fetchone()
        source = file_scan.SpaceVectors(db, database, key[1], len(vector), highest)
        header = self._known_files().reach(key, source, fill=False)
        try:
            if header is not None:
                own = numbers[numbers <= header.upto]
                best = file_scan.among(source, header, vector, own).best(count)
                rest = numbers[len(own) :]
        except vector_file.Unusable:
            self._known_files().distrust(key, source)
        scores = exact_scan.scored(db, key[1], rest.tolist(), vector).values()
        return exact_scan.first([*best, *scores], count)

    def after_fork(self) -> None:
        """A child loads its own."""
        super().after_fork()
        self._files, self._asked = None, {}

    def _from_file(
        self, db: Database, key: exact_scan.Key, vector: "Floats", highest: int, database: Path
    ) -> exact_scan.Best:
        """From the vector file, and what is above it from the ledger."""
        from memory_mesh.ledgers.sqlite import file_scan, vector_file

        source = file_scan.SpaceVectors(db, database, key[1], len(vector), highest)
        files = self._known_files()
        header = files.reach(key, source)
        if header is None:
            return self.from_ledger(db, key, vector, 0, highest)
        try:
            old = file_scan.compared(source, header, vector)
        except vector_file.Unusable:
            files.distrust(key, source)
            return self.from_ledger(db, key, vector, 0, highest)
        new = self.from_ledger(db, key, vector, header.upto, highest)

        def best(count: int) -> list[tuple[float, int]]:
            try:
                return exact_scan.first([*old.best(count), *new(count)], count)
            except vector_file.Unusable:
                files.distrust(key, source)
                return exact_scan.stream(db, key[1], 0, vector, count)

        return best

    def _known_files(self) -> "VectorFiles":
        from memory_mesh.ledgers.sqlite.file_scan import VectorFiles

        with self._mutex:
            self._files = self._files or VectorFiles()
            return self._files
