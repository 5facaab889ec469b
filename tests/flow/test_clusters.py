"""Groups of memories that links hold together."""

import pytest

from memory_mesh.learn import clusters as flows_clusters
from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from tests.flow.angles import Angles

PLANNER = Scope(agent="planner")


def linked(mesh: MemoryMesh, texts: list[str]) -> list[str]:
    ids = [str(mesh.add(text).id) for text in texts]
    for other in ids[1:]:
        mesh.graph.link(ids[0], other)
    return ids


@pytest.mark.req("R-003-015")
def test_clusters_are_the_groups_that_links_connect_from_a_size_on(mesh):
    tea = linked(mesh, ["Tea is hot.", "We drink green tea.", "The tea was cold."])
    cars = linked(mesh, ["Cars are fast.", "My car is red."])
    mesh.add("Nothing is linked to this.")
    found = mesh.graph.clusters()
    assert [set(cluster.ids) for cluster in found] == [set(tea), set(cars)]
    assert [cluster.size for cluster in found] == [3, 2]
    assert [cluster.links for cluster in found] == [2, 1]
    assert [set(cluster.ids) for cluster in mesh.graph.clusters(3)] == [set(tea)]
    assert mesh.graph.clusters(4) == []


@pytest.mark.req("R-003-015")
def test_a_chain_of_links_is_one_cluster_whichever_way_they_point(mesh):
    first, second, third, fourth = (str(mesh.add(f"Station {at}.").id) for at in "abcd")
    for source, target in ((first, second), (third, second), (third, fourth)):
        mesh.graph.link(source, target)
    (found,) = mesh.graph.clusters()
    assert set(found.ids) == {first, second, third, fourth}


def test_a_cluster_is_named_by_whole_words_that_set_it_apart(mesh):
    linked(mesh, ["She was running to the station.", "The running shoes are at the station."])
    linked(mesh, ["The station sells painted plates.", "He painted a plate at the station."])
    first, second = mesh.graph.clusters()
    names = {cluster.terms[0] for cluster in (first, second)}
    assert names <= {"running", "painted", "plate", "plates"}
    assert "station" not in names
    assert first.label == ", ".join(first.terms)


def test_similar_memories_need_a_similarity_to_hold_together(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=Angles()) as mesh:
        for angle in (0, 20, 70, 90):
            mesh.add(f"Point at {angle}")
        assert [cluster.size for cluster in mesh.graph.clusters()] == [2, 2]
        assert [cluster.size for cluster in mesh.graph.clusters(min_similarity=0.5)] == [4]


def test_a_hidden_memory_neither_joins_nor_counts_nor_names(mesh):
    one = linked(mesh, ["Tea is hot.", "We drink tea."])
    two = linked(mesh, ["Milk is cold.", "We drink milk."])
    before = mesh.graph.clusters()
    hidden = str(mesh.add("Tea with milk, milk, milk.", scope=PLANNER).id)
    for id_ in (*one, *two):
        mesh.graph.link(hidden, id_, scope=PLANNER)
    assert mesh.graph.clusters() == before
    (all_,) = mesh.graph.clusters(scope=PLANNER)
    assert all_.size == 5


def test_clusters_say_when_links_were_left_out(mesh, monkeypatch):
    linked(mesh, ["Tea is hot.", "We drink tea.", "More tea."])
    assert not mesh.graph.clusters().cut
    monkeypatch.setattr(flows_clusters, "MOST_LINKS", 1)
    assert mesh.graph.clusters().cut
    with pytest.raises(InvalidInput, match="min_size"):
        mesh.graph.clusters(0)
