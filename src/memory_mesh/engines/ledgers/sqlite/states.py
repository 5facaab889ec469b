"""Small named values: how far a job has come, the last number given out."""

import sqlite3
from collections.abc import Sequence

from memory_mesh.engines.ledgers.sqlite import rows
from memory_mesh.engines.ledgers.sqlite.opening import Connection, known
from memory_mesh.model import Commit

_FEW_VALUES, _FEW_PREFIXES = 16, 16  # that a connection remembers
CHAIN_NAME = "chain.name"  # of an imported namespace: the name under which its chain began


def write(db: sqlite3.Connection, commit: Commit) -> None:
    """Sets the values of a commit; None removes one, and no byte of it is left in the file."""
    db.execute("PRAGMA secure_delete = ON")
    for name, value in commit.states.items():
        if value is None:
            db.execute("DELETE FROM state WHERE name = ?", (name,))
        else:
            db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, value))
    db.execute("PRAGMA secure_delete = OFF")


def by_name(db: sqlite3.Connection, names: Sequence[str]) -> dict[str, str]:
    """The values of these names, where there are any."""
    found = db.execute(
        "SELECT name, value FROM state WHERE name IN (SELECT value FROM json_each(?))",
        (rows.dumped(names),),
    )
    return dict(found.fetchall())


def chain_name(db: sqlite3.Connection, namespace: str) -> str:
    """The name that the first block of a namespace follows: its own, unless it was imported."""
    return by_name(db, [CHAIN_NAME]).get(CHAIN_NAME, namespace)


def beginning_with(db: sqlite3.Connection, prefix: str) -> dict[str, str]:
    """The values of all names that begin with a prefix, sorted by name.

    A connection remembers few and small ones, such as the names of a project, until a write.
    """
    remembered = known(db).states if isinstance(db, Connection) else {}
    if prefix in remembered:
        return dict(remembered[prefix])
    found = db.execute(
        "SELECT name, value FROM state WHERE name >= ?1 AND name < ?1 || char(1114111) "
        "ORDER BY name",
        (prefix,),
    ).fetchall()
    if len(found) <= _FEW_VALUES and len(remembered) < _FEW_PREFIXES:
        remembered[prefix] = dict(found)
    return dict(found)
