"""Versions in their place: what was said right before and after them, and by whom.

A neighbour is the nearest row of the same session and audience that passes the same lens as any
hit. Nothing of a neighbour is ever stored with a version: whatever is hidden or erased is simply
not there at the next question, and who comes next to it takes its place.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache

from memory_mesh.engines.ledgers.sqlite import rows, vectors
from memory_mesh.engines.ledgers.sqlite.faults import of_rows
from memory_mesh.model import Channel, Placed, Question, Source, SourceKind
from memory_mesh.policy.writing.trust import whose_words

Sight = tuple[str, str, list[object]]  # what a lens asks: tables, condition and its values
Audience = tuple[str, list[object]]  # the part of it that says who may see a version

_PASSED = 64  # rows of a session and audience passed over to the next that this reader sees
_SPOKEN = 1_000  # latest rows of a name for this reader that are looked at for one that is visible
_IS_NAME = "speaker = word.value COLLATE NOCASE"
_BEGINS_NAME = (
    "speaker > word.value || ' ' COLLATE NOCASE AND speaker < word.value || '!' COLLATE NOCASE"
)
_COLUMNS = (
    "v.number, t.terms, v.session, v.speaker, v.role, "
    "coalesce(v.occurred_at, v.recorded_from), m.usefulness, "
    "v.source_kind, v.channel, v.source_stated"
)


def around(
    db: sqlite3.Connection, versions: Sequence[int], question: Question | None, sight: Sight
) -> dict[int, Placed]:
    """The versions and their neighbours; with a question also how near each is to it."""
    beside = _beside(db, versions, sight)
    wanted = {version for sides in beside.values() for version in sides if version is not None}
    wanted.update(versions)
    beside |= _beside(db, sorted(wanted.difference(beside)), sight)
    _, condition, values = sight
    found = db.execute(
        f"SELECT {_COLUMNS} FROM {rows.JOINED} "  # noqa: S608  # own names only
        f"WHERE v.number IN (SELECT value FROM json_each(?)) AND {condition}",
        [rows.dumped(sorted(wanted)), *values],
    ).fetchall()
    near = vectors.cosines(db, question, [row[0] for row in found]) if question else {}
    return {row[0]: _placed(row, beside[row[0]], near.get(row[0])) for row in found}


def speakers(
    db: sqlite3.Connection, words: Iterable[str], sight: Sight, audience: Audience
) -> frozenset[str]:
    """Those of the words that are, or begin, the name of somebody whose words the lens sees.

    What is for others is passed over, about a microsecond for each of their rows under the name.
    """
    tables, condition, values = sight
    for_reader, who = audience
    either = " OR ".join(
        "EXISTS (SELECT 1 FROM (SELECT number AS said FROM version s "  # noqa: S608  # own names
        f"WHERE {named} AND {for_reader} "
        f"ORDER BY speaker COLLATE NOCASE DESC, number DESC LIMIT {_SPOKEN}) "
        f"CROSS JOIN {tables} WHERE v.number = said AND {condition})"
        for named in (_IS_NAME, _BEGINS_NAME)
    )
    found = db.execute(
        f"SELECT word.value FROM json_each(?) word WHERE {either}",  # noqa: S608  # own names only
        [rows.dumped(list(words)), *who, *values, *who, *values],
    )
    return frozenset(word for (word,) in found)


def _beside(
    db: sqlite3.Connection, versions: Sequence[int], sight: Sight
) -> dict[int, tuple[int | None, int | None]]:
    """Each version with the nearest before and after it that the lens sees; ties: the newest."""
    if not versions:
        return {}
    tables, condition, values = sight
    sides = ", ".join(
        "(SELECT v.number FROM (SELECT number AS near FROM version "  # noqa: S608  # own names only
        f"WHERE session = o.session AND ord {sign} o.ord AND project IS o.project "
        f"AND agent IS o.agent ORDER BY ord {order}, number DESC "
        f"LIMIT {_PASSED}) CROSS JOIN {tables} WHERE v.number = near "
        f"AND {condition} LIMIT 1)"
        for sign, order in (("<", "DESC"), (">", "ASC"))
    )
    found = db.execute(
        f"SELECT o.number, {sides} FROM version o "  # noqa: S608  # own names only
        "WHERE o.number IN (SELECT value FROM json_each(?))",
        [*values, *values, rows.dumped(versions)],
    )
    return {number: (before, after) for number, before, after in found}


@of_rows
def _placed(row: rows.Row, beside: tuple[int | None, int | None], cosine: float | None) -> Placed:
    number, terms, session, speaker, role, at, usefulness, *source = row
    return Placed(
        number, terms, session, speaker, role, at / 1e6, usefulness, *beside, cosine,
        _authority(*source),
    )  # fmt: skip


@cache
def _authority(kind: str, channel: str, stated: int | None) -> int:
    """The place of whose words they are in the order of source kinds."""
    source = Source(SourceKind(kind), Channel(channel), stated=stated != 0)
    return _ORDER.index(whose_words(source))


_ORDER = tuple(SourceKind)  # most trusted first
