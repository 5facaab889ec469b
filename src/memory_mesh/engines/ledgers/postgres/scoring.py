"""Questions of single words in one statement each: how many hold them, and BM25 where they stand.

The arithmetic is that of relevance.py, step by step, so that equal texts have equal scores.
"""

from collections.abc import Mapping, Sequence

from memory_mesh.engines.ledgers.postgres.connection import Connection
from memory_mesh.engines.ledgers.postgres.relevance import K1, B, Statistics, weight
from memory_mesh.model.query import Postings

_POSTINGS = """
SELECT asked.place, c.holders,
    CASE WHEN c.holders <= %(listed)s THEN ARRAY(
        SELECT p.holder FROM posting p WHERE p.shelf = %(shelf)s AND p.word = asked.word
        ORDER BY p.holder) END,
    CASE WHEN c.holders > %(exact)s THEN (
        SELECT p.holder FROM posting p WHERE p.shelf = %(shelf)s AND p.word = asked.word
        ORDER BY p.holder OFFSET %(exact)s LIMIT 1) END
FROM unnest(%(words)s::text[]) WITH ORDINALITY asked (word, place)
JOIN word_count c ON c.shelf = %(shelf)s AND c.word = asked.word
"""
_STATISTICS = """
SELECT s.holders, s.words, c.word, c.holders FROM shelf_size s
LEFT JOIN word_count c ON c.shelf = s.shelf AND c.word = ANY (%s) WHERE s.shelf = %s
"""
_SCORE = f"""
sum(w.weight * ((cardinality(p.places) * {K1 + 1.0}::float8) / (cardinality(p.places)
    + {K1}::float8 * ({1.0 - B}::float8 + {B}::float8 * p.length / %(average)s::float8)))
    ORDER BY w.place)
"""
_WEIGHED = (
    "unnest(%(words)s::text[], %(weights)s::float8[]) WITH ORDINALITY w (word, weight, place) "
    "JOIN posting p ON p.shelf = %(shelf)s AND p.word = w.word"
)
_ANY = (
    f"SELECT p.holder, {_SCORE} AS score FROM {_WEIGHED} WHERE TRUE{{few}} "  # noqa: S608  # own
    "GROUP BY p.holder ORDER BY p.holder DESC LIMIT %(deepest)s"
)
_HOLDERS = "SELECT holder FROM posting WHERE shelf = %(shelf)s AND word = %(word_{})s"
_HOLDS = (
    " AND EXISTS (SELECT 1 FROM posting o WHERE o.shelf = %(shelf)s AND o.word = %(word_{})s "
    "AND o.holder = f.holder)"
)
_EVERY = (
    "SELECT held.holder, scored.score FROM (SELECT f.holder FROM ({lists}) f "  # noqa: S608  # own
    "WHERE TRUE{tests}{few} ORDER BY f.holder DESC LIMIT %(deepest)s) held CROSS JOIN LATERAL "
    f"(SELECT {_SCORE} AS score FROM {_WEIGHED} AND p.holder = held.holder) scored"
)
_PROBE = 8  # rows of a list that are read in the time of one look for a text
_ALSO = (
    " + CASE WHEN EXISTS (SELECT 1 FROM posting a WHERE a.shelf = %(shelf)s "
    "AND a.word = %(also_{0})s AND a.holder = found.holder) THEN %(adds_{0})s::float8 ELSE 0 END"
)


def postings(
    db: Connection, shelf: str, words: Sequence[str], limits: tuple[int, int], texts: int
) -> list[Postings]:
    """How many texts hold each word: exact up to a count; `limits` are that count and the list's.

    Above it the count is an estimate, by how dense the first ones are.
    """
    exact, listed = limits
    found = [Postings(0, ())] * len(words)
    bound = {"shelf": shelf, "words": list(words), "exact": exact, "listed": listed}
    for place, holders, held, beyond in db.own(_POSTINGS, bound):
        count = holders if beyond is None else max(exact + 1, exact * texts // beyond)
        found[place - 1] = Postings(count, None if held is None else tuple(held))
    return found


def statistics(
    db: Connection, shelf: str, words: Sequence[str]
) -> tuple[Statistics, dict[str, int]]:
    """How many texts and words a shelf has, and how many texts hold each of some words."""
    rows = db.own(_STATISTICS, (list(words), shelf)).fetchall()
    whole = Statistics(*rows[0][:2]) if rows else Statistics(0, 0)
    counts = {word: holders for *_, word, holders in rows if word is not None}
    return whole, dict.fromkeys(words, 0) | counts


def best(
    db: Connection,
    shelf: str,
    words: Sequence[str],
    also: Sequence[tuple[str, float]],
    *,
    every: bool,
    few: Mapping[int, int] | None,
    deepest: int,
    limit: int,
) -> list[tuple[int, float]]:
    """The best of the newest texts that hold one of the words, or every word."""
    whole, holders = statistics(db, shelf, words)
    if not whole.texts:
        return []
    bound: dict[str, object] = {
        "shelf": shelf,
        "words": list(words),
        "weights": [weight(whole, holders[word]) for word in words],
        "average": whole.words / whole.texts,
        "few": None if few is None else sorted(few),
        "deepest": deepest,
        "limit": limit,
    }
    for place, (word, adds) in enumerate(also):
        bound |= {f"also_{place}": word, f"adds_{place}": adds}
    among = "" if few is None else f" AND {'f' if every else 'p'}.holder = ANY (%(few)s)"
    chosen = _ANY.format(few=among)
    if every:
        ordered = sorted(words, key=lambda word: holders[word])
        bound |= {f"word_{place}": word for place, word in enumerate(ordered)}
        chosen = _all_of([holders[word] for word in ordered], whole.texts, deepest, among)
    added = "".join(_ALSO.format(place) for place in range(len(also)))
    return db.own(
        f"SELECT found.holder, found.score{added} AS total FROM ({chosen}) found "  # noqa: S608
        "ORDER BY total DESC, found.holder DESC LIMIT %(limit)s",
        bound,
    ).fetchall()


def _all_of(holders: Sequence[int], texts: int, deepest: int, among: str) -> str:
    """The newest texts that hold every word, of which the rarest is the first.

    Either the others are looked for in each text of the rarest, or all lists are read: whichever
    reads less, if words stand in texts by chance.
    """
    walked = float(deepest)
    for held in holders[1:]:
        walked *= texts / max(1, held)
    looked = min(walked, holders[0]) * (len(holders) - 1) * _PROBE
    places = range(len(holders))
    if looked <= sum(holders):
        tests = "".join(_HOLDS.format(place) for place in places[1:])
        return _EVERY.format(lists=_HOLDERS.format(0), tests=tests, few=among)
    lists = " INTERSECT ".join(_HOLDERS.format(place) for place in places)
    return _EVERY.format(lists=lists, tests="", few=among)
