"""Stores to measure on: loaded once, kept under the work folder, gone on with after a break."""

import time
from pathlib import Path

from bench import corpus
from bench.measure import say
from memory_mesh.sync import MemoryMesh

_STEP = 8_192  # texts made and stored at a time


def keyword_mesh(folder: Path, namespace: str = "default") -> MemoryMesh:
    """A mesh that works by keyword alone, whatever else the machine has installed."""
    return MemoryMesh(db_dir=str(folder), namespace=namespace, embedder="none")


def loaded(folder: Path, memories: int, namespace: str = "default") -> float | None:
    """A store with so many memories; how many a second it took, None when it was there."""
    with keyword_mesh(folder, namespace) as mesh:
        done = mesh.stats().blocks  # each text leaves one block, so a break loses no count
        missing, spent = memories - done, 0.0
        while done < memories:
            batch = list(corpus.texts(done, min(memories, done + _STEP)))
            began = time.perf_counter()
            mesh.add_many(batch)
            spent += time.perf_counter() - began
            done += len(batch)
            if memories > _STEP:
                say(f"  {folder.name}: {done:,} of {memories:,} memories")
    return missing / spent if spent else None


def file_of(folder: Path, namespace: str = "default") -> Path:
    """The file a namespace of a store lies in."""
    return folder / "namespaces" / f"{namespace}.db"
