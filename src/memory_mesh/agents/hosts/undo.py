"""The record of an installation: what it changed, and how it is taken back.

The record is written before the first change, so that an installation that was interrupted can be
undone too. A file that nobody else changed gets its old bytes back; in one that somebody did
change, only our members are taken out. A file that we made in our own folder always goes.

Changes of files that belong to a host are planned and shown first, then written as a whole.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.formats import json_text
from memory_mesh.model import InvalidInput, Json
from memory_mesh.platform import durable_files, system

_OURS = "memory-mesh"
_HOOK = "memory-mesh-hook"
BACKUPS = "backup"
_RECORD = "undo.json"


@dataclass(frozen=True, slots=True)
class Member:
    """One member that we put into a JSON file of the host, or one entry of a list of its own."""

    path: tuple[str, ...]
    value: Json
    scaffold: bool = False  # a file that holds nothing else counts as empty
    in_list: bool = False  # the value is an entry of the list there, which calls our hook

    @property
    def ours(self) -> bool:
        """True if nobody else has a use for the member, whatever its value is now."""
        return any(_OURS in name for name in self.path)


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a file holds and what it is to hold; None where there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    members: tuple[Member, ...] = ()
    piece: str = ""  # the text that we put into a file that is no JSON

    def lines(self) -> Iterator[str]:
        """Yields the difference as lines of a unified diff; of a removed file only its name."""
        if self.after is None:
            yield f"--- {self.path} (removed)"
            return
        before, after = (_lines(data) for data in (self.before, self.after))
        old = "/dev/null" if self.before is None else str(self.path)
        for line in unified_diff(before, after, old, str(self.path), lineterm=""):
            yield line.rstrip("\r\n")


def current(path: Path) -> bytes | None:
    """Returns the bytes of a file, or None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def whole(path: Path, data: bytes) -> FileChange:
    """Plans a file that is ours as a whole."""
    return FileChange(path, current(path), data)


def with_members(path: Path, members: Sequence[Member]) -> FileChange:
    """Plans to put members into a JSON file; InvalidInput names a file that cannot be read."""
    before = current(path)
    text = text_of(path, before)
    try:
        for member in members:
            value = _listed(text, member) if member.in_list else member.value
            if json_text.value_at(text, member.path) != (value,):
                text = json_text.with_member(text, member.path, value=value)
    except InvalidInput as error:
        raise BrokenFile(path, error) from None
    return FileChange(path, before, text.encode() if text else None, tuple(members))


def with_piece(own: Path, path: Path, piece: str) -> FileChange:
    """Plans to put a text at the end of a file, or in the place of the one that stands there."""
    before = current(path)
    text = text_of(path, before)
    known = str(_Record.read(own).files.get(str(path), {}).get("piece") or "")
    if known and known in text:
        piece = known[: len(known) - len(known.lstrip("\n"))] + piece
        text = text.replace(known, piece, 1)
    else:
        piece = "\n" * (bool(text) + bool(text and not text.endswith("\n"))) + piece
        text += piece
    return FileChange(path, before, text.encode(), piece=piece)


def _listed(text: str, member: Member) -> list[Json]:
    """Returns the entries of others in a list, with ours behind them."""
    return [*_others(text, member), member.value]


def _others(text: str, member: Member) -> list[Json]:
    found = json_text.value_at(text, member.path)
    listed = found[0] if found and isinstance(found[0], list) else []
    return [each for each in listed if _HOOK not in json.dumps(each)]


def members_of(path: Path) -> dict[str, Json]:
    """Returns the object in a JSON file; an empty one if there is no file."""
    try:
        return json_text.read_object(text_of(path, current(path)))
    except InvalidInput as error:
        raise BrokenFile(path, error) from None


def apply(change: FileChange) -> None:
    """Writes, replaces or removes the file of a change."""
    if change.before == change.after:
        return
    if change.after is None:
        change.path.unlink(missing_ok=True)
        durable_files.sync_folder(change.path.parent)
        return
    change.path.parent.mkdir(parents=True, exist_ok=True)
    durable_files.write_atomically(change.path, change.after)


def text_of(path: Path, data: bytes | None) -> str:
    """Returns what a file holds as text; an empty text if there is no file."""
    try:
        return (data or b"").decode()
    except UnicodeDecodeError:
        raise BrokenFile(path, "it is not UTF-8") from None


class BrokenFile(InvalidInput):
    """A file of the host that is broken already, so that nothing was written."""

    def __init__(self, path: Path, why: object, kind: str = "JSON") -> None:
        super().__init__(
            f"{os.fspath(path)} cannot be changed, because it is not valid {kind}: {why}. Nothing "
            f"was written. Mend the file{' (comments are not JSON either)' * (kind == 'JSON')} and "
            "run this again"
        )
        self.path: Path = path
        self.why: str = str(why)


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)


@dataclass(frozen=True, slots=True)
class Undoing:
    """What an undo will change, and what a person should know about it."""

    changes: tuple[FileChange, ...]
    notes: tuple[str, ...]
    partly: tuple[Path, ...] = ()  # files that lose our part, and keep what somebody changed


def write(own: Path, changes: Sequence[FileChange]) -> None:
    """Writes the changes, after a backup and the record that undoes them."""
    _check_unchanged(changes)
    record = _Record.read(own)
    made = [str(each) for change in changes for each in _missing(change.path.parent, own)]
    record.folders[:] = list(dict.fromkeys([*record.folders, *made]))
    system.make_folder(own / BACKUPS)
    for change in changes:
        record.note(change)
    record.write()
    for change in changes:
        apply(change)


def undoing(own: Path) -> Undoing | None:
    """Plans how to take an installation back; None if there is none."""
    if not (own / _RECORD).is_file():
        return None
    record = _Record.read(own)
    found = [_undone(Path(path), entry, record) for path, entry in record.files.items()]
    changing = [(change, note) for change, note in found if change.before != change.after]
    return Undoing(
        tuple(change for change, _ in changing),
        tuple(note for _, note in found if note),
        tuple(change.path for change, note in changing if note),
    )


def written(own: Path) -> list[Path]:
    """Returns the files that an installation changed; none if there is none."""
    return [Path(each) for each in _Record.read(own).files]


def undo(own: Path, planned: Undoing) -> None:
    """Takes an installation back: the files, the record, and the folders that were made for it."""
    _check_unchanged(planned.changes)
    record = _Record.read(own)
    for change in planned.changes:
        apply(change)
    for path in [*(own / BACKUPS).glob("*"), own / _RECORD]:
        path.unlink(missing_ok=True)
    for name in record.files:
        _remove_empty(Path(name).parent, below=own)
    for folder in [str(own / BACKUPS), str(own), *reversed(record.folders)]:
        with suppress(OSError):  # somebody put a file there
            Path(folder).rmdir()


def without_member(own: Path, change: FileChange, name: tuple[str, ...]) -> FileChange:
    """Adds to a plan that a member which an earlier installation put there is taken back."""
    record = _Record.read(own)
    entry = record.files.get(str(change.path), {})
    text = (change.after or b"").decode()
    for member in _stated_members(entry):
        if member.path == name:
            text = _taken_out(text, (record.before(entry) or b"").decode(), member)
    return FileChange(change.path, change.before, text.encode() or None, change.members)


@dataclass(frozen=True, slots=True)
class _Record:
    """What was changed, as it is kept on disk."""

    own: Path
    folders: list[str]
    files: dict[str, dict[str, Json]]

    @classmethod
    def read(cls, own: Path) -> "_Record":
        data = current(own / _RECORD)
        if data is None:
            return cls(own, [], {})
        try:
            plain = json.loads(data)
            return cls(own, list(plain["folders"]), dict(plain["files"]))
        except (ValueError, KeyError, TypeError):
            raise InvalidInput(
                f"{own / _RECORD} is damaged. The first backups are in {own / BACKUPS}: compare "
                "them with the files by hand"
            ) from None

    def note(self, change: FileChange) -> None:
        """Keeps what is needed to undo a change; the first backup of a file stays."""
        known = self.files.get(str(change.path))
        members = {each.path: each for each in _stated_members(known or {})}
        members |= {each.path: each for each in change.members}
        self.files[str(change.path)] = {
            "before": known["before"] if known else self._backup(change),
            "after": _digest(change.after),
            "mixed": known is not None and _mixed(known, change.before),
            "members": [
                [list(each.path), each.value, each.scaffold, each.in_list]
                for each in members.values()
            ],
            "piece": change.piece,
        }

    def before(self, entry: Mapping[str, Json]) -> bytes | None:
        """Returns what a file held before the installation."""
        name = entry["before"]
        return None if name is None else (self.own / BACKUPS / str(name)).read_bytes()

    def write(self) -> None:
        """Writes the record, for the owner only: a backup may hold a key."""
        plain = {"folders": self.folders, "files": self.files}
        text = json.dumps(plain, ensure_ascii=False, indent=2) + "\n"
        durable_files.write_atomically(self.own / _RECORD, text.encode(), private=True)

    def _backup(self, change: FileChange) -> str | None:
        if change.before is None:
            return None
        name = f"{len(self.files)}-{durable_files.short(change.path.name)}"
        durable_files.write_atomically(self.own / BACKUPS / name, change.before, private=True)
        return name


def _undone(path: Path, entry: Mapping[str, Json], record: _Record) -> tuple[FileChange, str]:
    """Plans how one file is taken back, and what to say about it."""
    now, before = current(path), record.before(entry)
    if now == before:
        return FileChange(path, now, now), ""
    made_by_us = before is None and record.own in path.parents
    if made_by_us or not _mixed(entry, now):
        return FileChange(path, now, before), ""
    piece = str(entry.get("piece") or "")
    if not entry["members"] and piece not in text_of(path, now):
        piece = ""
    if not entry["members"] and not piece:
        return FileChange(path, now, now), f"{path} was changed since and is kept"
    if now is None:
        return FileChange(path, None, None), f"{path} was removed since and is not made again"
    said = f"{path} was changed since: only the part of memory-mesh is taken out"
    if piece:
        above, _, below = text_of(path, now).partition(piece)
        is_joined = above and below and not (above.endswith("\n") or below.startswith("\n"))
        between = "\n" if is_joined else ""
        left = f"{above}{between}{below}".encode()
        return FileChange(path, now, left if left or before is not None else None), said
    old = None if before is None else text_of(path, before)
    try:
        rest = _without_ours(text_of(path, now), old, _stated_members(entry))
    except InvalidInput as error:
        raise BrokenFile(path, error) from None
    after = None if rest is None else rest.encode()
    return FileChange(path, now, after), "" if after == before else said


def _without_ours(text: str, old: str | None, members: Sequence[Member]) -> str | None:
    """Returns a text without our members; None if nothing is left of a file that we made."""
    for member in members:
        if not member.scaffold:
            text = _taken_out(text, old or "", member)
    if old is not None:
        return old if json_text.read_object(text) == json_text.read_object(old) else text
    rest = text
    for member in members:
        rest = json_text.without_member(rest, member.path)
    return text if json_text.read_object(rest) else None


def _taken_out(text: str, old: str, member: Member) -> str:
    """Takes out a member, or gives it its old value; what the user set instead of it stays."""
    found = json_text.value_at(text, member.path)
    if member.in_list and (rest := _others(text, member)):
        return json_text.with_member(text, member.path, value=rest)
    if found is None or (not member.ours and not member.in_list and found != (member.value,)):
        return text
    if was := json_text.value_at(old, member.path):
        return json_text.with_member(text, member.path, value=was[0])
    text = json_text.without_member(text, member.path)
    for depth in range(len(member.path) - 1, 0, -1):
        above = member.path[:depth]
        if json_text.value_at(text, above) == ({},) and json_text.value_at(old, above) is None:
            text = json_text.without_member(text, above)
    return text


def _stated_members(entry: Mapping[str, Json]) -> list[Member]:
    stated = entry.get("members")
    rows = stated if isinstance(stated, list) else []
    return [Member(tuple(path), *rest) for path, *rest in rows]


def _mixed(entry: Mapping[str, Json], now: bytes | None) -> bool:
    """True if somebody else changed the file since we wrote it."""
    return bool(entry["mixed"]) or _digest(now) != entry["after"]


def _check_unchanged(changes: Sequence[FileChange]) -> None:
    """Refuses to write over what somebody wrote while the plan was looked at."""
    for change in changes:
        if current(change.path) != change.before:
            raise InvalidInput(
                f"{change.path} was changed while you looked at the plan. Nothing was written; "
                "run this again"
            )


def _missing(folder: Path, own: Path) -> list[Path]:
    """Returns the folders on the way that do not exist, outermost first, without our own."""
    missing = []
    while not folder.exists():
        if folder != own and own not in folder.parents:
            missing.append(folder)
        folder = folder.parent
    return missing[::-1]


def _remove_empty(folder: Path, *, below: Path) -> None:
    """Removes a folder of ours and those above it that are empty, up to our own."""
    while below in folder.parents:
        with suppress(OSError):
            folder.rmdir()
        folder = folder.parent


def _digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()
