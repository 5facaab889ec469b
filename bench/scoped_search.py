"""Measure what a search costs a reader of little against a reader of all, in one process.

python -m bench.scoped_search --memories 20000 [--index] [--store FOLDER]
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memory_mesh.model import Embedding, Scope, Space
from memory_mesh.sync import MemoryMesh

DIMENSION = 384
READERS = {"a tenth": 100, "1 %": 10, "0.3 %": 3}  # projects, and how many of 1,000 memories
_WORDS = [f"word{number}" for number in range(3_000)]


class Drawn:
    """Vectors drawn from the bytes of a text."""

    space = Space("bench", "drawn", "1", DIMENSION, 256)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """The same vector for the same text."""
        del query
        return Embedding(self.space, tuple((_vector(text),) for text in texts))

    def close(self) -> None:
        """Nothing to release."""


def main() -> None:
    """Fill a store where there is none, and ask it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--index", action="store_true", help="ask an index")
    parser.add_argument("--store", type=Path, help="a store to keep, and to use if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder)
        with MemoryMesh(db_dir=store, custom_embedder=Drawn()) as mesh:
            if not mesh.stats().seq:
                _fill(mesh, options.memories)
            if options.index:
                mesh.care.rebuild_index()
            _report(_measured(mesh, options.questions))


def _fill(mesh: MemoryMesh, memories: int) -> None:
    chance = random.Random(1)
    projects = [name for name, count in READERS.items() for _ in range(count)]
    projects += [f"project {number % 87}" for number in range(1_000 - len(projects))]
    for start in range(0, memories, 1_000):
        mesh.add_many(
            {
                "content": f"note{start + place} {' '.join(chance.choices(_WORDS, k=10))}",
                "scope": Scope(project=project),
            }
            for place, project in enumerate(projects)
        )


def _measured(mesh: MemoryMesh, questions: int) -> dict[str, list[float]]:
    """Processor seconds of each search, by reader; readers take turns."""
    spent: dict[str, list[float]] = {name: [] for name in ("all", *READERS, "nothing")}
    for number in range(questions):
        chance = random.Random(number)
        question = f"question{number} {' '.join(chance.choices(_WORDS, k=4))}"
        for name, times in spent.items():
            across = ("project", "agent", "session") if name == "all" else ()
            start = time.process_time()
            mesh.search(question, scope=Scope(project=name), across=across, use_cache=False)
            times.append(time.process_time() - start)
    return spent


def _report(spent: dict[str, list[float]]) -> None:
    whole = statistics.median(spent["all"])
    for name, times in spent.items():
        median = statistics.median(times)
        print(f"{name:8} {1_000 * median:8.2f} ms of CPU, {median / whole:.2f} of all")


def _vector(text: str) -> bytes:
    drawn = np.random.default_rng(list(text.encode())).standard_normal(DIMENSION)
    return (drawn / np.linalg.norm(drawn)).astype("<f4").tobytes()


if __name__ == "__main__":
    main()
