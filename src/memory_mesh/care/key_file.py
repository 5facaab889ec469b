"""The key behind a store's placeholders: one file per store, never inside the store's folder.

    <key folder>/<identity>.key      0600, one line per key: id, 64 hexadecimal digits, date
    <store>/identity                 says which key file is the store's
    <store>/key-record               says which keys the store was written with

Whoever copies a store without its key file gets placeholders and no way to test guesses against
them. The last line is the key in use; the lines above it are what `rotate` leaves behind. A store
that was written with a key gets no other one unasked: `WrongKey` says where its own was expected.
"""

import errno
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.base.digests import keyed_digest
from memory_mesh.base.typed import dataclass
from memory_mesh.model.errors import InvalidInput, StoreError, StoreIsFull, WrongKey
from memory_mesh.platform import durable_files, moved_marks, system
from memory_mesh.platform.store_urls import SERVERS, expanded

# Which keys a store was written with: a file in the store that names them and holds none.
#
#     <store>/key-record      0600, only ever appended to, one line for each key that was ever in
# use
#         <key id> <the first 16 hexadecimal digits of HMAC-SHA256(secret, "check\0" + identity)>
#
# The last line is the key that the store expects. A store of an earlier version has no record; it
# gets one at the next use of its key.


RECORD_FILE = "key-record"
_CHECK = 16  # hexadecimal digits
_RECORD_PARTS = 2


@dataclass(frozen=True, slots=True)
class RecordLine:
    """One line of the record."""

    id: str
    check: str

    @classmethod
    def of(cls, id_: str, secret: bytes, identity: str) -> "RecordLine":
        """The line for a key of the store with this identity."""
        return cls(id_, keyed_digest(secret, b"check\0" + identity.encode()).hex()[:_CHECK])


def read(folder: Path) -> list[RecordLine]:
    """The keys that the store in a folder was written with, the oldest first; raises OSError."""
    try:
        with open(folder / RECORD_FILE, "rb") as file:  # noqa: PTH123  # a hook reads it at every prompt
            return _parsed(file.read())
    except FileNotFoundError:
        return []


def add(folder: Path, new: Sequence[RecordLine]) -> None:
    """Adds the keys that are not in the record yet, on the disk when it returns; raises OSError."""

    def added(there: bytes) -> bytes:
        known = _parsed(there)
        cut = b"\n" if there and not there.endswith(b"\n") else b""
        lines = b"".join(f"{one.id} {one.check}\n".encode() for one in new if one not in known)
        return cut + lines if lines else b""

    path = folder / RECORD_FILE
    if not os.access(folder, os.W_OK) and not path.exists():
        return  # a store that is only read
    system.make_file(path)
    durable_files.append_locked(path, added)


def _parsed(data: bytes) -> list[RecordLine]:
    """The whole lines; one that a full disk or a kill cut short says nothing."""
    words = [line.split() for line in data.decode("ascii", "replace").splitlines()]
    return [
        RecordLine(*each) for each in words if len(each) == _RECORD_PARTS and len(each[1]) == _CHECK
    ]


FILE, VALUE, COMMAND = "MEMORY_MESH_KEY_FILE", "MEMORY_MESH_KEY", "MEMORY_MESH_KEY_COMMAND"
LOST = (
    "a database opens only with the key that it was set up with. Get that one from its backup, or "
    "from a machine that has it"
)
STATED = "stated"  # in the place of the date of a key that has none
_SECONDS = 30.0  # that a command may take
_DIGITS = 64
_NAMED = 5  # databases in a message

_APP = "memory-mesh"
KEY_FOLDER = "MEMORY_MESH_KEY_DIR"
IDENTITY = "identity"
MACHINE = ".machine"  # ends the name of the file beside the key that says who this machine is
_HEAD = "# The key of a memory-mesh store. Keep it secret, and back it up apart from the store.\n"
_KEY_BYTES, _ID_BYTES, _PARTS = 32, 4, 3
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_OTHERS, _OTHERS_WRITE = 0o077, 0o022
_RESTORE = "restore it from a backup, or if there is none, run: memory-mesh keys replace"
_UNRECORDED = (
    "{} is missing or names no key, so another key would be taken for the store's. Restore it from "
    "a backup of the store, or if {} is the right key, run: memory-mesh keys"
)
_PATIENCE = 100  # looks at a file another process is just writing, a hundredth of a second apart


@dataclass(frozen=True, slots=True)
class KeyLine:
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

    def __init__(self, path: Path, folder: Path | None = None) -> None:
        """Keep the path, and the folder of the store whose keys they are, if it is known."""
        self.path: Path = path
        self._folder = folder

    @classmethod
    def of(
        cls, folder: Path, environment: Mapping[str, str] | None = None, *, anew: bool = False
    ) -> "KeyFile":
        """The key file of the store in a folder, which is given an identity if it has none.

        One that was written with a key and has lost its identity gets another only `anew`.
        """
        environment = os.environ if environment is None else environment
        on_server = folder.parent.name == SERVERS
        if on_server and (stated := stated_keys(environment)) is not None:
            return stated
        keys = key_folder(environment)
        if folder.resolve() in (keys.resolve(), *keys.resolve().parents):
            raise InvalidInput(
                f"the keys would lie in {keys}, inside the store they protect;"
                f" set {KEY_FOLDER} to a folder outside {folder}"
            )
        return cls(keys / f"{_identity(folder, anew=anew)}.key", folder)

    @property
    def newest(self) -> KeyLine:
        """The key in use."""
        return self.keys()[-1]

    def keys(self) -> list[KeyLine]:
        """Every key, the oldest first."""
        recorded = self.recorded()  # first: whoever makes or rotates a key records it afterwards
        try:
            lines = self._found(recorded)
        except (OSError, UnicodeDecodeError) as error:
            raise self._refused(error) from error
        keys = self._all_parsed(lines)
        self._hold_against_record(keys, recorded)
        return keys

    def recorded(self) -> list[RecordLine]:
        """The keys that the store says it was written with, the oldest first."""
        if self._folder is None:
            return []
        try:
            return read(self._folder)
        except OSError as error:
            path = self._folder / RECORD_FILE
            raise _refused(path, error, "mend its rights, or restore it from a backup") from error

    def rotate(self) -> KeyLine:
        """Adds a new key for new placeholders; old placeholders stay as they are."""
        self.keys()
        key = _new_key()
        self._append(key)
        self._record([key])
        return key

    def replace(self) -> KeyLine:
        """Puts a new key in the place of one that is lost; refuses while the right one is there."""
        key = _new_key()
        try:
            if not self.path.exists():
                system.make_folder(self.path.parent)
                durable_files.publish(self.path, _HEAD + key.line)
            elif not self._is_whole():
                aside = self.path.with_name(f"{self.path.name}.damaged-{key.id}")
                self.path.rename(aside)
                durable_files.publish(self.path, _HEAD + key.line)
            else:
                self._append(key)
        except (OSError, UnicodeDecodeError) as error:
            raise self._refused(error) from error
        self._record([key])
        return key

    def take_in(self, lines: Sequence[str]) -> int:
        """Adds keys of the same person's other machines, which are asked for and not in use."""
        own = self.keys()
        known = {key.id for key in own}
        new = [key for line in lines if (key := self._parsed(line)).id not in known]
        if new:
            text = _HEAD + "".join(key.line for key in (*new, *own))
            durable_files.write_atomically(self.path, text.encode(), private=True)
            self._record(new)
        return len(new)

    def _is_whole(self) -> bool:
        """Whether the file has keys, though not the right one; raises InvalidInput if it has."""
        self._check_private()
        try:
            keys = self._all_parsed(self._lines())
        except (StoreError, UnicodeDecodeError):
            return False
        with suppress(WrongKey):
            self._hold_against_record(keys, self.recorded())
            raise InvalidInput(
                f"the key of this store is in {self.path}: nothing is lost, and nothing was "
                "replaced. To use another key from now on, run: memory-mesh keys rotate"
            )
        return True

    def _hold_against_record(self, keys: Sequence[KeyLine], recorded: Sequence[RecordLine]) -> None:
        """Raises WrongKey if the store was written with another key; else records those in use."""
        if self._folder is None:
            return
        own = [self._line_of(key) for key in keys]
        if recorded and recorded[-1] not in own:
            raise self._wrong(recorded[-1].id, there=True)
        if own[-1] not in recorded:
            self._record([key for key in keys if self._line_of(key) not in recorded])

    def _record(self, keys: Sequence[KeyLine]) -> None:
        """Adds keys to the store's record; where it cannot be written now, the next use does it."""
        if self._folder is not None:
            with suppress(OSError):
                add(self._folder, [self._line_of(key) for key in keys])

    def _line_of(self, key: KeyLine) -> RecordLine:
        return RecordLine.of(key.id, key.secret, self.path.stem)

    def _wrong(self, key_id: str, *, there: bool) -> WrongKey:
        shared = self._folder is not None and self._folder.parent.name == SERVERS
        return WrongKey.expected(
            str(self.path), key_id, there=there, variable=KEY_FOLDER, shared=shared
        )

    def _append(self, key: KeyLine) -> None:
        try:
            whole = self.path.read_bytes().endswith(b"\n")
            durable_files.append(self.path, f"{'' if whole else os.linesep}{key.line}")
        except OSError as error:
            raise self._refused(error) from error

    def _found(self, recorded: Sequence[RecordLine]) -> list[str]:
        """The lines of the file, which is made if there is none and the store never had one."""
        if not self.path.exists():
            if recorded:
                raise self._wrong(recorded[-1].id, there=False)
            system.make_folder(self.path.parent)
            durable_files.publish(self.path, _HEAD + _new_key().line)
        elif self.path.stat().st_nlink > 1:  # its maker was killed before the draft was gone
            durable_files.sweep(self.path)
        self._check_private()
        for _ in range(_PATIENCE):
            if lines := self._lines():
                return lines
            time.sleep(0.01)
        return []

    def _refused(self, error: OSError | UnicodeDecodeError) -> StoreError:
        return _refused(self.path, error, f"{KEY_FOLDER} names another folder for keys")

    def _check_private(self) -> None:
        if not system.MODES:
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

    def _all_parsed(self, lines: Sequence[str]) -> list[KeyLine]:
        if not lines:
            raise StoreError(f"the key file {self.path} holds no key; {_RESTORE}")
        return [self._parsed(line) for line in lines]

    def _parsed(self, line: str) -> KeyLine:
        parts = line.split()
        try:
            secret = bytes.fromhex(parts[1]) if len(parts) == _PARTS else b""
        except ValueError:
            secret = b""
        if len(secret) != _KEY_BYTES:
            raise StoreError(f"the key file {self.path} has a line that is no key; {_RESTORE}")
        return KeyLine(parts[0], secret, parts[2])


def checks(keys: Sequence[KeyLine]) -> list[tuple[str, str]]:
    """What shows which keys these are to who has them, and the id of each, the oldest first."""
    return [(RecordLine.of(key.id, key.secret, "database").check, key.id) for key in keys]


def key_for(folder: Path, environment: Mapping[str, str] | None = None) -> bytes:
    """The secret of the store in a folder, made at the first call."""
    return KeyFile.of(folder, environment).newest.secret


def users_key_ids() -> set[str]:
    """The ids of all keys of this user, of whichever store."""
    files = key_folder(os.environ).glob("*.key")
    return {key.id for path in files for key in keys_in(path)}


def keys_in(path: Path) -> list[KeyLine]:
    """The keys in a file; none if others can read it, or it is damaged: then it proves nothing."""
    try:
        return KeyFile(path).keys()
    except StoreError:
        return []


def key_folder(environment: Mapping[str, str]) -> Path:
    """Where keys lie by the platform's convention; never where stores do."""
    if environment.get(KEY_FOLDER):
        stated = expanded(environment[KEY_FOLDER], environment)
        if not stated.is_absolute():  # each working folder would have keys of its own
            raise InvalidInput(f"{KEY_FOLDER} must be an absolute path, not {stated}")
        return stated
    return Path(system.key_folder(environment))


def takes_part(folder: Path, environment: Mapping[str, str]) -> bool:
    """Whether a store is kept in step with other machines: a look at two files."""
    try:
        identity = (folder / IDENTITY).read_text(encoding="utf-8", errors="replace").strip()
        return bool(identity) and (key_folder(environment) / f"{identity}{MACHINE}").exists()
    except OSError:
        return False


def _identity(folder: Path, *, anew: bool) -> str:
    path = folder / IDENTITY
    if not anew and not path.exists():
        _refuse_second(folder)
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


def _refuse_second(folder: Path) -> None:
    """Raises StoreError if the store has an identity that is not there: it gets no other one."""
    recorded = (folder / RECORD_FILE).exists()
    if not (recorded or had_key(folder)) or (folder / IDENTITY).exists():
        return  # a new store, or another process has just made the identity and then a key
    what = (
        f"{folder / IDENTITY} is missing: it names the store's key file. Restore it"
        if recorded
        else f"{folder / IDENTITY} and {RECORD_FILE} are missing, and the store was written "
        "with a key. Restore both"
    )
    raise StoreError(
        f"{what} from a backup of the store; if there is none, run: memory-mesh keys replace"
    )


def had_key(folder: Path) -> bool:
    """Whether the store in a folder was written with a key, by what it holds."""
    from memory_mesh.ledgers.sqlite import connections  # loads `sqlite3`

    return connections.had_key(folder)


def flaw(folder: Path) -> str | None:
    """What is wrong with the identity and the key record of a store; None if nothing is.

    It makes no file. A key that is not in this home is no flaw of the store.
    """
    if folder.parent.name == SERVERS:
        return None
    try:
        if not (folder / IDENTITY).exists():
            _refuse_second(folder)
            return None
        own = KeyFile.of(folder)
        recorded = own.recorded()
        if recorded and not own.path.exists() and recorded[-1].id in users_key_ids():
            return f"{folder / IDENTITY} names {own.path}, and the store's key is in another file"
        if own.path.exists() and recorded:
            own.keys()
        elif not recorded and had_key(folder):  # else its first use may have been killed
            return _UNRECORDED.format(folder / RECORD_FILE, own.path)
    except StoreError as error:
        return str(error)
    return None


def _identity_text(path: Path) -> str:
    """What the file says, which is made if there is none."""
    if not path.exists():
        moved_marks.refuse_store(path.parent)
        system.make_folder(path.parent)
        durable_files.publish(path, os.urandom(16).hex() + "\n")
    elif path.stat().st_nlink > 1:  # its maker was killed before the draft was gone
        durable_files.sweep(path)
    for _ in range(_PATIENCE):
        if (text := path.read_text(encoding="utf-8")).endswith("\n"):
            break
        time.sleep(0.01)
    return text


def _new_key() -> KeyLine:
    made = datetime.now(UTC).date().isoformat()
    return KeyLine(os.urandom(_ID_BYTES).hex(), os.urandom(_KEY_BYTES), made)


def _refused(path: Path, error: OSError | UnicodeDecodeError, do: str) -> StoreError:
    """The error for a file that cannot be read or made, with what to do."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return StoreIsFull(f"the disk is full, and {path} was not made: free some space and retry")
    reason = getattr(error, "strerror", None) or "it is no text"
    return StoreError(f"{path} cannot be read or made: {reason}; {do}")


# The key of a database where the operator says: in a file, in a variable, or from a command.
#
#     MEMORY_MESH_KEY_FILE       a key file, 0600
#     MEMORY_MESH_KEY            the lines of one, or 64 hexadecimal digits
#     MEMORY_MESH_KEY_COMMAND    a command that prints either
#
# Nothing here is ever made or changed: processes on many machines use the same key.


class StatedKeys(KeyFile):
    """Keys that somebody else keeps."""

    def __init__(
        self, variable: str, value: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """Keep the name and the value of the variable; they are read when asked for.

        A command is run with the variables of `environment` in the place of this process's own.
        """
        super().__init__(Path(value) if variable == FILE else Path(f"{variable.lower()}.key"))
        self.variable: str = variable
        self._value, self._environment = value, environment or {}

    def rotate(self) -> KeyLine:
        """Raises InvalidInput: whoever keeps the key adds one."""
        raise InvalidInput(
            f"the key is stated by {self.variable}, and nothing was changed: every machine must "
            "get the same keys. Where it is kept, add a line with a new key below the others, give "
            "it to every machine and start the processes again. How such a line is made: "
            "docs/how-to/postgresql.md"
        )

    def replace(self) -> KeyLine:
        """Raises InvalidInput: a database opens with no other key."""
        raise InvalidInput(f"the key is stated by {self.variable}, and nothing was changed: {LOST}")

    def _found(self, recorded: Sequence[RecordLine]) -> list[str]:  # noqa: ARG002
        text = self._text()
        bare = text.strip()
        if len(bare) == _DIGITS and not bare.strip("0123456789abcdefABCDEF"):
            return [f"{bare[:8]} {bare} {STATED}"]
        return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]

    def _all_parsed(self, lines: Sequence[str]) -> list[KeyLine]:
        try:
            return super()._all_parsed(lines)
        except StoreError:
            raise WrongKey(
                f"{self.variable} gives no key: it must be 64 hexadecimal digits, or the lines of "
                "a key file"
            ) from None

    def _text(self) -> str:
        if self.variable == VALUE:
            return self._value
        if self.variable == COMMAND:
            return _printed(self._value, self._environment)
        if not self.path.is_file():
            raise WrongKey(f"{FILE} names {self.path}, and there is no such file")
        self._check_private()
        return self.path.read_text(encoding="utf-8")


def stated_keys(environment: Mapping[str, str]) -> StatedKeys | None:
    """The keys that the environment states; None if it states none."""
    return next(
        (
            StatedKeys(variable, value, environment)
            for variable in (FILE, VALUE, COMMAND)
            if (value := environment.get(variable))
        ),
        None,
    )


def need_key(folder: Path, environment: Mapping[str, str]) -> None:
    """Raises WrongKey where neither the environment nor this machine has a key of a database.

    `folder` is that of this machine for the database. Only who sets a database up makes a key.
    """
    if stated_keys(environment) is None and not (folder / IDENTITY).is_file():
        raise WrongKey(
            f"this machine has no key for the database at this address{_others(folder)}. State it "
            f"with {FILE}, {VALUE} or {COMMAND}; or, if the database is new, set it up here: "
            "memory-mesh --store URL setup-server"
        )


def _others(folder: Path) -> str:
    """For which other databases this machine has a key: the address may hold a mistake."""
    known = sorted(
        file.parent.name.rpartition("-")[0] for file in folder.parent.glob(f"*/{IDENTITY}")
    )
    if not known:
        return ""
    if folder.name.rpartition("-")[0] in known:
        return ", but for one of the same name at another host or port: look at the address again"
    return f", but for {', '.join(known[:_NAMED])}: look at the address again"


def _printed(command: str, environment: Mapping[str, str]) -> str:
    import shlex
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603  # the operator's own command
            shlex.split(command),
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise WrongKey(f"{COMMAND} cannot be run: {error}") from None
    if done.returncode != 0:
        raise WrongKey(f"{COMMAND} failed with code {done.returncode}: {done.stderr.strip()}")
    return done.stdout
