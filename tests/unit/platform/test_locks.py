"""A lock is served in order of arrival, until a deadline, across threads and processes."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from memory_mesh.model.errors import Closed, StoreIsBusy
from memory_mesh.platform import locks
from memory_mesh.platform.locks import FairLock, locked
from tests.until import waits_in_line

PATIENT = 60.0  # seconds: a test that waits for them all has failed
HOLDER = """
import os, signal, sys
from pathlib import Path
from memory_mesh.platform.locks import FairLock
with FairLock(Path(sys.argv[1])).held():
    print("held", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "default.lock"


@pytest.fixture
def stopped(path):
    """Another process that was stopped while it held the lock."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
        yield holder
        holder.kill()


def eventually(true):
    end = time.monotonic() + PATIENT
    while not true() and time.monotonic() < end:
        time.sleep(0.001)
    assert true()


def waiting(lock):
    """How many callers wait in this process."""
    return len(lock._queue)


def test_a_wait_ends_at_its_deadline_and_names_the_holder(path, stopped):
    held = rf"process {stopped.pid} holds default\.lock since 20"
    with pytest.raises(StoreIsBusy, match=held), FairLock(path).held(0.05):
        raise AssertionError
    stopped_ = f"kill -CONT {stopped.pid}"
    with pytest.raises(StoreIsBusy, match=stopped_) as raised, FairLock(path).held(0.0):
        raise AssertionError
    assert raised.value.pid == stopped.pid
    assert raised.value.since is not None


def test_a_dead_holder_is_not_named_and_keeps_nobody_out(path, stopped):
    stopped.kill()
    stopped.wait()
    assert locks.busy(path, 0).pid is None
    with FairLock(path).held(0.0):
        assert locks.busy(path, 0).pid == os.getpid()


def test_a_holder_that_signs_nothing_is_known_to_the_system(path):
    with path.open("w") as file, FairLock(path, file.fileno()).held():
        assert path.read_bytes() == b""
        error = locks.busy(path, 1.0)
    assert error.pid == os.getpid()
    assert error.since is None
    assert "another thread of this process" in str(error)


def test_a_file_of_sqlite_is_not_opened_to_name_its_holder(path):
    with path.open("wb") as file:
        fcntl.lockf(file, fcntl.LOCK_EX, 1)
        assert locks.busy(path, 0, signed=False).pid == os.getpid()
        assert locks.locks_byte(path, "0")  # closing any descriptor of it would unlock it


def test_what_stands_in_the_file_is_not_believed_when_it_is_no_signature(path):
    for text in (
        b"",
        b"\xff\xfe",
        b"no number",
        b"1",
        b"1 x",
        b"99999999999999999999 1",
        b"1 1e999",
    ):
        path.write_bytes(text)
        assert locks.busy(path, 0).pid is None


def test_a_caller_that_gave_up_leaves_its_place_to_the_next(path, stopped):
    lock = FairLock(path)
    with pytest.raises(StoreIsBusy), lock.held(1.0):
        raise AssertionError
    asking = lock._asking
    assert asking is not None
    got = threading.Event()
    thread = threading.Thread(target=lambda: _hold(lock, got))
    thread.start()
    eventually(lambda: waiting(lock) == 1)
    assert lock._asking == asking  # the same place in the kernel's queue
    os.kill(stopped.pid, signal.SIGCONT)
    thread.join(PATIENT)
    assert got.is_set()


def test_a_caller_for_whom_no_file_could_be_opened_leaves_the_queue(path, monkeypatch):
    lock = FairLock(path)

    def refused(_):
        raise OSError(errno.EMFILE, "too many open files")

    with FairLock(path).held(), monkeypatch.context() as patched:
        patched.setattr(os, "dup", refused)
        with pytest.raises(OSError, match="too many"), lock.held(PATIENT):
            raise AssertionError
        assert not waiting(lock)
    with lock.held(PATIENT):
        assert lock._asking is None


def test_a_lock_that_nobody_wants_any_more_is_let_go(path, stopped):
    lock = FairLock(path)
    with pytest.raises(StoreIsBusy), lock.held(0.02):
        raise AssertionError
    os.kill(stopped.pid, signal.SIGCONT)
    eventually(lambda: lock._asking is None)
    with FairLock(path).held(0.0):
        assert lock._held is None


def test_who_does_not_wait_takes_no_place_in_the_queue(path):
    lock = FairLock(path)
    with FairLock(path).held(), pytest.raises(StoreIsBusy), lock.held(0.0):
        raise AssertionError
    assert lock._asking is None
    with FairLock(path).held(), locks.at_most(0.0), pytest.raises(StoreIsBusy), lock.held():
        raise AssertionError
    assert lock._asking is None


def test_threads_are_served_in_order_of_arrival(path):
    lock, order = FairLock(path), []

    def enter(number):
        with lock.held(PATIENT):
            order.append(number)

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(8)]
    with lock.held():
        for number, thread in enumerate(threads):
            thread.start()
            eventually(lambda number=number: waiting(lock) == number + 1)
    for thread in threads:
        thread.join(PATIENT)
    assert order == list(range(8))


def test_a_cancelled_call_gives_up_at_once_and_one_that_holds_goes_on(path):
    lock, cancellation = FairLock(path), locks.Cancellation()
    met = []

    def enter():
        try:
            with lock.held(PATIENT):
                met.append("held")
        except StoreIsBusy:
            met.append("gave up")

    thread = threading.Thread(target=cancellation.run, args=(enter,))
    with FairLock(path).held():
        thread.start()
        eventually(lambda: waiting(lock) == 1)
        cancellation.cancel()
        thread.join(PATIENT)
        assert met == ["gave up"]
        assert not waiting(lock)
    eventually(lambda: lock._asking is None)
    again = threading.Thread(target=cancellation.run, args=(enter,))
    again.start()
    again.join(PATIENT)
    assert met == ["gave up", "held"]


def test_a_bound_of_the_call_is_a_bound_of_all_its_waits(path):
    one, other = FairLock(path), FairLock(path)
    with one.held(), locks.at_most(0.02), pytest.raises(StoreIsBusy), other.held(PATIENT):
        raise AssertionError
    with FairLock(path).held(), locks.at_most(0.0), pytest.raises(StoreIsBusy), locked(path):
        raise AssertionError


def test_close_ends_the_waits_and_waits_itself_for_a_thread_that_holds(path):
    lock = FairLock(path)
    met, entered, leave = [], threading.Event(), threading.Event()

    def hold():
        with lock.held():
            entered.set()
            leave.wait(PATIENT)
        met.append("let go")

    def wait():
        try:
            with lock.held(PATIENT):
                raise AssertionError
        except Closed:
            met.append("closed")

    threads = [threading.Thread(target=hold), threading.Thread(target=wait)]
    threads[0].start()
    assert entered.wait(PATIENT)
    threads[1].start()
    eventually(lambda: waiting(lock) == 1)
    lock.close(0.01)
    threads[1].join(PATIENT)
    assert met == ["closed"]
    leave.set()
    lock.close(PATIENT)
    threads[0].join(PATIENT)
    assert met == ["closed", "let go"]
    assert lock._descriptor is None


def test_an_interrupted_wait_leaves_the_queue(path):
    def interrupt(_number, _frame):
        raise KeyboardInterrupt

    def ring():
        eventually(lambda: waiting(lock) == 1)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR2)

    lock, before = FairLock(path), signal.signal(signal.SIGUSR2, interrupt)
    try:
        with FairLock(path).held():
            threading.Thread(target=ring).start()
            with pytest.raises(KeyboardInterrupt), lock.held(PATIENT):
                raise AssertionError
            assert not waiting(lock)
    finally:
        signal.signal(signal.SIGUSR2, before)
    with lock.held(PATIENT):
        assert lock._held is not None


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_neither_holds_nor_lets_go_what_its_parent_holds(path):
    lock = FairLock(path)
    with lock.held():
        child = os.fork()
        if not child:
            code = 1
            try:
                with pytest.raises(StoreIsBusy), lock.held(0.01):
                    raise AssertionError
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with locked(path, wait=False) as mine:
            assert not mine


def test_a_file_that_its_holder_removed_locks_nobody_out(path):
    def wait():
        with locked(path, seconds=PATIENT) as mine:
            met.append((mine, path.exists()))

    met: list[tuple[bool, bool]] = []
    thread = threading.Thread(target=wait)
    with locked(path):
        thread.start()
        eventually(lambda: waits_in_line(path))
        path.unlink()
    thread.join(PATIENT)
    assert met == [(True, True)]


def _hold(lock, got):
    with lock.held(PATIENT):
        got.set()
