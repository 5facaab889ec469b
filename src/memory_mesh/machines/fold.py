"""From a set of records to one state: the same for every machine, in whatever order they came.

::

    records ─▶ without those of revoked keys ─▶ erased ids, digests of words that stay out
            ─▶ of each memory the changes that no other was made upon (its ends)
            ─▶ one end: that is the memory. Several: concurrent edits

Of concurrent edits a delete wins, then the highest clock, then the origin. An end that did not win
and says something else becomes a copy of its own, which waits for review beside the memory. Erased
ids are taken away before anything else is looked at. A pure function of the set.
"""

from collections.abc import Iterable, Mapping

from memory_mesh.base.digests import sha256
from memory_mesh.base.typed import dataclass, field, replace
from memory_mesh.machines.records import (
    Change,
    DeviceChange,
    EraseChange,
    KeepOutChange,
    Place,
    PutChange,
    Record,
    RevokeChange,
    Stamp,
    StoreKeyChange,
)
from memory_mesh.model import Status

_COPY_DIGITS = 12


@dataclass(frozen=True, slots=True)
class FoldedMemory:
    """A memory as all records leave it."""

    stamp: Stamp  # of the change that won
    put: PutChange
    copy_of: Place | None = None  # the memory beside which this concurrent edit waits


@dataclass(frozen=True, slots=True)
class Fold:
    """The state of all machines."""

    memories: Mapping[Place, FoldedMemory] = field(default_factory=dict)
    puts: Mapping[Place, Mapping[Stamp, PutChange]] = field(default_factory=dict)
    erased: frozenset[Place] = frozenset()
    kept_out: Mapping[tuple[str, str], str] = field(default_factory=dict)  # with why
    store_keys: tuple[str, ...] = ()
    devices: Mapping[str, str] = field(default_factory=dict)  # names by key
    ends: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # of revoked keys
    of_origins: Mapping[str, frozenset[str]] = field(default_factory=dict)  # ids that each put


def fold(records: Iterable[Record]) -> Fold:
    """What a set of records comes to."""
    given = sorted(records, key=lambda each: (each.header.clock, *each.number))
    ends = revoked(given)
    made: list[tuple[Stamp, int, Change]] = [
        ((*record.number, number), record.header.clock, change)
        for record in given
        if counts(record, ends)
        for number, change in enumerate(record.changes)
        if change is not None
    ]
    erased = frozenset(each.place for _, _, each in made if isinstance(each, EraseChange))
    puts: dict[Place, dict[Stamp, PutChange]] = {}
    clocks: dict[Stamp, int] = {}
    for stamp, clock, change in made:
        if isinstance(change, PutChange) and change.place not in erased:
            puts.setdefault(change.place, {})[stamp] = change
            clocks[stamp] = clock
    memories: dict[Place, FoldedMemory] = {}
    copies: dict[Place, FoldedMemory] = {}
    for place, known in puts.items():
        winner, beside = _settled(known, clocks)
        memories[place] = FoldedMemory(winner, known[winner])
        copies |= {copy.put.place: copy for copy in (_copy(place, at, known[at]) for at in beside)}
    for place, copy in copies.items():
        if place not in erased:
            memories.setdefault(place, copy)  # one that was decided on has changes of its own
    kept_out = {
        (each.namespace, each.digest): each.why
        for _, _, each in made
        if isinstance(each, KeepOutChange)
    }
    keys = dict.fromkeys(each.line for _, _, each in made if isinstance(each, StoreKeyChange))
    devices = {each.key: each.name for _, _, each in made if isinstance(each, DeviceChange)}
    of_origins: dict[str, set[str]] = {}
    for (_, id_), known in puts.items():
        for origin, _, _ in known:
            of_origins.setdefault(origin, set()).add(id_)
    put_by = {origin: frozenset(ids) for origin, ids in of_origins.items()}
    return Fold(memories, puts, erased, kept_out, tuple(keys), devices, ends, put_by)


def is_news(put: PutChange, shown: Fold, known: Fold) -> bool:
    """Whether a store says something else than the records that it shows.

    Of a memory that they do not have, it is no news that any record had it so: the store is a copy
    or was restored, and what it says is old.
    """
    there = shown.memories.get(put.place)
    if there is not None:
        return not put.says(there.put)
    copy = known.memories.get(put.place)
    old = [*known.puts.get(put.place, {}).values(), *([] if copy is None else [copy.put])]
    return not any(map(put.says, old))


def revoked(given: Iterable[Record]) -> dict[str, Mapping[str, int]]:
    """Which keys count no more, and up to which record of each of their origins they did.

    The records are in the order of their clocks: of two that revoke each other the first counts.
    """
    ends: dict[str, Mapping[str, int]] = {}
    for record in given:
        if counts(record, ends):
            for change in record.changes:
                if isinstance(change, RevokeChange):
                    ends.setdefault(change.key, change.up_to)
    return ends


def counts(record: Record, ends: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether a record is of a key that counted then."""
    limits = ends.get(record.header.key)
    return limits is None or record.header.seq <= limits.get(record.header.origin, 0)


def copy_id(place: Place, stamp: Stamp) -> str:
    """The id of the copy that a concurrent edit becomes: the same on every machine."""
    namespace, id_ = place
    digest = sha256(f"{namespace}\0{id_}\0{stamp}".encode()).hexdigest()[:_COPY_DIGITS]
    return f"{id_.rpartition('_')[0] or 'mem'}_{digest}"


def _settled(
    known: Mapping[Stamp, PutChange], clocks: Mapping[Stamp, int]
) -> tuple[Stamp, list[Stamp]]:
    """Which change of a memory won, and which others stand beside it and say something else."""
    built_upon = {put.after for put in known.values()}
    last = [stamp for stamp in known if stamp not in built_upon] or list(known)
    winner = max(last, key=lambda at: (known[at].is_deleted, clocks[at], at))
    if known[winner].is_deleted:
        return winner, []
    said, beside = list[object](), list[Stamp]()
    at: Stamp | None = winner
    while (
        at is not None and at in known and len(said) <= len(known)
    ):  # what it and those before it said was seen
        said.append(_words(known[at]))
        at = known[at].after
    for stamp in sorted(last, key=lambda at: (clocks[at], at), reverse=True):
        if _words(known[stamp]) not in said:
            said.append(_words(known[stamp]))
            beside.append(stamp)
    return winner, beside


def _words(put: PutChange) -> tuple[object, object]:
    return put.said.get("text"), put.said.get("claim")


def _copy(place: Place, stamp: Stamp, put: PutChange) -> FoldedMemory:
    waits = replace(put, id=copy_id(place, stamp), status=Status.QUARANTINED.value, after=None)
    return FoldedMemory(stamp, waits, place)
