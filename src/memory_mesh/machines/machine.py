"""What a machine knows of itself: its secret key, who it is paired with, how far it has come.

::

    <key folder>/<store>.machine    0600: secret key, name, shared folder, keys of paired machines
    <store>/sync/state.json         origin, how far the store was read and what was written to it
    <store>/sync/records/           every record that counts, as it came: sealed

The secret lies where the key of the store does, never inside the store. What lies in the store can
be lost: then this machine goes on under a new origin, and reads every record again. The same
happens where the store is a copy, or was restored: no number of an origin stands for two records.
"""

import dataclasses
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.care.key_file import MACHINE, KeyFile, key_folder, takes_part
from memory_mesh.machines import records, segments
from memory_mesh.machines.fold import Fold, fold
from memory_mesh.machines.records import Record
from memory_mesh.machines.segments import MachineKey, Segment
from memory_mesh.model import InvalidInput, NotFound, StoreError
from memory_mesh.platform import system
from memory_mesh.platform.durable_files import write_atomically

_SEED = 32
_NAME = re.compile(r"[a-z0-9-]{1,40}")
_RANDOM = 4  # bytes of an origin
NOT_SET_UP = (
    "this store has no shared folder yet. Begin with: memory-mesh sync init FOLDER; on a further "
    "machine: memory-mesh sync join FOLDER --key KEY"
)


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine, as its person set it up for one store."""

    path: Path
    name: str
    folder: str
    key: MachineKey
    paired: Mapping[str, str]  # names by public key: what the person gave here

    @property
    def text(self) -> str:
        """The public key as people carry it to another machine."""
        return segments.key_text(self.name, self.key.public)

    @property
    def own_keys(self) -> dict[str, str]:
        """Every public key that this machine has or had, with its name."""
        keys = (MachineKey((seed,)).public for seed in self.key.seeds)
        return dict.fromkeys(keys, self.name)

    def save(self) -> None:
        """Writes the file, for its owner only."""
        plain = {
            "name": self.name,
            "folder": self.folder,
            "seeds": [seed.hex() for seed in self.key.seeds],
            "paired": dict(self.paired),
        }
        system.make_folder(self.path.parent)
        write_atomically(self.path, json.dumps(plain, indent=1).encode(), private=True)

    def paired_with(self, name: str, public: str) -> "Machine":
        """The machine, paired with one more key, which its person brought here."""
        return replace(self, paired={**self.paired, public: name})

    def with_new_key(self) -> "Machine":
        """The machine with another secret key in use; the former ones still open what is there."""
        return replace(self, key=MachineKey((*self.key.seeds, os.urandom(_SEED))))


def path_of(store: Path, environment: Mapping[str, str]) -> Path:
    """Where the secret of this machine lies for a store; it may not be there."""
    path = KeyFile.of(store, environment).path
    if path.parent.resolve() != key_folder(environment).resolve():
        raise InvalidInput("sync needs a key file of its own for the store, in the key folder")
    return path.with_suffix(MACHINE)


def read(store: Path, environment: Mapping[str, str]) -> Machine:
    """This machine; NotFound where nothing was set up."""
    if not takes_part(store, environment):
        raise NotFound(NOT_SET_UP)
    path = path_of(store, environment)
    known = segments.state_json(path)
    key = MachineKey(tuple(bytes.fromhex(seed) for seed in known["seeds"]))
    return Machine(path, known["name"], known["folder"], key, known["paired"])


def set_up(store: Path, folder: Path, name: str | None, environment: Mapping[str, str]) -> Machine:
    """This machine for a shared folder: as it was, or with a new key."""
    segments.need_nacl()
    path = path_of(store, environment)
    where = str(folder.expanduser().resolve())
    if str(store.resolve()).startswith(where) or where.startswith(str(store.resolve())):
        raise InvalidInput(f"{where} and the store {store} must not lie in each other")
    known = segments.state_json(path)
    called = name or known.get("name") or _own_name()
    if not _NAME.fullmatch(called):
        raise InvalidInput(
            "the name of a machine has small letters, digits and hyphens, at most 40"
        )
    if known:
        machine = replace(read(store, environment), folder=where, name=called)
    else:
        machine = Machine(path, called, where, MachineKey((os.urandom(_SEED),)), {})
    try:
        Path(where).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{where} cannot be made: {error.strerror}") from error
    machine.save()
    system.make_folder(store / "sync" / "records")
    return machine


def _own_name() -> str:
    plain = re.sub(r"[^a-z0-9-]+", "-", platform.node().lower().partition(".")[0]).strip("-")
    return plain[:40] or "machine"


@dataclasses.dataclass(slots=True)
class SyncState:
    """How far this store has come; written after each step of a sync."""

    store: Path
    origin: str
    cursors: dict[str, tuple[int, str, str]] = dataclasses.field(
        default_factory=dict
    )  # of the last block read
    applied: dict[str, int] = dataclasses.field(default_factory=dict)  # by origin
    heads: dict[str, int] = dataclasses.field(
        default_factory=dict
    )  # of namespaces, at the last sync
    looked: dict[str, tuple[int, int]] = dataclasses.field(
        default_factory=dict
    )  # files: size, time
    findings: list[list[str]] = dataclasses.field(
        default_factory=list
    )  # of the last sync, for `status`
    kept_out: list[list[str]] = dataclasses.field(
        default_factory=list
    )  # places of memories that were let in elsewhere, and wait until they are let in here
    altered: list[str] = dataclasses.field(
        default_factory=list
    )  # files that were refused as altered, at the last sync

    @property
    def records(self) -> Path:
        """The folder of the records that count."""
        return self.store / "sync" / "records"

    def save(self) -> None:
        """Writes it, whole or not at all."""
        plain = {
            "origin": self.origin,
            "place": place_of(self.store),
            "cursors": self.cursors,
            "applied": self.applied,
            "heads": self.heads,
            "looked": self.looked,
            "findings": self.findings,
            "kept_out": self.kept_out,
            "altered": self.altered,
        }
        write_atomically(
            self.store / "sync" / "state.json", json.dumps(plain).encode(), private=True
        )


def state_of(store: Path, machine: Machine) -> SyncState:
    """What was kept, or the beginning of a new origin where the store is another one by now."""
    system.make_folder(store / "sync" / "records")
    known = segments.state_json(store / "sync" / "state.json")
    own = segments.fingerprint(machine.key.public)
    if known.get("place") != place_of(store) or not str(known.get("origin")).startswith(own):
        state = SyncState(store, new_origin(machine))
        if known.get("place") == place_of(store):  # the key was changed: the store is the same
            state.cursors, state.applied = known["cursors"], known["applied"]
            state.kept_out = known.get("kept_out", [])
        return state
    return SyncState(
        store,
        known["origin"],
        {name: (int(seq), *rest) for name, (seq, *rest) in known["cursors"].items()},
        known["applied"],
        known["heads"],
        {name: (int(size), int(time)) for name, (size, time) in known["looked"].items()},
        known["findings"],
        known.get("kept_out", []),
        known.get("altered", []),
    )


def new_origin(machine: Machine) -> str:
    """A name for a chain of records that nobody has used."""
    return f"{segments.fingerprint(machine.key.public)}-{os.urandom(_RANDOM).hex()}"


def place_of(store: Path) -> list[str]:
    """What tells this very store from a copy: machine, path, and the folder on its disk."""
    found = store.stat()
    return [platform.node(), str(store.resolve()), f"{found.st_dev}:{found.st_ino}"]


@dataclasses.dataclass(slots=True)
class KeptRecords:
    """The records that count here, as this machine keeps them."""

    segments: dict[tuple[str, int], Segment]
    records: dict[tuple[str, int], Record]
    _folded: Fold | None = None

    def fold(self) -> Fold:
        """What all of them come to; folded anew after a change."""
        if self._folded is None:
            self._folded = fold(self.records.values())
        return self._folded

    def last(self, origin: str) -> int:
        """The number of the last record of an origin; 0 where there is none."""
        return max((seq for of, seq in self.records if of == origin), default=0)

    def lasts(self) -> dict[str, int]:
        """The same of every origin."""
        found: dict[str, int] = {}
        for origin, seq in self.records:
            found[origin] = max(seq, found.get(origin, 0))
        return found

    def put(self, segment: Segment) -> Record:
        """Takes a segment among them."""
        record = segment.record()
        self.segments[record.number], self.records[record.number] = segment, record
        self._folded = None
        return record

    def drop(self, origin: str, seq: int) -> None:
        """Takes the records of an origin from this one on from among them."""
        for number in [each for each in self.records if each[0] == origin and each[1] >= seq]:
            del self.segments[number], self.records[number]
        self._folded = None

    def up_to(self, limits: Mapping[str, int]) -> list[Record]:
        """The records up to these numbers."""
        return [
            record for (origin, seq), record in self.records.items() if seq <= limits.get(origin, 0)
        ]


def kept_in(state: SyncState, machine: Machine) -> KeptRecords:
    """Reads the records that this machine keeps; one that is damaged comes again."""
    kept = KeptRecords({}, {})
    for path in sorted(state.records.glob(f"*{segments.SUFFIX}")):
        try:
            kept.put(segments.opened(path.read_bytes(), machine.key))
        except segments.FileRefused:
            path.unlink(missing_ok=True)
    for origin, last in kept.lasts().items():  # of a chain with a gap what follows comes again
        gap = next((at for at in range(1, last) if (origin, at) not in kept.records), last + 1)
        kept.drop(origin, gap)
    return kept


def after(kept: KeptRecords, origin: str) -> bytes | None:
    """The header of an origin's last record; None before its first."""
    last = kept.last(origin)
    return kept.segments[origin, last].header if last else None


def devices(machine: Machine, known: Mapping[str, str]) -> dict[str, str]:
    """Names by public key of every machine that is trusted: those paired here or by one of them."""
    return {**known, **machine.paired, **machine.own_keys}


def clock_after(all_records: Sequence[Record]) -> int:
    """The clock of the next record: above every one that was seen."""
    return records.latest_clock(all_records) + 1
