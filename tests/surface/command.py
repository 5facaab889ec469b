"""The command line as a user meets it: a process with a home of its own.

It is forked from one that has loaded the command line, unless its start is what matters: then a
test asks for `real`, or states variables that only a new interpreter reads.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import memory_mesh
from tests import fork_server
from tools import terminal

SCRIPT = Path(sys.executable).with_name("memory-mesh")
MODULE = (sys.executable, "-m", "memory_mesh")
PACKAGE = Path(memory_mesh.__file__).parent
PATIENCE = 300


@dataclass(frozen=True, slots=True)
class Ran:
    """What a process left behind."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Runs commands in one home and one working folder."""

    home: Path
    start: tuple[str, ...] = MODULE
    variables: Mapping[str, str] = field(default_factory=dict)
    forks: bool = True
    loaded: tuple[str, ...] = ()  # modules of others that take long to load

    @property
    def store(self) -> Path:
        return self.home / ".local/share/memory-mesh"

    def __call__(self, *words: str, stdin: bytes = b"", cwd: Path | None = None) -> Ran:
        if self.is_forked:
            code, out, err = fork_server.output_of(
                self._argv(words),
                stdin=stdin,
                cwd=cwd or self.home,
                variables=self.environment,
                loaded=self.loaded,
            )
            return Ran(code, out.decode(), err.decode())
        done = subprocess.run(
            [*self.start, *words],
            input=stdin,
            capture_output=True,
            cwd=cwd or self.home,
            env=self.environment,
            timeout=PATIENCE,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def shell(self, line: str) -> Ran:
        """Run a line as it stands in the documentation."""
        name, *words = shlex.split(line)
        assert name == "memory-mesh"
        return self(*words)

    def stored(self, content: str, *words: str) -> str:
        """Store a memory; its id."""
        done = self("store", "--content", content, *words)
        assert done.code == 0, done.err
        return done.out.split()[-1]

    def on_terminal(self, *words: str) -> Ran:
        """Run with standard output and standard error on a pseudo-terminal, as one text."""
        if self.is_forked:
            code, shown = terminal.shown(lambda tty: self._on(tty, words))
        else:
            command = [*self.start, *words]
            code, shown = terminal.on_terminal(command, self.home, self.environment)
        return Ran(code, shown.replace("\r\n", "\n"), "")

    @property
    def real(self) -> "CommandLine":
        """The same with a new interpreter for each command."""
        return replace(self, forks=False)

    @property
    def is_forked(self) -> bool:
        known = self.start in {MODULE, (str(SCRIPT),)}
        return self.forks and known and fork_server.can_run(self.variables)

    def _argv(self, words: Sequence[str]) -> list[str]:
        first = str(SCRIPT) if self.start == (str(SCRIPT),) else str(PACKAGE / "__main__.py")
        return [first, *words]

    def _on(self, tty: int, words: tuple[str, ...]) -> int:
        with Path(os.devnull).open("rb") as nothing:
            return fork_server.run(
                self._argv(words),
                streams=(nothing.fileno(), tty, tty),
                cwd=self.home,
                variables=self.environment,
                loaded=self.loaded,
            )

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "MEMORY_MESH_EMBEDDER": "none",  # tests about meaning state another one
            "MEMORY_MESH_OWN_NAMES": "off",  # tests about names state some
            **self.variables,
        }
