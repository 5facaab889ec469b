"""What a storage of the caller's own must do, and one that lives in memory.

While a graph runs, a SQLite store in a temporary folder is the truth. An agent's memories are
loaded from the storage when the agent is first named, and given to it as a whole after each write.
"""

import json
import threading
from collections.abc import Collection, Mapping, Sequence

from memory_mesh.model import Json
from memory_mesh.typed import Protocol, TypeAlias

Rows: TypeAlias = Sequence[Mapping[str, Json]]
Data: TypeAlias = Mapping[str, Rows]  # memories and links
# A storage may have these too; what they hold is in the rows of the memories as well.
OPTIONAL = (
    "load_episodes", "save_episodes", "load_clusters", "save_clusters", "load_pending_conflicts",
    "save_pending_conflicts", "agents", "close",
)  # fmt: skip


class GraphStorage(Protocol):
    """Keeps the memories of agents as rows of JSON.

    It may also have `load_episodes(agent)` and `save_episodes(agent, rows)`, the same for
    `clusters` and `pending_conflicts`, `agents()` with the names of all agents it has memories of,
    and `close()`. One graph uses it at a time, and calls it from one thread at a time.
    """

    def load(self, agent: str) -> Data | None:
        """The memories and links of an agent; None where there are none."""

    def save(self, agent: str, data: Data) -> None:
        """Keep these memories and links of an agent instead of those it had."""

    def archive(self, agent: str, ids: Collection[str]) -> None:
        """Move these memories of an agent out of what `load` returns."""


class MemoryStorage:
    """Keeps everything in this object; gone when it is gone. For tests."""

    def __init__(self) -> None:
        """Start empty."""
        self._kept: dict[tuple[str, str], str] = {}  # JSON, so that nobody holds what is kept
        self._lock = threading.Lock()

    def agents(self) -> list[str]:
        """The agents that have memories here."""
        with self._lock:
            return sorted({agent for agent, name in self._kept if name == "memories"})

    def load(self, agent: str) -> Data | None:
        """The memories and links of an agent."""
        return {"memories": self._get(agent, "memories"), "links": self._get(agent, "links")}

    def save(self, agent: str, data: Data) -> None:
        """Keep these instead of those it had."""
        for name in ("memories", "links"):
            self._put(agent, name, data[name])

    def archive(self, agent: str, ids: Collection[str]) -> None:
        """Move memories to `archived(agent)`."""
        memories, gone = self._get(agent, "memories"), frozenset(ids)
        self._put(agent, "memories", [row for row in memories if row["id"] not in gone])
        earlier = [row for row in self.archived(agent) if row["id"] not in gone]
        self._put(agent, "archive", [*earlier, *(row for row in memories if row["id"] in gone)])

    def archived(self, agent: str) -> Rows:
        """What was archived of an agent."""
        return self._get(agent, "archive")

    def load_episodes(self, agent: str) -> Rows:
        """The episodes of an agent."""
        return self._get(agent, "episodes")

    def save_episodes(self, agent: str, rows: Rows) -> None:
        """Keep these episodes."""
        self._put(agent, "episodes", rows)

    def load_clusters(self, agent: str) -> Rows:
        """The labelled clusters of an agent."""
        return self._get(agent, "clusters")

    def save_clusters(self, agent: str, rows: Rows) -> None:
        """Keep these clusters."""
        self._put(agent, "clusters", rows)

    def load_pending_conflicts(self, agent: str) -> Rows:
        """The conflicts of an agent's memories that wait for a decision."""
        return self._get(agent, "pending_conflicts")

    def save_pending_conflicts(self, agent: str, rows: Rows) -> None:
        """Keep these conflicts."""
        self._put(agent, "pending_conflicts", rows)

    def _get(self, agent: str, name: str) -> list[dict[str, Json]]:
        with self._lock:
            found: list[dict[str, Json]] = json.loads(self._kept.get((agent, name), "[]"))
        return found

    def _put(self, agent: str, name: str, rows: Rows) -> None:
        text = json.dumps(list(rows))
        with self._lock:
            self._kept[agent, name] = text


def memory_storage() -> MemoryStorage:
    """A storage that lives as long as the object, for tests."""
    return MemoryStorage()
