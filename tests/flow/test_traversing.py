"""Walks, paths, neighbourhoods and chains along links, as a reader sees them."""

from itertools import combinations

import pytest

from memory_mesh.model import Commit, Link, Scope, Wanted
from memory_mesh.model.errors import InvalidInput, NotFound
from memory_mesh.sync import MemoryMesh
from tests.flow.angles import Angles

PLANNER = Scope(agent="planner")


@pytest.fixture
def ids(mesh: MemoryMesh) -> list[str]:
    return [str(mesh.add(f"Station number {number}.").id) for number in range(8)]


def joined(mesh: MemoryMesh, ids: list[str], pairs: str, type_: str = "related") -> None:
    """Links stations: "01 12" links 0 with 1 and 1 with 2."""
    for pair in pairs.split():
        mesh.graph.link(ids[int(pair[0])], ids[int(pair[1])], type=type_)


@pytest.mark.req("R-003-013")
def test_all_links_of_a_memory_are_listed_whoever_made_them(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=Angles()) as mesh:
        first, second, third = (str(mesh.add(f"Point at {angle}").id) for angle in (10, 20, 175))
        made = mesh.graph.link(third, first, type="follows")
        assert set(mesh.graph.links(first)) == {
            made, Link(second, first, "similar"), Link(first, second, "similar")
        }  # fmt: skip
        assert mesh.graph.links(first, types=["follows"]) == [made]
        assert {link.similarity for link in mesh.graph.links(first)} == {0.9848, None}


@pytest.mark.req("R-003-014")
def test_a_walk_goes_so_many_steps_along_links_of_the_wanted_types(mesh, ids):
    joined(mesh, ids, "01 12 23")
    joined(mesh, ids, "04 45", "follows")
    reached = mesh.graph.traverse(ids[0], max_hops=2)
    assert {(each.id, each.hops) for each in reached} == {
        (ids[1], 1), (ids[4], 1), (ids[2], 2), (ids[5], 2),
    }  # fmt: skip
    assert [each.hops for each in reached] == [1, 1, 2, 2]
    only = mesh.graph.traverse(ids[0], max_hops=3, types=["follows"])
    assert [each.id for each in only] == [ids[4], ids[5]]
    assert only[1].link == Link(ids[4], ids[5], "follows")


@pytest.mark.req("R-003-014")
def test_the_wanted_types_hold_for_every_step_of_a_walk(mesh, ids):
    joined(mesh, ids, "01 23")
    joined(mesh, ids, "12 04", "follows")
    for types, reached in ((["related"], [1]), (["follows"], [4]), ([], [1, 2, 3, 4])):
        walk = mesh.graph.traverse(ids[0], max_hops=5, types=types)
        assert {each.id for each in walk} == {ids[at] for at in reached}
    both = mesh.graph.traverse(ids[0], max_hops=2, types=["related", "follows"])
    assert {each.id for each in both} == {ids[1], ids[2], ids[4]}


def test_a_walk_goes_against_the_direction_of_links_too_and_reaches_nothing_twice(mesh, ids):
    joined(mesh, ids, "01 12 20")
    reached = mesh.graph.traverse(ids[1], max_hops=5)
    assert sorted(each.id for each in reached) == sorted([ids[0], ids[2]])


def test_a_walk_says_when_it_was_cut(mesh, ids):
    joined(mesh, ids, "01 02 03")
    assert mesh.graph.traverse(ids[0], limit=2).cut
    assert len(mesh.graph.traverse(ids[0], limit=2)) == 2
    assert not mesh.graph.traverse(ids[0], limit=3).cut


def test_a_walk_does_not_pass_through_what_the_reader_does_not_see(mesh, ids):
    hidden = str(mesh.add("Only for the planner.", scope=PLANNER).id)
    mesh.graph.link(ids[0], hidden, scope=PLANNER)
    mesh.graph.link(hidden, ids[1], scope=PLANNER)
    assert mesh.graph.traverse(ids[0], max_hops=9) == []
    assert mesh.graph.path(ids[0], ids[1]) is None
    assert {each.id for each in mesh.graph.traverse(ids[0], scope=PLANNER)} == {hidden, ids[1]}
    mesh.graph.link(ids[0], ids[2])
    mesh.delete(ids[2])
    assert mesh.graph.traverse(ids[0]) == []


def test_an_unseen_memory_is_as_unknown_as_one_that_does_not_exist(mesh, ids):
    hidden = str(mesh.add("Only for the planner.", scope=PLANNER).id)
    told = set()
    for unknown in (hidden, "mem_1_000000"):
        for ask in (mesh.graph.traverse, mesh.graph.neighbourhood, mesh.graph.supersessions):
            with pytest.raises(NotFound) as caught:
                ask(unknown)
            told.add(str(caught.value).replace(repr(unknown), "ID"))
        for pair in ((ids[0], unknown), (unknown, ids[0])):
            with pytest.raises(NotFound) as caught:
                mesh.graph.path(*pair)
            told.add(str(caught.value).replace(repr(unknown), "ID"))
    assert len(told) == 1


def test_a_path_is_a_shortest_way_and_keeps_within_its_steps(mesh, ids):
    joined(mesh, ids, "01 12 23 34 05 54")
    found = mesh.graph.path(ids[0], ids[4])
    assert found == (Link(ids[0], ids[5], "related"), Link(ids[5], ids[4], "related"))
    assert mesh.graph.path(ids[4], ids[0]) == tuple(reversed(found))
    assert mesh.graph.path(ids[0], ids[3], max_hops=2) is None
    assert mesh.graph.path(ids[0], ids[3], max_hops=3) is not None
    assert mesh.graph.path(ids[0], ids[7]) is None
    assert mesh.graph.path(ids[0], ids[0]) == ()
    assert mesh.graph.path(ids[0], ids[4], types=["follows"]) is None


def test_a_neighbourhood_has_the_links_between_its_memories_and_counts_the_rest(mesh, ids):
    joined(mesh, ids, "01 02 12 23 34")
    found = mesh.graph.neighbourhood(ids[0], hops=2, limit=3)
    assert found.center == found.memories[0].id == ids[0]
    assert {memory.id for memory in found.memories} == {ids[0], ids[1], ids[2]}
    assert found.more == 1
    between = {(0, 1), (0, 2), (1, 2)}
    assert {(ids.index(link.source), ids.index(link.target)) for link in found.links} == between


def test_supersessions_link_the_newer_to_the_older(mesh):
    claim = {"subject": "server", "predicate": "port"}
    old = str(mesh.add("The port is 3000.", claim={**claim, "value": "3000"}).id)
    new = str(mesh.add("The port is 8080.", claim={**claim, "value": "8080"}).id)
    found = mesh.graph.supersessions(old)
    assert [memory.id for memory in found.memories] == [old, new]
    assert found.links == (Link(new, old, "supersedes"),)
    assert mesh.graph.supersessions(new).links == found.links


def test_supersessions_show_what_only_seems_to_update(mesh):
    old = str(mesh.add("The port of the server is 3000.").id)
    receipt = mesh.add("The port of the server is 8080.")
    assert receipt.newer_than == (old,)
    assert mesh.graph.supersessions(old).links == (Link(str(receipt.id), old, "newer_than"),)


def test_wrong_arguments_are_told(mesh, ids):
    with pytest.raises(InvalidInput, match="max_hops is a whole number from 1 to 10"):
        mesh.graph.traverse(ids[0], max_hops=0)
    with pytest.raises(InvalidInput, match="similar, derived_from"):
        mesh.graph.traverse(ids[0], types=["likes"])
    with pytest.raises(InvalidInput, match="limit"):
        mesh.graph.neighbourhood(ids[0], limit=0)


def test_a_large_neighbourhood_has_every_link_between_its_memories(mesh):
    ids = [str(receipt.id) for receipt in mesh.add_many([f"Note {place}" for place in range(50)])]
    links = tuple(Link(one, other, "related") for one, other in combinations(ids, 2))
    access = mesh._access()
    access.ledger.commit(access.namespace, Wanted(), lambda _: Commit(links=links))
    assert len(mesh.graph.neighbourhood(ids[0], hops=1, limit=50).links) == len(links) == 1_225
