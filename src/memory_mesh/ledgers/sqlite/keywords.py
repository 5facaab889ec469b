"""Keyword search: rare words find, common words add to what was found.

::

    terms ── count ──▶ kept (rare)          ──▶ bm25() over what they find ──┐
                       dropped (common)     ──▶ + a word's weight, where held ┴▶ best first
                                            ──▶ the newest that hold one, if more are wanted

bm25() walks every list of a word to its end before it scores anything, and scoring a text costs a
microsecond: so neither is asked of common words, and the cost does not grow with the namespace.
"""

import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from memory_mesh.model import Match, Matches
from memory_mesh.policy import selective
from memory_mesh.policy.selective import BUDGET, Selection

Visible = Callable[[Sequence[int]], Iterable[tuple[int, int]]]  # texts -> (text, version)
Scored = tuple[int, float]  # a text and its BM25, higher is better

_BATCH = 100  # candidates checked at a time, at least
_RECENT = 1_000  # where every word is common, the newest texts that hold all of them are ranked
_HEARD = 4  # common words that add to the score; the more common ones would add next to nothing


def match(
    db: sqlite3.Connection,
    tables: Sequence[str],
    terms: Sequence[str],
    limit: int,
    visible: Visible,
) -> Matches:
    """The best versions among the visible ones, from best to worst."""
    texts = db.execute("SELECT max(number) FROM text").fetchone()[0] or 0
    postings = {term: sum(_postings(db, table, term, texts) for table in tables) for term in terms}
    chosen = selective.select(terms, postings, texts)
    candidates = _candidates(db, tables, chosen, limit)
    found: dict[int, Match] = {}
    while len(found) < limit and (batch := list(islice(candidates, max(_BATCH, limit)))):
        scores = dict(reversed(batch))  # of a text that comes twice the first score is the better
        for text, version in visible(list(scores)):
            found.setdefault(version, Match(version, scores[text]))
    best = sorted(found.values(), key=lambda match: (-match.bm25, -match.version))[:limit]
    return Matches(tuple(best), chosen.ceiling, chosen.dropped)


def _postings(db: sqlite3.Connection, table: str, term: str, texts: int) -> int:
    """How many texts hold a term: exact up to the budget, beyond it judged by where that ended."""
    asked = (_quoted(term),)
    if texts > BUDGET:
        beyond = db.execute(
            f"SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT 1 OFFSET {BUDGET}",  # noqa: S608
            asked,
        ).fetchone()
        if beyond is not None:
            return max(BUDGET + 1, BUDGET * texts // int(beyond[0]))
    count: int = db.execute(
        f"SELECT count(*) FROM {table} WHERE {table} MATCH ?",  # noqa: S608  # own names only
        asked,
    ).fetchone()[0]
    return count


def _candidates(
    db: sqlite3.Connection, tables: Sequence[str], chosen: Selection, limit: int
) -> Iterator[Scored]:
    """Texts from best to worst; no more is ranked or read than is taken."""
    if not chosen.kept and not chosen.dropped:
        return
    best = _ranked(db, tables, chosen, limit)[:limit]
    yield from best
    if len(best) == limit:  # some were not for this reader
        yield from _ranked(db, tables, chosen, BUDGET)[limit:]
    below = best[-1][1] / 2 if best else math.inf  # nothing that was ranked comes after these
    for term in chosen.dropped:
        for table in tables:
            for (text,) in db.execute(
                f"SELECT rowid FROM {table} WHERE {table} MATCH ? "  # noqa: S608  # own names only
                "ORDER BY rowid DESC",
                (_quoted(term),),
            ):
                yield text, min(chosen.weights[term], below)


def _ranked(
    db: sqlite3.Connection, tables: Sequence[str], chosen: Selection, limit: int
) -> list[Scored]:
    """The best texts that hold a rare word, or where none is rare, all words."""
    common = [term for term in chosen.dropped if chosen.kept][:_HEARD]
    expression = _any_of(chosen.kept) if chosen.kept else _all_of(chosen.dropped)
    found: list[Scored] = []
    for table in tables:
        added = f" + ? * (number IN (SELECT rowid FROM {table} WHERE {table} MATCH ?))"  # noqa: S608
        values = [(chosen.weights[term], f"({expression}) AND {_quoted(term)}") for term in common]
        found += db.execute(
            f"SELECT number, score{added * len(common)} AS total FROM "  # noqa: S608  # own names
            f"(SELECT rowid AS number, -bm25({table}) AS score FROM {table} WHERE {table} MATCH ? "
            "ORDER BY rowid DESC LIMIT ?) ORDER BY total DESC, number DESC LIMIT ?",
            (
                *(value for pair in values for value in pair),
                expression,
                BUDGET if chosen.kept else _RECENT,
                limit,
            ),
        )
    return sorted(found, key=lambda scored: scored[1], reverse=True)


def _any_of(terms: Iterable[str]) -> str:
    return " OR ".join(map(_quoted, terms))


def _all_of(terms: Iterable[str]) -> str:
    return " AND ".join(map(_quoted, terms))


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
