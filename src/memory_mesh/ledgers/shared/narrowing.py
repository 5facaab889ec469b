"""The few memories that a filter can hold for, found by marks and indexes instead of a scan.

A test of equality names a source: a statement that lists the memories it may hold for, and perhaps
some others. Of tests that must all hold the one with the fewest is taken. The whole filter is then
tested on what the source lists: a source leaves out nothing, so the answer is the same.
"""

from collections.abc import Iterator

from memory_mesh.base.typed import dataclass
from memory_mesh.ledgers.shared import metadata_marks, visibility
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.model import Lens
from memory_mesh.model.query import Among, And, Compare, Field, Filter, MetadataKey, Or, Sign, Value

_ENOUGH = 64  # so few need no look for fewer
_INDEXED = {  # fields whose column has an index of open versions, at least in a grown file
    "label": "label",
    "type": "label",  # unless it is a type of what has no label
    "source_ref": "source_ref",
    "lesson_pattern_id": "pattern",
}
_UNLABELLED = {"lesson", "reflection", "session", "agent", "project", "global"}


@dataclass(frozen=True, slots=True)
class MemoryNumbers:
    """A statement that lists numbers of memories under the name `memory`, and what it binds."""

    sql: str
    values: tuple[object, ...]
    count: int = 0
    by_marks: bool = False  # and not by an index that SQLite would use by itself


def narrowed(
    db: Database, lens: Lens, most: int, *, by_marks: bool = False
) -> MemoryNumbers | None:
    """The source of the fewest memories for the filter of a lens; None if all list over `most`.

    Marks and indexes are of the present: a lens on an earlier time is not narrowed. With `by_marks`
    no other index is asked.
    """
    if lens.where is None or lens.as_of is not None:
        return None
    best: MemoryNumbers | None = None
    for source in _sources(lens.where):
        if by_marks and not source.by_marks:
            continue
        limit = most if best is None else best.count - 1
        (count,) = db.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM ({source.sql}) LIMIT ?)",  # noqa: S608  # own names
            (*source.values, limit + 1),
        ).fetchone()
        if count <= limit:
            best = MemoryNumbers(source.sql, source.values, count, source.by_marks)
            if count <= _ENOUGH:
                break
    return best


def sight(lens: Lens, source: MemoryNumbers) -> tuple[str, str, list[object], list[object]]:
    """Tables, condition and the values of both for what a lens sees of a source."""
    tables, condition, values = visibility.sight(lens)
    joined = f"(SELECT DISTINCT memory FROM ({source.sql})) AS few CROSS JOIN {tables}"  # noqa: S608
    return joined, f"v.memory = few.memory AND {condition}", [*source.values], values


def texts(db: Database, lens: Lens, source: MemoryNumbers) -> list[tuple[int, int]]:
    """All that a lens sees of a source, as (text, version)."""
    tables, condition, first, values = sight(lens, source)
    return db.execute(
        f"SELECT v.text, v.number FROM {tables} WHERE {condition}",  # noqa: S608  # own names
        [*first, *values],
    ).fetchall()


def _sources(node: Filter) -> Iterator[MemoryNumbers]:
    """Sources of which each alone lists every memory that the filter can hold for."""
    match node:
        case And(parts):
            for part in parts:
                yield from _sources(part)
        case Or(parts):
            first = [next(_sources(part), None) for part in parts]
            found = [source for source in first if source is not None]
            if len(found) == len(first):
                yield MemoryNumbers(
                    " UNION ".join(source.sql for source in found),
                    tuple(value for source in found for value in source.values),
                    by_marks=all(source.by_marks for source in found),
                )
        case Compare(field, Sign.EQUAL, value):
            yield from _of_values(field, (value,))
        case Among(field, values):
            yield from _of_values(field, values)
        case _:
            return


def _of_values(field: Field, values: tuple[Value, ...]) -> Iterator[MemoryNumbers]:
    """The memories that have one of the values in a field or under a key."""
    listed = ", ".join("?" * len(values))
    if isinstance(field, MetadataKey) or field == "tags":
        key = "tags" if isinstance(field, str) else field.name
        found = [metadata_marks.mark(key, value) for value in values]
        made = sorted({mark for mark in found if mark is not None} | {metadata_marks.MANY})
        if None not in found:
            listed = ", ".join("?" * len(made))
            sql = f"SELECT memory FROM metadata_mark WHERE mark IN ({listed})"  # noqa: S608
            yield MemoryNumbers(sql, tuple(made), by_marks=True)
    elif field == "session_id":  # of its owner, or in metadata
        named = list(_of_values(MetadataKey(field), values))
        own = f"SELECT memory FROM version WHERE session IN ({listed}) AND recorded_until IS NULL"  # noqa: S608
        yield from (
            MemoryNumbers(f"{own} UNION {each.sql}", (*values, *each.values)) for each in named
        )
    elif field == "id":
        yield MemoryNumbers(
            f"SELECT number AS memory FROM memory WHERE id IN ({listed})",  # noqa: S608
            tuple(values),
        )
    elif field in _INDEXED and (field != "type" or _UNLABELLED.isdisjoint(values)):
        yield MemoryNumbers(
            f"SELECT memory FROM version WHERE {_INDEXED[field]} IN ({listed}) "  # noqa: S608
            "AND recorded_until IS NULL",
            tuple(values),
        )
