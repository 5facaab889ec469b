"""Replay: what was erased from a store is taken out of a copy of before that comes back to it.

A copy of before holds memories that were erased since, and lacks the digests that keep their words
out. The erasure file of the store knows both, by the identity that only such a copy has.
"""

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.care import backups
from memory_mesh.care.sqlite import rewriting
from memory_mesh.ledgers.shared import commit as sql_commit, named_values, rows
from memory_mesh.ledgers.sqlite import archive_rows, open_file, schema
from memory_mesh.ledgers.sqlite.connection import SqliteConnection
from memory_mesh.model import BlockOperation, Commit, Entry
from memory_mesh.model.commit import Erasing
from memory_mesh.platform import forks
from memory_mesh.platform.ids import MonotonicIds, SystemClock

_WHY = "erased since this copy was made"


def replay(path: Path, store: Path, namespace: str) -> int:
    """Takes out of a namespace's file what was erased from a store since; how many memories.

    The file is nobody else's yet.
    """
    with forks.inside_sqlite(), closing(open_file.connect(path)) as db:
        if schema.version(db) < schema.NEWEST:
            if not backups.hashes(store):
                return 0
            schema.make(db, namespace)
        identities = archive_rows.mark(db).identities
        ids, skills = (
            backups.are_erased(store, identities, [id_ for (id_,) in db.execute(asked)])
            for asked in ("SELECT id FROM memory", "SELECT id FROM skill")
        )
        known = [backups.text_digests(store, identity) for identity in identities]
        digests = [digest for each in known for digest, turn in each.items() if turn % 2 == 0]
        waiting = named_values.beginning_with(db, named_values.ERASING)
        if not (ids or skills or digests or waiting):
            return 0
        _take_out(db, Erasing(tuple(ids), skills=tuple(skills)), digests, list(waiting))
        rewriting.is_rewritten(db, path)
    return len(ids)


def _take_out(
    db: SqliteConnection, gone: Erasing, digests: Sequence[bytes], waiting: Sequence[str]
) -> None:
    db.execute("BEGIN IMMEDIATE")
    head = rows.head(db)
    now = sql_commit.recorded_time(head, datetime.now(UTC))
    entry = Entry(
        MonotonicIds(SystemClock()).draw(f"yamo_{BlockOperation.ERASE}"),
        BlockOperation.ERASE,
        None,
        now,
        (*gone.ids, *gone.skills),
        None,
        {"type": "replay", "why": _WHY},
    )
    commit = Commit(
        erased=gone,
        tombstones=tuple((digest, "erased") for digest in digests),
        entries=(entry,) if gone.ids or gone.skills else (),
        states=dict.fromkeys(waiting),
    )
    sql_commit.write(db, head, now, commit)
    db.execute("COMMIT")
