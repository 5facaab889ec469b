"""Blocks, chain, checkpoints and sinks as a user of the library sees them."""

import json
import sqlite3
from datetime import timedelta

import pytest

from memory_mesh.formats import yamo
from memory_mesh.model.errors import InvalidInput, NotFound
from memory_mesh.model.job import ATTEMPTS
from memory_mesh.models.sinks.jsonl import JsonLinesSink
from memory_mesh.sync import MemoryMesh


@pytest.mark.req(
    "R-000-044", "R-000-046", "R-000-047", "R-000-048", "R-000-050", "R-000-051", "R-000-053",
)  # fmt: skip
def test_every_write_leaves_a_chained_block(mesh, clock):
    first = mesh.add("tea is hot")
    mesh.add("tea is green")
    one, two = mesh.care.blocks()
    assert one.entry.id.startswith("yamo_retain_")
    assert (one.entry.agent, one.entry.operation) == ("YAMO_AGENT", "retain")
    assert one.entry.at == clock.now()
    assert dict(yamo.parse(one.entry.wire).output)["memory_stored"] == first.id
    assert one.entry.memories == (first.id,)
    assert "content_sha256" in one.entry.metadata
    assert two.prev_hash == one.hash


@pytest.mark.req("R-000-128")
@pytest.mark.parametrize(("settings", "emitted"), [({}, True), ({"enable_yamo": False}, False)])
def test_blocks_are_emitted_unless_switched_off_and_the_chain_stays(tmp_path, settings, emitted):
    with MemoryMesh(db_dir=tmp_path, **settings) as mesh:
        mesh.add("tea is hot")
        mesh.search("tea")
    with MemoryMesh(db_dir=tmp_path, **settings) as mesh:
        (block,) = mesh.care.blocks()
        assert (block.entry.wire is not None) is emitted
        assert len(mesh.care.recalls()) == emitted
        assert mesh.care.verify().ok


@pytest.mark.req("R-000-043")
def test_no_public_verb_changes_a_written_block(mesh):
    stored = mesh.add("tea is hot")
    (before,) = mesh.care.blocks()
    mesh.update(stored.id, "tea is cold")
    mesh.pin(stored.id)
    mesh.rate(stored.id, helpful=True)
    mesh.get(stored.id)
    mesh.delete(stored.id)
    mesh.restore(stored.id)
    assert mesh.care.blocks()[0] == before
    assert [block.entry.metadata.get("type") for block in mesh.care.blocks()] == [
        None, "update", "pin", "vote", "delete", "restore",
    ]  # fmt: skip


def test_searches_are_recorded_at_close_and_not_chained(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("tea is hot")
        mesh.search("hot tea", filter="pinned = false", limit=3)
    with MemoryMesh(db_dir=tmp_path) as mesh:
        (block,) = mesh.care.recalls()
        context = dict(yamo.parse(block.entry.wire or "").context)
        assert (context["query"], context["limit"]) == ("hot tea", "3")
        assert "pinned" in context["filter"]
        assert len(mesh.care.blocks()) == 1


def test_verify_says_what_it_checked(mesh):
    mesh.add_many([f"tea {n}" for n in range(5)])
    verification = mesh.care.verify()
    assert verification.ok
    assert verification.checked["chained blocks"] == 5
    assert verification.checked["text hashes"] == 5
    assert verification.checked["memory rows"] == 5


@pytest.mark.parametrize(
    ("harm", "check"),
    [
        ("UPDATE text SET content = 'tea is poison'", "text hashes"),
        ("UPDATE block SET wire = 'x'", "chain"),
        ("UPDATE block SET operation = 'nonsense'", "chain"),
        ("UPDATE block SET memories = '{'", "chain"),
        ("DELETE FROM block WHERE position = 1", "chain"),
        ("DELETE FROM text WHERE number = 1", "text hashes"),
        ("UPDATE version SET status = 'archived'", "today's status"),
        ("UPDATE version SET recorded_until = recorded_from + 1", "exactly one open version"),
        ("DELETE FROM observation", "observed"),
        ("INSERT INTO live (live) VALUES ('delete-all')", "live keyword table"),
        ("INSERT INTO rest (rowid, terms) VALUES (99, 'ghost')", "rest keyword table"),
        ("UPDATE store SET seq = 0", "ahead of the counter"),
        ("UPDATE store SET position = 9", "chain"),
        ("UPDATE version SET text = 77", "belongs to its memory"),
        ("UPDATE version SET seq = 0", "left a block"),
        ("UPDATE version SET successor = 'mem_1_nobody'", "successor"),
    ],
)
def test_verify_finds_what_a_foreign_hand_broke(mesh, harm, check):
    mesh.add_many(["tea is hot", "tea is green"])
    with sqlite3.connect(mesh.folder / "namespaces" / "default.db") as db:
        db.execute(harm)
    db.close()
    findings = mesh.care.verify().findings
    assert any(check in finding.check for finding in findings), findings


def test_a_checkpoint_holds_the_chain_to_its_word(mesh, tmp_path):
    mesh.add("tea is hot")
    mark = tmp_path / "mark.json"
    mesh.care.verify(checkpoint=mark)
    mesh.add("tea is green")
    held = mesh.care.verify(against=mark)
    assert held.ok
    assert held.checked["checkpoint position"] == 1
    plain = json.loads(mark.read_text())
    mark.write_text(json.dumps(plain | {"position": 9}))
    assert [finding.check for finding in mesh.care.verify(against=mark).findings] == ["checkpoint"]
    mark.write_text(json.dumps(plain | {"hash": "00" * 32}))
    assert [finding.check for finding in mesh.care.verify(against=mark).findings] == ["checkpoint"]
    mark.write_text(json.dumps(plain | {"namespace": "other"}))
    with pytest.raises(InvalidInput, match="other"):
        mesh.care.verify(against=mark)
    with pytest.raises(NotFound):
        mesh.care.verify(against=tmp_path / "nothing")


def test_a_checkpoint_of_nothing_is_refused(mesh, tmp_path):
    with pytest.raises(NotFound, match="empty"):
        mesh.care.verify(checkpoint=tmp_path / "mark.json")


def test_a_sink_hears_of_every_write_once_it_is_there(tmp_path):
    trail = tmp_path / "trail.jsonl"
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("tea is hot")
    with MemoryMesh(db_dir=tmp_path, sinks=[JsonLinesSink(trail)]) as mesh:
        mesh.add_many(["tea is green", "tea is cold"])
    with MemoryMesh(db_dir=tmp_path, sinks=[JsonLinesSink(trail)]) as mesh:
        blocks = mesh.care.blocks()
    lines = [json.loads(line) for line in trail.read_text().splitlines()]
    assert [line["id"] for line in lines] == [block.entry.id for block in blocks]
    assert [line["block_hash"] for line in lines] == [(block.hash or b"").hex() for block in blocks]


def test_a_sink_hears_what_waits_when_the_next_mesh_is_opened_and_closed(tmp_path):
    trail = tmp_path / "trail.jsonl"
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("tea is hot")
    with MemoryMesh(db_dir=tmp_path, sinks=[JsonLinesSink(trail)]):
        pass
    assert len(trail.read_text().splitlines()) == 1


def test_a_mesh_with_a_sink_closes_over_a_damaged_database(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("tea is hot")
    database = tmp_path / "namespaces" / "default.db"
    database.write_bytes(b"x" * database.stat().st_size)
    with MemoryMesh(db_dir=tmp_path, sinks=[JsonLinesSink(tmp_path / "trail.jsonl")]) as mesh:
        assert mesh.care.verify().findings


class Waiting:
    """A sink that knows whether it was asked while a write was on."""

    name = "waiting"

    def __init__(self):
        self.writing = False
        self.disturbed = []

    def deliver(self, namespace, blocks):
        self.disturbed.append(self.writing)


@pytest.mark.req("R-003-101")
def test_no_write_waits_for_a_sink(tmp_path):
    waiting = Waiting()
    with MemoryMesh(db_dir=tmp_path, sinks=[waiting]) as mesh:
        waiting.writing = True
        stored = mesh.add("tea is hot")
        mesh.update(stored.id or "", "tea is cold")
        mesh.delete(stored.id or "")
        waiting.writing = False
        assert waiting.disturbed == []
        assert mesh.care.upkeep().sinks_told
    assert waiting.disturbed == [False] * 3


class Deaf:
    """A sink that never hears."""

    name = "deaf"

    def __init__(self):
        self.asked = 0

    def deliver(self, namespace, blocks):
        self.asked += 1
        raise OSError("deaf")


@pytest.mark.req("R-003-101")
def test_a_failing_sink_delays_no_write_and_is_given_up_at_last(tmp_path, clock):
    deaf = Deaf()
    for number in range(ATTEMPTS + 2):
        with MemoryMesh(db_dir=tmp_path, sinks=[deaf], clock=clock) as mesh:
            assert mesh.add(f"tea {number}").outcome == "stored"
        clock.advance(timedelta(hours=1))
    assert deaf.asked == ATTEMPTS + 2
    with sqlite3.connect(tmp_path / "namespaces" / "default.db") as db:
        assert db.execute("SELECT sink, seq, failure FROM dead_letter").fetchall() == [
            ("deaf", 1, "OSError: deaf")
        ]
    db.close()
