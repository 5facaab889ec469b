"""Makes the tables of a database, or brings them up to date: the work of its owner.

Processes that use the store need no right to do this. Each migration runs once, in its own
transaction, in the order of its number; processes of the release before it go on meanwhile.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from memory_mesh.base.digests import keyed_digest
from memory_mesh.base.typed import dataclass
from memory_mesh.ledgers.postgres.places import SCHEMA
from memory_mesh.ledgers.postgres.pool import DatabaseRoute
from memory_mesh.model.errors import InvalidInput, NotAllowed, NotFound, StoreIsNewer

_BYPASSING = """
    SELECT string_agg(r.rolname, ', ' ORDER BY r.rolname) FROM pg_roles r
    WHERE pg_has_role(coalesce(%s, session_user), r.oid, 'MEMBER') AND (
        r.rolsuper OR r.rolbypassrls OR r.rolcreaterole OR r.rolreplication
        OR r.oid IN (SELECT n.nspowner FROM pg_namespace n
                     WHERE n.nspname ~ '^(memory_mesh|place_[0-9a-z]+)$')
        OR r.oid IN (SELECT c.relowner FROM pg_class c
                     WHERE c.relnamespace = to_regnamespace('memory_mesh'))
        OR r.rolname IN ('pg_read_server_files', 'pg_write_server_files',
                         'pg_execute_server_program'))"""

ROLE = "memory_mesh_app"
PARTITIONS = 4  # of each table, so that a namespace can be moved with one of them
_MIGRATIONS = Path(__file__).with_name("migrations")
_LOCK = 0x6D656D6D657368  # one set-up at a time
_BLOCK, _INNER, _OUTER = 64, 0x36, 0x5C  # of a keyed digest
_OF_A_PLACE = {  # what differs in the schema of a place: its name, and no table has partitions
    r"\bmemory_mesh\b(?!\.(?:ns|tag|home|partitions)\b)": "{schema}",
    r"'entered', entered_ns": "'entered in {schema}', entered_ns",
    r"\) PARTITION BY HASH \(ns\)": ")",
    r"c\.relkind = 'p'": "c.relkind = 'r' AND c.relname NOT IN ('namespace', 'due') AND EXISTS ("
    "SELECT FROM pg_attribute x WHERE x.attrelid = c.oid AND x.attname = 'ns')",
    r"SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = of_table": "SELECT of_table",
}
_OF_THE_DATABASE = 3  # a migration about the database, not about a place
ALL = b"all namespaces"  # what a process shows a digest of to list them
_OPENING = b"opens the namespaces of a database"


@dataclass(frozen=True, slots=True)
class SetUp:
    """What was done: the migrations that were run, and how many there are."""

    ran: tuple[int, ...]
    newest: int


def opening_key(secret: bytes) -> bytes:
    """The key that opens namespaces, made of the secret that placeholders are made with."""
    return keyed_digest(secret, _OPENING)


def all_namespaces(secret: bytes) -> bytes:
    """What shows that a process may list every namespace."""
    return keyed_digest(opening_key(secret), ALL)


def newest() -> int:
    """The number of the last migration."""
    return max(_numbers())


def set_up(
    url: str,
    secret: bytes,
    *,
    login: str | None = None,
    partitions: int = PARTITIONS,
    schemas: Sequence[str] = (SCHEMA,),
    home: bool = True,
) -> SetUp:
    """Makes what is missing; `login` is the role that processes connect as.

    Those of a fleet are other `schemas` of the server; without `home` nobody can enter them yet.

    Raises InvalidInput if the database was set up with another key, or if the login or the rights
    in the database would let a process pass by row-level security.
    """
    if DatabaseRoute.of(url).pooled:
        raise InvalidInput(
            "a database is set up over a connection of its own, not through a pooler"
        )
    with psycopg.connect(url, autocommit=True) as db:
        _need_unicode(db)
        db.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        with _told_to_superuser(db):
            _need_vectors(db)
            if db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone() is None:
                db.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(ROLE)))
            if login is not None:
                _let_in(db, login)
        ran: tuple[int, ...] = ()
        for schema in schemas:
            ran = _set_up_schema(db, schema, partitions, secret, home=home)
        _close_public(db)
        if login is not None:
            _refuse_strong(db, login)
    return SetUp(ran, newest())


def _set_up_schema(
    db: psycopg.Connection, schema: str, partitions: int, secret: bytes, *, home: bool
) -> tuple[int, ...]:
    whole = db.execute(
        "SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(%s)", (f"{schema}.store",)
    ).fetchone()
    place = whole == (False,) or schema != SCHEMA or not home
    with db.transaction() if place else nullcontext():  # nobody enters half of a place
        db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        db.execute(f"SET search_path = {schema}, public")
        db.execute(
            "CREATE TABLE IF NOT EXISTS migration (number integer PRIMARY KEY, "
            "at timestamptz NOT NULL DEFAULT now())"
        )
        db.execute("SELECT set_config('memory_mesh.home', %s, false)", (str(home),))
        ran = _migrate(db, schema, 0 if place else partitions)
        _keep(db, opening_key(secret))
    return ran


def _need_unicode(db: psycopg.Connection) -> None:
    encoding = db.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise InvalidInput(
            f"this database keeps texts as {encoding}, which does not hold every language. Make "
            "one that does, and set that up: CREATE DATABASE memory ENCODING 'UTF8' TEMPLATE "
            "template0 LOCALE 'C.UTF-8'"
        )


def _need_vectors(db: psycopg.Connection) -> None:
    found = db.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone()
    if found is None:
        raise NotFound(
            "this PostgreSQL server has no pgvector; install the package that your system calls "
            "postgresql-NN-pgvector, or use the image pgvector/pgvector"
        )
    where = db.execute(
        "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
        "WHERE extname = 'vector'"
    ).fetchone()
    if where not in {None, ("public",)}:
        raise InvalidInput(
            f"pgvector is in the schema {where[0]} of this database. Its owner moves it: "
            "ALTER EXTENSION vector SET SCHEMA public"
        )
    db.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")


def _migrate(db: psycopg.Connection, schema: str, partitions: int) -> tuple[int, ...]:
    found = db.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()
    done = 0 if found is None else int(found[0])
    if done > newest():
        raise StoreIsNewer
    ran = tuple(number for number in sorted(_numbers()) if number > done)
    for number in ran:
        with db.transaction():
            db.execute("SELECT set_config('memory_mesh.partitions', %s, true)", (str(partitions),))
            if partitions or number != _OF_THE_DATABASE:
                db.execute(_statements(number, None if partitions else schema).encode())
            db.execute("INSERT INTO migration (number) VALUES (%s)", (number,))
    return ran


def _statements(number: int, place: str | None) -> str:
    """A migration, as it is run in the schema of a place."""
    found = _numbers()[number].read_text(encoding="utf-8")
    for pattern, put in _OF_A_PLACE.items() if place else ():
        found = re.sub(pattern, put.format(schema=place), found)
    return found


def _keep(db: psycopg.Connection, key: bytes) -> None:
    """Stores what checks capabilities: the two padded keys of a keyed digest."""
    padded = key.ljust(_BLOCK, b"\0")
    pads = tuple(bytes(byte ^ pad for byte in padded) for pad in (_INNER, _OUTER))
    db.execute("INSERT INTO secret VALUES (1, %s, %s) ON CONFLICT DO NOTHING", pads)
    if db.execute("SELECT inner_pad, outer_pad FROM secret").fetchone() != pads:
        raise InvalidInput(
            "this database was set up with another key; state that one, since only it opens what "
            "is stored"
        )


def _let_in(db: psycopg.Connection, login: str) -> None:
    if db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (login,)).fetchone() is None:
        raise NotFound(
            f"there is no role {login}; make it first: CREATE ROLE {login} LOGIN PASSWORD '…'"
        )
    _refuse_strong(db, login)
    db.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(ROLE), sql.Identifier(login)))


def _refuse_strong(db: psycopg.Connection, login: str) -> None:
    if passes_by := bypassing(db, login):
        raise InvalidInput(refusal(login, passes_by))


@contextmanager
def _told_to_superuser(db: psycopg.Connection) -> Iterator[None]:
    """Says what a superuser must do once for an owner who may not do it."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise NotAllowed(
            f"{db.info.user} may not do all of it, and no table was made. Let a superuser run this "
            "once in the database, then run the same command again: CREATE EXTENSION IF NOT "
            f"EXISTS vector SCHEMA public; CREATE ROLE {ROLE} NOLOGIN (unless it is there); GRANT "
            f"{ROLE} TO {db.info.user} WITH ADMIN OPTION"
        ) from error


def _close_public(db: psycopg.Connection) -> None:
    """Nobody may put functions where the statements of all look for those of pgvector."""
    db.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    asked = "SELECT has_schema_privilege(%s, 'public', 'CREATE')"
    if db.execute(asked, (ROLE,)).fetchone() != (False,):
        raise InvalidInput(
            f"{ROLE} may create functions in the schema public, which every namespace would then "
            "run; let the schema's owner run: REVOKE CREATE ON SCHEMA public FROM PUBLIC"
        )


def _numbers() -> dict[int, Path]:
    return {int(path.name[:4]): path for path in _MIGRATIONS.glob("[0-9]*.sql")}


# Which logins row-level security does not hold: no process may work as one of them.


def bypassing(db: psycopg.Connection[Any], login: str | None = None) -> str | None:
    """The roles that a login has, itself among them, which can pass by row-level security.

    These are superusers, those with BYPASSRLS, CREATEROLE or REPLICATION, the owner of the tables,
    and those that reach the files of the server. Without a login, that of the connection is meant.
    """
    found = db.execute(_BYPASSING, (login,)).fetchone()
    return None if found is None else found[0]


def refusal(login: str, roles: str) -> str:
    """Why a process may not work as this login, and what to do."""
    return (
        f"the role {login} can pass by row-level security, since it is or belongs to {roles}; "
        "let processes connect as a plain role: CREATE ROLE mesh LOGIN PASSWORD '…', and set the "
        "database up again with this login"
    )
