"""Long-term memory for AI agents: one store, many processes, nothing lost.

`MemoryMesh` and `MemoryContextManager` are async; `memory_mesh.sync.MemoryMesh` and
`memory_mesh.sync.MemoryContextManager` are their blocking twins.
Importing this package loads nothing heavy: names are resolved on first use.
"""

from memory_mesh._version import __version__
from memory_mesh.base.masking import mask_with

TYPE_CHECKING = False  # type checkers take it for true; `typing` itself costs 8 ms
if TYPE_CHECKING:
    from memory_mesh.mesh.async_mesh import (
        AsyncMemoryContextManager as MemoryContextManager,
        AsyncMemoryMesh as MemoryMesh,
    )
    from memory_mesh.model import (
        BackupIsDamaged,
        BlockError,
        Closed,
        EmbeddingError,
        FilterError,
        ForbiddenAddress,
        Hit,
        IdempotencyConflict,
        InvalidInput,
        LLMError,
        MayBeStored,
        Memory,
        MeshError,
        MissingExtra,
        ModelError,
        NetworkError,
        NotAfterFork,
        NotAllowed,
        NotFound,
        NotRestorable,
        Outcome,
        Receipt,
        RequestRefused,
        RerankError,
        Scope,
        Skill,
        StorageFailed,
        StoreError,
        StoreIsAway,
        StoreIsBusy,
        StoreIsDamaged,
        StoreIsFull,
        StoreIsNewer,
        StoreIsReadOnly,
        StoreWasMoved,
        StoreWasReplaced,
        TextRefused,
        UnsafeFolder,
        VersionConflict,
        WritesAreMissing,
        WrongKey,
    )
    from memory_mesh.model.learning import LessonBlock, LessonContext

__all__ = [
    "BackupIsDamaged",
    "BlockError",
    "Closed",
    "EmbeddingError",
    "FilterError",
    "ForbiddenAddress",
    "Hit",
    "IdempotencyConflict",
    "InvalidInput",
    "LLMError",
    "LessonBlock",
    "LessonContext",
    "MayBeStored",
    "Memory",
    "MemoryContextManager",
    "MemoryMesh",
    "MeshError",
    "MissingExtra",
    "ModelError",
    "NetworkError",
    "NotAfterFork",
    "NotAllowed",
    "NotFound",
    "NotRestorable",
    "Outcome",
    "Receipt",
    "RequestRefused",
    "RerankError",
    "Scope",
    "Skill",
    "StorageFailed",
    "StoreError",
    "StoreIsAway",
    "StoreIsBusy",
    "StoreIsDamaged",
    "StoreIsFull",
    "StoreIsNewer",
    "StoreIsReadOnly",
    "StoreWasMoved",
    "StoreWasReplaced",
    "TextRefused",
    "UnsafeFolder",
    "VersionConflict",
    "WritesAreMissing",
    "WrongKey",
    "__version__",
]

_ERRORS = "memory_mesh.model.errors"
_HOMES = {
    "BackupIsDamaged": _ERRORS,
    "BlockError": _ERRORS,
    "Closed": _ERRORS,
    "EmbeddingError": _ERRORS,
    "FilterError": _ERRORS,
    "ForbiddenAddress": _ERRORS,
    "Hit": "memory_mesh.model",
    "IdempotencyConflict": _ERRORS,
    "VersionConflict": _ERRORS,
    "InvalidInput": _ERRORS,
    "LLMError": _ERRORS,
    "LessonBlock": "memory_mesh.model.learning",
    "LessonContext": "memory_mesh.model.learning",
    "MayBeStored": _ERRORS,
    "Memory": "memory_mesh.model",
    "MemoryContextManager": "memory_mesh.mesh.async_mesh:AsyncMemoryContextManager",
    "MemoryMesh": "memory_mesh.mesh.async_mesh:AsyncMemoryMesh",
    "MeshError": _ERRORS,
    "MissingExtra": _ERRORS,
    "ModelError": _ERRORS,
    "NetworkError": _ERRORS,
    "NotAfterFork": _ERRORS,
    "NotAllowed": _ERRORS,
    "NotFound": _ERRORS,
    "NotRestorable": _ERRORS,
    "Outcome": "memory_mesh.model",
    "Receipt": "memory_mesh.model",
    "RequestRefused": _ERRORS,
    "RerankError": _ERRORS,
    "Scope": "memory_mesh.model",
    "Skill": "memory_mesh.model",
    "StorageFailed": _ERRORS,
    "StoreError": _ERRORS,
    "StoreIsAway": _ERRORS,
    "StoreIsBusy": _ERRORS,
    "StoreIsDamaged": _ERRORS,
    "StoreIsFull": _ERRORS,
    "StoreIsNewer": _ERRORS,
    "StoreIsReadOnly": _ERRORS,
    "StoreWasMoved": _ERRORS,
    "StoreWasReplaced": _ERRORS,
    "TextRefused": _ERRORS,
    "UnsafeFolder": _ERRORS,
    "WritesAreMissing": _ERRORS,
    "WrongKey": _ERRORS,
}


def _mask(text: str) -> str:
    """No message and no record leaves with a secret (decision 0052); the rules are loaded late."""
    from memory_mesh.privacy import masked

    return masked(text)


mask_with(_mask)


def __getattr__(name: str) -> object:
    """Import a public name from its home when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'memory_mesh' has no attribute {name!r}")
    import importlib

    module, _, its_name = _HOMES[name].partition(":")
    return getattr(importlib.import_module(module), its_name or name)


def __dir__() -> list[str]:
    """The public names, whether loaded or not."""
    return sorted(__all__)
