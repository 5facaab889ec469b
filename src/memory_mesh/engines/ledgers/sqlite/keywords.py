"""Keyword search: rare words find, common words add to what was found.

::

    terms ── count ──▶ kept (rare)          ──▶ bm25() over what they find ──┐
                       dropped (common)     ──▶ + a word's weight, where held ┴▶ best first
                                            ──▶ the newest that hold one, if more are wanted

bm25() walks every list of a word to its end before it scores anything, and scoring a text costs a
microsecond: so neither is asked of common words, and the cost does not grow with the namespace.

A word may have other names, and one that no text holds may be misspelt. Texts with one of them
count too, each by its best name; where every word stands for itself, nothing more is asked.
"""

import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Match, Matches
from memory_mesh.policy.ranking import term_budget
from memory_mesh.policy.ranking.term_budget import BUDGET, Selection
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.policy.text.spelling import Other

Visible = Callable[[Sequence[int]], Iterable[tuple[int, int]]]  # texts -> (text, version)
Holds = Callable[[str, str], bool]  # whether a visible text of a table matches an expression
Scored = tuple[int, float]  # a text and its BM25, higher is better

_BATCH = 100  # candidates checked at a time, at least
_RECENT = 1_000  # where every word is common, the newest texts that hold all of them are ranked
_HEARD = 4  # common words that add to the score; the more common ones would add next to nothing
_MISREAD = 3  # words of one question that are looked for among the stored ones
_CLOSE = 4  # words that may stand between the words of one name


@dataclass(frozen=True, slots=True)
class Meaning:
    """A word as FTS5 is asked for it: as it stands, or as any of its names by what each counts."""

    expression: str
    postings: int
    names: tuple[tuple[str, float], ...] = ()
    others: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()  # what each of the others counts beside the word itself


def match(
    db: sqlite3.Connection,
    tables: Sequence[str],
    terms: Sequence[str],
    limit: int,
    visible: Visible,
    *,
    holds: Holds | None = None,
) -> Matches:
    """The best versions among the visible ones, from best to worst.

    Without `holds` every word means itself.
    """
    texts = db.execute("SELECT max(number) FROM text").fetchone()[0] or 0
    meanings = _meanings(db, tables, terms, texts, holds)
    postings = {term: meaning.postings for term, meaning in meanings.items()}
    if terms and not any(postings.values()):
        from memory_mesh.engines.ledgers.sqlite.keeping import probing  # most searches find words

        probing.tell_if_blind(db, tables)
    chosen = term_budget.select(terms, postings, texts)
    candidates = _candidates(db, tables, chosen, meanings, limit)
    found: dict[int, Match] = {}
    while len(found) < limit and (batch := list(islice(candidates, max(_BATCH, limit)))):
        scores = dict(reversed(batch))  # of a text that comes twice the first score is the better
        for text, version in visible(list(scores)):
            found.setdefault(version, Match(version, scores[text]))
    return Matches(
        tuple(sorted(found.values(), key=lambda match: (-match.bm25, -match.version))[:limit]),
        chosen.ceiling,
        chosen.dropped,
        postings,
        texts,
        read_as={term: meaning.others for term, meaning in meanings.items() if meaning.others},
        counts_as={term: meaning.shares for term, meaning in meanings.items() if meaning.others},
    )


def _meanings(
    db: sqlite3.Connection,
    tables: Sequence[str],
    terms: Sequence[str],
    texts: int,
    holds: Holds | None,
) -> dict[str, Meaning]:
    """Each term with its other names; one that nobody knows with what it may be misspelt for.

    Without a reader to see for, every term means itself.
    """
    from memory_mesh.policy.text import aliases  # a write has no use for them

    also = {} if holds is None else aliases.expand(terms)

    def known(expression: str) -> bool:
        return holds is not None and any(holds(table, expression) for table in tables)

    found: dict[str, Meaning] = {}
    misread = 0
    for term in terms:
        meaning = Meaning(_quoted(term), _postings(db, tables, _quoted(term), texts))
        if term in also:
            there = [each for each in also[term] if known(_name(each))]
            meaning = _with_others(db, tables, meaning, there, texts)
        if (
            holds is not None
            and misread < _MISREAD
            and term.isalpha()
            and not (meaning.postings and known(meaning.expression))
        ):
            from memory_mesh.engines.ledgers.sqlite import vocabulary

            misread += 1
            near = vocabulary.nearby(db, tables, term, lambda word: known(_quoted(word)))
            meaning = _with_others(db, tables, meaning, near, texts)
        found[term] = meaning
    return found


def _with_others(
    db: sqlite3.Connection,
    tables: Sequence[str],
    asked: Meaning,
    others: "Sequence[Other]",
    texts: int,
) -> Meaning:
    """The word with those of its other names that some text holds; a rare one stays rare."""
    if asked.postings > BUDGET:
        return asked
    held = {other: _postings(db, tables, _name(other), texts) for other in others}
    there = [other for other in others if held[other]]
    postings = min(texts, asked.postings + sum(held.values()))
    if not there or (asked.postings and postings > BUDGET):
        return asked
    names = [(asked.expression, 1.0)] if asked.postings else []
    weight = term_budget.inverse_frequency(postings, texts)
    for other in there:
        alone = _alone(db, tables, other, held[other], texts)
        names.append((_name(other), other.weight * min(1.0, weight / alone)))
    return Meaning(
        "(" + " OR ".join(name for name, _ in names) + ")",
        postings,
        tuple(names),
        tuple(" ".join(other.words) for other in there),
        tuple(other.weight for other in there),
    )


def _alone(
    db: sqlite3.Connection, tables: Sequence[str], other: "Other", held: int, texts: int
) -> float:
    """What bm25() gives the words of a name together."""
    counts = [held]
    if len(other.words) > 1:
        counts = [_postings(db, tables, _quoted(word), texts) for word in other.words]
    return sum(term_budget.inverse_frequency(min(count, texts), texts) for count in counts)


def _postings(db: sqlite3.Connection, tables: Sequence[str], asked: str, texts: int) -> int:
    """How many texts hold what is asked."""
    return sum(_counted(db, table, asked, texts) for table in tables)


def _counted(db: sqlite3.Connection, table: str, expression: str, texts: int) -> int:
    """Counts matches: exact up to the budget, estimated above it."""
    asked = (expression,)
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
    db: sqlite3.Connection,
    tables: Sequence[str],
    chosen: Selection,
    meanings: Mapping[str, Meaning],
    limit: int,
) -> Iterator[Scored]:
    """Texts from best to worst; no more is ranked or read than is taken."""
    if not chosen.kept and not chosen.dropped:
        return
    best = _ranked(db, tables, chosen, meanings, limit)[:limit]
    yield from best
    if len(best) == limit:  # some were not for this reader
        yield from _ranked(db, tables, chosen, meanings, BUDGET)[limit:]
    below = best[-1][1] / 2 if best else math.inf  # nothing that was ranked comes after these
    for term in chosen.dropped:
        for table in tables:
            for (text,) in db.execute(
                f"SELECT rowid FROM {table} WHERE {table} MATCH ? "  # noqa: S608  # own names only
                "ORDER BY rowid DESC",
                (meanings[term].expression,),
            ):
                yield text, min(chosen.weights[term], below)


def _ranked(
    db: sqlite3.Connection,
    tables: Sequence[str],
    chosen: Selection,
    meanings: Mapping[str, Meaning],
    limit: int,
) -> list[Scored]:
    """The best texts that hold a rare word, or where none is rare, all words."""
    common = [(meanings[term].expression, chosen.weights[term]) for term in chosen.dropped][:_HEARD]
    found: list[Scored] = []
    for table in tables:
        if not chosen.kept:
            every = " AND ".join(meanings[term].expression for term in chosen.dropped)
            found += _by_bm25(db, table, every, (), deepest=_RECENT, limit=limit)
        elif any(meanings[term].names for term in chosen.kept):
            found += _by_names(db, table, [meanings[term] for term in chosen.kept], common)
        else:
            some = " OR ".join(meanings[term].expression for term in chosen.kept)
            found += _by_bm25(db, table, some, common, deepest=BUDGET, limit=limit)
    return sorted(found, key=lambda scored: (-scored[1], -scored[0]))[:limit]


def _by_bm25(
    db: sqlite3.Connection,
    table: str,
    expression: str,
    common: Sequence[tuple[str, float]],
    *,
    deepest: int,
    limit: int,
) -> list[Scored]:
    """The best of one table in one statement: the rare words' BM25 and the common ones' weight."""
    added = f" + ? * (number IN (SELECT rowid FROM {table} WHERE {table} MATCH ?))"  # noqa: S608
    values = [(weight, f"({expression}) AND {word}") for word, weight in common]
    return db.execute(
        f"SELECT number, score{added * len(common)} AS total FROM "  # noqa: S608  # own names
        f"(SELECT rowid AS number, -bm25({table}) AS score FROM {table} WHERE {table} MATCH ? "
        "ORDER BY rowid DESC LIMIT ?) ORDER BY total DESC, number DESC LIMIT ?",
        (*(value for pair in values for value in pair), expression, deepest, limit),
    ).fetchall()


def _by_names(
    db: sqlite3.Connection,
    table: str,
    meanings: Sequence[Meaning],
    common: Sequence[tuple[str, float]],
) -> list[Scored]:
    """All texts of one table that hold a rare word, by the best name of each word."""
    scores: dict[int, float] = {}
    for meaning in meanings:
        best: dict[int, float] = {}
        for name, share in meaning.names or ((meaning.expression, 1.0),):
            for text, score in _by_bm25(db, table, name, (), deepest=BUDGET, limit=BUDGET):
                best[text] = max(score * share, best.get(text, 0.0))
        for text, score in best.items():
            scores[text] = scores.get(text, 0.0) + score
    some = " OR ".join(meaning.expression for meaning in meanings)
    for word, weight in common:
        for (text,) in db.execute(
            f"SELECT rowid FROM {table} WHERE {table} MATCH ?",  # noqa: S608  # own names only
            (f"({some}) AND {word}",),
        ):
            scores[text] = scores.get(text, 0.0) + weight
    return list(scores.items())


def _name(other: "Other") -> str:
    """A name as FTS5 is asked for it: several words must stand close together."""
    words = " ".join(map(_quoted, other.words))
    return words if len(other.words) == 1 else f"NEAR({words}, {_CLOSE})"


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
