"""The spool: what was appended is taken in once, and what finds no room waits."""

import json
import os
import sqlite3
from contextlib import closing

import pytest

from memory_mesh.ledgers.shared import history
from memory_mesh.ledgers.sqlite import spool
from memory_mesh.platform.ids import SystemClock
from memory_mesh.sync import MemoryMesh

PATIENT = 60.0


@pytest.fixture
def folder(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("tea is hot")
    return tmp_path


def test_a_batch_that_was_seen_in_part_is_taken_once_and_whole(folder):
    left, now = folder / "namespaces" / "default.spool", SystemClock().now()
    ids = [(f"mem_{number}",) for number in range(3)]
    spool.append(left, [history.Noted(used=id_, at=now) for id_ in ids], PATIENT)
    whole = left.read_bytes()
    found = []
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        for size in (len(whole) // 2, len(whole), len(whole)):
            left.write_bytes(whole[:size])
            with spool.taking(left) as spooled:
                found += [one.used for one in spooled.records(db)]
    assert found == ids


@pytest.mark.parametrize("value", ['["%s"]', "[[]]", "7", "{", '{"%s": "x"}', '{"%s": 1e999}'])
def test_batches_taken_as_an_earlier_version_noted_it_or_nobody(folder, value):
    left, now = folder / "namespaces" / "default.spool", SystemClock().now()
    spool.append(left, [history.Noted(used=("mem_1",), at=now)], PATIENT)
    batch = json.loads(left.read_bytes())["batch"]
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        db.execute(
            "INSERT OR REPLACE INTO state VALUES ('spool', ?)", (value.replace("%s", batch),)
        )
        with spool.taking(left) as spooled:
            assert len(spooled.records(db)) == (not value.startswith('["'))


def test_a_disk_that_takes_a_part_keeps_the_rest_waiting(tmp_path, monkeypatch):
    path, now, write = tmp_path / "default.spool", SystemClock().now(), os.write
    three = [history.Noted(used=(f"mem_{number}",), at=now) for number in range(3)]
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda to, data: write(to, data[: len(data) // 2]))
        assert spool.append(path, three, PATIENT) == three[1:]
    assert spool.append(path, three[1:], PATIENT) == []
    assert spool.waiting(path) == {"records in the spool": 3, "damaged lines in the spool": 1}


def test_what_is_appended_while_a_writer_takes_the_spool_waits_for_the_next(folder):
    left, now = folder / "namespaces" / "default.spool", SystemClock().now()
    spool.append(left, [history.Noted(used=("mem_1",), at=now)], PATIENT)
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        for taken, appended in (("mem_1", "mem_2"), ("mem_2", None)):
            with spool.taking(left) as spooled:
                assert [one.used for one in spooled.records(db)] == [(taken,)]
                if appended is not None:
                    spool.append(left, [history.Noted(used=(appended,), at=now)], PATIENT)
    assert not left.exists()


def test_another_spool_in_the_place_of_the_one_that_was_taken_stays(folder):
    left, now = folder / "namespaces" / "default.spool", SystemClock().now()
    spool.append(left, [history.Noted(used=("mem_1",), at=now)], PATIENT)
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        with spool.taking(left) as spooled:
            spooled.records(db)
            before = left.stat()
            os.truncate(left, 0)  # as a new file that got the number of the removed one
            spool.append(left, [history.Noted(used=("mem_2",), at=now)], PATIENT)
            after = left.stat()
            assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
        with spool.taking(left) as spooled:
            assert [one.used for one in spooled.records(db)] == [("mem_2",)]
    assert not left.exists()


def test_the_spool_grows_to_a_megabyte_and_keeps_the_newest(tmp_path):
    path, clock = tmp_path / "default.spool", SystemClock()
    many = [history.Noted(used=(f"mem_{number}",), at=clock.now()) for number in range(900)]
    for _ in range(30):
        spool.append(path, many, PATIENT)
    size = path.stat().st_size
    assert spool.MOST_BYTES - 200 < size <= spool.MOST_BYTES
    assert b"mem_899" in path.read_bytes().splitlines()[-1]
    spool.append(path, many, PATIENT)
    assert path.stat().st_size == size
