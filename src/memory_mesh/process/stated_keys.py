"""The key of a database where the operator says: in a file, in a variable, or from a command.

    MEMORY_MESH_KEY_FILE       a key file, 0600
    MEMORY_MESH_KEY            the lines of one, or 64 hexadecimal digits
    MEMORY_MESH_KEY_COMMAND    a command that prints either

Nothing here is ever made or changed: processes on many machines use the same key.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory_mesh.errors import InvalidInput, StoreError, WrongKey
from memory_mesh.process import key_record
from memory_mesh.process.keys import IDENTITY, Key, KeyFile

FILE, VALUE, COMMAND = "MEMORY_MESH_KEY_FILE", "MEMORY_MESH_KEY", "MEMORY_MESH_KEY_COMMAND"
LOST = (
    "a database opens only with the key that it was set up with. Get that one from its backup, or "
    "from a machine that has it"
)
STATED = "stated"  # in the place of the date of a key that has none
_SECONDS = 30.0  # that a command may take
_DIGITS = 64
_NAMED = 5  # databases in a message


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

    def rotate(self) -> Key:
        """Raises InvalidInput: whoever keeps the key adds one."""
        raise InvalidInput(
            f"the key is stated by {self.variable}, and nothing was changed: every machine must "
            "get the same keys. Where it is kept, add a line with a new key below the others, give "
            "it to every machine and start the processes again. How such a line is made: "
            "docs/how-to/postgresql.md"
        )

    def replace(self) -> Key:
        """Raises InvalidInput: a database opens with no other key."""
        raise InvalidInput(f"the key is stated by {self.variable}, and nothing was changed: {LOST}")

    def _found(self, recorded: Sequence[key_record.Recorded]) -> list[str]:  # noqa: ARG002
        text = self._text()
        bare = text.strip()
        if len(bare) == _DIGITS and not bare.strip("0123456789abcdefABCDEF"):
            return [f"{bare[:8]} {bare} {STATED}"]
        return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]

    def _all_parsed(self, lines: Sequence[str]) -> list[Key]:
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
    for variable in (FILE, VALUE, COMMAND):
        if value := environment.get(variable):
            return StatedKeys(variable, value, environment)
    return None


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
