"""What a namespace holds that only the store's key can be held against: it is counted, not read."""

import sqlite3

_PLACEHOLDER = "*[[][A-Z]*_" + "[0-9a-f]" * 12 + "]*"


def counts(db: sqlite3.Connection) -> tuple[int, int]:
    """The tombstones of a namespace, and its texts with a placeholder in them."""
    (tombstones,) = db.execute("SELECT count(*) FROM tombstone").fetchone()
    (texts,) = db.execute(
        "SELECT count(*) FROM text WHERE content GLOB ?", (_PLACEHOLDER,)
    ).fetchone()
    return int(tombstones), int(texts)
