"""Links between memories: write, remove and read them."""

from collections.abc import Sequence
from datetime import datetime

from memory_mesh.ledgers.shared import rows, sums
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.ledgers.shared.visibility import sight
from memory_mesh.model import Commit, Lens, Link
from memory_mesh.model.commit import SIMILAR

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
