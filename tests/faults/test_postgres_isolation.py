"""Nobody inside one namespace of a PostgreSQL database sees or changes anything of another."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from memory_mesh.ledgers.postgres.connection import PostgresConnection
from memory_mesh.ledgers.postgres.pool import DatabaseRoute
from memory_mesh.ledgers.postgres.setup import opening_key, set_up
from memory_mesh.ledgers.postgres.transactions import Transactions
from memory_mesh.model.errors import InvalidInput, NotAllowed, StoreError
from tests.faults.postgres_attacks import FORMS
from tests.faults.postgres_isolation import attacked
from tests.faults.postgres_tenants import (
    MARK,
    OTHERS,
    OWN,
    World,
    lawful_tag,
    made_world,
    until_gone,
)
from tests.faults.processes import Child
from tests.faults.sample import SEED
from tests.faults.suites import counts, sampled
from tests.postgres import APP, SECRET, Server

COUNT = "SELECT count(*) FROM text"


@pytest.fixture(scope="module")
def world(postgres: Server) -> Iterator[World]:
    made = made_world(postgres)
    yield made
    made.close()


@pytest.fixture
def mesh(world: World) -> Iterator[Transactions]:
    opened = Transactions(world.url, opening_key(SECRET), 1.0)
    yield opened
    opened.close()


def test_a_thousand_attacks_see_and_change_nothing_of_others(world):
    report = sampled("isolation", world)
    report.holds()
    forms = sum(map(len, FORMS.values()))
    assert report.figures["attacks"] == counts("isolation")["attacks"] >= forms
    assert report.figures["own rows seen"]
    assert report.figures["refused"]
    assert len(FORMS) == 13


def test_attacks_in_a_place_of_a_fleet_see_and_change_nothing_of_others(postgres):
    world = made_world(postgres, place=True)
    try:
        report = sampled("isolation/place", world)
        report.holds()
        assert report.figures["own rows seen"]
        assert report.figures["refused"]
    finally:
        world.close()


_ALL = (
    "DO $$ DECLARE t text; BEGIN FOR t IN SELECT tablename FROM pg_policies WHERE tablename !~ "
    "'_[01]$' LOOP EXECUTE format('ALTER POLICY of_the_namespace ON memory_mesh.%I USING ({})', t);"
    " END LOOP; END $$"
)
_PARTS = (
    "DO $$ DECLARE t text; BEGIN FOR t IN SELECT tablename FROM pg_policies WHERE tablename ~ "
    "'_[01]$' LOOP EXECUTE format('ALTER TABLE memory_mesh.%I {} ROW LEVEL SECURITY', t);"
    " END LOOP; END $$"
)
_EACH_ROW = (
    "ns = current_setting(''memory_mesh.ns'', true)::bigint "
    "AND (SELECT memory_mesh.entered_ns()) IS NOT NULL"
)
_RIGHTS = "SELECT ON ALL TABLES IN SCHEMA memory_mesh"
WEAKENED = {  # how, how it is mended, and by which attacks it is found
    "no policy on a table": (
        "ALTER TABLE memory_mesh.text DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE memory_mesh.text ENABLE ROW LEVEL SECURITY",
        "read",
    ),
    "a setting that is read for each row": (
        _ALL.format(_EACH_ROW),
        _ALL.format("ns = (SELECT memory_mesh.entered_ns())"),
        "set while reading",
    ),
    "rights on partitions without policies": (
        _PARTS.format("DISABLE") + f"; GRANT {_RIGHTS} TO PUBLIC",
        _PARTS.format("ENABLE") + f"; REVOKE {_RIGHTS} FROM PUBLIC",
        "read by function",
    ),
    "a number that is believed without a tag": (
        _ALL.format("ns::text = current_setting(''memory_mesh.ns'', true)"),
        _ALL.format("ns = (SELECT memory_mesh.entered_ns())"),
        "set",
    ),
}


@pytest.mark.parametrize("how", WEAKENED)
def test_the_suite_notices_when_a_wall_is_weaker(world, how):
    weaken, mend, family = WEAKENED[how]
    assert not attacked(world, attacks=5, seed=SEED, families=[family]).failures
    world.admin.execute(weaken)
    try:
        report = attacked(world, attacks=600, seed=SEED, families=[family])
    finally:
        world.admin.execute(mend)
    assert report.figures["foreign rows seen"]


@pytest.mark.req("R-003-110")
def test_every_table_and_partition_has_the_policy(world):
    bare = world.admin.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'memory_mesh'::regnamespace "
        "AND c.relkind IN ('p', 'r') AND NOT (c.relrowsecurity AND (c.relforcerowsecurity "
        "AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid) "
        "OR c.relname IN ('namespace', 'secret', 'migration', 'erased', 'due', "
        "'key_in_use', 'place', 'departed', 'cold_storage', 'spare_object')))"
    ).fetchall()
    assert bare == []
    usable = world.admin.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'memory_mesh'::regnamespace "
        "AND (c.relispartition OR c.relkind = 'r') AND c.relkind <> 'I' "
        "AND has_table_privilege('memory_mesh_app', c.oid, 'SELECT, INSERT, UPDATE, DELETE')"
    ).fetchall()
    assert usable == []


def test_rights_that_are_given_by_mistake_open_nothing(world):
    world.admin.execute("GRANT ALL ON ALL TABLES IN SCHEMA memory_mesh TO PUBLIC")
    try:
        with psycopg.connect(world.url) as raw:
            for table in world.tables:
                found = raw.execute(f"SELECT count(*) FROM memory_mesh.{table.name}").fetchone()
                assert found == (0,), table.name
    finally:
        world.admin.execute("REVOKE ALL ON ALL TABLES IN SCHEMA memory_mesh FROM PUBLIC")


def test_no_samples_of_texts_are_kept_for_the_planner(world):
    world.admin.execute("ANALYZE")
    told = world.admin.execute(
        "SELECT tablename, attname FROM pg_stats WHERE schemaname = 'memory_mesh' AND ("
        "most_common_vals::text LIKE %(mark)s OR histogram_bounds::text LIKE %(mark)s) "
        "AND attname NOT IN ('shelf', 'status', 'kind', 'source_kind', 'channel', 'tier', "
        "'outcome', 'type', 'operation', 'verb', 'resolution', 'format', 'cardinality', "
        "'conflict_policy', 'normalize', 'dedup_policy') AND tablename <> 'namespace'",
        {"mark": f"%{MARK}%"},
    ).fetchall()
    assert told == []


def test_a_tag_holds_in_its_transaction_and_connection_only(world, mesh):
    with psycopg.connect(world.url, autocommit=True) as raw, psycopg.connect(world.url) as other:
        ns, tag = lawful_tag(raw, OTHERS[0], mesh)
        for connection in (raw, other):
            with connection.transaction():
                connection.execute("SELECT set_config('memory_mesh.ns', %s, true)", (str(ns),))
                connection.execute("SELECT set_config('memory_mesh.tag', %s, true)", (tag,))
                assert connection.execute("SELECT count(*) FROM memory_mesh.text").fetchone() == (
                    0,
                )
                assert connection.execute("SELECT memory_mesh.entered_ns()").fetchone() == (None,)


def test_names_of_namespaces_need_a_capability_of_their_own(world, mesh):
    assert mesh.names("", 10) == sorted((OWN, *OTHERS))
    with psycopg.connect(world.url, autocommit=True) as raw:
        for capability in (mesh.capability(OWN), mesh.capability("all namespaces"), b"", None):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                raw.execute("SELECT memory_mesh.names_after(%s, '', 10)", (capability,))


def test_a_database_without_a_key_opens_nothing(postgres, mesh):
    name = postgres.database()
    with psycopg.connect(postgres.url(name), autocommit=True) as admin:
        admin.execute("DELETE FROM memory_mesh.secret")
        for values in ((OWN, None), (None, None), (OWN, mesh.capability(OWN))):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                admin.execute("SELECT memory_mesh.enter(%s, %s)", values)
    postgres.drop(name)


def test_what_a_transaction_leaves_in_its_session_does_not_catch_the_next(world, mesh):
    """Temporary tables under our names, and statements under the names of the driver's."""
    texts = "SELECT string_agg(content, ' ') FROM memory_mesh.text"
    trap = f"SELECT set_config('kept.it', ({texts}), false)"
    with mesh.writing(OWN) as db:
        assert _count(db) > 0
        pid = db.raw.info.backend_pid
        db.raw.execute("CREATE TEMP TABLE text AS SELECT * FROM memory_mesh.text LIMIT 0")
        names = [name for (name,) in db.raw.execute("SELECT name FROM pg_prepared_statements")]
        assert names
        for name in names:
            db.raw.execute(f"DEALLOCATE {name}")
            db.raw.execute(f"PREPARE {name} AS {trap}")
    caught = 0
    for _ in range(3):
        try:
            with mesh.reading(OTHERS[0]) as db:
                assert db is not None
                assert _count(db) > 0
                caught += db.raw.info.backend_pid == pid
        except StoreError:
            pass  # the statement was taken away: this connection is not used again
    assert caught < 3
    with mesh.reading(OWN) as db:
        assert db is not None
        kept = db.raw.execute("SELECT current_setting('kept.it', true)").fetchone()
        assert MARK not in str(kept)


def test_the_next_user_of_a_connection_is_not_inside_the_last_namespace(world, mesh):
    for fail in (_raise, _divide, _time_out, _kill):
        with pytest.raises((StoreError, KeyError)):
            _failing(mesh, world, fail)
        raw = mesh._pool.take(lambda raw: raw.sending().sync(), 5.0, 5.0)
        assert raw.execute("SELECT memory_mesh.entered_ns()").fetchone() == (None,)
        assert raw.execute("SELECT count(*) FROM memory_mesh.text").fetchone() == (0,)
        assert raw.execute("SELECT current_user").fetchone() == (APP,)
        mesh._pool.give(raw)


def _failing(
    mesh: Transactions, world: World, fail: Callable[[PostgresConnection, World], None]
) -> None:
    with mesh.writing(OTHERS[0]) as db:
        assert _count(db) > 0
        fail(db, world)


def _raise(_db: PostgresConnection, _world: World) -> None:
    raise KeyError


def _divide(db: PostgresConnection, _world: World) -> None:
    db.own("SELECT 1 / 0")


def _time_out(db: PostgresConnection, _world: World) -> None:
    db.raw.execute("SET LOCAL statement_timeout = 1")
    db.own("SELECT pg_sleep(60)")


def _kill(db: PostgresConnection, world: World) -> None:
    until_gone(world.admin, db.raw.info.backend_pid)
    db.own(COUNT)


def test_a_forked_process_has_connections_of_its_own(world, mesh):
    with mesh.reading(OWN) as db:
        assert db is not None
        own = db.raw.info.backend_pid
    child = Child(_backend, mesh)
    assert child.result() not in (own, None)
    with mesh.reading(OWN) as db:
        assert db is not None
        assert db.raw.info.backend_pid == own


def _backend(mesh: Transactions) -> int | None:
    with mesh.reading(OTHERS[0]) as db:
        return None if db is None or not _count(db) else db.raw.info.backend_pid


@pytest.mark.parametrize("right", ["SUPERUSER", "BYPASSRLS", "CREATEROLE", "REPLICATION"])
def test_a_login_that_passes_by_row_level_security_is_refused(postgres, world, right):
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE strong LOGIN {right}")
        try:
            with pytest.raises(InvalidInput, match="strong can pass by row-level security"):
                set_up(postgres.url(world.database), SECRET, login="strong", partitions=2)
            admin.execute("GRANT memory_mesh_app TO strong")
            strong = Transactions(postgres.url(world.database, "strong"), opening_key(SECRET), 1.0)
            with pytest.raises(NotAllowed, match="the role strong"):
                strong.exists(OWN)
            strong.close()
        finally:
            admin.execute("DROP ROLE strong")


def test_the_owner_of_the_tables_and_members_of_it_are_refused(postgres, world):
    owner = Transactions(postgres.url(world.database), opening_key(SECRET), 1.0)
    with pytest.raises(NotAllowed, match="postgres"):
        owner.names("", 1)
    owner.close()


@pytest.mark.parametrize(
    ("url", "route"),
    [
        ("postgresql://a@b/c", DatabaseRoute("postgresql://a@b/c", pooled=False)),
        (
            "postgresql://a@b/c?sslmode=prefer",
            DatabaseRoute("postgresql://a@b/c?sslmode=prefer", pooled=False),
        ),
        ("postgresql:///c?pooler=none", DatabaseRoute("postgresql:///c", pooled=False)),
        ("postgresql:///c?pooler=transaction", DatabaseRoute("postgresql:///c", pooled=True)),
        (
            "postgresql:///c?sslmode=prefer&pooler=transaction&host=%2Ftmp",
            DatabaseRoute("postgresql:///c?sslmode=prefer&host=%2Ftmp", pooled=True),
        ),
    ],
)
def test_a_url_states_its_route(url, route):
    assert DatabaseRoute.of(url) == route


def test_an_unknown_pooler_is_refused_and_none_sets_up():
    with pytest.raises(InvalidInput, match="pooler is one of none, transaction"):
        DatabaseRoute.of("postgresql:///c?pooler=session")
    with pytest.raises(InvalidInput, match="not through a pooler"):
        set_up("postgresql:///c?pooler=transaction", SECRET)


def _count(db: PostgresConnection) -> int:
    found = db.own(COUNT).fetchone()
    return 0 if found is None else int(found[0])
