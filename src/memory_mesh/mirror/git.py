"""Asks git about a work tree, and lets it do nothing but read.

No question fetches, writes, or runs a command that a repository's settings name: there are no
hooks, no monitor, no filter, no pager, no transport. Variables of the caller that steer git are not
passed on. Every question has a time limit, and an answer a largest size.
"""

import os
import select
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_mesh.model.errors import MeshError
from memory_mesh.platform import system

ANSWER_SECONDS = 10.0
WALK_SECONDS = 20.0
MAX_BYTES = 200_000_000
_AT_ONCE = 100  # questions: together they are shorter than a pipe holds
MAX_LOSSES = 3
_CHUNK = 1 << 16  # bytes
_LINE_BYTES = 1 << 17
_KEPT_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "TMPDIR", "SYSTEMROOT")  # where settings are found
_CONVERTING = ("filter", "working-tree-encoding")  # attributes by which git changes a file's bytes
_SILENCED = {  # settings of the repository that would run something or change the answer
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "core.pager": "cat",
    "diff.external": "",
    "i18n.logOutputEncoding": "UTF-8",
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
        self._program: str | None = None
        self._variables: dict[str, str] = {}
        self._losses = 0
        self._failed: set[str] = set()
        self._ahead: dict[str, tuple[str, bytes] | None] = {}
        self.started: int = 0

    def begin(self) -> None:
        """Starts the process that reads objects, so that it is ready when it is asked."""
        if self._objects is None:
            if self._losses > MAX_LOSSES:
                raise GitFailed("git ended early too often")
            self._objects = self._converse(["cat-file", "--batch"])

    def read(self, name: str) -> tuple[str, bytes] | None:
        """Returns the id and the bytes of an object, by its id or as `commit:path`; else None."""
        if name in self._ahead:
            return self._ahead[name]
        if "\n" in name:
            raise GitFailed("a name with a line break cannot be looked up")
        with self._asking() as objects:
            objects.send(os.fsencode(name) + b"\n")
            return self._object(objects)

    def read_ahead(self, names: Iterable[str]) -> None:
        """Reads objects together and keeps them for `read`, until the next call of this.

        All questions are sent before the first answer is read: git waits for nobody.
        """
        self._ahead = {}
        wanted = [name for name in dict.fromkeys(names) if "\n" not in name]
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            with self._asking() as objects:
                objects.send(b"".join(os.fsencode(name) + b"\n" for name in part))
                for name in part:
                    self._ahead[name] = self._object(objects)

    @contextmanager
    def _asking(self) -> "Iterator[_Conversation]":
        """The conversation about objects; it is over when git gives no usable answer."""
        self.begin()
        objects = self._objects
        if objects is None:
            raise GitFailed("git is not running")
        try:
            yield objects
        except GitFailed:  # such as for an object that a partial clone has left at the server
            objects.close()
            self._objects = None
            self._losses += 1
            raise

    def converted(self, path: str) -> str | None:
        """Returns the attribute by which git changes this file's bytes, or None."""
        if "check-attr" in self._failed:
            raise GitFailed("git check-attr failed before")
        self._failed.add("check-attr")
        if self._attributes is None:
            self._attributes = self._converse(["check-attr", "-z", "--stdin", *_CONVERTING])
        self._attributes.send(os.fsencode(path) + b"\0")
        values = {}
        for name in _CONVERTING:
            _, _, values[name] = (self._attributes.until(b"\0") for _ in range(3))
        self._failed.remove("check-attr")
        found = (name for name in values if values[name] not in {b"unspecified", b"unset"})
        return next(found, None)

    def run(self, words: Sequence[str], *, given: bytes = b"") -> bytes:
        """Returns what one command prints; raises `GitFailed` where it does not end well.

        A command that failed once is not tried again.
        """
        if words[0] in self._failed:
            raise GitFailed(f"git {words[0]} failed before")
        self._failed.add(words[0])
        output = self._finish(words, given)
        self._failed.remove(words[0])
        return output

    def close(self) -> None:
        """Stops the processes; the next question starts them again."""
        for conversation in (self._objects, self._attributes):
            if conversation is not None:
                conversation.close()
        self._objects = self._attributes = None

    def _finish(self, words: Sequence[str], given: bytes) -> bytes:
        with tempfile.TemporaryFile() as file:  # a pipe that git does not read would block
            file.write(given)
            file.flush()
            file.seek(0)
            process = self._start(words, given=file.fileno())
        talk = _Conversation(process)
        try:
            output = talk.rest()
            code = process.wait(timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise GitFailed("git took too long") from error
        finally:
            talk.close()
        if code != 0:
            raise GitFailed(f"git {words[0]} failed")
        return output

    def _object(self, objects: "_Conversation") -> tuple[str, bytes] | None:
        """The next object that git answers with."""
        head = objects.until(b"\n")
        words = head.split(b" ")
        if head.endswith((b" missing", b" ambiguous")):
            return None
        if len(words) != 3 or not words[2].isdigit():  # noqa: PLR2004  # id, type, size
            raise GitFailed("git answered in a way that is not understood")
        size = int(words[2])
        if size > MAX_BYTES:
            raise GitFailed("an object is too large")
        return words[0].decode("ascii"), objects.take(size + 1)[:-1]

    def _converse(self, words: Sequence[str]) -> "_Conversation":
        return _Conversation(self._start(words))

    def _start(
        self, words: Sequence[str], *, given: int = subprocess.PIPE
    ) -> "subprocess.Popen[bytes]":
        if self._program is None:
            self._variables = environment(os.environ, self._top)
            self._program = shutil.which("git", path=self._variables["PATH"])
        if self._program is None:
            raise GitFailed("git is not installed")
        self.started += 1
        settings = [part for item in _SILENCED.items() for part in ("-c", "=".join(item))]
        place = ["-C", str(self._top), "--work-tree", str(self._top)]
        try:
            return subprocess.Popen(  # noqa: S603  # our own words, never a shell
                [self._program, *place, "--no-pager", "--literal-pathspecs", *settings, *words],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._variables,
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
            if len(self._waiting) > _LINE_BYTES:
                raise GitFailed("git answered in a way that is not understood")
            self._waiting += self._more(deadline)
        found, _, self._waiting = self._waiting.partition(mark)
        return found

    def take(self, size: int) -> bytes:
        """Returns the next `size` bytes."""
        deadline = time.monotonic() + ANSWER_SECONDS
        parts, have = [self._waiting], len(self._waiting)
        while have < size:
            parts.append(self._more(deadline))
            have += len(parts[-1])
        whole = b"".join(parts)
        self._waiting = whole[size:]
        return whole[:size]

    def rest(self) -> bytes:
        """Returns everything that comes until git is done."""
        deadline = time.monotonic() + WALK_SECONDS
        parts, have = [self._waiting], 0
        while part := self._next(deadline):
            parts.append(part)
            have += len(part)
            if have > MAX_BYTES:
                raise GitFailed("git's answer is too large")
        return b"".join(parts)

    def close(self) -> None:
        """Ends the process."""
        self._stop()

    def _more(self, deadline: float) -> bytes:
        """Returns the next bytes, of which there must be some."""
        data = self._next(deadline)
        if not data:
            raise GitFailed("git ended early")
        return data

    def _next(self, deadline: float) -> bytes:
        """Waits for the next bytes; returns none at the end."""
        output = self._process.stdout
        left = deadline - time.monotonic()
        if output is None or output.closed:
            raise GitFailed("git ended early")
        if left <= 0 or not select.select([output], [], [], left)[0]:
            raise GitFailed("git took too long")
        return os.read(output.fileno(), _CHUNK)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a process that only reads, with those it started, and closes its pipes."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            system.end_group(process.pid)  # it leads a group of its own
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # what was not sent yet is lost, and nobody waits for it
                pipe.close()
    process.wait()
