"""What a mirror remembers between runs: files by stamp, documents by the memory they are.

One SQLite file per mirrored folder, below the store's folder. It holds digests, paths and the
titles that the store shows, no words of a document. If it is lost or broken, the next run begins
anew: it meets texts that are stored already, and documents that name their memory. So nothing waits
for the disk here; after the machine has been started anew, the file is checked once.

The Markdown files of the folder are listed with their stamps, one `scandir` per folder and one
`stat` per file: a file whose stamp is known is not opened. The stamp is the time of the last change
of the file's inode, which no program can set back. Names that begin with a dot, other endings and
links are left alone.
"""

import dataclasses
import hashlib
import json
import os
import sqlite3
import stat
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path, PurePosixPath

from memory_mesh.base.typed import Any, Self, TypeAlias, dataclass, fields
from memory_mesh.model.errors import StoreError
from memory_mesh.model.ports import Clock
from memory_mesh.platform import system
from memory_mesh.platform.ids import SystemClock
from memory_mesh.platform.locks import USUAL_SECONDS

Stamp: TypeAlias = int  # when the file last changed, in ns
Stamps: TypeAlias = Mapping[str, Mapping[str, Stamp]]  # by folder, then by name
ENDING = ".md"
MAX_FILE_BYTES = 1_000_000  # of one file
UNSETTLED_NS = 2_000_000_000  # a file may change again within one tick of its file system's clock
NO_STAMP: Stamp = 0  # differs from that of every file: it is read at the next run


@dataclasses.dataclass(slots=True)
class Listing:
    """The files of each folder, and the folders that could not be looked into.

    A folder is named by what stands before the names of its files: nothing, or `notes/`.
    """

    stamps: dict[str, dict[str, Stamp]] = dataclasses.field(default_factory=dict)
    unreadable: list[str] = dataclasses.field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.stamps.values()))

    def __contains__(self, path: str) -> bool:
        folder, slash, name = path.rpartition("/")
        return name in self.stamps.get(folder + slash, {})


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as it was read: its bytes, their hash, its text and its stamp before the reading."""

    data: bytes
    text: str
    hash: str
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from the last run: files to read, and files that are gone."""

    changed: list[str]
    gone: list[str]


def listing(folder: Path) -> Listing:
    """Every Markdown file below the folder."""
    found = Listing()
    waiting = [(str(folder), "")]
    while waiting:
        place, prefix = waiting.pop()
        try:
            found.stamps[prefix] = _list(place, prefix, waiting)
        except OSError:
            found.unreadable.append(prefix or ".")
    return found


def _list(place: str, prefix: str, waiting: list[tuple[str, str]]) -> dict[str, Stamp]:
    stamps: dict[str, Stamp] = {}
    with os.scandir(place) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(ENDING) and entry.is_file(follow_symlinks=False):
                if name[0] != ".":
                    stamps[name] = entry.stat(follow_symlinks=False).st_ctime_ns
            elif name[0] != "." and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{prefix}{name}/"))
    return stamps


def changes(now: Stamps, known: Stamps) -> Changes:
    """The paths whose stamp is new or another one, and those that are gone; sorted."""
    changed: list[str] = []
    gone: list[str] = []
    for folder in now.keys() | known.keys():
        here, before = now.get(folder, {}), known.get(folder, {})
        if here != before:
            changed += [folder + name for name, _ in here.items() - before.items()]
            gone += [folder + name for name in before.keys() - here.keys()]
    return Changes(sorted(changed), sorted(gone))


def read(folder: Path, path: str) -> FileText:
    """The file's text; raises OSError, or ValueError in words if it is no text we take."""
    if leaves(folder, path):
        raise ValueError("a folder above it is a link; links are not followed")
    descriptor = os.open(folder / path, os.O_RDONLY | system.NO_LINK)
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("it is no regular file")
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"it has more than {MAX_FILE_BYTES:,} bytes; split it")
    if b"\0" in data:
        raise ValueError("it is binary")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8; convert it") from None
    return FileText(data, text, hashed(data), about.st_ctime_ns)


def leaves(folder: Path, path: str) -> bool:
    """True if a folder between the mirrored one and the file is a link."""
    return any((folder / place).is_symlink() for place in list(PurePosixPath(path).parents)[:-1])


def settled(stamp: Stamp, now_ns: int) -> Stamp:
    """The stamp to remember: none for a file that may change again without a new stamp."""
    return stamp if stamp + UNSETTLED_NS < now_ns else NO_STAMP


def hashed(data: bytes | str) -> str:
    """The digest that files and documents are compared by."""
    return sha256(data.encode() if isinstance(data, str) else data).hexdigest()


FILE = "agents.sqlite"
KEPT = timedelta(days=30)
_WRITTEN, _REMOVED = "written", "removed"
_WAIT_SECONDS = 10.0
_TABLE = """CREATE TABLE IF NOT EXISTS mark (
    sha256 TEXT NOT NULL, act TEXT NOT NULL, path TEXT NOT NULL, marked REAL NOT NULL,
    PRIMARY KEY (sha256, act, path))"""

_FOUND = """SELECT path FROM mark
    WHERE sha256 = ?1 AND act = ?2 AND marked >= ?3 AND (?4 IS NULL OR path = ?4)"""

FOLDER = "mirrors"
_VERSION = 1
_SCHEMA = f"""
    CREATE TABLE file (path TEXT PRIMARY KEY, hash TEXT) WITHOUT ROWID;
    CREATE TABLE listing (folder TEXT PRIMARY KEY, names TEXT, stamps BLOB) WITHOUT ROWID;
    CREATE TABLE entry (
        memory TEXT PRIMARY KEY, path TEXT, title TEXT, doc TEXT, body TEXT, count INTEGER,
        written INTEGER, store TEXT, stated TEXT, links TEXT, joined INTEGER, ties TEXT,
        note TEXT, waits TEXT, status TEXT, sources TEXT, named TEXT
    ) WITHOUT ROWID;
    CREATE INDEX entry_path ON entry(path);
    CREATE INDEX entry_title ON entry(title);
    CREATE INDEX entry_body ON entry(body);
    CREATE INDEX entry_status ON entry(path, memory) WHERE status != 'held';
    CREATE INDEX entry_unjoined ON entry(path, memory) WHERE joined = 0;
    CREATE INDEX entry_note ON entry(path, memory) WHERE note IS NOT NULL;
    CREATE INDEX entry_waits ON entry(path, memory) WHERE waits IS NOT NULL;
    CREATE INDEX entry_sources ON entry(path, memory) WHERE sources != '[]';
    CREATE TABLE wish (name TEXT, memory TEXT, PRIMARY KEY (name, memory)) WITHOUT ROWID;
    CREATE INDEX wish_memory ON wish(memory);
    CREATE TABLE value (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
    PRAGMA user_version = {_VERSION};
"""
_FORGET = """
    BEGIN IMMEDIATE;
    DELETE FROM file; DELETE FROM listing; DELETE FROM entry; DELETE FROM wish;
    DELETE FROM value WHERE name NOT IN ('start', 'folder');
    COMMIT;
"""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
HELD, COMING, GONE = "held", "coming", "gone"


@dataclass(frozen=True, slots=True)
class MirroredDocument:
    """One document and its memory, as both sides last agreed on."""

    memory: str
    path: str
    title: str  # digest of the document's title without case and spacing
    doc: str  # digest of the document, the newest of its title in the file
    body: str  # digest of its text alone
    count: int = 1  # documents of this title in the file
    written: bool = False  # the mirror wrote the document
    store: str = ""  # digest of the memory
    stated: tuple[str, ...] = ()  # the fields that the document states
    links: tuple[str, ...] = ()  # the memories that the document's links lead to
    joined: bool = True  # the document's links are the memory's
    ties: tuple[str, ...] = ()  # all memories that the memory is linked to
    note: str | None = None  # the disagreement, in words
    waits: str | None = None  # the proposal that waits for a decision
    status: str = HELD  # coming: about to be stored; gone: was deleted with its document
    sources: tuple[tuple[str, str], ...] = ()  # files that it is about, each with its digest
    named: str = ""  # the title that the store shows for the memory


@dataclasses.dataclass(slots=True)
class Delta:
    """What one step changes, written in one transaction."""

    files: dict[str, tuple[Stamp, str] | None] = dataclasses.field(default_factory=dict)
    entries: list[MirroredDocument] = dataclasses.field(default_factory=list)
    forgotten: list[str] = dataclasses.field(default_factory=list)  # memories
    wishes: dict[str, tuple[str, ...]] = dataclasses.field(
        default_factory=dict
    )  # digests of names without a memory yet
    values: dict[str, str] = dataclasses.field(default_factory=dict)


class _Questions:
    """What can be asked of the state."""

    _db: sqlite3.Connection

    def in_files(self, paths: Iterable[str]) -> list[MirroredDocument]:
        """The documents of these files."""
        return [entry for path in paths for entry in self._select("path = ?", path)]

    def of_memory(self, memory_id: str) -> MirroredDocument | None:
        """The document of a memory, whatever its status."""
        return next(iter(self._select("memory = ?", memory_id)), None)

    def titled(self, title: str, status: str = HELD) -> list[MirroredDocument]:
        """The documents with a title."""
        return self._select("title = ? AND status = ?", title, status)

    def with_status(self, status: str) -> list[MirroredDocument]:
        """The documents of one status."""
        return [held for held in self._select("status != 'held'") if held.status == status]

    def with_sources(self) -> list[MirroredDocument]:
        """The documents that name a file they are about."""
        return [held for held in self._select("sources != '[]'") if held.status == HELD]

    def same_text(self, body: str) -> bool:
        """True if a document with this text is known."""
        found = self._db.execute("SELECT 1 FROM entry WHERE body = ?", (body,)).fetchone()
        return found is not None

    def unjoined(self) -> list[MirroredDocument]:
        """The documents whose links are not made yet."""
        return [held for held in self._select("joined = 0") if held.status == HELD]

    def waiting(self) -> list[MirroredDocument]:
        """The documents whose change or delete waits for a decision."""
        return self._select("waits IS NOT NULL")

    def disagreeing(self) -> list[MirroredDocument]:
        """The documents that disagree with the store."""
        return [held for held in self._select("note IS NOT NULL") if held.status == HELD]

    def at(self, path: str) -> list[MirroredDocument]:
        """The documents of the file with this path, or of this name in any folder."""
        if "/" in path:
            return self._select("path = ? AND status = 'held'", path)
        below = "substr(path, -length(?1) - 1) = '/' || ?1"
        return self._select(f"(path = ?1 OR {below}) AND status = 'held'", path)

    def wishing(self, names: Iterable[str]) -> list[str]:
        """The memories whose documents name one of these, which did not exist then."""
        found = (
            self._db.execute("SELECT memory FROM wish WHERE name = ?", (name,)) for name in names
        )
        return list(dict.fromkeys(memory for rows in found for (memory,) in rows))

    def paths(self) -> list[str]:
        """The files that were read or written."""
        return [path for (path,) in self._db.execute("SELECT path FROM file ORDER BY path")]

    def counts(self) -> tuple[int, int]:
        """How many files and documents there are."""
        files, entries = self._db.execute(
            "SELECT (SELECT count(*) FROM file), (SELECT count(*) FROM entry WHERE status = 'held')"
        ).fetchone()
        return files, entries

    def _select(self, condition: str, *values: str) -> list[MirroredDocument]:
        found = self._db.execute(
            f"SELECT {', '.join(_NAMES)} FROM entry WHERE {condition} ORDER BY path, memory",  # noqa: S608  # own conditions only
            values,
        )
        return [_entry(row) for row in found]


class State(_Questions):
    """The remembered state of one mirrored folder."""

    def __init__(self, path: Path) -> None:
        system.make_folder(path.parent)
        self.path: Path = path
        self.renewed: bool = False
        try:
            self._db = _opened(path)
        except sqlite3.OperationalError as error:
            raise StoreError(f"the mirror's notes {path} cannot be opened: {error}") from error
        except sqlite3.DatabaseError:
            path.replace(path.with_suffix(".broken"))
            for ending in ("-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)
            self._db, self.renewed = _opened(path), True

    @classmethod
    def of(cls, store: Path, folder: Path, namespace: str, project: str | None) -> Self:
        """The state of a folder for one namespace and project of a store."""
        return cls(place(store, folder, namespace, project))

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def stamps(self) -> dict[str, dict[str, Stamp]]:
        """The stamps of all files as they were last read, by folder and name."""
        rows = self._db.execute("SELECT folder, names, stamps FROM listing")
        return {folder: _unpacked(names, stamps) for folder, names, stamps in rows}

    def hash_of(self, path: str) -> str | None:
        """The hash of a file as it was last read."""
        row = self._db.execute("SELECT hash FROM file WHERE path = ?", (path,)).fetchone()
        return None if row is None else str(row[0])

    def value(self, name: str) -> str | None:
        """A small named value."""
        row = self._db.execute("SELECT value FROM value WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def apply(self, delta: Delta) -> None:
        """Writes what a step changed, all or nothing."""
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            gone = [(path,) for path, known in delta.files.items() if known is None]
            db.executemany("DELETE FROM file WHERE path = ?", gone)
            seen = [(path, known[1]) for path, known in delta.files.items() if known]
            db.executemany("INSERT OR REPLACE INTO file VALUES (?, ?)", seen)
            self._list(delta.files)
            db.executemany("DELETE FROM entry WHERE memory = ?", [(m,) for m in delta.forgotten])
            rows = [_row(entry) for entry in delta.entries]
            marks = ", ".join("?" * len(_NAMES))
            db.executemany(f"INSERT OR REPLACE INTO entry VALUES ({marks})", rows)  # noqa: S608
            wishing = {*delta.wishes, *delta.forgotten}
            db.executemany("DELETE FROM wish WHERE memory = ?", [(m,) for m in wishing])
            wishes = [(name, m) for m, names in delta.wishes.items() for name in names]
            db.executemany("INSERT OR IGNORE INTO wish VALUES (?, ?)", wishes)
            values = list(delta.values.items())
            db.executemany("INSERT OR REPLACE INTO value VALUES (?, ?)", values)
            db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise

    def forget(self) -> None:
        """Forgets every document and file, as if the folder had never been mirrored."""
        self._db.executescript(_FORGET)

    def name(self, folder: Path) -> None:
        """Writes down which folder this is the state of."""
        shown = str(folder).encode("utf-8", "backslashreplace").decode()
        if self.value("folder") != shown:
            self.apply(Delta(values={"folder": shown}))

    def _list(self, files: Mapping[str, tuple[Stamp, str] | None]) -> None:
        """Writes the listing of each folder that one of these files is in."""
        for folder, paths in _by_folder(files).items():
            row = self._db.execute(
                "SELECT names, stamps FROM listing WHERE folder = ?", (folder,)
            ).fetchone()
            stamps = {} if row is None else _unpacked(*row)
            for path in paths:
                name, known = path.removeprefix(folder), files[path]
                if known is None:
                    stamps.pop(name, None)
                else:
                    stamps[name] = known[0]
            packed = ("\0".join(stamps), array("q", stamps.values()).tobytes())
            self._db.execute("INSERT OR REPLACE INTO listing VALUES (?, ?, ?)", (folder, *packed))


def place(store: Path, folder: Path, namespace: str, project: str | None) -> Path:
    """The file that holds the state of a folder."""
    name = f"{folder.resolve()}\0{namespace}\0{project or ''}"
    digest = sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return store / FOLDER / f"{digest}.sqlite"


def mirrored(store: Path) -> list[str]:
    """The folders that a store is mirrored to and that are there."""
    found: set[str] = set()
    for path in (store / FOLDER).glob("*.sqlite"):
        with (
            suppress(sqlite3.Error),
            closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db,
        ):
            rows = db.execute("SELECT value FROM value WHERE name = 'folder'").fetchall()
            found |= {folder for (folder,) in rows if Path(folder).is_dir()}
    return sorted(found)


def _opened(path: Path) -> sqlite3.Connection:
    system.make_file(path)
    db = sqlite3.connect(path, isolation_level=None, timeout=USUAL_SECONDS, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        _check(db, version or _VERSION)
    except BaseException:
        with closing(db):
            raise
    return db


def _check(db: sqlite3.Connection, version: int) -> None:
    """Raises if the file is of another version, or damaged when the machine stopped."""
    if version != _VERSION:
        raise sqlite3.DatabaseError("of another version")
    try:
        start = _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        start = ""  # this system does not say when it started
    row = db.execute("SELECT value FROM value WHERE name = 'start'").fetchone()
    if row is not None and start and row[0] == start:
        return
    if db.execute("PRAGMA quick_check").fetchone() != ("ok",):
        raise sqlite3.DatabaseError("damaged")
    db.execute("INSERT OR REPLACE INTO value VALUES ('start', ?)", (start,))


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(path[: path.rfind("/") + 1], []).append(path)
    return found


def _unpacked(names: str, stamps: bytes) -> dict[str, Stamp]:
    """A folder's listing: one text and one array, because ten thousand rows take too long."""
    times = array("q")
    times.frombytes(stamps)
    return dict(zip(names.split("\0"), times, strict=True)) if times else {}


def _row(entry: MirroredDocument) -> tuple[object, ...]:
    named = {name: getattr(entry, name) for name in _NAMES}
    return tuple((named | {name: json.dumps(named[name]) for name in _LISTS}).values())


def _entry(row: Sequence[Any]) -> MirroredDocument:
    named = dict(zip(_NAMES, row, strict=True))
    lists = {name: tuple(json.loads(named[name])) for name in _LISTS}
    lists["sources"] = tuple((name, digest) for name, digest in lists["sources"])
    return MirroredDocument(**(named | lists | {name: bool(named[name]) for name in _FLAGS}))


_NAMES = tuple(each.name for each in fields(MirroredDocument))
_FLAGS = ("written", "joined")
_LISTS = ("stated", "links", "ties", "sources")


# Remembers what an agent's edit tool wrote, so that it is not taken for the user's words.


class AgentEdits:
    """The agents' edits of the last 30 days: path and SHA-256 of the content, no content."""

    def __init__(self, state_dir: Path, *, clock: Clock | None = None) -> None:
        self._file = state_dir / FILE
        self._clock = clock or SystemClock()

    def mark(self, path: Path, content: bytes) -> None:
        """Records that an agent wrote this content."""
        self._record(path, content, _WRITTEN)

    def mark_removal(self, path: Path, content: bytes) -> None:
        """Records that an agent removed the file when it had this content."""
        self._record(path, content, _REMOVED)

    def written(self, content: bytes) -> str | None:
        """Returns the path at which an agent wrote this content; a moved file stays the agent's."""
        return self._find(hashlib.sha256(content).hexdigest(), _WRITTEN, None)

    def removed(self, path: Path, sha256: str) -> bool:
        """Whether an agent removed the file that had this content."""
        return self._find(sha256, _REMOVED, path) is not None

    def _record(self, path: Path, content: bytes, act: str) -> None:
        now = self._clock.now()
        row = (hashlib.sha256(content).hexdigest(), act, _name(path), now.timestamp())
        try:
            system.make_folder(self._file.parent)
            system.make_file(self._file)
            with closing(sqlite3.connect(self._file, timeout=_WAIT_SECONDS)) as db, db:
                db.execute(_TABLE)
                db.execute("INSERT OR REPLACE INTO mark VALUES (?, ?, ?, ?)", row)
                db.execute("DELETE FROM mark WHERE marked < ?", ((now - KEPT).timestamp(),))
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"the mark could not be written to {self._file} ({error}): without it the edit "
                "counts as the user's. Free the file or the disk and mark it again."
            ) from error

    def _find(self, sha256: str, act: str, path: Path | None) -> str | None:
        if not self._file.is_file():
            return None
        since = (self._clock.now() - KEPT).timestamp()
        values = (sha256, act, since, None if path is None else _name(path))
        try:
            with closing(sqlite3.connect(self._file, timeout=_WAIT_SECONDS)) as db:
                row = db.execute(_FOUND, values).fetchone()
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._file} cannot be read ({error}), so agents' edits cannot be told from the "
                "user's. Remove the file if it is damaged; the marks in it are lost."
            ) from error
        return None if row is None else str(row[0])


def _name(path: Path) -> str:
    """The whole path as text, even where it is not UTF-8."""
    return (
        os.path.realpath(path)
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "backslashreplace")
    )
