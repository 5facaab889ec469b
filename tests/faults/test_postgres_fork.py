"""A process that forks after it opened a ledger shares no connection with its child."""

import multiprocessing
import subprocess
import sys
import threading
from contextlib import closing
from urllib.parse import urlsplit

import psycopg
import pytest

from memory_mesh.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.model import Commit, Wanted
from memory_mesh.model.errors import NotAfterFork
from tests.faults import postgres_world as world
from tests.faults.processes import Child, call

NAME = "forked"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
_LEFT = """
from tests.faults import postgres_world as world
ledger = world.open_ledger({url!r})
world.write(ledger, world.Batch("one", 1, "forked"))
ledger.note("forked", world.recall(1))
"""


def test_parent_and_children_write_at_once_on_connections_of_their_own(database, postgres):
    told, sharers = call(_fork_and_write, database)
    assert len(set(sharers)) == len(sharers)
    with closing(world.open_ledger(database)) as ledger:
        with ledger.read(NAME) as snapshot:
            assert set(world.present(snapshot, told).values()) == {1}
        assert ledger.verify(NAME).ok
    owner = postgres.url(urlsplit(database).path.lstrip("/"))
    assert not world.flaws_of_chain(owner, NAME)


def test_a_child_may_not_go_on_with_its_parents_transaction(database):
    assert call(_fork_inside, database) == ("refused", "stored")


def test_records_that_wait_at_a_fork_are_written_once(database):
    call(_note_around, database)
    with closing(world.open_ledger(database)) as ledger:
        found = sorted(block.entry.id for block in ledger.recalls(NAME, 99))
        assert found == ["yamo_recall_1", "yamo_recall_2"]


def test_a_fork_pool_over_an_open_ledger(database):
    assert call(_pool, database) == [True] * 6


def test_a_process_that_ends_without_closing_writes_what_waits(database):
    subprocess.run([sys.executable, "-c", _LEFT.format(url=database)], check=True, timeout=120)
    with closing(world.open_ledger(database)) as ledger:
        assert [block.entry.id for block in ledger.recalls(NAME, 9)] == ["yamo_recall_1"]


def _backends(ledger):
    """The server's processes that serve this one."""
    raw = ledger._at._pool._idle
    return [one.info.backend_pid for one in raw]


def _fork_and_write(url):
    stop, told = threading.Event(), list[world.Batch]()
    ledger = world.open_ledger(url)

    def write():
        while not stop.is_set():
            told.append(world.Batch(f"thread-{len(told)}", 1, NAME))
            world.write(ledger, told[-1])

    world.write(ledger, world.Batch("first", 1, NAME))
    thread = threading.Thread(target=write)
    thread.start()
    children = [Child(_write_some, ledger, who) for who in range(4)]
    results = [child.result() for child in children]
    stop.set()
    thread.join()
    pids = _backends(ledger) + [pid for _, found in results for pid in found]
    ledger.close()
    return told + [batch for batches, _ in results for batch in batches], pids


def _write_some(ledger, who):
    batches = [world.Batch(f"child-{who}-{number}", 1, NAME) for number in range(5)]
    for batch in batches:
        world.write(ledger, batch)
    return batches, _backends(ledger)


def _fork_inside(url):
    ledger = world.open_ledger(url)
    children = []

    def decide(standing):
        children.append(Child(_go_on, standing))
        return Commit()

    world.write(ledger, world.Batch("first", 1, NAME))
    ledger.commit(NAME, Wanted(), decide)
    refused = children[0].result()
    stored = world.write(ledger, world.Batch("second", 1, NAME))
    ledger.close()
    return refused, "stored" if stored else "lost"


def _go_on(standing):
    try:
        standing.taken("mem_first_0")
    except NotAfterFork:
        return "refused"
    return "went on"


def _note_around(url):
    ledger = world.open_ledger(url)
    world.write(ledger, world.Batch("first", 1, NAME))
    ledger.note(NAME, world.recall(1))
    Child(_note_and_close, ledger).result()
    ledger.close()


def _note_and_close(ledger):
    ledger.note(NAME, world.recall(2))
    ledger.close()


_SHARED: list[PostgresLedger] = []  # what workers of a pool find in the memory they were born with


def _pool(url):
    with closing(world.open_ledger(url)) as ledger:
        _SHARED.append(ledger)
        world.write(ledger, world.Batch("first", 1, NAME))
        with multiprocessing.get_context("fork").Pool(3) as pool:
            return pool.map(_write_in_pool, range(6))


def _write_in_pool(number):
    return world.write(_SHARED[0], world.Batch(f"pool-{number}", 1, NAME))


def test_the_backends_of_a_ledger_are_counted(database):
    """Else the first test here would compare nothing."""
    with closing(world.open_ledger(database)) as ledger:
        world.write(ledger, world.Batch("first", 1, NAME))
        (pid,) = _backends(ledger)
        with psycopg.connect(database) as db:
            found = db.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", (pid,))
            assert found.fetchone() == (1,)
