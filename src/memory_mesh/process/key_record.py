r"""Which keys a store was written with: a file in the store that names them and holds none.

    <store>/key-record      0600, only ever appended to, one line for each key that was ever in use
        <key id> <the first 16 hexadecimal digits of HMAC-SHA256(secret, "check\0" + identity)>

The last line is the key that the store expects. A store of an earlier version has no record; it
gets one at the next use of its key.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from memory_mesh.fastdataclass import dataclass
from memory_mesh.process.digests import keyed_digest

FILE = "key-record"
_CHECK = 16  # hexadecimal digits
_PARTS = 2


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line of the record."""

    id: str
    check: str

    @classmethod
    def of(cls, id_: str, secret: bytes, identity: str) -> "Recorded":
        """The line for a key of the store with this identity."""
        digest = keyed_digest(secret, b"check\0" + identity.encode())
        return cls(id_, digest.hex()[:_CHECK])


def read(folder: Path) -> list[Recorded]:
    """The keys that the store in a folder was written with, the oldest first; raises OSError."""
    try:
        with open(folder / FILE, "rb") as file:  # noqa: PTH123  # a hook reads it at every prompt
            return _parsed(file.read())
    except FileNotFoundError:
        return []


def add(folder: Path, new: Sequence[Recorded]) -> None:
    """Adds the keys that are not in the record yet, on the disk when it returns; raises OSError."""
    from memory_mesh.process.durable_files import append_locked
    from memory_mesh.process.private import make_file

    def added(there: bytes) -> bytes:
        known = _parsed(there)
        cut = b"\n" if there and not there.endswith(b"\n") else b""
        lines = b"".join(f"{one.id} {one.check}\n".encode() for one in new if one not in known)
        return cut + lines if lines else b""

    path = folder / FILE
    if not os.access(folder, os.W_OK) and not path.exists():
        return  # a store that is only read
    make_file(path)
    append_locked(path, added)


def _parsed(data: bytes) -> list[Recorded]:
    """The whole lines; one that a full disk or a kill cut short says nothing."""
    words = [line.split() for line in data.decode("ascii", "replace").splitlines()]
    return [Recorded(*each) for each in words if len(each) == _PARTS and len(each[1]) == _CHECK]
