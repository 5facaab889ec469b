"""Vote on memories, review what waits and resolve contradictions."""

from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.graph_view import GraphView
from memory_mesh.compat.neolata.model import GraphMemory
from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Conflict, Resolution, Status


class GraphReviewing(GraphView):
    """Methods for trust, quarantine and conflicts."""

    def reinforce(self, memory_id: str, boost: float = 0.1) -> GraphMemory:
        """Vote for a memory's truth; it gains trust and importance."""
        reader = self._reader(memory_id)
        memory = self._mesh.reinforce(memory_id, boost, scope=reader)
        self._settle(memory.scope.agent, [])
        return self._one(memory)

    def dispute(self, memory_id: str, *, reason: str = "disputed by the caller") -> GraphMemory:
        """Vote against a memory's truth; three unsupported votes send it to review.

        Options:
            reason: the reason, stored in the audit block.
        """
        reader, before = self._reader(memory_id), self._statuses(memory_id)
        memory = self._mesh.dispute(memory_id, reason=reason, scope=reader)
        self._changed(memory, before, reason)
        return self._one(memory)

    def list_quarantined(
        self, *, agent: str | None = None, limit: int = 50, as_owner: bool = False
    ) -> list[GraphMemory]:
        """What waits for review, newest first: of one agent, or of all.

        Options:
            agent: only what this agent stored.
            limit: the largest number of results, 1 to 1,000.
            as_owner: show what is for others, too: every project, agent and session.
        """
        lens = self._view(agent, None, {Status.QUARANTINED}, as_owner=as_owner)
        across = lens.across | (self._whole().across & {"session"})
        lens = replace(lens, across=across, any_validity=True)
        return self._shown(self._mesh._waiting(lens, limit))

    def review_quarantine(
        self, memory_id: str, *, action: str, reason: str = "reviewed by the caller"
    ) -> GraphMemory:
        """`activate` what waits, in place of what it contradicts, or `reject` it for good.

        Options:
            action: activate or reject.
            reason: the reason, stored in the audit block.
        """
        if action not in translate.ACTIONS:
            raise InvalidInput(f"action must be one of: {', '.join(translate.ACTIONS)}")
        reader, before = self._reader(memory_id), self._statuses(memory_id)
        approve = translate.ACTIONS[action]
        memory = self._mesh._decide_on(memory_id, reader, approve=approve, reason=reason)
        self._changed(memory, before, reason)
        return self._one(memory)

    def conflicts(self, *, limit: int = 100, as_owner: bool = False) -> list[Conflict]:
        """The contradictions on record, newest first.

        Options:
            limit: the largest number of results, 1 to 1,000.
            as_owner: show what is for others, too: every project, agent and session.
        """
        self._load(None)
        return self._mesh._conflicts(self._whole(as_owner=as_owner), limit, pending=False)

    def pending_conflicts(self, *, limit: int = 100, as_owner: bool = False) -> list[Conflict]:
        """Contradictions that wait for a decision, newest first.

        Options:
            limit: the largest number of results, 1 to 1,000.
            as_owner: show what is for others, too: every project, agent and session.
        """
        self._load(None)
        return self._mesh._conflicts(self._whole(as_owner=as_owner), limit, pending=True)

    def resolve_conflict(
        self,
        conflict_id: str,
        resolution: Resolution | str,
        *,
        reason: str = "resolved by the caller",
    ) -> Conflict:
        """End a conflict: `supersede` (the new one wins), `reject` it, or `keep_both`.

        Options:
            reason: the reason, stored in the audit block.
        """
        self._load(None)
        now = self._mesh._conflict(conflict_id, self._whole())
        newcomer = self._held(now.new)
        if not now.pending and not now.by_rule:
            raise InvalidInput(f"{conflict_id} is already resolved: {now.resolution}")
        before = self._statuses(newcomer.id)
        done = self._mesh._resolve(conflict_id, newcomer.scope, resolution, reason)
        self._changed(newcomer, before, reason)
        return done
