"""A host that runs the installed commands for agents, as black boxes, and how long each run took.

::

    bench ── spawn ──▶ memory-mesh-hook, memory-mesh-mcp, or a script that does nothing
              │ the clock runs until the process has ended and its output is closed
              └─ a pipe that nobody writes: it closes when the last detached process has ended

Bytecode is cached in a folder of its own (`PYTHONPYCACHEPREFIX`), which `warmed` fills first.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memory_mesh.agents import journal
from memory_mesh.agents.daemon import client, place
from memory_mesh.platform.projects import project_of
from memory_mesh.sync import MemoryMesh

HOOK = Path(sys.executable).with_name("memory-mesh-hook")
MCP = Path(sys.executable).with_name("memory-mesh-mcp")
BUDGET_MS = 300
PATIENCE_MS = 60_000  # a budget for runs that only warm something up
LIMIT_SECONDS = 60.0
_OURS = "from memory_mesh.agents.hook.main import main"
_NOTHING = "def main() -> int: return 0"


@dataclass(frozen=True, slots=True)
class Run:
    """One process: how it ended, what it printed, and how long it took."""

    code: int | None  # None: it did not end by itself
    said: bytes
    seconds: float

    @property
    def is_whole(self) -> bool:
        """Whether it printed one JSON object, or nothing."""
        try:
            return not self.said or isinstance(json.loads(self.said), dict)
        except ValueError:
            return False


@dataclass
class Host:
    """A home with one store and one project, and the variables of the processes in it."""

    home: Path
    cache: Path
    variables: dict[str, str] = field(default_factory=dict)
    _kept: tuple[int, ...] = ()  # descriptors that every process gets

    def __post_init__(self) -> None:
        """Make the folders."""
        (self.folder / ".git").mkdir(parents=True, exist_ok=True)
        (self.home / "run").mkdir(mode=0o700, exist_ok=True)
        self.home.chmod(0o700)

    @property
    def store(self) -> Path:
        """The store of this home."""
        return self.home / ".local/share/memory-mesh"

    @property
    def folder(self) -> Path:
        """A project: a folder with a repository of its own."""
        return self.home / "shop"

    @property
    def environment(self) -> dict[str, str]:
        """What every process gets; nothing of this one's but the search path."""
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "PYTHONPYCACHEPREFIX": str(self.cache),
            "MEMORY_MESH_EMBEDDER": "none",
            "MEMORY_MESH_OWN_NAMES": "off",
            "MEMORY_MESH_DAEMON": "0",
            **self.variables,
        }

    def mesh(self) -> MemoryMesh:
        """The store as a program of the same user and project opens it."""
        return MemoryMesh(
            db_dir=self.store,
            embedder=self.environment["MEMORY_MESH_EMBEDDER"],
            project=project_of(str(self.folder)),
        )

    def prompt(self, text: str, session: str, **variables: str) -> Run:
        """Runs a hook for one prompt."""
        given = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": session,
            "cwd": str(self.folder),
            "prompt": text,
        }
        return self.run([str(HOOK)], json.dumps(given).encode(), **variables)

    def idle(self) -> Run:
        """Runs the hook's script, as the installer writes it, with nothing of ours in it."""
        script = self.home / "nothing"
        if not script.exists():
            text = HOOK.read_text(encoding="utf-8")
            if _OURS not in text:
                raise SystemExit(f"{HOOK} is no script that imports the hook: install it anew")
            script.write_text(text.replace(_OURS, _NOTHING), encoding="utf-8")
            script.chmod(0o700)
        return self.run([str(script)])

    def bare(self) -> Run:
        """Runs the bare interpreter."""
        return self.run([sys.executable, "-c", "pass"])

    def run(self, command: list[str], given: bytes = b"", **variables: str) -> Run:
        """Runs one process and waits for its end, not for those that it has detached."""
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment | variables,
            cwd=self.folder,
            pass_fds=self._kept,
        )
        try:
            said, _ = process.communicate(given, timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
            return Run(None, said, time.perf_counter() - began)
        return Run(process.returncode, said, time.perf_counter() - began)

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Waits at the end of the block until all processes that were begun in it have ended."""
        reader, writer = os.pipe()
        self._kept = (writer,)
        try:
            yield
        finally:
            self._kept = ()
            os.close(writer)
            select.select([reader], [], [], LIMIT_SECONDS)
            os.close(reader)

    def warmed(self, text: str) -> None:
        """Fills the cache of bytecode, with and without a daemon."""
        patience = {"MEMORY_MESH_HOOK_BUDGET_MS": str(PATIENCE_MS)}
        self.idle()
        self.bare()
        self.prompt(text, "warming", MEMORY_MESH_DAEMON="0", **patience)
        with self.daemon():
            self.prompt(text, "warming too", **patience)

    @contextmanager
    def daemon(self) -> Iterator[int]:
        """A daemon that runs; its process."""
        before = self.variables.get("MEMORY_MESH_DAEMON")
        self.variables["MEMORY_MESH_DAEMON"] = "1"
        try:
            yield self.started()
        finally:
            self.end_all()
            if before is None:
                del self.variables["MEMORY_MESH_DAEMON"]
            else:
                self.variables["MEMORY_MESH_DAEMON"] = before

    def started(self) -> int:
        """The process of the daemon; one is started if there is none."""
        found: int = client.ensure(str(self.store), self.environment, seconds=LIMIT_SECONDS)["pid"]
        return found

    def outcomes(self, count: int) -> dict[str, str]:
        """How each session's last hook ended and why, by the journal."""
        return {
            line["session"]: ": ".join(filter(None, (line["outcome"], line.get("reason"))))
            for line in journal.read(str(self.store), last=count)
            if line["what"] == "hook"
        }

    def end_all(self, *, daemons: bool = True) -> None:
        """Ends the processes of this home: workers that something holds up, and daemons."""
        wanted = f"HOME={self.home}".encode(), os.fsencode(self.store)
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            with suppress(OSError):
                variables = (folder / "environ").read_bytes().split(b"\0")
                words = (folder / "cmdline").read_bytes().split(b"\0")
                ours = os.fsencode(HOOK) in words
                ours = ours or (daemons and b"memory_mesh.agents.daemon" in words)
                if ours and (wanted[0] in variables or wanted[1] in words):
                    os.kill(int(folder.name), signal.SIGKILL)

    def socket(self) -> Path:
        """Where the daemon's socket lies; nothing is there after this call."""
        path = Path(place.socket_path(str(self.store), self.environment))
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
        return path
