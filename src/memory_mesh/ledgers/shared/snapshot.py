"""One read transaction: searches, lookups, claims and what upkeep works on.

Numbers go in as one JSON array, so that a statement is prepared once for any count.
"""

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from memory_mesh.base.typed import TYPE_CHECKING, Any, replace
from memory_mesh.ledgers.shared import (
    commit,
    conflicts,
    conflicts as sqlite_conflicts,
    exact_scan as scan,
    named_values,
    rows,
    vectors,
    visibility,
)
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.ledgers.shared.exact_scan import Tails
from memory_mesh.ledgers.shared.history import SqlTrail
from memory_mesh.model import (
    Body,
    Candidate,
    Conflict,
    Head,
    Indexed,
    Lens,
    Link,
    Memory,
    Near,
    Page,
    Part,
    Pending,
    Placed,
    PredicateSchema,
    Proposal,
    Question,
    Reach,
    SearchLook,
    Sizes,
    SkillQuery,
    SourceKind,
    Space,
    SpaceState,
    Standing,
    Stats,
    Status,
    Wanted,
    reembedding,
)
from memory_mesh.model.commit import MAX_LINKS
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.model.memory import OF_ROLE, PREFERRED
from memory_mesh.model.stats import leading
from memory_mesh.model.times import iso
from memory_mesh.model.trigger import MemoryMetadata, Triggered
from memory_mesh.text.analyzer import ANALYZER

if TYPE_CHECKING:
    from memory_mesh.ledgers.shared.exact_scan import Floats
    from memory_mesh.ledgers.shared.narrowing import MemoryNumbers
    from memory_mesh.model.ports import Keywords
    from memory_mesh.model.query import Filter, Similar, Vectored

MOST_TO_LINK = 100_000  # that are counted
_SPACE = "provider, model, revision, dimension, max_tokens, normalised, query_prefix, text_prefix"

# What stands beside memories in one read: links, proposals, small values, triggers.


_LIVE = frozenset({Status.ACTIVE})
_KNOWN = 16_384  # lists of triggers that are read once
OPENING_CHARS = 400  # of a text without a stated title, to read one from
# As literals: only so may SQLite use the index version_triggers.
_PRESENT = "v.triggers != '[]' AND v.recorded_until IS NULL AND v.status = 'active'"
_ANY = "v.triggers != '[]'"
_THEN = f"v.memory IN (SELECT v.memory FROM version v WHERE {_PRESENT}) AND {_ANY}"  # noqa: S608
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
_HAS_ANY = (
    "SELECT EXISTS (SELECT 1 FROM version WHERE triggers != '[]' AND recorded_until IS NULL "
    "AND status = 'active'), EXISTS (SELECT 1 FROM conflict)"
)


class SqlRelations:
    """Implements `ports.Relations`."""

    _db: Database

    def links(
        self,
        ids: Sequence[str],
        lens: Lens | None = None,
        types: Sequence[str] = (),
        limit: int = MAX_LINKS,
        *,
        within: bool = False,
    ) -> list[Link]:
        """The links from and to these memories that the lens sees, oldest first."""
        from memory_mesh.ledgers.shared import neighbours

        return neighbours.links(self._db, ids, lens, types, limit, within=within)

    def neighbours(
        self,
        ids: Sequence[str],
        lens: Lens,
        *,
        most: int,
        types: Sequence[str] = (),
        besides: Sequence[str] = (),
    ) -> list[Link]:
        """Of each memory its best links to memories that are not among these nor `besides`."""
        from memory_mesh.ledgers.shared import neighbours

        return neighbours.neighbours(self._db, ids, lens, types=types, most=most, besides=besides)

    def edges(
        self, lens: Lens, *, types: Sequence[str] = (), least: float = 0.0, limit: int
    ) -> list[Link]:
        """The links that a lens sees, those of the newest memories first."""
        from memory_mesh.ledgers.shared import neighbours

        return neighbours.edges(self._db, lens, types=types, least=least, limit=limit)

    def proposals(self, limit: int, *, pending: bool, memory: str | None = None) -> list[Proposal]:
        """Proposals, the newest first: those that wait, or all; of one memory, or of any."""
        return conflicts.listed(self._db, limit, pending=pending, memory=memory)

    def states(self, prefix: str) -> dict[str, str]:
        """The small values whose names begin with a prefix, sorted by name."""
        return named_values.beginning_with(self._db, prefix)


class SqlCalling:
    """Implements `ports.Calling`."""

    _db: Database

    def expect(self, *calls: Callable[[], object]) -> None:
        """Nothing is asked ahead: a file answers at once."""

    def triggered(self, lens: Lens, limit: int, also: Sequence[int] = ()) -> "list[Triggered]":
        """The newest memories with triggers that the lens sees, without their texts."""
        return triggered(self._db, lens, limit, also)

    def described(self, versions: Sequence[int]) -> "list[MemoryMetadata]":
        """What a selection looks at of these versions; an untitled one gives its beginning."""
        return described(self._db, versions)


def triggered(db: Database, lens: Lens, limit: int, also: Sequence[int] = ()) -> list[Triggered]:
    """The newest memories with triggers that a lens sees, by an index.

    Of an earlier time those that have triggers today, with the triggers of then.
    """
    source, condition, values = visibility.sight(lens)
    present = lens.as_of is None and lens.statuses == _LIVE
    if lens.statuses == _LIVE and not has_any(db)[0]:
        return []
    shown = _PRESENT if present else _ANY if lens.statuses != _LIVE else _THEN
    found = db.execute(
        f"SELECT v.number, v.triggers, v.importance FROM {source} "  # noqa: S608  # own names only
        f"WHERE {shown} AND {condition} ORDER BY v.memory DESC LIMIT ?",
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


_GOLDEN = (5**0.5 - 1) / 2  # its multiples spread evenly, whatever repeats in what they count
_WAITING = frozenset({Status.QUARANTINED, Status.DISPUTED})
# As literals, as in _PRESENT; few memories wait, and a walk through all would look for them.
_WAITS = (
    "v.memory IN (SELECT memory FROM version WHERE status IN ('quarantined', 'disputed') "
    "AND recorded_until IS NULL)"
)
_MOST_SORTED = 1_000  # memories that a listing sorts rather than walk all to find them in order
_LONGEST_CURSOR = 18  # digits: below SQLite's largest integer
_WORST = "v.severity DESC, v.rule_confidence DESC, v.number DESC"
_DAY_MICROS = 86_400_000_000
_DAY = f"m.created / {_DAY_MICROS}"
_NEXT_BOUNDS = tuple(
    f"(SELECT min({bound}) FROM version "  # noqa: S608  # own names only
    f"WHERE recorded_until IS NULL AND {bound} IS NOT NULL AND {bound} > ?)"
    for bound in ("valid_from", "valid_until")
)

# What a profile is made of, in the words of the index version_standing.
_STANDING = (
    "(v.kind IN ('preference', 'decision') OR v.label IN ('role', 'convention') "
    f"OR v.subject = 'user' AND v.predicate IN {(*OF_ROLE, *PREFERRED)} "
    "OR v.subject IN ('we', 'project') AND v.predicate NOT IN ('is', 'have')) "
    "AND v.session IS NULL AND v.recorded_until IS NULL AND v.status = 'active' "
    "AND v.source_kind = ?"
)


class SqlLookup:
    """Implements `ports.Lookup`."""

    _db: Database

    def get(self, ids: Sequence[str], lens: Lens) -> list[Memory]:
        """The memories with these ids that the lens sees, in the order asked."""
        condition, values = visibility.predicate(lens)
        matching = self._db.execute(
            f"SELECT {rows.MEMORY} FROM {rows.JOINED} "  # noqa: S608  # own names only
            f"WHERE m.id IN (SELECT value FROM json_each(?)) AND {condition}",
            [rows.dumped(ids), *values],
        )
        found = {row[0]: rows.memory(row) for row in matching}
        return self._marked([found[id_] for id_ in ids if id_ in found], lens)

    def numbers(self, ids: Sequence[str], lens: Lens) -> dict[str, int]:
        """The numbers of the versions of these memories that the lens sees, by id."""
        condition, values = visibility.predicate(lens)
        found = self._db.execute(
            f"SELECT m.id, v.number FROM {rows.JOINED} "  # noqa: S608  # own names only
            f"WHERE m.id IN (SELECT value FROM json_each(?)) AND {condition}",
            [rows.dumped(ids), *values],
        )
        return dict(found.fetchall())

    def load(self, versions: Sequence[int], lens: Lens | None = None) -> dict[int, Memory]:
        """Versions by their number, with their status as the lens reads it."""
        found = self._db.execute(
            f"SELECT v.number, {rows.MEMORY} FROM {rows.JOINED} "  # noqa: S608  # own names only
            "WHERE v.number IN (SELECT value FROM json_each(?))",
            (rows.dumped(versions),),
        )
        memories = {row[0]: rows.memory(row[1:]) for row in found}
        if lens is None:
            return memories
        return dict(zip(memories, self._marked(list(memories.values()), lens), strict=True))

    def page(
        self,
        lens: Lens,
        limit: int,
        cursor: str | None,
        *,
        worst_first: bool = False,
        pinned: bool = False,
        standing: SourceKind | None = None,
    ) -> Page:
        """Newest first; the cursor is the last memory's number, so pages never overlap."""
        condition, values = self._listed(lens)
        before, order = _cursor(cursor), "v.memory DESC"  # indexes hold it, so nothing is sorted
        if before is not None:
            condition, values = f"v.memory < ? AND {condition}", [before, *values]
        if pinned:
            condition = f"v.pinned = 1 AND {condition}"  # as its index says
        if standing is not None:
            condition, values = f"{_STANDING} AND {condition}", [standing.value, *values]
        if worst_first:
            condition, order = f"v.severity IS NOT NULL AND {condition}", _WORST
        found = self._db.execute(
            f"SELECT m.number, {rows.MEMORY} FROM {rows.JOINED} WHERE {condition} "  # noqa: S608
            f"ORDER BY {order} LIMIT ?",
            [*values, limit + 1],
        ).fetchall()
        listed = [rows.memory(row[1:]) for row in found[:limit]]
        more = len(found) > limit and not worst_first
        return Page(self._marked(listed, lens), str(found[limit - 1][0]) if more else None)

    def _listed(self, lens: Lens) -> tuple[str, list[object]]:
        """What a listing shows; where a filter leaves few memories, only these are looked at."""
        condition, values = visibility.predicate(lens)
        if lens.as_of is None and lens.statuses <= _WAITING:
            condition = f"{_WAITS} AND {condition}"
        if lens.where is None or lens.as_of is not None:
            return condition, values
        from memory_mesh.ledgers.shared import narrowing  # most listings have no filter

        source = narrowing.narrowed(self._db, lens, _MOST_SORTED, by_marks=True)
        if source is None:
            return condition, values
        return f"v.memory IN ({source.sql}) AND {condition}", [*source.values, *values]

    def history(self, memory_id: str) -> list[Memory]:
        """Every version of one memory, oldest first."""
        return rows.history(self._db, memory_id)

    def skills(self, query: SkillQuery) -> list[Candidate]:
        """The skills that a query means and its reader sees."""
        from memory_mesh.ledgers.shared import skills

        return skills.find(self._db, query)

    def counts(self, lens: Lens, by: str, sample: int | None = None) -> dict[str | None, int]:
        """How many memories the lens sees of each value of a field; those without it under None."""
        source, condition, values = visibility.sight(lens)
        numbers, share = _spread(self._db, sample)
        if numbers:
            condition = f"v.memory IN (SELECT value FROM json_each(?)) AND {condition}"  # noqa: S608
            values = [rows.dumped(numbers), *values]
        field = _DAY if by == "day" else rows.FILTERABLE[by]
        if by == "day" and " JOIN memory m " not in source:
            source += " JOIN memory m ON m.number = v.memory"
        found = self._db.execute(
            f"SELECT {field}, count(*) FROM {source} WHERE {condition} GROUP BY 1",  # noqa: S608
            values,
        )
        counted = {name: round(count * share) for name, count in found}
        if by != "day":
            return counted
        return {
            rows.since_epoch(day * _DAY_MICROS).date().isoformat(): n for day, n in counted.items()
        }

    def next_bound(self, lens: Lens) -> datetime | None:
        """The next moment at which some memory starts or ceases to be valid, or may expire."""
        columns, values = visibility.last_writes(lens)
        now = rows.micros(lens.now)
        starts, ends, over, *writes = self._db.execute(
            f"SELECT {', '.join((*_NEXT_BOUNDS, visibility.NEXT_END, *columns))}",  # own names only
            [now, now, iso(lens.now), *values],
        ).fetchone()
        last = None if over is None else rows.micros(datetime.fromisoformat(over))
        bounds = (starts, ends, last, visibility.next_expiry(lens, writes))
        return rows.moment(min((bound for bound in bounds if bound is not None), default=None))

    def ended(self, before: datetime, most: int) -> list[str]:
        """Memories that expired before a moment, deleted or not."""
        return [id_ for (id_,) in self._db.execute(visibility.ENDED, (iso(before), most))]

    def _marked(self, memories: Sequence[Memory], lens: Lens) -> list[Memory]:
        """The memories as the lens reads them: expired or not, without an unseen successor."""
        found = visibility.marked(self._db, memories, lens)
        named = {memory.successor for memory in found if memory.successor is not None}
        if not named:
            return found
        condition, values = visibility.audience(lens)
        known = self._db.execute(
            "SELECT m.id FROM memory m JOIN version v ON v.memory = m.number "  # noqa: S608
            "AND v.recorded_until IS NULL WHERE m.id IN (SELECT value FROM json_each(?)) "
            f"AND {condition}",
            [rows.dumped(sorted(named)), *values],
        )
        seen = {id_ for (id_,) in known}
        return [
            memory if memory.successor is None or memory.successor in seen
            else replace(memory, successor=None)
            for memory in found
        ]  # fmt: skip


def _cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > _LONGEST_CURSOR:
        raise InvalidInput(f"{shown(cursor)} is not a cursor that a listing gave")
    return int(cursor)


# Finds versions by their vectors: the steps among which `search/nearest.py` chooses.


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


# The whole of a read.


class SqlSnapshot(SqlLookup, SqlVectorSearch, SqlRelations, SqlTrail, SqlCalling):
    """Implements `ports.Snapshot`: a namespace at one moment."""

    def __init__(self, db: Database, tails: Tails, file: str) -> None:
        self._db = db
        self._tails, self._file = tails, file
        self._scan = self._few = self._space = None
        self._head: Head | None = None  # read once: it cannot change inside a transaction

    def head(self) -> Head:
        """The namespace's counter and the end of its chain."""
        if self._head is None:
            stands = getattr(self._db, "stands", None)  # an empty namespace was not checked
            self._head = rows.head(self._db) if stands is None else rows.head_of(stands)
        return self._head

    def standing(self, wanted: Wanted) -> Standing:
        """What bears on a write as it is now, for work worth doing before the transaction."""
        return commit.standing(self._db, wanted, self.head().recorded_at)

    def keywords(self, lens: Lens) -> "Keywords":
        """The words of the texts that a lens may ask for."""
        return engine_of(self._db).keywords(self._db, lens, self._few_texts(lens))

    def _few_texts(self, lens: Lens) -> dict[int, int] | None:
        """All that the lens sees by text, where its filter leaves few; None: a search must look."""
        source = self._narrowed(lens)
        if source is None:
            return None
        from memory_mesh.ledgers.shared import narrowing

        return dict(narrowing.texts(self._db, lens, source))

    def around(
        self, versions: Sequence[int], lens: Lens, question: Question | None
    ) -> dict[int, Placed]:
        """The versions and their neighbours that the lens sees, each in its place."""
        from memory_mesh.ledgers.shared import neighbours  # a write has no use for it

        return neighbours.around(self._db, versions, question, visibility.sight(lens))

    def speakers(self, words: Sequence[str], lens: Lens) -> frozenset[str]:
        """Those of the words that name somebody whose words the lens sees."""
        from memory_mesh.ledgers.shared import neighbours as turns

        return turns.speakers(
            self._db, words, visibility.sight(lens), visibility.audience(lens, "s")
        )

    def pending(self, space: Space, limit: int, max_chars: int | None = None) -> Pending:
        """How many texts wait for a vector in a space, and the first, or newest short ones."""
        return vectors.pending(self._db, self._stored(space), limit, max_chars)

    def parts(self, space: Space, versions: Sequence[int]) -> dict[int, list[Part]]:
        """The vectors that versions have in a space, in the order of their parts."""
        return vectors.parts(self._db, space, versions)

    def vectors(self, space: Space, ids: Sequence[str]) -> dict[str, list[Part]]:
        """The vectors that memories have in a space now."""
        return vectors.of_memories(self._db, space, ids)

    def similar(self, sought: "Similar") -> list[list[tuple[str, float]]]:
        """Of each text the memories that are near enough and visible to its reader."""
        from memory_mesh.ledgers.shared import similar

        identity = f"{self._file} {self.head().identity}"
        return similar.similar(self._db, self._tails, identity, sought)

    def unlinked(self, limit: int) -> int:
        """How many vectors no links were sought for yet, up to a limit."""
        return unlinked(self._db, limit)

    def vectored(self, space: Space, after: int, limit: int) -> "tuple[int, list[Vectored]]":
        """The memories of the next vectors above a number, and how far these reach."""
        from memory_mesh.ledgers.shared import similar

        return similar.vectored(self._db, space, after, limit)

    def indexed(self, of: str, up_to: int | None, limit: int) -> list[Indexed]:
        """Texts or skills (`of`) up to a number, newest first, with the terms they have."""
        from memory_mesh.ledgers.shared import terms  # only upkeep and verify ask for it

        return terms.indexed(self._db, of, up_to, limit)

    def conflicts(
        self,
        limit: int,
        *,
        pending: bool,
        decided: bool = True,
        memory: str | None = None,
        existing: str | None = None,
    ) -> list[Conflict]:
        """Conflicts on record, the newest first; those of one memory, or of any."""
        return sqlite_conflicts.conflicts(
            self._db, limit, pending=pending, decided=decided, memory=memory, existing=existing
        )

    def guesses(self, ids: Sequence[str], limit: int) -> list[Conflict]:
        """Guesses that order these memories, the newest first."""
        if not has_any(self._db)[1]:  # many stores have no conflict, and the look for one is long
            return []
        return sqlite_conflicts.guesses(self._db, ids, limit)

    def schemas(self) -> dict[str, PredicateSchema]:
        """Every registered predicate."""
        return sqlite_conflicts.schemas(self._db)


# A namespace in numbers. Counting is linear in its memories.


def stats(db: Database, sizes: Sizes, now: datetime, session_days: int) -> Stats:
    """Memories by status, blocks, recalls, and how far each space has come.

    Those whose moment has come, and those of sessions without a write for so many days, count as
    expired, not as active.
    """
    since = now - timedelta(days=session_days) if session_days else None
    by_status = dict(db.execute("SELECT status, count(*) FROM memory GROUP BY status").fetchall())
    if expired := visibility.count_expired(db, now, rows.micros(since)):
        by_status["active"] -= expired
        by_status["expired"] = expired
    said = named_values.by_name(db, [named_values.ERASED_COUNT])
    if named_values.ERASED_COUNT in said:
        by_status["erased"] = int(said[named_values.ERASED_COUNT])
        by_status["erasing"] = len(named_values.beginning_with(db, named_values.ERASING))
    (recalls,) = db.execute("SELECT count(*) FROM recall").fetchone()
    (skills,) = db.execute("SELECT count(*) FROM skill WHERE status = 'active'").fetchone()
    (texts,) = db.execute("SELECT coalesce(max(number), 0) FROM text").fetchone()
    head = rows.head(db)
    return Stats(
        namespace=head.namespace,
        memories=by_status.get(Status.ACTIVE.value, 0),
        skills=skills,
        by_status=by_status,
        expired=by_status.get(Status.EXPIRED.value, 0),
        blocks=head.position,
        recalls=recalls,
        seq=head.seq,
        bytes=sizes.database + sizes.wal,
        sizes=sizes,
        spaces=tuple(spaces(db)),
        to_link=unlinked(db, MOST_TO_LINK),
        to_reindex=head.old_texts if head.analyzer == ANALYZER else texts,
    )


def uncounted(db: Database, sizes: Sizes) -> Stats:
    """What takes the same time however much is stored; what must be counted is left out."""
    head = rows.head(db)
    return Stats(
        namespace=head.namespace,
        memories=0,
        skills=0,
        by_status={},
        blocks=head.position,
        recalls=0,
        seq=head.seq,
        bytes=sizes.database + sizes.wal,
        sizes=sizes,
        to_reindex=head.old_texts if head.analyzer == ANALYZER else 0,
    )


def _spread(db: Database, most: int | None) -> tuple[list[int], float]:
    """Numbers of so many memories from all over, and how many each stands for; none for few."""
    if most is None:
        return [], 1.0
    (highest,) = db.execute("SELECT coalesce(max(number), 0) FROM memory").fetchone()
    if highest <= most:
        return [], 1.0
    numbers = {1 + int(highest * (at * _GOLDEN % 1)) for at in range(most)}
    return sorted(numbers), highest / len(numbers)


def spaces(db: Database) -> list[SpaceState]:
    """Every space that holds a vector, in the order of their first.

    One whose vectors were dropped is left out: no text waits for it.
    """
    value = vectors.stated(db)
    stated = None if value is None else reembedding.loaded(value)
    found = db.execute(
        f"SELECT number, body_version, body_highest, body_rows, {_SPACE} FROM space ORDER BY number"  # noqa: S608
    ).fetchall()
    states = [_state(db, row[0], row[1:4], row[4:]) for row in found]
    if stated is None:
        return states
    return [
        replace(state, in_use=state.space.name == stated.in_use.space)
        for state in states
        if state.vectors or state.space.name not in stated.dropped
    ]


def unlinked(db: Database, limit: int) -> int:
    """How many vectors of the space of links no links were sought for yet, up to a limit."""
    names = dict(db.execute("SELECT name, number FROM space").fetchall())
    if not names:
        return 0
    name = next(iter(names)) if len(names) == 1 else leading(spaces(db)).space.name
    reach = named_values.by_name(db, [f"links:{name}"]).get(f"links:{name}", "0")
    (count,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM vector WHERE number > ? AND space = ? LIMIT ?) x",
        (int(reach), names[name], limit),
    ).fetchone()
    return int(count)


def _state(db: Database, number: int, body: rows.Row, fields: rows.Row) -> SpaceState:
    space = replace(Space(*fields), normalised=bool(fields[5]))
    known = Body(*body) if body[0] is not None else None
    count, tail = db.execute(
        "SELECT count(*), count(*) FILTER (WHERE number > ?) FROM vector WHERE space = ?",
        (known.highest if known is not None else 0, number),
    ).fetchone()
    return SpaceState(
        space, count, vectors.pending(db, vectors.stored(db, space), 0).count, known, tail
    )


def has_any(db: Database) -> tuple[bool, bool]:
    """Whether any memory of today has a trigger, and whether there is any conflict."""
    known = engine_of(db).known(db)
    if known is None:
        return True, True
    if known.has is None:
        triggers, conflicts = db.execute(_HAS_ANY).fetchone()
        known.has = bool(triggers), bool(conflicts)
    return known.has
