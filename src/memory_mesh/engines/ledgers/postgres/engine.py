"""The parts of the ledger that PostgreSQL has in its own way: postings, vectors of pgvector."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from memory_mesh.engines.ledgers.postgres import words
from memory_mesh.engines.ledgers.postgres.connection import Connection
from memory_mesh.engines.ledgers.postgres.pgvector import Vector
from memory_mesh.engines.ledgers.postgres.relevance import Statistics, relevance
from memory_mesh.engines.ledgers.sql import sums
from memory_mesh.engines.ledgers.sql.engine import LIVE, SKILLS, Sight
from memory_mesh.keyword_ports import Keywords
from memory_mesh.model import Lens
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.engines.ledgers.sql.checking import Check
    from memory_mesh.engines.ledgers.sql.remembered import Known

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

    def shelve(self, db: Connection, shelf: str, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Writes the postings of texts; the words of skills are read where they stand."""
        if shelf != SKILLS:
            words.put(db, shelf, [(number, " ".join(terms)) for number, terms in rows])

    def unshelve(self, db: Connection, shelf: str, number: int, terms: Sequence[str]) -> None:
        """Deletes the postings of a text."""
        if shelf != SKILLS:
            words.take(db, shelf, number, " ".join(terms))

    def is_shelved(self, db: Connection, shelf: str, number: int) -> bool:
        """Whether the text belongs on the shelf; no skill is on one."""
        if shelf == SKILLS:
            return False
        in_use = db.execute(_IN_USE, (number,)).fetchone() is not None
        return in_use == (shelf == LIVE)

    def skills_with(
        self, db: Connection, asked: Sequence[str], sight: Sight, limit: int
    ) -> list[int]:
        """The best skills by words: the active ones are read and compared one by one."""
        condition, values = sight
        found = db.execute(
            f"SELECT number, terms, ({condition}) FROM skill k WHERE status = 'active'",  # noqa: S608
            values,
        ).fetchall()
        fields = {
            number: [words.tokens(part) for part in json.loads(terms)] for number, terms, _ in found
        }
        lengths = {number: sum(map(len, parts)) for number, parts in fields.items()}
        statistics = Statistics(len(found), sum(lengths.values()))
        sought = [token for word in asked for token in words.tokens(word)]
        often = {
            number: [_weighed(word, parts) for word in sought] for number, parts in fields.items()
        }
        holders = [
            sum(1 for counts in often.values() if counts[place]) for place in range(len(sought))
        ]
        scored = [
            (
                -relevance(statistics, zip(holders, often[number], strict=True), lengths[number]),
                number,
            )
            for number, _, seen in found
            if seen and any(often[number])
        ]
        return [number for _, number in sorted(scored)[:limit]]

    def keywords(self, db: Connection, lens: Lens, few: Mapping[int, int] | None) -> Keywords:
        """The words of the texts that a lens may ask for."""
        from memory_mesh.engines.ledgers.postgres.keywords import PostgresKeywords

        return PostgresKeywords(db, lens, few)


class PostgresEngine(PostgresWords):
    """Implements `sql.engine.Engine`."""

    unindexed = ""

    def again(self, order: str) -> str:
        """The same order for the outer query: a join keeps none."""
        return f" ORDER BY {order}"

    def checks(self) -> "Mapping[str, Check]":
        """The postings against the stored terms."""
        from memory_mesh.engines.ledgers.postgres import checking

        return checking.CHECKS

    def invariants(self) -> Mapping[str, str]:
        """A version that is gone leaves its text behind."""
        return {
            "every text is that of a version": """
                SELECT m.id FROM text t JOIN memory m ON m.number = t.memory
                WHERE NOT EXISTS (SELECT 1 FROM version v WHERE v.text = t.number)"""
        }

    def lenient(self, db: Connection) -> AbstractContextManager[None]:
        """Else one value that cannot be read would end the whole transaction."""
        return db.lenient()

    def strict(self, _: Connection) -> AbstractContextManager[None]:
        """PostgreSQL stores no text that is not valid Unicode."""
        return nullcontext()

    def wiping(self, _: Connection) -> AbstractContextManager[None]:
        """What was deleted is overwritten when the database next cleans up."""
        return nullcontext()

    def grow(self, _: Connection) -> None:
        """Every index is there from the start."""

    def known(self, _: Connection) -> "Known | None":
        """Nothing: a connection serves many namespaces, and others write to each."""
        return None

    def add_vectors(self, db: Connection, rows: Sequence[Sequence[object]]) -> None:
        """Writes vectors of texts that are there, unless they have these parts."""
        db.own_many(_VECTORS, [(*row[:5], Vector(row[5]), *row[6:]) for row in rows])

    def forget_scan(self, db: Connection, space: int) -> None:
        """Nothing lies beside the database."""

    def count(
        self,
        db: Connection,
        changes: Mapping[str, str],
        where: str,
        rows: Sequence[Sequence[object]],
    ) -> None:
        """Sets counters, and moves their checksums by what they were before and are after."""
        sets = ", ".join(f"{name} = {value}" for name, value in changes.items())
        for values in rows:
            found = db.execute(f"SELECT number FROM memory WHERE {where}", values)  # noqa: S608
            for (number,) in found.fetchall():
                with sums.tallied(db, number):
                    db.execute(f"UPDATE memory SET {sets} WHERE {where}", values)  # noqa: S608


def _weighed(word: str, parts: Sequence[Sequence[str]]) -> float:
    """How often a word stands in the fields of a skill, each by its weight."""
    weighed = zip(_SKILL_WEIGHTS, parts, strict=True)
    return sum(weight * part.count(word) for weight, part in weighed)
