"""Whatever the network does, an acknowledged write is stored and no call hangs."""

from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from memory_mesh.model.errors import MayBeStored, StoreIsAway
from tests.faults import postgres_proxy, postgres_world as world
from tests.faults.fault_proxy import Fault, FaultProxy
from tests.faults.suites import sampled
from tests.postgres import Server

BATCH = world.Batch("one", 2, postgres_proxy.NAMESPACE)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def proxy(postgres, tmp_path_factory):
    with closing(FaultProxy(postgres.folder, tmp_path_factory.mktemp("p"))) as opened:
        yield opened


@pytest.fixture
def ledger(proxy, database):
    with closing(world.open_ledger(proxy.url(database), lock_wait=1.0, answer_wait=0.6)) as opened:
        world.write(opened, world.Batch("first", 1, BATCH.namespace))
        yield opened


def _owner(postgres: Server, database: str) -> str:
    return postgres.url(urlsplit(database).path.lstrip("/"))


def _stored(database: str, *batches: world.Batch) -> list[int]:
    with closing(world.open_ledger(database)) as direct, direct.read(BATCH.namespace) as snapshot:
        return list(world.present(snapshot, batches).values())


def test_random_faults_lose_and_double_nothing(postgres, database, tmp_path_factory):
    place = postgres_proxy.Place(
        postgres.folder, database, _owner(postgres, database), tmp_path_factory.mktemp("p")
    )
    report = sampled("postgres-proxy", place)
    report.holds()
    assert report.figures["faults"]
    assert report.figures["acknowledged"]


@pytest.mark.parametrize("kind", ["cut", "swallow"])
def test_a_write_whose_commit_was_not_answered_may_be_stored(ledger, proxy, database, kind):
    proxy.arm(Fault(kind, "to client", marker=b"COMMIT\0"))
    with pytest.raises(MayBeStored, match="Look before you write it again, or write with a key"):
        world.write(ledger, BATCH)
    assert _stored(database, BATCH) == [BATCH.size]
    assert not world.write(ledger, BATCH)  # the key says that it is there


def test_a_write_whose_commit_never_arrived_may_be_stored_and_is_not(ledger, proxy, database):
    proxy.arm(Fault("cut", "to server", marker=b"COMMIT\0"))
    with pytest.raises(MayBeStored):
        world.write(ledger, BATCH)
    assert _stored(database, BATCH) == [0]
    assert world.write(ledger, BATCH)


def test_a_write_that_was_cut_before_its_commit_is_not_stored(ledger, proxy, database):
    proxy.arm(Fault("cut", "to server", marker=b"says number"))
    with pytest.raises(StoreIsAway, match="Nothing was stored; retry"):
        world.write(ledger, BATCH)
    assert _stored(database, BATCH) == [0]
    assert world.write(ledger, BATCH)


def test_a_connection_that_ended_while_idle_is_replaced_unnoticed(ledger, proxy):
    struck = proxy.arm(Fault("cut", "to server", marker=b"BEGIN"))
    assert world.write(ledger, BATCH)
    assert struck.struck.is_set()


def test_a_network_that_swallows_everything_is_given_up_in_time(ledger, proxy):
    """It swallows until the call has ended."""
    proxy.everything = True
    with pytest.raises(StoreIsAway, match="cannot be reached"):
        world.write(ledger, BATCH)
    proxy.disarm()
    assert world.write(ledger, BATCH)


def test_the_server_ends_a_write_of_whom_it_hears_nothing(ledger, proxy, database):
    """Else a process that nobody can reach would keep all others from writing."""
    proxy.arm(Fault("swallow", "to server", marker=b"COMMIT\0"))
    with pytest.raises(MayBeStored):
        world.write(ledger, BATCH)
    with closing(world.open_ledger(database, lock_wait=30.0)) as other:
        assert world.write(other, BATCH)


def test_closing_a_ledger_whose_server_is_silent_takes_a_moment(proxy, database):
    ledger = world.open_ledger(proxy.url(database))
    world.write(ledger, BATCH)
    ledger.note(BATCH.namespace, world.recall(1))
    proxy.everything = True
    ledger.close()
    assert proxy.everything  # it is silent still


def test_a_store_that_is_nowhere_is_said_to_be_away(tmp_path):
    ledger = world.open_ledger(f"postgresql://nobody@/nothing?host={tmp_path}")
    with closing(ledger), pytest.raises(StoreIsAway, match="Look whether the server runs"):
        world.write(ledger, BATCH)
    assert not list(Path(tmp_path).iterdir())
