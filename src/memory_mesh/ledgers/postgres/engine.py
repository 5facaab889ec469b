"""The parts of the ledger that PostgreSQL has in its own way: postings, vectors of pgvector."""

import json
import struct
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from memory_mesh.ledgers.postgres import scoring
from memory_mesh.ledgers.postgres.connection import PostgresConnection
from memory_mesh.ledgers.postgres.keywords import PostgresKeywords
from memory_mesh.ledgers.shared import sums
from memory_mesh.ledgers.shared.engine import LIVE, SKILLS, FileKnowledge, Sight
from memory_mesh.model import Lens
from memory_mesh.model.ports import Keywords

_FLOAT = 4  # bytes of a number
_HEAD = struct.Struct(">HH")  # how many numbers, and nothing

_SKILL_WEIGHTS = (3.0, 2.0, 1.0, 1.0)  # of name, intent, tags, description
_VECTORS = (
    "INSERT INTO vector (text, space, part, seq, start, stop, data, crc) "
    "SELECT number, %s, %s, %s, %s, %s, %s, %s FROM text WHERE number = %s ON CONFLICT DO NOTHING"
)
_IN_USE = (
    "SELECT 1 FROM version WHERE text = ? AND recorded_until IS NULL AND status = 'active' LIMIT 1"
)


class PostgresWords:
    """Implements `sql.engine.Words` with postings; those of skills are read where they stand."""

    def shelve(
        self, db: PostgresConnection, shelf: str, rows: Sequence[tuple[int, Sequence[str]]]
    ) -> None:
        """Writes the postings of texts; the words of skills are read where they stand."""
        if shelf != SKILLS:
            scoring.put(db, shelf, [(number, " ".join(terms)) for number, terms in rows])

    def unshelve(
        self, db: PostgresConnection, shelf: str, number: int, terms: Sequence[str]
    ) -> None:
        """Deletes the postings of a text."""
        if shelf != SKILLS:
            scoring.take(db, shelf, number, " ".join(terms))

    def is_shelved(self, db: PostgresConnection, shelf: str, number: int) -> bool:
        """Whether the text belongs on the shelf; no skill is on one."""
        return shelf != SKILLS and (db.execute(_IN_USE, (number,)).fetchone() is not None) == (
            shelf == LIVE
        )

    def skills_with(
        self, db: PostgresConnection, asked: Sequence[str], sight: Sight, limit: int
    ) -> list[int]:
        """The best skills by words: the active ones are read and compared one by one."""
        condition, values = sight
        found = db.execute(
            f"SELECT number, terms, ({condition}) FROM skill k WHERE status = 'active'",  # noqa: S608
            values,
        ).fetchall()
        fields = {
            number: [scoring.tokens(part) for part in json.loads(terms)]
            for number, terms, _ in found
        }
        lengths = {number: sum(map(len, parts)) for number, parts in fields.items()}
        statistics = scoring.Statistics(len(found), sum(lengths.values()))
        sought = [token for word in asked for token in scoring.tokens(word)]
        often = {
            number: [_weighed(word, parts) for word in sought] for number, parts in fields.items()
        }
        holders = [
            sum(1 for counts in often.values() if counts[place]) for place in range(len(sought))
        ]
        scored = [
            (
                -scoring.relevance(
                    statistics, zip(holders, often[number], strict=True), lengths[number]
                ),
                number,
            )
            for number, _, seen in found
            if seen and any(often[number])
        ]
        return [number for _, number in sorted(scored)[:limit]]

    def keywords(
        self, db: PostgresConnection, lens: Lens, few: Mapping[int, int] | None
    ) -> Keywords:
        """The words of the texts that a lens may ask for."""
        return PostgresKeywords(db, lens, few)


class PostgresEngine(PostgresWords):
    """Implements `sql.engine.Engine`."""

    unindexed = ""

    def again(self, order: str) -> str:
        """The same order for the outer query: a join keeps none."""
        return f" ORDER BY {order}"

    def lenient(self, db: PostgresConnection) -> AbstractContextManager[None]:
        """Else one value that cannot be read would end the whole transaction."""
        return db.lenient()

    def strict(self, _: PostgresConnection) -> AbstractContextManager[None]:
        """PostgreSQL stores no text that is not valid Unicode."""
        return nullcontext()

    def wiping(self, _: PostgresConnection) -> AbstractContextManager[None]:
        """What was deleted is overwritten when the database next cleans up."""
        return nullcontext()

    def grow(self, _: PostgresConnection) -> None:
        """Every index is there from the start."""

    def known(self, db: PostgresConnection) -> "FileKnowledge | None":
        """What this read transaction found; nothing outlives it, since others write."""
        return db.known

    def expect(self, db: PostgresConnection, *calls: Callable[[], object]) -> None:
        """Asks for what the calls will ask for in as few round trips as can be."""
        db.expect(*calls)

    def add_vectors(self, db: PostgresConnection, rows: Sequence[Sequence[object]]) -> None:
        """Writes vectors of texts that are there, unless they have these parts."""
        db.own_many(_VECTORS, [(*row[:5], Vector(row[5]), *row[6:]) for row in rows])

    def forget_scan(self, db: PostgresConnection, space: int) -> None:
        """Nothing lies beside the database."""

    def count(
        self,
        db: PostgresConnection,
        changes: Mapping[str, str],
        where: str,
        rows: Sequence[Sequence[object]],
    ) -> None:
        """Sets counters, and moves their checksums by what they were before and are after."""
        sets = ", ".join(f"{name} = {value}" for name, value in changes.items())
        was = ", ".join(f"{name} AS was_{name}" for name in sums.COUNTERS)
        statement = (
            f"UPDATE memory SET {sets} FROM (SELECT number AS place, {was} FROM memory "  # noqa: S608
            f"WHERE {where}) b WHERE number = place RETURNING number, tally, "
            f"{', '.join(f'was_{name}' for name in sums.COUNTERS)}, {sums.TALLIED}"
        )
        changed = [db.execute(statement, values) for values in rows]  # all are sent, then answered
        tallies: dict[int, int | None] = {}
        for number, tally, *values in (row for found in changed for row in found):
            tallies[number] = sums.moved(tallies.get(number, tally), *values)
        db.executemany(
            "UPDATE memory SET tally = ? WHERE number = ?",
            [(tally, number) for number, tally in tallies.items()],
        )


def _weighed(word: str, parts: Sequence[Sequence[str]]) -> float:
    """How often a word stands in the fields of a skill, each by its weight."""
    weighed = zip(_SKILL_WEIGHTS, parts, strict=True)
    return sum(weight * part.count(word) for weight, part in weighed)


# Vectors as pgvector keeps them: little-endian float32 here, its own binary form on the wire.


class Vector:
    """A vector to be written or compared with."""

    __slots__ = ("data",)

    def __init__(self, data: object) -> None:
        if not isinstance(data, bytes):
            raise TypeError("a vector is bytes")
        self.data = data

    def __repr__(self) -> str:
        return self.data.hex()


def register(raw: psycopg.Connection[Any]) -> bool:
    """Lets a connection write and read vectors; False where the extension is not installed."""
    info = TypeInfo.fetch(raw, "vector")
    if info is None:
        return False
    dumper: type[Dumper] = type("VectorDumper", (_Dumper,), {"oid": info.oid})
    raw.adapters.register_dumper(Vector, dumper)
    raw.adapters.register_loader(info.oid, _Loader)
    return True


class _Dumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Vector) -> bytes:
        return _HEAD.pack(len(obj.data) // _FLOAT, 0) + _swapped(obj.data)


class _Loader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return _swapped(bytes(data)[_HEAD.size :])


def _swapped(data: bytes) -> bytes:
    """The same numbers with their bytes in the other order."""
    numbers = array("f", data)
    numbers.byteswap()
    return numbers.tobytes()


if array("f").itemsize != _FLOAT or sys.byteorder != "little":  # pragma: no cover
    raise ImportError("vectors need a little-endian machine with floats of four bytes")
