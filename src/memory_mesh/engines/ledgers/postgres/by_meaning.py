"""Finds versions by their vectors, which pgvector compares where they are stored.

Below some size all vectors of a namespace are compared; above it `upkeep` keeps an index of them in
the same database (migrations/0004), and only vectors that are not in it yet are compared.
"""

from collections.abc import Sequence

from memory_mesh.engines.ledgers.postgres.connection import Connection
from memory_mesh.engines.ledgers.postgres.pgvector import Vector
from memory_mesh.engines.ledgers.sql import narrowing, rows, visibility
from memory_mesh.engines.ledgers.sql.snapshot import SqlSnapshot
from memory_mesh.engines.ledgers.sql.vectors import Stored
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Lens, Near, Question, Space
from memory_mesh.model.query import Looked, Reach

_COMPARED = (
    "SELECT x.text, -(x.data <#> %(asked)s) AS cosine, {indexed} FROM {source} "
    "WHERE x.space = %(space)s{above}"
)
_ALL = _COMPARED.format(indexed="FALSE", source="vector x", above="")
_TAIL = _COMPARED.format(indexed="FALSE", source="vector x", above=" AND x.number > %(highest)s")
_INDEXED = _COMPARED.format(
    indexed="TRUE",
    source="near(%(space)s, %(asked)s, %(count)s) n (number) JOIN vector x ON x.number = n.number",
    above="",
)
_BEST = " ORDER BY cosine DESC, text DESC LIMIT %(count)s"
_MOST = 2**31 - 1


class PostgresSnapshot(SqlSnapshot):
    """Implements `ports.Snapshot`: a namespace at one moment."""

    _db: Connection

    def reach(self, space: Space, lens: Lens) -> Reach | None:
        """How much of a space the lens may see; the number of texts stands for that of vectors."""
        found, known = super().reach(space, lens), self._stored(space)
        if found is None or known is None:
            return None
        return replace(found, vectors=known.reached + known.waiting, inside=True)

    def nearest_seen(
        self,
        question: Question,
        lens: Lens,
        reach: Reach,
        most: int | None,  # noqa: ARG002  # no cap is needed: the server scans
    ) -> list[Near]:
        """The best among all vectors that the lens sees, exactly."""
        few, first = self._narrowed(lens), list[object]()
        if few is not None:
            source, condition, first, values = narrowing.sight(lens, few)
        else:
            source, condition, values = visibility.within(lens, reach.audiences)
        return self._best(question, source, condition, (first, values))

    def nearest_above(
        self,
        question: Question,
        lens: Lens,
        floor: int,  # noqa: ARG002  # the index is asked here, and what is above it is known
        count: int,
    ) -> Looked:
        """Those that the lens sees of the best `count` vectors, by the index where there is one."""
        known = self._stored(question.space)
        if known is None:
            return Looked((), 0)
        found, whole = self._candidates(question, known, min(count, _MOST))
        seen = self._visible([(cosine, text) for text, cosine, _ in found], lens)
        return Looked(seen, len(found) if whole else count)

    def _candidates(
        self, question: Question, known: Stored, count: int
    ) -> tuple[list[tuple[int, float, bool]], bool]:
        """The best vectors by text and cosine; and whether there are no more, if they are fewer."""
        asked = {"asked": Vector(question.vector), "space": known.number, "count": count}
        if known.body is None:
            return self._db.own(f"{_ALL}{_BEST}", asked).fetchall(), True
        asked["highest"] = known.body.highest
        found = self._db.own(f"{_INDEXED} UNION ALL {_TAIL}{_BEST}", asked).fetchall()
        indexed = sum(from_index for _, _, from_index in found)
        return found, len(found) == count or indexed >= min(count, known.body.rows)

    def cosines(self, question: Question, versions: Sequence[int]) -> list[Near]:
        """How near versions found otherwise are: of each its best part."""
        condition = "v.number IN (SELECT value FROM json_each(?))"
        values: list[object] = [rows.dumped(list(versions))]
        return self._best(question, "version v", condition, ([], values), len(versions))

    def _best(
        self,
        question: Question,
        source: str,
        condition: str,
        values: tuple[Sequence[object], Sequence[object]],
        limit: int | None = None,
    ) -> list[Near]:
        first, rest = values
        found = self._db.execute(
            f"SELECT v.number, max(-(x.data <#> ?)) AS cosine FROM {source} "  # noqa: S608
            "JOIN vector x ON x.text = v.text AND x.space = "
            f"(SELECT number FROM space WHERE name = ?) WHERE {condition} "
            "GROUP BY v.number ORDER BY cosine DESC, v.number DESC LIMIT ?",
            [Vector(question.vector), *first, question.space.name, *rest, limit or question.limit],
        )
        return [Near(version, cosine) for version, cosine in found]
