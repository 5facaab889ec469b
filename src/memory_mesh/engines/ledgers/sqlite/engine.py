"""The parts of the ledger that SQLite has in its own way: FTS5, functions of ours in statements."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from memory_mesh.engines.ledgers.sql import sums
from memory_mesh.engines.ledgers.sql.engine import LIVE, REST, SKILLS, Sight
from memory_mesh.engines.ledgers.sqlite import schema
from memory_mesh.keyword_ports import Keywords
from memory_mesh.model import Lens
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.engines.ledgers.sql.checking import Check
    from memory_mesh.engines.ledgers.sql.remembered import Known

_FIELDS = {LIVE: "terms", REST: "terms", SKILLS: "name, intent, tags, description"}
_MARKS = {shelf: ", ".join("?" * (names.count(",") + 1)) for shelf, names in _FIELDS.items()}


class SqliteWords:
    """Implements `sql.engine.Words` with FTS5."""

    def shelve(
        self, db: sqlite3.Connection, shelf: str, rows: Sequence[tuple[int, Sequence[str]]]
    ) -> None:
        """Puts terms into a keyword table."""
        db.executemany(
            f"INSERT INTO {shelf} (rowid, {_FIELDS[shelf]}) VALUES (?, {_MARKS[shelf]})",  # noqa: S608
            [(number, *terms) for number, terms in rows],
        )

    def unshelve(
        self, db: sqlite3.Connection, shelf: str, number: int, terms: Sequence[str]
    ) -> None:
        """Takes terms out of a keyword table, which needs them to find what to delete."""
        db.execute(
            f"INSERT INTO {shelf} ({shelf}, rowid, {_FIELDS[shelf]}) "  # noqa: S608  # own names
            f"VALUES ('delete', ?, {_MARKS[shelf]})",
            (number, *terms),
        )

    def is_shelved(self, db: sqlite3.Connection, shelf: str, number: int) -> bool:
        """Whether a keyword table has the terms of a text or skill."""
        found = db.execute(f"SELECT 1 FROM {shelf}_docsize WHERE id = ?", (number,))  # noqa: S608
        return found.fetchone() is not None

    def skills_with(
        self, db: sqlite3.Connection, words: Sequence[str], sight: Sight, limit: int
    ) -> list[int]:
        """The best skills by words; hidden ones do not use up the limit."""
        condition, values = sight
        found = db.execute(
            "SELECT f.rowid FROM skill_live f JOIN skill k ON k.number = f.rowid "  # noqa: S608
            f"WHERE skill_live MATCH ? AND {condition} "
            "ORDER BY bm25(skill_live, 3.0, 2.0, 1.0, 1.0), f.rowid LIMIT ?",  # fields' weights
            (" OR ".join(map(_quoted, words)), *values, limit),
        )
        return [number for (number,) in found]

    def keywords(
        self, db: sqlite3.Connection, lens: Lens, few: Mapping[int, int] | None
    ) -> Keywords:
        """The words of the texts that a lens may ask for."""
        from memory_mesh.engines.ledgers.sqlite.keywords import SqliteKeywords

        return SqliteKeywords(db, lens, few)


class SqliteEngine(SqliteWords):
    """Implements `sql.engine.Engine`."""

    unindexed = " NOT INDEXED"

    def again(self, order: str) -> str:  # noqa: ARG002
        """Nothing: rows are joined in the order in which they are found."""
        return ""

    def grow(self, db: sqlite3.Connection) -> None:
        """Makes the indexes that a grown file needs."""
        schema.grow(db)

    def checks(self) -> "Mapping[str, Check]":
        """The pages, the header, the schema, the keyword tables and the vector files."""
        from memory_mesh.engines.ledgers.sqlite.keeping import checking, vector_checks

        return {**checking.checks(), vector_checks.NAME: vector_checks.check}

    def invariants(self) -> Mapping[str, str]:
        """Promises about the keyword tables, and about references."""
        from memory_mesh.engines.ledgers.sqlite.keeping import checking

        return checking.INVARIANTS

    def lenient(self, db: sqlite3.Connection) -> AbstractContextManager[None]:
        """Text that is not valid Unicode is returned with escapes."""
        return _read_as(db, partial(str, encoding="utf-8", errors="surrogateescape"))

    def strict(self, db: sqlite3.Connection) -> AbstractContextManager[None]:
        """Text is text."""
        return _read_as(db, str)

    @contextmanager
    def wiping(self, db: sqlite3.Connection) -> Iterator[None]:
        """Overwrites what is deleted or changed inside."""
        db.execute("PRAGMA secure_delete = ON")
        yield
        db.execute("PRAGMA secure_delete = OFF")

    def known(self, db: sqlite3.Connection) -> "Known | None":
        """What the connection remembers until this one or another one writes."""
        from memory_mesh.engines.ledgers.sqlite import opening

        return opening.known(db) if isinstance(db, opening.Connection) else None

    def add_vectors(self, db: sqlite3.Connection, rows: Sequence[Sequence[object]]) -> None:
        """Writes vectors of texts that are there, unless they have these parts."""
        db.executemany(
            "INSERT OR IGNORE INTO vector (text, space, part, seq, start, stop, data, crc) "
            "SELECT number, ?, ?, ?, ?, ?, ?, ? FROM text WHERE number = ?",
            rows,
        )

    def forget_scan(self, db: sqlite3.Connection, space: int) -> None:
        """Removes the vector file of a space."""
        from memory_mesh.engines.ledgers.sqlite import vector_file

        if (database := getattr(db, "path", None)) is not None:
            vector_file.path_of(database, space).unlink(missing_ok=True)

    def count(
        self,
        db: sqlite3.Connection,
        changes: Mapping[str, str],
        where: str,
        rows: Sequence[Sequence[object]],
    ) -> None:
        """Sets counters and moves their checksums in the same statement."""
        db.executemany(sums.counting(changes, where), rows)


SQLITE = SqliteEngine()


@contextmanager
def _read_as(db: sqlite3.Connection, factory: Callable[[bytes], str]) -> Iterator[None]:
    before = db.text_factory
    db.text_factory = factory
    try:
        yield
    finally:
        db.text_factory = before


def _quoted(word: str) -> str:
    return '"{}"'.format(word.replace('"', '""'))
