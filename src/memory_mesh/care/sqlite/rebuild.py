"""Rebuilds what is derived from other rows: keyword tables, indexes, counters.

Each step is one transaction or one rewrite of the file by SQLite: a kill at any point leaves the
file as it was before the step or after it, and the next run does the rest.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from memory_mesh.ledgers.shared import metadata_marks, named_values, rows, sums
from memory_mesh.ledgers.sqlite import open_file, schema
from memory_mesh.ledgers.sqlite.connection import SqliteConnection
from memory_mesh.model.errors import StoreIsDamaged
from memory_mesh.rules import audit
from memory_mesh.rules.trust import LEAST_USEFUL, MOST_USEFUL

_ONE = {"1 memories": "1 memory", "1 texts": "1 text", "1 spaces have": "1 space has"}
_TOLD = 20  # memories named in one sentence
_BITS = 63  # of a number that a changed bit may be in
_OBSERVED = "(SELECT count(DISTINCT origin) FROM observation o WHERE o.memory = memory.number)"
_LATEST = (
    "SELECT max(recorded, (SELECT coalesce(max(at), 0) FROM injection), "
    "(SELECT 1000 * coalesce(max(at), 0) FROM recall)) FROM store"
)
_STATEMENTS = {
    "the vectors of {} texts, which have another length than their space": (
        "DELETE FROM vector WHERE length(data) <> 4 * (SELECT dimension FROM space "
        "WHERE space.number = vector.space)"
    ),
    "how far {} spaces have vectors": (
        "UPDATE space SET reached = 0 WHERE reached > 0 AND EXISTS (SELECT 1 FROM text t "
        "WHERE t.number <= space.reached AND NOT EXISTS (SELECT 1 FROM vector x WHERE "
        "x.text = t.number AND x.space = space.number) AND NOT EXISTS (SELECT 1 FROM "
        "wordless w WHERE w.text = t.number AND w.space = space.number))"
    ),
}

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
def opened(path: Path) -> Iterator[SqliteConnection]:
    """A connection to a database that may be damaged; StoreIsDamaged names salvage."""
    db: SqliteConnection | None = None
    try:
        db = open_file.connect(path)
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
    with open_file.empty("") as blank:  # the file's own statements may be damaged
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
    done = [f"{each}: set right" for each in (*_counters(db), *recount_rows(db))]
    return done + keep_counters(db)


def _counters(db: sqlite3.Connection) -> list[str]:
    """Sets the end of the chain and the counter to what the blocks say, if they hold together."""
    head = rows.head(db)
    position, before = 0, audit.genesis(named_values.chain_name(db, head.namespace))
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


# Sets right what counts or repeats other rows: today's status, sources, vectors, counters.
#
# A counter of uses or votes repeats no other row. Where its checksum says that it is wrong, it is
# put back if one bit of it was changed, for then the checksum tells which; else what it says is
# kept.


def recount_rows(db: sqlite3.Connection) -> list[str]:
    """Sets right what repeats other rows; says which was wrong."""
    counts = {
        "today's status of {} memories": _statuses(db),
        "the number of sources of {} memories": _origins(db),
        "the numbers and counts of audiences, {} in all": schema.rebuild_audiences(db),
        "the marks of metadata, {} in all": metadata_marks.rebuild(db),
    }
    counts |= {what: db.execute(each).rowcount for what, each in _STATEMENTS.items()}
    return [_said(what, count) for what, count in counts.items() if count]


def _said(what: str, count: int) -> str:
    said = what.format(count)
    if count == 1:
        for several, one in _ONE.items():
            said = said.replace(several, one)
    return said


def keep_counters(db: sqlite3.Connection) -> list[str]:
    """Gives each memory whose counters are wrong a new tally; says of which they are kept.

    Those that can be put back are. A value that is no count at all becomes that of a new memory.
    """
    (latest,) = db.execute(_LATEST).fetchone()
    right, kept = list[str](), list[str]()
    found = db.execute(f"SELECT number, id, tally, {_OBSERVED}, {sums.TALLIED} FROM memory")  # noqa: S608
    for number, id_, tally, observed, *row in found.fetchall():
        if sums.of(*row) == tally:
            continue
        before = next((each for each in _guesses(row, observed) if sums.of(*each) == tally), None)
        _put(db, number, _sound(row, latest) if before is None else before)
        (kept if before is None else right).append(id_)
    done = []
    if right:
        done.append(f"the counters of {_named(right)}: put back to what was counted")
    if kept:
        done.append(
            f"the counters of {_named(kept)} are not what was counted, and nothing else says what "
            "was: uses and votes are kept as they read, or begin anew where that is no count"
        )
    return done


def _statuses(db: sqlite3.Connection) -> int:
    """Sets today's status to that of the open version, unless that is the damaged one."""
    changed = 0
    for number, crc, id_, created, was, version, status in db.execute(
        "SELECT m.number, m.crc, m.id, m.created, m.status, v.number, v.status FROM memory m "
        "JOIN version v ON v.memory = m.number AND v.recorded_until IS NULL "
        "WHERE v.status <> m.status"
    ).fetchall():
        statement = "UPDATE memory SET status = ? WHERE number = ?"
        if crc != sums.of(id_, created, was):  # its checksum is of the right one
            db.execute(statement, (status, number))
        elif sums.holds(db, "version", version):
            with sums.renewed(db, "memory", number):
                db.execute(statement, (status, number))
        else:
            continue
        changed += 1
    return changed


def _origins(db: sqlite3.Connection) -> int:
    """Raises the number of sources to what the observations say."""
    found = db.execute(
        f"SELECT number, tally, {_OBSERVED}, {sums.TALLIED} FROM memory "  # noqa: S608  # own names
        f"WHERE origins < {_OBSERVED}"
    ).fetchall()
    for number, tally, observed, *row in found:
        if sums.of(*row) == tally:
            db.execute(sums.counting({"origins": "?1"}, "number = ?2"), (observed, number))
        else:  # its tally is of the right one
            db.execute("UPDATE memory SET origins = ? WHERE number = ?", (observed, number))
    return len(found)


def _guesses(row: Sequence[object], observed: int) -> Iterator[list[object]]:
    """What the counters may have been: with the sources that were observed, and with one bit back.

    A wrong guess would have to have the same checksum by chance: one in some million tries.
    """
    origins = sums.COUNTERS.index("origins")
    yield [*row[:origins], observed, *row[origins + 1 :]]
    for place, value in enumerate(row):
        for bit in range(_BITS if isinstance(value, int) else 0):
            yield [*row[:place], _flipped(value, bit), *row[place + 1 :]]


def _flipped(value: object, bit: int) -> object:
    return value ^ (1 << bit) if isinstance(value, int) else value


def _sound(row: Sequence[object], latest: int) -> list[object]:
    """The counters as they read; what is no count is that of a new memory."""
    new: dict[str, object] = {"last_used": None, "origins": 1, "usefulness": 1.0}
    named = dict(zip(sums.COUNTERS, row, strict=True))
    for name, value in named.items():
        whole = isinstance(value, int) and value >= 0
        useful = isinstance(value, float) and LEAST_USEFUL <= value <= MOST_USEFUL
        if not (useful if name == "usefulness" else whole):
            named[name] = new.get(name, 0)
    last = named["last_used"]
    named["last_used"] = min(last, latest) if isinstance(last, int) else None
    return [*named.values()]


def _put(db: sqlite3.Connection, number: int, counted: Sequence[object]) -> None:
    sets = ", ".join(f"{name} = ?" for name in chain(sums.COUNTERS, ("tally",)))
    db.execute(
        f"UPDATE memory SET {sets} WHERE number = ?",  # noqa: S608  # own names
        (*counted, sums.of(*counted), number),
    )


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _TOLD} more" if len(ids) > _TOLD else ""
    return ", ".join(map(str, ids[:_TOLD])) + more
