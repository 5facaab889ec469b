"""Proposals: changes of memories that wait for a person's decision."""

import json
from collections.abc import Sequence

from memory_mesh.engines.ledgers.sql import rows, sums
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.engines.ledgers.sql.unreadable import of_rows
from memory_mesh.model import Channel, Commit, Proposal, ProposedVerb, Source, SourceKind

_PROPOSAL = (
    "p.id, p.verb, m.id, p.change, p.reason, p.source_kind, p.channel, p.source_agent, "
    "p.source_ref, p.created, p.decided, p.approved, p.why"
)
_PROPOSALS = "proposal p JOIN memory m ON m.number = p.memory"
_PUT = (
    "INSERT INTO proposal (id, seq, verb, memory, change, reason, source_kind, channel, "
    "source_agent, source_ref, created, decided, approved, why) "
    "SELECT ?, ?, ?, number, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM memory WHERE id = ?"
)
_DECIDE = "UPDATE proposal SET seq = ?, decided = ?, approved = ?, why = ? WHERE number = ?"


def write(db: Database, commit: Commit, seq: int) -> None:
    """Adds the proposals of a commit, or records the decision on known ones."""
    for each in commit.proposals:
        source, decided = each.source, rows.micros(each.decided_at)
        known = db.execute("SELECT number FROM proposal WHERE id = ?", (each.id,)).fetchone()
        if known is not None:
            with sums.renewed(db, "proposal", known[0]):
                db.execute(_DECIDE, (seq, decided, each.approved, each.why, known[0]))
            continue
        added = db.execute(
            _PUT,
            (each.id, seq, each.verb, rows.dumped(dict(each.change)), each.reason, source.kind,
             source.channel, source.agent, source.ref, rows.micros(each.created), decided,
             each.approved, each.why, each.memory),
        )  # fmt: skip
        if added.rowcount:
            sums.enter(db, "proposal", added.lastrowid or 0)


def by_id(db: Database, ids: Sequence[str]) -> dict[str, Proposal]:
    """The proposals with these ids."""
    if not ids:
        return {}
    found = db.execute(
        f"SELECT {_PROPOSAL} FROM {_PROPOSALS} "  # noqa: S608  # own names only
        "WHERE p.id IN (SELECT value FROM json_each(?))",
        (rows.dumped(ids),),
    )
    return {row[0]: _proposal(row) for row in found}


def listed(db: Database, limit: int, *, pending: bool, memory: str | None) -> list[Proposal]:
    """Proposals, the newest first: those that wait, or all; of one memory, or of any."""
    conditions: list[str] = ["1 = 1"]
    values: list[object] = []
    if pending:
        conditions.append("p.decided IS NULL")
    if memory is not None:
        conditions.append("p.memory = (SELECT number FROM memory WHERE id = ?)")
        values.append(memory)
    found = db.execute(
        f"SELECT {_PROPOSAL} FROM {_PROPOSALS} WHERE {' AND '.join(conditions)} "  # noqa: S608
        "ORDER BY p.number DESC LIMIT ?",
        [*values, limit],
    )
    return [_proposal(row) for row in found]


def of_memory(db: Database, memory: str, limit: int) -> list[Proposal]:
    """Those of a memory that wait, then those that were decided, each newest first."""
    found: list[Proposal] = []
    for state in ("IS NULL", "IS NOT NULL"):
        rows_found = db.execute(
            f"SELECT {_PROPOSAL} FROM {_PROPOSALS} WHERE p.decided {state} "  # noqa: S608
            "AND p.memory = (SELECT number FROM memory WHERE id = ?) "
            "ORDER BY p.number DESC LIMIT ?",
            (memory, limit),
        )
        found += map(_proposal, rows_found)
    return found


@of_rows
def _proposal(row: rows.Row) -> Proposal:
    (id_, verb, memory, change, reason, kind, channel, agent, ref, created, decided, approved,
     why) = row  # fmt: skip
    return Proposal(
        id=id_,
        verb=ProposedVerb(verb),
        memory=memory,
        change=json.loads(change),
        reason=reason,
        source=Source(SourceKind(kind), Channel(channel), agent, ref),
        created=rows.since_epoch(created),
        decided_at=rows.moment(decided),
        approved=None if approved is None else bool(approved),
        why=why,
    )
