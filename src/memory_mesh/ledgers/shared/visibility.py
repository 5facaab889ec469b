"""Audiences: each has a number, and the count of memories that a default read could return to it.

An audience is a project, an agent and a session, any of which may be none. A version has the number
of its audience, so that a search knows how much its reader sees before it looks at any of it. The
numbers and counts repeat what versions say: `sqlite.schema` makes them anew.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product

from memory_mesh.base.typed import TypeAlias, replace
from memory_mesh.ledgers.shared import rows, sums
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.ledgers.shared.metadata_marks import ENDING
from memory_mesh.model import Commit, FilterError, Lens, Memory, Scope, Status
from memory_mesh.model.query import (
    Among,
    And,
    Between,
    Compare,
    Field,
    FieldType,
    Filter,
    IsNull,
    Like,
    MetadataKey,
    Not,
    Or,
    Sign,
    Test,
    Value,
)
from memory_mesh.model.times import EXPIRES, iso
from memory_mesh.rules.filter_fields import type_of
from memory_mesh.rules.trust import AUDIENCE, read_by

# Of a version `v`: it is of no session, exempt, or its session was written to after `?`.
_WRITTEN = (
    "EXISTS (SELECT 1 FROM session_write w WHERE w.session = v.session "
    "AND w.project IS v.project AND w.agent IS v.agent AND w.at > ?"
)
_EXEMPT = "v.pinned = 1 OR v.kind = 'lesson'"
_KEPT = f"(v.session IS NULL OR {_EXEMPT} OR {_WRITTEN}))"
_KEPT_THEN = f"(v.session IS NULL OR {_EXEMPT} OR {_WRITTEN} AND w.at <= ?))"
# Of a version `v`: its memory says that it expires before `?`. Few stores ask for more than a look.
_ENDS = (
    f"FROM metadata_mark k JOIN version e ON e.memory = k.memory AND e.recorded_until IS NULL "
    f"WHERE k.mark = {ENDING} AND json_extract(e.extra, '$.{EXPIRES}')"
)
_LAPSED = (
    f"(EXISTS (SELECT 1 FROM metadata_mark WHERE mark = {ENDING}) "  # noqa: S608
    f"AND EXISTS (SELECT 1 {_ENDS} <= ? AND k.memory = v.memory))"
)
NEXT_END = f"(SELECT min(json_extract(e.extra, '$.{EXPIRES}')) {_ENDS} > ?)"
ENDED = f"SELECT m.id {_ENDS} <= ? LIMIT ?".replace(
    "WHERE", "JOIN memory m ON m.number = k.memory WHERE", 1
)
_OF_AUDIENCE = "SELECT max(at) FROM session_write WHERE session = ? AND project IS ? AND agent IS ?"
_ON_RECORD = (
    "INSERT INTO session_write SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM session_write "
    "WHERE session = ?1 AND project IS ?2 AND agent IS ?3 AND at = ?4)"
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
METADATA = "metadata"  # the column of the metadata keys
_REAL = "json_extract(?, '$')"
Bound: TypeAlias = str | int | float
Compiled: TypeAlias = tuple[str, list[Bound]]

_RECORDED = "v.recorded_from <= ? AND (v.recorded_until IS NULL OR v.recorded_until > ?)"
_VALID = (
    "(v.valid_from IS NULL OR v.valid_from <= ?) AND (v.valid_until IS NULL OR v.valid_until > ?)"
)
_last: tuple[Lens, tuple[str, str, list[object]]] | None = None

_MOST_READERS = 8  # whose audiences a connection remembers
MOST_AUDIENCES = 20_000  # of one reader that are counted; a reader of more is not counted
Visible = Callable[[Sequence[int]], list[tuple[int, int]]]  # texts -> (text, version)
PARTS = ("project", "agent", "session")
LIVE = frozenset({Status.ACTIVE})
_FIND = "SELECT number FROM audience WHERE project IS ? AND agent IS ? AND session IS ?"


class Audiences:
    """The audiences that one commit writes to: each is looked up once and counted once."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._numbers: dict[tuple[str | None, ...], int] = {}
        self._counts: dict[int, int] = {}

    def number(self, scope: Scope) -> int:
        """The number of an audience; one that is new gets its number here."""
        known = self._numbers.get(scope.parts)
        if known is None:
            found = self._db.execute(_FIND, scope.parts).fetchone()
            known = self._numbers[scope.parts] = self._add(scope) if found is None else found[0]
        return known

    def count(self, audience: int, memories: int) -> None:
        """Counts memories that a default read could now return, or no longer (below zero)."""
        self._counts[audience] = self._counts.get(audience, 0) + memories

    def write(self) -> None:
        """Writes what was counted."""
        self._db.executemany(
            "UPDATE audience SET memories = memories + ? WHERE number = ?",
            [(change, number) for number, change in self._counts.items() if change],
        )

    def _add(self, scope: Scope) -> int:
        added = self._db.execute(
            "INSERT INTO audience (project, agent, session, crc) VALUES (?, ?, ?, ?)",
            (*scope.parts, sums.of(*scope.parts)),
        )
        return added.lastrowid or 0


def seen_by(db: Database, lens: Lens) -> dict[int, int] | None:
    """The audiences that a lens sees, each with its count; None if they are too many to list.

    A connection remembers them until it, or another one, writes.
    """
    known = engine_of(db).known(db)
    if known is None:
        return _seen_by(db, lens)
    audiences, reader = known.audiences, (lens.scope.parts, lens.scope.names, lens.across)
    if reader not in audiences:
        if len(audiences) >= _MOST_READERS:
            audiences.clear()
        audiences[reader] = _seen_by(db, lens)
    return audiences[reader]


def _seen_by(db: Database, lens: Lens) -> dict[int, int] | None:
    asked = [part for part in PARTS if part not in lens.across]
    readers = list(product(*(read_by(lens.scope, part) for part in asked)))
    marks = ", ".join(f"({', '.join('?' * len(asked))})" for _ in readers)
    same = " AND ".join(f"a.{part} IS reader.column{place + 1}" for place, part in enumerate(asked))
    source = f"(VALUES {marks}) AS reader CROSS JOIN audience a WHERE {same}"
    found = db.execute(
        f"SELECT a.number, a.memories FROM {source if asked else 'audience a'} LIMIT ?",  # noqa: S608
        [*(value for values in readers for value in values), MOST_AUDIENCES + 1],
    ).fetchall()
    return None if len(found) > MOST_AUDIENCES else dict(found)


def sees_all(lens: Lens) -> bool:
    """Whether a lens leaves out every test of the audience."""
    return lens.across >= AUDIENCE


def within(lens: Lens, audiences: Sequence[int] | None) -> tuple[str, str, list[object]]:
    """The tables and the condition of what a lens sees, found by the numbers of its audiences."""
    source, condition, values = sight(lens)
    if audiences is None:
        return source, condition, values
    listed = "v.audience IN (SELECT value FROM json_each(?))"
    return source, f"{listed} AND {condition}", [rows.dumped(list(audiences)), *values]


def checked(db: Database, lens: Lens) -> Visible:
    """The check every candidate passes: texts to (text, the version that the lens sees)."""
    source, condition, values = sight(lens)
    statement = (
        f"SELECT v.text, v.number FROM {source} "  # noqa: S608  # own names only
        f"WHERE v.text IN (SELECT value FROM json_each(?)) AND {condition}"
    )
    return lambda texts: db.execute(statement, [rows.dumped(list(texts)), *values]).fetchall()


def texts(
    db: Database, lens: Lens, audiences: Sequence[int] | None, most: int
) -> list[tuple[int, int]] | None:
    """What a lens sees as (text, version); None if there are more than `most`."""
    source, condition, values = within(lens, audiences)
    found = db.execute(
        f"SELECT v.text, v.number FROM {source} WHERE {condition} LIMIT ?",  # noqa: S608
        [*values, most + 1],
    ).fetchall()
    return None if len(found) > most else found


def count_versions(db: Database, lens: Lens, audiences: Sequence[int], most: int) -> int:
    """How many versions of some audiences a lens may see, at most `most`, without reading any.

    As of an earlier time, all that there ever were.
    """
    condition, values = "", list[object]()
    if lens.as_of is None:
        marks = ", ".join("?" * len(lens.statuses))
        condition = f"AND recorded_until IS NULL AND status IN ({marks})"
        values = [*sorted(lens.statuses)]
    (count,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM version WHERE audience IN "  # noqa: S608  # own names
        f"(SELECT value FROM json_each(?)) {condition} LIMIT ?)",
        [rows.dumped(list(audiences)), *values, most],
    ).fetchone()
    return int(count)


# A lens as SQL: which versions it sees.


def sight(lens: Lens) -> tuple[str, str, list[object]]:
    """The tables and the condition that a lens asks of a version; only a filter asks for more."""
    global _last  # noqa: PLW0603  # one read asks for the same lens at each of its steps
    last = _last
    if last is None or last[0] is not lens:
        tables = "version v" if lens.where is None else _tables(lens.where)
        _last = last = lens, (tables, *predicate(lens))
    tables, condition, values = last[1]
    return tables, condition, list(values)


def _tables(where: "Filter") -> str:
    """The version, and the tables of the fields that a filter tests."""
    asked = {rows.FILTERABLE.get(str(field), "")[:2] for field in fields_of(where)}
    tables = "version v"
    if "m." in asked:
        tables += " JOIN memory m ON m.number = v.memory"
    if "t." in asked:
        tables += " JOIN text t ON t.number = v.text"
    return tables


def predicate(lens: Lens) -> tuple[str, list[object]]:
    """The lens as SQL over JOINED, every value bound."""
    parts: list[tuple[str, list[object]]] = [
        ("v.recorded_until IS NULL", [])
        if lens.as_of is None
        else (_RECORDED, [rows.micros(lens.as_of)] * 2),
        (f"v.status IN ({', '.join('?' * len(lens.statuses))})", [*sorted(lens.statuses)]),
        audience(lens),
    ]
    if not lens.any_validity:
        parts.append((_VALID, [rows.micros(lens.valid_at or lens.as_of or lens.now)] * 2))
    if (kept := unexpired(lens)) is not None:
        parts.append(kept)
    if Status.EXPIRED not in lens.statuses:
        parts.append((f"NOT {_LAPSED}", [iso(lens.now)]))
    if lens.where is not None:
        fragment, bound = compile_sql(lens.where, rows.FILTERABLE)
        parts.append((f"({fragment})", [*bound]))
    return " AND ".join(part for part, _ in parts), [value for _, held in parts for value in held]


def audience(lens: Lens, version: str = "v") -> tuple[str, list[object]]:
    """The condition that a version is for the lens's reader, every value bound."""
    parts = [part for part in ("project", "agent", "session") if part not in lens.across]
    tests = [f"({version}.{part} IS NULL OR {version}.{part} = ?)" for part in parts]
    values: list[object] = [getattr(lens.scope, part) for part in parts]
    if lens.scope.names and "project" in parts:
        tests[0], values[:1] = named(f"{version}.project", lens.scope)
    return " AND ".join(tests) or "1 = 1", values


def named(column: str, reader: Scope) -> tuple[str, list[object]]:
    """The condition that a project is none or one of the names of the reader's."""
    names = [reader.project, *reader.names]
    return f"({column} IS NULL OR {column} IN ({', '.join('?' * len(names))}))", [*names]


# A parsed filter as SQL: our own column expressions, `?` for every name and value of the caller's.
#
# Times are bound as microseconds since 1970 and booleans as 0 or 1, as the ledger stores them; a
# column of tags holds a JSON array, and a test of it means membership. A metadata key is looked up
# in the JSON object of the version; its tests are true or false, never NULL.


def compile_sql(node: Filter, columns: Mapping[str, str]) -> Compiled:
    """The filter as an SQL condition of our own columns and `?`, and the values to bind to them."""
    match node:
        case And(parts) | Or(parts):
            compiled = [compile_sql(part, columns) for part in parts]
            word = " AND " if isinstance(node, And) else " OR "
            bound = [value for _, values in compiled for value in values]
            return "(" + word.join(sql for sql, _ in compiled) + ")", bound
        case Not(part):
            sql, bound = compile_sql(part, columns)
            return f"NOT {sql}", bound
        case _:
            return _compiled(node, columns)


def fields_of(node: Filter) -> Iterator[Field]:
    """Every field that a filter tests."""
    match node:
        case And(parts) | Or(parts):
            for part in parts:
                yield from fields_of(part)
        case Not(part):
            yield from fields_of(part)
        case _:
            yield node.field


def _compiled(node: Test, columns: Mapping[str, str]) -> Compiled:
    name = METADATA if isinstance(node.field, MetadataKey) else node.field
    if name not in columns:
        raise FilterError(f"{name} cannot be filtered here.")
    if isinstance(node.field, MetadataKey):
        return _metadata_sql(node, node.field.name, columns[name])
    if type_of(node.field) is FieldType.TAGS:
        return _tags_sql(node, columns[name])
    return _test_sql(node, columns[name])


def _test_sql(node: Test, column: str) -> Compiled:
    """One test of a column that holds a single value."""
    match node:
        case Compare(_, sign, value):
            return f"({column} {sign.value} ?)", [_bound(value)]
        case Among(_, values):
            marks = ", ".join("?" * len(values))
            return f"({column} IN ({marks}))", [_bound(value) for value in values]
        case Like(_, pattern):
            return f"({column} LIKE ? ESCAPE '\\')", [pattern]
        case Between(_, low, high):
            return f"({column} BETWEEN ? AND ?)", [_bound(low), _bound(high)]
        case IsNull():
            return f"({column} IS NULL)", []


def _tags_sql(node: Test, column: str) -> Compiled:
    """One test of a column that holds a JSON array: membership."""
    if isinstance(node, IsNull):
        return f"(NOT EXISTS (SELECT 1 FROM json_each({column})))", []  # noqa: S608 - our own column
    if isinstance(node, Compare) and node.sign is Sign.UNEQUAL:
        sql, bound = _tags_sql(Compare(node.field, Sign.EQUAL, node.value), column)
        return f"(NOT {sql})", bound
    sql, bound = _test_sql(node, "value")
    return f"(EXISTS (SELECT 1 FROM json_each({column}) WHERE {sql}))", bound  # noqa: S608


def _metadata_sql(node: Test, key: str, column: str) -> Compiled:
    """One test of a metadata key: of its value, or of one element if that is a list."""
    found = f"SELECT 1 FROM json_each({column}) k WHERE k.key = ?"  # noqa: S608 - our own column
    if isinstance(node, IsNull):
        return f"(NOT EXISTS ({found} AND k.type <> 'null'))", [key]
    if isinstance(node, Compare) and node.sign is Sign.UNEQUAL:
        sql, bound = _metadata_sql(Compare(node.field, Sign.EQUAL, node.value), key, column)
        return f"(NOT {sql})", bound
    of_value, bound = _json_sql(node, "k")
    of_element, _ = _json_sql(node, "e")
    inside = f"k.type = 'array' AND EXISTS (SELECT 1 FROM json_each(k.value) e WHERE {of_element})"  # noqa: S608
    return f"(EXISTS ({found} AND ({of_value} OR ({inside}))))", [key, *bound, *bound]


def _json_sql(node: Test, row: str) -> Compiled:
    """One test of a row of json_each: its type, then its value."""
    match node:
        case Compare(_, sign, value):
            return _typed(row, value, lambda column, mark: f"{column} {sign.value} {mark}")
        case Among(_, values):
            tests = [_json_sql(Compare(node.field, Sign.EQUAL, each), row) for each in values]
            bound = [value for _, held in tests for value in held]
            return "(" + " OR ".join(sql for sql, _ in tests) + ")", bound
        case Like(_, pattern):
            return f"({row}.type = 'text' AND {row}.value LIKE ? ESCAPE '\\')", [pattern]
        case Between(_, low, high):
            first, least = _typed(row, low, lambda column, mark: f"{column} >= {mark}")
            second, most = _typed(row, high, lambda column, mark: f"{column} <= {mark}")
            return f"({first} AND {second})", [*least, *most]
        case IsNull():
            return f"({row}.type = 'null')", []


def _typed(row: str, value: Value, test: Callable[[str, str], str]) -> Compiled:
    """A test that holds for values of the literal's type only.

    A number with a point is read by SQLite from text, as that of the metadata is: what it makes of
    the last digit is then the same.
    """
    if isinstance(value, bool):
        return f"({row}.type = '{'true' if value else 'false'}')", []
    if isinstance(value, str):
        return f"({row}.type = 'text' AND {test(f'{row}.value', '?')})", [value]
    number = f"{row}.type IN ('integer', 'real')"
    if isinstance(value, float):
        return f"({number} AND {test(f'{row}.atom', _REAL)})", [repr(value)]
    return f"({number} AND {test(f'{row}.atom', '?')})", [_bound(value)]


def _bound(value: Value) -> Bound:
    """The value as SQLite keeps it: times in microseconds since 1970, booleans as 0 and 1."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return int(value) if isinstance(value, bool) else value


# Memories of a session expire some days after the last write to that session.
#
# `session_write` has a row per commit and audience of a session that it wrote to, so the test of
# one memory is one look into an index, however large the namespace and the session are, and a read
# of the past sees the session as it was then. Nothing is rewritten when a session expires.


def record(db: Database, commit: Commit, at: int) -> None:
    """Note the sessions that a commit wrote to, by a new version or by a text said again."""
    puts = {put.memory.id: put.memory for put in commit.puts}
    written = [(memory.scope, rows.micros(memory.recorded_from)) for memory in puts.values()]
    for seen in commit.observations:
        if seen.memory not in puts:
            written += ((scope, at) for scope in _scope(db, seen.memory))
    noted = dict.fromkeys(
        (scope.session, scope.project, scope.agent, when)
        for scope, when in written
        if scope.session is not None
    )
    if noted:
        db.executemany(_ON_RECORD, noted)


def unexpired(lens: Lens) -> tuple[str, list[object]] | None:
    """The condition that a version's session has not expired; None where the lens needs none."""
    if not _asks(lens) or (lens.scope.session is None and "session" not in lens.across):
        return None
    since = _since(lens)
    if lens.as_of is None:  # the ledger's time may be a little ahead of the clock
        return _KEPT, [since]
    return _KEPT_THEN, [since, rows.micros(lens.as_of)]


def last_writes(lens: Lens) -> tuple[list[str], list[object]]:
    """Columns with the times from which `next_expiry` is computed, and their values."""
    if unexpired(lens) is None or lens.as_of is not None:
        return [], []
    if lens.across:  # at the earliest; the writes that follow it may move it further
        return ["(SELECT min(at) FROM session_write WHERE at > ?)"], [_since(lens)]
    reader = lens.scope
    audiences = [
        (reader.session, project, agent)
        for project in {None, reader.project, *reader.names}
        for agent in {None, reader.agent}
    ]
    columns = [f"({_OF_AUDIENCE})"] * len(audiences)
    return columns, [part for audience in audiences for part in audience]


def next_expiry(lens: Lens, writes: Iterable[int | None]) -> int | None:
    """A moment before which no session expires that the lens sees; None where none will."""
    since = _since(lens)
    return min((last + _life(lens) for last in writes if last and last > since), default=None)


def marked(db: Database, memories: Iterable[Memory], lens: Lens) -> list[Memory]:
    """The memories, with the status `expired` where it applies and the lens asked for it."""
    found = list(memories)
    if Status.EXPIRED not in lens.statuses:
        return found
    found = [_turned(memory) if _has_ended(memory, lens) else memory for memory in found]
    if not lens.session_days:
        return found
    at = lens.as_of or lens.now
    last = {
        scope: _last_write(db, scope, None if lens.as_of is None else rows.micros(at))
        for scope in {memory.scope for memory in found if _expires(memory)}
    }
    since = _since(lens)
    return [
        _turned(memory) if _expires(memory) and (last[memory.scope] or 0) <= since else memory
        for memory in found
    ]


def count_expired(db: Database, now: datetime, since: int | None) -> int:
    """How many active memories have expired, or are of sessions without a write after a moment."""
    over = _LAPSED if since is None else f"({_LAPSED} OR NOT {_KEPT})"
    (count,) = db.execute(
        "SELECT count(*) FROM version v WHERE v.recorded_until IS NULL AND v.status = 'active' "  # noqa: S608
        f"AND {over}",
        [iso(now)] if since is None else [iso(now), since],
    ).fetchone()
    return int(count)


def _turned(memory: Memory) -> Memory:
    return replace(memory, status=Status.EXPIRED, status_today=Status.EXPIRED)


def _has_ended(memory: Memory, lens: Lens) -> bool:
    """True for an active memory whose moment has come."""
    end = memory.extra.get(EXPIRES)
    return memory.status is Status.ACTIVE and isinstance(end, str) and end <= iso(lens.now)


def _asks(lens: Lens) -> bool:
    return bool(lens.session_days) and Status.EXPIRED not in lens.statuses


def _expires(memory: Memory) -> bool:
    """True for an active memory of a session that no rule exempts."""
    exempt = memory.pinned or memory.kind == "lesson"
    return memory.scope.session is not None and memory.status is Status.ACTIVE and not exempt


def _life(lens: Lens) -> int:
    return timedelta(days=lens.session_days) // timedelta(microseconds=1)


def _since(lens: Lens) -> int:
    """A session is kept that was written to after this moment."""
    return (rows.micros(lens.as_of or lens.now) or 0) - _life(lens)


def _last_write(db: Database, scope: Scope, until: int | None = None) -> int | None:
    audience = (scope.session, scope.project, scope.agent)
    found = (
        db.execute(_OF_AUDIENCE, audience)
        if until is None
        else db.execute(f"{_OF_AUDIENCE} AND at <= ?", (*audience, until))
    )
    last: int | None = found.fetchone()[0]
    return last


def _scope(db: Database, memory_id: str) -> Iterator[Scope]:
    found = db.execute(
        "SELECT v.project, v.agent, v.session FROM memory m JOIN version v ON v.memory = m.number "
        "AND v.recorded_until IS NULL WHERE m.id = ?",
        (memory_id,),
    )
    yield from (Scope(*row) for row in found)
