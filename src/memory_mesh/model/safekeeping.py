"""What whole-store operations return."""

from memory_mesh.fastdataclass import dataclass


@dataclass(frozen=True, slots=True)
class Kept:
    """One namespace of a backup: which it is, and where it stood when it was copied."""

    namespace: str
    identity: str  # of its file: a namespace made anew has another
    schema: int
    seq: int
    position: int  # of the chain's last block
    hash: str  # of that block, hexadecimal
    findings: tuple[str, ...] = ()  # what is wrong with the copy, as `verify` says it


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made."""

    folder: str
    store: str | None  # the identity of the store
    made: str
    bytes: int
    namespaces: tuple[Kept, ...]
    missing: tuple[tuple[str, str], ...] = ()  # namespaces that could not be copied, each with why
    removed: tuple[str, ...] = ()  # older backups
    swept: tuple[str, ...] = ()  # what killed backups had left

    @property
    def ok(self) -> bool:
        """True when every namespace is in it and nothing is wrong with any."""
        return not self.missing and not any(kept.findings for kept in self.namespaces)


@dataclass(frozen=True, slots=True)
class Restored:
    """A store that was restored."""

    folder: str
    source: str
    namespaces: tuple[Kept, ...]
    erased: tuple[str, ...] = ()  # namespaces of the backup that were deleted since: left out
    missing: tuple[str, ...] = ()  # namespaces that the backup could not copy when it was made
    before: str | None = None  # the folder of the store that was there
    swept: tuple[str, ...] = ()  # what killed restores had left
