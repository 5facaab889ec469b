"""A daemon as a real process, in a home and a runtime folder of its own."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_mesh._version import __version__
from memory_mesh.agents import request as requests
from memory_mesh.agents.daemon import client, place

PATIENCE = 300.0  # seconds: of a machine that is busy with other things
ROOT = str(Path(__file__).parent.parent.parent)
FOREGROUND = """
import sys
sys.path.append(sys.argv[5])
from memory_mesh import _version
_version.__version__ = sys.argv[3]
from memory_mesh.agents import opening as answer
answer._HOMES["note"] = ("tests.surface.daemon_work", "note")
answer._HOMES["slow"] = ("tests.surface.daemon_work", "slow")
answer._HOMES["loaded"] = ("tests.surface.daemon_work", "loaded")
answer._HOMES["break"] = ("tests.surface.daemon_work", "fail")
from memory_mesh.agents.daemon import server
from memory_mesh.agents.daemon.running import serve
server._TICK_SECONDS, server.LINE_SECONDS = 0.2, float(sys.argv[4])
server.ENDING_SECONDS = int(sys.argv[6])
sys.exit(0 if serve(sys.argv[1], float(sys.argv[2])) else 3)
"""


@dataclass
class Place:
    """A home with one store, and the daemons that were started there."""

    home: Path
    runtime: Path
    variables: dict[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "XDG_RUNTIME_DIR": str(self.runtime),
            "MEMORY_MESH_EMBEDDER": "none",
            "MEMORY_MESH_OWN_NAMES": "off",
            **self.variables,
        }

    @property
    def store(self) -> str:
        return place.folder_of(self.environment, str(self.home))

    @property
    def socket(self) -> Path:
        return Path(place.socket_path(self.store, self.environment))

    def request(self, do: str, given: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        made = requests.made(do, given, environment=self.environment, cwd=str(self.home))
        return made | more

    def ask(self, do: str, given: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """The reply to a request."""
        return client.ask(self.request(do, given, **more), seconds=PATIENCE)

    def pid(self) -> int:
        """The process that answers."""
        found: int = self.ask("ping")["pid"]
        self.seen.add(found)
        return found

    def refused(self, *, seconds: float = PATIENCE) -> str:
        """Why nobody answers."""
        try:
            client.ask(self.request("ping"), seconds=seconds)
        except client.NoDaemon as refusal:
            return refusal.reason
        return "answered"

    def started(self) -> int:
        """Starts a detached daemon; its process."""
        found: int = client.ensure(self.store, self.environment, seconds=PATIENCE)["pid"]
        self.seen.add(found)
        return found

    def foreground(
        self,
        *,
        idle: float = 600.0,
        version: str = __version__,
        line: float = 60.0,
        ending: int = 60,
        **more: str,
    ) -> subprocess.Popen[bytes]:
        """Starts a daemon as a child, with four more things that it can do, and waits for it.

        It looks more often than others whether its store and its socket are there.
        """
        words = [self.store, str(idle), version, str(line)]
        process = subprocess.Popen(
            [sys.executable, "-c", FOREGROUND, *words, ROOT, str(ending)],
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
        )
        self.processes.append(process)
        until(lambda: process.poll() is not None or self.serves(process.pid))
        return process

    def serves(self, pid: int) -> bool:
        """Whether this process answers."""
        with suppress(client.NoDaemon):
            return bool(client.ask(self.request("ping"), seconds=1.0)["pid"] == pid)
        return False


def until(true: Callable[[], bool], *, seconds: float = PATIENCE) -> None:
    """Waits until something is so; fails if it does not become so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def lives(pid: int) -> bool:
    """Whether a process runs; one that ended and was not reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


@contextmanager
def in_a_home(folder: Path, **variables: str) -> Iterator[Place]:
    """A home without a daemon; whatever was started there is killed at the end."""
    home = folder / "home"
    home.mkdir()
    runtime = Path(tempfile.mkdtemp(prefix="mm", dir="/tmp"))
    found = Place(home, runtime, variables)
    try:
        yield found
    finally:
        known = place.recorded(found.store)
        for pid in found.seen | ({known[0]} if known else set()):
            if "memory_mesh" in command_of(pid):
                os.kill(pid, signal.SIGKILL)
        for process in found.processes:
            process.kill()
            process.wait()
        shutil.rmtree(runtime)


def command_of(pid: int) -> str:
    """The command line of a process; nothing if there is none."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
