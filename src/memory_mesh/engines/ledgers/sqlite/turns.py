"""Versions in their place: what was said right before and after them, and by whom.

A neighbour is the nearest row of the same session and audience that passes the same lens as any
hit. Nothing of a neighbour is ever stored with a version: whatever is hidden or erased is simply
not there at the next question, and who comes next to it takes its place.
"""

import sqlite3
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter

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
_TIED = (
    "EXISTS (SELECT 1 FROM version w WHERE w.session = o.session AND w.ord = o.ord "
    "AND w.number != o.number)"
)
_BEFORE, _AFTER, _IS_TIED = -3, -2, -1  # where these stand in a row
_NEITHER = (None, None)


def around(
    db: sqlite3.Connection, versions: Sequence[int], question: Question | None, sight: Sight
) -> dict[int, Placed]:
    """The versions and their neighbours; with a question also how near each is to it."""
    found = _rows(db, versions, versions, versions, sight)
    beside = _inner_sides(found, {row[0] for row in found})
    found += _rows(
        db,
        list(beside),
        [version for version, (before, _) in beside.items() if before is None],
        [version for version, (_, after) in beside.items() if after is None],
        sight,
    )
    found.sort(key=itemgetter(0))
    near = vectors.cosines(db, question, [row[0] for row in found]) if question else {}
    return _placed(found, beside, near)


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


def _rows(
    db: sqlite3.Connection,
    versions: Sequence[int],
    first: Sequence[int],
    second: Sequence[int],
    sight: Sight,
) -> list[rows.Row]:
    """The versions that the lens sees; of `first` with what stands before, of `second` after."""
    if not versions:
        return []
    tables, condition, values = sight
    sides = ", ".join(
        "CASE WHEN o.number IN (SELECT value FROM json_each(?)) THEN "  # noqa: S608  # own names
        "(SELECT v.number FROM (SELECT number AS near FROM version "
        f"WHERE session = o.session AND ord {sign} o.ord AND project IS o.project "
        f"AND agent IS o.agent ORDER BY ord {order}, number DESC "
        f"LIMIT {_PASSED}) CROSS JOIN {tables} WHERE v.number = near "
        f"AND {condition} LIMIT 1) END"
        for sign, order in (("<", "DESC"), (">", "ASC"))
    )
    return db.execute(
        f"SELECT {_COLUMNS}, {sides}, {_TIED} FROM version o CROSS JOIN {rows.JOINED} "  # noqa: S608
        "WHERE o.number IN (SELECT value FROM json_each(?)) AND v.number = o.number "
        f"AND {condition}",
        [
            rows.dumped(first), *values, rows.dumped(second), *values,
            rows.dumped(versions), *values,
        ],
    ).fetchall()  # fmt: skip


def _inner_sides(
    found: Iterable[rows.Row], known: Container[int]
) -> dict[int, tuple[int | None, int | None]]:
    """The neighbours that are not known, each with the version that it was found beside.

    What stands before a version has it as the next one, unless another stands in the same place.
    """
    beside: dict[int, tuple[int | None, int | None]] = {}
    for row in found:
        before, after, inner = row[_BEFORE], row[_AFTER], None if row[_IS_TIED] else row[0]
        if before is not None and before not in known:
            beside[before] = (beside.get(before, (None, None))[0], inner)
        if after is not None and after not in known:
            beside[after] = (inner, beside.get(after, (None, None))[1])
    return beside


@of_rows
def _placed(
    found: Sequence[rows.Row],
    beside: Mapping[int, tuple[int | None, int | None]],
    near: Mapping[int, float],
) -> dict[int, Placed]:
    placed: dict[int, Placed] = {}
    for (number, terms, session, speaker, role, at, usefulness, kind, channel, stated,
         before, after, _) in found:  # fmt: skip
        inner = beside.get(number, _NEITHER)
        placed[number] = Placed(
            number, terms, session, speaker, role, at / 1e6, usefulness,
            before or inner[0], after or inner[1], near.get(number),
            _authority(kind, channel, stated),
        )  # fmt: skip
    return placed


@cache
def _authority(kind: str, channel: str, stated: int | None) -> int:
    """The place of whose words they are in the order of source kinds."""
    source = Source(SourceKind(kind), Channel(channel), stated=stated != 0)
    return _ORDER.index(whose_words(source))


_ORDER = tuple(SourceKind)  # most trusted first
