"""The key behind a store's placeholders: one file per store, never inside the store's folder.

    <key folder>/<identity>.key      0600, one line per key: id, 64 hexadecimal digits, date
    <store>/identity                 says which key file is the store's

Whoever copies a store without its key file gets placeholders and no way to test guesses against
them. The last line is the key in use; the lines above it are what `rotate` leaves behind.
"""

import errno
import os
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.errors import InvalidInput, StoreError, StoreIsFull
from memory_mesh.fastdataclass import dataclass
from memory_mesh.process import drafts
from memory_mesh.process.homes import expanded
from memory_mesh.process.private import make_folder

_APP = "memory-mesh"
KEY_FOLDER = "MEMORY_MESH_KEY_DIR"
IDENTITY = "identity"
_HEAD = "# The key of a memory-mesh store. Keep it secret, and back it up apart from the store.\n"
_KEY_BYTES, _ID_BYTES, _PARTS = 32, 4, 3
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
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
            raise self._refused(error) from error
        if not lines:
            raise StoreError(f"the key file {self.path} holds no key; restore it from a backup")
        return [self._parsed(line) for line in lines]

    def rotate(self) -> Key:
        """Adds a new key for new placeholders; old placeholders stay as they are."""
        self.keys()
        key = _new_key()
        try:
            whole = self.path.read_bytes().endswith(b"\n")
            drafts.append(self.path, f"{'' if whole else os.linesep}{key.line}")
        except OSError as error:
            raise self._refused(error) from error
        return key

    def _found(self) -> list[str]:
        """The lines of the file, which is made if there is none."""
        if not self.path.exists():
            make_folder(self.path.parent)
            drafts.publish(self.path, _HEAD + _new_key().line)
        elif self.path.stat().st_nlink > 1:  # its maker was killed before the draft was gone
            drafts.sweep(self.path)
        self._check_private()
        for _ in range(_PATIENCE):
            if lines := self._lines():
                return lines
            time.sleep(0.01)
        return []

    def _refused(self, error: OSError | UnicodeDecodeError) -> StoreError:
        return _refused(self.path, error, f"{KEY_FOLDER} names another folder for keys")

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
    try:
        identity = _identity_text(path).strip()
    except OSError as error:
        raise _refused(
            path, error, "check the disk and the rights of the store's folder"
        ) from error
    except UnicodeDecodeError:
        identity = ""
    if not identity.isascii() or not identity.isalnum():
        raise StoreError(f"{path} is damaged; restore it from a backup of the store")
    return identity


def _identity_text(path: Path) -> str:
    """What the file says, which is made if there is none."""
    if not path.exists():
        make_folder(path.parent)
        drafts.publish(path, os.urandom(16).hex() + "\n")
    elif path.stat().st_nlink > 1:  # its maker was killed before the draft was gone
        drafts.sweep(path)
    for _ in range(_PATIENCE):
        if (text := path.read_text(encoding="utf-8")).endswith("\n"):
            break
        time.sleep(0.01)
    return text


def _new_key() -> Key:
    made = datetime.now(UTC).date().isoformat()
    return Key(os.urandom(_ID_BYTES).hex(), os.urandom(_KEY_BYTES), made)


def _refused(path: Path, error: OSError | UnicodeDecodeError, do: str) -> StoreError:
    """The error for a file that cannot be read or made, with what to do."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return StoreIsFull(f"the disk is full, and {path} was not made: free some space and retry")
    reason = getattr(error, "strerror", None) or "it is no text"
    return StoreError(f"{path} cannot be read or made: {reason}; {do}")
