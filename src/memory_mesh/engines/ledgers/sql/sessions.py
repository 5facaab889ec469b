"""Memories of a session expire some days after the last write to that session.

`session_write` has a row per commit and audience of a session that it wrote to, so the test of one
memory is one look into an index, however large the namespace and the session are, and a read of the
past sees the session as it was then. Nothing is rewritten when a session expires.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from memory_mesh.engines.ledgers.sql import rows
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Commit, Lens, Memory, Scope, Status

# Of a version `v`: it is of no session, exempt, or its session was written to after `?`.
_WRITTEN = (
    "EXISTS (SELECT 1 FROM session_write w WHERE w.session = v.session "
    "AND w.project IS v.project AND w.agent IS v.agent AND w.at > ?"
)
_EXEMPT = "v.pinned = 1 OR v.kind = 'lesson'"
_KEPT = f"(v.session IS NULL OR {_EXEMPT} OR {_WRITTEN}))"
_KEPT_THEN = f"(v.session IS NULL OR {_EXEMPT} OR {_WRITTEN} AND w.at <= ?))"
_OF_AUDIENCE = "SELECT max(at) FROM session_write WHERE session = ? AND project IS ? AND agent IS ?"
_ON_RECORD = (
    "INSERT INTO session_write SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM session_write "
    "WHERE session = ?1 AND project IS ?2 AND agent IS ?3 AND at = ?4)"
)


def record(db: Database, commit: Commit, at: int) -> None:
    """Note the sessions that a commit wrote to, by a new version or by a text said again."""
    puts = {put.memory.id: put.memory for put in commit.puts}
    written = [(memory.scope, rows.micros(memory.recorded_from)) for memory in puts.values()]
    for seen in commit.observations:
        if seen.memory not in puts:
            written += ((scope, at) for scope in _scope(db, seen.memory))
    noted = dict.fromkeys(
        (scope.session, scope.project, scope.agent, when)
        for scope, when in written
        if scope.session is not None
    )
    if noted:
        db.executemany(_ON_RECORD, noted)


def unexpired(lens: Lens) -> tuple[str, list[object]] | None:
    """The condition that a version's session has not expired; None where the lens needs none."""
    if not _asks(lens) or (lens.scope.session is None and "session" not in lens.across):
        return None
    since = _since(lens)
    if lens.as_of is None:  # the ledger's time may be a little ahead of the clock
        return _KEPT, [since]
    return _KEPT_THEN, [since, rows.micros(lens.as_of)]


def last_writes(lens: Lens) -> tuple[list[str], list[object]]:
    """Columns with the times from which `next_expiry` is computed, and their values."""
    if unexpired(lens) is None or lens.as_of is not None:
        return [], []
    if lens.across:  # at the earliest; the writes that follow it may move it further
        return ["(SELECT min(at) FROM session_write WHERE at > ?)"], [_since(lens)]
    reader = lens.scope
    audiences = [
        (reader.session, project, agent)
        for project in {None, reader.project, *reader.names}
        for agent in {None, reader.agent}
    ]
    columns = [f"({_OF_AUDIENCE})"] * len(audiences)
    return columns, [part for audience in audiences for part in audience]


def next_expiry(lens: Lens, writes: Iterable[int | None]) -> int | None:
    """A moment before which no session expires that the lens sees; None where none will."""
    since = _since(lens)
    return min((last + _life(lens) for last in writes if last and last > since), default=None)


def marked(db: Database, memories: Iterable[Memory], lens: Lens) -> list[Memory]:
    """The memories, with the status `expired` where it applies and the lens asked for it."""
    found = list(memories)
    if not lens.session_days or Status.EXPIRED not in lens.statuses:
        return found
    at = lens.as_of or lens.now
    last = {
        scope: _last_write(db, scope, None if lens.as_of is None else rows.micros(at))
        for scope in {memory.scope for memory in found if _expires(memory)}
    }
    since = _since(lens)
    return [
        replace(memory, status=Status.EXPIRED, status_today=Status.EXPIRED)
        if _expires(memory) and (last[memory.scope] or 0) <= since
        else memory
        for memory in found
    ]


def count_expired(db: Database, since: int) -> int:
    """How many active memories are of sessions without a write after a moment."""
    (count,) = db.execute(
        "SELECT count(*) FROM version v WHERE v.recorded_until IS NULL AND v.status = 'active' "  # noqa: S608
        f"AND NOT {_KEPT}",
        (since,),
    ).fetchone()
    return int(count)


def _asks(lens: Lens) -> bool:
    return bool(lens.session_days) and Status.EXPIRED not in lens.statuses


def _expires(memory: Memory) -> bool:
    """True for an active memory of a session that no rule exempts."""
    exempt = memory.pinned or memory.kind == "lesson"
    return memory.scope.session is not None and memory.status is Status.ACTIVE and not exempt


def _life(lens: Lens) -> int:
    return timedelta(days=lens.session_days) // timedelta(microseconds=1)


def _since(lens: Lens) -> int:
    """A session is kept that was written to after this moment."""
    return (rows.micros(lens.as_of or lens.now) or 0) - _life(lens)


def _last_write(db: Database, scope: Scope, until: int | None = None) -> int | None:
    audience = (scope.session, scope.project, scope.agent)
    if until is None:
        found = db.execute(_OF_AUDIENCE, audience)
    else:
        found = db.execute(f"{_OF_AUDIENCE} AND at <= ?", (*audience, until))
    last: int | None = found.fetchone()[0]
    return last


def _scope(db: Database, memory_id: str) -> Iterator[Scope]:
    found = db.execute(
        "SELECT v.project, v.agent, v.session FROM memory m JOIN version v ON v.memory = m.number "
        "AND v.recorded_until IS NULL WHERE m.id = ?",
        (memory_id,),
    )
    yield from (Scope(*row) for row in found)
