"""Marks of metadata: which memories have a key with a value, found without reading their JSON.

A mark is a hash of a key and a text, number or boolean under it, or one element of a list; tags are
marked as the key they were given by. `metadata_mark` holds the marks of each memory's open version.
Different values may share a mark, so whoever finds memories by one tests their metadata, too. A
memory with very many values has the one mark MANY instead, which every lookup takes in.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.model import Json, Memory
from memory_mesh.model.times import EXPIRES

MOST_MARKS = 64  # of one memory
MOST_CHARS = 256  # of a text that is marked
MANY = 0
_ALL = (
    "SELECT memory, extra, tags FROM version WHERE recorded_until IS NULL "
    "AND (extra <> '{}' OR tags <> '[]')"
)
_INSERT = "INSERT OR IGNORE INTO metadata_mark (mark, memory) VALUES (?, ?)"
_moment = lazy_pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_HALF = 2**31  # marks are signed, so that four bytes hold one


def mark(key: str, value: object) -> int | None:
    """The mark of a value under a key; None for one that is not marked, such as a long text.

    A whole number has the mark of the same number with a point.
    """
    if isinstance(value, bool):
        told = "true" if value else "false"
    elif isinstance(value, str):
        if len(value) > MOST_CHARS:
            return None
        told = f"'{value}"
    elif isinstance(value, int | float):
        told = repr(int(value) if value == value // 1 and abs(value) < 2 * _HALF**2 else value)
    else:
        return None
    return zlib.crc32(f"{key}\0{told}".encode("utf-8", "surrogatepass")) - _HALF


ENDING = zlib.crc32(b"\0ends") - _HALF  # of every memory that says when it expires


def marks_of(extra: Mapping[str, Json], tags: Sequence[str]) -> set[int]:
    """The marks of what a version says in metadata and tags."""
    found = {ENDING} if _is_moment(extra.get(EXPIRES)) else set[int]()
    for key, value in _said(extra, tags):
        made = mark(key, value)
        if made is not None:
            found.add(made)
        if len(found) > MOST_MARKS:
            return {MANY} | (found & {ENDING})
    return found


def _is_moment(value: Json) -> bool:
    """True for a moment as `times.iso` writes it: as texts such moments are in their order."""
    return isinstance(value, str) and _moment().fullmatch(value) is not None


def _said(extra: Mapping[str, Json], tags: Sequence[str]) -> Iterator[tuple[str, Json]]:
    for tag in tags:
        yield "tags", tag
    for key, value in extra.items():
        if isinstance(value, list | tuple):
            for element in value:
                yield key, element
        else:
            yield key, value


def write(db: Database, said: Iterable[tuple[int, Memory, set[int]]]) -> None:
    """Sets the marks of memories to those of their new versions.

    Each is given by its number, as it is now, and with the marks that it has.
    """
    gone, new = list[tuple[int, int]](), list[tuple[int, int]]()
    for number, memory, before in said:
        if memory.extra or memory.tags or before:
            now = marks_of(memory.extra, memory.tags)
            gone += ((mark, number) for mark in before - now)
            new += ((mark, number) for mark in sorted(now - before))
    if gone:
        db.executemany("DELETE FROM metadata_mark WHERE mark = ? AND memory = ?", gone)
    if new:
        db.executemany(_INSERT, new)


def stored(extra: str, tags: str) -> set[int]:
    """The marks of a stored version by its columns; none where these are damaged."""
    if extra == "{}" and tags == "[]":
        return set()
    try:
        said, listed = json.loads(extra), json.loads(tags)
    except ValueError:
        return set()
    return marks_of(said, listed) if isinstance(said, dict) and isinstance(listed, list) else set()


def rebuild(db: Database) -> int:
    """Makes the marks anew from the open versions if any is wrong; how many were."""
    wrong = sum(1 for _ in flaws(db))
    if wrong:
        db.execute("DELETE FROM metadata_mark")
        fill(db)
    return wrong


def fill(db: Database) -> None:
    """Fills the empty table from the open versions, of which one is held at a time."""
    db.executemany(_INSERT, ((made, memory) for memory, found in _right(db) for made in found))


def flaws(db: Database) -> Iterator[int]:
    """The number of a memory for each mark that it lacks, or has and should not have."""
    held = 0
    for memory, right in _right(db):
        marks = ", ".join("?" * len(right))
        (there,) = db.execute(
            f"SELECT count(*) FROM metadata_mark WHERE memory = ? AND mark IN ({marks})",  # noqa: S608
            (memory, *right),
        ).fetchone()
        held += there
        yield from [memory] * (len(right) - there)
    (rows,) = db.execute("SELECT count(*) FROM metadata_mark").fetchone()
    if rows == held:
        return
    for made, memory, extra, tags in db.execute(
        "SELECT mark, k.memory, extra, tags FROM metadata_mark k LEFT JOIN version v "
        "ON v.memory = k.memory AND v.recorded_until IS NULL"
    ):
        if extra is None or made not in stored(extra, tags):
            yield memory


def _right(db: Database) -> Iterator[tuple[int, set[int]]]:
    """The marks that each open version should have."""
    for memory, extra, tags in db.execute(_ALL):
        if right := stored(extra, tags):
            yield memory, right
