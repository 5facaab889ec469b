"""Salvage holds back what no checksum, hash or block proves: it waits for a person."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh.care.repairs import salvage
from memory_mesh.ledgers.shared import sums
from memory_mesh.model import Channel, Memory, Proposal, Scope, Skill, Status
from memory_mesh.model.care import HELD_BACK, SalvagedNamespace
from memory_mesh.model.errors import NotFound
from memory_mesh.sync import MemoryMesh
from tests import stores

ATLAS, BEACON, NOBODY = Scope("atlas"), Scope("beacon"), Scope(HELD_BACK)
EVERYWHERE = ("project", "agent", "session")


def _opened(folder: Path, scope: Scope | None = None) -> MemoryMesh:
    mesh = MemoryMesh(db_dir=folder, embedder="none", agent_id="none")
    return mesh if scope is None else mesh.view(scope=scope)


def _written(folder: Path) -> dict[str, str]:
    """A few memories of a project, one of them changed; their ids by a word of each."""
    with _opened(folder) as mesh:
        atlas = mesh.view(scope=ATLAS)
        words = ("harbour", "lantern", "compass", "anchor", "rudder")
        ids = {word: str(atlas.add(f"The {word} of the ship is made of oak").id) for word in words}
        atlas.update(ids["lantern"], "The lantern of the ship is made of brass")
        atlas.delete(ids["rudder"])
    return ids


def _damage(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db, db:
        sums.define(db)
        for statement in statements:
            assert db.execute(statement).rowcount, statement


def _salvaged(old: Path, new: Path) -> SalvagedNamespace:
    (namespace,) = salvage(old, new).namespaces
    assert namespace.verification.ok, namespace.verification.findings
    assert namespace.memories + len(namespace.held_back) + len(namespace.lost) == namespace.known
    return namespace


def _active(folder: Path) -> dict[str, Memory]:
    with _opened(folder) as mesh:
        return {memory.id: memory for memory in mesh.get_all(limit=100, across=EVERYWHERE)}


def _seen_by(folder: Path, scope: Scope, word: str) -> list[str]:
    """What a reader finds by every read of the present, and in what waits for review."""
    with _opened(folder, scope) as mesh:
        found = [hit.id for hit in mesh.search(word, limit=50)]
        found += [memory.id for memory in mesh.get_all(limit=100) if word in memory.text]
        found += [memory.id for memory in mesh.review.waiting()]
        pack = mesh.context(word, max_tokens=500)
    return [*found, *([pack.text] if f"The {word}" in pack.text else [])]


def _numbers(folder: Path, id_: str) -> tuple[int, int]:
    """The memory's number, and that of its open version."""
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        memory, version = db.execute(
            "SELECT m.number, v.number FROM memory m JOIN version v ON v.memory = m.number "
            "AND v.recorded_until IS NULL WHERE m.id = ?",
            (id_,),
        ).fetchone()
    return memory, version


def _only(waiting: list[Memory | Skill | Proposal]) -> Memory:
    (item,) = waiting
    assert isinstance(item, Memory)
    return item


def test_a_sound_store_has_nothing_that_is_held_back(tmp_path: Path) -> None:
    _written(tmp_path / "old")
    done = salvage(tmp_path / "old", tmp_path / "new")
    (namespace,) = done.namespaces
    assert done.complete
    assert (namespace.known, namespace.memories, namespace.held_back) == (5, 5, ())


def test_an_earlier_text_never_comes_back_as_the_present_one(tmp_path: Path) -> None:
    ids = _written(tmp_path / "old")
    _damage(
        tmp_path / "old",
        "UPDATE text SET content = replace(content, 'brass', 'grass')",
    )
    done = salvage(tmp_path / "old", tmp_path / "new")
    assert not done.complete
    namespace = _salvaged(tmp_path / "old", tmp_path / "again")
    (held,) = namespace.held_back
    assert (held.id, held.project) == (ids["lantern"], "atlas")  # the version's checksum is right
    assert "earlier" in held.why
    assert ids["lantern"] not in _active(tmp_path / "new")
    with _opened(tmp_path / "new", ATLAS) as mesh:
        assert held.id not in {hit.id for hit in mesh.search("lantern oak")}
        waiting = _only(mesh.review.waiting())
        assert (waiting.id, waiting.text) == (held.id, "The lantern of the ship is made of oak")
        mesh.review(held.id, approve=True)
        assert mesh.get(held.id) is not None


def test_a_text_behind_a_lost_version_is_not_taken_for_the_present_one(tmp_path: Path) -> None:
    """Neither the present text, nor its version, nor its block can be read."""
    ids = _written(tmp_path / "old")
    _, version = _numbers(tmp_path / "old", ids["lantern"])
    _damage(
        tmp_path / "old",
        "DELETE FROM text WHERE content LIKE '%brass%'",
        f"DELETE FROM version WHERE number = {version}",
        "DELETE FROM block WHERE position = 6",
    )
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    assert ids["lantern"] in {held.id for held in namespace.held_back}
    assert ids["lantern"] not in _active(tmp_path / "new")


@pytest.mark.parametrize(
    "change",
    ["project = 'beacon'", "project = NULL", "agent = 'other'", "status = 'archived'",
     "valid_until = 5", "session = 'monday'"],
)  # fmt: skip
def test_a_version_with_a_wrong_checksum_is_seen_by_nobody(tmp_path: Path, change: str) -> None:
    ids = _written(tmp_path / "old")
    _, version = _numbers(tmp_path / "old", ids["anchor"])
    _damage(tmp_path / "old", f"UPDATE version SET {change} WHERE number = {version}")
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    (held,) = namespace.held_back
    assert (held.id, held.project) == (ids["anchor"], HELD_BACK)
    for reader in (Scope(), ATLAS, BEACON, Scope("beacon", "other", "monday")):
        assert not _seen_by(tmp_path / "new", reader, "anchor")
    assert set(_active(tmp_path / "new")) == set(ids.values()) - {ids["anchor"], ids["rudder"]}


def test_the_owner_gives_what_is_held_back_to_whom_it_is_for(tmp_path: Path) -> None:
    ids = _written(tmp_path / "old")
    _, version = _numbers(tmp_path / "old", ids["anchor"])
    _damage(tmp_path / "old", f"UPDATE version SET project = 'beacon' WHERE number = {version}")
    _salvaged(tmp_path / "old", tmp_path / "new")
    with _opened(tmp_path / "new") as mesh:
        waiting = _only(mesh.review.waiting(as_owner=True))
        assert waiting.status is Status.QUARANTINED
        with pytest.raises(NotFound):
            mesh.review(ids["anchor"], approve=True, scope=BEACON)
        mesh.update(ids["anchor"], reader=NOBODY, scope=ATLAS)
        mesh.review(ids["anchor"], approve=True, scope=ATLAS)
    assert ids["anchor"] in _seen_by(tmp_path / "new", ATLAS, "anchor")
    assert not _seen_by(tmp_path / "new", BEACON, "anchor")


def test_a_text_without_its_memory_and_its_block_is_held_back(tmp_path: Path) -> None:
    ids = _written(tmp_path / "old")
    memory, _ = _numbers(tmp_path / "old", ids["compass"])
    _damage(
        tmp_path / "old",
        f"DELETE FROM memory WHERE number = {memory}",
        f"UPDATE version SET memory = 999 WHERE memory = {memory}",
        "DELETE FROM block WHERE position = 3",
    )
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    (held,) = namespace.held_back
    assert held.project == HELD_BACK
    assert namespace.known == 5
    for reader in (Scope(), ATLAS, BEACON):
        assert not _seen_by(tmp_path / "new", reader, "compass")
    with _opened(tmp_path / "new") as mesh:
        waiting = _only(mesh.review.waiting(as_owner=True))
        assert waiting.text == "The compass of the ship is made of oak"


def test_a_memory_whose_id_only_an_index_names_is_held_back(tmp_path: Path) -> None:
    ids = _written(tmp_path / "old")
    memory, _ = _numbers(tmp_path / "old", ids["compass"])
    _damage(
        tmp_path / "old",
        f"UPDATE memory SET id = 'mem_1_abcdef' WHERE number = {memory}",
        "DELETE FROM block WHERE position = 3",
    )
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    assert [held.why for held in namespace.held_back]
    assert not {"mem_1_abcdef", ids["compass"]} & set(_active(tmp_path / "new"))


def test_an_open_version_that_a_later_block_contradicts_is_held_back(tmp_path: Path) -> None:
    """An older copy of a page: it is as it was written, and no longer true."""
    ids = _written(tmp_path / "old")
    memory, version = _numbers(tmp_path / "old", ids["rudder"])
    _damage(
        tmp_path / "old",
        f"DELETE FROM version WHERE number = {version}",
        f"UPDATE version SET recorded_until = NULL WHERE memory = {memory}",
        f"UPDATE version SET crc = row_crc({sums.CHECKED['version']}) WHERE memory = {memory}",
        f"UPDATE memory SET status = 'active' WHERE number = {memory}",
        f"UPDATE memory SET crc = row_crc({sums.CHECKED['memory']}) WHERE number = {memory}",
        "UPDATE text SET terms = 'x' WHERE number = 1",  # something else is damaged, too
    )
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    (held,) = namespace.held_back
    assert held.id == ids["rudder"]
    assert not _seen_by(tmp_path / "new", ATLAS, "rudder")


def test_pages_of_two_moments_in_one_file_prove_nothing(tmp_path: Path) -> None:
    """Versions and blocks of the same time are missing, and no page is unreadable."""
    ids = _written(tmp_path / "old")
    _damage(
        tmp_path / "old",
        "DELETE FROM version WHERE number = 4",
        "DELETE FROM text WHERE number = 4",
        "DELETE FROM memory WHERE number = 4",
        "DELETE FROM observation WHERE number = 4",
        "DELETE FROM block WHERE position = 4",
    )
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    before = {ids["harbour"], ids["compass"]}
    assert {held.id for held in namespace.held_back} == before
    assert set(_active(tmp_path / "new")) == {ids["lantern"]}  # it was written after that


def test_a_status_that_two_rows_tell_otherwise_is_held_back(tmp_path: Path) -> None:
    ids = _written(tmp_path / "old")
    memory, _ = _numbers(tmp_path / "old", ids["anchor"])
    _damage(
        tmp_path / "old",
        f"UPDATE memory SET status = 'deleted' WHERE number = {memory}",
        f"UPDATE memory SET crc = row_crc({sums.CHECKED['memory']}) WHERE number = {memory}",
    )
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    assert [held.id for held in namespace.held_back] == [ids["anchor"]]


def test_a_deleted_memory_whose_last_words_are_lost_does_not_come_back(tmp_path: Path) -> None:
    ids = _written(tmp_path / "old")
    with _opened(tmp_path / "old", ATLAS) as mesh:
        mesh.delete(ids["lantern"])
    _damage(tmp_path / "old", "DELETE FROM text WHERE content LIKE '%brass%'")
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    assert (namespace.held_back, namespace.lost) == ((), (ids["lantern"],))


def test_a_lost_stretch_of_a_history_is_not_filled_with_what_was_before(tmp_path: Path) -> None:
    ids = _written(tmp_path / "old")
    with _opened(tmp_path / "old", ATLAS) as mesh:
        mesh.delete(ids["anchor"])
        between = mesh.history(ids["anchor"])[-1].recorded_from
        mesh.restore(ids["anchor"])
    _, version = _numbers(tmp_path / "old", ids["anchor"])
    _damage(tmp_path / "old", f"UPDATE version SET tags = 'x' WHERE number = {version - 1}")
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    assert namespace.held_back == ()  # the present one is proven
    with _opened(tmp_path / "new", ATLAS) as mesh:
        assert mesh.get(ids["anchor"]) is not None
        assert ids["anchor"] not in {m.id for m in mesh.get_all(limit=50, as_of=between)}


def test_a_memory_row_that_its_blocks_prove_comes_back_active(tmp_path: Path) -> None:
    ids = _written(tmp_path / "old")
    _damage(tmp_path / "old", "UPDATE memory SET created = created + 1")
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    assert namespace.held_back == ()
    assert set(_active(tmp_path / "new")) == set(ids.values()) - {ids["rudder"]}


def test_memories_that_only_blocks_name_are_known_and_lost(tmp_path: Path) -> None:
    ids = _written(tmp_path / "old")
    memory, _ = _numbers(tmp_path / "old", ids["rudder"])
    _damage(
        tmp_path / "old",
        *(f"DELETE FROM {table} WHERE memory = {memory}" for table in ("version", "text")),
        f"DELETE FROM observation WHERE memory = {memory}",
        f"DELETE FROM memory WHERE number = {memory}",
    )
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    assert namespace.lost == (ids["rudder"],)
    assert (namespace.known, namespace.memories) == (5, 4)


def test_memories_of_another_namespace_are_not_taken_for_this_one(tmp_path: Path) -> None:
    """The file of a user stands in the place of that of another user."""
    _written(tmp_path / "old")
    with _opened(tmp_path / "old") as mesh:
        mesh.for_user("bob").add("The safe of Bob opens at noon")
    folder = tmp_path / "old" / "namespaces"
    (bob,) = folder.glob("user.bob.db")
    bob.rename(folder / "default.db")
    (folder / "user.bob.head").unlink()
    namespace = _salvaged(tmp_path / "old", tmp_path / "new")
    assert (namespace.memories, len(namespace.held_back)) == (0, 1)
    for reader in (Scope(), ATLAS):
        assert not _seen_by(tmp_path / "new", reader, "safe")


def test_changes_of_every_kind_are_proven_in_a_sound_store(tmp_path: Path) -> None:
    """Each block that tells of a new version has one: nothing is taken for overtaken."""
    with _opened(tmp_path / "old") as mesh:
        ids = [
            str(mesh.add(f"Mast {number} stands upright", tags=["ship"]).id) for number in range(6)
        ]
        mesh.add("Mast 0 stands upright", tags=["sail"])  # said again, with more
        berth = {"subject": "berth", "predicate": "pier", "exclusive": True}
        for value in ("one", "two", "three"):
            mesh.add(f"the berth lies at {value}", claim=berth | {"value": value})
        for conflict in mesh.review.conflicts(decided=True)[:1]:
            mesh.review.undo(conflict.new)
            mesh.review.resolve(conflict.id, "reject")
            mesh.review.resolve(conflict.id, "keep_both")
        asked = mesh.view(channel=Channel.WEB).review.propose_update(ids[1], "Mast 1 lies down")
        mesh.review(asked.id, approve=True)
        mesh.review.undo(asked.id)
        waits = str(mesh.add("Mast 9 is broken", quarantine="look at it").id)
        mesh.review(waits, approve=False)
        mesh.review.undo(waits)
        mesh.review(waits, approve=True)
        for _ in range(3):
            mesh.review.dispute(ids[2])
        mesh.review.reinforce(ids[3])
        mesh.rate(ids[3], helpful=True)
        mesh.pin(ids[4])
        mesh.delete(ids[5])
        mesh.restore(ids[5])
        mesh.graph.link(ids[0], ids[1])
        mesh.update(ids[0], scope=ATLAS)
        mesh.care.upkeep()
    done = salvage(tmp_path / "old", tmp_path / "new")
    assert done.complete, done
    assert not done.namespaces[0].held_back


@pytest.mark.parametrize("name", stores.NAMES)
def test_nothing_is_held_back_of_a_sound_store_of_an_earlier_schema(
    tmp_path: Path, name: str
) -> None:
    stores.unpacked(name, tmp_path / "old")
    done = salvage(tmp_path / "old", tmp_path / "new")
    assert not done.namespaces[0].held_back
    assert done.complete


def test_what_is_held_back_stays_so_in_a_second_salvage(tmp_path: Path) -> None:
    ids = _written(tmp_path / "old")
    _, version = _numbers(tmp_path / "old", ids["anchor"])
    _damage(
        tmp_path / "old",
        f"UPDATE version SET project = NULL WHERE number = {version}",
        "UPDATE text SET content = replace(content, 'brass', 'grass')",
    )
    held = {each.id for each in _salvaged(tmp_path / "old", tmp_path / "new").held_back}
    assert held == {ids["anchor"], ids["lantern"]}
    again = salvage(tmp_path / "new", tmp_path / "again")
    assert again.complete, again
    with _opened(tmp_path / "again") as mesh:
        assert {each.id for each in mesh.review.waiting(as_owner=True)} == held
