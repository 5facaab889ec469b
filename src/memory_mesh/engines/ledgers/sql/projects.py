"""The names of a project under which a write looks for what is for the same audience."""

from collections.abc import Iterator

from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Scope
from memory_mesh.policy.projects import NAMES, names_of


def same_audience(db: Database, scope: Scope) -> Iterator[Scope]:
    """Yields the audience, and then the same under each former name of its project."""
    yield scope
    if scope.project is None:
        return
    found = db.execute("SELECT value FROM state WHERE name = ?", (f"{NAMES}{scope.project}",))
    row = found.fetchone()
    for name in () if row is None else names_of(row[0]).same:
        yield replace(scope, project=name)
