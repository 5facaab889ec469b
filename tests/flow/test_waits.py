"""Waits end: a write names who holds the lock, a read waits for nobody, close is bounded."""

import asyncio
import gc
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress

import pytest

import memory_mesh
from memory_mesh.config import load
from memory_mesh.ledgers.shared import history
from memory_mesh.ledgers.sqlite.ledger import CLOSING_SECONDS, SqliteLedger
from memory_mesh.model import Commit, Wanted
from memory_mesh.model.errors import Closed, InvalidInput, StoreIsBusy
from memory_mesh.platform import locks
from memory_mesh.platform.ids import SystemClock
from memory_mesh.platform.locks import FairLock
from memory_mesh.sync import MemoryMesh

SHORT = 0.05  # seconds that these writers wait
PATIENT = 60.0


@contextmanager
def held_lock(folder):
    """Somebody else writes: the lock of another descriptor is another process's."""
    lock = FairLock(folder / "namespaces" / "default.lock")
    with lock.held(PATIENT):
        yield
    lock.close()


@pytest.fixture
def folder(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("tea is hot")
    return tmp_path


def opened(folder, **settings):
    return MemoryMesh(
        db_dir=folder, settings={"lock_wait_seconds": SHORT}, embedder="none", **settings
    )


def only(mesh):
    (memory,) = mesh.get_all()
    return memory


def recorded(folder):
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        (count,) = db.execute("SELECT count(*) FROM recall").fetchone()
    return count


def test_a_write_that_waited_long_enough_names_the_holder_and_stores_nothing(folder):
    with opened(folder) as mesh:
        with (
            held_lock(folder),
            pytest.raises(StoreIsBusy, match=r"holds default\.lock since") as busy,
        ):
            mesh.add("coffee is hot")
        assert busy.value.pid == os.getpid()
        assert len(mesh.get_all()) == 1
    with MemoryMesh(db_dir=folder, settings={"lock_wait_seconds": PATIENT}) as mesh:
        mesh.add("coffee is hot")
        assert len(mesh.get_all()) == 2


def test_a_writer_gets_the_lock_that_is_let_go_in_time(folder):
    with MemoryMesh(db_dir=folder, settings={"lock_wait_seconds": PATIENT}) as mesh:
        thread = threading.Thread(target=mesh.add, args=("coffee is hot",))
        with held_lock(folder):
            thread.start()
            thread.join(0.05)
            assert thread.is_alive()
        thread.join(PATIENT)
        assert len(mesh.get_all()) == 2


def test_no_read_waits_for_a_writer_and_all_of_them_are_recorded_later(folder):
    with opened(folder) as mesh:
        id_ = only(mesh).id
        with held_lock(folder):
            for _ in range(130):
                assert mesh.search("tea")
            assert mesh.get(id_) is not None
            assert mesh.context("tea")
            assert mesh.explain(id_)
            assert mesh.care.verify().ok
            assert mesh.stats().memories == 1
        assert only(mesh).uses == 0
        mesh.add("coffee is hot")
        assert mesh.history(id_)[-1].uses == 2  # of `get` and of `context`
    assert recorded(folder) == 132


def test_no_read_waits_where_writers_are_patient(folder, monkeypatch):
    waited = []
    mesh = MemoryMesh(db_dir=folder, settings={"lock_wait_seconds": PATIENT}, embedder="none")
    id_ = only(mesh).id
    with held_lock(folder):
        with monkeypatch.context() as patched:
            patched.setattr(locks, "wait", lambda _event, end: waited.append(end))
            for _ in range(history.FULL + 1):
                mesh.search("tea")
            mesh.get(id_)
            mesh.context("tea")
            mesh.explain(id_)
        assert waited == []
    mesh.close()
    assert recorded(folder) == history.FULL + 3


def test_the_next_write_records_what_waited(folder):
    with opened(folder) as mesh:
        id_ = only(mesh).id
        with held_lock(folder):
            mesh.search("tea")
            mesh.get(id_)
        assert mesh.history(id_)[-1].uses == 0  # no `get` writes
        mesh.rate(id_, helpful=True)
        assert mesh.history(id_)[-1].uses == 1
    assert recorded(folder) == 2


def test_the_uses_of_a_process_that_only_reads_are_written_64_at_a_time(folder):
    with opened(folder) as mesh:
        id_ = only(mesh).id
        for _ in range(history.FULL - 1):
            mesh.get(id_)
        assert recorded(folder) == 0
        mesh.get(id_)
        assert recorded(folder) == mesh.history(id_)[-1].uses == history.FULL


def test_only_the_newest_thousand_records_of_reads_wait_where_there_is_no_spool(
    folder, caplog, monkeypatch
):
    (folder / "namespaces" / "default.spool").mkdir()
    with opened(folder) as mesh:
        id_ = only(mesh).id
        with held_lock(folder):
            for _ in range(history.MOST + 5):
                mesh._opened().ledger.use("default", [id_], None)
        buffer = mesh._opened().ledger._waiting
        assert buffer.dropped == 5
        mesh.add("coffee is hot")
        assert mesh.history(id_)[-1].uses == history.MOST
    assert "records of searches and uses are lost" in caplog.text


def test_close_leaves_what_it_cannot_write_in_a_private_spool_that_the_next_writer_takes_in(folder):
    left = folder / "namespaces" / "default.spool"
    old = os.umask(0)
    try:
        with held_lock(folder), opened(folder) as mesh:
            id_ = only(mesh).id
            mesh.search("tea")
            mesh.context("tea")
            mesh.get(id_)
    finally:
        os.umask(old)
    assert stat.S_IMODE(left.stat().st_mode) == 0o600
    assert len(left.read_bytes().splitlines()) == 3
    assert recorded(folder) == 0
    with opened(folder) as mesh:
        assert mesh.care.verify().checked["records in the spool"] == 3
        mesh.add("coffee is hot")
        assert not left.exists()
        assert mesh.history(id_)[-1].uses == 2
        assert len(mesh.explain(id_).injections) == 1
    assert recorded(folder) == 3


def test_close_waits_no_longer_than_its_bound_where_writers_are_patient(folder, monkeypatch):
    waited = []
    mesh = MemoryMesh(db_dir=folder, settings={"lock_wait_seconds": PATIENT}, embedder="none")
    with held_lock(folder), monkeypatch.context() as patched:
        mesh.search("tea")
        patched.setattr(locks, "wait", lambda _event, end: waited.append(end - time.monotonic()))
        mesh.close()
    assert 0 < max(waited) <= CLOSING_SECONDS
    assert (folder / "namespaces" / "default.spool").exists()


def test_a_use_beside_a_writer_waits_for_a_flush_and_is_then_in_the_spool(folder):
    left = folder / "namespaces" / "default.spool"
    with opened(folder) as mesh:
        id_ = only(mesh).id
        with held_lock(folder):
            mesh.search("tea")
            mesh.get(id_)
            assert not left.exists()  # both are recorded soon
            mesh._opened().ledger.flush("default")
            assert len(left.read_bytes().splitlines()) == 2
            mesh.context("tea")
            mesh._opened().ledger.flush("default")
            assert len(left.read_bytes().splitlines()) == 3
        mesh._opened().ledger.flush("default")
        assert not left.exists()
        assert mesh.history(id_)[-1].uses == 2
    assert recorded(folder) == 3


def test_close_takes_in_what_the_process_left(folder):
    left = folder / "namespaces" / "default.spool"
    with opened(folder) as mesh:
        id_ = only(mesh).id
        with held_lock(folder):
            mesh.get(id_)
            mesh._opened().ledger.flush("default")
        assert left.exists()
    assert not left.exists()
    with opened(folder) as mesh:
        assert only(mesh).uses == 1


def test_no_read_waits_for_who_is_stopped_with_the_spool(folder, monkeypatch):
    left, waited = folder / "namespaces" / "default.spool", []
    with opened(folder) as mesh:
        id_ = only(mesh).id
        with held_lock(folder):
            mesh.get(id_)
            mesh._opened().ledger.flush("default")
            with (
                left.open("rb") as file,
                locks.held(left, file.fileno()),
                monkeypatch.context() as patched,
            ):
                patched.setattr(locks, "wait", lambda _event, end: waited.append(end))
                mesh.get(id_)
                mesh._opened().ledger.flush("default")
        assert waited == []
        mesh.add("coffee is hot")
        assert mesh.history(id_)[-1].uses == 2


def test_what_a_failed_transaction_took_waits_again():
    buffer = history.NotedBuffer()
    first, second = (history.Noted(used=(id_,)) for id_ in ("mem_1", "mem_2"))
    buffer.add("default", first)
    with suppress(StoreIsBusy), buffer.taken("default") as taken:
        assert taken.all() == [first]
        buffer.add("default", second)
        raise StoreIsBusy
    assert buffer.drained("default") == [first, second]


def test_a_spool_that_its_writer_did_not_remove_is_taken_once(folder):
    left = folder / "namespaces" / "default.spool"
    with held_lock(folder), opened(folder) as mesh:
        id_ = only(mesh).id
        mesh.get(id_)
    data = left.read_bytes()
    for text in ("coffee is hot", "milk is white"):
        left.write_bytes(data)  # the writer before was killed between commit and removal
        with opened(folder) as mesh:
            mesh.add(text)
            assert mesh.history(id_)[-1].uses == 1
        assert not left.exists()
    assert recorded(folder) == 1


def test_a_process_that_ends_without_close_leaves_its_records(folder):
    code = (
        "import sys; from memory_mesh.sync import MemoryMesh\n"
        "mesh = MemoryMesh(db_dir=sys.argv[1], embedder='none'); mesh.search('tea')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    assert recorded(folder) == 0
    with opened(folder) as mesh:
        mesh.add("coffee is hot")
    assert recorded(folder) == 1


def test_a_damaged_line_of_the_spool_is_left_out_and_counted(folder):
    left = folder / "namespaces" / "default.spool"
    with held_lock(folder), opened(folder) as mesh:
        mesh.search("tea")
    (good,) = left.read_bytes().splitlines()
    values = json.loads(good)
    entry = values["entry"]
    broken = [
        b"not json",
        b"[" * 100_000,
        b"[1]",
        json.dumps({**values, "entry": {**entry, "id": {"a": 1}}}).encode(),
        json.dumps({**values, "entry": {**entry, "wire": "\ud800"}}).encode(),
        json.dumps({**values, "entry": {**entry, "at": 2**70}}).encode(),
        json.dumps({**values, "entry": {**entry, "metadata": 1}}).encode(),
        json.dumps({**values, "used": [1], "at": 1}).encode(),
        json.dumps({"entry": entry}).encode(),
        b'{"batch": "cut off',
    ]
    left.write_bytes(b"\n".join([good, *broken]))
    with opened(folder) as mesh:
        checked = mesh.care.verify().checked
        assert checked["records in the spool"] == 1
        assert checked["damaged lines in the spool"] == len(broken)
        assert mesh.care.verify().ok
        mesh.add("coffee is hot")
    assert recorded(folder) == 1
    assert not left.exists()


def test_what_is_no_plain_file_is_no_spool(folder):
    left = folder / "namespaces" / "default.spool"
    os.mkfifo(left)
    with opened(folder) as mesh:
        mesh.add("coffee is hot")
        with held_lock(folder):
            mesh.search("tea")
            mesh.close()
    assert stat.S_ISFIFO(left.stat().st_mode)


def test_eight_timed_out_adds_leave_the_pool_free_and_store_nothing(folder):
    async def story():
        mesh = memory_mesh.MemoryMesh(
            db_dir=folder, embedder="none", settings={"lock_wait_seconds": PATIENT}
        )
        with held_lock(folder):
            adds = [asyncio.wait_for(mesh.add(f"cup {number}"), 0.05) for number in range(16)]
            ends = await asyncio.gather(*adds, return_exceptions=True)
            assert all(isinstance(end, TimeoutError) for end in ends)
            assert await asyncio.wait_for(mesh.search("tea"), PATIENT)
            async with asyncio.timeout(PATIENT):
                while mesh._threads._pool.calls:  # noqa: ASYNC110  # a set, no event
                    await asyncio.sleep(0.001)
        stored = await mesh.get_all()
        await mesh.close()
        return stored

    assert [memory.text for memory in asyncio.run(story())] == ["tea is hot"]


def test_calls_that_timed_out_leave_no_error_that_nobody_took(folder):
    told = []

    async def story():
        asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))
        mesh = memory_mesh.MemoryMesh(
            db_dir=folder, embedder="none", settings={"lock_wait_seconds": PATIENT}
        )
        await mesh.search("tea")
        with held_lock(folder):
            adds = [asyncio.wait_for(mesh.add(f"cup {number}"), SHORT) for number in range(12)]
            ends = await asyncio.gather(*adds, return_exceptions=True)
            await asyncio.wait_for(mesh.search("tea"), PATIENT)  # a thread is free again
        await mesh.close()
        gc.collect()
        return ends

    assert all(isinstance(end, TimeoutError) for end in asyncio.run(story()))
    gc.collect()
    assert told == []


def test_an_async_close_ends_the_waits_of_calls_before_it(folder):
    async def story():
        mesh = memory_mesh.MemoryMesh(
            db_dir=folder, embedder="none", settings={"lock_wait_seconds": PATIENT}
        )
        await mesh.search("tea")
        with held_lock(folder):
            adds = [asyncio.create_task(mesh.add(f"cup {number}")) for number in range(9)]
            await asyncio.sleep(0.01)
            await asyncio.wait_for(mesh.close(), PATIENT / 2)
            ends = await asyncio.gather(*adds, return_exceptions=True)
        assert all(isinstance(end, StoreIsBusy | Closed) for end in ends)

    asyncio.run(story())


def test_what_has_begun_is_not_ended_by_a_cancellation(tmp_path):
    ledger, cancellation = SqliteLedger(tmp_path, SystemClock()), locks.Cancellation()

    def decide(_standing):
        cancellation.cancel()
        return Commit(states={"cancelled": "and written"})

    cancellation.run(lambda: ledger.commit("default", Wanted(), decide))
    with ledger.read("default") as snapshot:
        found = snapshot.standing(Wanted(states=("cancelled",))).states
    assert found == {"cancelled": "and written"}
    assert not locks.cancelled()  # that was one call
    ledger.close()


def test_a_program_that_takes_no_lock_of_ours_is_waited_for_until_the_same_deadline(folder):
    with (
        opened(folder) as mesh,
        closing(sqlite3.connect(folder / "namespaces" / "default.db")) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        assert mesh.search("tea")
        assert mesh.get(only(mesh).id) is not None
        with pytest.raises(StoreIsBusy, match=r"holds default\.db"):
            mesh.add("coffee is hot")
        other.rollback()
        mesh.add("coffee is hot")


def test_a_file_that_another_process_locks_altogether_refuses_a_read_soon(folder):
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("DELETE FROM recall")
        other.commit()
        with opened(folder) as mesh:
            with pytest.raises(StoreIsBusy):
                mesh.search("tea")
            other.close()
            assert mesh.search("tea")


def test_a_process_stopped_while_it_makes_the_log_is_named_soon(folder):
    code = (
        "import fcntl, sys; file = open(sys.argv[1], 'wb')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX, 1, 128)\n"
        "print('locked', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(folder / "namespaces" / "default.db-shm")]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other,
        opened(folder) as mesh,
    ):
        assert other.stdout is not None
        assert other.stdout.readline()
        with pytest.raises(StoreIsBusy, match=f"process {other.pid} holds"):
            mesh.search("tea")
        other.kill()
        other.wait()
        assert mesh.search("tea")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (6.78e-05, "0"),
        (0.05, "0.05"),
        (2.5, "2.5"),
        (9.999, "10"),
        (600.2, "600"),
        (12345.6, "12346"),
    ],
)
def test_the_time_waited_is_rounded(seconds, said):
    busy = StoreIsBusy.held("default.lock", pid=None, since=None, waited=seconds)
    assert f"; waited {said} s, nothing was begun" in str(busy)


def test_the_time_is_a_setting():
    assert load({}, {}).lock_wait_seconds == 10.0
    assert load({"lock_wait_seconds": 0}, {}).lock_wait_seconds == 0.0
    assert load({}, {"MEMORY_MESH_LOCK_WAIT_SECONDS": "2.5"}).lock_wait_seconds == 2.5
    for value in (-1, "soon", True, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match=r"lock_wait_seconds: .*, 0 or more, not"):
            load({"lock_wait_seconds": value}, {})
