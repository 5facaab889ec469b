"""Resolve contradictions, and review what waits for a decision."""

from collections.abc import Iterator, Mapping, Sequence

from memory_mesh.base.typed import TYPE_CHECKING, Unpack, replace
from memory_mesh.evidence.citations import CheckedEvidence, CodeState, states_of
from memory_mesh.evidence.work_tree import GIT_SECONDS, changed_since, told
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import needs, reads
from memory_mesh.mesh.operations.memories import MemoryVerbs
from memory_mesh.mesh.operations.projects import is_judged, work_tree_of
from memory_mesh.mesh.options import AsOwner, Limit, Reader, Reason
from memory_mesh.mesh.view import View, family
from memory_mesh.model import (
    DECISIONS,
    Conflict,
    Json,
    Lens,
    Memory,
    PredicateSchema,
    Proposal,
    ProposedVerb,
    Resolution,
    Scope,
    Skill,
    SkillQuery,
    Status,
)
from memory_mesh.model.errors import InvalidInput, NotAllowed, NotFound, shown
from memory_mesh.model.why import CheckedMemory
from memory_mesh.rules.arguments import check_limit, check_metadata, check_text
from memory_mesh.rules.trust import is_authoritative, seen_through, trust_of
from memory_mesh.write.rules.drafts import (
    MemoryDetails,
    alteration_of,
    as_json,
    check_change,
)

if TYPE_CHECKING:
    from memory_mesh.model.pack import Worth

# Propose a change of a memory, for a person to decide.


class ProposalVerbs(View):
    """Methods that propose changes."""

    def propose_update(
        self,
        memory_id: str,
        content: str | None = None,
        metadata: Mapping[str, object] | None = None,
        *,
        merge: bool = False,
        reader: Reader = None,
        reason: Reason = "proposed by the caller",
        **details: Unpack[MemoryDetails],
    ) -> Proposal:
        """Proposes a change of a memory; the memory stays as it is until a person decides.

        Use it where `update` is not allowed. `review` accepts or rejects the proposal and
        `review.undo` undoes that. The same proposal that waits already is returned again,
        and so is one that was rejected, as long as the memory has not changed since.

        Options:
            merge: merge the metadata key by key instead of replacing it as a whole.
        """
        stated = {
            name: list(value) if isinstance(value, Iterator) else value  # it is read twice
            for name, value in self._completed(details).items()
        }
        if "scope" in stated:
            raise InvalidInput("a proposal cannot change who may see a memory; update it yourself")
        check_change(content, stated)
        asked: dict[str, Json] = {name: as_json(name, value) for name, value in stated.items()}
        if content is not None:
            asked["content"] = content
        if metadata is not None:
            asked["metadata"], asked["merge"] = check_metadata(metadata), merge
        if not asked:
            raise InvalidInput("no change was given; state for example content or tags")
        return self._propose(ProposedVerb.UPDATE, memory_id, asked, reader, reason)

    def propose_delete(
        self, memory_id: str, *, reader: Reader = None, reason: Reason = "proposed by the caller"
    ) -> Proposal:
        """Proposes to delete a memory; it stays until a person decides."""
        return self._propose(ProposedVerb.DELETE, memory_id, {}, reader, reason)

    @reads
    def proposals(
        self,
        *,
        pending: bool = True,
        limit: Limit = 100,
        scope: Reader = None,
        as_owner: AsOwner = False,
    ) -> list[Proposal]:
        """Lists proposals for memories that are visible, newest first.

        Options:
            pending: only those that wait for a decision; False lists decided ones too.
        """
        lens = self._owned(scope, as_owner=as_owner)
        return flows.proposals.waiting(self._access(), lens, check_limit(limit), pending=pending)

    def _propose(
        self,
        verb: ProposedVerb,
        memory_id: str,
        asked: Mapping[str, Json],
        reader: Scope | None,
        reason: str,
    ) -> Proposal:
        return flows.proposals.propose(
            self._access(),
            verb,
            check_text(memory_id, "memory_id"),
            self._reader(reader),
            asked,
            source=self._source(),
            reason=check_text(reason, "reason"),
        )

    def _review_proposal(
        self, proposal_id: str, reader: Scope, *, approve: bool, reason: str
    ) -> Proposal:
        """Approves or rejects a proposal; the change of an approved one is the reviewer's."""
        access = self._access()
        asked = flows.proposals.proposal(access, proposal_id, reader)
        if not approve:
            return flows.proposals.reject(access, asked, reader, reason)
        alter = None
        if asked.verb is ProposedVerb.UPDATE:
            alter = alteration_of(asked.change, self._channel)
        return flows.proposals.approve(access, asked, reader, alter, reason)

    def _undo_proposal(self, proposal_id: str, reader: Scope) -> Proposal:
        access = self._access()
        asked = flows.proposals.proposal(access, proposal_id, reader)
        return flows.proposals.undo(access, asked, reader)


_CITING = {"evidence": {"$exists": True}}
_CHECKED_AT_ONCE = 1_000


class CodeCheckVerbs(ProposalVerbs):
    """Methods that hold memories against the code they cite."""

    @needs("review")
    def check(
        self, *, against: str | None = None, fix: bool = False, scope: Reader = None
    ) -> list[CheckedMemory]:
        """Lists memories whose cited code moved, changed or is gone in the current folder.

        Only what memories cite is read, and no model is asked. A proposal waits for review where a
        person has to say whether the memory still holds.

        Options:
            against: a branch or commit; list only what changed since this one parted from it.
            fix: cite moved code where it is now, and propose an update or a delete of the others.
        """
        reader = self._reader(scope)
        tree, names = work_tree_of(self, reader, GIT_SECONDS)
        listing, found = family(MemoryVerbs, self), list[CheckedMemory]()
        if tree is None or (reader.project is not None and not names):
            if listing.get_all(filter=_CITING, limit=1, scope=scope):
                raise InvalidInput(
                    "the current folder is in no work tree of this project; go there, or name its "
                    "project"
                )
            return found
        base = None if against is None else tree.parted_from(check_text(against, "against"))
        asked = self.proposals(pending=False, limit=_CHECKED_AT_ONCE, scope=scope) if fix else []
        cursor: str | None = None
        while True:
            page = listing.get_all(
                filter=_CITING, limit=_CHECKED_AT_ONCE, cursor=cursor, scope=scope
            )
            for memory in page:
                judged = is_judged(tree, names, memory)
                stale = changed_since(tree, memory.extra, base) if judged else None
                if stale is not None:
                    one = told(tree, memory, stale)
                    found.append(self._mended(one, stale, memory, asked, scope) if fix else one)
            cursor = page.cursor
            if cursor is None:
                return found

    def _mended(
        self,
        one: CheckedMemory,
        checked: CheckedEvidence,
        memory: Memory,
        known: Sequence[Proposal],
        scope: Scope | None,
    ) -> CheckedMemory:
        """Follows what moved, and asks a person about the rest, once for a state of the code."""
        now = checked.evidence()
        if checked.verdict is CodeState.MOVED:
            memories = family(MemoryVerbs, self)
            memories.update(one.id, evidence=now, reader=scope, reason="the cited code moved")
            return one
        is_gone = checked.verdict is CodeState.ORPHANED
        stated = states_of([]) if is_gone else states_of(now)
        verb = ProposedVerb.DELETE if is_gone else ProposedVerb.UPDATE
        for each in known:
            if (each.memory, each.verb) != (one.id, verb) or each.change.keys() - {"evidence"}:
                continue
            is_open = each.decided_at is None or memory.recorded_from < each.decided_at
            if is_open and not each.approved and states_of(each.change.get("evidence")) == stated:
                return replace(one, proposal=each.id, rejected=not each.pending)
        if is_gone:
            asked = self.propose_delete(one.id, reader=scope, reason=checked.note)
        else:
            why = f"{checked.note}; approve if the memory still holds"
            asked = self.propose_update(one.id, evidence=now, reader=scope, reason=why)
        return replace(one, proposal=asked.id)


class ReviewVerbs(CodeCheckVerbs):
    """What waits for a decision, conflicts, votes on truth, and trust: `mesh.review`."""

    @needs("review")
    def register_predicates(
        self, schemas: Mapping[str, PredicateSchema | Mapping[str, str]]
    ) -> None:
        """Registers how predicates behave: number of values, conflict policy, normalization."""
        self._may_decide()
        self._register(self._opened(), schemas)

    @reads
    def predicates(self) -> dict[str, PredicateSchema]:
        """Returns every registered predicate."""
        with self._read() as snapshot:
            return snapshot.schemas()

    @reads
    def trust(self, memory_id: str, *, scope: Reader = None) -> float:
        """Returns the trust in a memory, 0 to 1, from its source, origins, votes and age."""
        lens = replace(self._lens(scope), statuses=frozenset(Status), any_validity=True)
        with self._read() as snapshot:
            found = snapshot.get([memory_id], lens)
        if not found:
            raise NotFound.of(memory_id)
        return trust_of(found[0], lens.now)

    def reinforce(self, memory_id: str, boost: float = 0.1, *, scope: Reader = None) -> Memory:
        """Votes that a memory is true; this raises its trust and importance."""
        if isinstance(boost, bool) or not 0 <= boost <= 1:
            raise InvalidInput(f"boost must be a number from 0 to 1, not {shown(boost)}")
        return flows.review.reinforce(self._access(), memory_id, self._reader(scope), float(boost))

    def dispute(
        self, memory_id: str, *, reason: Reason = "disputed by the caller", scope: Reader = None
    ) -> Memory:
        """Votes that a memory is false; three without a vote for it send it to review."""
        said = check_text(reason, "reason")
        return flows.review.dispute(self._access(), memory_id, self._reader(scope), said)

    @needs("review")
    def decide(
        self,
        id: str,
        *,
        approve: bool,
        reason: Reason = "reviewed by the caller",
        scope: Reader = None,
    ) -> Memory | Skill | Proposal:
        """Approves or rejects a memory or skill in quarantine, or a proposed change.

        What is let in takes the place of the memories it contradicts. Only where the user speaks
        is anything decided: no agent approves its own lesson, or bars what the user may say.

        Options:
            approve: True lets it in, False archives it and keeps its value out.
        """
        self._may_decide()
        reader = self._reader(scope)
        if check_text(id, "id").startswith("skill_"):
            return flows.skills.review(self._access(), id, reader, approve=approve, reason=reason)
        if id.startswith("prop_"):
            return self._review_proposal(id, reader, approve=approve, reason=reason)
        return self._decide_on(id, reader, approve=approve, reason=reason)

    @needs("review")
    def decide_source(
        self,
        source: str,
        *,
        approve: bool,
        reason: Reason = "reviewed by the caller",
        scope: Reader = None,
    ) -> list[Memory]:
        """Approves or rejects everything in quarantine that came from one agent or reference.

        Options:
            approve: True lets it in, False archives it and keeps its value out.
        """
        self._may_decide()
        name = check_text(source, "source").replace("'", "''")
        where = f"source = '{name}' OR source_ref = '{name}'"
        lens, access = self._lens(scope, filter=where), self._access()
        return [
            flows.review.review(access, memory.id, lens.scope, approve=approve, reason=reason)
            for memory in flows.review.waiting(access, lens, check_limit(1_000))
        ]

    @needs("review")
    def undo(self, memory_id: str, *, scope: Reader = None) -> Memory | Proposal:
        """Undoes a review, or what a rule or a person decided of a memory's conflicts.

        After a review the memory waits again, and what it superseded is active again. Another
        decision is undone from either side: give the new memory or the old one; both are kept, and
        a conflict that a person decided is listed again.
        A proposal waits again, and the memory is as it was before.
        """
        self._may_decide()
        if check_text(memory_id, "memory_id").startswith("prop_"):
            return self._undo_proposal(memory_id, self._reader(scope))
        return flows.review.undo(self._access(), memory_id, self._reader(scope))

    @needs("review")
    def take_back(
        self, block: str, *, reason: Reason = "taken back by the caller", scope: Reader = None
    ) -> list[Memory]:
        """Takes back what one write did, named by its block; returns what changed.

        What was made of the memory since is deleted first. A new or restored memory is deleted,
        and what gave way to it is active again; a changed one is as before; a vote counts no more;
        what was deleted is restored. All else stays as it is. Only where the user speaks.
        """
        self._may_decide()
        said = check_text(reason, "reason")
        named = check_text(block, "block")
        return flows.take_back.take_back(self._access(), named, self._reader(scope), said)

    @reads
    def waiting(
        self, *, limit: Limit = 100, scope: Reader = None, as_owner: AsOwner = False
    ) -> list[Memory | Skill | Proposal]:
        """Lists what waits for review: memories, then skills and proposals, each newest first."""
        lens = self._owned(scope, as_owner=as_owner)
        memories = self._waiting(lens, limit)
        query = SkillQuery(
            lens.scope, limit, statuses=frozenset({Status.QUARANTINED}), across=lens.across
        )
        staged = flows.skills.listed(self._access(), query)
        asked = flows.proposals.waiting(self._access(), lens, limit, pending=True)
        found: list[Memory | Skill | Proposal] = [*memories, *staged, *asked]
        return found[:limit]

    @reads
    def conflicts(
        self,
        *,
        pending: bool = False,
        decided: bool = False,
        limit: Limit = 100,
        scope: Reader = None,
        as_owner: AsOwner = False,
    ) -> list[Conflict]:
        """Lists conflicts, newest first: those that wait, and those that a rule decided.

        A conflict is shown if both of its memories are visible. `resolve_conflict` decides one
        that waits, and overrules one that a rule decided.

        Options:
            pending: only those that wait for a decision.
            decided: also those that a person decided.
        """
        lens = self._owned(scope, as_owner=as_owner)
        return self._conflicts(lens, limit, pending=pending, decided=decided)

    @needs("review")
    def resolve(
        self,
        conflict_id: str,
        resolution: Resolution | str,
        *,
        reason: Reason = "resolved by the caller",
        scope: Reader = None,
    ) -> Conflict:
        """Resolves a conflict: `supersede` the old memory, `reject` the new one, or `keep_both`.

        One that a rule or a person decided can be decided anew: `keep_both` makes a superseded or
        rejected memory active again.
        """
        return self._resolve(conflict_id, self._reader(scope), resolution, reason)

    @reads
    def worth(
        self,
        *,
        every: bool = False,
        limit: Limit = 100,
        scope: Reader = None,
        as_owner: AsOwner = False,
    ) -> "list[Worth]":
        """Lists memories that cost tokens for nothing in the latest 1,000 prompts, dearest first.

        Each says how often it was told and for how many tokens, how it was voted, and how often
        somebody stated otherwise within half an hour. For nothing is what was voted down or
        corrected and has no vote for it, or was told 20 times without one where others have some;
        never what is pinned. `delete` takes one away; `rate` with helpful=True keeps it.

        Options:
            every: also what was of use, or of which nobody said anything.
        """
        lens = self._owned(scope, as_owner=as_owner)
        sight = flows.explain.sight_of(lens)
        return flows.records.worth(self._access(), lens, sight, check_limit(limit), every=every)

    @reads
    def chain(self, memory_id: str, *, scope: Reader = None) -> list[Memory]:
        """Returns the memories that superseded each other, oldest first."""
        return flows.review.chain(self._access(), self._lens(scope), memory_id)

    @needs("review")
    def mark_superseded(self, memory_id: str, *, by: str) -> bool:
        """Marks an imported memory that waits for review as superseded by another one.

        Returns False and changes nothing if the memory was approved in the meantime.

        Options:
            by: the id of the newer memory.
        """
        return flows.change.mark_superseded(self._access(), memory_id, by)

    __call__ = decide

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
