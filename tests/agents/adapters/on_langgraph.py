"""A LangGraph graph as the contract drives it; as a command, another process that tells.

python -m tests.agents.adapters.on_langgraph FOLDER USER TEXT [USER TEXT ...]
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from memory_mesh.agents.adapters.langgraph import MeshStore
from memory_mesh.sync import MemoryMesh


class Turn(TypedDict):
    """The state of the graph: who says what, and what the node was given."""

    user: str
    text: str
    given: str


def node(state: Turn, runtime: Runtime[None]) -> dict[str, str]:
    """A node that searches the store for what was said, and puts what it shall remember."""
    store = runtime.store
    assert store is not None
    namespace = ("memories", state["user"])
    found = store.search(namespace, query=state["text"], limit=5)
    if state["text"].startswith("Remember"):
        store.put(namespace, key_of(state["text"]), {"text": state["text"]})
    return {"given": "\n".join(item.value["text"] for item in found)}


def key_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def graph_on(store: MeshStore) -> Any:
    return StateGraph(Turn).add_node("turn", node).add_edge(START, "turn").compile(store=store)


class OnLangGraph:
    """A compiled graph whose node reads and writes the store."""

    def __init__(self, mesh: MemoryMesh) -> None:
        self._store = MeshStore(mesh)
        self._graph = graph_on(self._store)

    def tell(self, user: str, text: str) -> None:
        self._graph.invoke({"user": user, "text": text})

    def ask(self, user: str, question: str) -> str:
        return str(self._graph.invoke({"user": user, "text": question})["given"])

    def forget(self, user: str, text: str) -> None:
        self._store.delete(("memories", user), key_of(text))


@contextmanager
def opened(folder: Path) -> Iterator[OnLangGraph]:
    with MemoryMesh(db_dir=folder) as mesh:
        yield OnLangGraph(mesh)


if __name__ == "__main__":
    folder, *told = sys.argv[1:]
    with opened(Path(folder)) as adapted:
        for user, text in zip(told[::2], told[1::2], strict=True):
            adapted.tell(user, text)
