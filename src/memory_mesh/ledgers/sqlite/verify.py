"""What `verify` reads of an SQLite file besides its rows: pages, header, schema, keyword tables."""

import json
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from io import FileIO
from pathlib import Path

from memory_mesh.ledgers.shared import verify as sql_verify
from memory_mesh.ledgers.sqlite import open_file, schema, vector_file
from memory_mesh.ledgers.sqlite.file_scan import SpaceVectors, belief
from memory_mesh.model import Checkpoint, Finding, Verification
from memory_mesh.platform import extras

NAME = "vector files"
_AT_ONCE = 4_096  # rows
_REBUILD = "searches may miss a memory by meaning; run `memory-mesh repair`"

_KEYWORDS = {"live": "terms", "rest": "terms", "skill_live": "name, intent, tags, description"}
_SHADOWS = ("data", "idx", "docsize", "config")
_INVARIANTS = {
    "texts a default read could return are in the live keyword table, and only those": """
        SELECT 'text ' || id FROM (SELECT id FROM live_docsize EXCEPT SELECT text FROM version
            WHERE recorded_until IS NULL AND status = 'active')
        UNION ALL SELECT 'text ' || text FROM (SELECT text FROM version
            WHERE recorded_until IS NULL AND status = 'active'
            EXCEPT SELECT id FROM live_docsize)""",
    "every other text is in the rest keyword table, and only those": """
        SELECT 'text ' || id FROM (SELECT id FROM rest_docsize EXCEPT SELECT number FROM text)
        UNION ALL SELECT 'text ' || number FROM (SELECT number FROM text EXCEPT
            SELECT id FROM live_docsize EXCEPT SELECT id FROM rest_docsize)
        UNION ALL SELECT 'text ' || id FROM (SELECT id FROM live_docsize INTERSECT
            SELECT id FROM rest_docsize)""",
    "active skills are in their keyword table, and only those": """
        SELECT 'skill ' || id FROM (SELECT id FROM skill_live_docsize EXCEPT
            SELECT number FROM skill WHERE status = 'active')
        UNION ALL SELECT 'skill ' || number FROM (SELECT number FROM skill
            WHERE status = 'active' EXCEPT SELECT id FROM skill_live_docsize)""",
    "no reference dangles": "SELECT \"table\" || ' row ' || rowid FROM pragma_foreign_key_check",
}  # each statement returns what breaks the promise in its name
_SPACE = re.compile(r"\s+")
_WIDTH = 2**64


def verify(
    db: sqlite3.Connection, against: Checkpoint | None = None, namespace: str = ""
) -> Verification:
    """Everything that can be checked of a file: its pages, tables, chain and vector files."""
    checks: dict[str, sql_verify.Check] = {
        "database pages": _pages,
        "header": _header,
        "schema": _schema,
        "keyword tables": _keywords,
        NAME: check,
    }
    return sql_verify.verify(db, checks, _INVARIANTS, against, namespace)


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
    with open_file.empty("") as blank:
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


def _keywords(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Each keyword table is whole, and holds exactly the stored terms of its texts or skills."""
    for table in _KEYWORDS:
        yield from sql_verify.guarded("keyword tables", partial(_keyword_table, db, table, checked))


def _keyword_table(db: sqlite3.Connection, table: str, checked: Counter[str]) -> Iterator[Finding]:
    with _copied(db, table) as copy:
        yield from sql_verify.guarded("keyword tables", partial(_whole, copy, table))
        yield from sql_verify.guarded("keyword tables", partial(_terms, db, copy, table, checked))


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
    sizes: dict[int, bytes] = {}
    asked: dict[str, tuple[int, int]] = {}
    for number, fields in _stored(db, table):
        checked["texts found by their terms"] += 1
        words = [field.split() for field in fields]
        sizes[number] = b"".join(_size(len(field)) for field in words)
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
    for number, size in copy.execute(f"SELECT id, sz FROM {table}_docsize"):  # noqa: S608
        if sizes.get(number, size) != size:
            yield Finding(
                "keyword tables",
                f"{table}: the length of {number} is wrong; run `memory-mesh repair`",
            )


def _size(words: int) -> bytes:
    """A number of words as FTS5 keeps it: seven bits a byte, the highest first."""
    groups = [words & 127]
    while words := words >> 7:
        groups.insert(0, 128 | words & 127)
    return bytes(groups)


def _stored(db: sqlite3.Connection, table: str) -> Iterator[tuple[int, list[str]]]:
    """The terms of each text or skill that belongs into the table."""
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


def _pages(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """SQLite's own check of its pages and indexes."""
    checked["database pages"] = db.execute("PRAGMA page_count").fetchone()[0]
    for (line,) in db.execute(f"PRAGMA integrity_check({sql_verify.SHOWN})"):
        if line != "ok":
            yield Finding("database pages", line)


# What `verify` finds in vector files: each row against its checksum and the ledger's vector.


def check(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Compares every file beside the database; one that another search will make anew is passed.

    Without numpy no search here reads these files, and they are passed too.
    """
    if not extras.is_installed("numpy"):
        return
    database: Path | None = getattr(db, "path", None)
    for path in vector_file.files(database) if database is not None else ():
        file = vector_file.opened(path)
        if file is None:
            continue
        with file:
            header = vector_file.header_of(file)
            if header is None:
                yield Finding(NAME, f"{path.name} is cut, or its first line is damaged; {_REBUILD}")
            elif database is not None and _is_own(db, database, header):
                try:
                    yield from _rows(db, file, header, path.name, checked)
                except vector_file.Unusable:
                    yield Finding(NAME, f"{path.name} ends before its last row; {_REBUILD}")


def _is_own(db: sqlite3.Connection, database: Path, header: vector_file.Header) -> bool:
    found = db.execute(
        "SELECT dimension, (SELECT max(number) FROM vector) FROM space WHERE number = ?",
        (header.space,),
    ).fetchone()
    return (
        found is not None
        and found[1] is not None
        and belief(SpaceVectors(db, database, header.space, *found), header) is True
    )


def _rows(
    db: sqlite3.Connection,
    file: FileIO,
    header: vector_file.Header,
    name: str,
    checked: Counter[str],
) -> Iterator[Finding]:
    size, before, held = vector_file.size_of(header.dimension), 0, 0
    for first in range(0, header.rows, _AT_ONCE):
        count = min(_AT_ONCE, header.rows - first)
        data = vector_file.read_rows(file, header, first, count)
        there = [data[start : start + size] for start in range(0, len(data), size)]
        checked[NAME] += count
        damaged = [row for row, each in enumerate(there, first) if not vector_file.is_sound(each)]
        yield from (Finding(NAME, f"row {row} of {name} is damaged; {_REBUILD}") for row in damaged)
        if damaged:
            return
        last = vector_file.number_of(there[-1])
        ledger = _of_ledger(db, header, before, last)
        held += len(ledger)
        for row in there:
            number = vector_file.number_of(row)
            if not vector_file.same(row, ledger.get(number, b"")):
                yield Finding(
                    NAME, f"vector {number} in {name} is not that of the ledger; {_REBUILD}"
                )
        before = last
    (wanted,) = db.execute(
        "SELECT count(*) FROM vector WHERE space = ? AND number <= ?", (header.space, header.upto)
    ).fetchone()
    if wanted != held:
        yield Finding(NAME, f"{name} lacks vectors of the ledger; {_REBUILD}")


def _of_ledger(
    db: sqlite3.Connection, header: vector_file.Header, after: int, last: int
) -> dict[int, bytes]:
    """Rows as they should be, by number."""
    import numpy as np

    found = db.execute(
        "SELECT number, data FROM vector WHERE number > ? AND number <= ? AND space = ? "
        "ORDER BY number",
        (after, last, header.space),
    ).fetchall()
    if not found:
        return {}
    numbers = np.fromiter((row[0] for row in found), np.int64, len(found))
    block = np.frombuffer(b"".join(row[1] for row in found), np.float32)
    size = vector_file.size_of(header.dimension)
    rows = vector_file.packed(numbers, block.reshape(len(found), header.dimension))
    return {
        number: rows[place * size : (place + 1) * size]
        for place, number in enumerate(numbers.tolist())
    }
