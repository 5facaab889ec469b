"""The shared folder: its files are checked and taken in, and written anew where they must be.

A file that is not taken in is named with the reason: half synced, tampered with, replayed, swapped,
of a machine that is unknown or revoked, or no file of ours at all. A record that was taken in once
counts, whatever the folder says later.
"""

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.machines import machine as machines, records, segments
from memory_mesh.machines.fold import Fold, copy_id, counts
from memory_mesh.machines.machine import KeptRecords, Machine, SyncState
from memory_mesh.machines.records import PutChange, Record, RecordHeader
from memory_mesh.machines.segments import FileRefused, KeyRevoked, NotReadableYet, Segment
from memory_mesh.model import StoreError

_WAYS_OUT = {  # of findings that are one line for all their files
    segments.NOT_PAIRED: "pair it if it is yours (memory-mesh sync join FOLDER --key KEY), or "
    "remove its files",
    segments.REVOKED: "remove its files once all your machines have synced",
}


def away_of(folder: Path) -> str:
    """What is said of a shared folder that is not there; empty where it is."""
    said = f"the shared folder {folder} is not there; connect it, or name another: "
    return "" if folder.is_dir() else f"{said}memory-mesh sync join FOLDER --key KEY"


class SharedFolder:
    """The folder as one machine sees it, and the records that it keeps of it."""

    def __init__(self, store: Path, machine: Machine) -> None:
        segments.need_nacl()
        self.machine = machine
        self.folder = Path(machine.folder)
        self.state: SyncState = machines.state_of(store, machine)
        self.findings: dict[str, str] = {}
        self.altered: set[str] = set()  # files that are not what their machine wrote
        self.seen: dict[str, tuple[int, int]] = {}  # files as they were looked at, or written

    @cached_property
    def kept(self) -> KeptRecords:
        """The records that count here, read when something may be new."""
        return machines.kept_in(self.state, self.machine)

    def need(self) -> None:
        """Raises StoreError where it is not there: a stick that is not plugged in."""
        if away := away_of(self.folder):
            raise StoreError(away)

    def listing(self) -> dict[str, tuple[int, int]]:
        """Size and time of each file, by name; hidden ones are drafts of who syncs the folder."""
        try:
            with os.scandir(self.folder) as found:
                files = [(each.name, each.stat()) for each in found if _is_file(each)]
        except OSError:
            return {}
        return {name: (about.st_size, about.st_mtime_ns) for name, about in files}

    def take_in(self) -> None:
        """Reads every file that is new, until none of the rest can be taken in."""
        listing = self.seen = self.listing()
        self.altered = set()
        self.findings = {
            name: "it is no file of a machine, and is ignored"
            for name in listing
            if not segments.NAMED.fullmatch(name)
        }
        waiting = [
            (found[1], int(found[2]), name)
            for name in sorted(listing)
            if (found := segments.NAMED.fullmatch(name)) is not None
            and not self._is_known(name, (found[1], int(found[2])), listing[name])
        ]
        while waiting:
            known = self.kept.fold()
            trusted = machines.devices(self.machine, known.devices)
            rest = [each for each in waiting if not self._taken(each, trusted, known)]
            if len(rest) == len(waiting):
                return
            waiting = rest

    def _is_known(self, name: str, number: tuple[str, int], about: tuple[int, int]) -> bool:
        looked = None if name in self.state.altered else self.state.looked.get(name)
        return number in self.kept.records and looked == about

    def _taken(self, file: tuple[str, int, str], trusted: Mapping[str, str], known: Fold) -> bool:
        """Takes one file in; one that cannot be, now or ever, is named."""
        origin, seq, name = file
        try:
            data = (self.folder / name).read_bytes()
            segment = segments.opened(data, self.machine.key)
            segments.check_signature(segment, trusted, known.ends)
            self._check_place(segment, origin, seq, known)
            self._keep(segment, name, data)
        except (FileRefused, OSError) as error:
            self.findings[name] = str(error)
            if not isinstance(error, NotReadableYet | KeyRevoked | OSError):
                self.altered.add(name)
            return False
        self.findings.pop(name, None)
        self.altered.discard(name)
        return True

    def _check_place(self, segment: Segment, origin: str, seq: int, known: Fold) -> None:
        """Raises FileRefused unless a segment is the next one of its chain, or is known already."""
        record = segment.record()
        header = record.header
        if (header.origin, header.seq) != (origin, seq):
            raise FileRefused(f"it is record {header.seq} of {header.origin} under another name")
        if not origin.startswith(segments.fingerprint(header.key)):
            raise FileRefused("its machine may not write for this origin")
        there = self.kept.segments.get((origin, seq))
        if there is not None and there.header == segment.header:
            return
        if there is not None and origin != self.state.origin:
            raise FileRefused("another record had this number before, and that one counts")
        if there is not None:
            self._give_way(origin, seq)
        if not counts(record, known.ends):
            raise KeyRevoked
        self._check_next(header)
        if origin == self.state.origin:  # a copy of this store has written it
            self.begin_origin()

    def _check_next(self, header: RecordHeader) -> None:
        """Raises FileRefused unless a record follows the last one of its chain."""
        last = self.kept.last(header.origin)
        if header.seq != last + 1:
            raise NotReadableYet(f"it waits for {segments.file_name(header.origin, last + 1)}")
        before = machines.after(self.kept, header.origin)
        if header.before != ("" if before is None else records.hash_of(before)):
            raise FileRefused("it does not follow the record before it")
        if before is not None and header.clock <= records.read_header(before).clock:
            raise FileRefused("its clock goes back")

    def _give_way(self, origin: str, seq: int) -> None:
        """Drops records whose numbers a copy of this store used; what they say goes out anew."""
        for at in range(seq, self.kept.last(origin) + 1):
            (self.state.records / segments.file_name(origin, at)).unlink(missing_ok=True)
        self.kept.drop(origin, seq)

    def _keep(self, segment: Segment, name: str, data: bytes) -> None:
        """Writes a new segment beside the store; of a known one, bodies that were missing."""
        there = self.kept.segments.get(segment.record().number)
        if there is not None:
            bodies = tuple(
                new if old is None else old
                for old, new in zip(there.bodies, segment.bodies, strict=True)
            )
            if bodies == there.bodies:
                return
            segment = replace(segment, bodies=bodies)
            data = segments.sealed(segment, self.readers())
            segment = segments.read_by(segment, self.readers())
        segments.write(self.state.records, name, data)
        self.kept.put(segment)

    def begin_origin(self) -> None:
        """Goes on under a new origin, and holds all of the store against all records again."""
        self.state.origin = machines.new_origin(self.machine)
        self.state.cursors, self.state.applied = {}, {}

    def readers(self) -> list[str]:
        """The public keys of the machines that may read what is written now."""
        known = self.kept.fold()
        return [
            key for key in machines.devices(self.machine, known.devices) if key not in known.ends
        ]

    def refresh(self) -> None:
        """Takes erased bodies out of every file, seals files for new machines, copies our own."""
        known = self.kept.fold()
        readers = self.readers()
        marks = {segments.fingerprint(key) for key in readers}
        listing = self.listing()

        own = {segments.fingerprint(key) for key in self.machine.own_keys}
        for place, marks_here in ((self.folder, own), (self.state.records, {""})):
            for mark in marks_here:
                for left in place.glob(f".{mark}*.tmp"):  # of a sync that was killed
                    left.unlink(missing_ok=True)
        for (origin, seq), segment in sorted(self.kept.segments.items()):
            name = segments.file_name(origin, seq)
            less = segments.without(segment, self._erased_in((origin, seq), known))
            if less is not None or not marks <= segment.readers:
                data = segments.sealed(less or segment, readers)
                segments.write(self.state.records, name, data)
                self.kept.put(segments.read_by(less or segment, readers))
                self._write(name, data)
            elif name not in listing and origin.partition("-")[0] in own:
                data = (self.state.records / name).read_bytes()
                self._write(name, data)
            elif name in listing and self.state.looked.get(name) != listing[name]:
                self._mend_file(name, segment)

    def _erased_in(self, number: tuple[str, int], known: Fold) -> list[int]:
        """The numbers of a record's changes whose memory, or whose edit alone, was erased."""
        return [
            at
            for at, change in enumerate(self.kept.records[number].changes)
            if isinstance(change, PutChange)
            and not known.erased.isdisjoint(
                {change.place, (change.namespace, copy_id(change.place, (*number, at)))}
            )
        ]

    def _write(self, name: str, data: bytes) -> None:
        """Writes a file of the folder, which is no news then."""
        segments.write(self.folder, name, data)
        about = (self.folder / name).stat()
        self.seen[name] = (about.st_size, about.st_mtime_ns)

    def _mend_file(self, name: str, segment: Segment) -> None:
        """Replaces a file of the folder that says more, or is for fewer machines, than ours."""
        if name in self.findings:
            return
        there = segments.opened((self.folder / name).read_bytes(), self.machine.key)
        if there.bodies != segment.bodies or not segment.readers <= there.readers:
            self._write(name, (self.state.records / name).read_bytes())

    def name_missing(self) -> None:
        """Names records that some machine has seen and that did not come, and withheld changes."""
        seen: dict[str, int] = {}
        for number, record in self.kept.records.items():
            for name, last in record.header.seen.items():
                seen[name] = max(last, seen.get(name, 0))
            if None in record.changes and self._withholds(record):
                name = segments.file_name(*number)
                self.findings[name] = "a change was taken out of it that nobody erased"
                self.altered.add(name)
        for origin, last in seen.items():
            for seq in range(self.kept.last(origin) + 1, last + 1):
                name = segments.file_name(origin, seq)
                self.findings.setdefault(name, "another machine has seen it; it has not come yet")

    def told(self) -> list[list[str]]:
        """The findings in order: one for all files of machines that do not count here."""
        names: dict[tuple[str, str], list[str]] = {}
        lines = list[list[str]]()
        for name, why in sorted(self.findings.items()):
            if why in _WAYS_OUT:
                names.setdefault((name.partition("-")[0], why), []).append(name)
            else:
                lines.append([name, why])
        for (mark, why), files in names.items():
            shown = files[0] if len(files) == 1 else f"{mark}-* ({len(files):,} files)"
            lines.append([shown, f"{why}; {_WAYS_OUT[why]}"])
        return sorted(lines)

    def _withholds(self, record: Record) -> bool:
        """Whether a record lacks a change of a memory that nobody erased."""
        known = self.kept.fold()
        places = {records.tag(place): place for place in (*known.puts, *known.erased)}
        for at, (line, change) in enumerate(zip(record.header.lines, record.changes, strict=True)):
            place = places.get(line.partition(" ")[2])
            if change is None and (
                place is None
                or known.erased.isdisjoint(
                    {place, (place[0], copy_id(place, (*record.number, at)))}
                )
            ):
                return True
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file() and not entry.name.startswith(".")
