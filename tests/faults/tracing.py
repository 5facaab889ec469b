"""strace on a forked process: which system calls it makes, or a SIGKILL at one of them.

It is attached to a process that is already there, because a new interpreter under strace takes
longer than most operations.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import ParamSpec, TypeVar

from tests.faults.processes import Child

P = ParamSpec("P")
T = TypeVar("T")
_LET_ANY_TRACE = (0x59616D61, -1)  # prctl(2), PR_SET_PTRACER: else a guarded kernel refuses


@cache
def can_trace() -> bool:
    """True where strace is installed and allowed."""
    if shutil.which("strace") is None:
        return False
    try:
        traced(("unlink",), None, _do_nothing)
    except AssertionError:
        return False
    return True


def traced(
    calls: Sequence[str],
    kill: tuple[str, int] | None,
    function: Callable[P, object],
    *args: P.args,
    **kwargs: P.kwargs,
) -> tuple[Counter[str], bool]:
    """Run a function in a process of its own, killed at the n-th call of a kind if one is named.

    Returns how many calls it made of each kind, and whether it was killed.
    """
    inject = f"{kill[0]}:signal=KILL:when={kill[1]}" if kill else ""
    with attached(calls, inject, function, *args, **kwargs) as (child, log):
        reported = child.join()
    if child.code not in {0, -signal.SIGKILL}:
        raise AssertionError(reported.decode(errors="replace"))
    made = Counter(kind for kind in calls for line in log() if f" {kind}(" in line)
    return made, child.code == -signal.SIGKILL


@contextmanager
def attached(
    calls: Sequence[str],
    inject: str,
    function: Callable[P, T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Iterator[tuple[Child[T], Callable[[], list[str]]]]:
    """A process that runs a function under strace, and the lines of its log, to the last later."""
    ours, its = socket.socketpair()
    with tempfile.TemporaryDirectory() as folder, ours, its:
        path, lines = Path(folder) / "log", list[str]()
        child = Child(_after_attaching, its, lambda: function(*args, **kwargs))
        ours.recv(1)
        command = ["strace", "-f", "-o", str(path), "-e", f"trace={','.join(calls)}"]
        command += [f"--inject={inject}"] if inject else []
        tracer = subprocess.Popen([*command, "-p", str(child.pid)], stderr=subprocess.PIPE)
        assert tracer.stderr is not None
        said = tracer.stderr.readline().decode()
        ours.send(b"x")
        if "attached" not in said:
            child.join()
            raise AssertionError(said)
        yield child, lambda: lines or path.read_text(errors="replace").splitlines()
        tracer.communicate()
        lines += path.read_text(errors="replace").splitlines() or [""]


def _after_attaching(its: socket.socket, function: Callable[[], T]) -> T:
    ctypes.CDLL(None).prctl(*_LET_ANY_TRACE, 0, 0, 0)
    its.send(b"x")
    its.recv(1)
    return function()


def _do_nothing() -> None:
    os.getpid()
