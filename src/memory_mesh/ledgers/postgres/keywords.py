"""Keyword search over the postings. What to ask is decided in search/keyword_plan.py."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from memory_mesh.base.typed import dataclass
from memory_mesh.ledgers.postgres import scoring
from memory_mesh.ledgers.postgres.connection import PostgresConnection
from memory_mesh.ledgers.shared import rows, visibility
from memory_mesh.ledgers.shared.engine import LIVE, REST
from memory_mesh.model import AllOf, AnyOf, Expression, Lens, Name, Postings, Status

_ACTIVE = frozenset({Status.ACTIVE})
_CHECKED = 10_000  # if none of these is visible, the reader does not know their word
_FEW_TEXTS = 2_000  # of a reader: these are listed rather than sought among those of others
_SMALL_SHARE = 12  # of a reader of more than a twelfth the next text is soon found
_BETWEEN = 4  # words that may stand between the words of one name
_LOOKED_AT = 3_000  # stored words that begin alike
_PAGE = 1_000  # texts that are read at a time
_LAST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class _Held:
    """Where the words of a question stand in one text, and how long that is."""

    places: dict[str, list[int]]
    length: int


class PostgresKeywords:
    """Implements `keyword_ports.Keywords` for one lens."""

    def __init__(
        self, db: PostgresConnection, lens: Lens, few: Mapping[int, int] | None = None
    ) -> None:
        self._db, self._lens, self._few = db, lens, few
        self._present = lens.as_of is None and lens.statuses == _ACTIVE
        self._shelves = (LIVE,) if self._present else (LIVE, REST)
        self._sight = visibility.sight(lens)
        self._texts: int | None = None
        self._holders: dict[str, dict[str, int]] = {shelf: {} for shelf in self._shelves}
        self._looked = False

    def texts(self) -> int:
        """How many texts there are: the highest number of one."""
        if self._texts is None:
            self._db.expect(*(partial(scoring.size, self._db, shelf) for shelf in self._shelves))
            self._texts = self._db.execute("SELECT max(number) FROM text").fetchone()[0] or 0
        return self._texts

    def postings(
        self, expressions: Sequence[Expression], *, exact: int, listed: int
    ) -> list[Postings]:
        """How many texts hold each expression, and which, where they are few."""
        listed = min(listed, exact)
        single = [_single_word(each) for each in expressions]
        asked = [word for word in single if word is not None]
        counted = dict(zip(asked, self._counted(asked, exact, listed), strict=True))
        return [
            self._postings(each, exact, listed) if word is None else counted[word]
            for each, word in zip(expressions, single, strict=True)
        ]

    def _counted(self, words: Sequence[str], exact: int, listed: int) -> list[Postings]:
        """The same for single words, in one statement a shelf."""
        if not words:
            return []
        limits, texts, found = (exact, listed), self.texts(), list[list[Postings]]()
        for shelf in self._shelves:
            held, everywhere = scoring.postings(self._db, shelf, words, limits, texts)
            self._holders[shelf] |= everywhere
            found.append(held)
        return [_sum(parts, listed) for parts in zip(*found, strict=True)]

    def _postings(self, expression: Expression, exact: int, listed: int) -> Postings:
        count, texts = 0, list[int]()
        for shelf in self._shelves:
            found = list(self._matching(shelf, expression, exact + 1))
            count += self._estimate(found, exact)
            texts += found
        return Postings(count, tuple(texts) if len(texts) <= listed else None)

    def _estimate(self, found: Sequence[int], exact: int) -> int:
        """The count of matches: exact up to a count, above it by how dense the first ones are."""
        if len(found) <= exact:
            return len(found)
        return max(len(found), exact * self.texts() // found[-1])

    def seen(self, expressions: Sequence[Expression]) -> list[bool]:
        """Whether a visible text holds each expression; most often the first text does."""
        single = [_single_word(each) for each in expressions]
        asked = [word for word in single if word is not None and self._few is None]
        known = dict(zip(asked, self._are_seen(asked), strict=True))
        return [
            known[word] if word in known else self._is_seen(each)
            for each, word in zip(expressions, single, strict=True)
        ]

    def _are_seen(self, words: Sequence[str]) -> list[bool]:
        """The same for single words, in one statement."""
        if not words:
            return []
        source, condition, values = self._sight
        either = " OR ".join(
            "EXISTS (SELECT 1 FROM (SELECT holder FROM posting "  # noqa: S608  # own names only
            f"WHERE shelf = '{shelf}' AND word = asked.value LIMIT {_CHECKED}) held "
            f"CROSS JOIN {source} WHERE v.text = held.holder AND {condition})"
            for shelf in self._shelves
        )
        found = self._db.execute(
            f"SELECT {either} FROM json_each(?) asked",  # noqa: S608  # own names only
            [*values * len(self._shelves), rows.dumped(list(words))],
        )
        return [seen for (seen,) in found]

    def _is_seen(self, expression: Expression) -> bool:
        for shelf in self._shelves:
            holders = self._matching(shelf, expression, _CHECKED)
            while page := [text for text, _ in zip(holders, range(_PAGE), strict=False)]:
                if self.versions(page):
                    return True
        return False

    def best(
        self,
        expression: Expression,
        also: Sequence[tuple[Expression, float]] = (),
        *,
        deepest: int,
        limit: int,
    ) -> list[tuple[int, float]]:
        """The best texts by BM25, with the weights of what holds too."""
        found: list[tuple[int, float]] = []
        words, added = _single_words(expression), [_single_word(other) for other, _ in also]
        for shelf in self._shelves:
            if words is None or None in added:
                found += self._scored(shelf, expression, also, deepest)
            else:
                found += scoring.best(
                    self._db,
                    shelf,
                    words,
                    [(str(word), adds) for word, (_, adds) in zip(added, also, strict=True)],
                    self._statistics(shelf, words),
                    every=isinstance(expression, AllOf),
                    few=self._few,
                    deepest=deepest,
                    limit=limit,
                )
        found.sort(key=lambda scored: (-scored[1], -scored[0]))
        return found[:limit]

    def _statistics(
        self, shelf: str, words: Sequence[str]
    ) -> tuple[scoring.Statistics, dict[str, int]]:
        """How large a shelf is, and how many texts hold each of some words."""
        known = self._holders[shelf]
        if any(word not in known for word in words):
            known |= scoring.holders(self._db, shelf, words)
        return scoring.size(self._db, shelf), known

    def _scored(
        self,
        shelf: str,
        expression: Expression,
        also: Sequence[tuple[Expression, float]],
        deepest: int,
    ) -> list[tuple[int, float]]:
        held = self._held(shelf, expression, deepest)
        if not held:
            return []
        leaves = _leaves(expression)
        asked = sorted({word for leaf in leaves for word in leaf})
        statistics, holders = self._statistics(shelf, asked)
        scores = {}
        for text, one in held.items():
            pairs: list[tuple[int, float]] = []
            for leaf in leaves:
                often = _often(leaf, one)
                if often is not None:
                    pairs += [
                        (holders[word], count) for word, count in zip(leaf, often, strict=True)
                    ]
            scores[text] = scoring.relevance(statistics, pairs, one.length)
        for other, weight in also:
            for text in self._among(shelf, other, list(held)):
                scores[text] += weight
        return list(scores.items())

    def holding(self, expression: Expression) -> Iterator[int]:
        """The texts that hold an expression, newest first, those out of use last."""
        self._find_few()
        for shelf in self._shelves:
            yield from self._matching(shelf, expression, newest_first=True)

    def versions(self, texts: Sequence[int]) -> list[tuple[int, int]]:
        """The check every candidate passes: texts to (text, the version that the lens sees)."""
        if self._few is not None:
            return [(text, self._few[text]) for text in texts if text in self._few]
        source, condition, values = self._sight
        return self._db.execute(
            f"SELECT v.text, v.number FROM {source} "  # noqa: S608  # own names only
            f"WHERE v.text IN (SELECT value FROM json_each(?)) AND {condition}",
            [f"[{','.join(map(str, texts))}]", *values],
        ).fetchall()

    def beginning(self, letters: str) -> list[str]:
        """The first stored words that begin so."""
        found = self._db.own(
            "SELECT DISTINCT word FROM word_count WHERE shelf = ANY (%s) AND word >= %s "
            "AND word < %s AND holders > 0 ORDER BY word LIMIT %s",
            (list(self._shelves), letters, letters + _LAST, _LOOKED_AT),
        )
        return [word for (word,) in found]

    def stored(self, words: Sequence[str]) -> list[str]:
        """Those of the words that some text holds."""
        found = self._db.own(
            "SELECT word FROM word_count WHERE shelf = ANY (%s) AND word = ANY (%s) "
            "AND holders > 0",
            (list(self._shelves), list(words)),
        )
        there = {word for (word,) in found}
        return [word for word in words if word in there]

    def none_held(self) -> None:
        """Postings are written with their text: there is nothing to check."""

    def _find_few(self) -> None:
        """Lists the texts that the lens sees, if its reader sees few of many."""
        if self._few is not None or self._looked or visibility.sees_all(self._lens):
            return
        self._looked = True
        counts = visibility.seen_by(self._db, self._lens)
        if (
            counts is None
            or not self._present
            or sum(counts.values()) * _SMALL_SHARE > self.texts() > 0
        ):
            return
        found = visibility.texts(self._db, self._lens, tuple(counts), _FEW_TEXTS)
        self._few = None if found is None else dict(found)

    def _matching(
        self,
        shelf: str,
        expression: Expression,
        most: int | None = None,
        *,
        newest_first: bool = False,
    ) -> Iterator[int]:
        """The texts that hold an expression, oldest first, page by page."""
        given, last = 0, None
        order = "DESC" if newest_first else "ASC"
        condition, values = _condition(expression, shelf)
        few, bound = self._few_condition()
        while most is None or given < most:
            beyond = "" if last is None else f" AND p.holder {'<' if newest_first else '>'} %s"
            page = _PAGE if most is None else min(_PAGE, most - given)
            found = self._db.own(
                "SELECT DISTINCT p.holder FROM posting p WHERE p.shelf = %s "  # noqa: S608
                f"AND p.word = ANY (%s) AND {condition}{few}{beyond} "
                f"ORDER BY p.holder {order} LIMIT %s",
                (
                    shelf,
                    _base(expression),
                    *values,
                    *bound,
                    *([] if last is None else [last]),
                    page,
                ),
            ).fetchall()
            texts = [text for (text,) in found]
            if not _is_plain(expression):
                kept = self._places(shelf, expression, texts)
                texts = [text for text in texts if text in kept and _holds(expression, kept[text])]
            for text in texts:
                given += 1
                yield text
            if len(found) < page:
                return
            last = found[-1][0]

    def _among(self, shelf: str, expression: Expression, texts: list[int]) -> list[int]:
        places = self._places(shelf, expression, texts)
        return [text for text, one in places.items() if _holds(expression, one)]

    def _held(self, shelf: str, expression: Expression, deepest: int) -> dict[int, _Held]:
        """The newest texts that hold an expression, with where its words stand."""
        texts: list[int] = []
        for text in self._matching(shelf, expression, newest_first=True):
            texts.append(text)
            if len(texts) == deepest:
                break
        return self._places(shelf, expression, texts)

    def _places(self, shelf: str, expression: Expression, texts: list[int]) -> dict[int, _Held]:
        words = sorted({word for leaf in _leaves(expression) for word in leaf})
        found: dict[int, _Held] = {}
        for word, text, places, length in self._db.own(
            "SELECT word, holder, places, length FROM posting WHERE shelf = %s "
            "AND word = ANY (%s) AND holder = ANY (%s)",
            (shelf, words, texts),
        ):
            found.setdefault(text, _Held({}, length)).places[word] = places
        return found

    def _few_condition(self) -> tuple[str, list[object]]:
        if self._few is None:
            return "", []
        return " AND p.holder = ANY (%s)", [sorted(self._few)]


def _leaves(expression: Expression) -> list[tuple[str, ...]]:
    """The names in an expression, each as its words."""
    if isinstance(expression, Name):
        return [tuple(token for word in expression.words for token in scoring.tokens(word))]
    return [leaf for part in expression.of for leaf in _leaves(part)]


def _single_word(expression: Expression) -> str | None:
    """The word, if the expression is nothing but one."""
    leaves = _leaves(expression) if isinstance(expression, Name) else []
    return leaves[0][0] if len(leaves) == 1 and len(leaves[0]) == 1 else None


def _single_words(expression: Expression) -> list[str] | None:
    """The words, if the expression is one, any of some, or all of some, each but once."""
    parts = (expression,) if isinstance(expression, Name) else expression.of
    words = [_single_word(part) for part in parts]
    found = [word for word in words if word is not None]
    return found if len(set(found)) == len(words) > 0 else None


def _sum(parts: Sequence[Postings], listed: int) -> Postings:
    """The postings of all shelves: a text is on one of them."""
    texts = tuple(text for part in parts for text in part.texts or ())
    whole = all(part.texts is not None for part in parts) and len(texts) <= listed
    return Postings(sum(part.count for part in parts), texts if whole else None)


def _is_plain(expression: Expression) -> bool:
    """Whether a look at single words tells all."""
    return all(len(leaf) == 1 for leaf in _leaves(expression))


def _base(expression: Expression) -> list[str]:
    """Words of which every text that holds the expression has one."""
    if isinstance(expression, Name):
        return [*_leaves(expression)[0][:1]]
    if isinstance(expression, AllOf):
        return _base(expression.of[0])
    return sorted({word for part in expression.of for word in _base(part)})


def _condition(expression: Expression, shelf: str) -> tuple[str, list[object]]:
    """The test of `p.holder`: which words the text holds, wherever they stand."""
    if isinstance(expression, Name):
        words = _leaves(expression)[0]
        test = (
            "EXISTS (SELECT 1 FROM posting o WHERE o.shelf = %s AND o.word = %s "
            "AND o.holder = p.holder)"
        )
        values: list[object] = [value for word in words for value in (shelf, word)]
        return " AND ".join([test] * len(words)) or "FALSE", values
    if isinstance(expression, AnyOf) and _is_plain(expression) and not _nested(expression):
        return "TRUE", []  # the base says it
    parts = [_condition(part, shelf) for part in expression.of]
    joint = " OR " if isinstance(expression, AnyOf) else " AND "
    return f"({joint.join(f'({sql})' for sql, _ in parts)})", [
        value for _, values in parts for value in values
    ]


def _nested(expression: AnyOf) -> bool:
    return any(
        isinstance(part, AllOf) or (isinstance(part, AnyOf) and _nested(part))
        for part in expression.of
    )


def _often(leaf: Sequence[str], held: _Held) -> list[int] | None:
    """How often each word of a name stands in a text, close to the others; None if never so."""
    if any(word not in held.places for word in leaf):
        return None
    if len(leaf) == 1:
        return [len(held.places[leaf[0]])]
    return scoring.close([held.places[word] for word in leaf], _BETWEEN)


def _holds(expression: Expression, held: _Held) -> bool:
    if isinstance(expression, Name):
        return _often(_leaves(expression)[0], held) is not None
    test = any if isinstance(expression, AnyOf) else all
    return test(_holds(part, held) for part in expression.of)
