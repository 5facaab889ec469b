"""A fleet is one address: its places are on several servers, and move while they are used."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from memory_mesh.care import delete_namespace
from memory_mesh.care.server import make_cold
from memory_mesh.ledgers.postgres.copies import name_storage
from memory_mesh.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.ledgers.postgres.setup import opening_key
from memory_mesh.ledgers.postgres.transactions import Transactions
from memory_mesh.model.errors import InvalidInput, StoreError
from memory_mesh.model.ports import Clock
from memory_mesh.sync import MemoryMesh
from tests.contract.keyword_contract import KeywordContract
from tests.contract.ledger_contract import LedgerContract, RelationsContract
from tests.contract.search_contract import CallingContract, SearchContract
from tests.faults.fleet import STEPS, Fleet, fleet
from tests.faults.sample import SEED, is_whole
from tests.flow.test_postgres_trips import MOST, TripsCounted
from tests.object_storage import CREDENTIALS
from tests.postgres import APP, SECRET
from tests.surface.command import CommandLine

pytestmark = pytest.mark.slow
PEOPLE = [f"person-{number}" for number in range(8)]


@pytest.fixture(scope="module")
def two() -> Iterator[Fleet]:
    """Two servers and three places."""
    with fleet(2, 3) as found:
        yield found


@pytest.fixture
def mesh(two: Fleet, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryMesh]:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    with MemoryMesh(two.url(), embedder="none") as opened:
        yield opened


def test_a_cold_namespace_comes_back_to_its_place_wherever_that_is(two, mesh, storage, monkeypatch):
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    name_storage(two.url("postgres"), storage.address("fleet", days=0, keep_days=0))
    own = mesh.view(namespace="sleeper")
    made = own.add("The canary sings in the shed").id
    assert make_cold(own.config) is not None
    assert "sleeper" in mesh.care.namespaces()
    assert [hit.id for hit in own.search("where does the canary sing", use_cache=False)] == [made]
    assert make_cold(own.config) is not None
    with closing(two.owner()) as owner:
        (place,) = [each for each in owner.shown() if each.name == two.place_of("sleeper")]
        (target,) = {address for address, _ in owner.servers()} - {place.server}
        owner.move(place.name, target)
    assert [memory.id for memory in own.get_all()] == [made]
    assert own.care.verify().ok
    assert make_cold(own.config) is not None
    assert delete_namespace(two.url(), "sleeper").memories == 1
    assert storage.objects("fleet") == []
    assert "sleeper" not in mesh.care.namespaces()


class Killed(BaseException):
    """What a mover meets when it is killed."""


def test_everybody_has_memories_of_their_own_in_one_store(mesh):
    for name in PEOPLE:
        mesh.view(namespace=name).add(f"The door of {name} is green")
    assert set(PEOPLE) <= set(mesh.care.namespaces())
    assert mesh.care.namespaces(limit=2) == sorted(mesh.care.namespaces())[:2]
    for name in PEOPLE:
        (hit,) = mesh.view(namespace=name).search("which colour is the door")
        assert hit.content == f"The door of {name} is green"


@pytest.mark.parametrize(
    ("step", "back"),
    [(STEPS[SEED % len(STEPS)], False), (STEPS[SEED // 7 % len(STEPS)], True)],
    ids=["goes on", "back"],
)
def test_a_move_that_was_killed_goes_on_or_is_taken_back(two, mesh, step, back):
    views = {name: mesh.view(namespace=name) for name in PEOPLE}
    before = {name: len(view.get_all(limit=500)) for name, view in views.items()}
    with closing(two.owner()) as owner:
        place = owner.shown()[SEED % two.places]
        (target,) = {address for address, _ in owner.servers()} - {place.server}

        def kill(reached: str) -> None:
            if reached == step:
                raise Killed

        with pytest.raises(Killed):
            owner.move(place.name, target, kill)
    with ThreadPoolExecutor(len(views)) as pool, closing(two.owner()) as owner:
        waiting = [
            pool.submit(view.add, f"It rained when {step} was next, {back}")
            for view in views.values()
        ]
        if back:
            owner.back(place.name)
        else:
            owner.move(place.name, target)
        assert all(each.result().id for each in waiting)
        (after,) = [each for each in owner.shown() if each.name == place.name]
        decided = STEPS.index(step) >= STEPS.index("decided")
        assert after.server == (target if decided or not back else place.server)
        assert after.state == ""
        assert {each.state for each in owner.shown()} == {""}
    for name, view in views.items():
        view.add(f"It was dry after {step}, {back}")
        assert len(view.get_all(limit=500)) == before[name] + 2
        assert view.care.verify().ok
    for server in two.servers:
        with psycopg.connect(server.url("memories")) as db:
            assert db.execute("SELECT count(*) FROM pg_replication_slots").fetchone() == (0,)
            assert db.execute("SELECT count(*) FROM pg_subscription").fetchone() == (0,)
            assert db.execute("SELECT count(*) FROM pg_publication").fetchone() == (0,)


def test_a_number_in_one_place_opens_nothing_in_another(two):
    with closing(Transactions(two.url(), opening_key(SECRET), 5.0)) as at:
        for name in PEOPLE:
            with at.writing(name):
                pass
        with closing(two.owner()) as owner:
            homes = {each.name: each.server for each in owner.shown()}
        own = PEOPLE[0]
        place = two.place_of(own)
        with psycopg.connect(f"{homes[place]} user={APP}", autocommit=True) as raw:
            for other in sorted(homes):
                with raw.transaction():
                    ns = raw.execute(
                        f"SELECT {place}.enter(%s, %s, 0)", (own, at.capability(own))
                    ).fetchone()
                    assert ns != (None,)
                    found = raw.execute("SELECT to_regnamespace(%s)::oid", (other,)).fetchone()
                    if found != (None,):
                        inside = raw.execute(f"SELECT {other}.entered_ns()").fetchone()
                        assert inside == (ns if other == place else (None,))


def test_an_old_copy_of_a_place_is_refused(two):
    with closing(two.owner()) as owner:
        place = owner.shown()[0]
    with (
        closing(Transactions(two.url(), opening_key(SECRET), 5.0)) as at,
        psycopg.connect(f"{place.server} user={APP}", autocommit=True) as raw,
    ):
        entered = f"SELECT {place.name}.enter(%s, %s, %s)"
        raw.execute(entered, ("anna", at.capability("anna"), place.epoch))
        with pytest.raises(psycopg.DatabaseError, match="moved to another server"):
            raw.execute(entered, ("anna", at.capability("anna"), place.epoch + 1))


def test_a_database_of_before_joins_with_what_it_has(two, mesh):
    server = two.servers[0]
    name = server.database(2)
    mesh.view(namespace=PEOPLE[0]).get_all(limit=1)  # it has read the directory
    with MemoryMesh(server.url(name, APP), embedder="none") as alone:
        alone.view(namespace="veteran").add("The office is in Lyon")
        with closing(two.owner()) as owner:
            owner.add_servers([server.url(name)])
        assert len(mesh.view(namespace="veteran").get_all()) == 1  # it reads the directory again
        with MemoryMesh(two.url(), embedder="none") as anew:
            assert [each.content for each in anew.view(namespace="veteran").get_all()] == [
                "The office is in Lyon"
            ]
            with closing(two.owner()) as owner:
                target = owner.servers()[1][0]
                owner.move("memory_mesh", target)
            anew.view(namespace="veteran").add("The office moved to Nice")
            assert len(anew.view(namespace="veteran").get_all()) == 2
        with pytest.raises(StoreError, match="directory"):
            alone.view(namespace="veteran").get_all()
        with pytest.raises(StoreError, match="directory"):
            alone.view(namespace="newcomer").add("Nobody may begin here any more")


def test_a_namespace_gets_a_place_of_its_own_and_comes_back(two, mesh):
    view, neighbour = mesh.view(namespace="hot"), mesh.view(namespace=PEOPLE[1])
    pinned = view.add("The hot one has many readers").id
    view.update(str(pinned), "The hot one has a thousand readers")
    neighbour.add("A neighbour stays where it is")
    before = len(neighbour.get_all(limit=500))
    with closing(two.owner()) as owner:
        address = owner.servers()[1][0]
        own = owner.settle("hot", address)
        view.add("It has a place of its own now")
        assert len(view.get_all()) == 2
        (place,) = [each for each in owner.shown() if each.name == own]
        assert place.server == address
        assert mesh.care.namespaces().count("hot") == 1
        back = owner.unsettle("hot")
        assert back == two.place_of("hot")
        assert len(view.get_all()) == 2
        owner.settle("hot", address)
        view.add("It was away, and is here again")
    assert len(view.get_all()) == 3
    assert view.search("how many readers")[0].content == "The hot one has a thousand readers"
    assert view.care.verify().ok
    assert len(view.history(str(pinned))) == 2
    assert len(neighbour.get_all(limit=500)) == before


def test_places_go_on_while_the_directory_is_away(two, mesh):
    view = mesh.view(namespace=PEOPLE[0])
    count = len(view.get_all(limit=500))
    directory = two.servers[-1]
    with psycopg.connect(directory.url(), autocommit=True) as db:
        db.execute("ALTER DATABASE directory ALLOW_CONNECTIONS false")
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'directory'"
        )
        try:
            view.add("The directory may rest for a while")
            assert len(view.get_all(limit=500)) == count + 1
            with (
                MemoryMesh(two.url(), embedder="none") as late,
                pytest.raises(StoreError, match="directory"),
            ):
                late.view(namespace=PEOPLE[0]).get_all()
        finally:
            db.execute("ALTER DATABASE directory ALLOW_CONNECTIONS true")


def test_the_owner_looks_moves_and_shares_out_at_the_command_line(two, mesh, tmp_path):
    cli = CommandLine(tmp_path, variables={"MEMORY_MESH_KEY": SECRET.hex()})
    at = ("--store", two.url("postgres"))
    for name in PEOPLE:
        mesh.view(namespace=name).add("A fleet has a command of its own")
    shown = json.loads(cli("--json", *at, "fleet", "show").out)
    assert len(shown["servers"]) >= 2
    place = shown["places"][-1]
    target = next(
        each["address"] for each in shown["servers"] if each["address"] != place["server"]
    )
    done = cli(*at, "fleet", "move", place["name"], "--to", target)
    assert done.code == 0, done.err
    assert "writers waited" in done.out
    plan = json.loads(cli("--json", *at, "fleet", "rebalance", "--plan").out)["items"]
    assert all(each["source"] != each["target"] for each in plan)
    again = cli(*at, "server", "setup")
    assert again.code == 0, again.err
    assert cli(*at, "fleet", "move", place["name"]).code == 2
    assert "no server" in cli(*at, "fleet", "drain", "elsewhere").err
    assert cli("--store", two.servers[0].url("postgres"), "fleet").code == 1


def test_a_server_that_cannot_move_places_is_refused(two, postgres):
    with closing(two.owner()) as owner, pytest.raises(InvalidInput, match="wal_level"):
        owner.add_servers([postgres.url(postgres.database())])


def test_an_operation_waits_for_its_server_as_often_as_without_a_fleet(two, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    with closing(two.owner()) as owner:
        (place,) = [each for each in owner.shown() if each.name == two.place_of("anna")]
    number = next(at for at in range(2) if str(two.servers[at].folder) in place.server)
    with closing(TripsCounted(two.servers[number].folder, tmp_path / "p")) as proxy:
        url = two.url()
        with psycopg.connect(two.url("postgres"), autocommit=True) as db:
            db.execute(
                "UPDATE memory_mesh_fleet.server SET address = %s WHERE address = %s",
                (f"dbname=memories host={proxy.folder}", place.server),
            )
        try:
            with MemoryMesh(url, embedder="none") as mesh:
                view = mesh.view(namespace="anna")
                known = [view.add(f"Note {count} says that it is late").id for count in range(6)]
                view.search("when is it late", use_cache=False)
                view.get(str(known[0]))
                before = proxy.trips
                view.get(str(known[1]))
                assert proxy.trips - before <= MOST["get"][False]
                before = proxy.trips
                view.search("where is it late", use_cache=False)
                assert proxy.trips - before <= MOST["search"][False]
                before = proxy.trips
                view.add("The mobile app ships every second Thursday")
                assert proxy.trips - before <= MOST["add"][False]
        finally:
            with psycopg.connect(two.url("postgres"), autocommit=True) as db:
                db.execute(
                    "UPDATE memory_mesh_fleet.server SET address = %s WHERE address = %s",
                    (place.server, f"dbname=memories host={proxy.folder}"),
                )


class _InAFleet:
    """A ledger in the places of a fleet, which are empty when a test begins."""

    @pytest.fixture(autouse=True)
    def _store(self, two: Fleet) -> None:
        self.fleet = two
        with closing(two.owner()) as owner:
            homes = [(each.name, each.server) for each in owner.shown()]
        for place, server in homes:
            with psycopg.connect(f"{server} user=postgres", autocommit=True) as db:
                db.execute(f"TRUNCATE {place}.namespace, {place}.erased CASCADE")

    def open_ledger(self, clock: Clock) -> PostgresLedger:
        return PostgresLedger(self.fleet.url(), clock, secret=SECRET)


class TestAPlaceOfAFleet(_InAFleet, SearchContract):
    """It keeps every promise of a contract that writes, reads, searches and compares vectors."""


@pytest.mark.skipif(not is_whole(), reason="the night runs the other contracts in a fleet")
class TestAPlaceOfAFleetWhole(
    _InAFleet, LedgerContract, RelationsContract, CallingContract, KeywordContract
):
    """It keeps every promise of the others."""
