"""The erasure file: what was erased from a store, so that no backup and no archive brings it back.

    <store>/erasures        0600, only ever appended to, one line for each erasure
        v1 <kind> <key id> <keyed hash, 64 hexadecimal digits> <UTC date> <CRC-32 of the rest>
        v1 namespace own 5b0c…e1 2026-11-16 9f3a01bc

The kind `namespace` is a whole namespace. Its key is the namespace's own identity: 128 random bits
that lie in its database and went with it. Only who still has a copy of the namespace can tell that
a line is about it, a new namespace of the same name is another one, and neither a rotated nor a
lost key of the store voids the line. A line says neither a name nor a text.

A line that is not what was written is an error for whoever asks what was erased: its erasure would
no longer hold. Only the last one may have been cut short, before its erasure had begun; whoever
appends to it ends it with the word `cut`.
"""

import re
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.errors import StoreError
from memory_mesh.process.digests import keyed_digest
from memory_mesh.process.durable_files import append_locked
from memory_mesh.process.private import make_file, make_folder

FILE = "erasures"
NAMESPACE = "namespace"
_OWN = "own"  # the id of a key that is the identity of what was erased
_LINE = re.compile(rb"(v\d+ [a-z]+ [0-9a-z]+ ([0-9a-f]{64}) \d{4}-\d\d-\d\d) ([0-9a-f]{8})")
_WORDS, _SUM_DIGITS = 6, 8
_CUT = b" cut"  # behind a line that was cut short


def is_erased(folder: Path, identity: str) -> bool:
    """Whether the namespace of this identity (`store.identity`) was erased from a store."""
    return _hash(identity) in hashes(folder)


def record(folder: Path, identity: str) -> None:
    """Notes that a namespace is erased from a store; on the disk when it returns."""
    date = datetime.now(UTC).date().isoformat()
    line = f"v1 {NAMESPACE} {_OWN} {_hash(identity)} {date}".encode()
    _add(folder, {_hash(identity): line + b" %08x" % zlib.crc32(line)})


def carry(source: Path, to: Path) -> int:
    """Adds the lines of one store's erasure file to another's; returns how many were new."""
    return _add(to, _lines(source))


def hashes(folder: Path) -> frozenset[str]:
    """The keyed hash of everything that was erased from a store; none where there is no file."""
    return frozenset(_lines(folder))


def _hash(identity: str) -> str:
    return keyed_digest(identity.encode(), f"erased\0{NAMESPACE}".encode()).hex()


def _lines(folder: Path) -> dict[str, bytes]:
    """The lines of a store's file by their hash; raises StoreError if one is damaged."""
    path = folder / FILE
    try:
        known, damaged = _parsed(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read: {error.strerror}. It says what was erased: mend its rights, "
            "or nothing can be restored or imported without bringing that back"
        ) from error
    if damaged:
        raise StoreError(
            f"{path}, line {damaged[0]} is damaged. It says what was erased, and a restore, import "
            "or move could bring that back: put the file back as it is in a backup "
            f"(BACKUP/{FILE}). Without one, remove the line; what it stood for can come back then"
        )
    return known


def _parsed(data: bytes) -> tuple[dict[str, bytes], list[int]]:
    """The sound lines of a file by their hash, and the numbers of the damaged ones."""
    known: dict[str, bytes] = {}
    damaged: list[int] = []
    *lines, last = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if hashed := _hash_in(line):
            known[hashed] = line
        elif line and not (line.endswith(_CUT) and _is_cut(line.removesuffix(_CUT))):
            damaged.append(number)
    if hashed := _hash_in(last):
        known[hashed] = last
    elif not _is_cut(last):
        damaged.append(len(lines) + 1)
    return known, damaged


def _hash_in(line: bytes) -> str | None:
    """The hash in a line that is as it was written."""
    found = _LINE.fullmatch(line)
    if found is None or int(found[3], 16) != zlib.crc32(found[1]):
        return None
    return found[2].decode()


def _is_cut(line: bytes) -> bool:
    """Whether a line ends before its checksum does: its erasure had not begun."""
    words = line.split()
    return len(words) < _WORDS or len(words[-1]) < _SUM_DIGITS


def _add(folder: Path, lines: Mapping[str, bytes]) -> int:
    """Appends the lines whose hash is not there yet; returns how many."""
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
