"""A namespace in numbers. Counting is linear in its memories."""

from datetime import datetime

from memory_mesh.engines.ledgers.sql import rows, sessions, states, vectors
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Body, Sizes, Space, SpaceState, Stats, Status, reembedding
from memory_mesh.model.stats import leading
from memory_mesh.policy.text.analyze import ANALYZER

MOST_TO_LINK = 100_000  # that are counted
_SPACE = "provider, model, revision, dimension, max_tokens, normalised, query_prefix, text_prefix"


def stats(db: Database, sizes: Sizes, since: datetime | None = None) -> Stats:
    """Memories by status, blocks, recalls, and how far each space has come.

    Memories of sessions without a write after `since` count as expired, not as active.
    """
    by_status = dict(db.execute("SELECT status, count(*) FROM memory GROUP BY status").fetchall())
    if since is not None and (expired := sessions.count_expired(db, rows.micros(since) or 0)):
        by_status["active"] -= expired
        by_status["expired"] = expired
    (recalls,) = db.execute("SELECT count(*) FROM recall").fetchone()
    (skills,) = db.execute("SELECT count(*) FROM skill WHERE status = 'active'").fetchone()
    (texts,) = db.execute("SELECT coalesce(max(number), 0) FROM text").fetchone()
    head = rows.head(db)
    return Stats(
        namespace=head.namespace,
        memories=by_status.get(Status.ACTIVE.value, 0),
        skills=skills,
        by_status=by_status,
        expired=by_status.get(Status.EXPIRED.value, 0),
        blocks=head.position,
        recalls=recalls,
        seq=head.seq,
        bytes=sizes.database + sizes.wal,
        sizes=sizes,
        spaces=tuple(spaces(db)),
        to_link=unlinked(db, MOST_TO_LINK),
        to_reindex=head.old_texts if head.analyzer == ANALYZER else texts,
    )


def spaces(db: Database) -> list[SpaceState]:
    """Every space that holds a vector, in the order of their first.

    One whose vectors were dropped is left out: no text waits for it.
    """
    value = vectors.stated(db)
    stated = None if value is None else reembedding.loaded(value)
    found = db.execute(
        f"SELECT number, body_version, body_highest, body_rows, {_SPACE} FROM space ORDER BY number"  # noqa: S608
    ).fetchall()
    states = [_state(db, row[0], row[1:4], row[4:]) for row in found]
    if stated is None:
        return states
    return [
        replace(state, in_use=state.space.name == stated.in_use.space)
        for state in states
        if state.vectors or state.space.name not in stated.dropped
    ]


def unlinked(db: Database, limit: int) -> int:
    """How many vectors of the space of links no links were sought for yet, up to a limit."""
    names = dict(db.execute("SELECT name, number FROM space").fetchall())
    if not names:
        return 0
    name = next(iter(names)) if len(names) == 1 else leading(spaces(db)).space.name
    reach = states.by_name(db, [f"links:{name}"]).get(f"links:{name}", "0")
    (count,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM vector WHERE number > ? AND space = ? LIMIT ?) x",
        (int(reach), names[name], limit),
    ).fetchone()
    return int(count)


def _state(db: Database, number: int, body: rows.Row, fields: rows.Row) -> SpaceState:
    space = replace(Space(*fields), normalised=bool(fields[5]))
    known = Body(*body) if body[0] is not None else None
    count, tail = db.execute(
        "SELECT count(*), count(*) FILTER (WHERE number > ?) FROM vector WHERE space = ?",
        (known.highest if known is not None else 0, number),
    ).fetchone()
    return SpaceState(
        space, count, vectors.pending(db, vectors.stored(db, space), 0).count, known, tail
    )
