"""Why each write ended as it did: in the receipt, in its block and on its row."""

import sqlite3

import pytest

from memory_mesh import InvalidInput
from memory_mesh.model import Memory, Outcome, Receipt, Status
from memory_mesh.sync import MemoryMesh
from tests.stores import grow


def recorded(mesh: MemoryMesh, receipt: Receipt) -> list[str]:
    """Returns the reasons in the block that a receipt names."""
    assert receipt.block_id is not None
    with mesh._read() as snapshot:
        block = snapshot.block(receipt.block_id)
    assert block is not None
    assert block.position is not None
    assert block.entry.metadata["outcome"] == receipt.outcome.value
    reasons = block.entry.metadata["reasons"]
    assert isinstance(reasons, list)
    return [str(reason) for reason in reasons]


def on_row(mesh: MemoryMesh, memory_id: str) -> list[tuple[str, ...]]:
    """Returns the reasons of each version of a memory, oldest first."""
    with mesh._read() as snapshot:
        return list(snapshot.reasons(memory_id).values())


def claim(value: str) -> dict[str, str]:
    return {"subject": "service", "predicate": "port", "value": value}


def test_a_stored_memory_says_why_in_block_version_and_observation(mesh):
    receipt = mesh.add("The port is 8080.", importance=0.9, source_kind="inference")
    assert receipt.outcome is Outcome.STORED
    assert len(receipt.reasons) > 1
    assert recorded(mesh, receipt) == list(receipt.reasons)
    assert on_row(mesh, receipt.id) == [receipt.reasons]
    with mesh._read() as snapshot:
        (seen,) = snapshot.observations(receipt.id, 10)
    assert (seen.outcome, seen.reasons) == (Outcome.STORED, receipt.reasons)


def test_a_merged_text_names_the_block_of_the_merge(mesh):
    first = mesh.add("tea is hot")
    again = mesh.add("tea is hot", tags=["drink"])
    assert again.outcome is Outcome.MERGED
    assert again.block_id != first.block_id
    assert recorded(mesh, again)[0] == f"the same memory is stored as {first.id}"
    with mesh._read() as snapshot:
        outcomes = [seen.outcome for seen in snapshot.observations(first.id, 10)]
    assert outcomes == [Outcome.STORED, Outcome.MERGED]


def test_a_refusal_leaves_a_block_with_its_reason_and_without_its_text(mesh):
    long = "secret word " * 20_000
    (receipt,) = mesh.add_many([long])
    assert receipt.outcome is Outcome.REFUSED
    assert recorded(mesh, receipt) == list(receipt.reasons)
    with mesh._read() as snapshot:
        block = snapshot.block(receipt.block_id)
    assert block.entry.memories == ()
    assert block.entry.metadata["type"] == "refuse"
    assert "secret" not in (block.entry.wire or "") + str(block.entry.metadata)
    assert mesh.care.verify().ok


def test_a_superseded_memory_says_by_which(mesh):
    old = mesh.add("The service port is 3000.", claim=claim("3000"))
    new = mesh.add("The service port is 8080.", claim=claim("8080"))
    assert new.superseded == (old.id,)
    assert on_row(mesh, old.id)[-1] == (f"replaced by {new.id}",)


def test_reasons_on_record_hold_no_words_of_other_memories(mesh):
    """What is erased later must not stand in the reasons of another memory."""
    old = mesh.add("The zebra port is 3000.", claim=claim("3000"))
    new = mesh.add("The service port is 8080.", claim=claim("8080"))
    assert any("zebra" in reason for reason in new.reasons)
    assert recorded(mesh, new)
    assert not any("zebra" in reason for reason in recorded(mesh, new))
    assert not any("zebra" in reason for reasons in on_row(mesh, new.id) for reason in reasons)
    assert any(old.id in reason for reason in recorded(mesh, new))


@pytest.mark.parametrize("verb", ["update", "pin", "delete"])
def test_a_change_says_why_on_its_row(mesh, verb):
    id_ = mesh.add("tea is hot").id
    calls = {
        "update": lambda: mesh.update(id_, content="tea is cold", reason="it cooled"),
        "pin": lambda: mesh.update(id_, pinned=True, reason="it cooled"),
        "delete": lambda: mesh.delete(id_, reason="it cooled"),
    }
    calls[verb]()
    assert on_row(mesh, id_)[-1] == ("it cooled",)


def test_a_quarantined_memory_and_its_review_say_why(mesh):
    mesh.add("The service port is 3000.", claim=claim("3000"), source_kind="user_explicit")
    waiting = mesh.add("The service port is 99.", claim=claim("99"), source_kind="inference")
    assert waiting.outcome is Outcome.QUARANTINED
    assert recorded(mesh, waiting)
    found: Memory = mesh.review(waiting.id, approve=False, reason="nobody said so")
    assert found.status is not Status.ACTIVE
    assert on_row(mesh, waiting.id)[-1] == ("nobody said so",)


def test_a_repeated_key_names_no_block_as_nothing_was_written(mesh):
    assert mesh.add("tea is hot", key="k").block_id
    again = mesh.add("tea is hot", key="k")
    assert again.again
    assert again.block_id is None


def test_the_blocks_of_a_memory_are_found_by_its_id(mesh):
    id_ = mesh.add("tea is hot").id
    other = mesh.add("water is cold").id
    mesh.pin(id_)
    mesh.rate(id_, helpful=True)
    with mesh._read() as snapshot:
        kinds = [block.entry.operation.value for block in snapshot.blocks_about(id_, 10)]
        assert len(snapshot.blocks_about(other, 10)) == 1
        assert len(snapshot.blocks_about(id_, 2)) == 2
        grow(snapshot._db)
        plan = snapshot._db.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM block WHERE memories = '[\"x\"]'"
        ).fetchall()
    assert kinds == ["retain", "change", "change"]
    assert any("block_about" in str(row) for row in plan)


def test_a_recall_record_holds_profile_and_scores_in_the_order_of_ranks(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add_many(["tea is hot", "tea is green", "water is cold"])
        hits = mesh.search("hot tea")
    with MemoryMesh(db_dir=tmp_path) as mesh:
        (block,) = mesh.care.recalls()
    assert block.entry.memories == tuple(hit.id for hit in hits)
    assert block.entry.metadata == {
        "use": "search",
        "profile": "mesh",
        "by": [],
        "scores": [round(1_000 * hit.score) for hit in hits],
    }


def test_verify_finds_a_broken_link_and_an_injection_above_its_budget(mesh):
    first, second = mesh.add("tea is hot").id, mesh.add("tea is green").id
    mesh.graph.link(first, second)
    with sqlite3.connect(mesh.folder / "namespaces" / "default.db") as db:
        db.execute("UPDATE link SET similarity = 0.7")
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(
            "INSERT INTO injection (id, at, question, format, fence, tokens, max_tokens) "
            "VALUES ('inj_1', 1, '', 'markdown', 'f', 11, 10)"
        )
    checks = {finding.check.split(" ")[-1] for finding in mesh.care.verify().findings}
    assert {"pages", "checksums"} < checks  # pages: the check constraint
    assert len(checks) == 4  # and the link, and the injection


def test_an_unknown_reader_of_a_block_finds_nothing(mesh):
    with mesh._read() as snapshot:
        assert snapshot.block("yamo_retain_1_000000") is None
        assert snapshot.blocks_about("mem_1_000000", 10) == []
        assert snapshot.injection("inj_1_000000") is None
        assert snapshot.injections("mem_1_000000", 10) == []


def test_a_refused_change_still_raises(mesh):
    id_ = mesh.add("tea is hot").id
    with pytest.raises(InvalidInput):
        mesh.update(id_, content=" ")
