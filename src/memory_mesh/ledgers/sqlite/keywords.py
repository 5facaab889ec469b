"""The keyword tables of SQLite: FTS5, one table of the texts in use and one of the rest.

What to ask is decided in search/keyword_plan.py. A MATCH costs as much as fifty rows before it
finds the first one: so the expressions of a question go in together, as one JSON array, and the
texts of rare ones are read with their count.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from memory_mesh.ledgers.shared import rows, vectors, visibility
from memory_mesh.ledgers.sqlite.connection import SqliteConnection
from memory_mesh.model import AnyOf, Expression, Lens, Name, Postings, Status
from memory_mesh.platform import telemetry

LOOKED_AT = 3_000
READ_LETTERS = 4  # words that begin with these are read at once, for longer beginnings, too
_READ = 250  # words in a row that are read rather than looked for one by one
_FEW = 40  # words with the same two letters: up to that all with the first letter are read
_LAST = "\U0010ffff"

_LIVE = frozenset({Status.ACTIVE})
_MAX_CHECKED_TEXTS = 10_000  # if none of these is visible, the reader does not know their word
_FEW_TEXTS = 2_000  # of a reader: these are listed rather than sought among those of others
_SMALL_SHARE = 12  # of a reader of more than a twelfth the next text is soon found
_MANY_HIDDEN = 100  # texts of which few are for a reader, who then may see little at all
_CLOSE = 4  # words that may stand between the words of one name


class SqliteKeywords:
    """Implements `keyword_ports.Keywords` for one lens.

    `few` are all texts that the lens sees, with their versions, where a filter leaves few.
    """

    def __init__(
        self, db: sqlite3.Connection, lens: Lens, few: Mapping[int, int] | None = None
    ) -> None:
        self._db, self._lens, self._few = db, lens, few
        present = lens.as_of is None and lens.statuses == _LIVE
        self._tables = ("live",) if present else ("live", "rest")
        self._sight = visibility.sight(lens)
        self._texts: int | None = getattr(db, "last_text", None)  # an empty namespace was not read
        self._own: Mapping[int, int] | None = None  # the same, of a reader who sees little
        self._looked = False
        self._begun: dict[str, list[str]] = {}  # stored words by their first letters

    def texts(self) -> int:
        """How many texts there are: the highest number of one."""
        if self._texts is None:
            self._texts = vectors.last_text(self._db)
        return self._texts

    def postings(
        self, expressions: Sequence[Expression], *, exact: int, listed: int
    ) -> list[Postings]:
        """How many texts hold each expression, and which, where they are few."""
        asked, listed = [compiled(expression) for expression in expressions], min(listed, exact)
        found = [self._postings(table, asked, exact, listed) for table in self._tables]
        return (
            found[0]
            if len(found) == 1
            else [_sum(both, listed) for both in zip(*found, strict=True)]
        )

    def seen(self, expressions: Sequence[Expression]) -> list[bool]:
        """Whether a visible text holds each expression; most often the first text does."""
        if self._few is not None:
            return self._few_seen(expressions)
        source, condition, values = self._sight
        either = " OR ".join(
            f"EXISTS (SELECT 1 FROM (SELECT rowid AS matching FROM {table} "  # noqa: S608
            f"WHERE {table} MATCH asked.value LIMIT {_MAX_CHECKED_TEXTS}) CROSS JOIN {source} "
            f"WHERE v.text = matching AND {condition})"
            for table in self._tables
        )
        found = self._db.execute(
            f"SELECT {either} FROM json_each(?) asked",  # noqa: S608  # own names only
            [*values * len(self._tables), rows.dumped([*map(compiled, expressions)])],
        )
        return [bool(seen) for (seen,) in found]

    def _few_seen(self, expressions: Sequence[Expression]) -> list[bool]:
        """The same, asked of the few texts that there are for the reader."""
        among, few = self._among()
        either = " OR ".join(
            f"EXISTS (SELECT 1 FROM {table} WHERE {table} MATCH asked.value{among})"  # noqa: S608
            for table in self._tables
        )
        found = self._db.execute(
            f"SELECT {either} FROM json_each(?) asked",  # noqa: S608  # own names only
            [*few * len(self._tables), rows.dumped([*map(compiled, expressions)])],
        )
        return [bool(seen) for (seen,) in found]

    def best(
        self,
        expression: Expression,
        also: Sequence[tuple[Expression, float]] = (),
        *,
        deepest: int,
        limit: int,
    ) -> list[tuple[int, float]]:
        """The best texts in one statement a table: BM25 and the weights of what holds too."""
        wanted = compiled(expression)
        values: list[object] = []
        for other, weight in also:
            values += weight, f"{wanted} AND {compiled(other)}"
        found: list[tuple[int, float]] = []
        among, few = self._among()
        own, ours = _one_of("number", self._own if self._few is None else None)
        for table in self._tables:
            added = f" + ? * (number IN (SELECT rowid FROM {table} WHERE {table} MATCH ?))"  # noqa: S608
            found += self._db.execute(
                f"SELECT number, score{added * len(also)} AS total FROM "  # noqa: S608  # own names
                f"(SELECT rowid AS number, -bm25({table}) AS score FROM {table} "
                f"WHERE {table} MATCH ?{among} ORDER BY rowid DESC LIMIT ?) WHERE 1{own} "
                "ORDER BY total DESC, number DESC LIMIT ?",
                (*values, wanted, *few, deepest, *ours, limit),
            )
        if len(self._tables) > 1:
            found.sort(key=lambda scored: (-scored[1], -scored[0]))
        return found[:limit]

    def holding(self, expression: Expression) -> Iterator[int]:
        """The texts that hold an expression, newest first, those out of use last.

        A reader of little is given only its own: a common word is in very many texts of others.
        """
        if self._few is None:
            self._few = self._texts_of_reader()
        among, few = self._among()
        for table in self._tables:
            for (text,) in self._db.execute(
                f"SELECT rowid FROM {table} WHERE {table} MATCH ?{among} ORDER BY rowid DESC",  # noqa: S608
                (compiled(expression), *few),
            ):
                yield text

    def versions(self, texts: Sequence[int]) -> list[tuple[int, int]]:
        """The check every candidate passes: texts to (text, the version that the lens sees)."""
        seen = self._own if self._few is None else self._few
        if seen is not None:
            return [(text, seen[text]) for text in texts if text in seen]
        source, condition, values = self._sight
        found = self._db.execute(
            f"SELECT v.text, v.number FROM {source} "  # noqa: S608  # own names only
            f"WHERE v.text IN (SELECT value FROM json_each(?)) AND {condition}",
            [rows.dumped(texts), *values],
        ).fetchall()
        if len(found) * _SMALL_SHARE < len(texts) >= _MANY_HIDDEN:
            self._texts_of_reader()  # nobody else's are checked from now on
        return found

    def _among(self) -> tuple[str, list[object]]:
        """The condition that a text is one of the few, and what it binds.

        With the sign FTS5 does not see it: it would look up each text in every list of a word.
        """
        return _one_of("+rowid", self._few)

    def _texts_of_reader(self) -> Mapping[int, int] | None:
        """The texts that the lens sees, if its reader sees few of many; looked up once."""
        if self._looked or visibility.sees_all(self._lens):
            return self._own
        self._looked = True
        counts = visibility.seen_by(self._db, self._lens)
        present = self._lens.as_of is None and self._lens.statuses == _LIVE
        if counts is None or not present or sum(counts.values()) * _SMALL_SHARE > self.texts() > 0:
            return None
        found = visibility.texts(self._db, self._lens, tuple(counts), _FEW_TEXTS)
        self._own = None if found is None else dict(found)
        return self._own

    def beginning(self, letters: str) -> list[str]:
        """The first stored words that begin so."""
        first = letters[:READ_LETTERS]
        if first not in self._begun:
            self._begun[first] = beginning(self._db, self._tables, first)
        if len(self._begun[first]) >= LOOKED_AT:  # there may be more of them
            return beginning(self._db, self._tables, letters)
        return [word for word in self._begun[first] if word.startswith(letters)]

    def stored(self, words: Sequence[str]) -> list[str]:
        """Those of the words that some text holds."""
        return stored(self._db, self._tables, words)

    def none_held(self) -> None:
        """Warns if a table does not even find what it surely holds."""
        tell_if_blind(self._db, self._tables)

    def _postings(
        self, table: str, asked: Sequence[str], exact: int, listed: int
    ) -> list[Postings]:
        """Lists of the rare expressions in one statement, counts of the common ones in another."""
        found = self._db.execute(
            "SELECT (SELECT group_concat(rowid) FROM (SELECT rowid "  # noqa: S608  # own names only
            f"FROM {table} WHERE {table} MATCH value LIMIT ?)) FROM json_each(?)",
            (listed + 1, rows.dumped(asked)),
        )
        lists = [tuple(map(int, texts.split(","))) if texts else () for (texts,) in found]
        many = [place for place, texts in enumerate(lists) if len(texts) > listed]
        counts = self._counts(table, [asked[place] for place in many], exact) if many else []
        made = [Postings(len(texts), texts) for texts in lists]
        for place, count in zip(many, counts, strict=True):
            made[place] = Postings(count)
        return made

    def _counts(self, table: str, asked: Sequence[str], exact: int) -> list[int]:
        """Counts matches: exact up to a count, estimated above it by how dense they are."""
        found = self._db.execute(
            "WITH asked AS MATERIALIZED (SELECT value, (SELECT count(*) FROM (SELECT 1 "  # noqa: S608
            f"FROM {table} WHERE {table} MATCH value LIMIT ?1)) AS held FROM json_each(?2)) "
            f"SELECT held, CASE WHEN held = ?1 THEN (SELECT rowid FROM {table} "
            f"WHERE {table} MATCH value LIMIT 1 OFFSET ?1 - 1) END FROM asked",
            (exact + 1, rows.dumped(asked)),
        )
        return [
            held if beyond is None else max(held, exact * self.texts() // beyond)
            for held, beyond in found
        ]


def _one_of(column: str, texts: Mapping[int, int] | None) -> tuple[str, list[object]]:
    """The condition that a column is one of some texts, and what it binds; nothing for None."""
    if texts is None:
        return "", []
    listed = rows.dumped(sorted(texts))
    return f" AND {column} IN (SELECT value FROM json_each(?))", [listed]  # noqa: S608  # own names


def compiled(expression: Expression) -> str:
    """An expression in the syntax of FTS5."""
    if isinstance(expression, Name):
        words = " ".join(map(_quoted, expression.words))
        return words if len(expression.words) == 1 else f"NEAR({words}, {_CLOSE})"
    joint = " OR " if isinstance(expression, AnyOf) else " AND "
    return f"({joint.join(map(compiled, expression.of))})"


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _sum(parts: Sequence[Postings], listed: int) -> Postings:
    """The postings of all tables: a text is in one of them."""
    texts: tuple[int, ...] = ()
    for part in parts:
        texts += part.texts or ()
    count = sum(part.count for part in parts)
    whole = all(part.texts is not None for part in parts) and len(texts) <= listed
    return Postings(count, texts if whole else None)


# Whether a keyword table that finds nothing still finds what it holds: one cheap question.
#
# FTS5 reads a zeroed page as one without any word, and says nothing. `verify` asks for every
# word; a
# search that found none of its own asks for one that must be there.


def tell_if_blind(db: sqlite3.Connection, tables: Sequence[str]) -> None:
    """Warns once if a table does not find the newest text that it holds by a word of it."""
    for table in tables:
        row = db.execute(
            f"SELECT number, terms FROM text WHERE number = (SELECT max(id) FROM {table}_docsize)"  # noqa: S608  # own names
        ).fetchone()
        words = [] if row is None else str(row[1]).split()
        if not words:
            continue
        quoted = '"' + words[0].replace('"', '""') + '"'
        if not db.execute(
            f"SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?",  # noqa: S608  # own names
            (quoted, row[0]),
        ).fetchone():
            path = db.execute("PRAGMA database_list").fetchone()[2]
            telemetry.warn_once(
                f"keyword table of {path}",
                f"a keyword table of {path} is damaged: a search by words may miss memories. "
                "Nothing of them is lost; make the table anew: memory-mesh repair",
            )
            return


# The stored words near a word that is not stored: a bounded look, whatever the size of the store.
#
# A look reads at most `LOOKED_AT` words from where they would stand in the alphabet. FTS5 walks a
# word's list to count it, a fiftieth of a microsecond for each text that holds it. Which of them
# count, and whether the reader sees a text with them, is decided in search/keyword_plan.py.


def beginning(db: sqlite3.Connection, tables: Sequence[str], letters: str) -> list[str]:
    """The first words of the keyword tables that begin so."""
    found: list[str] = []
    for table in tables:
        found += _begun(db, _listed(db, table), letters, LOOKED_AT)
    return list(dict.fromkeys(found))


def stored(db: sqlite3.Connection, tables: Sequence[str], words: Sequence[str]) -> list[str]:
    """Those of the words that some text holds, in their order.

    A look for one word costs as much as reading some twenty that stand in a row. Most spellings
    begin with the same two letters, so the stored words that begin so are read; where these are
    few, all with the same first letter are. What is beyond the words read is looked for.
    """
    found: set[str] = set()
    for table in tables if words else ():
        listed = _listed(db, table)
        missing = sorted(words)
        for count in (2, 1):
            letters = Counter(word[:count] for word in missing).most_common(1)[0][0]
            read = _begun(db, listed, letters, _READ)
            found.update(read)
            missing = [word for word in missing if not _is_read(word, letters, read)]
            if len(read) > _FEW or not missing:
                break
        found.update(_looked_for(db, listed, missing))
    return [word for word in words if word in found]


def _is_read(word: str, letters: str, read: Sequence[str]) -> bool:
    """Whether a word would be among those that were read, if a text held it."""
    return word.startswith(letters) and (len(read) < _READ or word <= read[-1])


def _listed(db: sqlite3.Connection, table: str) -> str:
    """The list of the words of a keyword table, made once for each connection."""
    made: frozenset[str] = getattr(db, "word_lists", frozenset())
    if table not in made:
        db.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_word "
            f"USING fts5vocab (main, {table}, row)"
        )
        if isinstance(db, SqliteConnection):
            db.word_lists = made | {table}
    return f"temp.{table}_word"


def _begun(db: sqlite3.Connection, listed: str, letters: str, limit: int) -> list[str]:
    found = db.execute(
        f"SELECT term FROM {listed} WHERE term >= ? AND term < ? LIMIT ?",  # noqa: S608
        (letters, letters + _LAST, limit),
    )
    return [word for (word,) in found]


def _looked_for(db: sqlite3.Connection, listed: str, words: Sequence[str]) -> list[str]:
    if not words:
        return []
    found = db.execute(
        f"SELECT term FROM {listed} WHERE term IN (SELECT value FROM json_each(?))",  # noqa: S608
        (json.dumps(words),),
    )
    return [word for (word,) in found]
