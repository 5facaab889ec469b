"""Memory for Google's Agent Development Kit: `Runner(..., memory_service=MeshMemoryService(mesh))`.

Each user of an app has memories of their own: `mesh.for_user(user_id)`, with the app as the
project, so an app does not read what another was told.
"""

import asyncio
from collections.abc import Mapping, Sequence

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai.types import Content, Part

from memory_mesh.agents.adapters.exchange_memory import blocking
from memory_mesh.agents.adapters.user_memory import Said, UserMemory, patient
from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.model import Hit, Memory, Scope
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh


_MOST = 10  # memories of an answer, as in ADK's own services


class MeshMemoryService(BaseMemoryService):
    """Long-term memory of the users of an app."""

    def __init__(self, mesh: "MemoryMesh | AsyncMesh") -> None:
        """Keep the mesh; whoever opened it closes it."""
        self._mesh = blocking(mesh)

    async def add_session_to_memory(self, session: Session) -> None:
        """Keeps what the user said, if it is worth it; a session may be added again as it grows."""
        await self._remember(session.app_name, session.user_id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keeps what the user said in these events, if it is worth it."""
        await self._remember(app_name, user_id, events)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Stores memories as the program gives them; raises where one is not stored."""
        items = [
            {
                "content": _text(entry.content),
                "metadata": {**(custom_metadata or {}), **entry.custom_metadata},
            }
            for entry in memories
        ]
        await asyncio.to_thread(self._of(app_name, user_id).add_many, items)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """The memories for a query, the best first; none if memory fails."""
        view = self._of(app_name, user_id)
        found: list[Hit] = await patient(
            "recall memories", lambda: list(view.search(query, limit=_MOST)), []
        )
        return SearchMemoryResponse(memories=[_entry(hit.memory) for hit in found])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Deletes a memory by the id that a search gave."""
        if memory_id:
            await asyncio.to_thread(self._of(app_name, user_id).delete, memory_id)

    async def _remember(self, app: str, user: str, events: Sequence[Event]) -> None:
        said = [
            Said(event.author == "user", _text(event.content), f"adk {event.id}")
            for event in events
            if not event.partial and _text(event.content)
        ]
        await UserMemory(self._of(app, user)).remember_all(said)

    def _of(self, app: str, user: str) -> MemoryMesh:
        return self._mesh.for_user(user).view(scope=Scope(project=app))


def _entry(memory: Memory) -> MemoryEntry:
    return MemoryEntry(
        id=memory.id,
        content=Content(role="user", parts=[Part(text=memory.text)]),
        author=str(memory.source.kind),
        timestamp=memory.created.isoformat(),
    )


def _text(content: Content | None) -> str:
    """The words of a message, without the thoughts of a model."""
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)
