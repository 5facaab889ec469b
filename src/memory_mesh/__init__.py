"""Long-term memory for AI agents: one store, many processes, nothing lost.

`MemoryMesh` and `MemoryContextManager` are async; `memory_mesh.sync.MemoryMesh` and
`memory_mesh.conversation.MemoryContextManager` are their blocking twins.
Importing this package loads nothing heavy: names are resolved on first use.
"""

from memory_mesh._version import __version__

TYPE_CHECKING = False  # type checkers take it for true; `typing` itself costs 8 ms
if TYPE_CHECKING:
    from memory_mesh._async.conversation import MemoryContextManager
    from memory_mesh._async.mesh import MemoryMesh
    from memory_mesh.errors import MeshError
    from memory_mesh.model import Hit, Memory, Outcome, Receipt, Scope, Skill
    from memory_mesh.model.lessons import LessonBlock, LessonContext

__all__ = [
    "Hit",
    "LessonBlock",
    "LessonContext",
    "Memory",
    "MemoryContextManager",
    "MemoryMesh",
    "MeshError",
    "Outcome",
    "Receipt",
    "Scope",
    "Skill",
    "__version__",
]

_HOMES = {
    "Hit": "memory_mesh.model",
    "LessonBlock": "memory_mesh.model.lessons",
    "LessonContext": "memory_mesh.model.lessons",
    "Memory": "memory_mesh.model",
    "MemoryContextManager": "memory_mesh._async.conversation",
    "MemoryMesh": "memory_mesh._async.mesh",
    "MeshError": "memory_mesh.errors",
    "Outcome": "memory_mesh.model",
    "Receipt": "memory_mesh.model",
    "Scope": "memory_mesh.model",
    "Skill": "memory_mesh.model",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home when it is first asked for."""
    if name not in _HOMES:
        message = f"module 'memory_mesh' has no attribute {name!r}"
        raise AttributeError(message)
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, whether loaded or not."""
    return sorted(__all__)
