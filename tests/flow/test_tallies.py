"""Every value of a checked row and every counter of a memory has a checksum: damage is found."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh.care import export_archive, import_archive
from memory_mesh.care.repairs import repair, salvage
from memory_mesh.ledgers.shared import history, sums
from memory_mesh.ledgers.sqlite import open_file, spool
from memory_mesh.ledgers.sqlite.verify import verify
from memory_mesh.model import Channel, Memory
from memory_mesh.model.errors import StoreIsDamaged
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.graph_world import Topical
from tests.receipts import id_of

CLAIM = {"subject": "service", "predicate": "port"}
OTHER = """UPDATE {0} SET {1} = CASE typeof({1}) WHEN 'integer' THEN {1} + 1000
    WHEN 'real' THEN {1} + 0.25 WHEN 'text' THEN {1} || 'x' WHEN 'blob' THEN x'00' || {1}
    ELSE 7 END WHERE {2} = (SELECT max({2}) FROM {0})"""
KEPT = "uses and votes are kept as they read"


@pytest.fixture
def folder(tmp_path: Path, clock: FrozenClock) -> Path:
    """A store with rows in every table that has a checksum, and counters that moved."""
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, custom_embedder=Topical()) as mesh:
        known = id_of(mesh.add("port one", claim=CLAIM | {"value": "1"}))
        guess = mesh.add("port two", claim=CLAIM | {"value": "2"}, source_kind="inference")
        mesh.review(id_of(guess), approve=False, reason="a rumour")  # leaves a tombstone
        mesh.add("port three", claim=CLAIM | {"value": "3"}, source_kind="inference")
        mesh.review.register_predicates({"port": {"cardinality": "single"}})
        asked = mesh.view(channel=Channel.WEB).review.propose_update(known, "port four")
        mesh.review(asked.id, approve=False, reason="no")
        mesh.ingest_skill("---\nname: copy\nintent: keep a copy\n---\n1. Save work")
        tea = id_of(mesh.add("tea is hot"))
        mesh.graph.link(known, tea)
        mesh.rate(known, helpful=True)
        mesh.review.reinforce(known)
        mesh.review.dispute(tea, reason="it was cold")
        mesh.get(known)
        mesh.get(known)
        mesh.view(channel=Channel.FILE).add("tea is hot")
        mesh.context("which port", max_tokens=300)
        mesh.care.upkeep()
        assert mesh.care.verify().findings == ()
    return tmp_path / "store"


@pytest.fixture
def db(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_file.connect(_path(folder))) as opened:
        opened.execute("PRAGMA ignore_check_constraints = ON")
        opened.execute("PRAGMA foreign_keys = OFF")
        yield opened


def _path(folder: Path, namespace: str = "default") -> Path:
    return folder / "namespaces" / f"{namespace}.db"


def _got(mesh: MemoryMesh, id_: str) -> Memory:
    found = mesh.get(id_)
    assert found is not None
    return found


def _found(db: sqlite3.Connection) -> list[str]:
    return [f"{finding.check}: {finding.detail}" for finding in verify(db).findings]


DERIVED = {
    ("version", "audience"): "a version has the number of its audience: mem_",
    ("audience", "memories"): "an audience has one number, and the count of what",
}


@pytest.mark.parametrize("table", sums.CHECKED)
def test_a_changed_value_of_any_column_is_found(db: sqlite3.Connection, table: str) -> None:
    assert _found(db) == []
    columns = db.execute(f"PRAGMA table_info({table})").fetchall()
    key = next(name for _, name, *_, place in columns if place == 1)
    names = {name for _, name, *_ in columns} - {"number"}
    assert len(names) > 2
    for name in names:
        db.execute("BEGIN")
        assert db.execute(OTHER.format(table, name, key)).rowcount > 0, name
        counts = table == "memory" and name in {*sums.COUNTERS, "tally"}
        told = "counters: those of mem_" if counts else f"checksums: {table} "
        told = DERIVED.get((table, name), told)
        assert any(each.startswith(told) for each in _found(db)), name
        db.execute("ROLLBACK")


def test_a_wrong_counter_stays_wrong_however_often_it_is_counted(
    folder: Path, db: sqlite3.Connection, clock: FrozenClock
) -> None:
    (id_,) = db.execute("SELECT id FROM memory WHERE uses > 1").fetchone()
    db.execute("UPDATE memory SET uses = uses - 1 WHERE id = ?", (id_,))
    with MemoryMesh(db_dir=folder, clock=clock, custom_embedder=Topical()) as mesh:
        mesh.get(id_)  # as many uses as before, at the same time as before
        assert [each.check for each in mesh.care.verify().findings] == ["counters"]
        mesh.rate(id_, helpful=True)
        mesh.context("which port", max_tokens=300)
        mesh.view(channel=Channel.FILE).add(_got(mesh, id_).text)
        assert [each.check for each in mesh.care.verify().findings] == ["counters"]


def test_a_wrong_row_stays_wrong_when_it_is_changed(
    folder: Path, db: sqlite3.Connection, clock: FrozenClock
) -> None:
    number, id_ = db.execute(
        "SELECT v.number, m.id FROM version v JOIN memory m ON m.number = v.memory "
        "JOIN text t ON t.number = v.text WHERE t.content = 'tea is hot'"
    ).fetchone()
    db.execute("UPDATE version SET importance = 0.125 WHERE number = ?", (number,))
    db.execute("UPDATE conflict SET reason = 'another' WHERE resolution IS NULL")
    with MemoryMesh(db_dir=folder, clock=clock, custom_embedder=Topical()) as mesh:
        mesh.update(id_, "tea is cold")
        (waiting,) = mesh.review.conflicts()
        mesh.review(waiting.new, approve=True)
        found = [each.detail for each in mesh.care.verify().findings]
    assert f"version {number} of {id_} is not what was stored" in found
    assert any(detail.startswith("conflict ") for detail in found)


def test_uses_that_were_left_in_the_spool_are_counted_with_their_tally(
    folder: Path, db: sqlite3.Connection, clock: FrozenClock
) -> None:
    id_, uses = db.execute("SELECT id, uses FROM memory WHERE uses > 1").fetchone()
    left = history.Noted(used=(id_, id_), at=clock.now())
    assert not spool.append(_path(folder).with_suffix(".spool"), [left], 60.0)
    with MemoryMesh(db_dir=folder, clock=clock, custom_embedder=Topical()) as mesh:
        mesh.add("coffee is hot")
        assert mesh.care.verify().findings == ()
    found = db.execute("SELECT uses FROM memory WHERE id = ?", (id_,)).fetchone()
    assert found == (uses + 2,)


def test_an_archive_keeps_the_counters_and_refuses_wrong_ones(
    folder: Path, db: sqlite3.Connection, tmp_path: Path
) -> None:
    export_archive(folder, "default", tmp_path / "archive")
    import_archive(folder, tmp_path / "archive", into="copy")
    asked = f"SELECT {sums.TALLIED}, tally FROM memory ORDER BY number"
    with closing(open_file.connect(_path(folder, "copy"))) as copy:
        assert _found(copy) == []
        assert copy.execute(asked).fetchall() == db.execute(asked).fetchall()
    db.execute("UPDATE memory SET uses = 77 WHERE number = 1")
    with pytest.raises(StoreIsDamaged, match="memory-mesh repair"):
        export_archive(folder, "default", tmp_path / "again")


# --- repair and salvage ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in sums.COUNTERS if name != "usefulness"])
def test_repair_puts_back_a_counter_of_which_one_bit_was_changed(
    folder: Path, db: sqlite3.Connection, name: str
) -> None:
    asked = f"SELECT {sums.TALLIED}, tally FROM memory ORDER BY number"
    before = db.execute(asked).fetchall()
    db.execute(f"UPDATE memory SET {name} = ({name} | 64) - ({name} & 64) WHERE uses > 1")
    assert db.execute(asked).fetchall() != before
    done = repair(folder, "default")
    assert done.ok, done.verification.findings
    assert any("put back to what was counted" in sentence for sentence in done.done)
    assert db.execute(asked).fetchall() == before


def test_repair_takes_the_number_of_sources_from_the_observations(
    folder: Path, db: sqlite3.Connection
) -> None:
    asked = "SELECT number, origins FROM memory"
    before = db.execute(asked).fetchall()
    for wrong in (0, 77):
        db.execute("UPDATE memory SET origins = ?", (wrong,))
        assert repair(folder, "default").ok
        assert db.execute(asked).fetchall() == before


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ("uses = uses + 77", {"uses": 80}),
        ("tally = NULL", {"uses": 3}),
        ("uses = 'many', last_used = -7, helpful = x'00'", {"uses": 0, "helpful": 0}),
        ("usefulness = 1e300, disputes = -1", {"usefulness": 1.0, "disputes": 0}),
        ("last_used = 1 << 61, uses = 5", {"uses": 5}),
    ],
)
def test_repair_keeps_counters_of_which_nothing_else_tells_and_says_so(
    folder: Path, db: sqlite3.Connection, clock: FrozenClock, change: str, after: dict[str, object]
) -> None:
    (id_,) = db.execute("SELECT id FROM memory WHERE uses = 3").fetchone()
    db.execute(f"UPDATE memory SET {change} WHERE id = ?", (id_,))
    assert len(_found(db)) >= 1
    done = repair(folder, "default")
    assert done.ok, done.verification.findings
    (said,) = [sentence for sentence in done.done if KEPT in sentence]
    assert id_ in said
    assert not any("counters" in sentence for sentence in repair(folder, "default").done)
    for name, value in after.items():
        asked = f"SELECT {name} FROM memory WHERE id = ?"
        assert db.execute(asked, (id_,)).fetchone() == (value,)
    with MemoryMesh(db_dir=folder, clock=clock, custom_embedder=Topical()) as mesh:
        assert _got(mesh, id_).text == "port one"
        assert mesh.care.verify().findings == ()


def test_repair_does_not_write_off_a_row_that_is_wrong_otherwise(
    folder: Path, db: sqlite3.Connection
) -> None:
    db.execute("UPDATE memory SET created = created + 1, uses = 99 WHERE number = 1")
    db.execute("UPDATE memory SET status = 'archived' WHERE number = 4")
    done = repair(folder, "default")
    (found,) = done.verification.findings
    assert re.fullmatch(r"memory 1 of mem_\w+ is not what was stored", found.detail)


def test_repair_leaves_todays_status_where_the_version_is_damaged(
    folder: Path, db: sqlite3.Connection
) -> None:
    asked = "SELECT number, status FROM memory"
    before = db.execute(asked).fetchall()
    db.execute(
        "UPDATE version SET status = 'archived' WHERE recorded_until IS NULL AND status = 'active'"
    )
    assert not repair(folder, "default").ok
    assert db.execute(asked).fetchall() == before


def test_salvage_keeps_a_memory_with_wrong_counters_and_lists_it(
    folder: Path, db: sqlite3.Connection, clock: FrozenClock, tmp_path: Path
) -> None:
    (id_,) = db.execute("SELECT id FROM memory WHERE uses = 3").fetchone()
    db.execute("UPDATE memory SET uses = 79 WHERE id = ?", (id_,))
    (found,) = salvage(folder, tmp_path / "new").namespaces
    assert found.verification.ok
    assert found.lost == ()
    (said,) = found.rebuilt
    assert KEPT in said
    assert id_ in said
    with MemoryMesh(db_dir=tmp_path / "new", clock=clock, custom_embedder=Topical()) as mesh:
        assert (_got(mesh, id_).text, _got(mesh, id_).helpful) == ("port one", 1)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("UPDATE conflict SET reason = 'x' WHERE number = 1", False),
        ("UPDATE proposal SET change = '{}' WHERE number = 1", False),
        ("UPDATE predicate SET cardinality = 'multi'", False),
        ("UPDATE tombstone SET at = at + 1", True),
    ],
)
def test_salvage_lists_small_rows_that_are_not_what_was_stored(
    folder: Path, db: sqlite3.Connection, tmp_path: Path, change: str, *, left: bool
) -> None:
    table = change.split()[1]
    (before,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    changed = db.execute(change).rowcount
    assert changed > 0
    (found,) = salvage(folder, tmp_path / "new").namespaces
    assert found.verification.ok
    assert [one.table for one in found.unread] == [table]
    assert found.rows[table] == (before if left else before - changed)
    assert found.memories == 4


def test_a_use_of_a_row_that_is_no_text_any_more_is_told_as_damage(
    folder: Path, db: sqlite3.Connection, clock: FrozenClock
) -> None:
    (id_,) = db.execute("SELECT id FROM memory WHERE uses = 3").fetchone()
    db.execute("UPDATE memory SET uses = CAST(x'66ff' AS TEXT) WHERE id = ?", (id_,))
    left = history.Noted(used=(id_,), at=clock.now())
    spool.append(_path(folder).with_suffix(".spool"), [left], 60.0)
    with (
        MemoryMesh(db_dir=folder, clock=clock, custom_embedder=Topical()) as mesh,
        pytest.raises(StoreIsDamaged, match="memory-mesh repair"),
    ):
        mesh.add("coffee is hot")
