"""One step along the links of memories, as a reader sees it."""

import pytest

from memory_mesh.context.graph import linked
from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh


@pytest.fixture
def ids(mesh: MemoryMesh) -> list[str]:
    texts = ("Tea is hot.", "Milk is cold.", "Water is wet.", "Sand is dry.")
    return [str(mesh.add(text).id) for text in texts]


def step(mesh: MemoryMesh, ids: list[str], most: int = 3, scope: Scope | None = None) -> list[str]:
    with mesh._read() as snapshot:
        return [memory.id for _, memory in linked(snapshot, ids, mesh._lens(scope), most=most)]


def test_a_step_leads_from_either_end_of_a_link(mesh, ids):
    mesh.graph.link(ids[0], ids[1])
    assert step(mesh, [ids[0]]) == [ids[1]]
    assert step(mesh, [ids[1]]) == [ids[0]]


def test_a_step_does_not_lead_back_to_the_memories_it_starts_from(mesh, ids):
    mesh.graph.link(ids[0], ids[1])
    mesh.graph.link(ids[1], ids[2])
    assert step(mesh, ids[:2]) == [ids[2]]


def test_each_memory_has_at_most_so_many_links(mesh, ids):
    for other in ids[1:]:
        mesh.graph.link(ids[0], other)
    assert len(step(mesh, [ids[0]], most=2)) == 2


def test_a_memory_that_the_reader_does_not_see_takes_no_place(mesh, ids):
    planner = Scope(agent="planner")
    hidden = mesh.add("Only for the planner.", scope=planner).id
    mesh.graph.link(ids[0], ids[1])
    mesh.graph.link(ids[0], hidden, scope=planner)
    assert step(mesh, [ids[0]], most=1) == [ids[1]]
    assert step(mesh, [ids[0]], scope=planner) == [hidden, ids[1]]


def test_a_superseded_memory_is_not_reached(mesh, ids):
    mesh.graph.link(ids[0], ids[1])
    mesh.delete(ids[1])
    assert step(mesh, [ids[0]]) == []
