"""How memories came to be as they are: blocks, reasons, observations, injections."""

import json
from collections.abc import Iterator
from datetime import datetime

from memory_mesh.engines.ledgers.sql import rows
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.engines.ledgers.sql.lenses import audience, predicate
from memory_mesh.model import Block, Lens, Outcome, Scope
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.block import Observed
    from memory_mesh.model.pack import Injection

_RECALL = "id, 'recall', agent, at, memories, wire, metadata"
_BY = "json_extract(metadata, '$.by')"  # of a record of a search: project, session, agent
_FIRST = "json_extract(b.memories, '$[0]')"  # what a block is about


class SqlTrail:
    """Implements `ports.Trail`."""

    _db: Database

    def block(self, block_id: str) -> Block | None:
        """A block of the chain, or the record of a recall, by its id."""
        row = self._db.execute(
            f"SELECT {rows.BLOCK} FROM block WHERE id = ?",  # noqa: S608  # own names
            (block_id,),
        ).fetchone()
        if row is not None:
            return rows.block(row)
        row = self._db.execute(
            f"SELECT {_RECALL} FROM recall WHERE id = ?",  # noqa: S608  # own names
            (block_id,),
        ).fetchone()
        return None if row is None else Block(rows.entry(row))

    def blocks_for(self, lens: Lens, after_seq: int, limit: int) -> list[Block]:
        """Blocks of the next commits about what the lens sees, now and when they were written.

        Those about no memory (a skill, a predicate, a refusal) are among them. A commit's blocks
        are never split. Each block that is passed over costs one look into an index.
        """
        first = self._db.execute(
            "SELECT position FROM block WHERE seq > ? ORDER BY seq LIMIT 1", (after_seq,)
        ).fetchone()
        if first is None:
            return []
        now, values = predicate(lens)
        then, more = audience(lens, "w")
        passing = self._db.execute(
            f"SELECT {rows.BLOCK} FROM block b WHERE position >= ? AND coalesce("  # noqa: S608
            f"(SELECT coalesce(({now}) AND (SELECT {then} FROM version w WHERE w.memory = m.number "
            "AND w.seq <= b.seq ORDER BY w.number DESC LIMIT 1), FALSE) FROM memory m "
            "JOIN version v ON v.memory = m.number AND v.recorded_until IS NULL "
            f"WHERE m.id = {_FIRST}), TRUE) ORDER BY position",
            [first[0], *values, *more],
        )
        found: list[Block] = []
        for row in passing:
            block = rows.block(row)
            if len(found) >= limit and block.seq != found[-1].seq:
                break
            found.append(block)
        return found

    def recalls_by(self, reader: Scope, limit: int) -> list[Block]:
        """The latest records of searches by a reader, or by one that sees less, newest first."""
        own = [_ended(parts) for parts in _wider(reader, None)]
        named = [_ended(parts) for parts in _wider(reader, reader.agent)]
        found = self._db.execute(
            f"SELECT {_RECALL} FROM recall WHERE agent = ? AND {_BY} "  # noqa: S608  # own names
            f"IN (SELECT value FROM json_each(?)) OR {_BY} IN (SELECT value FROM json_each(?)) "
            "ORDER BY number DESC LIMIT ?",
            (reader.agent, rows.dumped(own), rows.dumped(named), limit),
        )
        return [Block(rows.entry(row)) for row in found]

    def blocks_about(self, memory_id: str, limit: int) -> list[Block]:
        """The newest chained blocks whose first memory it is, oldest first."""
        alone = rows.dumped([memory_id])
        first = f"{alone[:-1]},"
        found = self._db.execute(
            f"SELECT {rows.BLOCK} FROM block WHERE memories = ?1 "  # noqa: S608  # own names
            f"UNION ALL SELECT {rows.BLOCK} FROM block WHERE memories >= ?2 AND memories < ?3 "
            "ORDER BY position DESC LIMIT ?4",
            (alone, first, f"{first[:-1]}-", limit),
        ).fetchall()
        return [rows.block(row) for row in reversed(found)]

    def reasons(self, memory_id: str) -> dict[datetime, tuple[str, ...]]:
        """The reasons of each version of a memory, by the time it was recorded."""
        found = self._db.execute(
            "SELECT v.recorded_from, v.reasons FROM version v JOIN memory m "
            "ON m.number = v.memory WHERE m.id = ? ORDER BY v.number",
            (memory_id,),
        )
        return {rows.since_epoch(at): tuple(json.loads(said)) for at, said in found}

    def observations(self, memory_id: str, limit: int) -> "list[Observed]":
        """The latest writes that ended in a memory, oldest first."""
        from memory_mesh.model.block import Observed

        found = self._db.execute(
            "SELECT o.at, o.outcome, o.origin, o.reasons FROM observation o JOIN memory m "
            "ON m.number = o.memory WHERE m.id = ? ORDER BY o.number DESC LIMIT ?",
            (memory_id, limit),
        ).fetchall()
        return [
            Observed(rows.since_epoch(at), Outcome(outcome), origin, tuple(json.loads(said)))
            for at, outcome, origin, said in reversed(found)
        ]

    def injection(self, injection_id: str) -> "Injection | None":
        """What entered one prompt."""
        from memory_mesh.engines.ledgers.sql import injections

        return injections.by_id(self._db, injection_id)

    def injections_fenced(self, word: str) -> "list[Injection]":
        """What entered the prompts with this fence word, the newest first."""
        from memory_mesh.engines.ledgers.sql import injections

        return injections.by_fence(self._db, word)

    def injections(self, memory_id: str, limit: int) -> "list[Injection]":
        """The latest prompts that a memory entered, newest first, without the other memories."""
        from memory_mesh.engines.ledgers.sql import injections

        return injections.of_memory(self._db, memory_id, limit)


def _wider(reader: Scope, agent: str | None) -> Iterator[list[str | None]]:
    """The readers that see no more than one, as their records name them."""
    for one in {None, reader.project, *reader.names}:
        for other in {None, reader.session}:
            yield [one, other, agent]


def _ended(parts: list[str | None]) -> str:
    """The parts as JSON, without what is not given at the end."""
    while parts and parts[-1] is None:
        parts.pop()
    return rows.dumped(parts)
