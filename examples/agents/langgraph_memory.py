"""Memory across the threads of a LangGraph graph, kept by memory-mesh.

    pip install '.[langgraph]'
    python examples/agents/langgraph_memory.py [FOLDER]

No key and no network: the "model" repeats what it was given. Run it twice on one folder, and the
second run knows from the start what the first was told.
"""

import sys
import tempfile
from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from memory_mesh.agents.adapters.langgraph import MeshStore
from memory_mesh.sync import MemoryMesh


class Turn(TypedDict, total=False):
    """Who says what, and the answer."""

    user: str
    said: str
    answer: str


def reply(state: Turn, runtime: Runtime[None]) -> Turn:
    """Search the user's memories, keep what the user wants kept, answer."""
    store = runtime.store
    if store is None:
        return {"answer": "I have no store."}
    memories = ("memories", state["user"])
    found = store.search(memories, query=state["said"], limit=3)
    if state["said"].startswith("I "):
        store.put(memories, state["said"], {"text": state["said"]})
    known = [item.value["text"] for item in found if item.score is not None]
    return {"answer": f"{state['user']}: {known}"}


def main() -> None:
    """Two users tell and ask."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = sys.argv[1] if len(sys.argv) > 1 else temporary
        with MemoryMesh(db_dir=folder) as mesh:
            graph = (
                StateGraph(Turn)
                .add_node("reply", reply)
                .add_edge(START, "reply")
                .compile(store=MeshStore(mesh))
            )
            for user, said in (
                ("ann", "I drink green tea"),
                ("bob", "I drink black coffee"),
                ("ann", "What do I drink?"),
                ("bob", "What do I drink?"),
            ):
                print(graph.invoke({"user": user, "said": said})["answer"])


if __name__ == "__main__":
    main()
