"""Every error that memory-mesh raises on purpose.

::

    MeshError
    ├── InvalidInput            an argument is not valid
    │   ├── NotAllowed          this channel may not do what was asked
    │   ├── FilterError         a filter expression is not valid
    │   └── BlockError          a text is not a valid YAMO block
    ├── EmbeddingError          no embedder answered
    │   └── TextRefused         the embedder works but rejects this text
    ├── LLMError                the language model did not answer
    ├── RerankError             the reranker did not answer
    ├── MissingExtra            a package of an optional extra is not installed
    ├── NotAfterFork            the index library was loaded before this process was forked
    ├── ModelError              a model folder cannot be used
    ├── NetworkError            a service cannot be reached or its answer is not valid
    │   ├── RequestRefused      the service rejected the request
    │   └── ForbiddenAddress    the address of a request is not allowed
    ├── NotFound                no memory with that id is visible here
    ├── IdempotencyConflict     an idempotency key was used for another content
    ├── NotRestorable           the memory is not deleted, or was deleted too long ago
    ├── StoreError              the store cannot be used
    │   ├── StoreIsNewer        written by a newer memory-mesh
    │   ├── StoreIsBusy         another process held the lock for too long
    │   ├── StoreIsAway         the database server cannot be reached, or did not answer in time
    │   ├── MayBeStored         the connection ended during a write: stored whole or not at all
    │   ├── StoreIsFull         the disk refused the write
    │   ├── WrongKey            the key that the store was written with is not here
    │   ├── UnsafeFolder        the folder is on a network file system
    │   ├── StoreIsReadOnly     the folder cannot be written, only read
    │   ├── StoreWasMoved       the store or namespace is in another folder now
    │   ├── StoreIsDamaged      the file is not a ledger, or it is damaged
    │   │   ├── WritesAreMissing  acknowledged writes are gone: emptied, older, or its log is lost
    │   │   └── StoreWasReplaced  another file took the place of the namespace's own
    │   ├── BackupIsDamaged     a backup is not whole, or not what was written
    │   └── StorageFailed       a storage of the caller's own did not do what was asked
    └── Closed                  the mesh was closed
"""

from memory_mesh.base.installed import install_command
from memory_mesh.base.masking import masked

_LOOKED_AT = 10_000  # characters of a value that are masked for a message


def shown(value: object, most: int = 80) -> str:
    """The start of what a caller gave, for a message: masked first, then cut.

    Half a secret is none to the rules that would find the whole. A huge number has no text.
    """
    if isinstance(value, str):
        return repr(masked(value[:_LOOKED_AT])[:most])
    try:
        return masked(repr(value)[:_LOOKED_AT])[:most]
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that is too large to be shown"


class MeshError(Exception):
    """memory-mesh could not do what was asked."""

    def __init__(self, message: str | None = None) -> None:
        """Use the class's docstring as the default message; no message holds a secret.

        Many messages repeat what the caller gave, so all of them are masked here, where every one
        of them passes.
        """
        super().__init__(masked(message) if message else (self.__doc__ or "").strip())


class InvalidInput(MeshError):
    """An argument is not valid."""


class NotAllowed(InvalidInput):
    """This channel may not do what was asked."""


class FilterError(InvalidInput):
    """The filter expression is not valid."""


class BlockError(InvalidInput):
    """The text is not a valid YAMO block."""


class EmbeddingError(MeshError):
    """No embedder answered; search uses keywords. Install a model: memory-mesh models pull."""


class TextRefused(EmbeddingError):
    """The embedder rejected this text. The text is stored and can be found by keyword."""


class LLMError(MeshError):
    """The language model did not answer. The result was made without it."""


class RerankError(MeshError):
    """The reranker did not answer. The hits are in their usual order."""


class ModelError(MeshError):
    """The model folder cannot be used. Download the model again: memory-mesh models pull."""


class NetworkError(MeshError):
    """The service did not answer. Check that it is running and can be reached, then retry."""


class RequestRefused(NetworkError):
    """The service rejected the request. Check the model name, the key and the text."""


class ForbiddenAddress(NetworkError):
    """Requests to this address are not allowed."""


class MissingExtra(MeshError):
    """A package of an optional extra is not installed."""

    @classmethod
    def of(cls, extra: str, purpose: str) -> "MissingExtra":
        """Returns the error with the command that installs the extra."""
        return cls(f"{purpose} needs the extra: {install_command(extra)}")


class NotAfterFork(MeshError):
    """The index cannot be used in a process forked after its use; start processes by spawn."""


class NotFound(MeshError):
    """This memory was not found in the namespace. List its memories: memory-mesh list."""

    @classmethod
    def of(cls, memory_id: object) -> "NotFound":
        """Returns the error with the id; it does not tell whether others see such a memory."""
        return cls(
            f"there is no memory {shown(memory_id)} here: it was never stored, is deleted, or "
            "belongs to another user, project or namespace. List what is here: get_all(), or "
            "memory-mesh list (--store FOLDER if it is not the default one)"
        )


class IdempotencyConflict(MeshError):
    """This idempotency key was used for another content. Use a new key for a new memory."""


class VersionConflict(MeshError):
    """The memory has another version by now. Read it again, and decide anew."""


class NotRestorable(MeshError):
    """Only what was archived, or deleted within the last 30 days, can be restored."""


class StoreError(MeshError):
    """The store cannot be used."""


class StoreIsNewer(StoreError):
    """A newer memory-mesh wrote this store. Upgrade memory-mesh."""


class StoreIsBusy(StoreError):
    """Another process holds the namespace's lock. Retry, or look for a stopped process."""

    pid: int | None = None  # the holder's, if it is known
    since: str | None = None  # when it took the lock, ISO 8601

    @classmethod
    def held(
        cls,
        lock: str,
        *,
        pid: int | None,
        since: str | None,
        waited: float,
        stopped: bool = False,
        own: bool = False,
    ) -> "StoreIsBusy":
        """Returns the error that names the holder of a lock and says what to do."""
        who = "another process" if pid is None else f"process {pid}"
        who = f"another thread of this process ({pid})" if own else who
        when = "" if since is None else f" since {since}"
        do = "Retry, or set lock_wait_seconds to wait longer."
        if stopped:
            do = f"The process is stopped: continue it (kill -CONT {pid}) or end it."
        elif pid is None:
            do += " If it stays so, look for a stopped process."
        error = cls(
            f"{who} holds {lock}{when}; waited {_rounded(waited)} s, nothing was begun. {do}"
        )
        error.pid, error.since = pid, since
        return error


class StoreIsAway(StoreError):
    """The database server cannot be reached. Nothing was stored. Look whether it runs; retry."""


class MayBeStored(StoreError):
    """The connection ended during a write, which may be stored. Look before you write it again."""


class StoreIsFull(StoreError):
    """The disk is full; nothing was stored. Free some space and retry."""


class WrongKey(StoreError):
    """The key of this store is not here. Copy it back, or run: memory-mesh keys replace."""

    path: str | None = None  # where it was expected

    @classmethod
    def expected(
        cls, path: str, key_id: str, *, there: bool, variable: str, shared: bool = False
    ) -> "WrongKey":
        """Returns the error that says which key was expected where, and what to do.

        `shared` is a store in a database, which opens with no other key.
        """
        lost = (
            "The database opens with no other key"
            if shared
            else "If the key is lost for good, run: memory-mesh keys replace. What needs no key, "
            "such as list, get and verify, goes on without it"
        )
        seen = "that file has other keys" if there else "that file is not there"
        error = cls(
            f"this store was written with the key {key_id}, expected in {path}, and {seen}. Copy "
            f"the file back from its backup or from the home that wrote the store, or set "
            f"{variable} to the folder it is in. {lost}"
        )
        error.path = path
        return error


class UnsafeFolder(StoreError):
    """The folder is on a network file system, where SQLite's locks are not reliable."""


class StoreIsDamaged(StoreError):
    """The file is not a readable ledger. Run `memory-mesh verify` or restore a backup."""


class WritesAreMissing(StoreIsDamaged):
    """Acknowledged writes are gone. Restore a backup, or run `memory-mesh repair --accept-loss`."""


class StoreWasReplaced(StoreIsDamaged):
    """Another file took the namespace's place. Put its own back, or restore a backup."""


class StoreIsReadOnly(StoreError):
    """The store's folder cannot be written. Memories can be read, and none be stored."""


class StoreWasMoved(StoreError):
    """The store was moved to another folder. Use it there: --db-dir FOLDER."""


class BackupIsDamaged(StoreError):
    """The backup is not whole or was changed; nothing was restored. Restore another one."""


class StorageFailed(StoreError):
    """The storage of the caller's own failed. The memories are in this process: save them again."""


class Closed(MeshError):
    """This MemoryMesh is closed. Open a new one."""


def _rounded(seconds: float) -> str:
    """Seconds for a reader: to the hundredth below ten, else whole."""
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2f}".rstrip("0").rstrip(".")  # noqa: PLR2004
