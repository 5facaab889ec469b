"""Copies of namespace files while others write, by SQLite's backup interface.

::

    BEGIN ── read the store row ── copy pages, a few at a time ── COMMIT
      └──────────── one moment of the file: others go on writing to its log ───┘

SQLite starts a copy anew when somebody writes between two of its steps, and under eight writers it
did so again and again. It does not while the connection that is copied from holds a read
transaction. Readers keep nobody from writing, so the steps wait for nothing.
"""

import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.ledgers.shared import commit as sql_commit, named_values, rows
from memory_mesh.ledgers.shared.erasing import GRAM, STEP
from memory_mesh.ledgers.sqlite import (
    archive_rows,
    namespace_file,
    namespace_places,
    open_file,
    schema,
)
from memory_mesh.ledgers.sqlite.connection import SqliteConnection, translated
from memory_mesh.model import (
    BlockOperation,
    Commit,
    Entry,
    StoreIsDamaged,
)
from memory_mesh.model.care import NamespaceCopy
from memory_mesh.model.commit import Erasing
from memory_mesh.platform import forks, locks, system
from memory_mesh.platform.durable_files import sync_folder
from memory_mesh.platform.ids import MonotonicIds, SystemClock

_ENDING = re.compile(
    r"\.db(-wal|-shm|-journal)?|\.lock|\.head|\.moved|\.spool(-[0-9a-f]+)?|\.vectors-[0-9]+|\.salvage\.jsonl"
    r"|\.erasing-erase_[0-9]+_[0-9a-f]+"
    r"|\.(before|moved|lost)-[0-9A-Za-z-]+\.bak(-wal|-shm|-journal)?"
    r"|\.[0-9a-f]{12}\.partial(-wal|-shm|-journal)?"  # of a killed import
)
_IDENTITY = re.compile(r"[0-9a-f]{32}")
_LAST = (".db", ".db-wal", ".db-shm", ".lock")  # while the lock is there, nobody makes it anew

_FORGOTTEN = (
    "DELETE FROM file WHERE path IN (SELECT path FROM entry WHERE memory = ?)",
    "DELETE FROM entry WHERE memory = ?",
    "DELETE FROM wish WHERE memory = ?",
)  # of the state of a mirror
_READING_SECONDS = 1.0  # that a copy waits while SQLite makes or removes the log
_STEP_PAGES = 512  # 4 MiB: often enough for a line of progress
Progress = Callable[[int, int], None]  # pages that are copied, and all
# Of a namespace of these identities and ids: those that were erased, and what keeps words out.
Erased = Callable[[Sequence[str], Sequence[str]], tuple[list[str], list[bytes]]]


def is_store(store: Path) -> bool:
    """Whether a folder has a namespace that holds anything."""
    databases = namespace_places.holding(store / "namespaces", namespace_places.SUFFIX)
    return any(_holds_anything(path) for _, path in databases)


def files(store: Path) -> dict[str, Path]:
    """The files of a store's namespaces that hold anything, by namespace, sorted."""
    return {name: path for name, path in databases(store).items() if _holds_anything(path)}


def databases(store: Path) -> dict[str, Path]:
    """The files of a store's namespaces, those too that are just made, by namespace, sorted."""
    found: dict[str, Path] = {}
    for namespace, path in namespace_places.holding(store / "namespaces", namespace_places.SUFFIX):
        found.setdefault(namespace, path)
    return dict(sorted(found.items()))


def gone(store: Path) -> dict[str, str]:
    """What is wrong with namespaces that were written to and hold nothing, or that are no files."""
    endings = namespace_places.SUFFIX, namespace_file.SUFFIX
    found = sorted(set(namespace_places.holding(store / "namespaces", *endings)))
    told = ((namespace, missing(database, namespace)) for namespace, database in found)
    return {namespace: said for namespace, said in told if said is not None}


def missing(database: Path, namespace: str) -> str | None:
    """What is wrong with a namespace that is no file, or holds less than its head file tells."""
    if (wrong := namespace_places.no_file(database)) is not None:
        return wrong
    mark = namespace_file.read_head(database)
    if mark is None or (database.exists() and database.stat().st_size):
        return None
    if namespace_file.read_head(database) != mark:  # it was deleted meanwhile
        return None
    what = "it is empty" if database.exists() else "it is gone"
    return str(namespace_file.missing(database, namespace, mark, what))


def place(store: Path, namespace: str) -> Path:
    """The file of a namespace: where it lies, or in the flat folder if there is none."""
    return namespace_places.database(store / "namespaces", namespace)


def copied(source: Path, target: Path, progress: Progress | None = None) -> NamespaceCopy:
    """Copies a namespace's file as it is at one moment; says which, and which writes it lacks."""
    system.make_file(target)  # SQLite fills an empty file and keeps its mode
    mark = namespace_file.read_head(source)
    with (
        translated(source, _namespace(source)),
        forks.inside_sqlite(),
        closing(_as_it_is(source)) as db,
        closing(sqlite3.connect(target, isolation_level=None)) as new,
    ):
        new.execute("PRAGMA synchronous = OFF")  # whoever asked for the copy syncs it
        db.execute("BEGIN")
        found = _standing(db)
        flaw = None if mark is None else namespace_file.flaw(db, source, found.namespace, mark)
        db.backup(new, pages=_STEP_PAGES, progress=_told(progress), sleep=0.0)
        db.execute("COMMIT")
    if flaw is None or namespace_file.read_head(source) != mark:  # it was just restored
        return found
    return replace(found, findings=(f"head file: {flaw}",))


def standing(path: Path) -> NamespaceCopy:
    """Where the namespace in a file stands; raises StoreIsDamaged for any other file."""
    with translated(path, _namespace(path)), forks.inside_sqlite(), closing(_reading(path)) as db:
        return _standing(db)


@contextmanager
def kept_open(paths: Iterable[Path]) -> Iterator[None]:
    """Keeps a connection to each file, so that no other process's is the last one.

    The last connection removes the log by its path. Between its look whether the path still leads
    to its file and the removal, another file with a log of its own could have come there.
    """
    with ExitStack() as stack:
        for path in paths:
            with forks.inside_sqlite(), suppress(sqlite3.Error):  # of a damaged one nobody has any
                db = stack.enter_context(closing(_reading(path)))
                db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield


def acknowledge(path: Path) -> None:
    """Writes the head file of a copy, so that open processes know that it is meant to be older."""
    with translated(path, _namespace(path)), forks.inside_sqlite(), closing(_reading(path)) as db:
        namespace_file.write_head(path, namespace_file.stood(db))


def _as_it_is(path: Path) -> sqlite3.Connection:
    """A connection that leaves a damaged log for salvage; see `namespace_file.first_look`."""
    if (
        not namespace_file.cannot_be_written(path)
        and namespace_file.lack(path, _namespace(path)) is not None
    ):
        return open_file.connect(path, "mode=ro")
    return _reading(path)


def _reading(path: Path) -> sqlite3.Connection:
    """A connection that sees what the log holds, also where nothing can be written."""
    if namespace_file.cannot_be_written(path):
        return open_file.connect_read_only(path, _namespace(path))
    end = locks.until(_READING_SECONDS)
    open_file.await_log(path, end)
    return open_file.patiently(path, lambda: open_file.connect(path), end)


def _holds_anything(path: Path) -> bool:
    with suppress(FileNotFoundError):
        found = os.lstat(path)
        return stat.S_ISREG(found.st_mode) and bool(found.st_size)
    return False


def _namespace(path: Path) -> str:
    return namespace_places.namespace(path.name) or path.name


def _standing(db: sqlite3.Connection) -> NamespaceCopy:
    number = schema.version(db)
    if not number:
        raise StoreIsDamaged
    open_file.check_reader(db)
    namespace, identity, seq, position, head = db.execute(
        "SELECT namespace, identity, seq, position, head FROM store"
    ).fetchone()
    return NamespaceCopy(
        str(namespace), str(identity), number, int(seq), int(position), bytes(head).hex()
    )


def _told(progress: Progress | None) -> Callable[[int, int, int], object] | None:
    return None if progress is None else lambda _, rest, pages: progress(pages - rest, pages)


# A namespace's files, all of them: which they are, what they say of it, and taking them away.


@dataclass(frozen=True, slots=True)
class Doomed:
    """What is known of a namespace before it goes; a damaged one may tell less."""

    identity: str | None
    ids: frozenset[str]  # of memories and skills, as other files of the store may name them
    memories: int | None
    namespace: str | None = None  # as the file itself says


def namespace_files(folder: Path, namespace: str) -> list[Path]:
    """Every file of a namespace that is there, in the order in which they may go.

    Copies of before and a marker may lie in the flat folder and the database in one of its own.
    """
    stem = namespace_places.file_name(namespace).removesuffix(namespace_places.SUFFIX)
    own: list[tuple[int, str, Path]] = []
    for place in namespace_places.both_folders(folder, namespace):
        try:
            names = [entry.name for entry in os.scandir(place)]
        except FileNotFoundError:
            continue
        endings = (name.removeprefix(stem) for name in names if name.startswith(stem))
        own += (
            (_LAST.index(ending) if ending in _LAST else -1, ending, place / f"{stem}{ending}")
            for ending in endings
            if _ENDING.fullmatch(ending)
        )
    return [path for _, _, path in sorted(own)]


def last_look(path: Path) -> Doomed:
    """What a database says of itself; where it is damaged, what the head file says."""
    try:
        with closing(_opened(path)) as db:
            identity, said = db.execute("SELECT identity, namespace FROM store").fetchone()
            ids = frozenset(_ids(db))
            (memories,) = db.execute("SELECT count(*) FROM memory").fetchone()
            return Doomed(str(identity), ids, int(memories), str(said))
    except (sqlite3.Error, TypeError, OSError):
        return Doomed(_identity_of_head(path), frozenset(), None)


def mirrored(state: Path) -> tuple[Path, list[Path]] | None:
    """The folder that the state of a mirror names, and the files in it that people wrote."""
    try:
        with closing(_opened(state)) as db:
            ((folder,),) = db.execute("SELECT value FROM value WHERE name = 'folder'")
            own = db.execute("SELECT DISTINCT path FROM entry WHERE NOT written ORDER BY path")
            return Path(folder), [Path(folder, path) for (path,) in own]
    except (sqlite3.Error, ValueError):
        return None


def mirrored_paths(state: Path, ids: Iterable[str]) -> list[str]:
    """The files that a mirror wrote memories to, as other documents name them."""
    with suppress(sqlite3.Error), closing(_opened(state)) as db:
        asked = "SELECT path FROM entry WHERE memory = ?"
        return [path for id_ in ids for (path,) in db.execute(asked, (id_,))]
    return []


def forget_mirrored(states: Iterable[Path], ids: Iterable[str]) -> None:
    """Takes the documents of memories out of the states of mirrors, which then read them anew."""
    gone = [(id_,) for id_ in ids]
    for state in states:
        with suppress(sqlite3.Error), closing(_opened(state)) as db:
            with db:
                for statement in _FORGOTTEN:
                    db.executemany(statement, gone)
                db.execute("DELETE FROM listing")  # a file's name has words of its text
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def remove(paths: list[Path]) -> int:
    """Removes files, on the disk when it returns; returns how many bytes they had."""
    size = 0
    for path in paths:
        try:
            size += path.stat().st_size
            path.unlink()
        except FileNotFoundError:  # SQLite of another process removed its log
            continue
    for folder in {path.parent for path in paths}:
        sync_folder(folder)
    return size


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{namespace_places.quoted(str(path.absolute()))}?mode=rw", uri=True
    )


def _ids(db: sqlite3.Connection) -> Iterator[str]:
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    for table in ("memory", "skill"):
        if table in tables:
            rows = db.execute(f"SELECT id FROM {table}")  # noqa: S608  # two fixed names
            yield from (str(id_) for (id_,) in rows)


def _identity_of_head(path: Path) -> str | None:
    """The identity in the head file beside a database: its second word."""
    try:
        words = path.with_suffix(".head").read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return None
    return words[1] if len(words) > 1 and _IDENTITY.fullmatch(words[1]) else None


# A database written anew, so that it holds its rows and nothing else.
#
# SQLite leaves what was deleted in free pages and in its log, and FTS5 in its segments. VACUUM
# writes the rows into new pages; the log is emptied when no reader needs an earlier moment.

_OWN = GRAM - STEP  # bytes of a piece that a row says
_SHELVES = ("live", "rest", "skill_live")


def rewrite(path: Path, namespace: str) -> str | None:
    """Writes a namespace's file anew and empties its log; says who keeps that from being done."""
    with (
        locks.locked(path.with_suffix(".lock")),
        translated(path, namespace),
        forks.inside_sqlite(),
        closing(open_file.connect(path)) as db,
    ):
        if is_rewritten(db, path):
            return None
    readers = ", ".join(map(str, locks.readers(path)))
    return (
        f"a reader holds an earlier moment of {path.name} open"
        + (f" (process {readers})" if readers else "")
        + "; when it has ended, run `memory-mesh upkeep`"
    )


def is_rewritten(db: SqliteConnection, path: Path) -> bool:
    """Writes a file anew, whose lock is held; False if a reader needs what its log holds."""
    end = locks.until(locks.USUAL_SECONDS)
    open_file.patiently(path, lambda: db.execute("BEGIN IMMEDIATE"), end)
    for shelf in _SHELVES:  # it keeps words that were deleted until its parts are merged
        db.execute(f"INSERT INTO {shelf} ({shelf}) VALUES ('optimize')")  # noqa: S608  # own names
    db.execute("COMMIT")
    open_file.patiently(path, lambda: db.execute("VACUUM"), end)
    (busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def unsaid(path: Path, hits: set[bytes]) -> set[bytes]:
    """Those of the pieces that no row of the database says.

    A few bytes of a piece may be those of the value that stands beside it.
    """
    rest = set(hits)
    if not path.exists():  # the namespace of a user who was erased
        return rest
    with forks.inside_sqlite(), closing(open_file.connect(path, "mode=ro")) as db:
        db.text_factory = bytes
        tables = [
            name.decode()
            for (name,) in db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIR%'"
            )
        ]
        for table in ("sqlite_master", *tables):
            for row in db.execute(f'SELECT * FROM "{table}"'):  # noqa: S608  # its own names
                said = b"\0".join(value for value in row if isinstance(value, bytes))
                rest -= {piece for piece in rest if piece[:_OWN] in said or piece[-_OWN:] in said}
                if not rest:
                    return rest
    return rest


# Replay: what was erased from a store is taken out of a copy of before that comes back to it.
#
# Such a copy holds memories that were erased since, and lacks the digests that keep their words
# out. The erasure file of the store knows both, by the identity that only such a copy has.


def replay(path: Path, namespace: str, erased: Erased) -> int:
    """Takes out of a namespace's file what was erased from a store since; how many memories.

    The file is nobody else's yet.
    """
    with forks.inside_sqlite(), closing(open_file.connect(path)) as db:
        identities = [identity for (identity,) in db.execute("SELECT identity FROM store")]
        if schema.version(db) >= schema.NEWEST:
            identities = [*archive_rows.mark(db).identities]
        gone, digests = erased(identities, list(_ids(db)))
        if gone or digests:
            schema.make(db, namespace)
        elif schema.version(db) < schema.NEWEST or not named_values.beginning_with(
            db, named_values.ERASING
        ):
            return 0
        memories = Erasing(tuple(gone), skills=tuple(gone))
        at = datetime.now(UTC)
        entry = Entry(
            MonotonicIds(SystemClock()).draw(f"yamo_{BlockOperation.ERASE}"),
            BlockOperation.ERASE,
            None,
            at,
            memories.ids,
            None,
            {"type": "replay", "why": "erased since this copy was made"},
        )
        db.execute("BEGIN IMMEDIATE")
        commit = Commit(
            erased=memories,
            tombstones=tuple((digest, "erased") for digest in digests),
            entries=(entry,) if gone else (),
            states=dict.fromkeys(named_values.beginning_with(db, named_values.ERASING)),
        )
        head = rows.head(db)
        sql_commit.write(db, head, sql_commit.recorded_time(head, at), commit)
        db.execute("COMMIT")
        is_rewritten(db, path)
    return sum(not id_.startswith("skill_") for id_ in gone)
