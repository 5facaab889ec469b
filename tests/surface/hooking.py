"""A host as the hook meets it: one process per event, with a home and a project of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_mesh.agents import journal
from memory_mesh.agents.daemon import client, place
from memory_mesh.sync import MemoryMesh
from tests import fork_server

HOOK = (sys.executable, "-c", "from memory_mesh.agents.hook.main import main; main()")
ENOUGH_MS = 60_000  # a budget that a busy machine keeps, where the budget is not the matter
PATIENCE = 300.0
PROMPT = "which port does the staging database of the shop use?"
PLANTED = "The staging database of the shop listens on port 6543 behind pgbouncer."


@dataclass(frozen=True, slots=True)
class Said:
    """What a hook left: its exit status and what it printed."""

    code: int
    raw: bytes

    @property
    def whole(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw) if self.raw else {}
        return found

    @property
    def context(self) -> str:
        given: dict[str, str] = self.whole.get("hookSpecificOutput", {})
        return given.get("additionalContext", "")

    @property
    def line(self) -> str | None:
        line: str | None = self.whole.get("systemMessage")
        return line


@dataclass(slots=True)
class Host:
    """Runs hooks, as Claude Code does."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)
    runs: int = 0

    @property
    def store(self) -> Path:
        return self.home / ".local/share/memory-mesh"

    @property
    def folder(self) -> Path:
        """A project: a folder with a repository of its own."""
        folder = self.home / "shop"
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "MEMORY_MESH_EMBEDDER": "none",
            "MEMORY_MESH_OWN_NAMES": "off",
            "MEMORY_MESH_DAEMON": "0",
            "MEMORY_MESH_DAEMON_IDLE_SECONDS": "30",  # one that a hook starts ends by itself
            "MEMORY_MESH_HOOK_BUDGET_MS": str(ENOUGH_MS),
            **self.variables,
        }

    def mesh(self, **options: Any) -> MemoryMesh:
        """The store as a program of the same user and project opens it."""
        return MemoryMesh(db_dir=self.store, embedder="none", project=self.project, **options)

    @property
    def project(self) -> str | None:
        from memory_mesh.platform.projects import project_of

        return project_of(str(self.folder))

    def input(self, event: str, *, session: str = "s1", **facts: object) -> bytes:
        given = {"hook_event_name": event, "session_id": session, "cwd": str(self.folder)}
        return json.dumps({**given, **facts}).encode()

    def __call__(self, event: str, *, session: str = "s1", **facts: object) -> Said:
        """Runs one hook and waits until its worker has written everything down."""
        given = self.input(event, session=session, **facts)
        if fork_server.can_run(self.environment):
            code, out, _ = fork_server.output_of(
                ["memory-mesh-hook"],
                stdin=given,
                cwd=self.folder,
                variables=self.environment,
                program="memory-mesh-hook",
            )
        else:
            done = subprocess.run(
                HOOK,
                input=given,
                stdout=subprocess.PIPE,
                env=self.environment,
                cwd=self.folder,
                timeout=PATIENCE,
                check=False,
            )
            code, out = done.returncode, done.stdout
        self.runs += 1
        self.lines(self.runs)
        return Said(code, out)

    def prompt(self, text: str = PROMPT, *, session: str = "s1") -> Said:
        return self("UserPromptSubmit", session=session, prompt=text)

    def start(self, source: str = "startup", *, session: str = "s1") -> Said:
        return self("SessionStart", session=session, source=source)

    def lines(self, count: int) -> list[dict[str, Any]]:
        """The journal of hooks, as soon as it has so many lines."""
        end = time.monotonic() + PATIENCE
        while True:
            told = [one for one in journal.read(str(self.store)) if one["what"] == "hook"]
            if len(told) >= count:
                return told
            assert time.monotonic() < end, told
            time.sleep(0.01)

    @contextmanager
    def daemon(self) -> Iterator[int]:
        """A daemon that runs; its process."""
        self.variables["MEMORY_MESH_DAEMON"] = "1"
        try:
            yield client.ensure(str(self.store), self.environment, seconds=PATIENCE)["pid"]
        finally:
            self.stop_daemon()

    def stop_daemon(self) -> None:
        """Ends the daemon of this store, whoever started it."""
        known = place.recorded(str(self.store))
        if known is not None:
            with suppress(ProcessLookupError):
                os.kill(known[0], signal.SIGKILL)


class AwayHost(Host):
    """A host whose store is behind a URL: its journal lies in this machine's folder for that."""

    @property
    def store(self) -> Path:
        return Path(place.folder_of(self.environment, str(self.folder)))

    def told(self, what: str) -> list[dict[str, Any]]:
        return [one for one in journal.read(str(self.store)) if one["what"] == what]
