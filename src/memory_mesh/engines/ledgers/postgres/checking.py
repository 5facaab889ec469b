"""What `verify` reads of a namespace in PostgreSQL besides its rows: words and indexes."""

from collections import Counter
from collections.abc import Iterator

from memory_mesh.engines.ledgers.postgres.connection import Connection
from memory_mesh.engines.ledgers.postgres.words import places
from memory_mesh.engines.ledgers.sql.engine import LIVE, REST
from memory_mesh.model import Finding

NAME, INDEX = "words", "index of vectors"
_OF_SHELF = {
    LIVE: "IN",
    REST: "NOT IN",
}
_MISCOUNTED = """
    SELECT coalesce(c.shelf, p.shelf), coalesce(c.word, p.word) FROM
        (SELECT shelf, word, count(*) AS held FROM posting GROUP BY shelf, word) p
        FULL JOIN word_count c ON c.shelf = p.shelf AND c.word = p.word
    WHERE coalesce(c.holders, 0) <> coalesce(p.held, 0)"""


def check(db: Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Every text has the postings of its terms, on the shelf where it belongs, and no other."""
    for shelf, inside in _OF_SHELF.items():
        stored = db.own(
            f"SELECT number, terms FROM text WHERE number {inside} (SELECT text FROM version "  # noqa: S608
            "WHERE recorded_until IS NULL AND status = 'active')"
        )
        expected = {number: places(terms) for number, terms in stored}
        checked["texts found by their terms"] += len(expected)
        lengths = {number: _length(words) for number, words in expected.items()}
        found: dict[int, dict[str, list[int]]] = {}
        wrong: set[int] = set()
        for number, word, at, length in db.own(
            "SELECT holder, word, places, length FROM posting WHERE shelf = %s", (shelf,)
        ):
            found.setdefault(number, {})[word] = at
            if length != lengths.get(number):
                wrong.add(number)
        for number in sorted(expected.keys() | found.keys()):
            if number in wrong or expected.get(number, {}) != found.get(number, {}):
                yield Finding(NAME, f"{shelf} does not hold the terms of text {number}")
        size = (len(expected), sum(lengths.values()))
        told = db.own("SELECT holders, words FROM shelf_size WHERE shelf = %s", (shelf,)).fetchone()
        if (told or (0, 0)) != size:
            yield Finding(NAME, f"{shelf} has {size[0]} texts of {size[1]} words, and tells {told}")
    for shelf, word in db.own(_MISCOUNTED):
        yield Finding(NAME, f"the count of {word!r} in {shelf} is wrong")


def check_index(db: Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Every index holds the vectors up to the number that its space tells, and no other."""
    told = db.own("SELECT number, name, body_rows FROM space WHERE body_version IS NOT NULL")
    for number, name, held in told.fetchall():
        checked["vectors in an index"] += held
        (differing,) = db.own("SELECT index_differs(%s)", (number,)).fetchone() or (0,)
        if differing:
            yield Finding(
                INDEX,
                f"that of {name} differs from {differing} vectors; run `memory-mesh upkeep "
                "--rebuild-index`",
            )


def _length(words: dict[str, list[int]]) -> int:
    return sum(map(len, words.values()))


CHECKS = {NAME: check, INDEX: check_index}
