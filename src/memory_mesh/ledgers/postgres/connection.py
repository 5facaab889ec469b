"""A connection that takes the shared statements, and raises faults in our words."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Any, cast

import psycopg

from memory_mesh.base.typed import dataclass
from memory_mesh.ledgers.postgres.pool import BoundedConnection
from memory_mesh.ledgers.shared.engine import Engine, FileKnowledge

Values = Sequence[object] | Mapping[str, object]
_MARK = r"(?:\?\d*|:[a-z_]\w*)"
_QUOTED = r"'(?:[^']|'')*'"
_LISTED = re.compile(rf"([\w.]+) (NOT )?IN \(SELECT value FROM json_each\(({_MARK})\)\)")  # noqa: S608
_IS_VALUE = re.compile(rf"([\w.]+) IS ({_MARK})")
_IS_COLUMN = re.compile(
    r"\bIS (NOT )?(?!NOT\b|NULL\b|TRUE\b|FALSE\b|DISTINCT\b)"
    r"([a-z][\w.]*|CASE\b|\((?=SELECT)|CAST\b)"
)
_NUMBER = re.compile(rf"json_extract\(({_MARK}), '\$'\)")  # a number that is given as text
_KEY = re.compile(r"substr\((\w*\.?)(hash|echo), 1, 3\)")  # a column of its own
_COMPARED = re.compile(r"([\w.]+) ([<=>]) ((?:(?!\b(?:AND|ORDER)\b)[^()])+?) COLLATE NOCASE")
_UNCASED = re.compile(r"(?<![\w.])([\w.]++) COLLATE NOCASE")
_ON_CONFLICT = re.compile(r"ON CONFLICT \(")
_INSERT = re.compile(r"\s*INSERT (OR IGNORE )?INTO (\w+)")
_PART = re.compile(rf"({_QUOTED})|({_MARK})|(%)")
_NUMBERED = frozenset({"audience", "conflict", "injection", "proposal", "skill", "space"})
_KEPT = 2_000  # statements that are turned once
_READS = ("SELECT", "WITH")
_CHANGES = re.compile(r"\s*(?:(?:INSERT INTO|UPDATE) \"?(\w+)|(?:DELETE|TRUNCATE))")
_Key = tuple[str, str]  # a statement and its values
Ask = Callable[[BoundedConnection], None]
Begin = Callable[[Ask], BoundedConnection]  # a transaction, and what is asked in it first


class NotYet(BaseException):  # no fault: only `expect` catches it
    """An answer that was not asked for yet."""


class PostgresResult:
    """The rows that a statement found, or how many it changed."""

    def __init__(
        self, found: psycopg.Cursor[Any] | Sequence[Any] | None, *, tells_number: bool = False
    ) -> None:
        """`found`: rows that were asked for ahead, or None while nobody did."""
        self._cursor = found if isinstance(found, psycopg.Cursor) else None
        self._ahead = None if found is None or self._cursor is found else iter(found)
        self._tells = tells_number

    def __iter__(self) -> Iterator[Any]:
        """Each row."""
        rows = self._cursor or self._ahead
        if rows is None:
            raise NotYet
        return iter(rows)

    def fetchone(self) -> Any:  # noqa: ANN401  # a row of any columns
        """The next row, or None."""
        return self._cursor.fetchone() if self._cursor else next(iter(self), None)

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        return self._cursor.fetchall() if self._cursor else list(self)

    def fetchmany(self, size: int = 1) -> list[Any]:
        """So many of the rows that are left."""
        return list(islice(self, size))

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""
        return -1 if self._cursor is None else arrived(self._cursor).rowcount

    @property
    def lastrowid(self) -> int | None:
        """The number of the row it wrote."""
        row = self.fetchone() if self._tells else None
        return None if row is None else int(row[0])


def arrived(cursor: psycopg.Cursor[Any]) -> psycopg.Cursor[Any]:
    """The cursor, once all that was sent is answered."""
    if cursor.pgresult is None:
        cast("BoundedConnection", cursor.connection).settle()
    return cursor


class PostgresConnection:
    """What `sql` asks of a database, of one PostgreSQL transaction inside one namespace.

    Statements are sent without waiting, until rows or a count are asked for. A transaction that
    only reads begins with its first statement, in the same round trip; `expect` takes as many
    statements into one as need no other's answer.

    ::

        expect(a, b) ──▶ run a, run b: each stops at the first answer that is not there
          ▲                │ what they asked for, in one round trip
          └────────────────┘ until both came to their end; then a and b find every answer here
    """

    def __init__(
        self, raw: BoundedConnection | None, engine: Engine, begin: "Begin | None" = None
    ) -> None:
        self.engine, self._raw, self._begin = engine, raw, begin
        self._lenient = self._expecting = False
        self._wanted: dict[_Key, tuple[str, Values]] = {}
        self._answers: dict[_Key, list[Any]] = {}
        self.known = FileKnowledge(0, 0) if begin is not None else None  # of this one moment

    @property
    def raw(self) -> BoundedConnection:
        """The connection; the transaction begins here at the latest."""
        if self._raw is None:
            self._ask()
        return self._raw  # type: ignore[return-value]  # _ask sets it

    def execute(self, statement: str, values: Values = ()) -> PostgresResult:
        """Runs one of the shared statements."""
        found, bound = turned(statement, values)
        return PostgresResult(self._run(found.sql, bound), tells_number=found.tells_number)

    def executemany(self, statement: str, rows: Iterable[Values]) -> None:
        """Runs a statement for each of the rows."""
        groups: dict[str, list[dict[str, object]]] = {}
        for values in rows:
            found, bound = turned(statement, values)
            groups.setdefault(found.sql, []).append(bound)
        for sql, bounds in groups.items():
            if len(bounds) == 1:
                self._run(sql, bounds[0])
            else:
                self._writes(sql)
                self.raw.cursor().executemany(sql, bounds)

    def own(self, statement: str, values: Values = ()) -> PostgresResult:
        """Runs a statement that is written for PostgreSQL."""
        return PostgresResult(self._run(statement, values))

    def own_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Runs a statement that is written for PostgreSQL for each of the rows."""
        self._writes(statement)
        with self.raw.cursor() as cursor:
            cursor.executemany(statement, rows)

    def expect(self, *calls: Callable[[], object]) -> None:
        """Asks ahead for what the calls will ask for; what they read holds until it is changed."""
        outermost, self._expecting = not self._expecting, True
        try:
            while (calls := _each(calls)) and outermost and self._wanted:
                self._ask()
        finally:
            self._expecting = not outermost

    @contextmanager
    def lenient(self) -> Iterator[None]:
        """Inside, a statement that meets a value which it cannot read ends alone, as ValueError."""
        self._lenient = True
        try:
            yield
        finally:
            self._lenient = False

    def _run(self, statement: str, values: Values) -> psycopg.Cursor[Any] | Sequence[Any] | None:
        if self._lenient:
            return self._alone(statement, values)
        key = (
            (statement, repr(values))
            if self._raw is None or self._expecting or self._answers
            else None
        )
        if key is not None and key in self._answers:
            return self._answers[key]
        if self._expecting and not statement.lstrip().startswith(_READS):
            raise NotYet  # nothing is written ahead
        if key is not None and (self._expecting or self._raw is None):
            self._wanted[key] = statement, values
            if not self._expecting:
                self._ask()
            return self._answers.get(key)
        self._writes(statement)
        return self.raw.execute(statement, values, prepare=True, binary=True)

    def _ask(self) -> None:
        """Sends what is wanted, and waits for all of the answers."""
        wanted = dict(self._wanted)
        self._wanted.clear()

        def ask(raw: BoundedConnection) -> None:
            raw.sending()
            sent = {
                key: raw.execute(*each, prepare=True, binary=True) for key, each in wanted.items()
            }
            self._answers.update((key, cursor.fetchall()) for key, cursor in sent.items())

        if self._begin is not None and self._raw is None:
            self._raw = self._begin(ask)
        else:
            ask(self.raw)

    def _writes(self, statement: str) -> None:
        """Forgets the answers that a statement may change: those that name its table."""
        changed = _CHANGES.match(statement) if self._answers else None
        if changed is not None:
            self._answers = {
                key: rows
                for key, rows in self._answers.items()
                if changed[1] and changed[1] not in _words(key[0])
            }

    def _alone(self, statement: str, values: Values) -> psycopg.Cursor[Any]:
        raw = self.raw
        raw.waiting()  # else psycopg cannot know that this is inside a transaction
        try:
            with raw.transaction():
                return raw.execute(statement, values, binary=True)
        except (psycopg.DataError, psycopg.InternalError) as error:
            if raw.closed:
                raise
            raise ValueError(str(error)) from error


def _each(calls: Sequence[Callable[[], object]]) -> tuple[Callable[[], object], ...]:
    """Runs the calls; those that wait for an answer."""
    return tuple(call for call in calls if _waits(call))


def _waits(call: Callable[[], object]) -> bool:
    try:
        call()
    except NotYet:
        return True
    return False


@lru_cache(maxsize=_KEPT)
def _words(statement: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", statement))


# The statements that both ledgers share, as PostgreSQL takes them.
#
# They are written as SQLite takes them. What differs is little and is turned here, once for each
# statement: how values are marked, `IS` with a value, lists given as JSON, what to do on a
# conflict. Functions that only SQLite has are defined in the database, see
# migrations/0001_start.sql.


@dataclass(frozen=True, slots=True)
class Turned:
    """A statement for psycopg, and the names of those values that are lists in JSON."""

    sql: str
    lists: frozenset[str]
    tells_number: bool  # of the row that it writes


def turned(statement: str, values: Values) -> tuple[Turned, dict[str, object]]:
    """The statement as PostgreSQL takes it, and its values by name."""
    named = _named(values)
    nothing = frozenset(name for name, value in named.items() if value is None)
    found = _turned(statement, nothing & _asked_with_is(statement))
    bound = {
        name: json.loads(str(value)) if name in found.lists else _plain(value)
        for name, value in named.items()
    }
    return found, bound


def _named(values: Values) -> dict[str, object]:
    if isinstance(values, Mapping):
        return dict(values)
    return {f"v{place}": value for place, value in enumerate(values, start=1)}


def _plain(value: object) -> object:
    """A value of an enumeration is its text; a truth is a number, as SQLite keeps it."""
    if isinstance(value, Enum):
        return value.value
    return int(value) if isinstance(value, bool) else value


@lru_cache(maxsize=_KEPT)
def _asked_with_is(statement: str) -> frozenset[str]:
    """The names of the values that stand after IS: of these it matters whether they are none."""
    names = _Names()
    places = {match.start(2) for match in _IS_VALUE.finditer(statement)}
    found = set[str]()
    for match in _PART.finditer(statement):
        if match[2]:
            name = names.of(match[2])
            if match.start() in places:
                found.add(name)
    return frozenset(found)


@lru_cache(maxsize=_KEPT)
def _turned(statement: str, nothing: frozenset[str]) -> Turned:
    named = _with_names(statement)
    lists = frozenset(match[3][1:] for match in _LISTED.finditer(named))
    sql = _LISTED.sub(
        lambda match: f"{match[1]} {'<> ALL' if match[2] else '= ANY'} ({match[3]})", named
    )
    sql = _IS_VALUE.sub(
        lambda match: (
            f"{match[1]} IS NULL" if match[2][1:] in nothing else f"{match[1]} = {match[2]}"
        ),
        sql,
    )
    sql = _outside_quotes(sql, _IS_COLUMN, _distinct)
    insert = _INSERT.match(sql)
    if insert is not None and insert[1]:
        sql = sql.replace("INSERT OR IGNORE", "INSERT", 1) + " ON CONFLICT DO NOTHING"
    sql = _ON_CONFLICT.sub("ON CONFLICT (ns, ", sql)
    sql = _COMPARED.sub(lambda match: f"{_lower(match[1])} {match[2]} {_lower(match[3])}", sql)
    sql = _UNCASED.sub(lambda match: _lower(match[1]), sql)
    sql = _KEY.sub(r"\1\2_key", sql)
    sql = _NUMBER.sub(r"CAST(\1 AS numeric)", sql)
    sql = sql.replace(" LIKE ", " ILIKE ").replace(" LIMIT -1", "")
    tells_number = insert is not None and insert[2] in _NUMBERED
    if tells_number:
        sql += " RETURNING number"
    return Turned(_as_psycopg(sql), lists, tells_number)


def _lower(value: str) -> str:
    """A text without regard to the case of ASCII letters; that of a speaker has a column."""
    return "speaker_key" if value == "speaker" else f'lower(({value}) COLLATE "C")'


def _distinct(match: re.Match[str]) -> str:
    return f"IS {'' if match[1] else 'NOT '}DISTINCT FROM {match[2]}"


def _with_names(statement: str) -> str:
    """Every mark as a name: `?` is the next value, `?2` the second."""
    names = _Names()
    return _PART.sub(lambda match: f":{names.of(match[2])}" if match[2] else match[0], statement)


def _outside_quotes(sql: str, pattern: re.Pattern[str], put: Callable[[re.Match[str]], str]) -> str:
    pieces = re.split(f"({_QUOTED})", sql)
    return "".join(piece if piece.startswith("'") else pattern.sub(put, piece) for piece in pieces)


def _as_psycopg(sql: str) -> str:
    def put(match: re.Match[str]) -> str:
        if match[1]:
            return match[1].replace("%", "%%")
        return f"%({match[2][1:]})s" if match[2] else "%%"

    return _PART.sub(put, sql.replace("::", "\0")).replace("\0", "::")


class _Names:
    """Gives the marks of a statement their names, in order."""

    def __init__(self) -> None:
        self._next = 0

    def of(self, mark: str) -> str:
        """The name of the value that a mark stands for."""
        if mark.startswith(":"):
            return mark[1:]
        self._next = int(mark[1:]) if len(mark) > 1 else self._next + 1
        return f"v{self._next}"
