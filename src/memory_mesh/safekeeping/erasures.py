"""The erasure file: what was erased from a store, so that no backup and no archive brings it back.

    <store>/erasures        0600, only ever appended to, one line for each erasure
        v1 <kind> <key id> <keyed hash, 64 hexadecimal digits> <UTC date>
        v1 namespace own 5b0c…e1 2026-11-16

The kind `namespace` is a whole namespace. Its key is the namespace's own identity: 128 random bits
that lie in its database and went with it. Only who still has a copy of the namespace can tell that
a line is about it, a new namespace of the same name is another one, and neither a rotated nor a
lost key of the store voids the line. A line says neither a name nor a text.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh import log
from memory_mesh.errors import StoreError
from memory_mesh.process.digests import keyed_digest
from memory_mesh.process.durable_files import append_locked
from memory_mesh.process.private import make_file, make_folder

FILE = "erasures"
NAMESPACE = "namespace"
_OWN = "own"  # the id of a key that is the identity of what was erased
_LINE = re.compile(r"v\d+ [a-z]+ [0-9a-z]+ [0-9a-f]{64} \d{4}-\d\d-\d\d")
_HASH = 3  # its place among the words of a line


def is_erased(folder: Path, identity: str) -> bool:
    """Whether the namespace of this identity (`store.identity`) was erased from a store."""
    return _hash(identity) in hashes(folder)


def record(folder: Path, identity: str) -> None:
    """Notes that a namespace is erased from a store; on the disk when it returns."""
    date = datetime.now(UTC).date().isoformat()
    _add(folder, [f"v1 {NAMESPACE} {_OWN} {_hash(identity)} {date}"])


def carry(source: Path, to: Path) -> int:
    """Adds the lines of one store's erasure file to another's; returns how many were new."""
    return _add(to, _lines(source))


def hashes(folder: Path) -> frozenset[str]:
    """The keyed hash of everything that was erased from a store; none where there is no file."""
    return frozenset(line.split()[_HASH] for line in _lines(folder))


def _hash(identity: str) -> str:
    return keyed_digest(identity.encode(), f"erased\0{NAMESPACE}".encode()).hex()


def _lines(folder: Path) -> list[str]:
    path = folder / FILE
    try:
        return _parsed(path.read_bytes())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read: {error.strerror}. It says what was erased: mend its rights, "
            "or nothing can be restored or imported without bringing that back"
        ) from error


def _parsed(data: bytes) -> list[str]:
    """The lines of a file. What is no line was cut short: its erasure had not begun."""
    stated = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    known = [line for line in stated if _LINE.fullmatch(line)]
    if len(known) < len(stated):
        log.info("erasure file", unreadable=len(stated) - len(known))
    return known


def _add(folder: Path, lines: Iterable[str]) -> int:
    """Appends the lines whose hash is not there yet; returns how many."""
    wanted = {line.split()[_HASH]: line for line in lines}
    if not wanted:
        return 0
    path = folder / FILE
    new: list[str] = []

    def added(there: bytes) -> bytes:
        known = {line.split()[_HASH] for line in _parsed(there)}
        new.extend(line for each, line in wanted.items() if each not in known)
        cut = "\n" if there and not there.endswith(b"\n") else ""
        return f"{cut}{''.join(f'{line}{chr(10)}' for line in new)}".encode() if new else b""

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
