"""The blocking mesh behind what a caller hands to an adapter."""

from memory_mesh.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh


def blocking(mesh: "MemoryMesh | AsyncMesh") -> MemoryMesh:
    """Returns a blocking mesh as it is, and the one behind an async mesh."""
    found = getattr(mesh, "_sync", mesh)
    if not isinstance(found, MemoryMesh):
        raise InvalidInput(
            f"an adapter needs a MemoryMesh, not {type(mesh).__name__}; open one with "
            "memory_mesh.sync.MemoryMesh(db_dir=...)"
        )
    return found
