"""Writes what another machine of the same person did, through the gates of every write here.

Texts are redacted, scrubbed and embedded anew; words that were erased or rejected here stay out; a
claim that contradicts an active memory goes on record as a conflict, and both stay until the person
decides. One slice is one transaction. Its blocks are of type `sync`, so that nothing of it is sent
out again; only what this machine decides on top of it (a repeated text gives way) is a change of
its own.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import Any, dataclass, fields, replace
from memory_mesh.model import (
    Commit,
    Conflict,
    Draft,
    Memory,
    Observation,
    Outcome,
    Put,
    Resolution,
    Rival,
    Standing,
    Statement,
    Status,
    Wanted,
    Wording,
)
from memory_mesh.rules import trust
from memory_mesh.rules.arguments import WRITE_SLICE
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import Change, change_entry, reasons_of, resolved
from memory_mesh.write.change import changed, others_beside
from memory_mesh.write.prepare import Worded, clean, embed
from memory_mesh.write.rules.contradictions import contradicted
from memory_mesh.write.transaction import on_record, rejected, superseded

SYNC = "sync"  # the type of the blocks
DECIDED = "it was decided on another machine"
_TWICE = "another machine had stored the same words"
_CONCURRENT = "two machines changed the memory at the same time"
_STATED = tuple(field.name for field in fields(Statement))
_MOST_CONFLICTS = 100
_OPEN = (Status.ACTIVE, Status.QUARANTINED, Status.DISPUTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A memory as it shall be here from now on."""

    id: str
    machine: str  # whose change it is
    draft: Draft
    status: Status
    created: datetime
    successor: str | None = None
    before: datetime | None = None  # when its version here began; None: there was none
    copy_of: str | None = None  # the memory whose concurrent edit this is
    known: frozenset[str] = frozenset()  # what its machine has stored: no repetition of those

    @property
    def change(self) -> Change:
        """What its block says."""
        return Change(SYNC, f"as on {self.machine}")


@dataclasses.dataclass(slots=True)
class TakenIn:
    """What became of arrivals."""

    written: int = 0
    refused: dict[str, str] = dataclasses.field(
        default_factory=dict
    )  # ids, with the reason of the gate
    changed_meanwhile: bool = False  # something was left for the next round


def take_in(access: Access, arrivals: Sequence[Arrival]) -> TakenIn:
    """Writes arrivals in slices; one that states a claim is judged alone, beside what is there."""
    taken, part = TakenIn(), list[Arrival]()
    for arrival in arrivals:
        if arrival.draft.claim is not None:
            _write(access, [arrival], taken)
            continue
        part.append(arrival)
        if len(part) == WRITE_SLICE:
            _write(access, part, taken)
            part = []
    _write(access, part, taken)
    return taken


def keep_out(access: Access, digests: Mapping[bytes, str]) -> None:
    """Writes keyed digests of words that the person erased on another machine."""

    def decide(standing: Standing) -> Commit:
        entry = change_entry(access, standing, "none", Change(SYNC, "words stay out"), {})
        return Commit(tombstones=tuple(digests.items()), entries=(replace(entry, memories=()),))

    access.ledger.commit(access.namespace, Wanted(), decide)


def _write(access: Access, arrivals: Sequence[Arrival], taken: TakenIn) -> None:
    if not arrivals:
        return
    cleaned = [clean(access, arrival.draft) for arrival in arrivals]
    ids = tuple(arrival.id for arrival in arrivals)
    with access.ledger.read(access.namespace) as snapshot:
        here = snapshot.standing(Wanted(ids=ids)).memories
        pending = {
            id_: [
                *snapshot.conflicts(_MOST_CONFLICTS, pending=True, memory=id_),
                *snapshot.conflicts(_MOST_CONFLICTS, pending=True, existing=id_),
            ]
            for id_ in here
        }
    news = [
        id_ not in here or here[id_].text != draft.text
        for id_, (draft, *_) in zip(ids, cleaned, strict=True)
    ]
    worded = embed(access, cleaned, news=news)
    named = {one.successor for one in arrivals} | {one.copy_of for one in arrivals}
    wanted = Wanted(
        ids=(*ids, *(id_ for id_ in named if id_)),
        twins=tuple((wording.hash, draft.scope) for draft, wording in worded),
    )
    decisions: list[_Decision] = []

    def decide(standing: Standing) -> Commit:
        decisions[:] = [
            _decided(access, arrival, one, standing, frozenset(ids))
            for arrival, one in zip(arrivals, worded, strict=True)
        ]
        return _joined(decisions, pending, standing)

    access.ledger.commit(access.namespace, wanted, decide)
    for arrival, decision in zip(arrivals, decisions, strict=True):
        taken.written += bool(decision.commit.puts)
        taken.changed_meanwhile |= decision.late
        if decision.refused:
            taken.refused[arrival.id] = decision.refused


@dataclass(frozen=True, slots=True)
class _Decision:
    """What one arrival changes, or why it changes nothing."""

    commit: Commit = Commit()
    refused: str = ""
    late: bool = False


def _joined(
    decisions: Sequence[_Decision], pending: Mapping[str, Sequence[Conflict]], standing: Standing
) -> Commit:
    """One commit; what was decided elsewhere waits here no more."""
    parts = [decision.commit for decision in decisions]
    puts = {put.memory.id: put for part in parts for put in part.puts}
    over = {
        conflict.id: conflict
        for put in puts.values()
        if put.memory.status not in _OPEN
        for conflict in pending.get(put.memory.id, ())
    }
    settled = resolved([*over.values()], Resolution.KEEP_BOTH, DECIDED, standing)
    return Commit(
        puts=tuple(puts.values()),
        observations=tuple(each for part in parts for each in part.observations),
        entries=tuple(each for part in parts for each in part.entries),
        conflicts=(*(each for part in parts for each in part.conflicts), *settled),
        reread=tuple(id_ for part in parts for id_ in part.reread),
        relinked=tuple(id_ for part in parts for id_ in part.relinked),
    )


def _decided(
    access: Access, arrival: Arrival, worded: Worded, standing: Standing, batch: frozenset[str]
) -> _Decision:
    old = standing.memories.get(arrival.id)
    if (None if old is None else old.recorded_from) != arrival.before:
        return _Decision(late=True)  # somebody changed it here: that change goes first
    if old is None and arrival.status is Status.DELETED:
        return _Decision()
    said = {name: getattr(worded[0], name) for name in _STATED}
    said["source"] = replace(
        worded[0].source, kind=trust.lowest((worded[0].source.kind, access.kind))
    )
    there = standing.memories.keys() | batch
    said["successor"] = arrival.successor if arrival.successor in there else None
    said |= {"status": arrival.status, "status_today": arrival.status}
    if arrival.status is not Status.DELETED and (why := rejected(access, worded[0], standing)):
        return _Decision(refused=why)
    if old is None:
        twins = standing.twins.get((worded[1].hash, worded[0].scope), ())
        others = [twin for twin in twins if twin.id not in batch | arrival.known]
        return _Decision(_new(access, arrival, worded[1], said, (standing, others)))
    new = replace(old, **said, recorded_from=standing.at)
    change = replace(arrival.change, wording=worded[1])
    return _Decision(changed(access, standing, old, new, change, contradicts=True))


def _new(
    access: Access,
    arrival: Arrival,
    wording: Wording,
    said: Mapping[str, Any],
    beside: tuple[Standing, Sequence[Memory]],
) -> Commit:
    """A memory that was not here: its first version, what repeats it, what it contradicts."""
    standing, twins = beside
    memory = Memory(
        id=arrival.id,
        created=min(arrival.created, standing.at),
        recorded_from=standing.at,
        **said,
    )
    change, puts, entries = arrival.change, list[Put](), []
    twin = next((twin for twin in twins if twin.status is memory.status is Status.ACTIVE), None)
    if twin is not None and _age(twin) < _age(memory):
        hidden = Status.SUPERSEDED
        memory = replace(memory, status=hidden, status_today=hidden, successor=twin.id)
        change = Change("supersede", _TWICE)
    elif twin is not None:
        put, closed = superseded(access, twin, memory, standing)
        puts, entries = [put], [closed]
    entry = change_entry(
        access,
        standing,
        memory.id,
        change,
        {"machine": arrival.machine, "content_sha256": wording.hash.hex()},
    )
    reasons = reasons_of(entry)
    seen = Observation(
        memory.id,
        wording.hash,
        Outcome.QUARANTINED if memory.status is Status.QUARANTINED else Outcome.STORED,
        f"machine:{arrival.machine}",
        reasons=reasons,
    )
    return Commit(
        puts=(Put(memory, wording, reasons), *puts),
        observations=(seen,),
        entries=(entry, *entries),
        conflicts=tuple(_conflicts(access, arrival, memory, standing)),
    )


def _age(memory: Memory) -> tuple[datetime, str]:
    return memory.created, memory.id


def _conflicts(
    access: Access, arrival: Arrival, memory: Memory, standing: Standing
) -> list[Conflict]:
    """What waits for the person: an active memory that says otherwise, or the other edit."""
    against: list[tuple[Memory, str]] = []
    if memory.status is Status.ACTIVE and memory.claim is not None:
        beside = others_beside(memory, standing)
        against = [
            (one, "two machines know different values") for one in contradicted(memory, beside)
        ]
    if arrival.copy_of is not None and (other := standing.memories.get(arrival.copy_of)):
        against.append((other, _CONCURRENT))
    now = standing.at
    return [
        on_record(
            access,
            memory,
            Rival(one, trust.trust_of(memory, now), trust.trust_of(one, now), why),
            standing,
        )
        for one, why in against
    ]
