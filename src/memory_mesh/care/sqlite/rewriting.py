"""Write a database anew, so that it holds its rows and nothing else; and look what bytes it holds.

SQLite leaves what was deleted in free pages and in its log, and FTS5 in its segments. VACUUM writes
the rows into new pages; the log is emptied when no reader needs an earlier moment any more.
"""

from contextlib import closing, suppress
from pathlib import Path

from memory_mesh.care.sqlite import pages
from memory_mesh.ledgers.sqlite import open_file
from memory_mesh.ledgers.sqlite.connection import SqliteConnection, translated
from memory_mesh.platform import forks, locks
from memory_mesh.platform.locks import locked
from memory_mesh.rules.byte_pieces import GRAM, STEP, BytePieces

_SHELVES = ("live", "rest", "skill_live")
_OWN = GRAM - STEP  # bytes of a piece that a row says
_DATABASES = (".db", ".sqlite")
_PART, _OVERLAP = 1 << 20, 4 * GRAM  # bytes that are searched at once, and those that follow


def rewrite(path: Path, namespace: str) -> str | None:
    """Writes a namespace's file anew and empties its log; says who keeps that from being done."""
    with (
        locked(path.with_suffix(".lock")),
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


def hits_in(path: Path, pieces: BytePieces) -> tuple[set[bytes], int]:
    """The pieces that stand in a file, and how large it is.

    A database stays open: closing it would drop every lock that SQLite has on it in this process.
    """
    found, size = set[bytes](), 0
    with suppress(FileNotFoundError):
        parts = pages.parts(path, _PART, _OVERLAP) if path.suffix in _DATABASES else ()
        for part in parts or [path.read_bytes()]:
            found, size = found | pieces.hits(part), size + len(part)
    return found, size


def unsaid(path: Path, hits: set[bytes]) -> set[bytes]:
    """Those of the pieces that no row of the database says.

    A few bytes of a piece may be those of the value that stands beside it.
    """
    rest = set(hits)
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
