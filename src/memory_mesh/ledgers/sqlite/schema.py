"""The file's schema: made at the first write, migrated under the lock, checked in each transaction.

Lowest SQLite: 3.36 (serialize built in, FTS5 with the ascii tokenizer, RETURNING not needed, JSON).
"""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.ledgers.shared import rows, sums
from memory_mesh.model.errors import StoreError, StoreIsDamaged, StoreIsNewer
from memory_mesh.platform.system import make_file
from memory_mesh.rules import audit

# Numbered migrations, for every engine: which steps a store still needs, and in which order.
#
# A step is a file `NNNN_name.sql` beside its engine. A store at version n has run steps 1 … n.


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """One numbered change of the schema."""

    number: int
    name: str
    sql: str


def steps(folder: Path) -> list[SchemaStep]:
    """The engine's steps, in order, without gaps."""
    found = [
        SchemaStep(int(path.name[:4]), path.stem[5:], path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    ]
    if [step.number for step in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations in {folder.name} are not numbered 1 to {len(found)}")
    return found


def migrate(
    folder: Path, version: int, backup: Callable[[int], None], apply: Callable[[SchemaStep], None]
) -> int:
    """Bring a store from its version to the newest: back up what exists, then step by step."""
    known = steps(folder)
    if version > len(known):
        raise StoreIsNewer
    if 0 < version < len(known):
        backup(version)
    for step in known[version:]:
        apply(step)
    return len(known)


LOWEST_SQLITE = (3, 36, 0)
NEWEST = 14  # the number of the last migration
PAGE = 512  # bytes; an empty table or index takes one page, and most of a small file's are empty
LARGE_PAGE = 8192  # of a file that has grown: it holds five vectors, of which a small one takes two
SMALL_BYTES, REWRITTEN_BYTES = 2 * 2**20, 64 * 2**20  # a file between them gets large pages
APPLICATION = 0x4D4D7368  # "MMsh", in the header of every file since migration 11
_SUMMED, _REWRITTEN, _NUMBERED, _INDEXED = 11, 12, 13, 14  # these do more than their statements
_INDEXED_BYTES = 500 * 2**10  # a larger file has the indexes of indexes.sql
_FOLDER = Path(__file__).parent / "migrations"
_SAME = "a.project IS v.project AND a.agent IS v.agent AND a.session IS v.session"
_OF_VERSION = f"(SELECT a.number FROM audience a WHERE {_SAME})"  # noqa: S608  # own names
_AUDIENCES = f"""
    DELETE FROM audience WHERE crc IS NOT row_crc(project, agent, session)
        OR number NOT IN (SELECT min(number) FROM audience GROUP BY project, agent, session);
    INSERT INTO audience (project, agent, session, crc)
        SELECT project, agent, session, row_crc(project, agent, session)
        FROM (SELECT DISTINCT project, agent, session FROM version) v
        WHERE NOT EXISTS (SELECT 1 FROM audience a WHERE {_SAME});
    UPDATE version AS v SET audience = {_OF_VERSION} WHERE audience IS NOT {_OF_VERSION};
    UPDATE audience SET memories = held FROM (
        SELECT a.number AS of_audience, coalesce(h.held, 0) AS held FROM audience a LEFT JOIN
            (SELECT audience, count(*) AS held FROM version WHERE recorded_until IS NULL
            AND status = 'active' GROUP BY audience) h ON h.audience = a.number)
        WHERE number = of_audience AND memories IS NOT held"""  # noqa: S608  # own names; a number is kept where it is right: an index holds it beside each vector


def check_sqlite() -> None:
    """Refuse an SQLite that is too old or lacks FTS5."""
    if sqlite3.sqlite_version_info < LOWEST_SQLITE:
        needed = ".".join(map(str, LOWEST_SQLITE))
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old: memory-mesh needs {needed}")


def version(db: sqlite3.Connection) -> int:
    """The last migration this file has seen; 0 for a file without schema."""
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    return found


def ensure(db: sqlite3.Connection, path: Path, namespace: str) -> None:
    """Make or migrate the schema; the caller holds the lock."""
    found = version(db)
    if found >= NEWEST:
        if not is_logged(db):  # a kill came while the file was written anew
            db.execute("PRAGMA journal_mode = WAL")
        return
    if not found:
        if db.execute("SELECT 1 FROM sqlite_master").fetchone():  # a database, but not of ours
            raise StoreIsDamaged
        db.execute(f"PRAGMA page_size = {PAGE}")
    elif not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'store'").fetchone():
        raise StoreIsDamaged
    db.execute("PRAGMA journal_mode = WAL")  # also where a kill left a rewritten file without
    if not found:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
            fill(new, namespace)
            new.backup(db)  # one transaction, where the migrations are many
        return
    migrate(
        _FOLDER,
        found,
        backup=lambda number: _back_up(db, path, number),
        apply=lambda step: _apply(db, step, namespace),
    )


def grow(db: sqlite3.Connection) -> None:
    """Make the indexes that a grown file needs; inside the transaction that made it grow."""
    if getattr(db, "knows_grown", False) or not has_grown(db):
        return
    if not is_indexed(db):
        make_indexes(db)
    elif hasattr(db, "knows_grown"):
        db.knows_grown = True  # they were there before this transaction, and stay


def has_grown(db: sqlite3.Connection) -> bool:
    """True where a file is so large that it needs indexes."""
    sized = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    return bool(db.execute(sized).fetchone()[0] > _INDEXED_BYTES)


def is_logged(db: sqlite3.Connection) -> bool:
    """True where writes go to a log first, as they do but while the file is written anew."""
    return bool(db.execute("PRAGMA journal_mode").fetchone()[0] == "wal")


def enlarge(db: sqlite3.Connection) -> bool:
    """Give a file that outgrew small pages large ones; False if somebody else has it open.

    The caller holds the lock. A kill leaves a rollback journal, which the next to open the file
    plays back, or the finished file, and no log: `ensure` sets it up again.
    """
    if db.execute("PRAGMA page_size").fetchone()[0] >= LARGE_PAGE:
        return True
    db.execute("PRAGMA busy_timeout = 0")  # whoever has it open may keep it for hours
    return _rewrite(db, LARGE_PAGE)


def is_indexed(db: sqlite3.Connection) -> bool:
    """True where the file has the indexes of a grown one."""
    try:
        db.execute("SELECT memory FROM observation INDEXED BY observation_memory LIMIT 0")
    except sqlite3.OperationalError as error:
        if "no such index" not in str(error):
            raise
        return False
    return True


def make_indexes(db: sqlite3.Connection, only: str | None = None) -> None:
    """Make those indexes of a grown file that it does not have, or only one of them."""
    known = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
    for statement in index_statements():
        name = statement.split()[2]  # CREATE INDEX name
        if name not in known and only in {None, name}:
            db.execute(statement)


def index_statements() -> list[str]:
    """The statements that make the indexes of a grown file."""
    return _statements((_FOLDER / "indexes.sql").read_text(encoding="utf-8"))


def rebuild_audiences(db: sqlite3.Connection) -> int:
    """Makes numbers and counts anew from what versions say; how many were wrong or missing."""
    if has_grown(db):
        make_indexes(db, "audience_parts")
    return sum(db.execute(statement).rowcount for statement in _AUDIENCES.split(";"))


def _number_audiences(db: sqlite3.Connection) -> None:
    """Give audiences their numbers and counts, and a grown file the indexes that ask for them."""
    sums.define(db)
    rebuild_audiences(db)
    if is_indexed(db):
        make_indexes(db)  # those that came with this step
    else:
        grow(db)


def _mark_metadata(db: sqlite3.Connection) -> None:
    """Mark the metadata of what is stored, so that filters find it."""
    from memory_mesh.ledgers.shared import metadata_marks

    metadata_marks.fill(db)


def _back_up(db: sqlite3.Connection, path: Path, number: int) -> None:
    """A whole copy beside the file before anything is changed."""
    copy = path.with_suffix(f".before-{number + 1:04d}-{time.time_ns()}.bak")
    make_file(copy)  # SQLite fills an empty file and keeps its mode
    db.execute("VACUUM INTO ?", (str(copy),))


def _apply(db: sqlite3.Connection, step: SchemaStep, namespace: str) -> None:
    """One step is one transaction, together with its number."""
    for name, function in _FUNCTIONS.items():
        db.create_function(name, 1, function, deterministic=True)
    db.create_function("packed", 3, rows.packed, deterministic=True)
    if step.number == _REWRITTEN and _bytes(db) <= SMALL_BYTES:
        _rewrite(db, PAGE)
    db.execute("BEGIN IMMEDIATE")
    try:
        for statement in _statements(step.sql):
            db.execute(statement)
        if step.number == 1:
            db.execute(
                "INSERT INTO store VALUES (1, ?, 1, 1, 0, 0, 0, ?, lower(hex(randomblob(16))))",
                (namespace, audit.genesis(namespace)),
            )
        if step.number == _SUMMED:
            sums.fill(db, [table for table in sums.CHECKED if table != "audience"])
        if step.number == _NUMBERED:
            _number_audiences(db)
            _mark_metadata(db)
        if step.number == _INDEXED and is_indexed(db):
            make_indexes(db)
        db.execute(f"PRAGMA user_version = {step.number}")
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _bytes(db: sqlite3.Connection) -> int:
    """How large the file is, with what is still in its log."""
    (pages,), (size,) = (
        db.execute(f"PRAGMA {of}").fetchone() for of in ("page_count", "page_size")
    )
    return int(pages * size)


def _rewrite(db: sqlite3.Connection, page: int) -> bool:
    """Write the file anew with pages of a size; False if somebody else has it open.

    SQLite changes the size of pages outside of WAL only. A kill leaves a rollback journal, which
    the next to open the file plays back, and a file without WAL before this step: the step is done
    again. A file that somebody else has open keeps its pages: they are right, only too large or
    too small.
    """
    if db.execute("PRAGMA page_size").fetchone()[0] == page:
        return True
    try:
        db.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return False
    db.execute(f"PRAGMA page_size = {page}")
    db.execute("VACUUM")
    db.execute("PRAGMA journal_mode = WAL")
    return True


def _claim_key(filed: str) -> str:
    """The key under which today's version files a subject or a predicate."""
    from memory_mesh.text.claim_keys import key  # a new file has none

    return key(filed) or filed


def _echo(text: str) -> bytes | None:
    """The fingerprint that today's version makes of a text."""
    from memory_mesh.text.recited import fingerprint  # a new file has none

    return fingerprint(text) or None


_FUNCTIONS: dict[str, Callable[[str], str | bytes | None]] = {
    "claim_key": _claim_key,
    "echo_of": _echo,
}  # that migrations call


def _statements(script: str) -> list[str]:
    """A script's statements one by one: executescript would commit on its own.

    Comments and indents are left out: SQLite keeps the text of a table in the file, in every file.
    """
    statements, pending = [], ""
    for line in script.splitlines():
        pending += line.partition("--")[0].strip() + "\n"
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return statements


def fill(db: sqlite3.Connection, namespace: str) -> None:
    """Makes a database in memory a namespace without memories: what a new file holds."""
    db.deserialize(_blank())
    db.execute(
        "UPDATE store SET namespace = ?, head = ?, identity = lower(hex(randomblob(16)))",
        (namespace, audit.genesis(namespace)),
    )


@lru_cache(maxsize=1)
def _blank() -> bytes:
    """The file of a namespace without memories: migrating one takes 30 ms, copying it none."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        make(db, "")
        db.execute("VACUUM")  # of the pages that migrations left
        return db.serialize()
    finally:
        db.close()


def make(db: sqlite3.Connection, namespace: str, last: int = NEWEST) -> None:
    """Brings a file that nobody else uses to a version, without a copy of what it was."""
    found = version(db)
    if not found:
        db.execute(f"PRAGMA page_size = {PAGE}")
    for step in steps(_FOLDER):
        if found < step.number <= last:
            _apply(db, step, namespace)
