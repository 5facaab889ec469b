"""Memories that have triggers: all of them without their texts, and some in more detail."""

import json
from collections.abc import Sequence
from functools import lru_cache

from memory_mesh.engines.ledgers.sql import rows
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.engines.ledgers.sql.remembered import has_any
from memory_mesh.model import Lens, Status
from memory_mesh.model.trigger import MemoryMetadata, Triggered

_LIVE = frozenset({Status.ACTIVE})
_KNOWN = 16_384  # lists of triggers that are read once
OPENING_CHARS = 400  # of a text without a stated title, to read one from
# As literals: only so may SQLite use the index version_triggers.
_PRESENT = "v.triggers != '[]' AND v.recorded_until IS NULL AND v.status = 'active'"
_ANY = "v.triggers != '[]'"
_AMONG = (
    "SELECT number, triggers, importance FROM version WHERE triggers != '[]' "
    "AND number IN (SELECT value FROM json_each(?))"
)
_DESCRIBED = """
    SELECT v.number, m.id, v.triggers, json_extract(v.extra, '$.title'),
        CASE WHEN json_extract(v.extra, '$.title') IS NULL
            THEN substr(t.content, 1, CAST(?1 AS INTEGER)) END,
        v.tags, v.importance, coalesce(v.occurred_at, m.created),
        coalesce(json_extract(v.extra, '$.discoveredBy'), v.source_agent), m.usefulness
    FROM version v JOIN memory m ON m.number = v.memory JOIN text t ON t.number = v.text
    WHERE v.number IN (SELECT value FROM json_each(?2))"""


def triggered(db: Database, lens: Lens, limit: int, also: Sequence[int] = ()) -> list[Triggered]:
    """The newest memories with triggers that a lens sees; of the present by an index."""
    from memory_mesh.engines.ledgers.sql.lenses import sight

    source, condition, values = sight(lens)
    present = lens.as_of is None and lens.statuses == _LIVE
    if present and not has_any(db)[0]:
        return []
    found = db.execute(
        f"SELECT v.number, v.triggers, v.importance FROM {source} "  # noqa: S608  # own names only
        f"WHERE {_PRESENT if present else _ANY} AND {condition} ORDER BY v.memory DESC LIMIT ?",
        [*values, limit],
    )
    newest = [Triggered(number, _texts(given), weight) for number, given, weight in found]
    if not also or len(newest) < limit:
        return newest
    known = {each.version for each in newest}
    more = db.execute(_AMONG, (rows.dumped([number for number in also if number not in known]),))
    return newest + [Triggered(number, _texts(given), weight) for number, given, weight in more]


def described(db: Database, versions: Sequence[int]) -> list[MemoryMetadata]:
    """What selection looks at, without the texts; the title may still be the text's beginning."""
    found = db.execute(_DESCRIBED, (OPENING_CHARS, rows.dumped(versions)))
    return [_metadata(row) for row in found]


def _metadata(row: rows.Row) -> MemoryMetadata:
    number, id_, triggers, title, opening, tags, importance, at, agent, usefulness = row
    return MemoryMetadata(
        version=number,
        id=id_,
        triggers=_texts(triggers),
        title=" ".join(str(title).split()) if title is not None else opening or "",
        tags=_texts(tags),
        importance=importance,
        discovered_at=rows.since_epoch(at),
        discovered_by=None if agent is None else str(agent),
        usefulness=usefulness,
    )


@lru_cache(maxsize=_KNOWN)
def _texts(stored: str) -> tuple[str, ...]:
    return tuple(json.loads(stored))
