"""Random statements of somebody who is lawfully inside one namespace and wants those of others.

An attack is one statement or a few, in one transaction, made of a form below: `{one}` is any table
or partition, `{two}` a table that namespaces have rows in, `{ns}` the number of another namespace,
`{where}` the condition that asks for its rows. `;;` stands between two statements.

Of the families in `BARE`, any row that is found or changed, unless it holds only noughts, is one of
somebody else. Of all others only the marks in what is told can be recognised: see
postgres_tenants.py.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from memory_mesh.ledgers.postgres.places import SCHEMA
from memory_mesh.ledgers.postgres.setup import ROLE
from tests.faults.postgres_tenants import OTHERS, OWN, PARTITIONS, Table, World
from tests.faults.sample import dealt
from tests.postgres import APP

FORMS: dict[str, tuple[str, ...]] = {
    "read": (
        "SELECT * FROM {one} WHERE {where}",
        "SELECT count(*) FROM {one} WHERE {where}",
        "SELECT * FROM {one} WHERE {where} OR {where} FOR UPDATE",
        "SELECT 1 FROM {two} WHERE ns <> {own}",
        "SELECT x.* FROM {two} x WHERE EXISTS (SELECT FROM {one} y WHERE {where} AND y IS NULL)",
        "SELECT x FROM {two} x WHERE ns IN (SELECT {ns} FROM {one} WHERE {where})",
        "WITH x AS MATERIALIZED (TABLE {one}) SELECT * FROM x WHERE {where}",
        "SELECT max(x::text) FROM {one} x WHERE {where}",
        "SELECT json_agg(x) FROM {one} x WHERE {where}",
        "SELECT string_agg(x::text, ' ') FROM {one} x WHERE {where} LIMIT 1",
        "SELECT y FROM {two} x JOIN {two} y ON y.ns <> x.ns",
        "SELECT y FROM {two} x RIGHT JOIN {two} y USING (ns) WHERE y.ns = {ns}",
        "SELECT l FROM {two} x, LATERAL (SELECT * FROM {one} WHERE {where}) l",
        "SELECT count(*) FILTER (WHERE ns = {ns}) FROM {two}",
        "SELECT * FROM {two} TABLESAMPLE SYSTEM (100) WHERE ns = {ns}",
        "SELECT * FROM {one} WHERE {where} UNION ALL SELECT * FROM {one} WHERE {where}",
        "SELECT ns FROM {two} GROUP BY ns HAVING ns <> {own}",
        "SELECT * FROM (SELECT ns, rank() OVER (ORDER BY ns) FROM {two}) x WHERE ns = {ns}",
        "COPY (SELECT * FROM {one} WHERE {where}) TO STDOUT",
        "SELECT * FROM ONLY {one} WHERE {where}",
    ),
    "read by function": (
        "SELECT table_to_xml('{one}', true, true, '')",
        "SELECT query_to_xml('TABLE {one}', true, true, '')",
        "SELECT schema_to_xml('{schema}', true, true, '')",
        "SELECT * FROM ts_stat('SELECT to_tsvector(x::text) FROM {one} x')",
        "COPY {one} TO STDOUT",
        "TABLE {one}",
        "COPY {one} TO '/stolen'",
        "COPY {one} TO PROGRAM 'cat'",
        "SELECT pg_read_file('PG_VERSION')",
        "SELECT currtid2('{one}', '(0,1)')",
        "SELECT pg_read_binary_file(pg_relation_filepath('{one}'))",
        (
            "DO $$ DECLARE r record; BEGIN FOR r IN TABLE {one} LOOP RAISE NOTICE '%', r; "
            "END LOOP; END $$"
        ),
        "DO $$ BEGIN RAISE EXCEPTION '%', (SELECT json_agg(x) FROM {one} x WHERE {where}); END $$",
    ),
    "write": (
        "UPDATE {one} SET {column} = {column} WHERE {where}",
        "UPDATE {one} SET {column} = NULL WHERE {where} RETURNING *",
        "UPDATE {two} SET ns = {ns}",
        "UPDATE {two} SET ns = {ns} RETURNING *",
        "UPDATE {two} x SET ns = x.ns FROM {two} y WHERE y.ns = {ns}",
        "DELETE FROM {one} WHERE {where}",
        "DELETE FROM {one} WHERE {where} RETURNING *",
        "DELETE FROM {two} x USING {two} y WHERE y.ns = {ns} AND x.ns = y.ns",
        "WITH gone AS (DELETE FROM {one} WHERE {where} RETURNING *) TABLE gone",
        "MERGE INTO {two} x USING (SELECT {ns} AS ns) y ON x.ns = y.ns WHEN MATCHED THEN DELETE",
        "TRUNCATE {one} CASCADE",
        "SELECT 1 FROM {one} WHERE {where} FOR UPDATE NOWAIT",
    ),
    "insert": (
        "INSERT INTO {two} ({columns}) SELECT {values} FROM {two}",
        "INSERT INTO {two} ({columns}) SELECT {values} FROM {two} LIMIT 1",
        "INSERT INTO {two} ({columns}) SELECT {values} FROM {two} RETURNING *",
        "INSERT INTO {two} ({columns}) SELECT {values} FROM {two} ON CONFLICT DO NOTHING",
        "INSERT INTO {part} ({columns}) SELECT {values} FROM {two}",
        "COPY {two} ({columns}) FROM STDIN",
        (
            "INSERT INTO {schema}.injected (injection, place, memory, recorded, section, tokens, "
            "ns) VALUES (1, 1, 1, 1, 'a', 1, {ns})"
        ),
        (
            "INSERT INTO {schema}.state (name, value, ns) VALUES ('a', 'b', {ns}) "
            "ON CONFLICT (ns, name) DO UPDATE SET value = 'c' RETURNING *"
        ),
        "INSERT INTO {schema}.namespace (name) VALUES ('{name}')",
        "INSERT INTO {schema}.secret VALUES (1, '', '') ON CONFLICT DO NOTHING RETURNING *",
    ),
    "define": (
        "ALTER TABLE {one} DISABLE ROW LEVEL SECURITY ;; {probe}",
        "ALTER TABLE {one} NO FORCE ROW LEVEL SECURITY ;; {probe}",
        "DROP POLICY of_the_namespace ON {one} ;; {probe}",
        "CREATE POLICY open ON {one} USING (true) ;; {probe}",
        "ALTER POLICY of_the_namespace ON {one} USING (true) ;; {probe}",
        "GRANT ALL ON {one} TO {role} ;; TABLE {one}",
        "GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role} ;; TABLE {one}",
        "ALTER ROLE {role} BYPASSRLS ;; {probe}",
        "ALTER ROLE {role} SUPERUSER ;; {probe}",
        "GRANT pg_read_all_data TO {role} ;; TABLE {one}",
        "CREATE RULE seen AS ON SELECT TO {one} DO INSTEAD SELECT 1",
        "CREATE TRIGGER seen AFTER INSERT ON {one} EXECUTE FUNCTION now()",
        "CREATE VIEW {schema}.seen AS TABLE {one}",
        "CREATE FUNCTION {schema}.seen() RETURNS bigint LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION public.lower(text) RETURNS text LANGUAGE sql AS 'SELECT 1'",
        "ALTER FUNCTION {schema}.entered_ns() RESET search_path",
        "ALTER TABLE {two} DETACH PARTITION {part} ;; TABLE {part}",
        "ALTER TABLE {one} OWNER TO {role} ;; TABLE {one}",
        "ALTER TABLE {two} ALTER ns SET DEFAULT {ns}",
        "CREATE STATISTICS {schema}.seen ON ns, {column} FROM {one}",
        "ALTER TABLE {one} ALTER {column} SET STATISTICS 1000",
        "ANALYZE {one} ;; SELECT x::text FROM pg_stats x",
        "LOCK TABLE {one} IN ACCESS SHARE MODE NOWAIT ;; {probe}",
        "CREATE EXTENSION dblink",
        "CREATE PUBLICATION seen FOR TABLE {one}",
    ),
    "set": (
        "SET {setting} = '{value}' ;; {probe}",
        "SET LOCAL {setting} = '{value}' ;; {probe}",
        "SELECT set_config('{setting}', '{value}', {local}) ;; {probe}",
        "SELECT set_config('{setting}', '{value}', {local}) ;; TABLE {one}",
        "RESET {setting} ;; {probe}",
        "RESET ALL ;; {probe}",
        "DISCARD ALL ;; {probe}",
        "DISCARD PLANS ;; {probe}",
        "RESET ROLE ;; TABLE {one}",
        "SET ROLE postgres ;; TABLE {one}",
        "SET ROLE NONE ;; TABLE {one}",
        "SET SESSION AUTHORIZATION postgres ;; TABLE {one}",
        "SET row_security = off ;; {probe}",
        "SET LOCAL memory_mesh.ns = '{ns}' ;; SET LOCAL memory_mesh.tag = '{value}' ;; {probe}",
        "SET LOCAL memory_mesh.ns = '{ns}' ;; SET LOCAL memory_mesh.tag = '{tag}' ;; {probe}",
        "SET memory_mesh.ns = '{ns}' ;; SET memory_mesh.tag = '{tag}' ;; {probe}",
        "SAVEPOINT a ;; SET memory_mesh.ns = '{ns}' ;; ROLLBACK TO SAVEPOINT a ;; {probe}",
        "ROLLBACK ;; BEGIN ;; SAVEPOINT before_the_attack ;; {probe}",
        "COMMIT AND CHAIN ;; SAVEPOINT before_the_attack ;; {probe}",
    ),
    "set while reading": (
        "SELECT x, {change} FROM {two} x ;; {probe}",
        "SELECT x FROM {two} x WHERE {change} IS NOT NULL",
        (
            "SELECT t FROM (SELECT set_config('memory_mesh.ns', g::text, true) AS s "
            "FROM generate_series(1, 9) g OFFSET 0) s CROSS JOIN LATERAL "
            "(SELECT * FROM {two} WHERE s.s IS NOT NULL OFFSET 0) t"
        ),
        "WITH a AS MATERIALIZED (SELECT {change}) SELECT x FROM a, {two} x",
        "SELECT (SELECT json_agg(x) FROM {two} x WHERE x.ns::text <> {change})",
        "DECLARE c CURSOR FOR TABLE {two} ;; FETCH 1 FROM c ;; SELECT {change} ;; FETCH ALL FROM c",
        "UPDATE {two} SET ns = ns WHERE {change} IS NOT NULL RETURNING *",
        "DELETE FROM {two} WHERE {change} IS NULL RETURNING *",
    ),
    "call": (
        "SELECT {schema}.enter('{name}', {key})",
        "SELECT {schema}.enter(NULL, {key})",
        "SELECT {schema}.enter('{mine} ', {key})",
        "SELECT {schema}.begin_namespace('{name}', {key}, '')",
        "SELECT {schema}.begin_namespace(NULL, {key}, '')",
        "SELECT {schema}.begin_namespace('new', {key}, '')",
        "SELECT {schema}.names_after({key}, '', 100)",
        "SELECT {schema}.names_after({key}, NULL, 100)",
        "SELECT {schema}.keyed('namespace {name}')",
        "SELECT {schema}.entered('{ns}')",
        "SELECT {schema}.must_open('namespace {name}', {key}, '') IS NULL",
        "SELECT {schema}.forget_prepared() IS NULL",
    ),
    "leaky": (
        "SELECT x FROM {two} x WHERE x.ns = {ns} AND x::text::int > 0",
        "SELECT x FROM {two} x WHERE 1 / (length(x::text) * (x.ns - {ns})) > 0 AND x.ns = {ns}",
        "SELECT x FROM {two} x WHERE x::text::xml IS NOT NULL AND x.ns <> {own}",
        "SELECT x FROM {two} x WHERE x::text::json IS NOT NULL AND x.ns <> {own}",
        "SELECT x FROM {two} x WHERE to_date(x::text, 'YYYY') IS NOT NULL AND x.ns = {ns}",
        "{telling} ;; SELECT x FROM {two} x WHERE pg_temp.told(x::text) AND x.ns = {ns}",
        "{telling} ;; SELECT x FROM {two} x WHERE x.ns = {ns} OR pg_temp.told(x::text)",
        "{telling} ;; UPDATE {two} x SET ns = ns WHERE pg_temp.told(x::text) RETURNING *",
        "{telling} ;; EXPLAIN ANALYZE SELECT 1 FROM {two} x WHERE pg_temp.told(x.{column2}::text)",
    ),
    "catalog": ("SELECT x::text FROM {catalog} x",),
    "explain": (
        "EXPLAIN SELECT * FROM {one} WHERE {where}",
        "EXPLAIN (ANALYZE, VERBOSE, BUFFERS) SELECT * FROM {one} WHERE {where}",
        "EXPLAIN ANALYZE UPDATE {one} SET {column} = {column} WHERE {where}",
        "EXPLAIN VERBOSE SELECT * FROM {two} WHERE {column2}::text < 'm'",
        "EXPLAIN SELECT * FROM {two} x JOIN {two} y USING ({column2})",
    ),
    "keep": (
        "DECLARE {kept} CURSOR WITH HOLD FOR TABLE {two} ;; FETCH ALL FROM {kept}",
        "FETCH ALL FROM {kept}",
        "CLOSE {kept}",
        "PREPARE {kept} AS SELECT * FROM {two} WHERE ns <> {own} ;; EXECUTE {kept}",
        "EXECUTE {kept}",
        "DEALLOCATE ALL",
        "CREATE TEMP TABLE {bare2} AS TABLE {two} ;; TABLE {bare2}",
        "CREATE TEMP VIEW {kept} AS SELECT * FROM {two} WHERE ns = {ns} ;; TABLE {kept}",
        "TABLE pg_temp.{kept}",
        "SELECT pg_try_advisory_xact_lock({ns})",
        "LISTEN {kept} ;; NOTIFY {kept}, 'own'",
        "SELECT set_config('kept.it', (SELECT json_agg(x)::text FROM {two} x), false)",
        "SELECT current_setting('kept.it', true)",
    ),
    "sequence": (
        "SELECT last_value FROM {schema}.numbers",
        "SELECT setval('{schema}.numbers', 1)",
        "SELECT setval('{schema}.namespace_ns_seq', 1)",
        "SELECT nextval('{schema}.namespace_ns_seq')",
        "ALTER SEQUENCE {schema}.numbers RESTART",
        "TABLE {schema}.namespace_ns_seq",
    ),
}
BARE = frozenset({"read", "write", "insert", "call", "sequence"})
_SETTINGS = ("memory_mesh.ns", "memory_mesh.tag", "role", "search_path", "row_security",
             "session_authorization", "session_replication_role", "is_superuser",
             "default_transaction_read_only", "plan_cache_mode")  # fmt: skip
_CATALOGS = ("pg_stats", "pg_stats_ext", "pg_stats_ext_exprs", "pg_statistic", "pg_stat_activity",
             "pg_locks", "pg_cursors", "pg_prepared_statements", "pg_stat_user_tables", "pg_shadow",
             "pg_authid", "pg_settings", "pg_largeobject", "pg_statistic_ext_data", "pg_policies",
             "pg_attrdef", "pg_class", "pg_file_settings", "pg_hba_file_rules",
             "pg_stat_replication")  # fmt: skip
_TELLING = (
    "CREATE OR REPLACE FUNCTION pg_temp.told(said text) RETURNS boolean LANGUAGE plpgsql "
    "COST 0.0000001 AS $$ BEGIN RAISE NOTICE '%', said; RETURN true; END $$"
)


@dataclass(frozen=True)
class Attack:
    """What is tried, by which statements, and whether every row is one too many."""

    family: str
    steps: tuple[str, ...]
    bare: bool


class Attacker:
    """Draws attacks on a world, the same ones for the same seed."""

    def __init__(self, world: World, seed: int, families: Iterable[str] = ()) -> None:
        # without families, all of them are used
        self._world, self._dice = world, random.Random(seed)
        forms = [(name, form) for name in sorted(families or FORMS) for form in FORMS[name]]
        weights = [1 / len(FORMS[name]) for name, _ in forms]  # families are as likely
        self._forms = dealt(forms, self._dice, weights)

    def attack(self) -> Attack:
        """The next one."""
        family, form = next(self._forms)
        steps = form.format(**self._drawn()).split(" ;; ")
        return Attack(family, tuple(steps), family in BARE)

    def _drawn(self) -> dict[str, object]:
        """A value of each name that a form may hold."""
        dice, world = self._dice, self._world
        one, two = dice.choice(world.tables), dice.choice(world.whole())
        ns, name = dice.choice(world.foreign), dice.choice(OTHERS[:-1])
        value = self._value()
        return self._of_tables(one, two, ns) | {
            "schema": SCHEMA,
            "own": world.own,
            "mine": OWN,
            "ns": ns,
            "name": name,
            "role": dice.choice(("PUBLIC", APP, ROLE)),
            "setting": dice.choice(_SETTINGS),
            "value": value,
            "tag": dict(world.tags)[ns],
            "local": dice.choice(("true", "false")),
            "change": f"set_config('memory_mesh.ns', '{ns}', true)",
            "key": self._key(name),
            "telling": _TELLING,
            "catalog": dice.choice(_CATALOGS),
            "kept": f"kept_{dice.randrange(3)}",
            "probe": f"SELECT x FROM {SCHEMA}.{dice.choice(world.whole()).name} x",
        }

    def _of_tables(self, one: Table, two: Table, ns: int) -> dict[str, object]:
        return {
            "one": f"{SCHEMA}.{one.name}",
            "two": f"{SCHEMA}.{two.name}",
            "part": f"{SCHEMA}.{two.name}_{self._dice.randrange(PARTITIONS)}",
            "bare2": two.name,
            "where": f"ns = {ns}" if "ns" in one.columns else "true",
            "column": self._dice.choice(one.columns),
            "column2": self._dice.choice(two.columns),
            "columns": ", ".join(two.columns),
            "values": ", ".join(str(ns) if each == "ns" else each for each in two.columns),
        }

    def _value(self) -> str:
        """What a setting is given."""
        dice, numbers = self._dice, [str(ns) for ns in self._world.foreign]
        tags = [tag for _, tag in self._world.tags]
        words = ("", "postgres", "off", "on", "replica", "-1", "0 OR true", "pg_temp, public")
        return dice.choice((*numbers, *tags, dice.randbytes(32).hex(), *words))

    def _key(self, name: str) -> str:
        """A capability that is not that of the namespace."""
        return self._dice.choice(
            (
                f"'\\x{self._world.capability.hex()}'::bytea",
                f"'\\x{self._dice.randbytes(32).hex()}'::bytea",
                "''::bytea",
                "NULL",
                f"sha256('namespace {name}')",
                "decode(current_setting('memory_mesh.tag', true), 'hex')",
            )
        )
