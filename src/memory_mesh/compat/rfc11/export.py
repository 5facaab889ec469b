"""A namespace as a LanceDB directory of the original: three tables with RFC-0011's columns.

Each table is written in a stream beside the place where it belongs; the directory appears whole or
not at all. A text without a vector has none in the table. Of a long text with several vectors the
table has room for one: their mean.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.base.typed import Protocol
from memory_mesh.compat.rfc11 import columns as rfc11_columns, lance_tables
from memory_mesh.compat.rfc11.rows import Seal, sealed
from memory_mesh.model import Block, Memory, Skill
from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform.private_files import make_folder

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """A memory, the vectors of its text, and when it was last changed, if ever."""

    memory: Memory
    vectors: Sequence[bytes] = ()
    changed_at: datetime | None = None
    seal: Seal | None = None  # of the store that it is in


@dataclass(frozen=True, slots=True)
class HeldSkill:
    """A skill and the vector of its intent."""

    skill: Skill
    vector: bytes | None = None


class Holdings(Protocol):
    """What is to be handed out; each is asked for once and read as a stream."""

    @property
    def dimension(self) -> int:
        """The length of every vector."""

    def memories(self) -> Iterable[HeldMemory]:
        """The memories, in any order."""

    def skills(self) -> Iterable[HeldSkill]:
        """The skills, in any order."""

    def blocks(self) -> Iterable[Block]:
        """The blocks, oldest first."""


@dataclass(frozen=True, slots=True)
class HandedOut:
    """How many rows each table has."""

    memories: int
    skills: int
    blocks: int


def hand_out(holdings: Holdings, folder: Path, *, progress: Progress | None = None) -> HandedOut:
    """Write the tables into a folder that is not there yet or empty; `progress` hears the rows."""
    folder = folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is there already and not empty: name another folder")
    part = folder.with_name(f".{folder.name}.partial")
    with suppress(FileNotFoundError):
        shutil.rmtree(part)
    part.parent.mkdir(parents=True, exist_ok=True)
    make_folder(part)
    count = _Counter(progress)
    dimension = holdings.dimension

    def write(
        table: str, columns: Sequence[rfc11_columns.Column], rows: Iterator[dict[str, object]]
    ) -> int:
        place = lance_tables.place(part, table)
        return lance_tables.write_rows(place, columns, dimension, count(rows))

    made = HandedOut(
        write(rfc11_columns.MEMORIES, rfc11_columns.V2_COLUMNS, map(_memory, holdings.memories())),
        write(
            rfc11_columns.SKILLS,
            rfc11_columns.SKILL_COLUMNS,
            (rfc11_columns.skill_row(held.skill, vector=held.vector) for held in holdings.skills()),
        ),
        write(rfc11_columns.BLOCKS, rfc11_columns.BLOCK_COLUMNS, _blocks(holdings.blocks())),
    )
    lance_tables.sync(part)
    os.rename(part, folder)  # noqa: PTH104  # onto an empty folder too
    lance_tables.sync(folder.parent)
    return made


class _Counter:
    """Tells how many rows went by."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._seen = progress, 0

    def __call__(self, rows: Iterator[dict[str, object]]) -> Iterator[dict[str, object]]:
        """The rows, counted."""
        for row in rows:
            yield row
            self._seen += 1
            if self._progress is not None and not self._seen % lance_tables.BATCH:
                self._progress(self._seen)


def _memory(held: HeldMemory) -> dict[str, object]:
    row = rfc11_columns.memory_row(
        held.memory, vector=_mean(held.vectors), changed_at=held.changed_at
    )
    return row if held.seal is None else sealed(row, held.memory, held.seal)


def _blocks(blocks: Iterable[Block]) -> Iterator[dict[str, object]]:
    """Each row names the hash of the one before that has a text."""
    previous: str | None = None
    for block in blocks:
        row = rfc11_columns.block_row(block, previous)
        yield row
        hashed = row["block_hash"]
        previous = hashed if isinstance(hashed, str) else previous


def _mean(vectors: Sequence[bytes]) -> bytes | None:
    """One vector for a text that has several, of length 1 again."""
    if len(vectors) < 2:  # noqa: PLR2004  # nothing to do for one
        return vectors[0] if vectors else None
    import numpy as np

    mean = np.mean([np.frombuffer(vector, "<f4") for vector in vectors], axis=0)
    length = float(np.linalg.norm(mean))
    pooled: bytes = (mean / length if length else mean).astype("<f4").tobytes()
    return pooled
