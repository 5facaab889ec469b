"""A hook's recall without a daemon: the store in this process, and only the verbs it needs.

`memory_mesh.sync.MemoryMesh` composes every verb and loads a quarter more modules.
"""

from collections.abc import Mapping

from memory_mesh.agents.hook.events import on_event
from memory_mesh.agents.opening import Stores
from memory_mesh.base.typed import Any
from memory_mesh.config import Config
from memory_mesh.mesh.document_names import Families
from memory_mesh.mesh.operations.context import ContextVerbs


class RecallMesh(ContextVerbs, Families):
    """The verbs of a recall."""

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
