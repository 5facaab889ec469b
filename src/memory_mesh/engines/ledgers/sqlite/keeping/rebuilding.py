"""Rebuilds what is derived from other rows: keyword tables, indexes, counters.

Each step is one transaction or one rewrite of the file by SQLite: a kill at any point leaves the
file as it was before the step or after it, and the next run does the rest.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_mesh.engines.ledgers.sql import rows, states
from memory_mesh.engines.ledgers.sqlite import opening, schema
from memory_mesh.engines.ledgers.sqlite.keeping import recounting
from memory_mesh.errors import StoreIsDamaged
from memory_mesh.policy.writing import audit

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SALVAGE = (
    "what is damaged is not derived from anything else, so that repair cannot rebuild it. "
    "Restore a backup: memory-mesh restore --from BACKUP; without one, copy what can be read into "
    "a new store: memory-mesh salvage --to FOLDER"
)
_KEYWORDS = ("live", "rest", "skill_live")
_MARKS = "metadata_mark"
_PARTS = ("", "_data", "_idx", "_content", "_docsize", "_config")
_OPEN = "SELECT text FROM version WHERE recorded_until IS NULL AND status = 'active'"


def repair(db: sqlite3.Connection) -> list[str]:
    """Rebuilds all that is derived; what was done, in sentences. The caller holds the lock."""
    done = []
    wrong = _page_findings(db)
    if wrong:
        with suppress(sqlite3.DatabaseError):  # of a keyword table; what else is wrong shows below
            db.execute("REINDEX")  # first: an index that lacks rows hides them from the rest
    try:
        with _transaction(db):
            done += _derived(db)
    except sqlite3.DatabaseError:
        done = _anew(db)
        wrong = True
    if wrong:
        db.execute("VACUUM")  # leaves out pages that nothing leads to
        done.append("the indexes were made anew, and the file was written anew")
    return done


@contextmanager
def opened(path: Path) -> Iterator[opening.Connection]:
    """A connection to a database that may be damaged; StoreIsDamaged names salvage."""
    db: opening.Connection | None = None
    try:
        db = opening.connect(path)
        yield db
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
            raise StoreIsDamaged(f"{path}: {_SALVAGE}") from error
        raise
    finally:
        if db is not None:
            db.close()


def forget_index(db: sqlite3.Connection) -> bool:
    """Lets searches read vectors from the ledger until the index is built anew; False: none was."""
    with _transaction(db):
        return bool(
            db.execute(
                "UPDATE space SET body_version = NULL, body_highest = NULL, body_rows = NULL "
                "WHERE body_version IS NOT NULL"
            ).rowcount
        )


def fill_keywords(db: sqlite3.Connection) -> None:
    """Fills the empty keyword tables with the stored terms of texts and active skills."""
    db.execute(
        f"INSERT INTO live (rowid, terms) SELECT number, terms FROM text WHERE number IN ({_OPEN})"  # noqa: S608
    )
    db.execute(
        "INSERT INTO rest (rowid, terms) SELECT number, terms FROM text "  # noqa: S608
        f"WHERE number NOT IN ({_OPEN})"
    )
    for number, terms in db.execute(
        "SELECT number, terms FROM skill WHERE status = 'active'"
    ).fetchall():
        db.execute(
            "INSERT INTO skill_live (rowid, name, intent, tags, description) "
            "VALUES (?, ?, ?, ?, ?)",
            (number, *json.loads(terms)),
        )


def _derived(db: sqlite3.Connection) -> list[str]:
    done = _counted(db)
    for table in _KEYWORDS:
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")  # noqa: S608  # own names
    fill_keywords(db)
    return [*done, _keyword_sentence(db)]


def _anew(db: sqlite3.Connection) -> list[str]:
    """Makes the keyword tables and the marks anew where their pages cannot even be emptied.

    Their entries are taken out of the schema, so that SQLite does not walk them; the rewrite that
    follows leaves their pages out.
    """
    with schema.empty("") as blank:  # the file's own statements may be damaged
        made = dict(blank.execute("SELECT name, sql FROM sqlite_master").fetchall())
    names = [*(table + part for table in _KEYWORDS for part in _PARTS), _MARKS]
    marks = ", ".join("?" * len(names))
    db.execute("PRAGMA writable_schema = ON")
    try:
        with _transaction(db):
            (version,) = db.execute("PRAGMA schema_version").fetchone()
            db.execute(f"DELETE FROM sqlite_master WHERE tbl_name IN ({marks})", names)  # noqa: S608
            db.execute(f"PRAGMA schema_version = {version + 1}")
    finally:
        db.execute("PRAGMA writable_schema = RESET")
    with _transaction(db):
        for table in (*_KEYWORDS, _MARKS):
            db.execute(made[table])
        done = _counted(db)
        fill_keywords(db)
        return [*done, _keyword_sentence(db)]


def _keyword_sentence(db: sqlite3.Connection) -> str:
    (texts,) = db.execute("SELECT count(*) FROM text").fetchone()
    (skills,) = db.execute("SELECT count(*) FROM skill WHERE status = 'active'").fetchone()
    of = f"{texts} text{'' if texts == 1 else 's'} and {skills} skill{'' if skills == 1 else 's'}"
    return f"the keyword tables were made anew from {of}"


def _counted(db: sqlite3.Connection) -> list[str]:
    done = [f"{each}: set right" for each in (*_counters(db), *recounting.recount(db))]
    return done + recounting.keep_counters(db)


def _counters(db: sqlite3.Connection) -> list[str]:
    """Sets the end of the chain and the counter to what the blocks say, if they hold together."""
    head = rows.head(db)
    position, before = 0, audit.genesis(states.chain_name(db, head.namespace))
    for row in db.execute(f"SELECT {rows.BLOCK} FROM block ORDER BY position"):  # noqa: S608
        try:
            wrong = audit.flaw(rows.block(row), position + 1, before)
        except (ValueError, TypeError, AttributeError, OverflowError):
            return []
        if wrong is not None:
            return []
        position, before = position + 1, row[-1]
    (highest,) = db.execute(
        "SELECT max(coalesce((SELECT max(seq) FROM block), 0), "
        "coalesce((SELECT max(seq) FROM version), 0), coalesce((SELECT max(seq) FROM vector), 0), "
        "coalesce((SELECT max(seq) FROM link), 0))"
    ).fetchone()
    if (head.position, head.hash) == (position, before) and head.seq >= highest:
        return []
    db.execute(
        "UPDATE store SET position = ?, head = ?, seq = max(seq, ?)", (position, before, highest)
    )
    return ["the end of the chain and the counter"]


def _page_findings(db: sqlite3.Connection) -> bool:
    """Whether SQLite finds anything wrong with its pages and indexes."""
    try:
        return bool(db.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok")
    except sqlite3.DatabaseError:
        return True


class _transaction:  # noqa: N801  # a context manager
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._db.execute("COMMIT")
        elif self._db.in_transaction:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
