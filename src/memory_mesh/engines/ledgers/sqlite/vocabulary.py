"""The stored words near a word that is not stored: a bounded look, whatever the size of the store.

A look reads at most `LOOKED_AT` words from where they would stand in the alphabet. FTS5 walks a
word's list to count it, a fiftieth of a microsecond for each text that holds it. Which of them
count, and whether the reader sees a text with them, is decided in flows/keyword_plan.py.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence

from memory_mesh.engines.ledgers.sqlite.opening import Connection

LOOKED_AT = 3_000
READ_LETTERS = 4  # words that begin with these are read at once, for longer beginnings, too
_READ = 250  # words in a row that are read rather than looked for one by one
_FEW = 40  # words with the same two letters: up to that all with the first letter are read
_LAST = "\U0010ffff"


def beginning(db: sqlite3.Connection, tables: Sequence[str], letters: str) -> list[str]:
    """The first words of the keyword tables that begin so."""
    found: list[str] = []
    for table in tables:
        found += _begun(db, _listed(db, table), letters, LOOKED_AT)
    return list(dict.fromkeys(found))


def stored(db: sqlite3.Connection, tables: Sequence[str], words: Sequence[str]) -> list[str]:
    """Those of the words that some text holds, in their order.

    A look for one word costs as much as reading some twenty that stand in a row. Most spellings
    begin with the same two letters, so the stored words that begin so are read; where these are
    few, all with the same first letter are. What is beyond the words read is looked for.
    """
    found: set[str] = set()
    for table in tables if words else ():
        listed = _listed(db, table)
        missing = sorted(words)
        for count in (2, 1):
            letters = _commonest(missing, count)
            read = _begun(db, listed, letters, _READ)
            found.update(read)
            missing = [word for word in missing if not _is_read(word, letters, read)]
            if len(read) > _FEW or not missing:
                break
        found.update(_looked_for(db, listed, missing))
    return [word for word in words if word in found]


def _commonest(words: Sequence[str], letters: int) -> str:
    """What most of the words begin with."""
    return Counter(word[:letters] for word in words).most_common(1)[0][0]


def _is_read(word: str, letters: str, read: Sequence[str]) -> bool:
    """Whether a word would be among those that were read, if a text held it."""
    return word.startswith(letters) and (len(read) < _READ or word <= read[-1])


def _listed(db: sqlite3.Connection, table: str) -> str:
    """The list of the words of a keyword table, made once for each connection."""
    made: frozenset[str] = getattr(db, "word_lists", frozenset())
    if table not in made:
        db.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_word "
            f"USING fts5vocab (main, {table}, row)"
        )
        if isinstance(db, Connection):
            db.word_lists = made | {table}
    return f"temp.{table}_word"


def _begun(db: sqlite3.Connection, listed: str, letters: str, limit: int) -> list[str]:
    found = db.execute(
        f"SELECT term FROM {listed} WHERE term >= ? AND term < ? LIMIT ?",  # noqa: S608
        (letters, letters + _LAST, limit),
    )
    return [word for (word,) in found]


def _looked_for(db: sqlite3.Connection, listed: str, words: Sequence[str]) -> list[str]:
    if not words:
        return []
    found = db.execute(
        f"SELECT term FROM {listed} WHERE term IN (SELECT value FROM json_each(?))",  # noqa: S608
        (json.dumps(words),),
    )
    return [word for (word,) in found]
