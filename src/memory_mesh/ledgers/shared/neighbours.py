"""Versions in their place: what was said right before and after them, and by whom.

A neighbour is the nearest row of the same session and audience that passes the same lens as any
hit. Nothing of a neighbour is ever stored with a version: whatever is hidden or erased is simply
not there at the next question, and who comes next to it takes its place.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter

from memory_mesh.ledgers.shared import rows, vectors
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.ledgers.shared.rows import of_rows
from memory_mesh.model import Channel, Placed, Question, Source, SourceKind
from memory_mesh.rules.trust import whose_words

Sight = tuple[str, str, list[object]]  # what a lens asks: tables, condition and its values
Sides = tuple[int | None, int | None]  # what stands before and after a version
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
    "v.source_kind, v.channel, v.source_stated, v.ord, v.project, v.agent"
)
_TIED = (
    "EXISTS (SELECT 1 FROM version w WHERE w.session = o.session AND w.ord = o.ord "
    "AND w.number != o.number)"
)
_SESSION, _ORD, _PROJECT, _AGENT = 2, 10, 11, 12  # where these stand in a row
_BEFORE, _AFTER, _IS_TIED = 13, 14, 15  # and these in one of a version that was asked for
_EARLIER, _LATER = ("<", "DESC"), (">", "ASC")  # turns on one side, the nearest first


def around(
    db: Database, versions: Sequence[int], question: Question | None, sight: Sight
) -> dict[int, Placed]:
    """The versions and their neighbours; with a question also how near each is to it.

    A neighbour tells of what stands beside it only as far as that is among them, too.
    """
    found = _rows(db, versions, sight)
    sides: dict[int, Sides] = {row[0]: (row[_BEFORE], row[_AFTER]) for row in found}
    beside = _inner_sides(found, sides)
    if beside:
        neighbours = db.execute(
            f"SELECT {_COLUMNS} FROM {rows.JOINED} "  # noqa: S608  # own names only
            "WHERE v.number IN (SELECT value FROM json_each(?))",
            (rows.dumped(list(beside)),),
        ).fetchall()
        found += neighbours
        sides |= beside | _outer_sides(db, beside, (neighbours, found), sight)
    found.sort(key=itemgetter(0))
    near = vectors.cosines(db, question, [row[0] for row in found]) if question else {}
    return _placed(found, sides, near)


def speakers(
    db: Database, words: Iterable[str], sight: Sight, audience: Audience
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


def _rows(db: Database, versions: Sequence[int], sight: Sight) -> list[rows.Row]:
    """The versions that the lens sees, each with what stands before and after it."""
    if not versions:
        return []
    _, condition, values = sight
    return db.execute(
        f"SELECT {_COLUMNS}, {_side(db, _EARLIER, sight)}, {_side(db, _LATER, sight)}, {_TIED} "  # noqa: S608
        f"FROM version o CROSS JOIN {rows.JOINED} WHERE o.number IN "
        f"(SELECT value FROM json_each(?)) AND v.number = o.number AND {condition}",
        [*values, *values, rows.dumped(versions), *values],
    ).fetchall()


def _side(db: Database, which: tuple[str, str], sight: Sight) -> str:
    """The expression of what stands on one side of a version `o`."""
    (sign, order), (tables, condition, _) = which, sight
    again = engine_of(db).again(f"turn {order}, near DESC")
    return (
        "(SELECT v.number FROM (SELECT number AS near, ord AS turn FROM version "  # noqa: S608
        f"WHERE session = o.session AND ord {sign} o.ord AND project IS o.project "
        f"AND agent IS o.agent ORDER BY ord {order}, number DESC "
        f"LIMIT {_PASSED}) CROSS JOIN {tables} WHERE v.number = near "
        f"AND {condition}{again} LIMIT 1)"
    )


def _outer_sides(
    db: Database,
    beside: Mapping[int, Sides],
    among: tuple[Sequence[rows.Row], Sequence[rows.Row]],
    sight: Sight,
) -> dict[int, Sides]:
    """Both sides of the neighbours that may have another of the rows on the side not known yet.

    Most have none: a session is seldom found in two places.
    """
    neighbours, found = among
    first: dict[tuple[object, ...], int] = {}
    last: dict[tuple[object, ...], int] = {}
    for row in found:
        if (order := row[_ORD]) is not None:
            turn = _turn_of(row)
            first[turn] = min(order, first.get(turn, order))
            last[turn] = max(order, last.get(turn, order))
    unsure: dict[int, Sides] = {}
    for row in neighbours:
        (before, after), turn = beside[row[0]], _turn_of(row)
        if (before is None and first[turn] < row[_ORD]) or (
            after is None and last[turn] > row[_ORD]
        ):
            unsure[row[0]] = before, after
    if not unsure:
        return {}
    _, _, values = sight
    looked = db.execute(
        f"SELECT o.number, {_side(db, _EARLIER, sight)}, {_side(db, _LATER, sight)} "  # noqa: S608
        "FROM version o WHERE o.number IN (SELECT value FROM json_each(?))",
        [*values, *values, rows.dumped(list(unsure))],
    )
    known = {row[0] for row in found}
    sides: dict[int, Sides] = {}
    for number, before, after in looked:
        inner = unsure[number]
        sides[number] = (
            inner[0] or (before if before in known else None),
            inner[1] or (after if after in known else None),
        )
    return sides


def _turn_of(row: rows.Row) -> tuple[object, ...]:
    """The session and audience of a row."""
    return row[_SESSION], row[_PROJECT], row[_AGENT]


def _inner_sides(found: Iterable[rows.Row], known: Container[int]) -> dict[int, Sides]:
    """The neighbours that are not known, each with the version that it was found beside.

    What stands before a version has it as the next one, unless another stands in the same place.
    """
    beside: dict[int, Sides] = {}
    for row in found:
        before, after, inner = row[_BEFORE], row[_AFTER], None if row[_IS_TIED] else row[0]
        if before is not None and before not in known:
            beside[before] = (beside.get(before, (None, None))[0], inner)
        if after is not None and after not in known:
            beside[after] = (inner, beside.get(after, (None, None))[1])
    return beside


@of_rows
def _placed(
    found: Sequence[rows.Row], sides: Mapping[int, Sides], near: Mapping[int, float]
) -> dict[int, Placed]:
    placed: dict[int, Placed] = {}
    for (number, terms, session, speaker, role, at, usefulness, kind, channel, stated,
         *_) in found:  # fmt: skip
        before, after = sides[number]
        placed[number] = Placed(
            number, terms, session, speaker, role, at / 1e6, usefulness,
            before, after, near.get(number), _authority(kind, channel, stated),
        )  # fmt: skip
    return placed


@cache
def _authority(kind: str, channel: str, stated: int | None) -> int:
    """The place of whose words they are in the order of source kinds."""
    source = Source(SourceKind(kind), Channel(channel), stated=stated != 0)
    return _ORDER.index(whose_words(source))


_ORDER = tuple(SourceKind)  # most trusted first
