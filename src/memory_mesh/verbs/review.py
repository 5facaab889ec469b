"""Resolve contradictions, and review what waits for a decision."""

from collections.abc import Mapping

from memory_mesh import flows
from memory_mesh.errors import InvalidInput, NotAllowed, NotFound, shown
from memory_mesh.fastdataclass import replace
from memory_mesh.model import (
    DECISIONS,
    Conflict,
    Lens,
    Memory,
    PredicateSchema,
    Proposal,
    Resolution,
    Scope,
    Skill,
    SkillQuery,
    Status,
)
from memory_mesh.policy.arguments import check_limit, check_text
from memory_mesh.policy.writing.trust import is_authoritative
from memory_mesh.verbs.proposals import ProposalVerbs


class ReviewVerbs(ProposalVerbs):
    """Methods for claims, trust, conflicts and review."""

    def register_predicates(
        self, schemas: Mapping[str, PredicateSchema | Mapping[str, str]]
    ) -> None:
        """Registers how predicates behave: number of values, conflict policy, normalization."""
        self._may_decide()
        self._register(self._opened(), schemas)

    def predicates(self) -> dict[str, PredicateSchema]:
        """Returns every registered predicate."""
        with self._read() as snapshot:
            return snapshot.schemas()

    def trust(self, memory_id: str, *, scope: Scope | None = None) -> float:
        """Returns the trust in a memory, 0 to 1, from its source, origins, votes and age.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        from memory_mesh.policy.writing.trust import trust_of

        lens = replace(self._lens(scope), statuses=frozenset(Status), any_validity=True)
        with self._read() as snapshot:
            found = snapshot.get([memory_id], lens)
        if not found:
            raise NotFound.of(memory_id)
        return trust_of(found[0], lens.now)

    def reinforce(
        self, memory_id: str, boost: float = 0.1, *, scope: Scope | None = None
    ) -> Memory:
        """Votes that a memory is true; this raises its trust and importance.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        if isinstance(boost, bool) or not 0 <= boost <= 1:
            raise InvalidInput(f"boost must be a number from 0 to 1, not {shown(boost)}")
        return flows.review.reinforce(self._access(), memory_id, self._reader(scope), float(boost))

    def dispute(
        self, memory_id: str, *, reason: str = "disputed by the caller", scope: Scope | None = None
    ) -> Memory:
        """Votes that a memory is false; three such votes without a vote for it send it to review.

        Options:
            reason: the reason, stored in the audit block.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        said = check_text(reason, "reason")
        return flows.review.dispute(self._access(), memory_id, self._reader(scope), said)

    def review(
        self,
        id: str,
        *,
        approve: bool,
        reason: str = "reviewed by the caller",
        scope: Scope | None = None,
    ) -> Memory | Skill | Proposal:
        """Approves or rejects a memory or skill in quarantine, or a proposed change.

        What is let in takes the place of the memories it contradicts. Only where the user speaks
        is anything decided: no agent approves its own lesson, or bars what the user may say.

        Options:
            approve: True lets it in, False archives it and keeps its value out.
            reason: the reason, stored in the audit block.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        self._may_decide()
        reader = self._reader(scope)
        if check_text(id, "id").startswith("skill_"):
            return flows.skills.review(self._access(), id, reader, approve=approve, reason=reason)
        if id.startswith("prop_"):
            return self._review_proposal(id, reader, approve=approve, reason=reason)
        return self._decide_on(id, reader, approve=approve, reason=reason)

    def review_source(
        self,
        source: str,
        *,
        approve: bool,
        reason: str = "reviewed by the caller",
        scope: Scope | None = None,
    ) -> list[Memory]:
        """Approves or rejects everything in quarantine that came from one agent or reference.

        Options:
            approve: True lets it in, False archives it and keeps its value out.
            reason: the reason, stored in the audit block.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        self._may_decide()
        name = check_text(source, "source").replace("'", "''")
        where = f"source = '{name}' OR source_ref = '{name}'"
        lens, access = self._lens(scope, filter=where), self._access()
        return [
            flows.review.review(access, memory.id, lens.scope, approve=approve, reason=reason)
            for memory in flows.review.waiting(access, lens, check_limit(1_000))
        ]

    def undo_review(self, memory_id: str, *, scope: Scope | None = None) -> Memory | Proposal:
        """Undoes a review, or what a rule or a person decided of a memory's conflicts.

        After a review the memory waits again, and what it superseded is active again. Another
        decision is undone from either side: give the new memory or the old one; both are kept.
        A proposal waits again, and the memory is as it was before.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        self._may_decide()
        if check_text(memory_id, "memory_id").startswith("prop_"):
            return self._undo_proposal(memory_id, self._reader(scope))
        return flows.undo.undo(self._access(), memory_id, self._reader(scope))

    def awaiting_review(
        self, *, limit: int = 100, scope: Scope | None = None, as_owner: bool = False
    ) -> list[Memory | Skill | Proposal]:
        """Lists what waits for review: memories, then skills and proposals, each newest first.

        Options:
            limit: the largest number of results, 1 to 1,000.
            scope: who reads; by default the project, agent and session of this mesh.
            as_owner: show what is for others, too: every project, agent and session.
        """
        lens = self._owned(scope, as_owner=as_owner)
        memories = self._waiting(lens, limit)
        query = SkillQuery(
            lens.scope, limit, statuses=frozenset({Status.QUARANTINED}), across=lens.across
        )
        staged = flows.skills.listed(self._access(), query)
        asked = flows.proposals.waiting(self._access(), lens, limit, pending=True)
        found: list[Memory | Skill | Proposal] = [*memories, *staged, *asked]
        return found[:limit]

    def conflicts(
        self,
        *,
        pending: bool = False,
        decided: bool = False,
        limit: int = 100,
        scope: Scope | None = None,
        as_owner: bool = False,
    ) -> list[Conflict]:
        """Lists conflicts, newest first: those that wait, and those that a rule decided.

        A conflict is shown if both of its memories are visible. `resolve_conflict` decides one
        that waits, and overrules one that a rule decided.

        Options:
            pending: only those that wait for a decision.
            decided: also those that a person decided.
            limit: the largest number of results, 1 to 1,000.
            scope: who reads; by default the project, agent and session of this mesh.
            as_owner: show what is for others, too: every project, agent and session.
        """
        lens = self._owned(scope, as_owner=as_owner)
        return self._conflicts(lens, limit, pending=pending, decided=decided)

    def resolve_conflict(
        self,
        conflict_id: str,
        resolution: Resolution | str,
        *,
        reason: str = "resolved by the caller",
        scope: Scope | None = None,
    ) -> Conflict:
        """Resolves a conflict: `supersede` the old memory, `reject` the new one, or `keep_both`.

        One that a rule or a person decided can be decided anew: `keep_both` makes a superseded or
        rejected memory active again.

        Options:
            reason: the reason, stored in the audit block.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        return self._resolve(conflict_id, self._reader(scope), resolution, reason)

    def chain(self, memory_id: str, *, scope: Scope | None = None) -> list[Memory]:
        """Returns the memories that superseded each other, oldest first.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        return flows.review.chain(self._access(), self._lens(scope), memory_id)

    def _may_decide(self) -> None:
        """Raises NotAllowed unless this channel speaks for the user."""
        if not is_authoritative(self._source().kind):
            raise NotAllowed(f"only the user can decide this, not a writer through {self._channel}")

    def _waiting(self, lens: Lens, limit: int) -> list[Memory]:
        return flows.review.waiting(self._access(), lens, check_limit(limit))

    def _decide_on(self, memory_id: str, reader: Scope, *, approve: bool, reason: str) -> Memory:
        self._may_decide()
        said = check_text(reason, "reason")
        return flows.review.review(self._access(), memory_id, reader, approve=approve, reason=said)

    def _conflicts(
        self, lens: Lens, limit: int, *, pending: bool, decided: bool = True
    ) -> list[Conflict]:
        return flows.review.conflicts(
            self._access(), lens, check_limit(limit), pending=pending, decided=decided
        )

    def _conflict(self, conflict_id: str, lens: Lens) -> Conflict:
        from memory_mesh.policy.audience import seen_through

        return flows.review.conflict(
            self._access(), conflict_id, lambda scope: seen_through(lens, scope)
        )

    def _resolve(
        self, conflict_id: str, reader: Scope, resolution: Resolution | str, reason: str
    ) -> Conflict:
        self._may_decide()
        if resolution not in DECISIONS:
            raise InvalidInput(f"resolution must be one of: {', '.join(DECISIONS)}")
        said = check_text(reason, "reason")
        return flows.review.resolve(
            self._access(), conflict_id, reader, Resolution(resolution), said
        )
