"""What the user pinned or let in is linked by the user only, whoever wrote it."""

from collections.abc import Callable

import pytest

from memory_mesh.model import Channel, Status
from memory_mesh.model.errors import NotAllowed
from memory_mesh.sync import MemoryMesh


def _pinned(mesh: MemoryMesh, web: MemoryMesh) -> str:
    id_ = web.add("The page says that tea is hot.").id
    assert id_ is not None
    mesh.pin(id_)
    return id_


def _let_in(mesh: MemoryMesh, web: MemoryMesh) -> str:
    id_ = web.add("The page says that tea is hot.").id
    assert id_ is not None
    for _ in range(3):
        mesh.review.dispute(id_)
    mesh.review(id_, approve=True)
    assert mesh.history(id_)[-1].status is Status.ACTIVE
    return id_


@pytest.mark.parametrize("hold", [_pinned, _let_in])
def test_a_page_links_nothing_to_its_memory_that_the_user_holds(
    mesh: MemoryMesh, hold: Callable[[MemoryMesh, MemoryMesh], str]
) -> None:
    web = mesh.view(channel=Channel.WEB)
    held, own = hold(mesh, web), web.add("The page sells cups.").id
    assert own is not None
    for ends in ((own, held), (held, own)):
        with pytest.raises(NotAllowed, match="pin or review"):
            web.graph.link(*ends)
    mesh.graph.link(own, held)
    with pytest.raises(NotAllowed):
        web.graph.unlink(own, held)
    assert len(mesh.graph.links(held)) == 1


@pytest.mark.parametrize("hold", [_pinned, _let_in])
def test_a_page_puts_no_memory_that_the_user_holds_into_an_episode(
    mesh: MemoryMesh, hold: Callable[[MemoryMesh, MemoryMesh], str]
) -> None:
    web = mesh.view(channel=Channel.WEB)
    held, own = hold(mesh, web), web.add("The page sells cups.").id
    assert own is not None
    with pytest.raises(NotAllowed):
        web.graph.create_episode("a visit", ids=[held])
    episode = web.graph.create_episode("a visit", ids=[own])
    with pytest.raises(NotAllowed):
        web.graph.add_to_episode(episode.id, [held])
    mesh.graph.add_to_episode(episode.id, [held])
    with pytest.raises(NotAllowed):
        web.graph.remove_from_episode(episode.id, [held])
    assert len(mesh.graph.links(held)) == 1
