"""Finds versions by their vectors: the steps among which `search/nearest.py` chooses."""

from collections.abc import Sequence

from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.ledgers.shared import exact_scan as scan, vectors, visibility
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.model import Head, Lens, Near, Question, Reach, SearchLook, Space

if TYPE_CHECKING:
    from memory_mesh.ledgers.shared.exact_scan import Floats
    from memory_mesh.ledgers.shared.narrowing import MemoryNumbers
    from memory_mesh.model.query import Filter

MOST_NARROWED = 5_000  # memories that a filter is narrowed to, as search/nearest.py compares them
_WITH_VALUES = 3  # columns of a row that has the vector itself
MOST_COUNTED = 20_000  # versions of the past, or of other statuses, that are counted one by one


class SqlVectorSearch:
    """Implements `ports.VectorSearch`."""

    _db: Database
    _tails: scan.Tails
    _file: str
    _few: "tuple[Filter, MemoryNumbers | None] | None"  # of the filter that was asked for last
    _space: tuple[str, vectors.SpaceReading | None] | None  # that was asked for last
    _scan: tuple[tuple[object, ...], scan.Best] | None  # the last scan: a deeper look reuses it

    def head(self) -> Head:
        """The namespace's counter and the end of its chain."""
        raise NotImplementedError

    def reach(self, space: Space, lens: Lens) -> Reach | None:
        """How much of a space the lens may see; None where it holds no vector."""
        known = self._stored(space)
        if known is None:
            return None
        highest, body = known.highest, known.body
        few = self._narrowed(lens)
        most = None if few is None else few.count
        counts = None if visibility.sees_all(lens) else visibility.seen_by(self._db, lens)
        if counts is None:
            return Reach(highest, most, None, body)
        audiences = tuple(counts)
        if lens.as_of is None and lens.statuses == visibility.LIVE:
            return Reach(highest, _least(sum(counts.values()), most), audiences, body)
        seen = visibility.count_versions(self._db, lens, audiences, MOST_COUNTED)
        return Reach(highest, _least(seen if seen < MOST_COUNTED else None, most), audiences, body)

    def _stored(self, space: Space) -> vectors.SpaceReading | None:
        """Where a space stands, looked up once."""
        if self._space is None or self._space[0] != space.name:
            self._space = space.name, vectors.stored(self._db, space)
        return self._space[1]

    def _narrowed(self, lens: Lens) -> "MemoryNumbers | None":
        """The few memories that the filter of the lens may hold for, looked up once."""
        if lens.where is None or lens.as_of is not None:
            return None
        if self._few is None or self._few[0] is not lens.where:
            from memory_mesh.ledgers.shared import narrowing  # most reads have no filter

            self._few = lens.where, narrowing.narrowed(self._db, lens, MOST_NARROWED)
        return self._few[1]

    def nearest_seen(
        self, question: Question, lens: Lens, reach: Reach, most: int | None
    ) -> list[Near] | None:
        """The best among all vectors that the lens sees, exactly; None if they are over `most`."""
        few, first = self._narrowed(lens), list[object]()
        if few is not None:
            from memory_mesh.ledgers.shared import narrowing

            source, condition, first, values = narrowing.sight(lens, few)
        else:
            source, condition, values = visibility.within(lens, reach.audiences)
        values_too = "" if most is None else ", x.data"  # few are read at once, many in blocks
        found = self._db.execute(
            f"SELECT x.number, v.number{values_too} FROM {source} JOIN vector x ON x.text = v.text "  # noqa: S608
            f"AND x.space = (SELECT number FROM space WHERE name = ?) WHERE {condition} LIMIT ?",
            [*first, question.space.name, *values, -1 if most is None else most + 1],
        ).fetchall()
        if most is not None and len(found) > most:
            return None
        return _best(self._db, sorted(found), question)

    def nearest_above(self, question: Question, lens: Lens, floor: int, count: int) -> SearchLook:
        """Those that the lens sees of the best `count` vectors above a number, exactly."""
        import numpy as np

        asked = (question.space.name, question.vector, floor)
        if self._scan is None or self._scan[0] != asked:
            known = self._stored(question.space)
            if known is None:
                return SearchLook((), 0)
            key = (f"{self._file} {self.head().identity}", known.number)  # a file may be copied
            vector = np.frombuffer(question.vector, np.float32)
            self._scan = asked, self._tails.against(self._db, key, vector, floor, known.highest)
        candidates = self._scan[1](count)
        return SearchLook(self._visible(candidates, lens), len(candidates))

    def seen(self, found: Sequence[tuple[int, float]], lens: Lens) -> tuple[Near, ...]:
        """Those that the lens sees of vectors that an index found, by number and cosine."""
        texts = vectors.texts(self._db, [number for number, _ in found])
        return self._visible([(cosine, texts.get(number, 0)) for number, cosine in found], lens)

    def cosines(self, question: Question, versions: Sequence[int]) -> list[Near]:
        """How near versions found otherwise are: of each its best part."""
        return [Near(*pair) for pair in vectors.cosines(self._db, question, versions).items()]

    def _visible(self, candidates: Sequence[tuple[float, int]], lens: Lens) -> tuple[Near, ...]:
        """Candidates by cosine and text as versions that the lens sees: of each its best part."""
        texts = list(dict.fromkeys(text for _, text in candidates))
        shown = dict(visibility.checked(self._db, lens)(texts)) if texts else {}
        best: dict[int, float] = {}
        for cosine, text in candidates:
            if text in shown:
                best[shown[text]] = max(cosine, best.get(shown[text], -1.0))
        return tuple(Near(*pair) for pair in best.items())


def _least(*counts: int | None) -> int | None:
    """The smallest of the counts that there are."""
    return min((count for count in counts if count is not None), default=None)


def _best(db: Database, found: Sequence[tuple[Any, ...]], question: Question) -> list[Near]:
    """The best versions of some vectors: (number, version) or with its values, ascending."""
    import numpy as np

    asked = np.frombuffer(question.vector, np.float32)
    cosines: list[Floats] = []
    for start in range(0, len(found), scan.BLOCK):
        block = found[start : start + scan.BLOCK]
        if len(block[0]) == _WITH_VALUES:
            values = np.frombuffer(b"".join(row[2] for row in block), np.float32)
            matrix = values.reshape(len(block), len(asked))
        else:
            matrix = vectors.matrix(db, [row[0] for row in block], len(asked))
        cosines.append(matrix @ asked)
    if not cosines:
        return []
    near = np.concatenate(cosines)
    versions = np.fromiter((row[1] for row in found), np.int64, len(found))
    best: dict[int, float] = {}
    for place in np.lexsort((-versions, -near)).tolist():
        best.setdefault(int(versions[place]), float(near[place]))
        if len(best) >= question.limit:
            break
    return [Near(*pair) for pair in best.items()]
