"""One read transaction: keyword search, lookups and listings, each under its lens.

Scope, status, validity and the caller's filter are part of every statement that decides what is
returned. Keyword search ranks at most BUDGET postings, newest first where more match, so its cost
does not grow with the namespace once words are common.
"""

import heapq
import itertools
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from memory_mesh.errors import InvalidInput
from memory_mesh.ledgers.sqlite import rows
from memory_mesh.model import (
    Head,
    Lens,
    Match,
    Matches,
    Memory,
    Page,
    Stats,
    Status,
)
from memory_mesh.policy import selective
from memory_mesh.policy.filter_sql import compile_sql

_BATCH = 128  # candidates checked against their rows at a time
_LIVE = frozenset({Status.ACTIVE})


class SqliteSnapshot:
    """A namespace at one moment."""

    def __init__(self, db: sqlite3.Connection, size: Callable[[], int]) -> None:
        self._db = db
        self._size = size

    def head(self) -> Head:
        """The namespace's counter and the end of its chain."""
        return rows.head(self._db)

    def match(self, terms: Sequence[str], lens: Lens, limit: int) -> Matches:
        """The best versions by keyword; common words only count beside all the others."""
        present = lens.as_of is None and lens.statuses == _LIVE
        tables = ("live",) if present else ("live", "rest")
        postings = {term: self._postings(tables, term) for term in terms}
        total = self._db.execute("SELECT max(number) FROM text").fetchone()[0] or 0
        chosen = selective.select(terms, postings, total)
        known = [*chosen.kept, *chosen.dropped]
        if not known:
            return Matches()
        found = self._seen(self._ranked(tables, _expression(chosen)), lens, limit)
        if len(found) < limit and chosen.dropped:  # the rare words were not for this reader
            wider = self._seen(self._ranked(tables, _any_of(known)), lens, limit)
            found = {match.version: match for match in (*wider.values(), *found.values())}
        best = sorted(found.values(), key=lambda match: (-match.bm25, -match.version))[:limit]
        return Matches(tuple(best), chosen.ceiling, chosen.dropped)

    def load(self, versions: Sequence[int]) -> dict[int, Memory]:
        """Versions by their number."""
        found = self._db.execute(
            f"SELECT v.number, {rows.MEMORY} FROM {rows.JOINED} "  # noqa: S608  # own names only
            f"WHERE v.number IN ({_marks(versions)})",
            list(versions),
        )
        return {row[0]: rows.memory(row[1:]) for row in found}

    def get(self, ids: Sequence[str], lens: Lens) -> list[Memory]:
        """The memories with these ids that the lens sees, in the order asked."""
        condition, values = _predicate(lens)
        found: dict[str, Memory] = {}
        for batch in _batches(ids):
            for row in self._db.execute(
                f"SELECT {rows.MEMORY} FROM {rows.JOINED} "  # noqa: S608  # own names only
                f"WHERE m.id IN ({_marks(batch)}) AND {condition}",
                [*batch, *values],
            ):
                found[row[0]] = rows.memory(row)
        return [found[id_] for id_ in ids if id_ in found]

    def page(self, lens: Lens, limit: int, cursor: str | None) -> Page:
        """Newest first; the cursor is the last memory's number, so pages never overlap."""
        condition, values = _predicate(lens)
        before = _cursor(cursor)
        if before is not None:
            condition, values = f"m.number < ? AND {condition}", [before, *values]
        found = self._db.execute(
            f"SELECT m.number, {rows.MEMORY} FROM {rows.JOINED} WHERE {condition} "  # noqa: S608
            "ORDER BY m.number DESC LIMIT ?",
            [*values, limit + 1],
        ).fetchall()
        memories = [rows.memory(row[1:]) for row in found[:limit]]
        return Page(memories, str(found[limit - 1][0]) if len(found) > limit else None)

    def history(self, memory_id: str) -> list[Memory]:
        """Every version of one memory, oldest first."""
        return rows.history(self._db, memory_id)

    def next_bound(self, now: datetime) -> datetime | None:
        """The next moment at which some memory starts or ceases to be valid."""
        stamp = rows.micros(now)
        bounds = [
            self._db.execute(
                f"SELECT min({column}) FROM version "  # noqa: S608  # two fixed names
                f"WHERE recorded_until IS NULL AND {column} IS NOT NULL AND {column} > ?",
                (stamp,),
            ).fetchone()[0]
            for column in ("valid_from", "valid_until")
        ]
        return rows.moment(min((bound for bound in bounds if bound is not None), default=None))

    def stats(self) -> Stats:
        """The namespace in numbers; counting is linear in its memories."""
        by_status = dict(
            self._db.execute("SELECT status, count(*) FROM memory GROUP BY status").fetchall()
        )
        head = self.head()
        (recalls,) = self._db.execute("SELECT count(*) FROM recall").fetchone()
        return Stats(
            namespace=head.namespace,
            memories=by_status.get(Status.ACTIVE.value, 0),
            skills=0,
            by_status=by_status,
            blocks=head.position,
            recalls=recalls,
            seq=head.seq,
            bytes=self._size(),
        )

    def _postings(self, tables: Iterable[str], term: str) -> int:
        """How many texts hold a term, counted no further than the budget goes."""
        return sum(
            self._db.execute(
                f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)",  # noqa: S608
                (_quoted(term), selective.BUDGET + 1),
            ).fetchone()[0]
            for table in tables
        )

    def _ranked(self, tables: Sequence[str], expression: str) -> Iterator[tuple[float, int]]:
        """(minus BM25, text) from best to worst."""
        if not expression:
            return iter(())
        return heapq.merge(*(self._table_ranked(table, expression) for table in tables))

    def _table_ranked(self, table: str, expression: str) -> Iterator[tuple[float, int]]:
        return self._db.execute(
            f"SELECT score, number FROM (SELECT rowid AS number, bm25({table}) AS score "  # noqa: S608
            f"FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?) ORDER BY score",
            (expression, selective.BUDGET),
        )

    def _seen(
        self, ranked: Iterator[tuple[float, int]], lens: Lens, limit: int
    ) -> dict[int, Match]:
        """The first `limit` candidates that the lens sees."""
        condition, values = _predicate(lens)
        found: dict[int, Match] = {}
        while len(found) < limit and (batch := list(itertools.islice(ranked, _BATCH))):
            scores = {text: -score for score, text in batch}
            visible = self._db.execute(
                f"SELECT v.text, v.number FROM {rows.JOINED} "  # noqa: S608  # own names only
                f"WHERE v.text IN ({_marks(batch)}) AND {condition}",
                [*scores, *values],
            )
            found |= {version: Match(version, scores[text]) for text, version in visible}
        return found


def _predicate(lens: Lens) -> tuple[str, list[object]]:
    """The lens as SQL over JOINED, every value bound."""
    parts: list[str] = []
    values: list[object] = []
    if lens.as_of is None:
        parts.append("v.recorded_until IS NULL")
    else:
        stamp = rows.micros(lens.as_of)
        parts.append("v.recorded_from <= ? AND (v.recorded_until IS NULL OR v.recorded_until > ?)")
        values += [stamp, stamp]
    parts.append(f"v.status IN ({_marks(lens.statuses)})")
    values += sorted(lens.statuses)
    for part in ("project", "agent", "session"):
        if part not in lens.across:
            parts.append(f"(v.{part} IS NULL OR v.{part} = ?)")
            values.append(getattr(lens.scope, part))
    if not lens.any_validity:
        at = rows.micros(lens.valid_at or lens.as_of or lens.now)
        parts.append(
            "(v.valid_from IS NULL OR v.valid_from <= ?) "
            "AND (v.valid_until IS NULL OR v.valid_until > ?)"
        )
        values += [at, at]
    if lens.where is not None:
        fragment, bound = compile_sql(lens.where, rows.FILTERABLE)
        parts.append(f"({fragment})")
        values += bound
    return " AND ".join(parts), values


def _expression(chosen: selective.Selection) -> str:
    """Any rare word, or all words together."""
    everything = " AND ".join(_quoted(term) for term in (*chosen.kept, *chosen.dropped))
    if not chosen.dropped:
        return _any_of(chosen.kept)
    return f"{_any_of(chosen.kept)} OR ({everything})" if chosen.kept else everything


def _any_of(terms: Iterable[str]) -> str:
    return " OR ".join(_quoted(term) for term in terms)


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)


def _batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _BATCH):
        yield values[start : start + _BATCH]


def _cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdigit():
        message = f"{cursor[:40]!r} is not a cursor that a listing gave"
        raise InvalidInput(message)
    return int(cursor)
