"""neolata's interface: `create_memory` makes an async `MemoryGraph`.

`memory_mesh.compat.neolata.memory_graph` has the blocking ones.
"""

from memory_mesh.compat.neolata._async import MemoryGraph, compute_trust, create_memory
from memory_mesh.compat.neolata.model import (
    GraphExplain,
    GraphHit,
    GraphHits,
    GraphMemory,
    GraphMeta,
    GraphProvenance,
)

__all__ = [
    "GraphExplain",
    "GraphHit",
    "GraphHits",
    "GraphMemory",
    "GraphMeta",
    "GraphProvenance",
    "MemoryGraph",
    "compute_trust",
    "create_memory",
]
