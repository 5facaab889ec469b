"""The PostgreSQL ledger keeps its promises behind a pooler in transaction mode."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_mesh.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.ledgers.postgres.setup import opening_key
from memory_mesh.ledgers.postgres.transactions import Transactions
from memory_mesh.model.ports import Clock
from tests.contract.search_contract import SearchContract
from tests.faults.postgres_isolation import attacked
from tests.faults.postgres_tenants import OTHERS, OWN, made_world
from tests.pgbouncer import BINARY, Bouncer
from tests.postgres import SECRET, Server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BINARY is None, reason="PgBouncer is not installed: install pgbouncer"),
]
SEED = 20261118


@pytest.fixture(scope="module")
def bouncer(postgres: Server) -> Iterator[Bouncer]:
    started = Bouncer(postgres)
    yield started
    started.stop()


class TestPostgresLedgerBehindAPooler(SearchContract):
    """It keeps every promise of a contract that writes, reads, searches and compares vectors."""

    @pytest.fixture(autouse=True)
    def _database(self, postgres: Server, bouncer: Bouncer) -> Iterator[None]:
        name = postgres.database()
        self.url = f"{bouncer.url(name)}&pooler=transaction"
        yield
        postgres.drop(name)

    def open_ledger(self, clock: Clock) -> PostgresLedger:
        return PostgresLedger(self.url, clock, secret=SECRET)


def test_attacks_behind_a_pooler_see_and_change_nothing_of_others(postgres, bouncer):
    world = made_world(postgres)
    report = attacked(world, attacks=300, seed=SEED, way=bouncer.url(world.database))
    report.holds()
    assert report.figures["own rows seen"]
    world.close()


@pytest.mark.parametrize("stated", ["&pooler=transaction", ""])
def test_users_who_share_two_connections_stay_apart(postgres, bouncer, stated):
    world = made_world(postgres)
    mesh = Transactions(f"{bouncer.url(world.database)}{stated}", opening_key(SECRET), 5.0)

    def seen(place: int) -> tuple[str, set[int]]:
        name = (OWN, *OTHERS)[place % 5]
        with mesh.reading(name) as db:
            assert db is not None
            assert db.raw.prepare_threshold is None
            return name, {ns for (ns,) in db.own("SELECT ns FROM text")}

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(seen, range(100)))
    assert len(found) == 100
    assert all(numbers == {world.numbers[name]} for name, numbers in found)
    mesh.close()
    world.close()
