"""The memories most similar to texts: vectors compared in blocks, for many texts at a time.

`evolve` compares the newest vectors, held in memory; links compare all of them. What a reader does
not see is left out before anything is cut.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

from memory_mesh.base.typed import TYPE_CHECKING, TypeAlias
from memory_mesh.ledgers.shared import exact_scan as scan, rows, vectors
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.ledgers.shared.visibility import sight
from memory_mesh.model import SIMILAR, Lens, Probe, Scope, Similar, Space, Vectored

if TYPE_CHECKING:
    from memory_mesh.ledgers.shared.exact_scan import Floats, Numbers

DEEPEST = 2_048  # texts above the least cosine that are looked at for one reader
_FIRST_PAGE, _PAGE = 16, 64  # texts whose readers are checked at a time
_ONE_BY_ONE = 4  # questions of which each has a product of its own, in one thread
Near: TypeAlias = tuple[float, int]  # cosine, text
Seen: TypeAlias = Callable[[Sequence[int]], dict[int, str]]  # texts -> ids of visible memories


def similar(
    db: Database, tails: scan.Tails, identity: str, sought: Similar
) -> list[list[tuple[str, float]]]:
    """Of each text the memories that are near enough and visible to its reader, nearest first."""
    row = db.execute(
        "SELECT number, coalesce((SELECT max(number) FROM vector), 0) FROM space WHERE name = ?",
        (sought.space.name,),
    ).fetchone()
    if row is None or not sought.probes:
        return [[] for _ in sought.probes]
    number, highest = row
    if sought.newest is None:
        blocks = tails.blocks(db, (identity, number), sought.space.dimension, highest)
    else:
        size = (sought.space.dimension, max(0, highest - sought.newest), sought.newest)
        blocks = iter([tails.newest(db, (identity, number), *size)])
    compared = _compared(blocks, sought)
    seen = cache(partial(_seen, db))  # many texts of a load have one reader
    return [
        _nearest(seen(probe.lens), probe, near, sought.limit)
        for probe, near in zip(sought.probes, compared, strict=True)
    ]


def vectored(db: Database, space: Space, after: int, limit: int) -> tuple[int, list[Vectored]]:
    """The memories of the next vectors above a number, and how far these reach."""
    found = db.execute(
        "SELECT x.number, x.text FROM vector x JOIN space s ON s.number = x.space "
        "WHERE x.number > ? AND s.name = ? ORDER BY x.number LIMIT ?",
        (after, space.name, limit),
    ).fetchall()
    if not found:
        return after, []
    texts = rows.dumped(sorted({text for _, text in found}))
    memories = db.execute(
        "SELECT v.number, m.id, v.project, v.agent, v.session, t.content, v.recorded_from "  # noqa: S608
        f"FROM {rows.JOINED} WHERE v.text IN (SELECT value FROM json_each(?)) "
        "AND v.recorded_until IS NULL ORDER BY v.number",
        (texts,),
    ).fetchall()
    parts = vectors.parts(db, space, [row[0] for row in memories])
    linked = _linked(db, [row[1] for row in memories])
    return found[-1][0], [
        Vectored(
            id_,
            Scope(*scope),
            text,
            rows.since_epoch(recorded_from),
            tuple(part.vector for part in parts[version]),
            frozenset(linked.get(id_, ())),
        )
        for version, id_, *scope, text, recorded_from in memories
    ]


def _linked(db: Database, ids: Sequence[str]) -> dict[str, list[str]]:
    """The memories that each of these is linked to as similar."""
    found: dict[str, list[str]] = {}
    for source, target in db.execute(
        "SELECT a.id, b.id FROM memory a JOIN link l ON l.source = a.number "
        "JOIN memory b ON b.number = l.target "
        "WHERE l.type = ? AND a.id IN (SELECT value FROM json_each(?))",
        (SIMILAR, rows.dumped(ids)),
    ):
        found.setdefault(source, []).append(target)
    return found


def _compared(blocks: "Iterable[_Block]", sought: Similar) -> list[list[Near]]:
    """Of each text the stored texts that are near enough, nearest first, at most DEEPEST."""
    import numpy as np

    flat = [vector for probe in sought.probes for vector in probe.vectors]
    owners = [owner for owner, probe in enumerate(sought.probes) for _ in probe.vectors]
    asked = np.frombuffer(b"".join(flat), np.float32).reshape(len(flat), -1)
    found: list[list[Near]] = [[] for _ in sought.probes]
    for texts, block in blocks:
        few = len(asked) <= _ONE_BY_ONE
        cosines = [scan.product(block, each) for each in asked] if few else asked @ block.T
        for owner, line in zip(owners, cosines, strict=True):
            near = np.flatnonzero(line > sought.least)
            if len(near):
                best = scan.nearest(texts[near], line[near], DEEPEST)[:DEEPEST]
                found[owner] = sorted(found[owner] + best, reverse=True)[:DEEPEST]
    return found


def _nearest(seen: Seen, probe: Probe, near: list[Near], limit: int) -> list[tuple[str, float]]:
    """The first `limit` memories that the reader sees."""
    found: dict[str, float] = {}
    start, stop = 0, _FIRST_PAGE
    while start < len(near) and len(found) < limit:
        page = near[start:stop]
        shown = seen([text for _, text in page])
        for cosine, text in page:
            id_ = shown.get(text)
            if id_ is not None and id_ != probe.besides:
                found.setdefault(id_, cosine)
        start, stop = stop, stop + _PAGE
    return list(found.items())[:limit]


def _seen(db: Database, lens: Lens) -> Seen:
    """What tells which of some texts a reader sees, and as which memories."""
    _, condition, values = sight(lens)
    statement = (
        f"SELECT v.text, m.id FROM {rows.JOINED} "  # noqa: S608  # own names only
        f"WHERE v.text IN (SELECT value FROM json_each(?)) AND {condition}"
    )
    return lambda texts: dict(db.execute(statement, [rows.dumped(texts), *values]).fetchall())


if TYPE_CHECKING:
    _Block: TypeAlias = tuple[Numbers, Floats]
