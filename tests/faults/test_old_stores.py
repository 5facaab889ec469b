"""Killed while a store of an earlier version is migrated or reindexed, the next run finishes it."""

import os
import random
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh.learn import upkeep
from memory_mesh.ledgers.sqlite import schema
from memory_mesh.sync import MemoryMesh
from tests.faults.crashpoints import watch
from tests.faults.processes import Child, call
from tests.faults.sample import SEED, points
from tests.stores import FOUND, NAMES, held, unpacked

POINTS = 2  # kills for each store, anywhere among its statements and file operations
RECONNECTING = 20  # events of two new connections, which a run makes or not after the migration
AT_ONCE = 3  # texts in a slice, so that there are several
TABLES = ("live", "rest", "skill_live")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_migration_is_finished_by_the_next(tmp_path, name):
    unpacked(name, tmp_path / "old")
    shutil.copytree(tmp_path / "old", tmp_path / "whole")
    total = call(_finished_counting, tmp_path / "whole")
    whole = call(_contents, tmp_path / "whole")
    surely = total - RECONNECTING
    for point in points(surely, POINTS / surely, random.Random(f"{SEED} {name}")):
        here = tmp_path / f"killed-{point}"
        shutil.copytree(tmp_path / "old", here)
        child: Child[None] = Child(_killed_at, here, point)
        child.join()
        assert child.code == -signal.SIGKILL, f"event {point} of {total} was not reached"
        findings, answers = call(_finished, here)
        assert (point, findings) == (point, [])
        assert (point, answers) == (point, FOUND)
        assert call(_contents, here) == whole
        shutil.rmtree(here)


def test_a_kill_while_a_grown_file_gets_large_pages_loses_nothing(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "small", embedder="none") as mesh:
        mesh.add_many([f"Shelf {number} holds box {number}" for number in range(90)])
    shutil.copytree(tmp_path / "small", tmp_path / "whole")
    total = call(_enlarged_counting, tmp_path / "whole")
    assert call(_added, tmp_path / "whole") == ([], (schema.LARGE_PAGE, "wal"), 92)
    surely = total - RECONNECTING
    for point in points(surely, POINTS / surely, random.Random(SEED)):
        here = tmp_path / f"killed-{point}"
        shutil.copytree(tmp_path / "small", here)
        child: Child[None] = Child(_enlarging_killed_at, here, point)
        child.join()
        assert child.code == -signal.SIGKILL, f"event {point} of {total} was not reached"
        findings, pages, count = call(_added, here)
        assert (point, findings, pages) == (point, [], (schema.LARGE_PAGE, "wal"))
        assert count in {91, 92}
        shutil.rmtree(here)


def _enlarging_killed_at(folder: Path, point: int) -> None:
    """In a child: write to a file that outgrew its pages, and die at the point."""

    def die(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(die)
    _enlarge(folder)


def _enlarged_counting(folder: Path) -> int:
    """In a child: write to a file that outgrew its pages; how many events that has."""
    events = watch(lambda _number: None)
    _enlarge(folder)
    return len(events)


def _enlarge(folder: Path, text: str = "The printer is blue") -> None:
    schema.SMALL_BYTES = 150_000
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        mesh.add(text)


def _added(folder: Path) -> tuple[list[str], tuple[int, str], int]:
    """In a child: write once more; what is wrong then, how the file is written, and what it has."""
    _enlarge(folder, "The lamp is green")
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        findings = [str(finding) for finding in mesh.care.verify().findings]
        count = mesh.stats().memories
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        (size,) = db.execute("PRAGMA page_size").fetchone()
        (mode,) = db.execute("PRAGMA journal_mode").fetchone()
    return findings, (size, mode), count


def _killed_at(folder: Path, point: int) -> None:
    """In a child: migrate and reindex, and die at the point."""

    def die(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(die)
    _reindex(folder)


def _finished_counting(folder: Path) -> int:
    """In a child: migrate and reindex; how many events that has."""
    events = watch(lambda _number: None)
    _reindex(folder)
    return len(events)


def _reindex(folder: Path) -> None:
    with MemoryMesh(db_dir=folder) as mesh:
        upkeep.reindex(mesh._opened().ledger, "default", everything=True, at_once=AT_ONCE)


def _finished(folder: Path) -> tuple[list[str], dict[str, str]]:
    """In a child: what a later upkeep leaves to find wrong, and what the words find."""
    with MemoryMesh(db_dir=folder) as mesh:
        mesh.care.upkeep()
        findings = [str(finding) for finding in mesh.care.verify().findings]
        return findings, {word: mesh.search(word, limit=1)[0].content for word in FOUND}


def _contents(folder: Path) -> list[object]:
    path = folder / "namespaces" / "default.db"
    return [held(path, table) for table in TABLES]
