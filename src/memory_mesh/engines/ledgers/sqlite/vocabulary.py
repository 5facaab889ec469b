"""The stored words near a word that is not stored: a bounded look, whatever the size of the store.

A look reads at most `_LOOKED_AT` words from where they would stand in the alphabet. FTS5 walks a
word's list to count it, a fiftieth of a microsecond for each text that holds it. Which of them
count, and whether the reader sees a text with them, is decided in flows/keyword_plan.py.
"""

import json
import sqlite3
from collections.abc import Sequence

_LOOKED_AT = 3_000
_LAST = "\U0010ffff"


def beginning(db: sqlite3.Connection, tables: Sequence[str], letters: str) -> list[str]:
    """The first words of the keyword tables that begin so."""
    found: list[str] = []
    for table in tables:
        db.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_word "
            f"USING fts5vocab (main, {table}, row)"
        )
        found += [
            word
            for (word,) in db.execute(
                f"SELECT term FROM temp.{table}_word WHERE term >= ? AND term < ? LIMIT ?",  # noqa: S608
                (letters, letters + _LAST, _LOOKED_AT),
            )
        ]
    return list(dict.fromkeys(found))


def stored(db: sqlite3.Connection, tables: Sequence[str], words: Sequence[str]) -> list[str]:
    """Those of the words that some text holds."""
    there = " OR ".join(
        f"EXISTS (SELECT 1 FROM {table} WHERE {table} MATCH '\"' || value || '\"')"  # noqa: S608
        for table in tables
    )
    found = db.execute(
        f"SELECT value FROM json_each(?) WHERE {there}",  # noqa: S608  # own names only
        (json.dumps(words),),
    )
    return [word for (word,) in found]
