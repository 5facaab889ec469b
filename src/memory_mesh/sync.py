"""The blocking `MemoryMesh` and `MemoryContextManager`; those of `memory_mesh` are async."""

from memory_mesh.mesh.mesh import MemoryMesh

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from memory_mesh.mesh.conversation import MemoryContextManager

__all__ = ["MemoryContextManager", "MemoryMesh"]


def __getattr__(name: str) -> object:
    """Load the class for conversations when it is first asked for."""
    if name != "MemoryContextManager":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from memory_mesh.mesh.conversation import MemoryContextManager

    return MemoryContextManager
