"""One sync: what came is taken in, what was done here goes out, both are folded into the store.

::

    shared folder ─▶ each file checked ─▶ records kept here    named: tampered, missing, garbage
    store ─▶ blocks since the last sync ─▶ changes ─▶ a record of our own
    all records ─▶ fold ─▶ erasures, words that stay out, memories ─▶ store, by the usual writes
    what was erased leaves every record, here and in the folder; files are sealed for new machines

A kill at any point leaves what the next sync goes on with: our record is on this disk before it
counts, and what was not written to the store is written then. Run twice, it changes nothing.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from memory_mesh.base.typed import dataclass, field, replace
from memory_mesh.care import backups, erase
from memory_mesh.care.erase import Ground
from memory_mesh.care.key_file import KeyFile, KeyLine
from memory_mesh.machines import machine as machines, records, segments
from memory_mesh.machines.fold import Fold, FoldedMemory, fold, is_news
from memory_mesh.machines.folder import SharedFolder, away_of
from memory_mesh.machines.machine import Machine
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
from memory_mesh.model import (
    Block,
    BlockOperation,
    Head,
    InvalidInput,
    Memory,
    NotAllowed,
    NotFound,
    SourceKind,
    Status,
    Wanted,
)
from memory_mesh.model.care import SyncedMachine, SyncReport, SyncStatus
from memory_mesh.model.commit import Sought
from memory_mesh.platform.locks import locked
from memory_mesh.write.from_machines import SYNC, Arrival, TakenIn, keep_out, take_in
from memory_mesh.write.rejected_values import ERASED, erased as erased_digests

CEILING = SourceKind.USER_EXPLICIT  # a key that the person paired here earned the person's word
_ROUNDS = 4  # a change that is made here during a sync goes first, in the next round
_PAGE = 256  # blocks, ids, changes of a record
_RECORD_CHARS = 1 << 20  # of the texts of a record, about
_SKILL = "skill"
_MOST_FINDINGS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSite:
    """The store that is brought in step."""

    store: Path
    ground: Callable[[str], Ground]  # of a namespace
    namespaces: Callable[[], Iterable[str]]
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    pause: Callable[[], None] = lambda: None


def run(site: SyncSite, *, idle: bool = False) -> SyncReport:
    """Brings the store and the shared folder in step; `idle` does nothing where nothing is new."""
    machines.read(site.store, site.environment)
    with _held(site.store):
        sync = _Sync(site)
        if idle and sync.is_in_step():
            state = sync.shared.state
            told = tuple(map(": ".join, state.findings))
            return SyncReport(findings=told, altered=len(state.altered))
        return sync.run()


def pair(site: SyncSite, folder: Path, name: str | None, keys: Sequence[str]) -> Machine:
    """Sets this machine up for a shared folder and pairs it with the machines of full keys."""
    given = [segments.read_key_text(text) for text in keys]
    machine = machines.set_up(site.store, folder, name, site.environment)
    for called, public in given:
        if public == machine.key.public:
            raise InvalidInput(
                "this is the key of this very machine; give it that of the other one"
            )
        machine = machine.paired_with(called, public)
    machine.save()
    return machine


def revoke(site: SyncSite, name: str) -> SyncReport:
    """Ends the key of a machine after what came of it so far; its own is replaced by a new one."""
    machines.read(site.store, site.environment)
    with _held(site.store):
        sync = _Sync(site)
        sync.run()
        sync.revoke(name)
        return sync.run()


def own_key(site: SyncSite) -> str:
    """The key of this machine, as people carry it to another one."""
    return machines.read(site.store, site.environment).text


def status(site: SyncSite) -> SyncStatus:
    """Where this machine stands, without changing anything."""
    machine = machines.read(site.store, site.environment)
    state = machines.state_of(site.store, machine)
    kept = machines.kept_in(state, machine)
    away = away_of(Path(machine.folder))
    known = kept.fold()
    names = machines.devices(machine, known.devices)
    lasts: dict[str, int] = {}
    for origin, last in kept.lasts().items():
        mark = origin.partition("-")[0]
        lasts[mark] = lasts.get(mark, 0) + last
    return SyncStatus(
        machine.name,
        machine.text,
        machine.folder,
        tuple(
            SyncedMachine(
                called,
                segments.key_text(called, public),
                lasts.get(segments.fingerprint(public), 0),
                own=public in machine.own_keys,
                revoked=public in known.ends,
            )
            for public, called in sorted(names.items(), key=lambda each: each[1])
        ),
        len(known.memories),
        (*([away] if away else []), *map(": ".join, state.findings)),
        len(state.altered),
    )


@contextmanager
def _held(store: Path) -> Iterator[None]:
    """Lets one sync of a store run at a time."""
    (store / "sync").mkdir(mode=0o700, exist_ok=True)
    with locked(store / "sync" / "lock"):
        yield


class _Sync:
    """One sync, from the folder to the store and back."""

    def __init__(self, site: SyncSite) -> None:
        self.site = site
        machine = machines.read(site.store, site.environment)
        self.shared = SharedFolder(site.store, machine)
        self.report = SyncReport()
        self.kept_out: dict[Place, str] = {}  # memories that wait to be let in here, with why

    def is_in_step(self) -> bool:
        """Whether neither the folder nor a namespace changed since the last sync."""
        return (
            self.shared.listing() == self.shared.state.looked
            and self._heads() == self.shared.state.heads
        )

    def run(self) -> SyncReport:
        """All of it, in rounds until nothing was changed meanwhile."""
        self.shared.need()
        self._check_cursors()
        for _ in range(_ROUNDS):
            heads = self._heads()  # of before: what is written from now on is news the next time
            self.shared.take_in()
            if self._fold_into_store():
                self.shared.state.heads = heads
                break
        self.shared.refresh()
        self.shared.name_missing()
        self.shared.findings |= {
            f"{id_} is kept out": why for (_, id_), why in self.kept_out.items()
        }
        self.shared.state.looked = self.shared.seen
        self.shared.state.findings = self.shared.told()[:_MOST_FINDINGS]
        self.shared.state.altered = sorted(self.shared.altered)
        self.shared.state.save()
        told = tuple(map(": ".join, self.shared.state.findings))
        return replace(self.report, findings=told, altered=len(self.shared.altered))

    def _heads(self) -> dict[str, int]:
        found = {}
        for name in self.site.namespaces():
            with self.site.ground(name).access.ledger.read(name) as snapshot:
                found[name] = snapshot.head().seq
        return found

    def _check_cursors(self) -> None:
        """Begins a new origin where a namespace is not the one that was read: it was restored.

        What was deleted with its namespace is erased on the other machines, too.
        """
        gone = list[Change]()
        for name, (seq, hash_, identity) in list(self.shared.state.cursors.items()):
            found = self.site.ground(name).access.ledger.blocks(name, seq - 1, 1)
            last = [block for block in found if block.seq == seq][-1:]
            if last and (last[0].hash or b"").hex() == hash_:
                continue
            if not backups.is_erased(self.site.store, identity):
                self.shared.begin_origin()
                return
            gone += [
                EraseChange(*place)
                for place in self.shared.kept.fold().memories
                if place[0] == name
            ]
            del self.shared.state.cursors[name]
        self._publish(gone)

    def _changes_here(
        self, name: str, shown: Fold, known: Fold, sought: Iterable[str]
    ) -> tuple[list[Change], dict[str, datetime]]:
        """What was changed in a namespace since the last sync, and since when memories are so."""
        ground = self.site.ground(name)
        with ground.access.ledger.read(name) as snapshot:
            head = snapshot.head()
            last, erased = self._read_blocks(ground, name, head)
            here: dict[str, Memory] = {}
            ids = [*{*last, *sought}]
            for start in range(0, len(ids), _PAGE):
                wanted = Wanted(ids=tuple(ids[start : start + _PAGE]))
                here |= snapshot.standing(wanted).memories
        changes: list[Change] = [
            EraseChange(name, id_) for id_ in erased if (name, id_) not in known.erased
        ]
        digests = backups.text_digests(self.site.store, head.identity) if head.identity else {}
        changes += [
            KeepOutChange(name, digest.hex(), "erased")
            for digest, turn in digests.items()
            if turn % 2 == 0 and (name, digest.hex()) not in known.kept_out
        ]
        for id_ in last:
            winner = shown.memories.get((name, id_))
            if id_ in here:
                put = records.put_of(name, here[id_], None if winner is None else winner.stamp)
                said = erased_digests(ground.access, here[id_]) if digests else ()
                turns = [digests[each] for each in said if each in digests]
                if turns and all(turn % 2 for turn in turns):
                    put = replace(put, let_in=True)
                changes += [put] if is_news(put, shown, known) else []
        return changes, {id_: memory.recorded_from for id_, memory in here.items()}

    def _read_blocks(self, ground: Ground, name: str, head: Head) -> tuple[list[str], list[str]]:
        """Ids whose last block is not of a sync, and erased ones; moves the cursor."""
        last: dict[str, Block] = {}
        erased: dict[str, None] = {}
        cursor, *_ = self.shared.state.cursors.get(name, (0, "", ""))
        while blocks := ground.access.ledger.blocks(name, cursor, _PAGE):
            for block in blocks:
                if (block.seq or 0) > head.seq:
                    return self._of_here(last), list(erased)
                entry = block.entry
                if entry.operation is BlockOperation.ERASE:
                    erased |= dict.fromkeys(id_ for id_ in entry.memories if not _is_skill(id_))
                last |= dict.fromkeys(entry.memories, block)
                cursor = block.seq or 0
                self.shared.state.cursors[name] = (cursor, (block.hash or b"").hex(), head.identity)
            self.site.pause()
        return self._of_here(last), list(erased)

    def _of_here(self, last: Mapping[str, Block]) -> list[str]:
        return [
            id_
            for id_, block in last.items()
            if not _is_skill(id_) and block.entry.metadata.get("type") != SYNC
        ]

    def _about_machines(self, known: Fold) -> list[Change]:
        """Keys of this store and of machines that the others do not know yet."""
        keys = (key.line.strip() for key in self._store_keys())
        own = self.shared.machine
        names = {key: name for key, name in own.paired.items() if key not in known.devices}
        if known.devices.get(own.key.public) != own.name:  # each machine gives its own name
            names[own.key.public] = own.name
        return [
            *(StoreKeyChange(line) for line in keys if line not in known.store_keys),
            *(DeviceChange(name, key) for key, name in names.items() if key not in known.ends),
        ]

    def _store_keys(self) -> Sequence[KeyLine]:
        return self._key_file().keys()

    def _key_file(self) -> KeyFile:
        return KeyFile.of(self.site.store, self.site.environment)

    def _publish(self, changes: Sequence[Change]) -> None:
        """Signs records of these changes, and keeps them here before anybody sees them."""
        for part in _parts(changes):
            clock = machines.clock_after([*self.shared.kept.records.values()])
            lasts = self.shared.kept.lasts()
            origin, key = self.shared.state.origin, self.shared.machine.key
            seen = {name: last for name, last in lasts.items() if name != origin}
            before = machines.after(self.shared.kept, origin)
            header = records.next_header(before, origin, clock=clock, key=key.public, seen=seen)
            segment = segments.made(key, header, part)
            name = segments.file_name(origin, header.seq)
            readers = self.shared.readers()  # of a key that this record ends, too: it is told
            segments.write(self.shared.state.records, name, segments.sealed(segment, readers))
            self.shared.kept.put(segments.read_by(segment, readers))
        self.report = replace(self.report, sent=self.report.sent + len(changes))

    def revoke(self, name: str) -> None:
        """Ends a key; this machine's own is replaced first by one that the others learn of."""
        known = self.shared.kept.fold()
        found = [
            key
            for key, called in machines.devices(self.shared.machine, known.devices).items()
            if name in {called, segments.key_text(called, key)} and key not in known.ends
        ]
        if len(found) != 1:
            some = "more than one machine has" if found else "no paired machine has"
            raise NotFound(f"{some} the name {name}. Give its whole key: memory-mesh sync status")
        mark = segments.fingerprint(found[0])
        ends = {each: at for each, at in self.shared.kept.lasts().items() if each.startswith(mark)}
        if found[0] != self.shared.machine.key.public:
            self._publish([RevokeChange(found[0], ends)])
            paired = {
                key: each for key, each in self.shared.machine.paired.items() if key != found[0]
            }
            self.shared.machine = replace(self.shared.machine, paired=paired)
            self.shared.machine.save()
            return
        new = self.shared.machine.with_new_key()
        old_in_use = replace(new, key=segments.MachineKey((new.key.seeds[-1], *new.key.seeds[:-1])))
        old_in_use.save()  # a kill now loses no key: the next sync takes the one that counts
        ends[self.shared.state.origin] = self.shared.kept.last(self.shared.state.origin) + 1
        self._publish([DeviceChange(new.name, new.key.public), RevokeChange(found[0], ends)])
        self._use(new)

    def _use(self, machine: Machine) -> None:
        machine.save()
        self.shared.machine = machine
        applied, cursors = self.shared.kept.lasts(), self.shared.state.cursors
        self.shared.begin_origin()
        self.shared.state.applied, self.shared.state.cursors = applied, cursors
        self.shared.state.save()

    def _check_own_key(self, known: Fold) -> None:
        """Raises NotAllowed for a machine that was revoked; goes on with a key that replaced it."""
        if self.shared.machine.key.public not in known.ends:
            return
        for seed in self.shared.machine.key.seeds:
            public = segments.MachineKey((seed,)).public
            if public in known.devices and public not in known.ends:
                others = (each for each in self.shared.machine.key.seeds if each != seed)
                self._use(replace(self.shared.machine, key=segments.MachineKey((*others, seed))))
                return
        raise NotAllowed(
            "this machine was revoked: the others refuse what it writes. If it is yours again, "
            f"remove {self.shared.machine.path}, then pair it anew: "
            "memory-mesh sync join FOLDER --key KEY"
        )

    # What all of it comes to.

    def _fold_into_store(self) -> bool:
        """Sends what is new here and writes what is new there; False if something came between."""
        known = self.shared.kept.fold()
        self._check_own_key(known)
        self._key_file().take_in(known.store_keys)
        shown = fold(self._shown())
        sought = _differing(shown, known) | self._waiting(known)
        changes: list[Change] = self._about_machines(known)
        since: dict[Place, datetime] = {}
        for name in sorted({*self.site.namespaces(), *(place[0] for place in sought)}):
            ids = [id_ for of, id_ in sought if of == name]
            made, times = self._changes_here(name, shown, known, ids)
            changes += [each for each in made if not _is_told(each, known)]
            since |= {(name, id_): at for id_, at in times.items()}
        before = self.shared.kept.last(self.shared.state.origin)
        self._publish(changes)
        self.shared.state.save()
        return self._apply(shown, before, since)

    def _waiting(self, known: Fold) -> set[Place]:
        """Memories that were kept out here and not answered: they may be let in by now."""
        return {(of, id_) for of, id_ in self.shared.state.kept_out} & known.memories.keys()

    def _shown(self) -> list[Record]:
        """The records that the store shows: those applied, and its own."""
        limits = {
            **self.shared.state.applied,
            self.shared.state.origin: self.shared.kept.last(self.shared.state.origin),
        }
        return self.shared.kept.up_to(limits)

    def _apply(self, shown: Fold, before: int, since: Mapping[Place, datetime]) -> bool:
        """Writes the difference of both folds to the store, erasures first; True at the end.

        What this machine has just sent, after the record `before`, stands in the store as it is.
        """
        known = self.shared.kept.fold()
        written = self.report
        whole, back = True, list[Change]()
        waiting = self._waiting(known)
        self.kept_out = {}
        places = waiting | {
            place
            for place in _differing(shown, known)
            if (found := known.memories.get(place)) is None
            or found.copy_of is not None
            or found.stamp[0] != self.shared.state.origin
            or found.stamp[1] <= before
        }
        erased = known.erased - shown.erased
        for name in sorted({of for of, _ in places} | {of for of, _ in erased}):
            self._erase(name, erased, shown)
        fresh = known.kept_out.keys() - shown.kept_out.keys()
        for name in sorted({of for of, _ in fresh}):
            digests = {
                bytes.fromhex(each): known.kept_out[name, each] for of, each in fresh if of == name
            }
            turns = self._turns(name)  # what was let in here stays so, under a new origin, too
            digests = {each: why for each, why in digests.items() if turns.get(each, 0) % 2 == 0}
            keep_out(self._ground(name).access, digests)
            self._note_erased(name, (), digests)
        for name in sorted({of for of, _ in places}):
            arrivals = [
                self._arrival(place, shown, known, since)
                for place in sorted(places)
                if place[0] == name and place not in known.erased
            ]
            taken = self._written(name, arrivals, waiting)
            whole &= not taken.changed_meanwhile
            for id_, why in taken.refused.items():
                found = known.memories[name, id_]
                if found.put.let_in and why.startswith(ERASED):
                    self.kept_out[name, id_] = why
                else:
                    back.append(_answer(found, why))
            self.site.pause()
        if whole:
            self.shared.state.applied = self.shared.kept.lasts()
        waits = self.kept_out.keys() if whole else self.kept_out.keys() | waiting
        self.shared.state.kept_out = [[*place] for place in sorted(waits)]
        self._publish(back)
        return whole and written == self.report  # else the next round reads what was written

    def _ground(self, name: str) -> Ground:
        ground = self.site.ground(name)
        return replace(ground, access=replace(ground.access, kind=CEILING, keeps_importance=True))

    def _turns(self, name: str) -> Mapping[bytes, int]:
        """Digests of words that were erased here, and how often that was taken back and said."""
        with self._ground(name).access.ledger.read(name) as snapshot:
            identity = snapshot.head().identity
        return backups.text_digests(self.site.store, identity) if identity else {}

    def _written(
        self, name: str, arrivals: Sequence[Arrival], waiting: Collection[Place]
    ) -> TakenIn:
        taken = take_in(self._ground(name).access, arrivals) if arrivals else TakenIn()
        self.report = replace(
            self.report,
            received=self.report.received + taken.written,
            refused=self.report.refused + sum((name, id_) not in waiting for id_ in taken.refused),
        )
        return taken

    def _arrival(
        self, place: Place, shown: Fold, known: Fold, since: Mapping[Place, datetime]
    ) -> Arrival:
        """A memory as all records leave it; one that counts no more is deleted."""
        found = known.memories.get(place)
        if found is None:  # of a key that was revoked, or of an edit that goes on elsewhere
            was = shown.memories[place]
            found = replace(was, put=replace(was.put, status=Status.DELETED.value))
        put = found.put
        origin = found.stamp[0]
        names = machines.devices(self.shared.machine, known.devices)
        by_mark = {segments.fingerprint(key): called for key, called in names.items()}
        return Arrival(
            id=put.id,
            machine=by_mark.get(origin.partition("-")[0], origin),
            draft=records.draft_of(put),
            status=Status(put.status),
            created=datetime.fromisoformat(put.created),
            successor=put.successor,
            before=since.get(place),
            copy_of=None if found.copy_of is None else found.copy_of[1],
            known=known.of_origins.get(origin, frozenset()),
        )

    def _erase(self, name: str, erased: Iterable[Place], shown: Fold) -> None:
        """Erases what was erased elsewhere, whoever sees it here, with its concurrent edits."""
        ids = {id_ for of, id_ in erased if of == name}
        ids |= {
            id_
            for (of, id_), found in shown.memories.items()
            if of == name and found.copy_of is not None and found.copy_of[1] in ids
        }
        if not ids:
            return
        ground = self._ground(name)
        with ground.access.ledger.read(name) as snapshot:
            here = snapshot.standing(Wanted(ids=tuple(ids))).memories
        for scope in {memory.scope for memory in here.values()}:
            theirs = tuple(id_ for id_, memory in here.items() if memory.scope == scope)
            reader = replace(ground, access=replace(ground.access, reader=scope))
            erase.erase(reader, Sought(ids=theirs), "erased on another machine")
        self._note_erased(name, sorted(ids), ())
        self.report = replace(self.report, erased=self.report.erased + len(here))

    def _note_erased(self, name: str, ids: Iterable[str], digests: Iterable[bytes]) -> None:
        """Notes erasures for backups and archives that are brought back later."""
        with self._ground(name).access.ledger.read(name) as snapshot:
            identity = snapshot.head().identity
        if identity:
            backups.record_memories(self.site.store, identity, ids, digests)


def _parts(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """The changes of one record each."""
    part, size = list[Change](), 0
    for change in changes:
        size += len(str(change.said.get("text"))) if isinstance(change, PutChange) else 0
        part.append(change)
        if len(part) == _PAGE or size > _RECORD_CHARS:
            yield part
            part, size = [], 0
    if part:
        yield part


def _differing(shown: Fold, known: Fold) -> set[Place]:
    """The memories that are not the same in both."""
    places = shown.memories.keys() | known.memories.keys()
    return {
        place
        for place in places
        if shown.memories.get(place) != known.memories.get(place) and place not in known.erased
    }


def _is_told(change: Change, known: Fold) -> bool:
    """Whether all records say it already: two machines erased the same, or made the same of it."""
    match change:
        case EraseChange():
            return change.place in known.erased
        case KeepOutChange():
            return (change.namespace, change.digest) in known.kept_out
        case PutChange():
            return change.place in known.erased
        case _:
            return False


def _answer(found: FoldedMemory, why: str) -> Change:
    """What the others are told of a memory that a gate of this machine keeps out."""
    place = found.put.place
    if why.startswith(ERASED):
        return EraseChange(*place)
    after: Stamp = found.stamp
    return replace(found.put, status=Status.DELETED.value, after=after)


def _is_skill(id_: str) -> bool:
    return id_.startswith(_SKILL)
