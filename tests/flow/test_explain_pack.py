"""Why a memory is in a pack or not."""

from datetime import timedelta

import pytest

from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.pack import LeftOutBy, Section
from memory_mesh.model.why import Gate

QUESTION = "which tea is served with honey?"


@pytest.fixture
def teas(mesh):
    served = ("milk", "honey", "lemon", "sugar", "cream", "ginger", "mint", "salt")
    texts = [f"tea number {n} is served with {what} at noon" for n, what in enumerate(served)]
    return [receipt.id for receipt in mesh.add_many(texts)]


def test_what_is_in_the_pack_says_where_and_why(mesh, teas):
    pack = mesh.context(QUESTION, max_tokens=400)
    for place, item in enumerate(pack, start=1):
        why = mesh.explain(item.id, query=QUESTION, max_tokens=400)
        assert (why.gate, why.packed.section, why.packed.tokens) == (
            None, Section.FOUND, item.tokens,
        )  # fmt: skip
        assert f"memory {place} of {len(pack)} in the pack" in why.sentences[0]
        assert why.rank.score == item.score
        assert why.rank.base + sum(why.rank.shares.values()) == why.rank.margin
    assert set(teas) >= {item.id for item in pack}


def test_what_had_no_room_is_packed_out(mesh, teas):
    pack = mesh.context(QUESTION, max_tokens=120)
    left = [each.id for each in pack.left_out if each.by is LeftOutBy.BUDGET]
    assert left
    assert teas[1] not in left
    for id_ in left:
        why = mesh.explain(id_, query=QUESTION, max_tokens=120)
        assert (why.gate, why.packed.by) == (Gate.PACKED, LeftOutBy.BUDGET)
        assert "no room" in why.sentences[0]
        assert mesh.explain(id_, query=QUESTION).gate is None


def test_an_older_statement_gives_way_to_the_newer_one(mesh, clock):
    old = mesh.add("The default branch is master")
    clock.advance(timedelta(days=1))
    new = mesh.add("The default branch is now main")
    gates = {
        tokens: mesh.explain(old.id, query="master", max_tokens=tokens).gate
        for tokens in range(20, 300, 10)
    }
    packs = {
        tokens: [item.id for item in mesh.context("master", max_tokens=tokens)] for tokens in gates
    }
    assert {len(ids) for ids in packs.values()} == {0, 1, 2}
    for tokens, ids in packs.items():
        expected = {0: Gate.PACKED, 1: Gate.OLDER, 2: None}[len(ids)]
        assert (gates[tokens], ids[:1]) == (expected, [new.id][: len(ids)])


def test_what_the_floor_leaves_out_is_below_the_threshold(mesh, teas):
    last = mesh.search(QUESTION)[-1]
    why = mesh.explain(last.id, query=QUESTION, max_tokens=2_000, min_relevance=0.9)
    assert why.gate is Gate.THRESHOLD
    assert "the floor of the pack is 0.9" in why.sentences[1]


def test_gates_of_the_search_are_those_of_the_pack(mesh, teas):
    other = mesh.add("coffee is black").id
    hidden = mesh.view(scope=Scope(project="shop")).add("tea is served with honey").id

    def gate(id_, **options):
        return mesh.explain(id_, query=QUESTION, max_tokens=200, **options).gate

    assert gate(other) is Gate.CANDIDATES
    assert gate(hidden) is gate("mem_1_000000") is Gate.NAMESPACE
    assert gate(hidden, see_across=["project"]) is Gate.SCOPE
    assert gate(teas[0], filter="tags = 'x'") is Gate.FILTER
    mesh.add_many([f"tea served with honey, kind {n}" for n in range(40)])
    assert gate(teas[0]) is Gate.LIMIT


def test_nothing_is_recorded_and_nothing_cached(mesh, teas):
    before = mesh.get_cache_stats()
    mesh.explain(teas[1], query=QUESTION, max_tokens=400)
    mesh.add("flush")
    assert (mesh.care.recalls(), mesh.get_cache_stats()) == ([], before)
    assert mesh.explain(teas[1]).injections == ()


def test_a_real_pack_is_explained_by_its_injection(mesh, teas):
    pack = mesh.context(QUESTION, max_tokens=400)
    why = mesh.explain(pack.injection_id)
    assert [each.memory.id for each in why.entered] == [item.id for item in pack]
    assert [each.injected.tokens for each in why.entered] == [item.tokens for item in pack]
    assert [each.id for each in mesh.explain(teas[1]).injections] == [pack.injection_id]


def test_a_budget_that_is_none_is_refused(mesh, teas):
    for id_ in (teas[0], "mem_1_000000"):
        with pytest.raises(InvalidInput, match="max_tokens"):
            mesh.explain(id_, query=QUESTION, max_tokens=0)
