"""Links between memories: write, remove and read them."""

import sqlite3
from collections.abc import Sequence

from memory_mesh.engines.ledgers.sqlite import rows
from memory_mesh.model import Commit, Link

MAX_LINKS = 1_000  # that one read returns
_NUMBERS = "(SELECT number FROM memory WHERE id IN (SELECT value FROM json_each(?1)))"
_LINKS = (
    "SELECT a.id, b.id, l.type FROM link l JOIN memory a ON a.number = l.source "  # noqa: S608
    "JOIN memory b ON b.number = l.target WHERE (l.source, l.target, l.type) IN ("
    f"SELECT source, target, type FROM link WHERE source IN {_NUMBERS} "
    f"UNION SELECT source, target, type FROM link WHERE target IN {_NUMBERS}) "
    "ORDER BY l.seq, a.id, b.id, l.type LIMIT ?2"
)


def write(db: sqlite3.Connection, commit: Commit, seq: int) -> None:
    """Removes and adds the links of a commit."""
    db.executemany(
        "DELETE FROM link WHERE source = (SELECT number FROM memory WHERE id = ?) "
        "AND target = (SELECT number FROM memory WHERE id = ?) AND type = ?",
        [(link.source, link.target, link.type) for link in commit.unlinked],
    )
    db.executemany(
        "INSERT OR IGNORE INTO link SELECT a.number, b.number, ?, ? "
        "FROM memory a, memory b WHERE a.id = ? AND b.id = ?",
        [(link.type, seq, link.source, link.target) for link in commit.links],
    )


def links(db: sqlite3.Connection, ids: Sequence[str]) -> list[Link]:
    """The links from and to these memories, oldest first, at most MAX_LINKS."""
    return [Link(*row) for row in db.execute(_LINKS, (rows.dumped(ids), MAX_LINKS))]
