"""A namespace that nobody uses goes to object storage, and comes back when it is asked for."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest

from memory_mesh.care import server
from memory_mesh.cli.main import run
from memory_mesh.ledgers.postgres.copies import freeze, name_storage, note_object
from memory_mesh.ledgers.postgres.setup import opening_key
from memory_mesh.ledgers.postgres.transactions import Transactions
from memory_mesh.mesh import worker
from memory_mesh.model.errors import InvalidInput, NotAllowed, NotFound, StoreIsAway, StoreIsDamaged
from memory_mesh.sync import MemoryMesh
from tests.object_storage import BUCKET, CREDENTIALS, Storage, free_ports
from tests.postgres import APP, SECRET, Server

TEXT = "The canary zqcanary7 sings in the shed"


@pytest.fixture(autouse=True)
def _stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "none")
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def mesh(database: str, postgres: Server, storage: Storage) -> Iterator[MemoryMesh]:
    """A store whose archives go to a prefix of their own, and are needed no longer once read."""
    name = _name(database)
    name_storage(postgres.url(name), storage.address(name, days=0, keep_days=0))
    with MemoryMesh(database) as mesh:
        yield mesh


def _name(database: str) -> str:
    return database.partition("?")[0].rpartition("/")[2]


def _rows(postgres: Server, mesh: MemoryMesh, table: str) -> int:
    name = _name(str(mesh.config.store))
    with psycopg.connect(postgres.url(name)) as db:
        (count,) = db.execute(f"SELECT count(*) FROM memory_mesh.{table}").fetchone() or (0,)
    return int(count)


@contextmanager
def _away(mesh: MemoryMesh, postgres: Server, storage: Storage) -> Iterator[None]:
    """As long as nobody listens where the archives are."""
    name = _name(str(mesh.config.store))
    usual = storage.address(name, days=0, keep_days=0)
    (nobody,) = free_ports(1)
    there = storage.endpoint.rpartition(":")[2]
    name_storage(postgres.url(name), usual.replace(there, str(nobody)))
    yield
    name_storage(postgres.url(name), usual)


def test_a_cold_namespace_comes_back_as_it_was_and_the_answer_says_so(
    mesh: MemoryMesh, postgres: Server
) -> None:
    made = mesh.add(TEXT)
    mesh.delete(str(mesh.add("Tea is served at four").id))
    mesh.search("canary")
    mesh.care.upkeep()
    before, blocks = mesh.care.verify(), mesh.care.blocks(as_owner=True)
    recalls = mesh.care.recalls(as_owner=True)
    gone = server.make_cold(mesh.config)
    assert gone is not None
    assert gone.memories == 2
    assert {_rows(postgres, mesh, table) for table in ("memory", "text", "block", "store")} == {0}
    assert mesh.care.namespaces() == ["default"]
    found = mesh.search("where does the canary sing?", use_cache=False)
    assert [hit.id for hit in found] == [made.id]
    assert "was cold" in str(found.explanation.note)
    assert mesh.search("canary", use_cache=False).explanation.note is None
    after = mesh.care.verify()
    assert after.ok
    assert (after.head, mesh.care.blocks(as_owner=True)) == (before.head, blocks)
    assert mesh.care.recalls(as_owner=True)[-len(recalls) :] == recalls
    assert mesh.add(TEXT).id == made.id  # it is known that it was said before


@pytest.mark.parametrize("act", ["add", "get", "update", "list", "export"])
def test_whatever_asks_for_it_waits_until_it_is_back(mesh: MemoryMesh, act: str, tmp_path) -> None:
    made = mesh.add(TEXT)
    server.make_cold(mesh.config)
    match act:
        case "add":
            mesh.add("Tea is served at four")
        case "get":
            assert [each.text for each in mesh.get_many([str(made.id)])] == [TEXT]
        case "update":
            mesh.update(str(made.id), content=f"{TEXT} today")
        case "list":
            assert [each.id for each in mesh.get_all()] == [made.id]
        case _:
            assert server.export_from_server(mesh.config, tmp_path / "out.tar.gz").memories == 1
    assert mesh.care.verify().ok
    assert made.id in {each.id for each in mesh.get_all()}


def test_one_that_is_not_there_is_not_made(mesh: MemoryMesh) -> None:
    with pytest.raises(NotFound):
        server.make_cold(replace(mesh.config, namespace="none"))
    assert mesh.care.namespaces() == []


def test_many_who_ask_at_once_bring_it_back_once(mesh: MemoryMesh, database: str) -> None:
    made = [mesh.add(f"The shelf {number} holds book {number}").id for number in range(5)]
    server.make_cold(mesh.config)
    met: list[set[str]] = []

    def ask() -> None:
        with MemoryMesh(database) as other:
            met.append({each.id for each in other.get_all()})

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == [set(made)] * 6
    assert mesh.care.verify().ok


def test_a_write_that_waited_while_it_went_is_stored(mesh: MemoryMesh, database: str) -> None:
    mesh.add(TEXT)
    stop, told = threading.Event(), list[str]()

    def write() -> None:
        with MemoryMesh(database) as other:
            while not stop.is_set():
                told.append(str(other.add(f"The meter reads {len(told)} units on the wall").id))

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(4):
        server.make_cold(mesh.config)
    stop.set()
    thread.join()
    assert set(told) <= {each.id for each in mesh.get_all(limit=1_000)}
    assert mesh.care.verify().ok


def test_an_idle_namespace_goes_by_itself_and_one_in_use_stays(
    mesh: MemoryMesh, database: str, postgres: Server, storage: Storage
) -> None:
    name = _name(database)
    for each in ("asleep", "awake"):
        mesh.view(namespace=each).add(TEXT)
    name_storage(postgres.url(name), storage.address(name, days=30, keep_days=0))
    with psycopg.connect(postgres.url(name)) as db:  # as if it were a month later for one
        db.execute("UPDATE memory_mesh.due SET changed = now() - interval '31 days'")
        db.execute("UPDATE memory_mesh.store SET recorded = 0 WHERE namespace = 'asleep'")
    worker.run(mesh, once=True)
    server.tidy(mesh.config)
    (gone,) = server.cold_among(mesh.config, mesh.care.namespaces())
    assert gone.namespace == "asleep"
    with psycopg.connect(postgres.url(name)) as db:
        (next_look,) = db.execute(
            "SELECT idle_at > now() + interval '29 days' FROM memory_mesh.due"
        ).fetchone() or (None,)
    assert next_look is True


def test_commands_pass_over_what_is_cold_and_say_so(
    mesh: MemoryMesh, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mesh.view(namespace="asleep").add(TEXT)
    mesh.add(TEXT)
    mesh.close()
    assert run(["--store", database, "upkeep", "--cold", "--namespace", "asleep", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cold"] == 1
    assert run(["--store", database, "namespaces"]) == 0
    said = capsys.readouterr()
    assert said.out.split() == ["asleep", "default"]
    assert "Cold, on object storage, 1 memory in " in said.err
    assert said.err.rstrip().endswith("bytes: asleep.")
    for command in (["upkeep", "--all"], ["verify", "--all"]):
        assert run(["--store", database, *command, "--json"]) == 0
        assert "asleep" not in capsys.readouterr().out
    config = server.settings_of(database)
    assert [each.namespace for each in server.cold_among(config, ["asleep", "default"])] == [
        "asleep"
    ]
    assert run(["--db-dir", "here", "upkeep", "--cold"]) != 0
    assert "a store in PostgreSQL" in capsys.readouterr().err


def test_an_erased_cold_user_is_erased_on_the_storage_with_every_version(
    mesh: MemoryMesh, storage: Storage
) -> None:
    client = storage.client()
    client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    ada = mesh.for_user("ada")
    ada.add(TEXT)
    gone = server.make_cold(ada.config)
    assert gone is not None
    client.put_object(Bucket=BUCKET, Key=gone.object, Body=b"a later version")
    done = mesh.erase(user="ada")
    assert done.counts == {"memory": 1, "archive": 1}
    listed = client.list_object_versions(Bucket=BUCKET, Prefix=gone.object)
    assert not listed.get("Versions")
    assert not listed.get("DeleteMarkers")
    assert "ada" not in mesh.users()
    with pytest.raises(NotFound):
        mesh.delete_user("ada")


def test_an_erasure_while_the_storage_is_away_is_gone_on_with(
    mesh: MemoryMesh, postgres: Server, storage: Storage
) -> None:
    ada = mesh.for_user("ada")
    ada.add(TEXT)
    gone = server.make_cold(ada.config)
    assert gone is not None
    with _away(mesh, postgres, storage):
        done = mesh.delete_user("ada")
        assert any("until upkeep or a worker reaches it" in each for each in done.left)
    assert gone.object in storage.objects(gone.object)
    assert server.tidy(mesh.config).removed == 1
    assert storage.objects(gone.object) == []


def test_without_the_storage_warm_ones_go_on_and_a_cold_one_says_what_to_do(
    mesh: MemoryMesh, postgres: Server, storage: Storage
) -> None:
    asleep = mesh.view(namespace="asleep")
    asleep.add(TEXT)
    mesh.add("Tea is served at four")
    server.make_cold(asleep.config)
    with _away(mesh, postgres, storage):
        with pytest.raises(StoreIsAway, match="one that is cold waits there"):
            asleep.search("canary")
        with pytest.raises(StoreIsAway):
            asleep.add("another one")
        assert [hit.content for hit in mesh.search("when is tea served?")]
        with pytest.raises(StoreIsAway):
            server.make_cold(mesh.config)
        assert mesh.add("And coffee at ten").id
    assert [hit.content for hit in asleep.search("canary")] == [TEXT]


def test_nobody_inside_a_namespace_names_the_archive_of_another(
    mesh: MemoryMesh, database: str
) -> None:
    mesh.add(TEXT)
    asleep = mesh.view(namespace="asleep")
    asleep.add(TEXT)
    gone = server.make_cold(asleep.config)
    assert gone is not None
    at = Transactions(database, opening_key(SECRET), 1.0)
    own = f"proof/{at.place('default')}/{'0' * 32}.tar.gz"
    with at.writing("default") as db:
        note_object(db, own)
    for other in (gone.object, f"{own}/{gone.object}", f"{own}x", "", own.upper()):
        with (
            pytest.raises(NotAllowed, match="not one of the namespace"),
            at.writing("default") as db,
        ):
            note_object(db, other)
    with pytest.raises(NotAllowed, match="was not noted"), at.writing("default") as db:
        freeze(db, {"object": gone.object, "sha256": "", "bytes": 0, "memories": 0})
    at.close()


def test_wrong_credentials_are_told(
    mesh: MemoryMesh, postgres: Server, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh.add(TEXT)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of somebody else")
    name_storage(postgres.url(_name(str(mesh.config.store))), storage.address("others"))
    with pytest.raises(StoreIsAway, match="credentials of this process"):
        server.make_cold(mesh.config)
    assert [each.text for each in mesh.get_all()] == [TEXT]


def test_a_database_of_before_finds_what_was_cold_then(
    database: str, postgres: Server, storage: Storage
) -> None:
    name = _name(database)
    name_storage(postgres.url(name), storage.address(name, days=0))
    with MemoryMesh(database) as mesh:
        mesh.add(TEXT)
        server.make_cold(mesh.config)
    with psycopg.connect(postgres.url(), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}_before TEMPLATE {name}")
    with MemoryMesh(database) as mesh:
        mesh.add("Tea is served at four")  # it came back, and its object is needed no more
        assert server.tidy(mesh.config).removed == 0
    with MemoryMesh(postgres.url(f"{name}_before", APP)) as before:
        assert [each.text for each in before.get_all()] == [TEXT]
    postgres.drop(f"{name}_before")


def test_a_changed_or_lost_archive_is_refused_and_named(mesh: MemoryMesh, storage: Storage) -> None:
    mesh.add(TEXT)
    gone = server.make_cold(mesh.config)
    assert gone is not None
    client = storage.client()
    kept = client.get_object(Bucket=BUCKET, Key=gone.object)["Body"].read()
    client.put_object(Bucket=BUCKET, Key=gone.object, Body=kept[:-1] + b"x")
    with pytest.raises(StoreIsDamaged, match="is not what was written"):
        mesh.get_all()
    client.delete_object(Bucket=BUCKET, Key=gone.object)
    with pytest.raises(StoreIsDamaged, match="not on the object storage any more"):
        mesh.get_all()
    client.put_object(Bucket=BUCKET, Key=gone.object, Body=kept)
    assert [each.text for each in mesh.get_all()] == [TEXT]


def test_the_object_of_before_goes_when_nobody_needs_it(mesh: MemoryMesh, storage: Storage) -> None:
    mesh.add(TEXT)
    gone = server.make_cold(mesh.config)
    assert gone is not None
    mesh.get_all()
    assert storage.objects(gone.object)
    assert server.tidy(mesh.config, seconds=5).removed == 1
    assert gone.object not in storage.objects(gone.object)


def test_a_store_without_an_object_storage_says_who_names_one(database: str) -> None:
    with MemoryMesh(database) as plain:
        plain.add(TEXT)
        with pytest.raises(InvalidInput, match="setup-server --cold"):
            server.make_cold(plain.config)
        assert server.tidy(plain.config) == server.Tidied()


@pytest.mark.parametrize(
    "address", ["http://bucket/x", "s3://", "s3://b/p?days=x", "s3://b/p?color=red", "s3://u:p@b/p"]
)
def test_an_address_is_refused_that_is_none(database: str, address: str) -> None:
    with pytest.raises(InvalidInput, match="s3://BUCKET/PREFIX"):
        server.set_up(server.settings_of(database), archives=address)
