"""Link two memories, and take a link away. Each change is one transaction and leaves a block."""

from collections.abc import Sequence

from memory_mesh.base.typed import replace
from memory_mesh.model import (
    Commit,
    InvalidInput,
    Json,
    Lens,
    Link,
    Memory,
    NotAllowed,
    Scope,
    Standing,
    Status,
    Wanted,
)
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import Change, change_entry, seen
from memory_mesh.write.rules.contradictions import may_alter

MOST_LINKS = 1_000  # of one memory that are read


def link(access: Access, wanted: Link, reader: Scope, reason: str) -> Link:
    """Links two visible memories; a link that is there already changes nothing."""
    if wanted.source == wanted.target:
        raise InvalidInput("a memory cannot be linked to itself")
    return _changed(access, wanted, reader, Change("link", reason), present=False)


def unlink(access: Access, wanted: Link, reader: Scope, reason: str) -> bool:
    """Takes a link away; False if there was none."""
    if not _known(access, wanted, reader, deleted=True):
        return False
    _changed(access, wanted, reader, Change("unlink", reason), present=True)
    return True


def check_may_link(access: Access, memory: Memory, standing: Standing) -> None:
    """Raises NotAllowed if this channel may not change what a memory is linked to."""
    if not may_alter(access.kind, memory, standing.history):
        raise NotAllowed(
            f"{memory.id} comes from a more trusted source than this channel may change, or is "
            "held by the user's pin or review, so this channel links nothing to it and takes no "
            "link of it away; ask the user to do it"
        )


def links(access: Access, memory_id: str, lens: Lens, types: Sequence[str] = ()) -> list[Link]:
    """The links from and to a memory whose two ends the lens sees, oldest first."""
    lens = replace(lens, statuses=frozenset(Status) - {Status.DELETED}, any_validity=True)
    with access.ledger.read(access.namespace) as snapshot:
        return snapshot.links([memory_id], lens, types, MOST_LINKS)


def _changed(access: Access, wanted: Link, reader: Scope, change: Change, *, present: bool) -> Link:
    """Adds the link, or removes it where it is present."""

    def decide(standing: Standing) -> Commit:
        for id_ in (wanted.source, wanted.target):
            check_may_link(access, seen(standing, id_, reader, deleted=present), standing)
        said: dict[str, Json] = {"target": wanted.target, "link": wanted.type}
        entry = change_entry(access, standing, wanted.source, change, said)
        if present:
            return Commit(unlinked=(wanted,), entries=(entry,))
        return Commit(links=(wanted,), entries=(entry,))

    if present or not _known(access, wanted, reader, deleted=False):
        access.ledger.commit(access.namespace, Wanted(ids=(wanted.source, wanted.target)), decide)
    return wanted


def _known(access: Access, wanted: Link, reader: Scope, *, deleted: bool) -> bool:
    """True if the link is there; NotFound where the reader does not see both ends."""
    ends = (wanted.source, wanted.target)
    with access.ledger.read(access.namespace) as snapshot:
        standing = snapshot.standing(Wanted(ids=ends))
        for id_ in ends:
            seen(standing, id_, reader, deleted=deleted)
        # a read is cut off; the other end may have fewer links
        read = (snapshot.links([id_], None, [wanted.type], MOST_LINKS) for id_ in ends)
        return any(wanted in found for found in read)
