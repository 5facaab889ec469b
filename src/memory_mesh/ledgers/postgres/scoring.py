"""Questions of single words in one statement each: how many hold them, and BM25 where they stand.

The arithmetic is that of relevance.py, step by step, so that equal texts have equal scores.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.base.typed import dataclass
from memory_mesh.ledgers.postgres.connection import PostgresConnection
from memory_mesh.model.query import Postings

_WORD = re.compile(r"[0-9a-z#+\x80-\U0010ffff]+")  # as the tokenizer of the SQLite ledger
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}  # ASCII alone
_WORD_POSTINGS = (
    "INSERT INTO posting (shelf, word, holder, places, length) "
    "SELECT %s, word, holder, places::smallint[], length "
    "FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::integer[]) "
    "AS made (word, holder, places, length)"
)
_COUNTS = (
    "INSERT INTO word_count (shelf, word, holders) SELECT %s, * "
    "FROM unnest(%s::text[], %s::bigint[]) ON CONFLICT (ns, shelf, word) "
    "DO UPDATE SET holders = word_count.holders + excluded.holders"
)
_SIZES = (
    "INSERT INTO shelf_size (shelf, holders, words) VALUES (%s, %s, %s) ON CONFLICT (ns, shelf) "
    "DO UPDATE SET holders = shelf_size.holders + excluded.holders, "
    "words = shelf_size.words + excluded.words"
)

# BM25 as the SQLite ledger has it, so that both rank alike.


K1, B = 1.2, 0.75
_LEAST = 1e-6  # weight of a word that half of the texts or more hold


@dataclass(frozen=True, slots=True)
class Statistics:
    """How many texts there are, and how many words they have together."""

    texts: int
    words: int


def weight(statistics: Statistics, holders: int) -> float:
    """The weight of a word that so many texts hold."""
    found = math.log((statistics.texts - holders + 0.5) / (holders + 0.5))
    return found if found > 0.0 else _LEAST


def relevance(statistics: Statistics, held: Iterable[tuple[int, float]], length: int) -> float:
    """The score of a text of so many words: of each asked word, who holds it and how often here."""
    average = statistics.words / statistics.texts
    score = 0.0
    for holders, often in held:
        score += weight(statistics, holders) * (
            (often * (K1 + 1.0)) / (often + K1 * (1.0 - B + B * length / average))
        )
    return score


def close(places: Sequence[Sequence[int]], between: int) -> list[int] | None:
    """How many places of each word are within reach of the others; None if never all together.

    All words must stand within a window in which at most `between` other words separate the first
    from the last.
    """
    at = [0] * len(places)
    kept: list[list[int]] = [[] for _ in places]
    while True:
        furthest = places[0][at[0]]
        matched = False
        while not matched:
            matched = True
            for word, found in enumerate(places):
                first = furthest - 1 - between
                if found[at[word]] < first or found[at[word]] > furthest:
                    matched = False
                    while found[at[word]] < first:
                        at[word] += 1
                        if at[word] == len(found):
                            return _counts(kept)
                    furthest = max(furthest, found[at[word]])
        for word, found in enumerate(places):
            if not kept[word] or kept[word][-1] != found[at[word]]:
                kept[word].append(found[at[word]])
        following = [
            found[at[word] + 1] if at[word] + 1 < len(found) else math.inf
            for word, found in enumerate(places)
        ]
        earliest = min(range(len(places)), key=lambda word: following[word])
        if following[earliest] == math.inf:
            return _counts(kept)
        at[earliest] += 1


def _counts(kept: Sequence[Sequence[int]]) -> list[int] | None:
    return [len(each) for each in kept] if kept[0] else None


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
_SIZE = "SELECT holders, words FROM shelf_size WHERE shelf = %s"
_HOLDING = "SELECT word, holders FROM word_count WHERE word = ANY (%s) AND shelf = %s"
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
    db: PostgresConnection, shelf: str, words: Sequence[str], limits: tuple[int, int], texts: int
) -> tuple[list[Postings], dict[str, int]]:
    """How many texts hold each word: exact up to a count; `limits` are that count and the list's.

    Above it the count is an estimate, by how dense the first ones are. Second, how many texts of
    all readers hold it, for its weight.
    """
    exact, listed = limits
    found, everywhere = [Postings(0, ())] * len(words), dict.fromkeys(words, 0)
    bound = {"shelf": shelf, "words": list(words), "exact": exact, "listed": listed}
    for place, holders, held, beyond in db.own(_POSTINGS, bound):
        count = holders if beyond is None else max(exact + 1, exact * texts // beyond)
        found[place - 1] = Postings(count, None if held is None else tuple(held))
        everywhere[words[place - 1]] = holders
    return found, everywhere


def size(db: PostgresConnection, shelf: str) -> Statistics:
    """How many texts and words a shelf has."""
    return Statistics(*(db.own(_SIZE, (shelf,)).fetchone() or (0, 0)))


def holders(db: PostgresConnection, shelf: str, words: Sequence[str]) -> dict[str, int]:
    """How many texts hold each of some words."""
    return dict.fromkeys(words, 0) | dict(db.own(_HOLDING, (list(words), shelf)).fetchall())


def best(
    db: PostgresConnection,
    shelf: str,
    words: Sequence[str],
    also: Sequence[tuple[str, float]],
    known: tuple[Statistics, Mapping[str, int]],
    *,
    every: bool,
    few: Mapping[int, int] | None,
    deepest: int,
    limit: int,
) -> list[tuple[int, float]]:
    """The best of the newest texts that hold one of the words, or every word."""
    whole, held = known
    if not whole.texts:
        return []
    bound: dict[str, object] = {
        "shelf": shelf,
        "words": list(words),
        "weights": [weight(whole, held[word]) for word in words],
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
        ordered = sorted(words, key=lambda word: held[word])
        bound |= {f"word_{place}": word for place, word in enumerate(ordered)}
        chosen = _all_of([held[word] for word in ordered], whole.texts, deepest, among)
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


# Words of texts: which hold one, where, and how many there are.
#
# ::
#
#     posting (shelf, word, text) ── places, length    one row for each word of each text
#     word_count (shelf, word)    ── texts             so that the weight of a word is one look
#     shelf_size (shelf)          ── texts, words      so that the average length is one look
#
# A shelf is what a keyword table is in SQLite: texts in use, or the rest. All three are written in
# the transaction of the text.


def tokens(terms: str) -> list[str]:
    """The words of a text's terms, in order."""
    return _WORD.findall(terms.translate(_LOWER))


def places(terms: str) -> dict[str, list[int]]:
    """Where each word stands among a text's terms."""
    found: dict[str, list[int]] = {}
    for place, word in enumerate(tokens(terms)):
        found.setdefault(word, []).append(place)
    return found


def put(db: PostgresConnection, shelf: str, rows: Sequence[tuple[int, str]]) -> None:
    """Writes the postings of texts, given by number and terms, and counts their words."""
    counts, length = Counter[str](), 0
    made: list[tuple[str, int, str, int]] = []
    for number, terms in rows:
        found = places(terms)
        words = sum(map(len, found.values()))
        counts.update(found.keys())
        length += words
        made += [
            (word, number, f"{{{','.join(map(str, at))}}}", words) for word, at in found.items()
        ]
    if made:
        made.sort()  # in the order of the index
        db.own(_WORD_POSTINGS, (shelf, *map(list, zip(*made, strict=True))))
    _recount(db, shelf, counts, len(rows), length)


def take(db: PostgresConnection, shelf: str, number: int, terms: str) -> None:
    """Deletes the postings of a text, and counts its words no longer."""
    words = tokens(terms)
    db.own(
        "DELETE FROM posting WHERE shelf = %s AND word = ANY (%s) AND holder = %s",
        (shelf, sorted(set(words)), number),
    )
    _recount(db, shelf, dict.fromkeys(words, -1), -1, -len(words))
    db.own(
        "DELETE FROM word_count WHERE shelf = %s AND word = ANY (%s) AND holders = 0",
        (shelf, words),
    )


def _recount(
    db: PostgresConnection, shelf: str, counts: Mapping[str, int], texts: int, words: int
) -> None:
    ordered = sorted(counts)
    db.own(_COUNTS, (shelf, ordered, [counts[word] for word in ordered]))
    db.own(_SIZES, (shelf, texts, words))
