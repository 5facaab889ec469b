"""Whether a keyword table that finds nothing still finds what it holds: one cheap question.

FTS5 reads a zeroed page as one without any word, and says nothing. `verify` asks for every word; a
search that found none of its own asks for one that must be there.
"""

import sqlite3
from collections.abc import Sequence

from memory_mesh import log


def tell_if_blind(db: sqlite3.Connection, tables: Sequence[str]) -> None:
    """Warns once if a table does not find the newest text that it holds by a word of it."""
    for table in tables:
        row = db.execute(
            f"SELECT number, terms FROM text WHERE number = (SELECT max(id) FROM {table}_docsize)"  # noqa: S608  # own names
        ).fetchone()
        words = [] if row is None else str(row[1]).split()
        if not words:
            continue
        quoted = '"' + words[0].replace('"', '""') + '"'
        if not db.execute(
            f"SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?",  # noqa: S608  # own names
            (quoted, row[0]),
        ).fetchone():
            path = db.execute("PRAGMA database_list").fetchone()[2]
            log.warn_once(
                f"keyword table of {path}",
                f"a keyword table of {path} is damaged: a search by words may miss memories. "
                "Nothing of them is lost; make the table anew: memory-mesh repair",
            )
            return
