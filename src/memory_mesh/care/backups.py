"""Backups: a folder with a consistent copy of every namespace, made while others write.

::

    <to>/20261116T203000Z/
        manifest.json                written last: what is here, a hash of each file
        namespaces/<name>.db         each as it was at one moment, checked
        namespaces/<xx>/<name>.db    those that lie so in the store
        system/memory_log.*          the archives of the system memory
        identity, key-record, erasures

Not in it: keys, the index, models, the files of a mirror's state, the copies that migrations left,
and the spool (records of reads that wait for a writer).
"""

import os
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.base.digests import keyed_digest
from memory_mesh.base.typed import replace
from memory_mesh.care import manifest as manifests, store_files
from memory_mesh.care.sqlite import copies
from memory_mesh.ledgers.sqlite import namespace_places
from memory_mesh.model.care import Backup, NamespaceCopy
from memory_mesh.model.errors import InvalidInput, MeshError, NotFound, StoreError, StoreIsDamaged
from memory_mesh.model.ports import Clock
from memory_mesh.platform import moved_marks
from memory_mesh.platform.durable_files import append_locked
from memory_mesh.platform.ids import SystemClock
from memory_mesh.platform.store_urls import need_folder
from memory_mesh.platform.system import make_file, make_folder
from memory_mesh.rules.arguments import shown_namespace

FILE = "erasures"
NAMESPACE, MEMORY, TEXT = "namespace", "memory", "text"  # kinds of lines
_TAG_DIGITS = 16  # of a namespace, in lines about words
_OWN = "own"  # the id of a key that is the identity of what was erased
_LINE = re.compile(rb"(v\d+ [a-z]+ [0-9a-z]+ [0-9a-f]{64} \d{4}-\d\d-\d\d) ([0-9a-f]{8})")
_WORDS, _SUM_DIGITS = 6, 8
_CUT = b" cut"  # behind a line that was cut short

_NAME = re.compile(r"\d{8}T\d{6}Z(?:-\d+)?")
_STAMP = "%Y%m%dT%H%M%SZ"
Tell = Callable[[str], None]


def backup(
    folder: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    keep: int | None = None,
    tell: Tell | None = None,
    clock: Clock | None = None,
) -> Backup:
    """Makes a backup of the store in a folder; `keep` removes all but the newest sound ones.

    A namespace that cannot be copied is named in `missing`, and what `verify` finds in a copy in
    its `findings`; no older backup is removed then. `tell` is given a line of progress.
    """
    store, target = (Path(need_folder(place)).absolute() for place in (folder, to))
    _check(store, target, keep)
    made = (clock or SystemClock()).now().astimezone(UTC)
    with store_files.disk_faults(target):
        swept = store_files.sweep(target, _NAME.fullmatch)
        with store_files.staged(target, made.strftime(_STAMP)) as partial:
            manifest = _filled(partial, store, made, tell or (lambda _: None))
            final = _named(partial, target, made)
        removed = _retired(target, manifest, keep) if keep is not None and manifest.ok else []
    return Backup(
        str(final),
        manifest.store,
        manifest.made,
        sum(held.bytes for held in manifest.files),
        manifest.namespaces,
        manifest.missing,
        tuple(removed),
        tuple(swept),
    )


def _check(store: Path, target: Path, keep: int | None) -> None:
    if keep is not None and keep < 1:
        raise InvalidInput(f"keep is the number of backups that stay, 1 or more, not {keep}")
    moved_marks.refuse_store(store)
    hashes(store)  # with a damaged one the backup could not be restored
    if not copies.is_store(store):
        for wrong in copies.gone(store).values():
            raise StoreIsDamaged(wrong)
        raise NotFound(f"there is no store in {store}, so nothing to back up. Check --db-dir")
    store_files.refuse_file(target)
    if store.resolve() in (target.resolve(), *target.resolve().parents):
        raise InvalidInput(
            f"the backup would lie in {store}, inside the store, and be lost with it; give a "
            "folder elsewhere, best on another disk"
        )


def _filled(partial: Path, store: Path, made: datetime, tell: Tell) -> manifests.BackupManifest:
    """Copies, checks and hashes everything; the manifest comes last."""
    store_files.given_identity(store)
    make_folder(partial / "namespaces")
    kept, missing = _namespaces(partial, store, tell)
    for source in store_files.system_files(store):  # after the ledger: what is archived leaves that
        store_files.copy_file(source, partial / "system" / source.name)
    for name in (*store_files.OWN, FILE):  # that last: it tells of what went meanwhile
        if (store / name).is_file():
            store_files.copy_file(store / name, partial / name)
    names = sorted(
        path.relative_to(partial).as_posix()
        for path in partial.rglob("*")
        if path.is_file()
        and path.name != store_files.MARK
        and path != moved_marks.of_store(partial)
    )
    manifest = manifests.BackupManifest(
        made=made.isoformat(timespec="seconds").replace("+00:00", "Z"),
        store=store_files.identity_of(partial),
        key=store_files.key_of(partial),
        files=tuple(manifests.held(partial, name) for name in names),
        namespaces=tuple(kept),
        missing=tuple(missing),
    )
    manifests.write(partial, manifest)
    return manifest


def _namespaces(
    partial: Path, store: Path, tell: Tell
) -> tuple[list[NamespaceCopy], list[tuple[str, str]]]:
    """Copies and checks each namespace; a damaged one does not keep the others out."""
    kept: list[NamespaceCopy] = []
    missing = list(copies.gone(store).items())
    found = copies.files(store)
    for number, (namespace, source) in enumerate(found.items(), 1):
        line = f"{number} of {len(found)}: {shown_namespace(namespace)}"
        target = partial / source.relative_to(store)
        try:
            _refuse_twin(store, source)
            namespace_places.make_room(target)
            copy = copies.copied(source, target, _steps(line, tell))
        except StoreError as error:
            target.unlink(missing_ok=True)
            if not source.exists():  # deleted meanwhile
                continue
            if not isinstance(error, StoreIsDamaged):
                raise
            missing.append((namespace, str(error)))
            continue
        tell(f"{line}, checking")
        wrong = store_files.findings(partial, namespace, copy.schema)
        kept.append(replace(copy, namespace=namespace, findings=(*copy.findings, *wrong)))
    tell("")
    return kept, missing


def _refuse_twin(store: Path, source: Path) -> None:
    if (other := namespace_places.twin(store / "namespaces", source)) is not None:
        namespace_places.refuse_twin(source, other)


def _steps(line: str, tell: Tell) -> copies.Progress:
    return lambda done, pages: tell(f"{line}, {100 * done // max(1, pages)} %")


def _named(partial: Path, target: Path, made: datetime) -> Path:
    """Gives the backup its name: the time, and a number where one of that time is there."""
    stamp, number = made.strftime(_STAMP), 1
    while True:
        final = target / (stamp if number == 1 else f"{stamp}-{number}")
        if not final.exists():
            try:
                store_files.named(partial, final)
            except OSError:
                if not final.exists():
                    raise
            else:
                return final
        number += 1


def _retired(target: Path, newest: manifests.BackupManifest, keep: int) -> list[str]:
    """Removes the backups of this store that are older than the newest sound ones."""
    if newest.store is None:  # nobody can tell whose the others are
        return []
    own = []
    for path in target.iterdir():
        if _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            try:
                manifest = manifests.read(path)
            except MeshError:  # not ours to judge
                continue
            if manifest.store == newest.store:
                own.append((_order(path.name), path, manifest.ok))
    own.sort(reverse=True)
    sound = [place for place, (_, _, ok) in enumerate(own) if ok][:keep]
    old = own[sound[-1] + 1 :] if len(sound) == keep else []
    for _, path, _ in old:
        store_files.discard(path)
    return [path.name for _, path, _ in old]


def _order(name: str) -> tuple[str, int]:
    stamp, _, number = name.partition("-")
    return stamp, int(number or 1)


# The erasure file: what was erased from a store, so that no backup and no archive brings it back.
#
#     <store>/erasures        0600, only ever appended to, one line for each erasure
#         v1 <kind> <key id> <keyed hash, 64 hexadecimal digits> <UTC date> <CRC-32 of the rest>
#         v1 namespace own 5b0c…e1 2026-11-16 9f3a01bc
#
#         v1 memory own 77ab…03 2026-11-17 40c1e29d
#         v1 text 3f9a1c…0 c041…9e 2026-11-17 81d2a7f0
#
# The kind `memory` is one memory of a namespace: its id under the same key. The kind `text` is the
# keyed digest that keeps words out, behind sixteen digits of the namespace and a turn: an even turn
# keeps them out, an odd one lets them in again.
#
# The kind `namespace` is a whole namespace. Its key is the namespace's own identity: 128 random
# bits that lie in its database and went with it. Only who still has a copy of the namespace can
# tell that a line is about it, a new namespace of the same name is another one, and neither a
# rotated nor a lost key of the store voids the line. A line says neither a name nor a text.
#
# A line that is not what was written is an error for whoever asks what was erased: its erasure
# would no longer hold. Only the last one may have been cut short, before its erasure had begun;
# whoever appends to it ends it with the word `cut`.


def is_erased(folder: Path, identity: str) -> bool:
    """Whether the namespace of this identity (`store.identity`) was erased from a store."""
    return _hash(identity) in hashes(folder)


def record(folder: Path, identity: str) -> None:
    """Notes that a namespace is erased from a store; on the disk when it returns."""
    _note(folder, [(NAMESPACE, _OWN, _hash(identity))])


def record_memories(
    folder: Path, identity: str, ids: Iterable[str], digests: Iterable[bytes], *, back: bool = False
) -> None:
    """Notes erased memories of a namespace, and the digests that keep their words out.

    With `back` the digests keep nothing out any more.
    """
    known = text_digests(folder, identity)
    tag = _hash(identity, TEXT)[:_TAG_DIGITS]
    lines = [(MEMORY, _OWN, _hash(identity, MEMORY, id_)) for id_ in ids]
    for digest in digests:
        turn = known.get(digest, -1) + 1
        lines += [(TEXT, f"{tag}{turn}", digest.hex())] if turn % 2 == int(back) else []
    _note(folder, lines)


def erased_of(
    folder: Path, identities: Sequence[str], ids: Sequence[str]
) -> tuple[list[str], list[bytes]]:
    """Those of a namespace's ids that were erased from a store, and what keeps words out of it."""
    known, out = hashes(folder), list[bytes]()
    for identity in identities:
        out += (each for each, turn in text_digests(folder, identity).items() if turn % 2 == 0)
    return [
        id_ for id_ in ids if any(_hash(identity, MEMORY, id_) in known for identity in identities)
    ], out


def text_digests(folder: Path, identity: str) -> dict[bytes, int]:
    """The digests of words of a namespace, with their turn: an even one keeps them out."""
    tag, found = _hash(identity, TEXT)[:_TAG_DIGITS], dict[bytes, int]()
    for line in _lines(folder).values():
        _, kind, under, digest, *_ = line.decode().split()
        if kind == TEXT and under.startswith(tag):
            turn = int(under.removeprefix(tag))
            found[bytes.fromhex(digest)] = max(turn, found.get(bytes.fromhex(digest), 0))
    return found


def _note(folder: Path, said: Iterable[tuple[str, str, str]]) -> None:
    date = datetime.now(UTC).date().isoformat()
    lines = [f"v1 {kind} {under} {hashed} {date}".encode() for kind, under, hashed in said]
    checked = (line + b" %08x" % zlib.crc32(line) for line in lines)
    _add(folder, {_key(line): line for line in checked})


def carry(source: Path, to: Path) -> int:
    """Adds the lines of one store's erasure file to another's; returns how many were new."""
    return _add(to, _lines(source))


def hashes(folder: Path) -> frozenset[str]:
    """The keyed hash of everything that was erased from a store; none where there is no file."""
    return frozenset(line.split()[3].decode() for line in _lines(folder).values())


def _hash(identity: str, *what: str) -> str:
    said = "\0".join(("erased", *(what or (NAMESPACE,))))
    return keyed_digest(identity.encode(), said.encode()).hex()


def _key(line: bytes) -> bytes:
    """What tells lines apart: all but the date and the checksum."""
    return line.rsplit(b" ", 2)[0]


_NEEDED = (
    "It says what was erased: put it back or mend its rights, or nothing can be restored or "
    "imported without bringing that back"
)


def _lines(folder: Path) -> dict[bytes, bytes]:
    """The lines of a store's file by what they say; raises StoreError if one is damaged."""
    path = folder / FILE
    if namespace_places.no_file(path) is not None:  # a pipe would keep the reader waiting
        raise StoreError(f"{path} cannot be read: it is no file. {_NEEDED}")
    try:
        known, damaged = _parsed(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}. {_NEEDED}") from error
    if damaged:
        raise StoreError(
            f"{path}, line {damaged[0]} is damaged. It says what was erased, and a restore, import "
            "or move could bring that back: put the file back as it is in a backup "
            f"(BACKUP/{FILE}). Without one, remove the line; what it stood for can come back then"
        )
    return known


def _parsed(data: bytes) -> tuple[dict[bytes, bytes], list[int]]:
    """The sound lines of a file by what they say, and the numbers of the damaged ones."""
    known: dict[bytes, bytes] = {}
    damaged: list[int] = []
    *lines, last = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if _is_sound(line):
            known[_key(line)] = line
        elif line and not (line.endswith(_CUT) and _is_cut(line.removesuffix(_CUT))):
            damaged.append(number)
    if _is_sound(last):
        known[_key(last)] = last
    elif not _is_cut(last):
        damaged.append(len(lines) + 1)
    return known, damaged


def _is_sound(line: bytes) -> bool:
    """Whether a line is as it was written."""
    found = _LINE.fullmatch(line)
    return found is not None and int(found[2], 16) == zlib.crc32(found[1])


def _is_cut(line: bytes) -> bool:
    """Whether a line ends before its checksum does: its erasure had not begun."""
    words = line.split()
    return len(words) < _WORDS or len(words[-1]) < _SUM_DIGITS


def _add(folder: Path, lines: Mapping[bytes, bytes]) -> int:
    """Appends the lines that are not there yet; returns how many."""
    if not lines:
        return 0
    path = folder / FILE
    new: list[bytes] = []

    def added(there: bytes) -> bytes:
        known, _ = _parsed(there)
        new.extend(line for each, line in lines.items() if each not in known)
        return _end(there) + b"".join(line + b"\n" for line in new) if new else b""

    try:
        make_folder(folder)
        make_file(path)
        append_locked(path, added)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}. Nothing was erased: free some space, or "
            "mend the rights of the store's folder, and retry"
        ) from error
    return len(new)


def _end(there: bytes) -> bytes:
    """What ends the last line of a file, if it has no end."""
    last = there.rpartition(b"\n")[2]
    if not last:
        return b""
    return _CUT + b"\n" if _is_cut(last) else b"\n"
