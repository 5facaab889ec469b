"""Words of texts: which hold one, where, and how many there are.

::

    posting (shelf, word, text) ── places, length    one row for each word of each text
    word_count (shelf, word)    ── texts             so that the weight of a word is one look
    shelf_size (shelf)          ── texts, words      so that the average length is one look

A shelf is what a keyword table is in SQLite: texts in use, or the rest. All three are written in
the transaction of the text.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from memory_mesh.engines.ledgers.postgres.connection import Connection

_WORD = re.compile(r"[0-9a-z#+\x80-\U0010ffff]+")  # as the tokenizer of the SQLite ledger
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}  # ASCII alone
_POSTINGS = (
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


def tokens(terms: str) -> list[str]:
    """The words of a text's terms, in order."""
    return _WORD.findall(terms.translate(_LOWER))


def places(terms: str) -> dict[str, list[int]]:
    """Where each word stands among a text's terms."""
    found: dict[str, list[int]] = {}
    for place, word in enumerate(tokens(terms)):
        found.setdefault(word, []).append(place)
    return found


def put(db: Connection, shelf: str, rows: Sequence[tuple[int, str]]) -> None:
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
        db.own(_POSTINGS, (shelf, *map(list, zip(*made, strict=True))))
    _recount(db, shelf, counts, len(rows), length)


def take(db: Connection, shelf: str, number: int, terms: str) -> None:
    """Deletes the postings of a text, and counts its words no longer."""
    words = tokens(terms)
    db.own(
        "DELETE FROM posting WHERE shelf = %s AND word = ANY (%s) AND holder = %s",
        (shelf, sorted(set(words)), number),
    )
    _recount(db, shelf, dict.fromkeys(words, -1), -1, -len(words))


def _recount(db: Connection, shelf: str, counts: Mapping[str, int], texts: int, words: int) -> None:
    ordered = sorted(counts)
    db.own(_COUNTS, (shelf, ordered, [counts[word] for word in ordered]))
    db.own(_SIZES, (shelf, texts, words))
