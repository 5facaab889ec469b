"""Every deliberate error of memory-mesh.

::

    MeshError
    ├── InvalidInput            a value the caller handed in is not acceptable
    │   ├── FilterError         a search filter could not be understood
    │   └── BlockError          a YAMO block could not be read
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
