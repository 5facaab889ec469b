"""The keys of one store, read when a text first needs them: for all who redact and seal for it."""

import os
import threading
from collections.abc import Mapping
from pathlib import Path

from memory_mesh.base.digests import keyed_digest
from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.platform import forks

if TYPE_CHECKING:
    from memory_mesh.care.key_file import KeyFile, KeyLine
_MARK = 12  # hexadecimal digits of a placeholder
_MOST_MARKS = 65_536  # that are remembered; those of one batch are fewer


class StoreKeys:
    """The keys of one store, shared by all who redact and seal for it in a process."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        """Keep the folder; `environment` says where keys lie, by default that of this process."""
        self._folder, self._environment = folder, environment
        self._ring: Keyring | None = None
        self._former: FormerMarks | None = None

    @property
    def ring(self) -> "Keyring":
        """The keys; what reads them is loaded when a text needs it."""
        if self._ring is None:
            self._ring = Keyring(self._folder, self._environment)
        return self._ring

    @property
    def former(self) -> "FormerMarks":
        """The placeholders of older keys."""
        if self._former is None:
            self._former = FormerMarks()
            forks.protect(self._former)
        return self._former


class Sealer:
    """Turns a value into a digest that says nothing without the store's key.

    Implements `write.access.Seal`. What was sealed before a rotation is asked for under every key.
    """

    def __init__(self, namespace: str, keys: StoreKeys) -> None:
        self._namespace, self._keys = namespace, keys

    def __call__(self, value: str) -> bytes:
        """The value under the key in use, which is read when the first value is sealed."""
        return self._digest(self._keys.ring.keys()[-1], value)

    def under_each(self, value: str) -> list[bytes]:
        """The value under every key of the store, the one in use first."""
        return [self._digest(key, value) for key in reversed(self._keys.ring.keys())]

    def former(self, text: str) -> tuple[str, ...]:
        """The text with the placeholders of each older key; none where there was no rotation."""
        older = len(self._keys.ring.keys()) - 1
        return self._keys.former.texts(text, older) if older else ()

    def _digest(self, key: "KeyLine", value: str) -> bytes:
        return keyed_digest(key.secret, f"seal\0{self._namespace}\0{value}".encode())


# The keys of one store as a process knows them, and what placeholders of older keys look like.
#
# The key file is read again when it has changed, so that a rotation counts at once in every process
# that has the store open. A file that is gone since changes nothing: what was read is still right.


class Keyring:
    """The keys of the store in a folder; they are read, or made, when they are first asked for."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        """Keep the folder; `environment` says where keys lie, by default that of this process."""
        self._folder, self._environment = folder, environment
        self._file: KeyFile | None = None
        self._read: tuple[tuple[int, ...], tuple[KeyLine, ...]] | None = None

    def keys(self) -> "tuple[KeyLine, ...]":
        """Every key, the oldest first; the last is in use."""
        if self._file is None:
            from memory_mesh.care.key_file import KeyFile  # a search in which nothing is secret

            self._file = KeyFile.of(self._folder, self._environment)
        state = _state(self._file.path)
        if self._read is not None and state in {None, self._read[0]}:
            return self._read[1]
        found = tuple(self._file.keys())
        self._read = (state or _state(self._file.path) or (), found)
        return found


class FormerMarks:
    """What the digits of placeholders would be under the older keys of the store.

    The redactor notes them while it has the value; nobody can find them later.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}
        self._changing = threading.Lock()

    def note(self, mark: str, older: tuple[str, ...]) -> None:
        """Takes note of the digits of one value, under the key in use and under each older one."""
        with self._changing:
            self._known[mark] = older
            if len(self._known) > _MOST_MARKS:
                del self._known[next(iter(self._known))]

    def texts(self, text: str, keys: int) -> tuple[str, ...]:
        """The text as so many older keys would have redacted it, that of the oldest first."""
        if not self._known:
            return (text,) * keys
        import re

        def under(number: int) -> str:
            def older(found: re.Match[str]) -> str:
                known = self._known.get(found[0], ())
                return known[number] if number < len(known) else found[0]

            return re.sub(rf"(?<![0-9a-f])[0-9a-f]{{{_MARK}}}(?![0-9a-f])", older, text)

        return tuple(under(number) for number in range(keys))

    def after_fork(self) -> None:
        """A child has its own lock."""
        self._changing = threading.Lock()


def _state(path: Path) -> tuple[int, ...] | None:
    """What changes when the file does; None where it cannot be seen."""
    try:
        found = os.stat(path)  # noqa: PTH116  # asked at every sealed value
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
