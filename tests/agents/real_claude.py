"""A real Claude Code in a home of its own, against the fake API: sessions, and what they sent."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from memory_mesh.agents.daemon import client
from memory_mesh.agents.request import made
from memory_mesh.model import Memory
from memory_mesh.sync import MemoryMesh
from tests.agents.fake_api import FakeApi, Recorded, ToolUse
from tests.faults.sample import SEED, is_whole
from tests.surface.command import SCRIPT
from tests.until import until

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".ci" / "tools" / "node"
SECONDS = 300  # that a session may take on a busy machine
STORED_SECONDS = 300  # that a capture may take after its session
VERSIONS = ("npm", "newest")  # as plain npm gives it on this Node, and the newest binary
NOWHERE = "http://127.0.0.1:9"  # nothing leaves the machine: every other address ends here


def versions_for(test: str) -> Sequence[str]:
    """Both versions at night; in the gate one: not the same for every test, nor for every tree."""
    return VERSIONS if is_whole() else [VERSIONS[(SEED + crc32(test.encode())) % len(VERSIONS)]]


def binaries() -> dict[str, Path]:
    """The versions of Claude Code that `.ci/agents` installed: plain npm's, and the newest."""
    found = {"npm": TOOLS / "npm/node_modules/.bin/claude"}
    for path in TOOLS.glob("newest/node_modules/@anthropic-ai/claude-code-*/claude"):
        found["newest"] = path
    return {name: path for name, path in found.items() if path.is_file()}


@dataclass(frozen=True, slots=True)
class Session:
    """What one run of the agent said, and sent to the model."""

    id: str
    said: str
    turns: list[Recorded]

    @property
    def first(self) -> Recorded:
        """The first request that the model got."""
        return self.turns[0]


@dataclass(frozen=True, slots=True)
class RealClaude:
    """One installation of Claude Code in an empty home, and one repository to work in."""

    binary: Path
    home: Path
    patient: bool = False
    script: Path = SCRIPT

    @classmethod
    def in_empty_home(cls, binary: Path, folder: Path, *, patient: bool = False) -> "RealClaude":
        """Make a home and a repository with spaces in their names.

        A patient one gives hooks as long as they need: what a test shows beside other work on the
        machine is what they say, not how fast. The budget itself has its own suites.
        """
        home = folder / "a home"
        (home / "work/the shop/.git").mkdir(parents=True)
        return cls(binary, home, patient)

    @property
    def repository(self) -> Path:
        return self.home / "work/the shop"

    @property
    def store(self) -> Path:
        return self.home / ".local/share/memory-mesh"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{self.binary.parent}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "MEMORY_MESH_EMBEDDER": "none",
            "MEMORY_MESH_OWN_NAMES": "off",
            "ANTHROPIC_API_KEY": "dummy",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "HTTPS_PROXY": NOWHERE,
            "HTTP_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1",
            **({"MEMORY_MESH_HOOK_BUDGET_MS": "4500"} if self.patient else {}),
        }

    def mesh(self, *words: str) -> str:
        """Run `memory-mesh` as the user does, in the repository."""
        return self._run([str(self.script), *words], {})

    def claude(self, *words: str, api: str = NOWHERE) -> str:
        """Run a command of `claude`; without an API it can ask no model."""
        return self._run([str(self.binary), *words], {"ANTHROPIC_BASE_URL": api})

    def ask(
        self,
        prompt: str,
        *words: str,
        script: Sequence[str | ToolUse] = (),
        after: Callable[[], object] = bool,
    ) -> Session:
        """Run one session with one prompt; the model thinks until `after` has returned."""
        with FakeApi(script, after=after) as api:
            out = self._run(
                [str(self.binary), "-p", prompt, "--output-format", "json", *words],
                {"ANTHROPIC_BASE_URL": api.url},
            )
            turns = api.turns
        assert turns, f"the model was asked nothing: {out}"
        answer = json.loads(out)
        last = answer[-1] if isinstance(answer, list) else answer
        return Session(last["session_id"], last["result"], turns)

    def stored(self, words: str) -> Memory:
        """Wait until a memory with these words is in the store; a capture is not waited for."""
        end = time.monotonic() + STORED_SECONDS
        while time.monotonic() < end:
            for memory in self.memories():
                if words in memory.text:
                    return memory
            time.sleep(0.1)
        raise AssertionError(f"nothing with {words!r} was stored. {self.log()}")

    def memories(self) -> list[Memory]:
        """Every memory in the store."""
        if not self.store.is_dir():
            return []
        with MemoryMesh(db_dir=self.store, embedder="none") as mesh:
            return mesh.get_all(across=("project", "agent", "session"))

    def log(self) -> str:
        """What hooks and server wrote into their log, for a failed test."""
        path = self.store / "agents/log.jsonl"
        return path.read_text() if path.is_file() else "There is no log of hooks."

    def until_captured(self) -> None:
        """Wait until what the prompt says is in the store: the model may be faster."""
        until(lambda: '"what":"capture"' in self.log().replace(" ", ""), self.log())

    def close(self) -> None:
        """End the daemon of this store, and wait for whatever still writes into this home."""
        end = time.monotonic() + STORED_SECONDS
        while time.monotonic() < end and self._is_busy():
            with suppress(client.NoDaemon):
                client.ask(made("stop", {}, environment=self.environment), seconds=5)
            time.sleep(0.1)

    def _is_busy(self) -> bool:
        """True while a process with this home runs: a capture, or the daemon."""
        home = os.fsencode(self.home)
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                started = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                if home in started:
                    return True
        return False

    def _run(self, words: Sequence[str], more: dict[str, str]) -> str:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.repository,
            env={**self.environment, **more},
            timeout=SECONDS,
            check=False,
        )
        name = os.path.basename(words[0])  # noqa: PTH119  # a name, not a file
        assert done.returncode == 0, f"{name}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout
