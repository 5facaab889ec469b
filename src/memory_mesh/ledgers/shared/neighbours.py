"""Versions in their place: what was said right before and after them, and by whom; and links.

A neighbour is the nearest row of the same session and audience that passes the same lens as any
hit. Nothing of a neighbour is ever stored with a version: whatever is hidden or erased is simply
not there at the next question, and who comes next to it takes its place. Links between memories are
written, removed and read here too.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from operator import itemgetter

from memory_mesh.ledgers.shared import rows, sums, vectors
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.ledgers.shared.visibility import sight
from memory_mesh.model import (
    SIMILAR,
    Channel,
    Commit,
    Lens,
    Link,
    Placed,
    Question,
    Source,
    SourceKind,
)
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
_NUMBERS = "(SELECT number FROM memory WHERE id IN (SELECT value FROM json_each(:ids)))"
_OF_THESE = (
    f"(SELECT * FROM link WHERE source IN {_NUMBERS} "  # noqa: S608  # own names only
    f"UNION SELECT * FROM link WHERE target IN {_NUMBERS})"
)
_BETWEEN = f"(SELECT * FROM link WHERE source IN {_NUMBERS} AND target IN {_NUMBERS})"  # noqa: S608
_SHOWN = (
    "(SELECT id FROM memory WHERE number = l.source) AS a, "
    "(SELECT id FROM memory WHERE number = l.target) AS b, l.type, l.similarity, l.at"
)
# The order is made first, so that only as many memories are looked at as the answer needs. When
# links to similar memories were made says nothing: it depends on what others wrote.
_EITHER_END = " UNION ALL ".join(
    f"SELECT *, {other} AS other, coalesce(similarity, 1.0) AS nearness, "  # noqa: S608
    f"CASE WHEN similarity IS NULL THEN seq ELSE {other} END AS turn FROM link WHERE {end} = :near"
    for end, other in (("source", "target"), ("target", "source"))
)
_BEST = (
    f"SELECT {_SHOWN} FROM ({_EITHER_END} "  # noqa: S608
    "ORDER BY nearness DESC, turn DESC, other, source DESC LIMIT -1) l "
    f"WHERE l.other NOT IN {_NUMBERS}"
)


def around(
    db: Database, versions: Sequence[int], question: Question | None, sight: Sight
) -> dict[int, Placed]:
    """The versions and their neighbours; with a question also how near each is to it.

    A neighbour tells of what stands beside it only as far as that is among them, too.
    """
    if question is not None:
        near_by = partial(vectors.cosines, db, question, sorted(versions))
        engine_of(db).expect(db, partial(_rows, db, versions, sight), near_by)
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


@rows.of_rows
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


def write(db: Database, commit: Commit, seq: int, at: datetime) -> None:
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
    made: list[tuple[object, ...]] = []
    for link in commit.links:
        values = (link.type, seq, sums.real(link.similarity), rows.micros(link.at or at))
        ends = (link.source, link.target)
        made.append((*values, sums.of(*ends, *values), *ends))
    db.executemany(
        "INSERT OR IGNORE INTO link (source, target, type, seq, similarity, at, crc) "
        "SELECT a.number, b.number, ?, ?, ?, ?, ? "
        "FROM memory a, memory b WHERE a.id = ? AND b.id = ?",
        made,
    )


def links(
    db: Database,
    ids: Sequence[str],
    lens: Lens | None,
    types: Sequence[str],
    limit: int,
    *,
    within: bool = False,
) -> list[Link]:
    """The links from and to these memories that the lens sees, oldest first, similar ones last."""
    seen, values = _seen(lens, types)
    found = db.execute(
        f"SELECT {_SHOWN} FROM {_BETWEEN if within else _OF_THESE} l WHERE TRUE{seen} "  # noqa: S608
        "ORDER BY l.similarity IS NOT NULL, CASE WHEN l.similarity IS NULL THEN l.seq ELSE 0 END, "
        "a, b, l.type LIMIT :limit",
        {"ids": rows.dumped(ids), "limit": limit, **values},
    )
    return [_link(row) for row in found]


def neighbours(
    db: Database,
    ids: Sequence[str],
    lens: Lens,
    *,
    types: Sequence[str],
    most: int,
    besides: Sequence[str],
) -> list[Link]:
    """Of each memory its best links to memories that are not among these, in the order asked."""
    seen, values = _seen(lens, types)
    known = rows.dumped([*ids, *besides])
    numbers = dict(
        db.execute(
            "SELECT id, number FROM memory WHERE id IN (SELECT value FROM json_each(?))",
            (rows.dumped(ids),),
        ).fetchall()
    )
    return [
        _link(row)
        for id_ in ids
        if id_ in numbers
        for row in db.execute(
            f"{_BEST}{seen} LIMIT :limit",
            {"near": numbers[id_], "ids": known, "limit": most, **values},
        )
    ]


def edges(
    db: Database, lens: Lens, *, types: Sequence[str], least: float, limit: int
) -> list[Link]:
    """The links that a lens sees, those of the newest memories first."""
    seen, values = _seen(lens, types)
    found = db.execute(
        f"SELECT {_SHOWN} FROM link l "  # noqa: S608
        f"WHERE (l.similarity IS NULL OR l.similarity >= :least){seen} "
        "ORDER BY l.source DESC, l.target DESC, l.type LIMIT :limit",
        {"least": least, "limit": limit, **values},
    )
    return [_link(row) for row in found]


def _seen(lens: Lens | None, types: Sequence[str]) -> tuple[str, dict[str, object]]:
    """The condition that a link `l` has one of the types and joins memories that the lens sees."""
    text, values = "", dict[str, object]()
    if types:
        text = " AND l.type IN (SELECT value FROM json_each(:types))"
        values["types"] = rows.dumped(types)
    if lens is None:
        return text, values
    source, condition, bound = sight(lens)
    for number, value in enumerate(bound):
        condition = condition.replace("?", f":lens{number}", 1)
        values[f"lens{number}"] = value
    for end in ("source", "target"):
        text += f" AND EXISTS (SELECT 1 FROM {source} WHERE v.memory = l.{end} AND {condition})"  # noqa: S608
    if lens.as_of is not None:
        text += " AND (l.at IS NULL OR l.at <= :as_of)"
        values["as_of"] = rows.micros(lens.as_of)
    return text, values


def _link(row: rows.Row) -> Link:
    source, target, type_, similarity, at = row
    return Link(source, target, type_, similarity, rows.moment(at))
