"""A store in a folder that cannot be written: read in full, told once, and never changed."""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.sync import MemoryMesh

ROOT = Path(__file__).resolve().parents[2]
OLD = ROOT / "tests" / "fixtures" / "stores"
_CHILD = """
import json, sys
from pathlib import Path
from typing import Any
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryMesh
from tests.read_only import cannot_be_written
folder = Path(sys.argv[1])
cannot_be_written(folder)
with MemoryMesh(db_dir=folder, embedder="none") as mesh:
    listed = mesh.get_all()
    said = {
        "texts": sorted(memory.text for memory in listed),
        "found": [hit.id for hit in mesh.search("apples")],
        "got": [mesh.get(memory.id).text for memory in listed[:2]],
        "stats": mesh.stats().memories,
        "ok": mesh.care.verify().ok,
        "findings": [finding.detail for finding in mesh.care.verify().findings],
    }
    try:
        mesh.add("more")
    except MeshError as error:
        said["refused"] = [type(error).__name__, str(error)]
print(json.dumps(said))
"""
_TORN = """
import os, sqlite3, sys
db = sqlite3.connect(f"{sys.argv[1]}/namespaces/default.db", isolation_level=None)
db.execute("PRAGMA journal_mode = DELETE")
db.execute("PRAGMA cache_size = 5")  # so that pages reach the file before the end
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE text SET content = replace(content, 'pears', 'plums')")
os.kill(os.getpid(), 9)
"""


def told(folder: Path) -> tuple[dict[str, Any], str]:
    """What a child says that reads the folder only, and what it prints as warnings."""
    copies = folder.parent / "tmp"  # where it makes its private copies
    copies.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(folder)],
        env={**os.environ, "TMPDIR": str(copies)},
        capture_output=True, text=True, cwd=ROOT, check=False, timeout=300,
    )  # fmt: skip
    assert list(copies.iterdir()) == []  # none is left behind
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def sums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("closed", [True, False])
def test_a_store_that_cannot_be_written_is_read_and_left_as_it_is(tmp_path, closed):
    with MemoryMesh(db_dir=tmp_path / "live", embedder="none") as mesh:
        for number in range(6):
            mesh.add(f"fact {number} about apples")
        if not closed:
            shutil.copytree(tmp_path / "live", tmp_path / "store")
    if closed:
        shutil.copytree(tmp_path / "live", tmp_path / "store")
    assert (tmp_path / "store" / "namespaces" / "default.db-wal").exists() != closed
    before = sums(tmp_path / "store")
    said, warned = told(tmp_path / "store")
    assert said["texts"] == [f"fact {number} about apples" for number in range(6)]
    assert len(said["found"]) == 6
    assert len(said["got"]) == 2
    assert (said["stats"], said["ok"]) == (6, True), said["findings"]
    assert said["refused"][0] == "StoreIsReadOnly"
    assert "cannot be written" in said["refused"][1]
    assert warned.count("their use is not counted") == 1
    assert sums(tmp_path / "store") == before


def test_a_journal_that_a_kill_left_is_played_back_in_a_copy(tmp_path):
    folder = tmp_path / "store"
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        for number in range(60):
            mesh.add(f"fact {number} about apples " + "and pears " * 50)
    subprocess.run([sys.executable, "-c", _TORN, str(folder)], check=False, timeout=300)
    assert (folder / "namespaces" / "default.db-journal").stat().st_size
    before = sums(folder)
    said, _ = told(folder)
    assert len(said["texts"]) == 60
    assert said["ok"], said["findings"]
    assert sums(folder) == before


def test_a_log_that_lost_writes_is_refused_in_a_copy_too(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "live", embedder="none") as mesh:
        for number in range(6):
            mesh.add(f"fact {number} about apples")
        shutil.copytree(tmp_path / "live", tmp_path / "store")
    log = tmp_path / "store" / "namespaces" / "default.db-wal"
    data = bytearray(log.read_bytes())
    data[len(data) * 9 // 10] ^= 1
    log.write_bytes(data)
    with pytest.raises(AssertionError, match="WritesAreMissing"):
        told(tmp_path / "store")


def test_an_older_store_is_read_in_a_migrated_copy(tmp_path):
    (tmp_path / "store" / "namespaces").mkdir(parents=True)
    packed = (OLD / "schema-1-analyzer-1.db.gz").read_bytes()
    (tmp_path / "store" / "namespaces" / "default.db").write_bytes(gzip.decompress(packed))
    before = sums(tmp_path / "store")
    said, _ = told(tmp_path / "store")
    assert said["texts"]
    assert sums(tmp_path / "store") == before
