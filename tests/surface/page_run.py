"""Runs the blocks of a page in order: one shell on a terminal, one Python process, one home."""

import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import sysconfig
import termios
from collections.abc import Mapping
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from typing import Self

from tests.surface import page_text
from tests.surface.page_text import Block

COLUMNS = 80
PATIENCE = 300  # seconds that a block may be silent
HOME = "/home/you"  # what the pages call the home
PACKAGES = f"{HOME}/.venv/lib/python3.11/site-packages"
_END = re.compile(rb"\x01(\d+)\x01\r?\n")
_OFFLINE = """\
import socket
_connect = socket.socket.connect
def _guarded(self, address):
    if self.family != socket.AF_UNIX and address[0] not in {"127.0.0.1", "::1", "localhost"}:
        raise OSError("no network here")
    return _connect(self, address)
socket.socket.connect = _guarded
"""
_PYTHON = """\
import sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    fresh, path, where = line.rstrip("\\n").split("\\t")
    if fresh == "1":
        names = {"__name__": "__main__"}
    failed = 0
    try:
        exec(compile(open(path, encoding="utf-8").read(), where, "exec"), names)
    except BaseException:
        traceback.print_exc()
        failed = 1
    sys.stderr.flush()
    print(f"\\x01{failed}\\x01", flush=True)
"""


class Process:
    """A process that is given work line by line and ends each answer with a code."""

    def __init__(
        self, command: list[str], home: Path, variables: Mapping[str, str], *, terminal: bool
    ) -> None:
        ours, theirs = pty.openpty() if terminal else os.pipe()
        if terminal:
            ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
            modes = termios.tcgetattr(theirs)
            modes[1] &= ~termios.OPOST  # line ends as they are printed
            termios.tcsetattr(theirs, termios.TCSANOW, modes)
        self._out = ours
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=theirs,
            stderr=theirs,
            cwd=home,
            env=variables,
            start_new_session=True,
        )
        os.close(theirs)

    def __call__(self, line: str) -> tuple[str, int]:
        """What was printed, and the code."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()
        seen = b""
        while not (end := _END.search(seen)):
            ready, _, _ = select.select([self._out], [], [], PATIENCE)
            part = os.read(self._out, 65536) if ready else b""
            assert part, f"it ended, or went on for {PATIENCE} seconds: {line} {seen.decode()}"
            seen += part
        return seen[: end.start()].decode(), int(end[1])

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        os.close(self._out)


class Page:
    """A page in a home of its own; `rewritten` is its text with what was printed just now."""

    def __init__(self, text: str, name: str, folder: Path, variables: Mapping[str, str]) -> None:
        self.text, self.name, self._folder = text, name, folder
        self.home = folder / "home"
        self.home.mkdir()
        guard = folder / "guard"
        guard.mkdir()
        (guard / "sitecustomize.py").write_text(_OFFLINE)
        (guard / "blocks.py").write_text(_PYTHON)
        self._variables = {
            "HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TZ": "UTC",
            "PYTHONPATH": str(guard),
            "MEMORY_MESH_OWN_NAMES": "off",  # those of whoever runs the tests
            "MEMORY_MESH_DAEMON": "off",  # no process outlives a page
            "MEMORY_MESH_HOOK_BUDGET_MS": "20000",  # the machine may be busy
            "EDITOR": "true",
            "GIT_AUTHOR_NAME": "You",
            "GIT_AUTHOR_EMAIL": "you@example.com",
            "GIT_COMMITTER_NAME": "You",
            "GIT_COMMITTER_EMAIL": "you@example.com",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "init.defaultBranch",
            "GIT_CONFIG_VALUE_0": "main",
            **variables,
        }
        self._ids: dict[str, str] = {}
        self._processes: dict[str, Process] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.close()

    def rewritten(self) -> str:
        """The text of the page, with what was printed wherever the page shows something else."""
        changes: list[tuple[int, int, str]] = []
        for block in page_text.blocks(self.text):
            if block.file:
                path = self.home / block.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(page_text.filled(block.body, self._ids), encoding="utf-8")
            elif block.runs and block.language == "python":
                changes.extend(self._python(block))
            elif block.runs:
                session = self._console(block)
                changes.append((block.start, block.end, _indented(session, block)))
        text = self.text
        for start, end, new in sorted(changes, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def _python(self, block: Block) -> list[tuple[int, int, str]]:
        line = self.text[: block.start].count("\n") + 1
        path = self._folder / "block.py"
        path.write_text(page_text.filled(block.body, self._ids), encoding="utf-8")
        fresh = int("memory_mesh" in block.body and "import" in block.body)
        ask = self._process("python")
        said, failed = ask(f"{fresh}\t{path}\t{self.name}:{line}")
        assert not failed, f"{self.name}:{line}: {said}"
        shown = page_text.output_of(block, self.text)
        if shown is not None:
            kept = self._settled(said, shown.body)
            return [(shown.start, shown.end, _indented(kept, shown))]
        if not said:
            return []
        behind = self.text.index("\n", block.end) + 1
        new = f"\n```text\n{said}```\n"
        return [(behind, behind, new)]

    def _console(self, block: Block) -> str:
        steps = list(page_text.typed(block.body))
        silent = not any(shown for *_, shown in steps)
        session = ""
        for number, (command, written, shown) in enumerate(steps):
            said, code = self._typed(command)
            ahead = steps[number + 1][0] if number + 1 < len(steps) else ""
            if code and ahead.strip() != "echo $?":
                line = self.text[: block.start].count("\n") + 1
                raise AssertionError(f"{self.name}:{line}: exit code {code}: $ {command}{said}")
            kept = "" if silent else self._settled(said, shown)
            session += written + kept
        return session

    def _typed(self, command: str) -> tuple[str, int]:
        if re.match(r"(pip|uv tool|npm|npx|uvx) ", command):
            return "", 0  # the environment of the tests has it
        path = self._folder / "command.sh"
        path.write_text(page_text.filled(command, self._ids), encoding="utf-8")
        restore = f'(exit "${{code:-0}}"); . {path} </dev/null; code=$?'
        said, code = self._process("bash")(f"{restore}; printf '\\001%s\\001\\n' $code")
        return re.sub(r"(?m)^.*\r(?:\x1b\[K)?", "", said), code  # a line of progress is gone

    def _settled(self, said: str, shown: str) -> str:
        """What the page shows, if it agrees with what was said; else what was said."""
        said = said.replace(str(self.home), HOME).replace(sysconfig.get_path("purelib"), PACKAGES)
        said = said.replace(str(Path(sys.executable).parent), f"{HOME}/.local/bin")
        if not page_text.agrees(said, shown):
            return page_text.filled(said, {run: page for page, run in self._ids.items()})
        self._ids.update(page_text.standing_for(said, shown))
        return shown

    def _process(self, name: str) -> Process:
        if name not in self._processes:
            command = {
                "bash": ["bash", "--norc", "--noprofile"],
                "python": ["python", "-u", str(self._folder / "guard/blocks.py")],
            }[name]
            command[0] = shutil.which(command[0], path=self._variables["PATH"]) or command[0]
            self._processes[name] = Process(
                command, self.home, self._variables, terminal=name == "bash"
            )
        return self._processes[name]


def _indented(body: str, block: Block) -> str:
    return re.sub(r"(?m)^(?=.)", block.indent, body)
