"""Numbered migrations, for every engine: which steps a store still needs, and in which order.

A step is a file `NNNN_name.sql` beside its engine. A store at version n has run steps 1 … n.
"""

from collections.abc import Callable
from pathlib import Path

from memory_mesh.errors import StoreIsNewer
from memory_mesh.fastdataclass import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One numbered change of the schema."""

    number: int
    name: str
    sql: str


def steps(folder: Path) -> list[Step]:
    """The engine's steps, in order, without gaps."""
    found = [
        Step(int(path.name[:4]), path.stem[5:], path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    ]
    if [step.number for step in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations in {folder.name} are not numbered 1 to {len(found)}")
    return found


def migrate(
    folder: Path, version: int, backup: Callable[[int], None], apply: Callable[[Step], None]
) -> int:
    """Bring a store from its version to the newest: back up what exists, then step by step."""
    known = steps(folder)
    if version > len(known):
        raise StoreIsNewer
    if 0 < version < len(known):
        backup(version)
    for step in known[version:]:
        apply(step)
    return len(known)
