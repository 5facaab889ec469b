"""neolata's interface: `create_memory` makes an async `MemoryGraph`.

`memory_mesh.compat.neolata.memory_graph` has the blocking ones.
"""

from memory_mesh.compat.neolata.async_graph import AsyncMemoryGraph as MemoryGraph, create_memory
from memory_mesh.compat.neolata.hooks import (
    Writethrough,
    markdown_writethrough,
    webhook_writethrough,
)
from memory_mesh.compat.neolata.model import (
    GraphCluster,
    GraphConsolidation,
    GraphContext,
    GraphDecay,
    GraphDigest,
    GraphEpisode,
    GraphEvent,
    GraphExcluded,
    GraphExplain,
    GraphHit,
    GraphHits,
    GraphLink,
    GraphMemory,
    GraphMeta,
    GraphPacked,
    GraphPacking,
    GraphProvenance,
    GraphStep,
    GraphSupersession,
    GraphWhy,
    HookState,
)
from memory_mesh.compat.neolata.storage import GraphStorage, json_storage, memory_storage
from memory_mesh.compat.neolata.supabase_storage import supabase_storage
from memory_mesh.compat.neolata.translate import compute_trust, estimate_tokens
from memory_mesh.mesh.operation import by_other_names

__all__ = [
    "GraphCluster",
    "GraphConsolidation",
    "GraphContext",
    "GraphDecay",
    "GraphDigest",
    "GraphEpisode",
    "GraphEvent",
    "GraphExcluded",
    "GraphExplain",
    "GraphHit",
    "GraphHits",
    "GraphLink",
    "GraphMemory",
    "GraphMeta",
    "GraphPacked",
    "GraphPacking",
    "GraphProvenance",
    "GraphStep",
    "GraphStorage",
    "GraphSupersession",
    "GraphWhy",
    "HookState",
    "MemoryGraph",
    "Writethrough",
    "compute_trust",
    "create_memory",
    "estimate_tokens",
    "json_storage",
    "markdown_writethrough",
    "memory_storage",
    "supabase_storage",
    "webhook_writethrough",
]

__getattr__ = by_other_names(__name__, globals())  # createMemory, jsonStorage and so on
