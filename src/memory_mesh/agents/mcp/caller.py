"""One call of a tool: who asks, through which channel, and what the host's session has seen."""

from collections.abc import Iterable, Mapping

from memory_mesh.agents.opening import Stores
from memory_mesh.agents.sessions import Session, session_of_parents
from memory_mesh.base.typed import Any
from memory_mesh.model import Channel
from memory_mesh.sync import MemoryMesh


class ToolCall:
    """A request of an agent, with the views of the store that it may use."""

    def __init__(self, stores: Stores, request: Mapping[str, Any]) -> None:
        """Open nothing yet."""
        self._stores, self._request = stores, request
        self._session: Session | None = None
        self._looked = False

    @property
    def key(self) -> str:
        """The idempotency key of what the call stores: a call that is repeated has the same."""
        return f"mcp-{self._request['id']}"

    def mesh(self, channel: Channel = Channel.MCP) -> MemoryMesh:
        """The memories as the agent sees them; by default an agent speaks, not the user."""
        return self._stores.mesh_for(self._request, channel=channel)

    def channel_of(self, text: str) -> Channel:
        """The user's own channel for what stands in a prompt of this session, else the agent's."""
        session = self._host_session()
        return Channel.HOOK if session is not None and session.has_seen(text) else Channel.MCP

    def hides(self, texts: Iterable[str]) -> bool:
        """Whether one of the texts repeats a word that the user marked as private."""
        session = self._host_session()
        return session is not None and any(session.hides(text) for text in texts)

    def gave(self, ids: Iterable[str]) -> None:
        """Tells the host's session what its agent was given, so that no hook gives it again."""
        if (session := self._host_session()) is not None:
            session.give(list(ids))

    def stored(self, id_: str | None) -> None:
        """Tells the host's session what its agent stored."""
        if id_ is not None and (session := self._host_session()) is not None:
            session.stored([id_])

    def _host_session(self) -> "Session | None":
        """The session of the host that started this front, if its hooks are installed."""
        if not self._looked:
            self._looked = True
            asked = self._request
            self._session = session_of_parents(
                asked["store"], asked["parents"], asked["environment"]
            )
        return self._session
