"""Real processes for the fault suites, forked by a parent that never opened their store; killed.

A child reports by a pipe; what it reported survives its death. Nothing here waits without a limit.
What the usual calls load is loaded before the first fork, or every child would load it anew.
"""

import ctypes
import faulthandler
import gc
import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
LIMIT_SECONDS = 120.0
_CHUNK = 1 << 16
_DIE_WITH_PARENT = 1  # prctl(2), PR_SET_PDEATHSIG: an interrupted suite leaves nobody behind


class ChildFailed(Exception):
    """A child process raised, died or did not come back."""


class Child(Generic[T]):
    """A forked process that runs one function and reports its result."""

    def __init__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> None:
        _warm_up()
        reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            os.close(reader)
            _run(writer, function, args, kwargs)
        os.close(writer)
        self._reader = reader
        self.code: int | None = None

    def kill(self) -> None:
        """SIGKILL and wait for the end."""
        os.kill(self.pid, signal.SIGKILL)
        self.join()

    def join(self, limit: float = LIMIT_SECONDS) -> bytes:
        """Wait for the end, killing a child that passes the limit; what it reported."""
        report, end = b"", time.monotonic() + limit
        try:
            while time.monotonic() < end:
                if not select.select([self._reader], [], [], max(0.0, end - time.monotonic()))[0]:
                    break
                chunk = os.read(self._reader, _CHUNK)
                if not chunk:
                    break
                report += chunk
        finally:
            os.close(self._reader)
            self._reap(end)
        return report

    def has_ended(self) -> bool:
        """Whether it reported its result, or ended without one."""
        return bool(select.select([self._reader], [], [], 0)[0])

    def result(self, limit: float = LIMIT_SECONDS) -> T:
        """The function's result; raises ChildFailed with the child's traceback."""
        report = self.join(limit)
        if not report:
            raise ChildFailed(f"the child ended with {self.code} and reported nothing")
        fine, value = pickle.loads(report)
        if not fine:
            raise ChildFailed(value)
        answer: T = value
        return answer

    def _reap(self, end: float) -> None:
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                return
            if time.monotonic() >= end:
                os.kill(self.pid, signal.SIGUSR1)  # it says where it hangs, on standard error
                time.sleep(0.5)
                os.kill(self.pid, signal.SIGKILL)
                _, status = os.waitpid(self.pid, 0)
                self.code = os.waitstatus_to_exitcode(status)
                raise ChildFailed("the child did not end in time: a deadlock?")
            time.sleep(0.0005)


def call(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The function's result, computed in a process of its own."""
    return Child(function, *args, **kwargs).result()


@cache
def _warm_up() -> None:
    """Use a store of nobody once; its modules, patterns and tables are ready in every child."""
    from memory_mesh.sync import MemoryMesh

    with TemporaryDirectory() as folder, MemoryMesh(db_dir=folder, embedder="none") as mesh:
        first, *_ = mesh.add_many(["The printer is blue", "The lamp is green"])
        mesh.update(str(first.id), "The printer is grey")
        mesh.search("printer")
        mesh.get_all()
        mesh.stats()
        mesh.care.verify()


def _run(
    writer: int, function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, Any]
) -> None:
    """The child's whole life; it never returns into its parent's code."""
    code = 1
    gc.freeze()  # else a collection copies every page of a large parent
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        report = pickle.dumps((True, function(*args, **kwargs)))
        code = 0
    except BaseException:  # noqa: BLE001  # the parent must hear of whatever happened
        report = pickle.dumps((False, traceback.format_exc()))
    try:
        while report:
            report = report[os.write(writer, report) :]
    finally:
        os._exit(code)
