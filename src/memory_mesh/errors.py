"""Every deliberate error of memory-mesh.

::

    MeshError
    ├── InvalidInput            a value the caller handed in is not acceptable
    │   ├── FilterError         a search filter could not be understood
    │   └── BlockError          a YAMO block could not be read
    ├── EmbeddingError          no embedder answered
    │   └── TextRefused         the embedder works, but does not take this text
    ├── LLMError                the language model did not answer
    ├── MissingExtra            a package that an extra brings is not installed
    ├── NotAfterFork            the index library was loaded before this process was forked
    ├── ModelError              a model folder cannot be used
    ├── NetworkError            a service did not answer as it should
    │   ├── RequestRefused      it does not take what it was asked
    │   └── ForbiddenAddress    a request would go where none may go
    ├── NotFound                no memory with that id is visible here
    ├── IdempotencyConflict     one key, two different contents
    ├── NotRestorable           the memory is not deleted, or for too long
    ├── StoreError              the store cannot be used
    │   ├── StoreIsNewer        written by a newer memory-mesh
    │   ├── StoreIsBusy         another process holds the lock for too long
    │   ├── StoreIsFull         the disk refused the write
    │   ├── UnsafeFolder        the folder is on a network file system
    │   └── StoreIsDamaged      the file is not a ledger, or is broken
    └── Closed                  the mesh was closed
"""


class MeshError(Exception):
    """Something went wrong in memory-mesh."""

    def __init__(self, message: str | None = None) -> None:
        """The class's docstring is the default message."""
        super().__init__(message or (self.__doc__ or "").strip())


class InvalidInput(MeshError):
    """That value is not acceptable."""


class FilterError(InvalidInput):
    """The filter could not be understood."""


class BlockError(InvalidInput):
    """The text is not a YAMO block."""


class EmbeddingError(MeshError):
    """No embedder answered. Search goes on by keyword; install a model: memory-mesh models pull."""


class TextRefused(EmbeddingError):
    """The embedder does not take this text. The text is stored and found by its words."""


class LLMError(MeshError):
    """The language model did not answer. What it was asked for is done without it."""


class ModelError(MeshError):
    """The model folder cannot be used. Fetch it anew: memory-mesh models pull."""


class NetworkError(MeshError):
    """The service did not answer. Check that it runs and can be reached, then try again."""


class RequestRefused(NetworkError):
    """The service does not take what it was asked."""


class ForbiddenAddress(NetworkError):
    """That address may not be asked."""


class MissingExtra(MeshError):
    """A package that is not always needed is not installed."""

    @classmethod
    def of(cls, extra: str, purpose: str) -> "MissingExtra":
        """The error that names the command which brings the extra."""
        return cls(f"{purpose} needs a package more: pip install 'memory-mesh[{extra}]'")


class NotAfterFork(MeshError):
    """The index does not work in a process forked after its use; start processes by spawn."""


class NotFound(MeshError):
    """There is no such memory in this namespace. List what is there: memory-mesh list."""


class IdempotencyConflict(MeshError):
    """This idempotency key was used for another content. Use a new key for a new memory."""


class NotRestorable(MeshError):
    """Only a memory deleted within the last 30 days can be restored."""


class StoreError(MeshError):
    """The store cannot be used."""


class StoreIsNewer(StoreError):
    """The store was written by a newer memory-mesh. Upgrade: pip install -U memory-mesh."""


class StoreIsBusy(StoreError):
    """Another process holds the namespace's lock. Try again, or look for a stuck process."""


class StoreIsFull(StoreError):
    """The disk refused the write; nothing was stored. Free some space and try again."""


class UnsafeFolder(StoreError):
    """The folder is on a network file system, where SQLite's locks do not hold."""


class StoreIsDamaged(StoreError):
    """The file is not a readable ledger. Run `memory-mesh verify` and restore a backup."""


class Closed(MeshError):
    """This MemoryMesh was closed. Open a new one."""
