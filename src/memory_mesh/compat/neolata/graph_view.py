"""What every method of `MemoryGraph` stands on: the mesh, its lenses, and what follows a write."""

from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.hooks import EVENTS, Hooks
from memory_mesh.compat.neolata.keeper import Keeper
from memory_mesh.compat.neolata.model import GraphEvent, GraphMemory
from memory_mesh.config import NO_AGENT
from memory_mesh.mesh.operation import CamelCaseNames, DocumentOperation, Operations
from memory_mesh.mesh.operations.agent_store import KeepingVerbs
from memory_mesh.model import Conflict, Lens, Memory, NotFound, Outcome, Receipt, Scope, Status
from memory_mesh.model.ports import Snapshot
from memory_mesh.rules.trust import AUDIENCE
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.access import Access

EVENT_OF = {
    Status.SUPERSEDED: "supersede",
    Status.QUARANTINED: "quarantine",
    Status.ARCHIVED: "archive",
}


class GraphMesh(KeepingVerbs, MemoryMesh):
    """The mesh under a graph."""

    def _access(self) -> Access:
        return replace(super()._access(), keeps_importance=True)


@dataclass(frozen=True, slots=True)
class Happened:
    """That a write did something to a memory."""

    event: str
    id: str
    reason: str


class GraphView(CamelCaseNames, Operations):
    """A mesh as neolata's agents read and write it."""

    _operation = DocumentOperation
    _mesh: GraphMesh
    _hooks: Hooks
    _keeper: Keeper | None

    def _view(
        self,
        agent: str | None,
        session: str | None,
        statuses: Iterable[Status],
        *,
        as_owner: bool = False,
    ) -> Lens:
        """What an agent sees; without one what this graph sees."""
        named = None if agent is None else translate.agent_name(agent)
        self._load(named)
        across: Iterable[str] = () if named is not None else self._across()
        if as_owner:
            across = AUDIENCE if named is None else AUDIENCE - {"agent"}
        lens = self._mesh._lens(Scope(agent=named, session=session), across=across)
        return replace(lens, statuses=frozenset(statuses))

    def _whole(self, *, as_owner: bool = False) -> Lens:
        """Everything that this graph sees, for verbs that are given an id."""
        across = self._across()
        if across and self._mesh.config.session is None:
            across |= {"session"}
        lens = self._mesh._lens(None, across=AUDIENCE if as_owner else across)
        return replace(lens, statuses=translate.VISIBLE, any_validity=True)

    def _across(self) -> frozenset[str]:
        """A graph with an agent of its own reads as that agent, another for all of its agents."""
        own = self._mesh.config.agent_id != NO_AGENT
        return frozenset() if own else frozenset({"agent"})

    def _load(self, agent: str | None) -> None:
        """Have an agent's memories here, or those of every agent that the storage lists."""
        if self._keeper is not None:
            self._keeper.load(agent)

    def _held(self, memory_id: str, *, as_owner: bool = False) -> Memory:
        found = self._found([memory_id], as_owner=as_owner)
        if not found and self._keeper is not None:
            self._keeper.load(None)
            found = self._found([memory_id], as_owner=as_owner)
            if not found and not self._keeper.can_list():
                raise NotFound(
                    "this memory was not found among the agents in use. The storage has no "
                    "agents(), so name its agent first, for example by a search"
                )
        if not found:
            raise NotFound.of(memory_id)
        return found[0]

    def _reader(self, memory_id: str, *, as_owner: bool = False) -> Scope:
        """A reader of a memory that this graph sees."""
        return self._held(memory_id, as_owner=as_owner).scope

    def _found(self, ids: Sequence[str], *, as_owner: bool = False) -> list[Memory]:
        with self._mesh._read() as snapshot:
            return snapshot.get(ids, self._whole(as_owner=as_owner))

    def _one(self, memory: Memory) -> GraphMemory:
        return self._shown([memory])[0]

    def _shown(self, memories: Sequence[Memory]) -> list[GraphMemory]:
        """The memories in neolata's words, as a reader of each sees them."""
        now = self._mesh._now()
        with self._mesh._read() as snapshot:
            return [
                translate.shown(memory, self._conflicts_of(snapshot, memory), now)
                for memory in memories
            ]

    def _conflicts_of(self, snapshot: Snapshot, memory: Memory) -> list[Conflict]:
        """What a memory came with a conflict upon, as far as its own readers see that."""
        found = snapshot.conflicts(translate.MAX_CONFLICTS, pending=False, memory=memory.id)
        if not found:
            return found
        sight = replace(
            self._mesh._lens(memory.scope), statuses=frozenset(Status), any_validity=True
        )
        seen = snapshot.numbers([each.existing for each in found], sight)
        return [each for each in found if each.existing in seen]

    def _stored(self, agent: str, receipts: Sequence[Receipt]) -> None:
        """What follows new memories of an agent."""
        self._settle(agent, [each for receipt in receipts for each in _of_receipt(receipt)])

    def _settle(self, agent: str | None, happened: Sequence[Happened]) -> None:
        """What follows a write: the agent is saved, and hooks hear of it, saved or not."""
        try:
            if self._keeper is not None and agent is not None:
                self._keeper.save(agent)
        finally:
            self._tell([each for each in happened if self._hooks.wants(each.event)])

    def _statuses(self, memory_id: str) -> dict[str, Status]:
        """The status of a memory and of those that it contradicts, where a hook may ask."""
        if not any(map(self._hooks.wants, EVENTS)):
            return {}
        most = translate.MAX_CONFLICTS
        with self._mesh._read() as snapshot:
            known = [
                *snapshot.conflicts(most, pending=False, memory=memory_id),
                *snapshot.conflicts(most, pending=False, existing=memory_id),
            ]
        ids = {memory_id, *(id_ for each in known for id_ in (each.new, each.existing))}
        return {memory.id: memory.status for memory in self._found(sorted(ids), as_owner=True)}

    def _changed(self, memory: Memory, before: Mapping[str, Status], reason: str) -> None:
        """What follows a vote or a decision on a memory, given the statuses before it."""
        now, said = self._statuses(memory.id), self._mesh._redacted(reason)
        self._settle(
            memory.scope.agent,
            [
                Happened(EVENT_OF[status], id_, said)
                for id_, status in now.items()
                if status in EVENT_OF and before.get(id_, Status.ACTIVE) is not status
            ],
        )

    def _tell(self, happened: Sequence[Happened]) -> None:
        if not happened:
            return
        now = self._mesh._now()
        found = self._shown(self._found(list({each.id for each in happened}), as_owner=True))
        shown = {memory.id: memory for memory in found}
        self._hooks.tell(
            [
                GraphEvent(each.event, now, shown[each.id], each.reason)
                for each in happened
                if each.id in shown
            ]
        )


def _of_receipt(receipt: Receipt) -> list[Happened]:
    """What a receipt says happened; a text that was known already is no event."""
    if receipt.id is None or receipt.again or receipt.outcome is Outcome.MERGED:
        return []
    event = "quarantine" if receipt.outcome is Outcome.QUARANTINED else "store"
    replaced = f"replaced by {receipt.id}"
    return [
        Happened(event, receipt.id, "; ".join(receipt.reasons)),
        *(Happened("supersede", old, replaced) for old in receipt.superseded),
    ]
