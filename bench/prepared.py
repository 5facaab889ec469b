"""Stores of `bench.memories`, loaded once under the work folder and used by every measurement.

`plain-N` holds N memories with vectors and no index, `indexed-N` is a copy with one. A store that
was interrupted is continued; a larger one begins as a copy of the largest smaller one. A store is
made anew when the mixture or the schema changed, or when its sessions are about to expire.
"""

import json
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import corpus, memories
from bench.measure import say
from memory_mesh.ledgers.sqlite import schema
from memory_mesh.model.ports import Embedder
from memory_mesh.sync import MemoryMesh

EVERYTHING = ("project", "session")  # what a reader looks across to see all memories
_STAMP = "bench.json"
_STEP = 4_096
_DAYS = 20  # a session's memories expire after 30 by default


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a prepared store was made from."""

    mixture: int = memories.VERSION
    seed: int = corpus.SEED
    schema: int = schema.NEWEST


def opened(folder: Path, embedder: Embedder | None = None) -> MemoryMesh:
    """A mesh on a prepared store, with default settings but for the embedder."""
    return MemoryMesh(db_dir=folder, custom_embedder=embedder or memories.Made())


def keyword_mesh(folder: Path) -> MemoryMesh:
    """A mesh on a prepared store that works by keyword alone."""
    return MemoryMesh(db_dir=folder, embedder="none")


def file_of(folder: Path) -> Path:
    """The database of a prepared store."""
    return folder / "namespaces" / "default.db"


def plain(work: Path, size: int) -> Path:
    """A store of so many memories with vectors and without an index."""
    folder = work / f"plain-{size}"
    if not _fits(folder):
        shutil.rmtree(folder, ignore_errors=True)
        _begin(work, folder, size)
    with opened(folder) as mesh:
        _fill(mesh, folder.name, size)
    return folder


def keyword_only(work: Path, size: int) -> Path:
    """A store of so many memories without vectors."""
    folder = work / f"words-{size}"
    if not _fits(folder):
        shutil.rmtree(folder, ignore_errors=True)
        _empty(folder)
    with keyword_mesh(folder) as mesh:
        _fill(mesh, folder.name, size)
    return folder


def indexed(work: Path, size: int) -> Path:
    """A copy of the plain store of this size, with an index of its vectors."""
    folder = work / f"indexed-{size}"
    if _fits(folder):
        return folder
    source = plain(work, size)
    making = work / f"{folder.name}.part"
    shutil.rmtree(making, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, making)
    say(f"  {folder.name}: building the index")
    with opened(making) as mesh:
        began = time.process_time()
        mesh.care.rebuild_index()
        say(f"  {folder.name}: built in {time.process_time() - began:.0f} CPU-s")
    making.rename(folder)
    return folder


def scratch(work: Path, source: Path, name: str) -> Path:
    """A fresh copy to write to."""
    folder = work / f"scratch-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    return folder


def _fill(mesh: MemoryMesh, name: str, size: int) -> None:
    """Store what is missing, with a line of progress for each step."""
    done = first = mesh.stats().blocks  # each memory leaves one block, so a break loses no count
    began = time.perf_counter()
    while done < size:
        stop = min(size, done + _STEP)
        mesh.add_many(list(memories.items(done, stop)))
        done = stop
        rate = (done - first) / (time.perf_counter() - began)
        left = (size - done) / rate / 60
        say(f"  {name}: {done:,} of {size:,}, {rate:,.0f} a second, {left:.0f} min left")


def _begin(work: Path, folder: Path, size: int) -> None:
    """An empty folder with its stamp, or a copy of the largest smaller store."""
    smaller = [
        (int(found.name.removeprefix("plain-")), found)
        for found in work.glob("plain-*")
        if found.name.removeprefix("plain-").isdigit() and _fits(found)
    ]
    usable = [(count, found) for count, found in smaller if count < size]
    if usable:
        count, source = max(usable)
        say(f"  {folder.name}: begins as a copy of {source.name}")
        plain(work, count)  # complete it first: it may have been interrupted
        part = work / f"{folder.name}.part"
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(source, part)
        part.rename(folder)
        return
    _empty(folder)


def _empty(folder: Path) -> None:
    folder.mkdir(parents=True)
    stamp = asdict(Stamp()) | {"made": time.time()}
    (folder / _STAMP).write_text(json.dumps(stamp) + "\n", encoding="utf-8")


def _fits(folder: Path) -> bool:
    """True for a store of this mixture and schema, young enough for its sessions to be visible."""
    path = folder / _STAMP
    if not path.exists():
        return False
    found = json.loads(path.read_text(encoding="utf-8"))
    made = found.pop("made")
    return bool(found == asdict(Stamp()) and time.time() - made < _DAYS * 86_400)
