"""Makes the tables of the queue, or brings them up to date: the work of the database's owner.

They are procrastinate's own, in a schema of their own, beside one table of ours: how far a job is.
"""

from pathlib import Path

import psycopg
from procrastinate.schema import SchemaManager
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

SCHEMA = "memory_mesh_jobs"
_LOCK = 0x6D656D6D657369  # one set-up at a time
_OWN = """
CREATE TABLE IF NOT EXISTS progress (
    job bigint PRIMARY KEY REFERENCES procrastinate_jobs ON DELETE CASCADE,
    done bigint NOT NULL DEFAULT 0,
    total bigint, -- not known for every job
    failure text -- what kind of failure the last attempt ended with; never a message
)
"""


def conninfo(url: str) -> str:
    """The address with the schema of the queue; a stated option stays."""
    stated = conninfo_to_dict(url).get("options") or ""
    return make_conninfo(url, options=f"{stated} -c search_path={SCHEMA}".strip())


def set_up(url: str, role: str) -> None:
    """Makes what is missing, and lets a role use it."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        schema = sql.Identifier(SCHEMA)
        db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
        db.execute(sql.SQL("SET search_path = {}").format(schema))
        with db.transaction():
            _migrate(db)
            db.execute(_OWN)
            for grant in (
                "GRANT USAGE ON SCHEMA {} TO {}",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {} TO {}",
                "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {} TO {}",
            ):
                db.execute(sql.SQL(grant).format(schema, sql.Identifier(role)))


def _migrate(db: psycopg.Connection) -> None:
    """Runs procrastinate's whole schema once, and later the migrations after it."""
    db.execute("CREATE TABLE IF NOT EXISTS migrated (name text PRIMARY KEY)")
    there = {path.name: path for path in Path(SchemaManager.get_migrations_path()).glob("*.sql")}
    found = db.execute("SELECT max(name) FROM migrated").fetchone()
    if found is None or found[0] is None:
        db.execute(SchemaManager.get_schema())
        db.execute("INSERT INTO migrated VALUES (%s)", (max(there),))
        return
    for name in sorted(name for name in there if name > found[0]):
        db.execute(there[name].read_bytes())
        db.execute("INSERT INTO migrated VALUES (%s)", (name,))
