"""What a storage of the caller's own must do, and one that lives in memory.

While a graph runs, a SQLite store in a temporary folder is the truth. An agent's memories are
loaded from the storage when the agent is first named, and given to it as a whole after each write.
"""

import json
import os
import re
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import Protocol, TypeAlias
from memory_mesh.formats import json_text
from memory_mesh.mesh.operation import takes_options
from memory_mesh.model import Closed, InvalidInput, Json, StoreIsBusy, StoreIsDamaged
from memory_mesh.platform.durable_files import write_atomically
from memory_mesh.platform.locks import locked
from memory_mesh.platform.system import make_folder

_PREFIX = "agent-"
_PLAIN = re.compile(r"[a-z0-9_-]")  # what every file system tells apart
_CODE = re.compile(r"%([0-9a-f]{2})")
_BUSY = (
    "{} is used by another process or graph. JSON files have one writer: close the other one, or "
    "keep the memories in a store of our own (db_dir), which many processes can share"
)

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


# A storage of JSON files: one folder per agent, one file per sort of thing.
#
# ::
#
#     dir/.lock                   one process and one graph at a time
#     dir/agent-kuro/memories.json, links.json, archive.json,
#                    episodes.json, clusters.json, pending_conflicts.json
#
# A file is written as a whole and replaced in one step, so a kill leaves the old or the new one.
# The cost of a write grows with the agent's memories: this is for development, for one agent and
# for small stores. A store of our own (`db_dir`) has none of these limits.


@takes_options
def json_storage(*, dir: str | PathLike[str]) -> "JsonStorage":  # noqa: A002  # neolata's name
    """A storage that keeps memories in JSON files of a folder.

    Options:
        dir: the folder; it is made at the first use, and locked until the graph is closed.
    """
    return JsonStorage(Path(dir))


class JsonStorage:
    """Keeps memories in JSON files."""

    def __init__(self, folder: Path) -> None:
        """Take the folder; nothing is opened before the first use."""
        self._folder = folder.expanduser().absolute()
        self._held: ExitStack | None = None
        self._owner = 0  # the process that holds the lock
        self._closed = False
        self._written: dict[Path, bytes] = {}  # digests of what was written last
        self._lock = threading.RLock()

    def agents(self) -> list[str]:
        """The agents that have a folder here."""
        folders = (path.name for path in self._opened().iterdir() if path.is_dir())
        return sorted(
            _CODE.sub(lambda code: chr(int(code[1], 16)), name.removeprefix(_PREFIX))
            for name in folders
            if name.startswith(_PREFIX)
        )

    def load(self, agent: str) -> Data | None:
        """The memories and links of an agent."""
        return {"memories": self._read(agent, "memories"), "links": self._read(agent, "links")}

    def save(self, agent: str, data: Data) -> None:
        """Replace the file of memories, then that of links."""
        for name in ("memories", "links"):
            self._write(agent, name, data[name])

    def archive(self, agent: str, ids: Collection[str]) -> None:
        """Move memories to the archive; a kill in between leaves them in both files."""
        memories, gone = self._read(agent, "memories"), frozenset(ids)
        moved = [row for row in memories if row.get("id") in gone]
        earlier = [row for row in self._read(agent, "archive") if row.get("id") not in gone]
        self._write(agent, "archive", [*earlier, *moved])
        self._write(agent, "memories", [row for row in memories if row.get("id") not in gone])

    def load_episodes(self, agent: str) -> Rows:
        """The episodes of an agent."""
        return self._read(agent, "episodes")

    def save_episodes(self, agent: str, rows: Rows) -> None:
        """Replace the file of episodes."""
        self._write(agent, "episodes", rows)

    def load_clusters(self, agent: str) -> Rows:
        """The labelled clusters of an agent."""
        return self._read(agent, "clusters")

    def save_clusters(self, agent: str, rows: Rows) -> None:
        """Replace the file of clusters."""
        self._write(agent, "clusters", rows)

    def load_pending_conflicts(self, agent: str) -> Rows:
        """The conflicts of an agent's memories that wait for a decision."""
        return self._read(agent, "pending_conflicts")

    def save_pending_conflicts(self, agent: str, rows: Rows) -> None:
        """Replace the file of conflicts that wait."""
        self._write(agent, "pending_conflicts", rows)

    def close(self) -> None:
        """Let go of the folder."""
        with self._lock:
            held, self._held, self._closed = self._held, None, True
        if held is not None:
            held.close()

    def _opened(self) -> Path:
        """The folder, made and locked."""
        with self._lock:
            if self._closed:
                raise Closed("this JSON storage is closed; make a new one")
            if self._held is None:
                make_folder(self._folder)
                stack = ExitStack()
                if not stack.enter_context(locked(self._folder / ".lock", wait=False)):
                    stack.close()
                    raise StoreIsBusy(_BUSY.format(self._folder))
                self._held, self._owner = stack, os.getpid()
            elif self._owner != os.getpid():  # the lock is the parent's
                raise StoreIsBusy(_BUSY.format(self._folder))
            return self._folder

    def _file(self, agent: str, name: str) -> Path:
        """Where something of an agent is; no name of an agent leads out of the folder."""
        coded = "".join(each if _PLAIN.match(each) else f"%{ord(each):02x}" for each in agent)
        folder = self._opened() / f"{_PREFIX}{coded}"
        if folder.is_symlink():
            raise InvalidInput(f"{folder} is a link; links are not followed")
        return folder / f"{name}.json"

    def _read(self, agent: str, name: str) -> list[dict[str, Json]]:
        path = self._file(agent, name)
        try:
            found = json_text.read(path.read_bytes())
        except FileNotFoundError:
            return []
        except json_text.JsonFault as error:
            raise _damaged(path, str(error)) from None
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise _damaged(path, "it is not a list of objects")
        return found

    def _write(self, agent: str, name: str, rows: Rows) -> None:
        """One row per line, so that states can be compared; what is the same is not written."""
        path = self._file(agent, name)
        make_folder(path.parent)
        lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        data = f"[\n{lines}\n]\n".encode()
        digest = sha256(data).digest()
        if self._written.get(path) != digest or not path.exists():
            write_atomically(path, data, private=True)
            self._written[path] = digest


def _damaged(path: Path, why: str) -> StoreIsDamaged:
    return StoreIsDamaged(
        f"{path} cannot be read: {why}. Nothing was changed. Repair the file, or move it away to "
        "start without it"
    )
