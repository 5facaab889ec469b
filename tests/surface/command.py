"""The command line as a user meets it: a real process with a home of its own."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.terminal import on_terminal

SCRIPT = Path(sys.executable).with_name("memory-mesh")
MODULE = (sys.executable, "-m", "memory_mesh")


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

    @property
    def store(self) -> Path:
        return self.home / ".local/share/memory-mesh"

    def __call__(self, *words: str, stdin: bytes = b"", cwd: Path | None = None) -> Ran:
        done = subprocess.run(
            [*self.start, *words],
            input=stdin,
            capture_output=True,
            cwd=cwd or self.home,
            env=self.environment,
            timeout=60,
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
        code, shown = on_terminal([*self.start, *words], self.home, self.environment)
        return Ran(code, shown.replace("\r\n", "\n"), "")

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
