"""What `verify` reads of a file: header, schema, checksums, every row as reads do, keyword tables.

Each check yields what it finds. A file that cannot be read at one place is still read at others:
`guarded` reports SQLite's error, and that of a value which no read understands, as a finding.
"""

import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial

from memory_mesh.engines.ledgers.sqlite import marks, rows, schema
from memory_mesh.engines.ledgers.sqlite.keeping import sums
from memory_mesh.model import Finding

SHOWN = 20  # findings listed per check; the rest is counted
_ALL = 2**31  # rows that a listing may have
UNREADABLE = (
    sqlite3.Error,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
)  # what values that nobody wrote raise in those who read them
_OWNERS = {  # the id of the memory or skill that a row of a table is of
    "memory": "SELECT id FROM memory WHERE number = ?",
    "text": "SELECT m.id FROM text t JOIN memory m ON m.number = t.memory WHERE t.number = ?",
    "version": "SELECT m.id FROM version v JOIN memory m ON m.number = v.memory WHERE v.number = ?",
    "observation": "SELECT m.id FROM observation o JOIN memory m ON m.number = o.memory "
    "WHERE o.number = ?",
    "vector": "SELECT m.id FROM vector v JOIN text t ON t.number = v.text "
    "JOIN memory m ON m.number = t.memory WHERE v.number = ?",
    "skill": "SELECT id FROM skill WHERE number = ?",
    "skill_vector": "SELECT id FROM skill WHERE number = ?",
}
_KEYS = {
    "link": "source || ' ' || target",
    "skill_vector": "skill",
    "predicate": "name",
    "tombstone": "hex(substr(digest, 1, 4))",
}  # of tables whose rows have no number
_KEYWORDS = {"live": "terms", "rest": "terms", "skill_live": "name, intent, tags, description"}
_SHADOWS = ("data", "idx", "docsize", "config")
_SPACE = re.compile(r"\s+")
_WIDTH = 2**64
Check = Callable[[sqlite3.Connection, Counter[str]], Iterable[Finding]]


def checks() -> dict[str, Check]:
    """The checks of this module by what they look at."""
    return {
        "header": _header,
        "schema": _schema,
        "checksums": _sums,
        "counters": _counters,
        "rows as reads return them": _reads,
        "keyword tables": _keywords,
        "marks of metadata": _marks,
    }


def guarded(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What the check finds; where it cannot go on, that is a finding too."""
    found: list[Finding] = []
    try:
        found += limited(name, check())
    except UNREADABLE as error:
        found.append(Finding(name, f"cannot be read: {error!s}"))
    return found


def limited(name: str, found: Iterable[Finding]) -> Iterator[Finding]:
    """The first findings of a check, and how many more there are."""
    more = 0
    for number, finding in enumerate(found):
        if number < SHOWN:
            yield finding
        else:
            more += 1
    if more:
        yield Finding(name, f"and {more} more")


@contextmanager
def bytes_as_text(db: sqlite3.Connection) -> Iterator[None]:
    """Reads text that is not valid Unicode too: such a row does not stop a check."""
    before = db.text_factory
    db.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    try:
        yield
    finally:
        db.text_factory = before


def _header(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """The header says whose file it is, which version made it, and how it is written."""
    for name, expected in (
        ("application_id", schema.APPLICATION),
        ("user_version", schema.NEWEST),
        ("encoding", "UTF-8"),
        ("auto_vacuum", 0),
    ):
        checked["header fields"] += 1
        (found,) = db.execute(f"PRAGMA {name}").fetchone()
        if found != expected:
            yield Finding("header", f"{name} is {found}, expected {expected}")


def _schema(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Tables and indexes are those that the migrations make."""
    with schema.empty("") as blank:
        if schema.is_indexed(db):
            for statement in schema.index_statements():
                blank.execute(statement)
        expected = _made(blank)
    found = _made(db)
    checked["tables and indexes"] = len(found)
    for key in sorted(expected.keys() | found.keys()):
        if key not in found:
            yield Finding("schema", f"{' '.join(key)} is missing")
        elif key not in expected:
            yield Finding("schema", f"{' '.join(key)} is not one of ours")
        elif found[key] != expected[key]:
            yield Finding("schema", f"{' '.join(key)} is not as the migrations make it")


def _made(db: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """What sqlite_schema holds, without comments and spaces: earlier versions kept those."""
    return {
        (str(kind), str(name)): _SPACE.sub("", re.sub(r"--[^\n]*", "", sql or ""))
        for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_schema")
        if not str(name).startswith(("sqlite_stat", "sqlite_sequence"))
    }


def _sums(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Every row still has the values that its checksum was made of."""
    for table, values in sums.CHECKED.items():
        yield from guarded("checksums", partial(_of_table, db, table, values, checked))


def _of_table(
    db: sqlite3.Connection, table: str, values: str, checked: Counter[str]
) -> Iterator[Finding]:
    key = _KEYS.get(table, "number")
    for number, crc, *row in db.execute(f"SELECT {key}, crc, {values} FROM {table}"):  # noqa: S608
        checked["checksums"] += 1
        if sums.of(*row) != crc:
            of = _owner(db, table, number, row)
            yield Finding("checksums", f"{table} {number}{of} is not what was stored")


def _owner(db: sqlite3.Connection, table: str, number: object, row: list[object]) -> str:
    """Says which memory or skill a row is of, as far as that can be read."""
    if table == "link":
        return f", from {row[0]} to {row[1]},"
    with suppress(*UNREADABLE):
        for (id_,) in db.execute(_OWNERS[table], (number,)) if table in _OWNERS else ():
            return f" of {id_}"
    return ""


def _counters(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Every memory still has the counters that its tally was made of."""
    for id_, tally, *row in db.execute(f"SELECT id, tally, {sums.TALLIED} FROM memory"):  # noqa: S608
        checked["checksums of counters"] += 1
        if sums.of(*row) != tally:
            detail = f"those of {id_} are not what was counted; run `memory-mesh repair`"
            yield Finding("counters", detail)


def _reads(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Every version, skill, conflict, proposal and recall is one that a read understands."""
    statement = f"SELECT v.number, {rows.MEMORY} FROM {rows.JOINED}"  # noqa: S608  # own names
    for number, *row in db.execute(statement):
        checked["rows as reads return them"] += 1
        try:
            memory = rows.memory(tuple(row))
            memory.text.encode()
        except UNREADABLE as error:
            of = _owner(db, "version", number, [])
            yield Finding("rows as reads return them", f"version {number}{of}: {error}")
    for what, reader in _READERS.items():
        yield from guarded("rows as reads return them", partial(_read, db, reader, what))


def _read(
    db: sqlite3.Connection, reader: Callable[[sqlite3.Connection], object], what: str
) -> Iterator[Finding]:
    """A listing of all that there is of a kind; bytes that are no text stop it, as any read."""
    lenient, db.text_factory = db.text_factory, str
    try:
        reader(db)
    except UNREADABLE as error:
        yield Finding("rows as reads return them", f"{what}: {error}")
    finally:
        db.text_factory = lenient


def _conflicts(db: sqlite3.Connection) -> object:
    from memory_mesh.engines.ledgers.sqlite import conflicts

    return conflicts.conflicts(db, _ALL, pending=False)


def _proposals(db: sqlite3.Connection) -> object:
    from memory_mesh.engines.ledgers.sqlite import proposals

    return proposals.listed(db, _ALL, pending=False, memory=None)


def _skills(db: sqlite3.Connection) -> object:
    from memory_mesh.engines.ledgers.sqlite import skills

    return skills.every(db)


def _recalls(db: sqlite3.Connection) -> object:
    found = db.execute("SELECT id, 'recall', agent, at, memories, wire, metadata FROM recall")
    return [rows.entry(row) for row in found]


_READERS = {
    "conflicts": _conflicts,
    "proposals": _proposals,
    "skills": _skills,
    "recalls": _recalls,
}


def _marks(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Filters find memories by the marks of their metadata, each of them and no other."""
    (checked["marks of metadata"],) = db.execute("SELECT count(*) FROM metadata_mark").fetchone()
    for number in marks.flaws(db):
        of = _owner(db, "memory", number, [])
        detail = f"memory {number}{of} lacks one, or has one too many; run `memory-mesh repair`"
        yield Finding("marks of metadata", detail)


def _keywords(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Each keyword table is whole, and holds exactly the stored terms of its texts or skills."""
    for table in _KEYWORDS:
        yield from guarded("keyword tables", partial(_keyword_table, db, table, checked))


def _keyword_table(db: sqlite3.Connection, table: str, checked: Counter[str]) -> Iterator[Finding]:
    with _copied(db, table) as copy:
        yield from guarded("keyword tables", partial(_whole, copy, table))
        yield from guarded("keyword tables", partial(_terms, db, copy, table, checked))


@contextmanager
def _copied(db: sqlite3.Connection, table: str) -> Iterator[sqlite3.Connection]:
    """A copy of the keyword table: FTS5 asks for a write lock to check it, and this is a read."""
    with closing(sqlite3.connect("", isolation_level=None)) as copy:
        copy.text_factory = db.text_factory
        copy.execute(
            f"CREATE VIRTUAL TABLE {table} USING fts5 "
            f"({_KEYWORDS[table]}, content = '', tokenize = \"ascii tokenchars '#+'\")"
        )
        copy.execute("BEGIN")
        for shadow in _SHADOWS:
            name = f"{table}_{shadow}"
            if shadow == "config":  # FTS5 read the copy's own when it was made
                _as_made(db, copy, name)
                continue
            copy.execute(f"DELETE FROM {name}")  # noqa: S608  # own names
            found = db.execute(f"SELECT * FROM {name}")  # noqa: S608
            marks = ", ".join("?" * len(found.description))
            copy.executemany(f"INSERT INTO {name} VALUES ({marks})", found)  # noqa: S608
        copy.execute("COMMIT")
        yield copy


def _as_made(db: sqlite3.Connection, copy: sqlite3.Connection, name: str) -> None:
    """The settings of a keyword table are those of a new one: no other are ever written."""
    asked = f"SELECT * FROM {name} ORDER BY 1"  # noqa: S608  # own names
    if db.execute(asked).fetchall() != copy.execute(asked).fetchall():
        raise ValueError(f"{name} is not what it was made with; run `memory-mesh repair`")


def _whole(copy: sqlite3.Connection, table: str) -> Iterator[Finding]:
    """FTS5's own check."""
    try:
        copy.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")  # noqa: S608
    except sqlite3.DatabaseError as error:
        yield Finding("keyword tables", f"{table}: {error}; run `memory-mesh repair`")


def _terms(
    db: sqlite3.Connection, copy: sqlite3.Connection, table: str, checked: Counter[str]
) -> Iterator[Finding]:
    """The table read from end to end, and asked for each term, against what is stored."""
    stored: dict[int, int] = {}
    asked: dict[str, tuple[int, int]] = {}
    for number, fields in _stored(db, table):
        checked["texts found by their terms"] += 1
        words = [field.split() for field in fields]
        stored[number] = (
            sum(
                _mark(column, offset, word)
                for column, field in enumerate(words)
                for offset, word in enumerate(field)
            )
            % _WIDTH
        )
        for word in {word for field in words for word in field}:
            count, total = asked.get(word, (0, 0))
            asked[word] = count + 1, total + number
    yield from _differing(table, stored, _indexed(copy, table))
    yield from _not_found(copy, table, asked)


def _stored(db: sqlite3.Connection, table: str) -> Iterator[tuple[int, list[str]]]:
    """The terms of each text or skill that belongs into the table."""
    import json

    if table == "skill_live":
        for number, terms in db.execute("SELECT number, terms FROM skill WHERE status = 'active'"):
            yield number, [str(field) for field in json.loads(terms)]
        return
    inside = "IN" if table == "live" else "NOT IN"
    for number, terms in db.execute(
        f"SELECT number, terms FROM text WHERE number {inside} (SELECT text FROM version "  # noqa: S608
        "WHERE recorded_until IS NULL AND status = 'active')"
    ):
        yield number, [str(terms)]


def _indexed(copy: sqlite3.Connection, table: str) -> dict[int, int]:
    """A mark of all terms of each row, as the keyword table holds them."""
    names = [name.strip() for name in _KEYWORDS[table].split(",")]
    copy.execute(f"CREATE VIRTUAL TABLE seen USING fts5vocab ({table}, instance)")
    found: dict[int, int] = {}
    for doc, column, term, offset in copy.execute("SELECT doc, col, term, offset FROM seen"):
        mark = _mark(names.index(column), offset, str(term))
        found[doc] = (found.get(doc, 0) + mark) % _WIDTH
    return found


def _mark(column: int, offset: int, word: str) -> int:
    """A number for one word at one place; the sum of them does not depend on their order."""
    raw = word.encode("utf-8", "surrogateescape")
    return zlib.crc32(raw) * (2 * offset + 1) * (column + 1) + zlib.adler32(raw)


def _differing(table: str, stored: dict[int, int], indexed: dict[int, int]) -> Iterator[Finding]:
    for number in sorted(stored.keys() | indexed.keys()):
        if stored.get(number, 0) != indexed.get(number, 0):
            detail = f"{table} does not hold the terms of row {number}; run `memory-mesh repair`"
            yield Finding("keyword tables", detail)


def _not_found(
    copy: sqlite3.Connection, table: str, asked: dict[str, tuple[int, int]]
) -> Iterator[Finding]:
    """Asks the table for every term, as a search would."""
    for word, expected in asked.items():
        quoted = word.replace('"', '""')
        found = copy.execute(
            f"SELECT count(*), coalesce(sum(rowid), 0) FROM {table} WHERE {table} MATCH ?",  # noqa: S608
            (f'"{quoted}"',),
        ).fetchone()
        if found != expected:
            detail = f"{table} finds {found[0]} of {expected[0]} rows by a term"
            yield Finding("keyword tables", f"{detail}; run `memory-mesh repair`")
