"""Links between memories: write, remove and read them."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from memory_mesh.engines.ledgers.sqlite import rows
from memory_mesh.model import Commit, Link
from memory_mesh.model.commit import SIMILAR

MAX_LINKS = 1_000  # that one read returns
_NUMBERS = "(SELECT number FROM memory WHERE id IN (SELECT value FROM json_each(?1)))"
_LINKS = (
    "SELECT a.id, b.id, l.type, l.similarity, l.at FROM link l "  # noqa: S608
    "JOIN memory a ON a.number = l.source JOIN memory b ON b.number = l.target "
    "WHERE (l.source, l.target, l.type) IN ("
    f"SELECT source, target, type FROM link WHERE source IN {_NUMBERS} "
    f"UNION SELECT source, target, type FROM link WHERE target IN {_NUMBERS}) "
    "ORDER BY l.seq, a.id, b.id, l.type LIMIT ?2"
)


def write(db: sqlite3.Connection, commit: Commit, seq: int, at: datetime) -> None:
    """Removes and adds the links of a commit."""
    db.executemany(
        "DELETE FROM link WHERE source = (SELECT number FROM memory WHERE id = ?) "
        "AND target = (SELECT number FROM memory WHERE id = ?) AND type = ?",
        [(link.source, link.target, link.type) for link in commit.unlinked],
    )
    for end in ("source", "target"):
        db.executemany(
            f"DELETE FROM link WHERE {end} = (SELECT number FROM memory WHERE id = ?) "  # noqa: S608
            "AND type = ?",
            [(id_, SIMILAR) for id_ in commit.relinked],
        )
    stamp = rows.micros(at)
    db.executemany(
        "INSERT OR IGNORE INTO link SELECT a.number, b.number, ?, ?, ?, ? "
        "FROM memory a, memory b WHERE a.id = ? AND b.id = ?",
        [
            (link.type, seq, link.similarity, stamp, link.source, link.target)
            for link in commit.links
        ],
    )


def links(db: sqlite3.Connection, ids: Sequence[str]) -> list[Link]:
    """The links from and to these memories, oldest first, at most MAX_LINKS."""
    return [
        Link(source, target, type_, similarity, rows.moment(at))
        for source, target, type_, similarity, at in db.execute(
            _LINKS, (rows.dumped(ids), MAX_LINKS)
        )
    ]
