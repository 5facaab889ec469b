"""What the suites about PostgreSQL write and look at: batches of memories, one commit each.

A batch has a name, which is the key of its first memory, so that it is stored once however often it
is written. Its memories are stored together or not at all.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from memory_mesh.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.model import (
    BlockOperation,
    Commit,
    Entry,
    Lens,
    Memory,
    Observation,
    Outcome,
    Put,
    Standing,
    Wanted,
)
from memory_mesh.model.ports import Ledger, Snapshot
from memory_mesh.platform.ids import SystemClock
from tests.contract.ledger_values import made, word
from tests.postgres import SECRET

_AT_ONCE = 500  # ids that are looked for at a time
FAR = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Batch:
    """Memories that are stored by one commit."""

    name: str
    size: int
    namespace: str

    @property
    def ids(self) -> list[str]:
        """Those of its memories."""
        return [f"mem_{self.name}_{number}" for number in range(self.size)]


@dataclass
class Told:
    """What journals say: which batches were begun, and what was heard of each."""

    begun: dict[str, Batch] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)  # of these it was said that nothing is stored


def open_ledger(url: str, **options: Any) -> PostgresLedger:
    """The ledger of a database of these tests."""
    return PostgresLedger(url, SystemClock(), secret=SECRET, **options)


def write(ledger: Ledger, batch: Batch) -> bool:
    """Stores a batch, unless it is stored; whether this call stored it."""

    def decide(standing: Standing) -> Commit:
        if batch.name in standing.keys:
            return Commit()
        return joined(_stored(standing, batch, number) for number in range(batch.size))

    wanted = Wanted(keys=(batch.name,))
    return bool(ledger.commit(batch.namespace, wanted, decide).puts)


def joined(parts: Iterable[Commit]) -> Commit:
    """One commit of several."""
    all_ = list(parts)
    return Commit(
        puts=tuple(put for part in all_ for put in part.puts),
        observations=tuple(seen for part in all_ for seen in part.observations),
        entries=tuple(entry for part in all_ for entry in part.entries),
    )


def _stored(standing: Standing, batch: Batch, number: int) -> Commit:
    text = f"batch {batch.name} says number {number}"
    id_, wording, at = batch.ids[number], word(text), standing.at
    memory = made(id_, text)
    memory = Memory(id=id_, text=memory.text, created=at, recorded_from=at)
    told = {"content_sha256": wording.hash.hex()}
    key = None if number else batch.name
    return Commit(
        puts=(Put(memory, wording),),
        observations=(Observation(id_, wording.hash, Outcome.STORED, "faults", key),),
        entries=(Entry(f"yamo_{id_}", BlockOperation.RETAIN, "faults", at, (id_,), "wire", told),),
    )


def present(snapshot: Snapshot, batches: Sequence[Batch]) -> dict[str, int]:
    """How many memories of each batch are there."""
    ids = {id_: batch.name for batch in batches for id_ in batch.ids}
    counts = dict.fromkeys((batch.name for batch in batches), 0)
    asked = list(ids)
    for start in range(0, len(asked), _AT_ONCE):
        for memory in snapshot.get(asked[start : start + _AT_ONCE], Lens(FAR)):
            counts[ids[memory.id]] += 1
    return counts


def read_journals(paths: Iterable[Path]) -> Told:
    """What writers said that they were about to do, and what they heard."""
    told = Told()
    for path in paths:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for line in text[: text.rfind("\n") + 1].splitlines():
            entry = json.loads(line)
            if "done" in entry:
                told.done.add(entry["done"])
            elif "refused" in entry:
                told.refused.add(entry["refused"])
            elif "batch" in entry:
                batch = Batch(entry["batch"], entry["size"], entry["namespace"])
                told.begun[batch.name] = batch
    return told


def flaws_of_presence(told: Told, before: Told, counts: dict[str, int]) -> list[tuple[str, str]]:
    """Which promises are broken: `before` was read before the snapshot, `told` after it."""
    flaws = []
    for name, count in counts.items():
        size = told.begun[name].size
        if count not in {0, size}:
            flaws.append(("torn", f"{name}: {count} of {size} are there"))
        if name in before.done and count != size:
            flaws.append(("lost", f"{name}: {count} of {size} are there"))
        if name in told.refused - told.done and count:
            flaws.append(("refused but stored", f"{name}: {count} are there"))
    return flaws


def flaws_of_chain(url: str, namespace: str, schema: str = "memory_mesh") -> list[tuple[str, str]]:
    """Straight from the tables, as their owner: one unbroken chain, one number for each commit."""
    with psycopg.connect(url) as db:
        db.execute(f"SET search_path = {schema}")
        row = db.execute(
            "SELECT count(*), coalesce(max(position), 0), count(DISTINCT prev_hash), "
            "count(DISTINCT seq), coalesce(max(seq), 0), count(DISTINCT id), "
            "(SELECT seq FROM store WHERE namespace = %(name)s), "
            "(SELECT count(*) FROM version v JOIN namespace n USING (ns) WHERE n.name = %(name)s), "
            "(SELECT count(DISTINCT v.memory) FROM version v JOIN namespace n USING (ns) "
            " WHERE n.name = %(name)s) "
            "FROM block b JOIN namespace n USING (ns) WHERE n.name = %(name)s",
            {"name": namespace},
        ).fetchone()
    assert row is not None
    blocks, ends, links, seqs, last, ids, counter, versions, memories = row
    flaws = []
    if not blocks == ends == links == ids:
        flaws.append(("forks", f"{namespace}: {blocks} blocks, {ends} positions, {links} links"))
    if not seqs == last == (counter or 0):
        flaws.append(("gaps", f"{namespace}: {seqs} commits, the last is {last}, told {counter}"))
    if versions != memories or blocks != memories:
        flaws.append(("twice", f"{namespace}: {versions} versions of {memories}, {blocks} blocks"))
    return flaws


def findings(ledger: Ledger, namespace: str) -> list[tuple[str, str]]:
    """What `verify` finds."""
    return [("findings", f"{namespace}: {found}") for found in ledger.verify(namespace).findings]


def recall(number: int) -> Entry:
    """The record of a search."""
    id_, at = f"yamo_recall_{number}", SystemClock().now()
    return Entry(id_, BlockOperation.RECALL, "faults", at, (), "wire", {"use": "search"})
