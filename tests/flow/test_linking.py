"""Links to similar memories, which are made by themselves."""

from itertools import pairwise

import pytest

from memory_mesh.learn.health import checkup
from memory_mesh.model import Link, Scope
from memory_mesh.model.stats import Health
from memory_mesh.sync import MemoryMesh
from memory_mesh.write import similar_links
from tests.flow.angles import Angles


@pytest.fixture
def own(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path / "own", clock=clock, custom_embedder=Angles()) as opened:
        yield opened


def similar(mesh: MemoryMesh, memory_id: str | None) -> dict[str, float | None]:
    links = mesh.graph.links(str(memory_id), types=["similar"])
    return {link.target: link.similarity for link in links if link.source == memory_id}


def test_a_new_memory_is_linked_to_those_above_a_cosine_of_one_half(own):
    near, far = (own.add(f"Point at {angle}").id for angle in (59, 61))
    new = own.add("Point at 0").id
    assert similar(own, new) == {near: 0.515}
    assert own.graph.links(new)[0].at > own.get(new).created
    assert similar(own, far) == {near: 0.9994}


def test_no_write_waits_for_its_links_and_who_reads_links_makes_a_few(own, monkeypatch):
    monkeypatch.setattr(similar_links, "SLICE", 2)
    compared = similar_links._changes
    monkeypatch.setattr(similar_links, "_changes", None)  # a write that compares would fail
    ids = [own.add(f"Point at {angle}").id for angle in range(0, 20, 2)]
    own.update(ids[0], content="Point at 1")
    assert own.stats().to_link == 11  # the updated text has a vector of its own
    monkeypatch.setattr(similar_links, "_changes", compared)
    assert similar(own, ids[1])
    assert own.stats().to_link == 11 - 2 * similar_links.FEW_SLICES
    own.care.upkeep()
    assert own.stats().to_link == 0
    assert all(similar(own, id_) for id_ in ids)


def test_a_memory_is_linked_to_at_most_five_and_those_are_the_nearest(own):
    ids = [own.add(f"Point at {angle}").id for angle in (70, 10, 20, 30, 40, 50)]
    new = own.add("Point at 15").id
    assert set(similar(own, new)) == set(ids[1:])
    assert own.care.verify().ok


def test_a_batch_links_as_if_its_texts_had_come_one_after_another(own, tmp_path, clock):
    texts = [f"Point at {7 * number % 90}" for number in range(40)]
    with MemoryMesh(db_dir=tmp_path / "b", clock=clock, custom_embedder=Angles()) as other:
        alone = [own.add(text).id for text in texts]
        at_once = [receipt.id for receipt in other.add_many(texts)]
        for one, many in zip(alone, at_once, strict=True):
            places = {alone.index(id_) for id_ in similar(own, one)}
            assert {at_once.index(id_) for id_ in similar(other, many)} == places


def test_a_repeated_text_makes_no_link_to_itself(own):
    first, second = (receipt.id for receipt in own.add_many(["Point at 3", "Point at 3"]))
    assert first == second
    assert own.graph.links(first) == []


def test_a_memory_is_only_linked_to_what_every_reader_of_it_sees(own):
    planner = Scope(agent="planner")
    hidden = own.add("Point at 10", scope=planner).id
    open_ = own.add("Point at 20").id
    assert similar(own, open_) == {}
    narrow = own.add("Point at 30", scope=planner).id
    seen = {link.target for link in own.graph.links(narrow, scope=planner)}
    assert seen == {hidden, open_}
    assert own.graph.links(open_) == []  # the reader does not see the memory that is linked to it


def test_memories_that_are_not_seen_do_not_crowd_out_those_that_are(own):
    seen = own.add("Point at 30").id
    for angle in range(10, 20):
        own.add(f"Point at {angle}", scope=Scope(agent="planner"))
    assert similar(own, own.add("Point at 14").id) == {seen: 0.9613}


def test_a_new_text_is_linked_anew_at_both_ends(own):
    first, second, third = (own.add(f"Point at {angle}").id for angle in (0, 10, 170))
    made = own.graph.link(first, second)
    assert second in similar(own, first)
    own.update(first, content="Point at 175")
    assert set(own.graph.links(first)) == {made, Link(first, third, "similar")}
    assert own.graph.links(second) == [made]
    assert own.care.verify().ok


def test_an_update_of_several_links_each_anew(own):
    first, second, third = (own.add(f"Point at {angle}").id for angle in (0, 10, 170))
    changes = [{"id": first, "content": "Point at 175"}, {"id": second, "content": "Point at 90"}]
    own.update_many(changes)
    assert similar(own, first) == {third: 0.9962}
    assert own.graph.links(second) == []


def test_links_can_be_switched_off(tmp_path, clock):
    with MemoryMesh(
        db_dir=tmp_path / "off",
        clock=clock,
        custom_embedder=Angles(),
        settings={"link_similar": False},
    ) as off:
        ids = [off.add(f"Point at {angle}").id for angle in (0, 10)]
        assert off.care.upkeep().linked == 0
        assert off.graph.links(str(ids[1])) == []


def test_upkeep_links_what_was_stored_without_vectors_and_then_has_nothing_to_do(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock) as plain:
        ids = [plain.add(f"Point at {angle}").id for angle in range(0, 180, 20)]
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock, custom_embedder=Angles()) as mesh:
        assert mesh.care.upkeep().linked == len(ids)
        for one, other in pairwise(ids):
            assert other in similar(mesh, one)
            assert one in similar(mesh, other)
        assert mesh.care.upkeep().linked == 0
        assert mesh.care.verify().ok


def test_upkeep_goes_on_where_it_stopped(tmp_path, clock, monkeypatch):
    monkeypatch.setattr(similar_links, "SLICE", 3)
    monkeypatch.setattr(similar_links, "UPKEEP_SECONDS", 0.0)
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock) as plain:
        ids = [plain.add(f"Point at {angle}").id for angle in range(0, 80, 10)]
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock, custom_embedder=Angles()) as mesh:
        assert [mesh.care.upkeep().linked for _ in range(4)] == [3, 3, 2, 0]
        assert all(similar(mesh, id_) for id_ in ids)


def test_cosines_of_another_model_are_read_on_the_common_scale():
    from memory_mesh.model import Space
    from memory_mesh.write.similar_links import least_cosine, similarity

    static = Space("local", "l2_supercat_256", "1", 256, 512)
    assert least_cosine(static) == pytest.approx(0.5 / 1.18)
    assert similarity(static, 0.5) == 0.59
    assert similarity(static, 0.99) == 1.0


def test_upkeep_leaves_a_memory_alone_that_was_changed_while_it_compared(own, monkeypatch):
    ids = [own.add(f"Point at {angle}").id for angle in (0, 10, 20, 30, 40, 50, 170)]
    compared = similar_links._changes

    def meanwhile(snapshot, space, found):
        changes = list(compared(snapshot, space, found))
        own.update(ids[0], content="Point at 175")
        return iter(changes)

    monkeypatch.setattr(similar_links, "_changes", meanwhile)
    own.care.upkeep()
    assert similar(own, ids[0]) == {ids[6]: 0.9962}
    assert own.care.verify().ok


def test_two_runs_of_upkeep_at_once_write_each_slice_once(own, monkeypatch):
    for angle in range(0, 80, 10):
        own.add(f"Point at {angle}")
    compared, other = similar_links._changes, own.view()

    def meanwhile(snapshot, space, found):
        changes = list(compared(snapshot, space, found))
        monkeypatch.setattr(similar_links, "_changes", compared)
        assert other.care.upkeep().linked > 0
        return iter(changes)

    monkeypatch.setattr(similar_links, "_changes", meanwhile)
    before = own.stats().blocks
    own.care.upkeep()
    assert own.care.verify().ok
    assert own.stats().blocks == before  # upkeep's links leave no block


def test_upkeep_makes_no_link_to_a_text_that_changed_while_it_compared(
    tmp_path, clock, monkeypatch
):
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock) as plain:
        first, second = (str(plain.add(f"Point at {angle}").id) for angle in (0, 10))
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock, custom_embedder=Angles()) as mesh:
        compared = similar_links._changes

        def slowly(*given):
            yield from list(compared(*given))
            if mesh.history(second)[-1].text == "Point at 10":
                mesh.update(second, content="Point at 175")

        monkeypatch.setattr(similar_links, "_changes", slowly)
        mesh.care.upkeep()
        assert mesh.graph.links(first) == []


def test_a_memory_that_waits_for_review_is_linked_by_upkeep_too(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock) as plain:
        first = str(plain.add("Point at 0").id)
        waits = str(plain.add("Point at 10", quarantine="look at it").id)
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock, custom_embedder=Angles()) as mesh:
        mesh.care.upkeep()
        mesh.review(waits, approve=True)
        mesh.care.upkeep()
        assert set(similar(mesh, waits)) == {first}


def test_an_update_of_several_makes_no_link_to_a_text_that_it_replaces(own):
    first, second, third = (own.add(f"Point at {angle}").id for angle in (0, 10, 20))
    changes = [{"id": first, "content": "Point at 12"}, {"id": second, "content": "Point at 170"}]
    own.update_many(changes)
    assert similar(own, first) == {third: 0.9903}
    assert own.graph.links(second) == []


def test_a_large_write_before_links_leaves_the_chain_healthy(tmp_path, clock):
    """The last commit has no block, and the few before it have many."""
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=Angles()) as mesh:
        for start in range(0, 40, 8):
            ids = [one.id for one in mesh.add_many([f"Point at {start + n}" for n in range(8)])]
        assert mesh.graph.links(str(ids[0]))
        (chain,) = (
            check for check in checkup(mesh._access(), clock.now()).checks if check.name == "chain"
        )
        assert (chain.health, chain.detail) == (Health.HEALTHY, "the last block, 40, is intact")
