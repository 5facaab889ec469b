"""Finds versions by their vectors, which pgvector compares where they are stored."""

from collections.abc import Sequence

from memory_mesh.engines.ledgers.postgres.connection import Connection
from memory_mesh.engines.ledgers.postgres.pgvector import Vector
from memory_mesh.engines.ledgers.sql import narrowing, rows, visibility
from memory_mesh.engines.ledgers.sql.snapshot import SqlSnapshot
from memory_mesh.model import Lens, Near, Question, Space
from memory_mesh.model.query import Looked, Reach


class PostgresSnapshot(SqlSnapshot):
    """Implements `ports.Snapshot`: a namespace at one moment."""

    _db: Connection

    def reach(self, space: Space, lens: Lens) -> Reach | None:
        """How much of a space the lens may see; the number of texts stands for that of vectors."""
        found = self._db.execute(
            "SELECT coalesce((SELECT max(number) FROM text), 0) FROM space WHERE name = ?",
            (space.name,),
        ).fetchone()
        if found is None:
            return None
        few = self._narrowed(lens)
        counts = None if visibility.sees_all(lens) else visibility.seen_by(self._db, lens)
        audiences = None if counts is None else tuple(counts)
        return Reach(found[0], None if few is None else few.count, audiences, None)

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
        floor: int,  # noqa: ARG002  # there is no body below it
        count: int,  # noqa: ARG002
    ) -> Looked:
        """The best that the lens sees, exactly: no candidate is hidden, so no look is deeper."""
        reach = self.reach(question.space, lens)
        audiences = None if reach is None else reach.audiences
        source, condition, values = visibility.within(lens, audiences)
        found = self._best(question, source, condition, ([], values))
        return Looked(tuple(found), len(found))

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
