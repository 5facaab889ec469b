"""Locks between processes: a file under flock, served in order of arrival, with a deadline.

SQLite's own busy handler polls and starves some of many writers; the kernel queues flock's.
The lock dies with its holder, so a killed process never leaves the store locked.

::

    callers of this process ── queue ──▶ the first waits for an event, until its deadline
                                             ▲
    one thread ── flock, without deadline ───┘  gets the lock for whoever is first then

Nothing interrupts a flock that waits, so a thread of its own waits in it. A caller that gives up
leaves the thread's place in the kernel's queue to the next one; if nobody wants the lock when it
comes, the thread lets it go.
"""

import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.base.typed import TypeVar
from memory_mesh.model.errors import Closed, StoreIsBusy
from memory_mesh.platform import system, telemetry

_BYTES = 64  # of the text; a shorter one is filled up, so that nothing of an earlier one is left
_FIELDS = 8  # of a line in /proc/locks
_READING = range(123, 128)  # bytes of SQLite's shared memory that readers lock
_STOPPED = frozenset("Tt")  # the states of a process that a signal or a debugger stopped

USUAL_SECONDS = 10.0  # that a wait lasts at most, where no setting says otherwise
T = TypeVar("T")
_limit: ContextVar[float | None] = ContextVar("memory_mesh_wait_limit", default=None)

_locks: "weakref.WeakSet[FairLock]" = weakref.WeakSet()


class _Turn:
    """One caller, from its place in the queue to the end of its hold."""

    __slots__ = ("ended", "failure", "woken")

    def __init__(self) -> None:
        self.woken: threading.Event | None = None  # made if the turn has to wait
        self.ended: threading.Event | None = None  # made if somebody waits for its end
        self.failure: OSError | None = None

    def wake(self) -> None:
        """Tells the caller to look."""
        if self.woken is not None:
            self.woken.set()


class FairLock:
    """Exclusive between threads and between processes, first come, first served; not reentrant."""

    def __init__(self, path: Path, descriptor: int | None = None) -> None:
        """Lock the file at a path, or an open one: nothing is written then, nor is it closed."""
        self._path, self._descriptor = path, descriptor
        self._owns = descriptor is None
        self._mutex = threading.Lock()
        self._queue: deque[_Turn] = deque()
        self._held: _Turn | None = None
        self._asking: int | None = None  # the descriptor on which a thread waits in flock
        self._closed = False
        _locks.add(self)

    @contextmanager
    def held(self, seconds: float = USUAL_SECONDS) -> Iterator[None]:
        """Waits for the lock, holds it, and always releases it; raises StoreIsBusy in the end."""
        turn = _Turn()
        try:  # an interrupt at any point, by Ctrl-C say, leaves neither a place nor a hold behind
            self._take(turn, seconds)
            yield
        finally:
            self._end(turn)

    def is_waited_for(self) -> bool:
        """Whether a thread of this process holds the lock or waits for it."""
        return self._held is not None or self._asking is not None

    def leads_to_its_file(self) -> bool:
        """Whether the path still leads to the locked file."""
        return self._descriptor is not None and still_at(self._path, self._descriptor)

    def close(self, seconds: float = USUAL_SECONDS) -> None:
        """Closes the lock file; waits so long for a thread that holds it, and for no other."""
        with self._mutex:
            self._closed = True
            for turn in self._queue:
                turn.wake()
            self._close_unused()
            if self._held is None:
                return
            ended = self._held.ended = self._held.ended or threading.Event()
        wait(ended, until(seconds))

    def after_fork(self) -> None:
        """Drop the shared descriptors: the parent's hold does not depend on ours."""
        self._mutex = threading.Lock()
        self._queue.clear()
        for descriptor in (self._descriptor, self._asking):
            if descriptor is not None:
                with suppress(OSError):
                    os.close(descriptor)
        self._held = self._descriptor = self._asking = None

    def _take(self, turn: _Turn, seconds: float) -> None:
        """Returns when the caller's turn has come."""
        start, end = time.monotonic(), until(seconds)
        with self._mutex:
            self._check_open()
            idle = self._held is None and self._asking is None and not self._queue
            if idle and self._is_free():
                self._hold(turn)
                return
            if end > start:
                woken = turn.woken = threading.Event()
                self._queue.append(turn)
                self._ask()
        if end > start:
            wait(woken, end)
            self._check(turn)
        if self._held is not turn:
            raise busy(self._path, time.monotonic() - start, signed=self._owns)
        telemetry.debug("waited for the lock", ms=telemetry.milliseconds(start))

    def _check(self, turn: _Turn) -> None:
        """Raises what ended the wait, unless the turn has come or its time is over."""
        with self._mutex:
            if self._held is turn:
                return
            with suppress(ValueError):
                self._queue.remove(turn)
            if turn.failure is not None:
                raise turn.failure
            self._check_open()

    def _end(self, turn: _Turn) -> None:
        """Gives up the place or lets the lock go; in a forked child there is nothing to let go."""
        with self._mutex:
            with suppress(ValueError):
                self._queue.remove(turn)
            if self._held is not turn or self._descriptor is None:
                return
            self._held = None
            _unlock(self._descriptor)
            if turn.ended is not None:
                turn.ended.set()
            self._ask()
            self._close_unused()

    def _hold(self, turn: _Turn) -> None:
        self._held = turn
        if self._owns:
            sign(self._open())

    def _ask(self) -> None:
        """Has a thread wait for the lock on behalf of the queue, unless one does already."""
        if not self._queue or self._held is not None or self._asking is not None or self._closed:
            return
        try:
            asking = os.dup(self._open())
        except OSError as error:  # too many open files, say
            self._fail(error)
            return
        thread = threading.Thread(
            target=self._asked, args=(asking,), name="memory-mesh-lock", daemon=True
        )
        self._asking = asking
        try:
            thread.start()
        except RuntimeError:  # no thread can be started: the interpreter ends, say
            os.close(asking)
            self._asking = None
            for turn in self._queue:
                turn.wake()

    def _is_free(self) -> bool:
        """Takes the lock if nobody has it; leaves a file that its holder removed for a new one."""
        while _try_lock(self._open()):
            if not self._owns or self.leads_to_its_file():
                return True
            os.close(self._open())
            self._descriptor = None
        return False

    def _asked(self, descriptor: int) -> None:
        """In the thread: gets the lock for whoever is first in the queue by then."""
        failure = None
        try:
            _lock(descriptor)
            while self._owns and not still_at(self._path, descriptor):  # its holder removed it
                descriptor = self._changed(descriptor)
                _lock(descriptor)
        except OSError as error:
            failure = error
        with self._mutex:
            if failure is not None:
                self._fail(failure)
            elif self._queue and not self._closed:
                turn = self._queue.popleft()
                self._hold(turn)
                turn.wake()
            else:
                _unlock(descriptor)
            self._asking = None
            os.close(descriptor)
            self._close_unused()

    def _changed(self, descriptor: int) -> int:
        """Leaves a removed file for the one in its place; nobody holds the lock meanwhile."""
        with self._mutex:
            new = system.open_file(self._path, os.O_RDWR)
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor = os.dup(new)
            os.close(descriptor)
            self._asking = new
        return new

    def _fail(self, failure: OSError) -> None:
        for turn in self._queue:
            turn.failure = failure
            turn.wake()

    def _close_unused(self) -> None:
        """Closes the file of a closed lock that nobody holds; a thread in flock has its own."""
        if self._closed and self._held is None and self._descriptor is not None:
            if self._owns:
                os.close(self._descriptor)
            self._descriptor = None

    def _check_open(self) -> None:
        if self._closed:
            raise Closed

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = system.open_file(self._path, os.O_RDWR)
        return self._descriptor


@contextmanager
def locked(path: Path, *, wait: bool = True, seconds: float = USUAL_SECONDS) -> Iterator[bool]:
    """Locks a file; yields False if another process holds it and `wait` is off.

    The holder may remove the file: whoever waited for it then makes a new one. After the given
    seconds a wait ends with StoreIsBusy.
    """
    with ExitStack() as holding:
        yield _entered(holding, path, until(seconds if wait else 0.0), wait=wait)


def _entered(holding: ExitStack, path: Path, end: float, *, wait: bool) -> bool:
    while True:
        lock = FairLock(path)
        holding.callback(lock.close, 0.0)
        try:
            holding.enter_context(lock.held(end - time.monotonic()))
        except StoreIsBusy:
            if wait:
                raise
            return False
        if lock.leads_to_its_file():
            return True
        holding.close()  # its holder removed it: ours would lock nobody out


@contextmanager
def held(path: Path, descriptor: int, seconds: float = USUAL_SECONDS) -> Iterator[None]:
    """Waits for the lock of an open file and holds it."""
    lock = FairLock(path, descriptor)
    try:
        with lock.held(seconds):
            yield
    finally:
        lock.close(0.0)


@contextmanager
def folder_held(folder: Path, seconds: float = USUAL_SECONDS) -> Iterator[None]:
    """Holds the lock of a folder itself: who makes a file there and who exchanges the folder.

    It needs no file in the folder. Where a folder cannot be locked, nobody waits.
    """
    end = until(seconds)
    with ExitStack() as holding:
        while True:
            descriptor = _opened(folder)
            if descriptor is None:
                break
            holding.callback(os.close, descriptor)
            holding.enter_context(held(folder, descriptor, end - time.monotonic()))
            if still_at(folder, descriptor):
                break
            holding.close()  # it was exchanged while we waited
        yield


def _opened(folder: Path) -> int | None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows
        return None
    try:
        if _try_lock(descriptor):
            _unlock(descriptor)
    except OSError:  # a network file system
        os.close(descriptor)
        return None
    return descriptor


def still_at(path: Path, descriptor: int) -> bool:
    """True when the path leads to the open file, and not to one that took its place."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _let_go_in_child() -> None:
    """A lock is the parent's: a child that kept it open would hold it after the parent's death."""
    for lock in list(_locks):
        lock.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)

if sys.platform == "win32":  # pragma: no cover  # expected to work, tested on Linux only
    import msvcrt

    _PLACE = 1 << 30  # of the locked byte: nobody can read one that is locked

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _PLACE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _lock(descriptor: int) -> None:
        while not _try_lock(descriptor):
            time.sleep(0.01)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _PLACE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


# How long a call may wait for another process, and what ends a wait early.
#
# A wait has a bound of its own. `at_most` lowers the bounds of all waits inside it, and a
# `Cancellation` ends those of one call: what has begun goes on, and what waits gives up.


_cancellation: ContextVar["Cancellation | None"] = ContextVar("memory_mesh_cancel", default=None)


class Cancellation:
    """Ends the waits of one call, the present one and those that follow."""

    def __init__(self) -> None:
        self.cancelled: bool = False
        self._events: set[threading.Event] = set()

    def cancel(self) -> None:
        """Wakes whoever waits."""
        self.cancelled = True
        for event in tuple(self._events):
            event.set()

    def run(self, call: Callable[[], T]) -> T:
        """Calls a function whose waits this ends."""
        before = _cancellation.set(self)
        try:
            return call()
        finally:
            _cancellation.reset(before)

    @contextmanager
    def heard_by(self, event: threading.Event) -> Iterator[None]:
        """Sets the event when the call is cancelled."""
        self._events.add(event)
        try:
            if self.cancelled:
                event.set()
            yield
        finally:
            self._events.discard(event)


def until(seconds: float) -> float:
    """The moment, in monotonic seconds, at which a wait of at most so many ends in this call.

    It has passed where nothing is to be waited for.
    """
    if seconds <= 0 or cancelled():
        return 0.0
    end = time.monotonic() + min(seconds, threading.TIMEOUT_MAX / 2)
    limit = _limit.get()
    return end if limit is None else min(end, limit)


def is_over(end: float) -> bool:
    """Whether the moment has come, or the call was cancelled."""
    return cancelled() or time.monotonic() >= end


def cancelled() -> bool:
    """Whether the present call was cancelled."""
    cancellation = _cancellation.get()
    return cancellation is not None and cancellation.cancelled


def wait(event: threading.Event, end: float) -> None:
    """Waits for an event, the moment or the cancellation of the call, whichever comes first."""
    seconds = max(0.0, end - time.monotonic())
    cancellation = _cancellation.get()
    if cancellation is None:
        event.wait(seconds)
        return
    with cancellation.heard_by(event):
        event.wait(seconds)


def hurried(seconds: float) -> bool:
    """Whether the present call may wait for less than this; it then does only what it must."""
    limit = _limit.get()
    return limit is not None and limit - time.monotonic() < seconds


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """No wait inside ends later than so many seconds from now."""
    before = _limit.set(until(seconds))
    try:
        yield
    finally:
        _limit.reset(before)


# Who holds a lock: its process and since when, for the message of somebody who waited in vain.
#
# The holder writes both into the lock file, and leaves them there. Linux itself knows the process
# of
# a lock, which is right where the text is not: an earlier holder wrote it, or the holder never
# does.


def sign(descriptor: int) -> None:
    """Writes this process and the time into the lock file; a full disk keeps nobody from a lock."""
    text = f"{os.getpid()} {int(time.time())}".encode()
    with suppress(OSError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, text.ljust(_BYTES - 1) + b"\n")


def busy(path: Path, seconds: float, *, signed: bool = True) -> StoreIsBusy:
    """The error that names the holder of a lock and says what to do.

    A file that is not signed is not opened: closing it again would drop the locks that SQLite has
    on it in this process.
    """
    told, since = _told(path) if signed else (None, None)
    pid = _known_to_linux(path) or _known_to_linux(Path(f"{path}-shm")) or told
    if pid is None or not system.lives(pid):
        pid = None
    return StoreIsBusy.held(
        path.name,
        pid=pid,
        since=since if pid is not None and pid == told else None,
        waited=max(0.0, seconds),
        stopped=pid is not None and _is_stopped(pid),
        own=pid == os.getpid(),
    )


def _told(path: Path) -> tuple[int | None, str | None]:
    """What the lock file says, as far as it can be believed."""
    try:
        with path.open("rb") as file:
            words = file.read(_BYTES).decode("ascii").split()
        since = datetime.fromtimestamp(int(words[1]), UTC)
        return int(words[0]), since.isoformat().replace("+00:00", "Z")
    except (OSError, ValueError, IndexError, OverflowError):
        return None, None


def locks_byte(path: Path, byte: str) -> bool:
    """Whether a process locks this byte of a file alone, as far as the system lists it."""
    return any(words[6] == byte for words in _listed(path))


def readers(database: Path) -> list[int]:
    """The processes that read an earlier moment of a database, where the system lists them."""
    found = _listed(Path(f"{database}-shm"), "READ")
    return sorted({int(words[4]) for words in found if int(words[6]) in _READING})


def _known_to_linux(path: Path) -> int | None:
    """The process that holds the file, where the system lists it: one of ours, or SQLite's."""
    with suppress(ValueError):
        for words in _listed(path):
            return int(words[4]) if int(words[4]) > 0 else None
    return None


def _listed(path: Path, kind: str = "WRITE") -> Iterator[list[str]]:
    """The locks on a file, by default the exclusive ones.

    A line of the system's: 1: FLOCK ADVISORY WRITE pid device:inode first last.
    """
    with suppress(OSError):
        found = path.stat()
        listed = Path("/proc/locks").read_text(encoding="ascii")  # OSError but on Linux
        file = f"{system.device(found.st_dev)}:{found.st_ino}"
        for line in listed.splitlines():
            words = line.split()  # that of somebody who waits has one more in front: "->"
            if len(words) == _FIELDS and words[3] == kind and words[5] == file:
                yield words


def _is_stopped(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[:1] in [[state] for state in _STOPPED]
