"""Many processes and threads share the namespaces of a database."""

import logging
import threading
from contextlib import closing
from urllib.parse import urlsplit

import psycopg
import pytest

from memory_mesh.model.errors import Closed, StoreIsBusy
from memory_mesh.platform import locks, telemetry
from tests.faults import postgres_world as world
from tests.faults.suites import counts, sampled

BATCH = world.Batch("one", 1, "shared")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def owner(postgres, database):
    return postgres.url(urlsplit(database).path.lstrip("/"))


@pytest.fixture
def held(owner, database):
    """Somebody else's transaction holds the namespace."""
    with closing(world.open_ledger(database)) as ledger:
        world.write(ledger, BATCH)
    with psycopg.connect(owner) as db:
        db.execute("SELECT 1 FROM memory_mesh.store FOR UPDATE")
        yield db


def test_writers_of_many_processes_and_threads_lose_and_double_nothing(database, owner):
    report = sampled("postgres-race", database, owner)
    report.holds()
    given = counts("postgres-race")
    writers = given["processes"] * given["threads"]
    assert report.figures["acknowledged"] == writers * given["writes"]
    assert report.figures["looks as of a moment"]


@pytest.mark.usefixtures("held")
def test_a_lock_that_others_hold_is_waited_for_so_long_and_no_longer(database):
    with (
        closing(world.open_ledger(database, lock_wait=0.2)) as ledger,
        pytest.raises(StoreIsBusy, match=r"holds the namespace shared; waited 0\.2 s, nothing"),
    ):
        world.write(ledger, world.Batch("two", 1, "shared"))


@pytest.mark.usefixtures("held")
def test_a_call_that_may_not_wait_does_not_wait_for_the_lock(database):
    with (
        closing(world.open_ledger(database, lock_wait=300)) as ledger,
        locks.at_most(0.0),
        pytest.raises(StoreIsBusy),
    ):
        world.write(ledger, world.Batch("two", 1, "shared"))


def test_a_writer_goes_on_when_the_lock_is_free(database, held):
    with closing(world.open_ledger(database, lock_wait=60)) as ledger:
        timer = threading.Timer(0.3, held.rollback)
        timer.start()
        assert world.write(ledger, world.Batch("two", 1, "shared"))
        timer.join()


def test_more_threads_than_connections_wait_for_room_and_then_give_up(database):
    inside, done = threading.Semaphore(0), threading.Event()

    def read(ledger):
        with ledger.read("shared") as snapshot:
            snapshot.head()  # a read takes its connection when it asks
            inside.release()
            done.wait(60)

    with closing(world.open_ledger(database, lock_wait=0.2)) as ledger:
        world.write(ledger, BATCH)
        threads = [threading.Thread(target=read, args=(ledger,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert inside.acquire(timeout=300)
        with pytest.raises(StoreIsBusy, match="all 8 connections"):
            world.write(ledger, world.Batch("two", 1, "shared"))
        done.set()
        for thread in threads:
            thread.join()
        assert world.write(ledger, world.Batch("two", 1, "shared"))


def test_records_that_wait_are_written_at_close_and_dropped_when_the_lock_is_held(
    database, held, caplog, monkeypatch
):
    monkeypatch.setattr(logging.getLogger("memory_mesh"), "propagate", True)
    monkeypatch.setattr(telemetry, "_warned", set())  # another test may have been told already
    ledger = world.open_ledger(database)
    ledger.note("shared", world.recall(1))
    ledger.close()  # others hold the lock until that has ended
    assert "records" in caplog.text
    held.rollback()
    again = world.open_ledger(database)
    again.note("shared", world.recall(2))
    again.note("nowhere", world.recall(3))
    again.close()
    with closing(world.open_ledger(database)) as other:
        assert [block.entry.id for block in other.recalls("shared", 9)] == ["yamo_recall_2"]
        assert list(other.namespaces()) == ["shared"]
    with pytest.raises(Closed):
        world.write(again, BATCH)
