"""neolata's `MemoryGraph`, awaited: the methods of the blocking one, each run in a thread."""

from collections.abc import Sequence
from os import PathLike
from types import TracebackType

from memory_mesh.base.typed import Self, Unpack
from memory_mesh.compat.neolata import memory_graph
from memory_mesh.compat.neolata.hooks import Handler, Writethrough
from memory_mesh.compat.neolata.storage import GraphStorage
from memory_mesh.mesh.async_threads import AwaitedOnly, Threads, awaited, not_awaited
from memory_mesh.mesh.operation import CamelCaseNames, constructor, takes_options
from memory_mesh.mesh.options import MeshOptions


class AsyncMemoryGraph(CamelCaseNames, AwaitedOnly):
    """Memories of agents as neolata has them, awaited: `memory_mesh.compat.neolata.MemoryGraph`."""

    _blocking = "compat.neolata.memory_graph"
    _sync: memory_graph.MemoryGraph

    @constructor
    def __init__(
        self,
        *,
        predicate_schemas: memory_graph.Schemas | None = None,
        storage: GraphStorage | None = None,
        writethrough: Sequence[Writethrough | Handler] = (),
        store: str | PathLike[str] | None = None,
        **options: Unpack[MeshOptions],
    ) -> None:
        """Take what the blocking class takes; nothing is opened before the first use.

        Options:
            predicate_schemas: how predicates behave, by name.
            storage: an object that keeps the memories, instead of a store of our own.
            writethrough: hooks that hear of writes: objects with events, or functions.
            store: a folder, sqlite:///FOLDER or postgresql://USER@HOST/DATABASE.
        """
        self._sync = memory_graph.MemoryGraph(
            predicate_schemas=predicate_schemas,
            storage=storage,
            writethrough=writethrough,
            store=store,
            **options,
        )
        self._threads = Threads()

    async def __aenter__(self) -> Self:
        """Open the store."""
        await self._threads.run(self._sync.__enter__)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        await self._threads.run_last(self._sync.__exit__, kind, error, trace)

    async def close(self) -> None:
        """Close the store."""
        await self._threads.run_last(self._sync.close)

    on = not_awaited(memory_graph.MemoryGraph.on)
    off = not_awaited(memory_graph.MemoryGraph.off)
    hook_states = not_awaited(memory_graph.MemoryGraph.hook_states)
    store = awaited(memory_graph.MemoryGraph.store)
    store_many = awaited(memory_graph.MemoryGraph.store_many)
    ingest = awaited(memory_graph.MemoryGraph.ingest)
    links = awaited(memory_graph.MemoryGraph.links)
    traverse = awaited(memory_graph.MemoryGraph.traverse)
    path = awaited(memory_graph.MemoryGraph.path)
    clusters = awaited(memory_graph.MemoryGraph.clusters)
    evolve = awaited(memory_graph.MemoryGraph.evolve)
    search = awaited(memory_graph.MemoryGraph.search)
    search_many = awaited(memory_graph.MemoryGraph.search_many)
    context = awaited(memory_graph.MemoryGraph.context)
    explain_memory = awaited(memory_graph.MemoryGraph.explain_memory)
    explain_supersession = awaited(memory_graph.MemoryGraph.explain_supersession)
    reinforce = awaited(memory_graph.MemoryGraph.reinforce)
    dispute = awaited(memory_graph.MemoryGraph.dispute)
    list_quarantined = awaited(memory_graph.MemoryGraph.list_quarantined)
    review_quarantine = awaited(memory_graph.MemoryGraph.review_quarantine)
    conflicts = awaited(memory_graph.MemoryGraph.conflicts)
    pending_conflicts = awaited(memory_graph.MemoryGraph.pending_conflicts)
    resolve_conflict = awaited(memory_graph.MemoryGraph.resolve_conflict)
    decay = awaited(memory_graph.MemoryGraph.decay)
    auto_compress = awaited(memory_graph.MemoryGraph.auto_compress)
    consolidate = awaited(memory_graph.MemoryGraph.consolidate)
    create_episode = awaited(memory_graph.MemoryGraph.create_episode)
    add_to_episode = awaited(memory_graph.MemoryGraph.add_to_episode)
    remove_from_episode = awaited(memory_graph.MemoryGraph.remove_from_episode)
    episode = awaited(memory_graph.MemoryGraph.episode)
    episodes = awaited(memory_graph.MemoryGraph.episodes)
    summarize_episode = awaited(memory_graph.MemoryGraph.summarize_episode)
    wait_for_hooks = awaited(memory_graph.MemoryGraph.wait_for_hooks)
    save = awaited(memory_graph.MemoryGraph.save)


create_memory = takes_options(AsyncMemoryGraph)  # as neolata calls it
