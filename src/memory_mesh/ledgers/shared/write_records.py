"""What every ledger does inside the transaction of a write."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from memory_mesh.ledgers.shared import commit as sql_commit, read_records, rows
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.ledgers.shared.read_records import Noted, uses
from memory_mesh.model import Commit, Head, Standing, Wanted
from memory_mesh.platform import log

PRUNED_AT_ONCE = 128  # old recall blocks that one write deletes: more than it brings


def decided(
    db: Database,
    head: Head,
    wanted: Wanted,
    decide: Callable[[Standing], Commit],
    now: datetime,
) -> Commit:
    """Reads what stands, lets `decide` decide, and writes it."""
    at = sql_commit.recorded_time(head, now)
    commit = decide(sql_commit.standing(db, wanted, at))
    if commit == Commit(receipts=commit.receipts, after=commit.after):
        return commit
    from memory_mesh.text.analyzer import ANALYZER  # few reads need it

    if head.analyzer != ANALYZER:
        from memory_mesh.ledgers.shared import terms

        terms.adopt(db, head)
    return sql_commit.write(db, head, at, commit)


def record(db: Database, noted: Sequence[Noted], now: datetime, recall_days: int) -> None:
    """Counts uses, writes recall blocks and injections, and deletes a few that are too old."""
    if not noted:
        return
    entries = [one.entry for one in noted if one.entry is not None]
    injections = [one.injection for one in noted if one.injection is not None]
    sql_commit.USED.run(db, [(rows.micros(at), id_) for at, id_ in uses(noted)])
    sql_commit.record_recalls(db, entries)
    if injections:
        read_records.record(db, injections)
    if (entries or injections) and recall_days:
        before = now - timedelta(days=recall_days)
        sql_commit.prune_recalls(db, before, PRUNED_AT_ONCE)


def tell(commit: Commit, start: float) -> None:
    """Logs one write: what it changed, and how long it took, waiting included."""
    changed = [put.memory.id for put in commit.puts] + [put.skill.id for put in commit.skills]
    log.info(
        "write",
        outcomes=",".join(receipt.outcome for receipt in commit.receipts) or "none",
        changed=",".join(changed) or "none",
        blocks=len(commit.entries),
        vectors=len(commit.vectors) + len(commit.skill_vectors),
        terms=0 if commit.terms is None else len(commit.terms.fields),
        ms=log.milliseconds(start),
    )
    if commit.counted:
        log.info("vote", ids=",".join(memory.id for memory in commit.counted))
