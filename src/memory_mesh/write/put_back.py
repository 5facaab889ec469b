"""Puts memories back that another storage kept, exactly as they were, into an empty place.

Nothing is judged: whoever keeps them has them from a store that judged them. Their texts are
redacted and embedded like any other, and each slice is one transaction that leaves blocks.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from memory_mesh.base.typed import dataclass, fields, replace
from memory_mesh.model import (
    Commit,
    Conflict,
    Draft,
    Entry,
    Json,
    Link,
    Memory,
    Observation,
    Outcome,
    Put,
    Standing,
    Statement,
    Status,
    Wanted,
    Wording,
)
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.rules.arguments import WRITE_SLICE
from memory_mesh.rules.trust import ceiling, is_authoritative
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import Change, change_entry
from memory_mesh.write.prepare import clean, embed, redact, redact_conflict

REASON = "it was loaded from the caller's storage"
_CHANGE = Change("restore", REASON)
_STATED = tuple(field.name for field in fields(Statement))


@dataclass(frozen=True, slots=True)
class StorageContents:
    """What another storage kept: memories, who said each, links, and conflicts (id "": new)."""

    memories: Sequence[tuple[Memory, Sequence[str]]] = ()
    links: Sequence[Link] = ()
    conflicts: Sequence[Conflict] = ()


def bring_back(access: Access, kept: StorageContents) -> int:
    """Writes all of it and returns the number of memories; raises before the first if one is here.

    A successor, a link or a conflict that names a memory which is not among them is left out.
    """
    known = {memory.id for memory, _ in kept.memories}
    _refuse_known(access, [memory.id for memory, _ in kept.memories])
    for start in range(0, len(kept.memories), WRITE_SLICE):
        _put_slice(access, kept.memories[start : start + WRITE_SLICE], known)
    links = [link for link in kept.links if {link.source, link.target} <= known]
    conflicts = [each for each in kept.conflicts if {each.new, each.existing} <= known]
    for start in range(0, max(len(links), len(conflicts)), WRITE_SLICE):
        part = slice(start, start + WRITE_SLICE)
        _join(access, links[part], conflicts[part])
    return len(kept.memories)


def _refuse_known(access: Access, ids: Sequence[str]) -> None:
    taken = Counter(ids)
    with access.ledger.read(access.namespace) as snapshot:
        for start in range(0, len(ids), WRITE_SLICE):
            wanted = Wanted(ids=tuple(ids[start : start + WRITE_SLICE]))
            taken.update(snapshot.standing(wanted).memories)
    twice = [id_ for id_ in ids if taken[id_] > 1]
    if twice:
        raise InvalidInput(
            f"the storage has the id {shown(twice[0], 100)} twice; an id belongs to one memory "
            "of one agent. Give one of them another id"
        )


def _put_slice(
    access: Access, kept: Sequence[tuple[Memory, Sequence[str]]], known: set[str]
) -> None:
    drafts = [Draft(**{name: getattr(memory, name) for name in _STATED}) for memory, _ in kept]
    worded = embed(access, [clean(access, draft) for draft in drafts], news=[True] * len(drafts))

    def decide(standing: Standing) -> Commit:
        puts, seen, entries = list[Put](), list[Observation](), list[Entry]()
        for (memory, origins), (draft, wording) in zip(kept, worded, strict=True):
            back = replace(
                memory,
                **{name: getattr(draft, name) for name in _STATED},
                created=min(memory.created, standing.at),
                recorded_from=min(memory.recorded_from, standing.at),
                successor=memory.successor if memory.successor in known else None,
            )
            puts.append(Put(back, wording, (REASON,)))
            seen += _observed(access, back, wording, origins)
            told: dict[str, Json] = {"content_sha256": wording.hash.hex()}
            entries.append(change_entry(access, standing, back.id, _CHANGE, told))
        return Commit(puts=tuple(puts), observations=tuple(seen), entries=tuple(entries))

    access.ledger.commit(access.namespace, Wanted(), decide)


def _observed(
    access: Access, memory: Memory, wording: Wording, origins: Iterable[str]
) -> list[Observation]:
    waits = memory.status is Status.QUARANTINED
    outcome = Outcome.QUARANTINED if waits else Outcome.STORED
    source = memory.source
    name = f"{source.channel}:{access.agent}"
    if is_authoritative(ceiling(source.channel)):
        name = source.ref or source.agent or name
    names = [redact(access, each) for each in origins] or [name]
    return [
        Observation(memory.id, wording.hash, outcome, name, reasons=(REASON,)) for name in names
    ]


def _join(access: Access, links: Sequence[Link], conflicts: Sequence[Conflict]) -> None:
    """Writes links and conflicts between memories that are there by now."""

    def decide(standing: Standing) -> Commit:
        about = links[0].source if links else conflicts[0].new
        return Commit(
            links=tuple(links),
            conflicts=tuple(
                redact_conflict(access, each)
                if each.id
                else replace(redact_conflict(access, each), id=access.ids.draw("conflict"))
                for each in conflicts
            ),
            entries=(change_entry(access, standing, about, _CHANGE, {}),),
        )

    access.ledger.commit(access.namespace, Wanted(), decide)
