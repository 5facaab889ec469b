"""The index of vectors inside PostgreSQL finds what an exact scan finds, and forgets at once."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import psycopg
import pytest

from bench import corpus, memories
from bench.prepared import EVERYTHING
from memory_mesh.ledgers.postgres import copies
from memory_mesh.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.ledgers.postgres.transactions import Transactions
from memory_mesh.model import Body, Scope
from memory_mesh.sync import MemoryMesh
from tests.postgres import SECRET, Server

MADE, LIMIT = 250, 10
QUESTIONS = corpus.queries()[:10]
NEAR = "SELECT * FROM near({}, (SELECT '[' || repeat('0,', 383) || '1]')::public.vector, 5)"


@pytest.fixture
def mesh(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryMesh]:
    """A namespace with memories of several readers, each with a vector."""
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    monkeypatch.chdir(tmp_path)
    with MemoryMesh(database, custom_embedder=memories.Made()) as mesh:
        mesh.add_many(list(memories.items(0, MADE)))
        yield mesh


@pytest.fixture
def owner(postgres: Server, database: str) -> Iterator[psycopg.Connection]:
    """The owner of the database, who sees every table."""
    name = database.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(postgres.url(name), autocommit=True) as db:
        yield db


def found(
    mesh: MemoryMesh,
    question: str,
    scope: Scope | None = None,
    across: Iterable[str] = EVERYTHING,
) -> list[str]:
    hits = mesh.search(
        question, scope=scope, across=across, use_cache=False, limit=LIMIT, min_relevance=0
    )
    return [hit.memory.id for hit in hits]


def tables(owner: psycopg.Connection) -> dict[str, int]:
    """The tables of indexes by name, and how many rows each has."""
    names = owner.execute(
        "SELECT relname FROM pg_class WHERE relname LIKE 'near\\_%' AND relkind = 'r'"
    ).fetchall()
    rows = {name: owner.execute(f"SELECT count(*) FROM memory_mesh.{name}") for (name,) in names}
    return {name: count for name, counted in rows.items() for (count,) in counted}


def from_index(mesh: MemoryMesh) -> int:
    """How many vectors the index answered for."""
    return mesh.search(QUESTIONS[0], use_cache=False, across=EVERYTHING).explanation.from_body


def state(mesh: MemoryMesh) -> tuple[Body | None, int]:
    """The index, and how many vectors there are: more than one of a long memory."""
    (space,) = mesh.stats().spaces
    return space.body, space.vectors


def transactions(mesh: MemoryMesh) -> Transactions:
    ledger = mesh._opened().ledger
    assert isinstance(ledger, PostgresLedger)
    return ledger._at


def test_an_index_finds_what_an_exact_scan_finds(mesh):
    """Of all memories, and of those that one reader sees."""
    one = Scope(project="project-00"), ("agent", "session")
    whole = [found(mesh, each) for each in QUESTIONS]
    own = [found(mesh, each, *one) for each in QUESTIONS]
    assert from_index(mesh) == 0
    (body,) = mesh.care.rebuild_index()
    assert (body, body.rows) == state(mesh)
    assert from_index(mesh) == body.rows
    assert [state.indexed for state in mesh.stats().spaces] == [body.rows]
    for before, after in (
        (whole, [found(mesh, each) for each in QUESTIONS]),
        (own, [found(mesh, each, *one) for each in QUESTIONS]),
    ):
        same = sum(len({*first} & {*second}) for first, second in zip(before, after, strict=True))
        assert same >= 0.98 * sum(map(len, before)) > 0


def test_a_memory_that_is_not_in_the_index_yet_is_found(mesh):
    """The vectors above the index are compared one by one."""
    (body,) = mesh.care.rebuild_index()
    stored = mesh.add("Zebras graze beside the northern reservoir.")
    assert found(mesh, "Zebras graze beside the northern reservoir.")[0] == stored.id
    assert state(mesh) == (body, body.rows + 1)


def test_an_index_that_is_half_made_hides_nothing(mesh):
    """Each step ends whole: whoever goes on later goes on from there."""
    before = [found(mesh, each) for each in QUESTIONS]
    space = memories.SPACE
    with transactions(mesh).writing("default") as db:
        first = Body(*db.own("SELECT * FROM index_vectors(%s, 1)", (space.name,)).fetchone() or ())
    assert 0 < first.rows < state(mesh)[1]
    assert [found(mesh, each) for each in QUESTIONS] == before
    ledger, last = mesh._opened().ledger, first
    while (body := ledger.index_some("default", space)) not in (None, last):
        last = body
    assert (last.version, last.rows) == (first.version, state(mesh)[1])


def test_what_is_deleted_leaves_the_index_in_the_same_transaction(mesh, owner):
    """And is counted no longer."""
    (body,) = mesh.care.rebuild_index()
    with transactions(mesh).writing("default") as db:
        db.execute("DELETE FROM vector WHERE number = (SELECT min(number) FROM vector)")
    now, vectors = state(mesh)
    assert [*tables(owner).values()] == [body.rows - 1] == [vectors]
    assert now == Body(body.version, body.highest, vectors)


def test_an_index_goes_with_its_namespace(mesh, owner):
    """No table is left behind."""
    mesh.care.rebuild_index()
    assert len(tables(owner)) == 1
    with transactions(mesh).writing("default") as db:
        copies.erase(db)
    assert tables(owner) == {}


def test_an_index_that_is_gone_hides_nothing_and_is_made_anew(mesh, owner):
    """An operator may drop it."""
    before = [found(mesh, each) for each in QUESTIONS]
    (body,) = mesh.care.rebuild_index()
    (name,) = tables(owner)
    owner.execute(f"DROP TABLE memory_mesh.{name}")
    assert [found(mesh, each) for each in QUESTIONS] == before
    (finding,) = mesh.care.verify().findings
    assert f"differs from {body.rows} vectors" in finding.detail
    mesh.care.rebuild_index()
    assert tables(owner) == {name: body.rows}
    assert mesh.care.verify().findings == ()


def test_verify_finds_an_index_that_is_not_what_it_was(mesh, owner):
    """It lacks a vector, has one that is no more, or one with other values."""
    mesh.care.rebuild_index()
    (name,) = tables(owner)
    first = f"number = (SELECT min(number) FROM {name})"
    owner.execute("SET search_path = memory_mesh, public")
    for wrong, change in enumerate(
        (
            f"DELETE FROM {name} WHERE {first}",
            f"INSERT INTO {name} SELECT number + 1000000, data FROM {name} LIMIT 1",
            f"UPDATE {name} SET data = l2_normalize(data + data * data) WHERE {first}",
        ),
        start=1,
    ):
        owner.execute(change)
        (finding,) = mesh.care.verify().findings
        assert f"differs from {wrong} vectors" in finding.detail


def test_nobody_reads_the_index_of_another_namespace(mesh, owner, database):
    """Neither the table, nor by the function, which knows the namespace that was entered."""
    mesh.care.rebuild_index()
    (name,) = tables(owner)
    asked = NEAR.format(name.rpartition("_")[2])
    mesh.view(namespace="other").add("Another namespace.")
    with transactions(mesh).writing("default") as db:
        assert len(db.own(asked).fetchall()) == 5
    with transactions(mesh).writing("other") as db:
        assert db.own(asked).fetchall() == []
    role = "SET ROLE memory_mesh_app; SET search_path = memory_mesh, public"
    for statement in (asked, f"SELECT * FROM {name}", "SELECT * FROM index_vectors('x', 1)"):
        with psycopg.connect(database) as raw:
            raw.execute(role)
            refused = pytest.raises(psycopg.errors.InsufficientPrivilege)
            with refused:
                raw.execute(statement)
