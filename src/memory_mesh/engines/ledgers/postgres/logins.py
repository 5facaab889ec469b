"""Which logins row-level security does not hold: no process may work as one of them."""

from typing import Any

import psycopg

_BYPASSING = """
    SELECT string_agg(r.rolname, ', ' ORDER BY r.rolname) FROM pg_roles r
    WHERE pg_has_role(coalesce(%s, session_user), r.oid, 'MEMBER') AND (
        r.rolsuper OR r.rolbypassrls OR r.rolcreaterole OR r.rolreplication
        OR r.oid IN (SELECT c.relowner FROM pg_class c
                     WHERE c.relnamespace = to_regnamespace('memory_mesh'))
        OR r.rolname IN ('pg_read_server_files', 'pg_write_server_files',
                         'pg_execute_server_program'))"""


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
