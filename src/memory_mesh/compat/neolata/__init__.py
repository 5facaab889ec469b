"""neolata's interface: `create_memory` makes an async `MemoryGraph`.

`memory_mesh.compat.neolata.memory_graph` has the blocking ones.
"""

from memory_mesh.compat.neolata._async import MemoryGraph, compute_trust, create_memory
from memory_mesh.compat.neolata.hooks import Writethrough
from memory_mesh.compat.neolata.json_storage import json_storage
from memory_mesh.compat.neolata.model import (
    GraphEvent,
    GraphExplain,
    GraphHit,
    GraphHits,
    GraphMemory,
    GraphMeta,
    GraphProvenance,
    HookState,
)
from memory_mesh.compat.neolata.storage import GraphStorage, memory_storage
from memory_mesh.compat.neolata.writethrough import markdown_writethrough, webhook_writethrough

__all__ = [
    "GraphEvent",
    "GraphExplain",
    "GraphHit",
    "GraphHits",
    "GraphMemory",
    "GraphMeta",
    "GraphProvenance",
    "GraphStorage",
    "HookState",
    "MemoryGraph",
    "Writethrough",
    "compute_trust",
    "create_memory",
    "json_storage",
    "markdown_writethrough",
    "memory_storage",
    "webhook_writethrough",
]
