"""Links between memories, and the triggers that a memory carries."""

import pytest

from memory_mesh import InvalidInput
from memory_mesh.model import Link, Scope
from memory_mesh.model.errors import NotFound
from memory_mesh.sync import MemoryMesh
from memory_mesh.write import links as flows_links


@pytest.fixture
def pair(mesh: MemoryMesh) -> tuple[str, str]:
    first = mesh.add("The login page uses JWT.").id
    second = mesh.add("The session cookie lives for a day.").id
    assert first is not None
    assert second is not None
    return first, second


def test_a_link_is_listed_from_both_ends(mesh, pair):
    link = mesh.graph.link(*pair, type="depends_on")
    assert link == Link(pair[0], pair[1], "depends_on")
    assert mesh.graph.links(pair[0]) == mesh.graph.links(pair[1]) == [link]


def test_the_same_link_is_stored_once_and_leaves_one_block(mesh, pair):
    for _ in range(3):
        mesh.graph.link(*pair)
    changes = [block for block in mesh.care.blocks() if block.entry.metadata.get("link")]
    assert mesh.graph.links(pair[0]) == [Link(pair[0], pair[1], "related")]
    assert len(changes) == 1


def test_a_link_can_be_taken_away(mesh, pair):
    mesh.graph.link(*pair)
    assert mesh.graph.unlink(*pair)
    assert not mesh.graph.unlink(*pair)
    assert mesh.graph.links(pair[0]) == []


def test_a_link_needs_two_visible_memories_and_a_known_type(mesh, pair):
    with pytest.raises(InvalidInput, match="related, follows, part_of, depends_on"):
        mesh.graph.link(*pair, type="likes")
    with pytest.raises(InvalidInput, match="itself"):
        mesh.graph.link(pair[0], pair[0])
    with pytest.raises(NotFound):
        mesh.graph.link(pair[0], "mem_1_000000")
    hidden = mesh.add("Only for the planner.", scope=Scope(agent="planner")).id
    with pytest.raises(NotFound):
        mesh.graph.link(pair[0], hidden)


def test_a_link_to_what_was_deleted_is_not_listed(mesh, pair):
    mesh.graph.link(*pair)
    mesh.delete(pair[1])
    assert mesh.graph.links(pair[0]) == []
    mesh.restore(pair[1])
    assert len(mesh.graph.links(pair[0])) == 1


def test_triggers_are_kept_and_changed_like_any_detail(mesh):
    id_ = mesh.add("Use JWT.", triggers=["auth|login", " ", "auth|login"]).id
    assert mesh.get(id_).triggers == ("auth|login",)
    assert mesh.update(id_, triggers="oauth").triggers == ("oauth",)
    assert mesh.update(id_, triggers=[]).triggers == ()
    assert [version.triggers for version in mesh.history(id_)] == [("auth|login",), ("oauth",), ()]


def test_a_repeated_text_adds_its_triggers(mesh):
    id_ = mesh.add("Use JWT.", triggers="auth").id
    again = mesh.add("Use JWT.", triggers=["auth", "token"])
    assert again.added == ("trigger token",)
    assert mesh.get(id_).triggers == ("auth", "token")


def test_too_many_or_too_long_triggers_are_refused(mesh):
    with pytest.raises(InvalidInput, match="at most 32 triggers of 1000 characters"):
        mesh.add("x y", triggers=[f"t{n}" for n in range(33)])
    with pytest.raises(InvalidInput, match="at most 32 triggers"):
        mesh.add("x y", triggers="a" * 1001)


def test_a_reader_learns_nothing_of_a_link_to_what_it_does_not_see(mesh, pair):
    planner = Scope(agent="planner")
    hidden = mesh.add("Only for the planner.", scope=planner).id
    mesh.graph.link(pair[0], hidden, scope=planner)
    for change in (mesh.graph.link, mesh.graph.unlink):
        for target in (hidden, "mem_1_000000"):
            with pytest.raises(NotFound):
                change(pair[0], target)
            with pytest.raises(NotFound):
                change(target, pair[0])
    assert mesh.graph.links(hidden) == mesh.graph.links(pair[0]) == []
    assert len(mesh.graph.links(hidden, scope=planner)) == 1


def test_an_id_that_is_no_text_is_refused(mesh):
    with pytest.raises(InvalidInput, match="memory_id"):
        mesh.graph.links(5)
    with pytest.raises(InvalidInput, match="memory_id"):
        mesh.review.undo(5)


def test_a_repeated_text_adds_no_more_triggers_than_a_memory_may_have(mesh):
    id_ = mesh.add("Use JWT.", triggers=[f"t{n}" for n in range(31)]).id
    again = mesh.add("Use JWT.", triggers=["auth", "token"])
    assert again.added == ("trigger auth",)
    assert mesh.get(id_).triggers[30:] == ("t30", "auth")
    assert mesh.care.blocks()[-1].entry.metadata["not_taken"] == {"triggers": ["token"]}


def test_one_of_more_links_than_a_read_returns_can_be_taken_away(mesh, pair, monkeypatch):
    monkeypatch.setattr(flows_links, "MOST_LINKS", 1)
    third = mesh.add("Tokens are rotated every night.").id
    mesh.graph.link(pair[0], pair[1])
    mesh.graph.link(pair[0], third)
    assert mesh.graph.unlink(pair[0], third)
    assert mesh.graph.links(third) == []
