"""What whole-store operations return."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from memory_mesh.base.typed import dataclass, field
from memory_mesh.model.block import Verification
from memory_mesh.model.memory import Status

HELD_BACK = "salvage:held-back"  # the project of memories whose audience nothing proves


@dataclass(frozen=True, slots=True)
class NamespaceCopy:
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
    namespaces: tuple[NamespaceCopy, ...]
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
    namespaces: tuple[NamespaceCopy, ...]
    erased: tuple[str, ...] = ()  # namespaces of the backup that were deleted since: left out
    memories_erased: int = 0  # memories of the backup that were erased since: left out
    missing: tuple[str, ...] = ()  # namespaces that the backup could not copy when it was made
    before: str | None = None  # the folder of the store that was there
    left_behind: tuple[str, ...] = ()  # namespaces of that store that the backup does not hold
    swept: tuple[str, ...] = ()  # what killed restores had left

    @property
    def ok(self) -> bool:
        """True when the backup held every namespace, and none that lacked writes."""
        return not self.missing and not any(kept.findings for kept in self.namespaces)


@dataclass(frozen=True, slots=True)
class DeletedNamespace:
    """A namespace that is gone from a store."""

    namespace: str
    memories: int | None  # None where its database could not be read
    files: int
    bytes: int
    noted: bool  # in the erasure file; not where a damaged database did not tell its identity
    left: tuple[str, ...] = ()  # what may still hold its words and is out of reach


class ErasureState(StrEnum):
    """How far an erasure has come."""

    PLANNED = "planned"  # nothing is changed
    HIDDEN = "hidden"  # no read shows it any more; bytes may still be there
    DONE = "done"  # a search through the bytes of all that we own found nothing


@dataclass(frozen=True, slots=True)
class Erasure:
    """The receipt of an erasure: what went, what is still waited for, and what is out of reach."""

    id: str
    state: ErasureState
    namespace: str
    memories: tuple[str, ...]  # that were asked for
    same: tuple[str, ...] = ()  # others with the same words, whoever sees them
    derived: tuple[str, ...] = ()  # that were made of them
    skills: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)  # rows, by table
    searched: int = 0  # bytes that were searched; nothing was found in them
    waits: tuple[str, ...] = ()  # what keeps it from being done
    left: tuple[str, ...] = ()  # what may still hold it and is out of reach
    block_id: str | None = None  # of the block of the chain that says so

    @property
    def done(self) -> bool:
        """True when nothing of it is left that we own."""
        return self.state is ErasureState.DONE

    @property
    def ids(self) -> tuple[str, ...]:
        """Every memory that went."""
        return (*self.memories, *self.same, *self.derived)


@dataclass(frozen=True, slots=True)
class NamespaceReview:
    """Namespaces of a store that were looked at, and why some do not open."""

    namespaces: int  # all of them
    seen: int
    wrong: Mapping[str, str]  # by name


@dataclass(frozen=True, slots=True)
class KeyState:
    """The keys of a store, without any secret."""

    path: str  # of the key file
    identity: str
    keys: tuple[tuple[str, str], ...]  # the id and the date of each, the oldest first
    recorded: tuple[str, ...]  # the ids that the store was written with
    missing: tuple[str, ...]  # recorded, and not in the key file
    problem: str | None = None  # why the store's key cannot be used
    stated_by: str | None = None  # the variable that states the keys of a database


@dataclass(frozen=True, slots=True)
class ReplacedKey:
    """A new key in the place of a lost one, and what no longer matches."""

    key: str  # the id of the new key
    path: str
    lost: tuple[str, ...]  # ids of keys that the store was written with and that are not here
    tombstones: int  # rejected values under keys of before
    placeholders: int  # texts that hold placeholders of before
    unread: tuple[str, ...] = ()  # namespaces that could not be counted


@dataclass(frozen=True, slots=True)
class Unread:
    """Rows that could not be taken over: of which table, which numbers, why, and of whom."""

    table: str
    first: int | None  # None: the numbers are not known
    last: int | None
    why: str
    memories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SalvagedChain:
    """What became of the audit chain: kept as it was, sealed anew, or lost."""

    kept: int  # blocks that are unchanged, from the first on
    sealed_anew: int = 0  # blocks behind a break
    lost: int = 0  # a block tells of one change
    breaks_at: int | None = None  # the first position that is missing or wrong
    newest: datetime | None = None  # when the newest change was made that is there


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A memory that was read and is not proven: it waits for review, and no read shows it."""

    id: str
    why: str
    said: str  # what its rows say of its status, audience and validity; it may be wrong
    status: Status = Status.QUARANTINED  # deleted, if it is sure that it was
    project: str | None = HELD_BACK  # its audience in the new store, and who may decide on it
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class SalvagedNamespace:
    """What was taken over of one namespace, what was not, and whether the result verifies."""

    namespace: str
    rows: Mapping[str, int]  # taken over, per table
    memories: int  # that are as they were: each is proven by a checksum, a hash or a block
    held_back: tuple[HeldBack, ...]  # memories that are in the new store and wait for review
    lost: tuple[str, ...]  # ids of memories whose text could not be read
    rebuilt: tuple[str, ...]  # what was made from other rows, in sentences
    unread: tuple[Unread, ...]
    chain: SalvagedChain
    verification: Verification
    leftovers: str | None = None  # the file with rows that were read and not taken over
    erased: int = 0  # memories that were read, and erased from the store since: left out

    @property
    def known(self) -> int:
        """How many memories the damaged file speaks of."""
        return self.memories + len(self.held_back) + len(self.lost)

    @property
    def complete(self) -> bool:
        """True when everything was read, nothing is held back and the new namespace verifies."""
        missing = self.unread or self.held_back or self.lost or self.chain.lost
        return not missing and self.verification.ok


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What `salvage` made of a store."""

    folder: str
    namespaces: tuple[SalvagedNamespace, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)  # namespaces, and why

    @property
    def complete(self) -> bool:
        """True when nothing was lost."""
        return not self.failed and all(each.complete for each in self.namespaces)


@dataclass(frozen=True, slots=True)
class Repaired:
    """What `repair` did to one namespace, in sentences, and what it could not mend."""

    namespace: str
    done: tuple[str, ...]
    verification: Verification
    lost: str | None = None  # acknowledged writes that are gone, if the loss was accepted

    @property
    def ok(self) -> bool:
        """True when nothing is wrong any more."""
        return self.verification.ok


@dataclass(frozen=True, slots=True)
class Exported:
    """An archive that was written: of which namespace, as of which block, how large."""

    file: str
    namespace: str
    memories: int
    position: int  # of the last block of the chain
    rows: int  # of all tables
    bytes: int
    sha256: str  # of the whole file
    with_vectors: bool
    vectors: int = 0  # that it carries


@dataclass(frozen=True, slots=True)
class Imported:
    """A namespace that came from an archive, and what no longer matches here."""

    namespace: str
    came_from: str  # the namespace that was exported
    memories: int
    position: int
    with_vectors: bool
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """A store or namespaces in a new folder, where the old files are kept, and what changed."""

    to: str
    namespaces: tuple[str, ...]
    kept: str  # the old folder or file under its new name
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What became of the rows of a file: how many by outcome, and why the first were refused."""

    outcomes: Mapping[str, int]
    reasons: tuple[str, ...] = ()
    format: str = ""  # what the file is, in words, or its ending
    users: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # outcomes of each user


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key of the service: what it is for, where it may do what, and until when."""

    id: str
    name: str
    grants: Mapping[str, str]  # of a namespace, user:NAME, user:* or *: a role, or scopes with +
    speaks_as: str  # user or agent: how far what it writes is trusted at most
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    last_used: datetime | None = None  # to the hour
    text: str | None = field(default=None, repr=False)  # what opens the service; shown once

    @property
    def ends(self) -> datetime | None:
        """When it is over: revoked, or at the end of its days."""
        return min((at for at in (self.expires, self.revoked) if at is not None), default=None)

    def is_over(self, now: datetime) -> bool:
        """Whether it opens nothing any more."""
        return self.ends is not None and self.ends <= now


# What a sync of one person's machines says.


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one sync did, and which files of the shared folder are not taken in, with why."""

    sent: int = 0  # changes
    received: int = 0  # memories that were written here
    erased: int = 0  # memories that were erased here because they were elsewhere
    refused: int = 0  # memories that a gate of this machine keeps out
    findings: tuple[str, ...] = ()
    altered: int = 0  # files that are not what their machine wrote


@dataclass(frozen=True, slots=True)
class SyncedMachine:
    """A machine that is paired: its name, its full key, and how many records came of it."""

    name: str
    key: str
    records: int
    own: bool = False
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """Where this machine stands."""

    name: str
    key: str  # to be given to the other machines
    folder: str
    machines: tuple[SyncedMachine, ...]
    memories: int  # that all records come to
    findings: tuple[str, ...] = ()
    altered: int = 0  # files that are not what their machine wrote


# A fleet of PostgreSQL servers.


@dataclass(frozen=True, slots=True)
class MovedPlace:
    """What a move did: how long it took, and how long writers had to wait in it."""

    place: str
    seconds: float
    pause: float
    dropped: bool  # the old copy; else somebody reads it still


@dataclass(frozen=True, slots=True)
class PlaceShown:
    """A place, where it is, and where it moves."""

    name: str
    server: str
    epoch: int
    state: str  # "" while nothing moves it
    bytes: int | None  # None: its server is away
    writes: int | None  # rows written, as the server counted since its start


@dataclass(frozen=True, slots=True)
class PlaceProposal:
    """A place that should be on another server."""

    place: str
    source: str
    target: str
