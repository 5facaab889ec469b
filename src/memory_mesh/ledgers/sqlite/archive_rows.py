"""A namespace's rows for an archive, and an archive's rows as a namespace's file.

What is derived is not carried: checksums, audiences, marks of metadata and keyword tables are
written anew from the rows, blocks are unpacked. The index is built anew. A file is made with the
schema of the archive, filled and migrated to today's.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.formats.archive import ArchiveTable, Value
from memory_mesh.ledgers.shared import metadata_marks, named_values, rows as shared_rows, sums
from memory_mesh.ledgers.sqlite import namespace_places, schema
from memory_mesh.ledgers.sqlite.connection import translated
from memory_mesh.ledgers.sqlite.connections import KEYS, Files
from memory_mesh.ledgers.sqlite.open_file import connect, create
from memory_mesh.ledgers.sqlite.verify import verify
from memory_mesh.model import Checkpoint, InvalidInput, StoreIsDamaged, StoreIsNewer, Verification
from memory_mesh.platform.durable_files import sync

Database = sqlite3.Connection
_AS_DOCUMENT = (
    "UPDATE version SET pinned = 0",
    *(
        f"UPDATE {table} SET source_kind = 'document', channel = 'import' "  # noqa: S608  # own names
        "WHERE source_kind NOT IN ('document', 'inference')"
        for table in ("version", "skill", "proposal")
    ),
)
COPIED_FROM = "copied.from"  # the state that lists the identities of namespaces it was copied from
OF_MEANING = frozenset({"space", "vector", "skill_vector", "wordless"})
_NOT_CARRIED = frozenset({
    "crc", "tally", "audience", "body_version", "body_highest", "body_rows",
})  # fmt: skip
_DERIVED = frozenset({"audience", "metadata_mark"})  # tables that are made anew from others
_PACKED_SINCE = 11  # the migration that packs blocks
_OLD_TERMS = "analyzer of the keyword terms"  # upkeep writes them anew: no damage
_KEYWORDS = """
    INSERT INTO live (rowid, terms) SELECT number, terms FROM text WHERE number IN
        (SELECT text FROM version WHERE recorded_until IS NULL AND status = 'active');
    INSERT INTO rest (rowid, terms) SELECT number, terms FROM text WHERE number NOT IN
        (SELECT text FROM version WHERE recorded_until IS NULL AND status = 'active');
    INSERT INTO skill_live (rowid, name, intent, tags, description) SELECT number,
        json_extract(terms, '$[0]'), json_extract(terms, '$[1]'), json_extract(terms, '$[2]'),
        json_extract(terms, '$[3]') FROM skill WHERE status = 'active'"""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """One table of a file: the columns that are carried, and the order of its rows."""

    name: str
    columns: tuple[str, ...]
    order: str


@dataclass(frozen=True, slots=True)
class DumpPoint:
    """As of which write a namespace is read: schema, names, counter and the end of the chain."""

    schema: int
    namespace: str
    identities: tuple[str, ...]
    keys: tuple[str, ...]  # of the store that an archive brought it from
    seq: int
    position: int
    hash: bytes
    memories: int
    tombstones: int


class FileDump:
    """What an archive is made of, as of one moment of a namespace in a file."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def flaws(self) -> list[str]:
        """What is damaged, in words."""
        return flaws(self._db)

    def mark(self) -> DumpPoint:
        """Where the namespace stands."""
        return mark(self._db)

    def layouts(self, *, with_vectors: bool) -> list[TableLayout]:
        """The tables that an archive carries."""
        return layouts(self._db, with_vectors=with_vectors)

    def rows(self, table: TableLayout) -> Iterator[Sequence[Value]]:
        """Every row of a table, in the order of its key."""
        return rows(self._db, table)


@contextmanager
def snapshot(folder: Path, namespace: str) -> Iterator[sqlite3.Connection]:
    """One moment of a namespace, however long it is read; writers go on."""
    files = Files(folder / "namespaces")
    try:
        with files.reading(namespace) as db:
            yield db
    except (UnicodeDecodeError, sqlite3.DatabaseError) as error:
        raise StoreIsDamaged from error
    finally:
        files.close()


def mark(db: sqlite3.Connection) -> DumpPoint:
    """Where the namespace stands."""
    namespace, identity, seq, position, hashed = db.execute(
        "SELECT namespace, identity, seq, position, head FROM store"
    ).fetchone()
    known = named_values.by_name(db, [COPIED_FROM, KEYS])
    earlier, keys = (json.loads(known.get(name, "[]")) for name in (COPIED_FROM, KEYS))
    counts = (
        db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  # own names
        for table in ("memory", "tombstone")
    )
    identities = (identity, *earlier)
    return DumpPoint(
        schema.version(db), namespace, identities, tuple(keys), seq, position, hashed, *counts
    )


def layouts(db: sqlite3.Connection, *, with_vectors: bool) -> list[TableLayout]:
    """The tables of a file that an archive carries, by name."""
    found = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    virtual = tuple(name for name, sql in found if str(sql).upper().startswith("CREATE VIRTUAL"))
    made = tuple(f"{name}_" for name in virtual)  # FTS5 keeps its own tables beside each
    return [
        _layout(db, name)
        for name in sorted(name for name, _ in found)
        if name not in virtual
        and name not in _DERIVED
        and not name.startswith(("sqlite_", *made))
        and (with_vectors or name not in OF_MEANING)
    ]


def rows(db: sqlite3.Connection, table: TableLayout) -> Iterator[Sequence[Value]]:
    """Every row of a table, in the order of its key."""
    names = ", ".join(f'"{name}"' for name in table.columns)
    found: Iterator[Sequence[Value]] = db.execute(
        f'SELECT {names} FROM "{table.name}" ORDER BY {table.order}'  # noqa: S608  # own names
    )
    if table.name == "state":
        return (row for row in found if row[0] != KEYS)  # the manifest says it
    if table.name == "block" and schema.version(db) >= _PACKED_SINCE:
        return _repacked(found, table.columns, shared_rows.unpacked)
    return found


def flaws(db: sqlite3.Connection, against: Checkpoint | None = None) -> list[str]:
    """What is damaged in a namespace, in words; keyword terms of an earlier version are not."""
    found: Verification = verify(db, against)
    return [f"{one.check}: {one.detail}" for one in found.findings if one.check != _OLD_TERMS]


def is_empty(path: Path) -> bool:
    """Whether nothing was ever written to the namespace in a file, or there is no file."""
    if not path.exists() or not path.stat().st_size:
        return True
    with translated(path, _name(path)), closing(connect(path)) as db:
        if not schema.version(db):
            return True
        (seq,) = db.execute("SELECT seq FROM store").fetchone()
        return not seq


def identity_of(path: Path) -> str | None:
    """The identity of the namespace in a file; None if it cannot be read."""
    if not path.stat().st_size:  # SQLite would remove the log beside it, which salvage may read
        return None
    uri = f"file:{namespace_places.quoted(str(path))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as db:
            row = db.execute("SELECT identity FROM store").fetchone()
    except sqlite3.Error:
        return None
    return None if row is None else str(row[0])


class NewFile:
    """A namespace's file that is being filled; nobody else knows it yet."""

    def __init__(self, path: Path, number: int, namespace: str) -> None:
        """Make the file with the schema as of a migration."""
        if number > schema.NEWEST:
            raise StoreIsNewer(
                f"a newer memory-mesh wrote this archive (schema {number}, known here: "
                f"{schema.NEWEST}). Upgrade memory-mesh."
            )
        create(path)
        self._path, self._namespace = path, namespace
        self._db = connect(path)
        self._db.execute("PRAGMA journal_mode = OFF")  # a file that fails is thrown away
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA foreign_keys = OFF")  # tables come by name; `flaws` looks at all
        schema.make(self._db, namespace, number)
        self._known = {one.name: one for one in layouts(self._db, with_vectors=True)}

    def check(self, tables: Sequence[ArchiveTable], *, with_vectors: bool) -> None:
        """Refuses an archive whose tables or columns are not those of its schema."""
        for table in tables:
            known = self._known.get(table.name)
            unknown = set(table.columns) - set(() if known is None else known.columns)
            if unknown:
                raise StoreIsNewer(
                    f"the archive has columns in {table.name} that this version does not know: "
                    f"{', '.join(sorted(unknown))}. Upgrade memory-mesh."
                )
        wanted = {name for name in self._known if with_vectors or name not in OF_MEANING}
        whole = {table.name for table in tables if table.columns == self._known[table.name].columns}
        if wanted != whole or len(tables) != len(wanted):
            raise InvalidInput("the archive does not hold the tables and columns of its schema")

    def fill(self, table: ArchiveTable, values: Iterable[Sequence[Value]]) -> None:
        """Stores the rows of a table, one after another."""
        names = ", ".join(f'"{name}"' for name in table.columns)
        marks = ", ".join("?" * len(table.columns))
        if table.name == "block" and schema.version(self._db) >= _PACKED_SINCE:
            values = _repacked(values, table.columns, shared_rows.packed)
        with self._in_rows(table.name):
            self._db.execute("BEGIN")
            if table.name == "store":
                self._db.execute("DELETE FROM store")  # the one that making the file has left
            self._db.executemany(
                f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})',  # noqa: S608  # checked
                values,
            )
            self._db.execute("COMMIT")

    def finish(
        self,
        keys: Sequence[str],
        new_identity: str | None,
        *,
        as_document: bool = False,
        words: bool = True,
    ) -> DumpPoint:
        """Fills what is derived, migrates, and gives the namespace its name; where it stands.

        What comes as a document's word has no source that is trusted more, and nothing pinned.
        Without `words` nothing is found by them, as suits a file that is read once.
        """
        with self._in_rows("what is derived"):
            self._db.execute("BEGIN")
            for statement in _KEYWORDS.split(";") if words else ():
                self._db.execute(statement)
            self._db.execute("COMMIT")
            schema.make(self._db, self._namespace, schema.NEWEST)
            self._db.execute("BEGIN")
            schema.rebuild_audiences(self._db)
            metadata_marks.rebuild(self._db)
            for statement in _AS_DOCUMENT if as_document else ():
                self._db.execute(statement)
            sums.fill(self._db)
            schema.grow(self._db)
            self._rename()
            if new_identity is not None:
                copied(self._db, new_identity)
            self._db.execute("INSERT INTO state VALUES (?, ?)", (KEYS, json.dumps(keys)))
            self._db.execute("COMMIT")
        return mark(self._db)

    def flaws(self, against: Checkpoint) -> list[str]:
        """What is damaged in it."""
        return flaws(self._db, against)

    def close(self) -> None:
        """Closes the file as others open it: with a log, and on the disk."""
        self._db.execute("PRAGMA journal_mode = WAL")
        self.abandon()
        sync(self._path)

    def abandon(self) -> None:
        """Closes the file as it is."""
        self._db.close()

    @contextmanager
    def _in_rows(self, name: str) -> Iterator[None]:
        """Rows that no version of ours wrote are the fault of the archive."""
        with translated(self._path, self._namespace):
            try:
                yield
            except (sqlite3.IntegrityError, sqlite3.InterfaceError, TypeError, ValueError) as error:
                raise InvalidInput(
                    f"a row of {name} in the archive cannot be stored: {error}"
                ) from error

    def _rename(self) -> None:
        """Notes the name under which the chain began if the namespace has another now."""
        (was,) = self._db.execute("SELECT namespace FROM store").fetchone()
        if was == self._namespace:
            return
        self._db.execute("UPDATE store SET namespace = ?", (self._namespace,))
        self._db.execute(
            "INSERT OR IGNORE INTO state VALUES (?, ?)", (named_values.CHAIN_NAME, was)
        )


def copied(db: sqlite3.Connection, identity: str) -> None:
    """Gives a copy an identity of its own, and notes whose copy it is."""
    identities = mark(db).identities
    db.execute("UPDATE store SET identity = ?", (identity,))
    db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (COPIED_FROM, json.dumps(identities)))


def put_into_place(new: Path, path: Path) -> None:
    """Makes a finished file the namespace at a path; the caller holds its lock and found it empty.

    A file that is there, and may be open elsewhere, gets the content in one transaction.
    """
    with translated(path, _name(path)):
        if path.exists() and path.stat().st_size:
            with closing(connect(new)) as source, closing(connect(path)) as target:
                _adapt(source, target)
                source.backup(target)
            new.unlink()
        else:
            new.replace(path)


def _adapt(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Gives a new file the pages of the one it goes into, which has a log and keeps its own."""
    (size,) = target.execute("PRAGMA page_size").fetchone()
    if source.execute("PRAGMA page_size").fetchone()[0] != size:
        source.execute("PRAGMA journal_mode = DELETE")
        source.execute(f"PRAGMA page_size = {size}")
        source.execute("VACUUM")


def _name(path: Path) -> str:
    return namespace_places.namespace(path.name) or path.name


def _repacked(
    found: Iterable[Sequence[Value]], columns: Sequence[str], change: Callable[..., Value]
) -> Iterator[Sequence[Value]]:
    """Rows of blocks with their two texts packed or unpacked."""
    memories, at = columns.index("memories"), columns.index("at")
    texts = {columns.index(name) for name in ("wire", "metadata")}
    for row in found:
        yield [
            change(value, row[memories], row[at]) if place in texts else value
            for place, value in enumerate(row)
        ]


def _layout(db: sqlite3.Connection, name: str) -> TableLayout:
    found = db.execute(f'PRAGMA table_info("{name}")').fetchall()
    key = [row[1] for row in sorted(found, key=lambda row: int(row[5])) if row[5]]
    columns = tuple(row[1] for row in found if row[1] not in _NOT_CARRIED)
    order = [f'"{part}"' for part in key] or [f'"{part}" NULLS FIRST' for part in columns]
    return TableLayout(name, columns, ", ".join(order))
