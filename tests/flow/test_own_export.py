"""What our own export keeps, and why nobody else's file can claim it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_mesh.care.key_file import KeyFile
from memory_mesh.compat.rfc11.columns import V2_COLUMNS
from memory_mesh.compat.rfc11.import_ import bring_in
from memory_mesh.compat.rfc11.lance_tables import opened, place, rows, write_rows
from memory_mesh.compat.rfc11.migrate import hand_out
from memory_mesh.compat.rfc11.reader import MeshHoldings
from memory_mesh.model import Channel, Scope, SourceKind, Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock

EVERYONE = ("project", "agent", "session")
KEPT = (
    "text", "scope", "kind", "label", "source", "importance", "confidence", "tier", "pinned",
    "tags", "valid_from", "valid_until", "claim", "lesson", "status", "successor",
    "origins", "helpful", "harmful", "usefulness", "reinforcements", "disputes",
    "idle_reinforcements", "idle_disputes", "other_steps", "uses",
)  # fmt: skip


@pytest.fixture
def out(tmp_path: Path, mesh: MemoryMesh) -> Path:
    """An export of memories of every sort."""
    mesh.add("tea is hot", importance=0.9, tags=["drink"], pinned=True,
             valid_from="2020-01-01", valid_until="2030-01-01")  # fmt: skip
    page = mesh.view(channel=Channel.WEB).add("a page about tea", importance=0.4)
    mesh.pin(str(page.id))
    mesh.review.reinforce(str(page.id), 0.5)
    mesh.rate(str(page.id), helpful=True)
    guess = str(mesh.view(channel=Channel.MCP).add("the user likes tea").id)
    mesh.view(channel=Channel.TOOL).add("the user likes tea", source_ref="t")
    mesh.view(channel=Channel.MCP).rate(guess, helpful=False)
    mesh.view(channel=Channel.MCP).rate(guess, helpful=False)
    mesh.add("the port is 80", claim={"subject": "api", "predicate": "port", "value": "80"})
    mesh.add("the port is 81", claim={"subject": "api", "predicate": "port", "value": "81"})
    mesh.add("waits", quarantine="not sure")
    mesh.delete(str(mesh.add("is deleted").id))
    mesh.distill_lesson({
        "situation": "s", "error_pattern": "e", "oversight": "o", "fix": "f",
        "preventative_rule": "Never do it.", "severity": "high", "applicable_scope": "here",
    })  # fmt: skip
    mesh.add("of a chat", scope=Scope("p", "a", "chat"), tier="short_term")
    include = [status for status in Status if status is not Status.ACTIVE]
    hand_out(MeshHoldings(mesh, include=include), tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def other(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryMesh]:
    with MemoryMesh(db_dir=tmp_path / "other", clock=clock) as opened_mesh:
        yield opened_mesh


def everything(mesh):
    page = mesh.get_all(limit=1_000, across=EVERYONE, include=list(Status))
    return {memory.id: memory for memory in page}


def rewritten(out, change):
    """A copy of an export in which one field of each row is changed."""
    dataset = opened(place(out, "memory_entries"))
    assert dataset is not None
    names = [column.name for column in V2_COLUMNS if column.holds != "vector"]
    found = [change(row) | {"vector": None} for batch in rows(dataset, names) for row in batch]
    folder = out.with_name("changed")
    folder.mkdir()
    write_rows(place(folder, "memory_entries"), V2_COLUMNS, 384, found)
    return folder


def test_the_same_user_gets_back_what_an_export_held(mesh, out, other):
    done = bring_in(other, out)
    before, after = everything(mesh), everything(other)
    assert (done.own, done.strange) == (len(before), 0)
    assert after.keys() == before.keys()
    for id_, old in before.items():
        for name in KEPT:
            assert getattr(after[id_], name) == getattr(old, name), (name, old.text)
        said = {key for key in after[id_].extra if key != "origin_updated_at"}
        assert said == set(old.extra)
        assert other.review.trust(id_, scope=old.scope) == mesh.review.trust(id_, scope=old.scope)
    statuses = {memory.text: memory.status for memory in after.values()}
    assert statuses["waits"] is Status.QUARANTINED
    assert statuses["is deleted"] is Status.DELETED
    assert other.care.verify().ok


def test_importing_it_twice_changes_nothing(out, other):
    bring_in(other, out)
    before = everything(other)
    assert bring_in(other, out).memories.merged == len(before)
    assert everything(other) == before


def test_a_key_that_is_not_known_here_makes_it_a_document(mesh, out, other):
    KeyFile.of(mesh.folder).path.unlink()  # as on another machine
    done = bring_in(other, out)
    after = {memory.text: memory for memory in everything(other).values()}
    assert (done.own, done.strange) == (0, len(after))
    tea = after["tea is hot"]
    assert (tea.source.kind, tea.importance, tea.pinned) == (SourceKind.DOCUMENT, 0.5, False)
    assert after["a page about tea"].usefulness == 1.0
    waiting = {text for text, memory in after.items() if memory.status is Status.QUARANTINED}
    (lesson,) = (memory.text for memory in after.values() if memory.lesson is not None)
    assert waiting == {lesson, "waits", "is deleted", "the port is 80"}  # none is active again
    assert "kept" not in json.dumps(tea.metadata)


def test_the_users_word_makes_it_trusted_and_no_agent_has_that_word(mesh, out, other):
    KeyFile.of(mesh.folder).path.unlink()
    with pytest.raises(InvalidInput, match="only the user"):
        bring_in(other.view(channel=Channel.MCP), out, trusted=True)
    assert everything(other) == {}
    assert bring_in(other, out, trusted=True).own == len(everything(mesh))
    assert {m.text: m.pinned for m in everything(other).values()}["tea is hot"]


def _another_text(row):
    return row | {"content": row["content"] + " and the password is 1234"}


def _another_id(row):
    return row | {"id": f"{row['id'][:-6]}abcdef"}


def _another_source(row):
    said = json.loads(row["metadata"])
    said["memory_mesh"]["kept"]["source_kind"] = "user_explicit"
    said["memory_mesh"]["kept"]["importance"] = 1.0
    return row | {"metadata": json.dumps(said)}


def _without_seal(row):
    said = json.loads(row["metadata"])
    del said["memory_mesh"]["seal"]
    return row | {"metadata": json.dumps(said)}


@pytest.mark.parametrize("change", [_another_text, _another_id, _another_source, _without_seal])
def test_a_row_that_was_changed_is_a_document(tmp_path, clock, mesh, change):
    mesh.add("tea is hot", importance=0.9, pinned=True)
    hand_out(MeshHoldings(mesh), tmp_path / "out")
    with MemoryMesh(db_dir=tmp_path / "other", clock=clock) as other:
        done = bring_in(other, rewritten(tmp_path / "out", change))
        assert (done.own, done.strange) == (0, 1)
        (memory,) = everything(other).values()
        assert (memory.source.kind, memory.pinned) == (SourceKind.DOCUMENT, False)
        assert memory.importance == 0.5


def test_a_contradiction_with_the_store_is_shown_and_nothing_is_replaced(tmp_path, mesh, other):
    claim = {"subject": "api", "predicate": "port"}
    mesh.add("the port is 80", claim=claim | {"value": "80"})
    hand_out(MeshHoldings(mesh), tmp_path / "out")
    here = other.add("the port is 81", claim=claim | {"value": "81"})
    bring_in(other, tmp_path / "out")
    assert sorted(memory.text for memory in other.get_all()) == ["the port is 80", "the port is 81"]
    (conflict,) = other.review.conflicts()
    assert (conflict.existing, conflict.pending) == (here.id, True)


def test_what_was_rejected_here_does_not_come_back(tmp_path, mesh, other):
    mesh.add("tea is poison")
    hand_out(MeshHoldings(mesh), tmp_path / "out")
    bad = other.add("tea is poison", quarantine="check")
    other.review(str(bad.id), approve=False)
    assert bring_in(other, tmp_path / "out").memories.refused == 1
