"""`memory-mesh-hook`: gives a host's prompt its memories, and never holds it up.

::

    host ──▶ this process ── fork ──▶ worker (worker.py): reads stdin, asks the daemon or the store
               │ waits for the answer, 300 ms at most          │
               ◀───────────── one line of JSON, or nothing ────┘
               │ prints it whole or not at all, and ends: exit status 0
               └─ too late: a third process writes that down   the worker goes on alone: capture

A signal handler or a thread of Python waits for the interpreter, which a call into C may keep; so
the one who watches the clock is a process of its own that does nothing else. It reads no input,
opens no file and loads no store. Not even a disk that stands still stops it. The other two are
ended by the system after a minute, wherever they stand still.
"""

import time

BEGAN = time.monotonic()  # the budget runs from here

import os  # noqa: E402
import sys  # noqa: E402

from memory_mesh.agents.hook import PRINTED, SILENT  # noqa: E402
from memory_mesh.base.typed import NoReturn  # noqa: E402
from memory_mesh.platform import system  # noqa: E402

BUDGET_MS = 300
TOOL, TOOL_BUDGET_MS = "PreToolUse", 150  # before a tool runs
LIFE_SECONDS = 60  # of the worker and of the third process
BUDGET = "MEMORY_MESH_HOOK_BUDGET_MS"  # for busy machines, and for tests
LIFE = "MEMORY_MESH_HOOK_LIFE_SECONDS"  # for tests
_LEAVING_SECONDS = 0.008  # of the budget, to start the third process and to end
_FACTS_SECONDS = 3.0  # that are waited for what the event was, once the host went on
_CHUNK = 4096  # a pipe that has room takes so many bytes at once
_USAGE = b"""\
usage: memory-mesh-hook [--host NAME] [EVENT]

Gives a host's prompt its memories. A host runs it at each event and writes one JSON object to
its standard input; it prints one JSON object or nothing, and always ends with exit status 0.
  --host NAME   the host that runs it (default: claude-code)
  EVENT         the event, such as UserPromptSubmit (default: hook_event_name of the input)

To install it for Claude Code: memory-mesh init. To see whether it works: memory-mesh doctor
"""


def main() -> NoReturn:
    """Runs one hook; always ends with exit status 0."""
    usual = TOOL_BUDGET_MS if TOOL in sys.argv else BUDGET_MS
    end = BEGAN + _number(BUDGET, usual) / 1000 - _LEAVING_SECONDS
    try:
        if "--help" in sys.argv or "-h" in sys.argv:
            os.write(1, _USAGE)
            os._exit(0)
        answers, words = _started(end)
        found, in_time = _collected(answers, end)
        outcome = _outcome(found, in_time=in_time, end=end)
        if outcome == "":
            os.write(words, PRINTED if found[1] else SILENT)
        else:
            _write_down(found[0] if found else b"", outcome, answers, words)
    except OSError:  # no process, no pipe: the prompt goes on
        os._exit(0)
    os._exit(0)


def _started(end: float) -> tuple[int, int]:
    """Starts the worker; returns where its answer is read, and where it is told of its fate."""
    answers, to_answers = os.pipe()
    words, to_words = os.pipe()
    if system.fork():
        os.close(to_answers)
        os.close(words)
        return answers, to_words
    try:
        os.close(answers)
        os.close(to_words)
        _leave(1, 2)  # at once: the host reads until everybody has closed it
        system.end_in(_number(LIFE, LIFE_SECONDS))
        from memory_mesh.agents.hook import worker

        worker.run(sys.argv[1:], BEGAN, end, to_answers, words)
    finally:
        os._exit(0)


def _collected(source: int, end: float, lines: int = 2) -> tuple[list[bytes], bool]:
    """The worker's lines, two if it has said everything; and whether they came in time."""
    data = b""
    while data.count(b"\n") < lines:
        left = end - time.monotonic()
        if left <= 0 or not system.readable(source, left):
            return data.split(b"\n")[:-1], False
        part = os.read(source, 1 << 16)
        if not part:
            break
        data += part
    return data.split(b"\n")[:-1], True


def _outcome(found: list[bytes], *, in_time: bool, end: float) -> str:
    """Prints the answer; returns what went wrong, or nothing."""
    if not in_time:
        return "late"
    if len(found) < 2:  # noqa: PLR2004
        return "failed"
    return "" if not found[1] or _printed(found[1] + b"\n", end) else "late"


def _printed(data: bytes, end: float) -> bool:
    """Prints all of it without ever waiting for a reader; False if there was no room in time."""
    if len(data) > _CHUNK and not _has_room(len(data), end):
        return False
    rest = memoryview(data)
    while rest:
        if not system.writable(1, max(0.0, end - time.monotonic())):
            return False
        rest = rest[os.write(1, rest[:_CHUNK]) :]
    return True


def _has_room(size: int, end: float) -> bool:
    """Waits until a pipe is empty, so that it takes the answer whole; anything else has room."""
    while system.unread_bytes(1, size):
        if time.monotonic() >= end:
            return False
        time.sleep(0.002)
    return True


def _write_down(facts: bytes, outcome: str, answers: int, words: int) -> None:
    """Leaves a line in the journal by a process that nobody waits for: a disk may stand still.

    It waits for what the worker says of the event, where the budget ended before that.
    """
    ms = round((time.monotonic() - BEGAN) * 1000)
    _leave(0, 1, 2)
    if system.fork():
        return
    try:
        system.detach()
        system.end_in(_number(LIFE, LIFE_SECONDS))
        from memory_mesh.agents.hook import worker

        os.close(words)  # the worker learns that its answer was not given
        if not facts:
            facts = b"".join(_collected(answers, time.monotonic() + _FACTS_SECONDS, 1)[0][:1])
        worker.write_down(facts, outcome, ms)
    finally:
        os._exit(0)


def _leave(*descriptors: int) -> None:
    """Lets the host's files go."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _number(variable: str, usual: int) -> int:
    stated = os.environ.get(variable, "")
    return int(stated) if stated.isdigit() else usual


if __name__ == "__main__":
    main()
