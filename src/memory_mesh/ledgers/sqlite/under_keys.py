"""What a namespace holds that only the store's key can be held against: it is counted, not read."""

import sqlite3
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

from memory_mesh.ledgers.sqlite.open_file import connect
from memory_mesh.platform import forks

KEYS = "archive.keys"  # the state that lists the keys of the store it was exported from
_MOST = 64  # databases that are looked at
_PLACEHOLDER = "*[[][A-Z]*_" + "[0-9a-f]" * 12 + "]*"


def counts(db: sqlite3.Connection) -> tuple[int, int]:
    """The tombstones of a namespace, and its texts with a placeholder in them."""
    (tombstones,) = db.execute("SELECT count(*) FROM tombstone").fetchone()
    (texts,) = db.execute(
        "SELECT count(*) FROM text WHERE content GLOB ?", (_PLACEHOLDER,)
    ).fetchone()
    return int(tombstones), int(texts)


def had_key(folder: Path) -> bool:
    """Whether the store in a folder was written with a key, by what its namespaces hold.

    What an archive brought was made with the key of another store. Of a store with many namespaces
    it looks at some: the first memory that needs a key waits for it.
    """
    found = (path for path in (folder / "namespaces").rglob("*.db") if path.is_file())
    for path in islice(found, _MOST):
        with (
            suppress(sqlite3.Error, UnicodeDecodeError),  # whoever opens it says what it is
            forks.inside_sqlite(),
            closing(connect(path, "mode=ro")) as db,
        ):
            brought = db.execute("SELECT 1 FROM state WHERE name = ?", (KEYS,)).fetchone()
            if not brought and any(counts(db)):
                return True
    return False
