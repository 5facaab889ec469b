"""A row that holds what was never written is said to be damage, with the file and what helps."""

import sqlite3
from contextlib import closing

import pytest

from memory_mesh.model.errors import StoreIsDamaged
from memory_mesh.sync import MemoryMesh


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE version SET channel = 'librari'",
        "UPDATE version SET kind = 'fict'",
        "UPDATE version SET tags = '['",
        """UPDATE version SET claim = '{"pre$icate": "x"}'""",
        "UPDATE block SET memories = '['",
        "UPDATE block SET wire = x'ff00'",
        "UPDATE version SET label = CAST(x'ff' AS TEXT)",
    ],
)
def test_a_damaged_row_is_refused_and_verify_finds_it(tmp_path, change):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("the ferry leaves at nine")
    with closing(sqlite3.connect(tmp_path / "namespaces" / "default.db")) as db:
        db.execute(change)
        db.commit()
    with MemoryMesh(db_dir=tmp_path) as mesh:
        with pytest.raises(StoreIsDamaged, match=r"default\.db is damaged.*memory-mesh verify"):
            _ = [mesh.get_all(), mesh.care.blocks(as_owner=True)]
        assert mesh.care.verify().findings


def test_an_unreadable_keyword_table_is_refused_and_verify_finds_it(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("the ferry leaves at nine")
    with closing(sqlite3.connect(tmp_path / "namespaces" / "default.db")) as db:
        db.execute("UPDATE live_config SET v = 12 WHERE k = 'version'")
        db.commit()
    with MemoryMesh(db_dir=tmp_path) as mesh:
        with pytest.raises(StoreIsDamaged, match="memory-mesh repair"):
            mesh.search("ferry")
        assert mesh.care.verify().findings
