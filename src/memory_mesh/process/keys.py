"""The key behind a store's placeholders: one file per store, never inside the store's folder.

    <key folder>/<identity>.key      0600, one line per key: id, 64 hexadecimal digits, date
    <store>/identity                 says which key file is the store's

Whoever copies a store without its key file gets placeholders and no way to test guesses against
them. The last line is the key in use; the lines above it are what `rotate` leaves behind.
"""

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.errors import InvalidInput, StoreError, StoreIsBusy
from memory_mesh.fastdataclass import dataclass
from memory_mesh.process.homes import expanded
from memory_mesh.process.locks import held, still_at
from memory_mesh.process.private import make_folder, new_file

_APP = "memory-mesh"
KEY_FOLDER = "MEMORY_MESH_KEY_DIR"
IDENTITY = "identity"
_HEAD = "# The key of a memory-mesh store. Keep it secret, and back it up apart from the store.\n"
_KEY_BYTES, _ID_BYTES, _PARTS = 32, 4, 3
_DRAFT_BYTES = 6  # of a random name
_OTHERS, _OTHERS_WRITE = 0o077, 0o022
_PATIENCE = 100  # looks at a file another process is just writing, a hundredth of a second apart


@dataclass(frozen=True, slots=True)
class Key:
    """One line of a key file."""

    id: str
    secret: bytes
    made: str

    def __repr__(self) -> str:
        return f"Key(id={self.id!r}, made={self.made!r})"

    @property
    def line(self) -> str:
        """Returns the key as a line of the file."""
        return f"{self.id} {self.secret.hex()} {self.made}\n"


class KeyFile:
    """The keys of one store; the file is made when a key is first asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, folder: Path, environment: Mapping[str, str] | None = None) -> "KeyFile":
        """The key file of the store in a folder, which is given an identity if it has none."""
        keys = key_folder(os.environ if environment is None else environment)
        if folder.resolve() in (keys.resolve(), *keys.resolve().parents):
            raise InvalidInput(
                f"the keys would lie in {keys}, inside the store they protect;"
                f" set {KEY_FOLDER} to a folder outside {folder}"
            )
        return cls(keys / f"{_identity(folder)}.key")

    @property
    def newest(self) -> Key:
        """The key in use."""
        return self.keys()[-1]

    def keys(self) -> list[Key]:
        """Every key, the oldest first."""
        try:
            lines = self._found()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise StoreError(
                f"the key file {self.path} cannot be read or made: {reason};"
                f" {KEY_FOLDER} names another folder"
            ) from error
        if not lines:
            raise StoreError(f"the key file {self.path} holds no key; restore it from a backup")
        return [self._parsed(line) for line in lines]

    def rotate(self) -> Key:
        """Adds a new key for new placeholders; old placeholders stay as they are."""
        self.keys()
        key, whole = _new_key(), self.path.read_bytes().endswith(b"\n")
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, f"{'' if whole else os.linesep}{key.line}".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return key

    def _found(self) -> list[str]:
        """The lines of the file, which is made if there is none."""
        if not self.path.exists():
            make_folder(self.path.parent)
            _publish(self.path, _HEAD + _new_key().line)
        elif self.path.stat().st_nlink > 1:  # its maker was killed before the draft was gone
            _sweep(self.path)
        self._check_private()
        for _ in range(_PATIENCE):
            if lines := self._lines():
                return lines
            time.sleep(0.01)
        return []

    def _check_private(self) -> None:
        if sys.platform == "win32":
            return
        if self.path.stat().st_mode & _OTHERS:
            raise StoreError(
                f"the key file {self.path} can be read by others; run: chmod 600 '{self.path}'"
            )
        if self.path.parent.stat().st_mode & _OTHERS_WRITE:
            folder = self.path.parent
            raise StoreError(
                f"the key folder {folder} can be written by others; run: chmod 700 '{folder}'"
            )

    def _lines(self) -> list[str]:
        text = self.path.read_text(encoding="utf-8")
        return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]

    def _parsed(self, line: str) -> Key:
        parts = line.split()
        try:
            secret = bytes.fromhex(parts[1]) if len(parts) == _PARTS else b""
        except ValueError:
            secret = b""
        if len(secret) != _KEY_BYTES:
            raise StoreError(
                f"the key file {self.path} has a line that is no key; restore it from a backup"
            )
        return Key(parts[0], secret, parts[2])


def key_for(folder: Path, environment: Mapping[str, str] | None = None) -> bytes:
    """The secret of the store in a folder, made at the first call."""
    return KeyFile.of(folder, environment).newest.secret


def key_folder(environment: Mapping[str, str]) -> Path:
    """Where keys lie by the platform's convention; never where stores do."""
    if environment.get(KEY_FOLDER):
        stated = expanded(environment[KEY_FOLDER], environment)
        if not stated.is_absolute():  # each working folder would have keys of its own
            raise InvalidInput(f"{KEY_FOLDER} must be an absolute path, not {stated}")
        return stated
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform == "win32":
        return Path(environment.get("APPDATA") or home / "AppData" / "Roaming") / _APP / "keys"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / f"{_APP}-keys"
    stated = Path(environment.get("XDG_CONFIG_HOME", ""))
    return (stated if stated.is_absolute() else home / ".config") / _APP / "keys"


def _identity(folder: Path) -> str:
    path = folder / IDENTITY
    if not path.exists():
        make_folder(folder)
        _publish(path, os.urandom(16).hex() + "\n")
    elif path.stat().st_nlink > 1:  # its maker was killed before the draft was gone
        _sweep(path)
    for _ in range(_PATIENCE):
        if (text := path.read_text(encoding="utf-8")).endswith("\n"):
            break
        time.sleep(0.01)
    identity = text.strip()
    if not identity.isascii() or not identity.isalnum():
        raise StoreError(f"{path} is damaged; restore it from a backup of the store")
    return identity


def _new_key() -> Key:
    made = datetime.now(UTC).date().isoformat()
    return Key(os.urandom(_ID_BYTES).hex(), os.urandom(_KEY_BYTES), made)


def _publish(path: Path, content: str) -> None:
    """Creates the whole file, unless another process created it first.

    A draft is locked while its process lives: one that can be locked was left by a killed one.
    """
    _sweep(path)
    while not _drafted(path, content):
        pass  # a process that sweeps took the draft for a killed one's


def _drafted(path: Path, content: str) -> bool:
    """Writes a draft and gives it its name; False if somebody else has the draft."""
    draft = path.with_name(f".{path.name}.{os.urandom(_DRAFT_BYTES).hex()}")
    descriptor = new_file(draft, os.O_RDWR)
    if descriptor is None:
        return False
    try:
        with held(draft, descriptor, 0.0):  # of an open file: nobody signs what becomes the key
            if not still_at(draft, descriptor):
                return False
            _link(descriptor, draft, path, content)
            return True
    except StoreIsBusy:
        return False
    finally:
        os.close(descriptor)


def _link(descriptor: int, draft: Path, path: Path, content: str) -> None:
    """Fills the draft and gives it its name."""
    try:
        _write(descriptor, content)
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links; readers wait until the file is whole
        if (own := new_file(path, os.O_WRONLY)) is not None:
            try:
                _write(own, content)
            finally:
                os.close(own)
    finally:
        with suppress(OSError):
            draft.unlink()


def _sweep(path: Path) -> None:
    """Removes the drafts of a file whose processes were killed; each may be the key itself."""
    for left in path.parent.glob(f".{path.name}.*"):
        if len(left.name) != len(path.name) + 2 + 2 * _DRAFT_BYTES:
            continue
        with suppress(OSError, StoreIsBusy):
            descriptor = os.open(left, os.O_RDONLY)
            try:
                with held(left, descriptor, 0.0):  # of an open file: nothing is written to it
                    left.unlink()
            finally:
                os.close(descriptor)


def _write(descriptor: int, content: str) -> None:
    os.write(descriptor, content.encode())
    os.fsync(descriptor)
