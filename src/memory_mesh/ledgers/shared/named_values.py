"""Small named values: how far a job has come, the last number given out."""

from collections.abc import Sequence

from memory_mesh.ledgers.shared import rows
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.model import Commit

_PUT = "INSERT INTO state VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_FEW_VALUES, _FEW_PREFIXES = 16, 16  # that a connection remembers
ERASING = "erasing/"  # begins the names of erasures that are hidden and not done
ERASED_COUNT = "erased.memories"  # how many memories were ever erased
ERASED = "erased.at"  # when something was last erased, in microseconds
CHAIN_NAME = "chain.name"  # of an imported namespace: the name under which its chain began


def write(db: Database, commit: Commit) -> None:
    """Sets the values of a commit; None removes one, and no byte of it is left in the file."""
    with engine_of(db).wiping(db):
        for name, value in commit.states.items():
            if value is None:
                db.execute("DELETE FROM state WHERE name = ?", (name,))
            else:
                db.execute(_PUT, (name, value))


def by_name(db: Database, names: Sequence[str]) -> dict[str, str]:
    """The values of these names, where there are any."""
    found = db.execute(
        "SELECT name, value FROM state WHERE name IN (SELECT value FROM json_each(?))",
        (rows.dumped(names),),
    )
    return dict(found.fetchall())


def chain_name(db: Database, namespace: str) -> str:
    """The name that the first block of a namespace follows: its own, unless it was imported."""
    return by_name(db, [CHAIN_NAME]).get(CHAIN_NAME, namespace)


def beginning_with(db: Database, prefix: str) -> dict[str, str]:
    """The values of all names that begin with a prefix, sorted by name.

    A connection remembers few and small ones, such as the names of a project, until a write.
    """
    known = engine_of(db).known(db)
    remembered = {} if known is None else known.states
    if prefix in remembered:
        return dict(remembered[prefix])
    found = db.execute(
        "SELECT name, value FROM state WHERE name >= ?1 AND name < ?2 ORDER BY name",
        (prefix, f"{prefix}\U0010ffff"),
    ).fetchall()
    if len(found) <= _FEW_VALUES and len(remembered) < _FEW_PREFIXES:
        remembered[prefix] = dict(found)
    return dict(found)
