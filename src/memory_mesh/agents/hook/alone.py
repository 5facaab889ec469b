"""A hook's recall without a daemon: the store in this process, and only the verbs it needs.

`memory_mesh.sync.MemoryMesh` composes every verb and loads a quarter more modules.
"""

from collections.abc import Mapping

from memory_mesh.agents.hook.events import on_event
from memory_mesh.agents.opening import Stores
from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.config import Config
from memory_mesh.mesh.operations.context import ContextVerbs
from memory_mesh.mesh.operations.projects import ProjectVerbs
from memory_mesh.mesh.view import View

if TYPE_CHECKING:
    from memory_mesh.model import Memory, Proposal, Skill


class RecallMesh(ContextVerbs, ProjectVerbs):
    """The verbs of a recall."""

    def awaiting_review(self, *, limit: int) -> "list[Memory | Skill | Proposal]":
        """Lists what waits for review, as `MemoryMesh` does; only a session's start asks for it."""
        from memory_mesh.mesh.operations.review import ReviewVerbs

        review = object.__new__(ReviewVerbs)
        View.__init__(review, self._store, self._config, self._channel, owner=False)
        return review.awaiting_review(limit=limit)

    @property
    def config(self) -> Config:
        """The effective settings."""
        return self._config


def answer(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to an event that recalls, as a daemon would give it without an embedder."""
    return on_event(stores, request)


def stores() -> Stores:
    """Stores without an embedder, whose views have the verbs of a recall."""
    return Stores(embedder=False, face=RecallMesh)
