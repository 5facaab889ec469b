"""Asks git about a work tree, and lets it do nothing but read.

No question fetches, writes, or runs a command that a repository's settings name: there are no
hooks, no monitor, no filter, no pager, no transport. Variables of the caller that steer git are not
passed on. Every question has a time limit, and an answer a largest size.
"""

import os
import select
import shutil
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory_mesh.errors import MeshError

ANSWER_SECONDS = 10.0
WALK_SECONDS = 20.0
MAX_BYTES = 200_000_000
_CHUNK = 1 << 16  # bytes
_KEPT_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "TMPDIR", "SYSTEMROOT")  # where settings are found
_SILENCED = {  # settings of the repository that would run something or change the answer
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "core.pager": "cat",
    "diff.external": "",
    "log.showSignature": "false",
    "log.showRoot": "true",
    "log.follow": "false",
    "protocol.allow": "never",
}


class GitFailed(MeshError):
    """Git gave no usable answer."""


class Git:
    """Reads one work tree; starts a process when something is asked, and stops it at the end."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._objects: _Conversation | None = None
        self._attributes: _Conversation | None = None
        self.started = 0

    def read(self, name: str) -> tuple[str, bytes] | None:
        """Returns the id and the bytes of an object, by its id or as `commit:path`; else None."""
        if "\n" in name:
            raise GitFailed("a name with a line break cannot be looked up")
        if self._objects is None:
            self._objects = self._converse(["cat-file", "--batch"])
        head = self._objects.ask(os.fsencode(name) + b"\n")
        words = head.split(b" ")
        if head.endswith((b" missing", b" ambiguous")):
            return None
        if len(words) != 3 or not words[2].isdigit():  # noqa: PLR2004  # id, type, size
            raise GitFailed("git answered in a way that is not understood")
        size = int(words[2])
        if size > MAX_BYTES:
            raise GitFailed("an object is too large")
        return words[0].decode("ascii"), self._objects.take(size + 1)[:-1]

    def converted(self, path: str) -> str | None:
        """Returns the attribute by which git changes this file's bytes, or None."""
        names = ("filter", "working-tree-encoding")
        if self._attributes is None:
            self._attributes = self._converse(["check-attr", "-z", "--stdin", *names])
        self._attributes.send(os.fsencode(path) + b"\0")
        found: str | None = None
        for name in names:
            _, _, value = (self._attributes.until(b"\0") for _ in range(3))
            if value not in {b"unspecified", b"unset"}:
                found = name
        return found

    def run(self, words: Sequence[str], *, given: bytes = b"") -> bytes:
        """Returns what one command prints; raises `GitFailed` where it does not end well."""
        with self._start(words) as process:
            try:
                output, _ = process.communicate(given, timeout=WALK_SECONDS)
            except subprocess.TimeoutExpired as error:
                process.kill()
                raise GitFailed("git took too long") from error
        if process.returncode != 0:
            raise GitFailed(f"git {words[0]} failed")
        if len(output) > MAX_BYTES:
            raise GitFailed("git's answer is too large")
        return output

    def close(self) -> None:
        """Stops the processes; the next question starts them again."""
        for conversation in (self._objects, self._attributes):
            if conversation is not None:
                conversation.close()
        self._objects = self._attributes = None

    def _converse(self, words: Sequence[str]) -> "_Conversation":
        return _Conversation(self._start(words))

    def _start(self, words: Sequence[str]) -> "subprocess.Popen[bytes]":
        program = _program(self._top, os.environ)
        if program is None:
            raise GitFailed("git is not installed")
        self.started += 1
        settings = [part for item in _SILENCED.items() for part in ("-c", "=".join(item))]
        place = ["-C", str(self._top), "--work-tree", str(self._top)]
        try:
            return subprocess.Popen(  # noqa: S603  # our own words, never a shell
                [program, *place, "--no-pager", "--literal-pathspecs", *settings, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(os.environ, self._top),
                start_new_session=True,
            )
        except OSError as error:
            raise GitFailed("git cannot be started") from error


def environment(caller: Mapping[str, str], top: Path) -> dict[str, str]:
    """Returns the variables for git: none of the caller's that steer it."""
    kept = {name: caller[name] for name in _KEPT_VARIABLES if name in caller}
    return kept | {
        "PATH": _search_path(top, caller),
        "LC_ALL": "C",
        "GIT_ALLOW_PROTOCOL": "none",  # nothing is fetched, whatever the repository's settings say
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CEILING_DIRECTORIES": str(top.parent),
    }


def _program(top: Path, caller: Mapping[str, str]) -> str | None:
    return shutil.which("git", path=_search_path(top, caller))


def _search_path(top: Path, caller: Mapping[str, str]) -> str:
    """The absolute folders of PATH outside the work tree: it must not bring its own git."""
    folders = caller.get("PATH", os.defpath).split(os.pathsep)
    outside = (
        folder
        for folder in folders
        if Path(folder).is_absolute() and not Path(os.path.realpath(folder)).is_relative_to(top)
    )
    return os.pathsep.join(outside)


class _Conversation:
    """A running git that answers one question after another."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._waiting = b""
        self._stop = weakref.finalize(self, _end, process)

    def ask(self, line: bytes) -> bytes:
        """Sends a line and returns the line that answers it."""
        self.send(line)
        return self.until(b"\n")

    def send(self, data: bytes) -> None:
        """Sends a question, which must be short."""
        if self._process.stdin is None:
            raise GitFailed("git is not listening")
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise GitFailed("git ended early") from error

    def until(self, mark: bytes) -> bytes:
        """Returns what comes before the next mark."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while mark not in self._waiting:
            self._more(deadline)
        found, _, self._waiting = self._waiting.partition(mark)
        return found

    def take(self, size: int) -> bytes:
        """Returns the next `size` bytes."""
        deadline = time.monotonic() + ANSWER_SECONDS
        parts, have = [self._waiting], len(self._waiting)
        while have < size:
            self._waiting = b""
            self._more(deadline)
            parts.append(self._waiting)
            have += len(self._waiting)
        whole = b"".join(parts)
        self._waiting = whole[size:]
        return whole[:size]

    def close(self) -> None:
        """Ends the process."""
        self._stop()

    def _more(self, deadline: float) -> None:
        """Waits for the next bytes; a git that says nothing in time is ended."""
        output = self._process.stdout
        left = deadline - time.monotonic()
        if output is None or output.closed:
            raise GitFailed("git ended early")
        if left <= 0 or not select.select([output], [], [], left)[0]:
            self.close()
            raise GitFailed("git took too long")
        data = os.read(output.fileno(), _CHUNK)
        if not data:
            self.close()
            raise GitFailed("git ended early")
        self._waiting += data


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a process that only reads, and closes its pipes."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue  # what was not sent yet is lost, and nobody waits for it
    process.wait()
