"""Propose a change of a memory, for a person to decide."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from memory_mesh import flows
from memory_mesh.errors import InvalidInput
from memory_mesh.model import (
    Claim,
    Json,
    Kind,
    Proposal,
    ProposedVerb,
    Scope,
    SourceKind,
    Tier,
)
from memory_mesh.policy.arguments import NOT_GIVEN, NotGiven, check_limit, check_text, options_given
from memory_mesh.policy.writing.drafts import DETAILS, check_change
from memory_mesh.policy.writing.metadata import check_metadata
from memory_mesh.policy.writing.proposed import alteration_of, as_json
from memory_mesh.view import View


class ProposalVerbs(View):
    """Methods that propose changes."""

    def propose_update(
        self,
        memory_id: str,
        content: str | None = None,
        metadata: Mapping[str, object] | None = None,
        *,
        merge: bool = False,
        reader: Scope | None = None,
        reason: str = "proposed by the caller",
        # begin generated options (changed details)
        scope: Scope | NotGiven = NOT_GIVEN,
        kind: Kind | str | NotGiven = NOT_GIVEN,
        speaker: str | NotGiven = NOT_GIVEN,
        role: str | NotGiven = NOT_GIVEN,
        order: int | NotGiven = NOT_GIVEN,
        occurred_at: datetime | str | NotGiven = NOT_GIVEN,
        valid_from: datetime | str | NotGiven | None = NOT_GIVEN,
        valid_until: datetime | str | NotGiven | None = NOT_GIVEN,
        importance: float | str | NotGiven = NOT_GIVEN,
        confidence: float | NotGiven = NOT_GIVEN,
        tags: Iterable[str] | NotGiven = NOT_GIVEN,
        tier: Tier | str | NotGiven = NOT_GIVEN,
        pinned: bool | NotGiven = NOT_GIVEN,
        source_kind: SourceKind | str | NotGiven = NOT_GIVEN,
        source_agent: str | NotGiven = NOT_GIVEN,
        source_ref: str | NotGiven = NOT_GIVEN,
        source_skill: str | NotGiven = NOT_GIVEN,
        claim: Claim | Mapping[str, object] | NotGiven = NOT_GIVEN,
        triggers: str | Iterable[str] | NotGiven = NOT_GIVEN,
        # end generated options
    ) -> Proposal:
        """Proposes a change of a memory; the memory stays as it is until a person decides.

        Use it where `update` is not allowed. `review` accepts or rejects the proposal and
        `undo_review` undoes that. The same proposal that waits already is returned again,
        and so is one that was rejected, as long as the memory has not changed since.

        Options:
            merge: merge the metadata key by key instead of replacing it as a whole.
            reader: who reads; by default the project, agent and session of this mesh.
            reason: the reason, stored in the audit block.
            scope: the project, agent and session that may see it.
            kind: the sort of knowledge, such as decision; any other word becomes a label.
            speaker: who said it.
            role: the role of the speaker: user, assistant, tool or system.
            order: its position in the session.
            occurred_at: when it happened.
            valid_from: start of the time in which it is true.
            valid_until: end of the time in which it is true.
            importance: 0 to 1, or low, medium, high or critical.
            confidence: how certain it is, 0 to 1.
            tags: words to group it by.
            tier: how long it is meant to live: short_term, long_term or system.
            pinned: mark it as always wanted.
            source_kind: where it comes from, such as document; else read from role, source.
            source_agent: the agent or system that it comes from.
            source_ref: the file, page or message that it comes from.
            source_skill: the id of the skill that it comes from.
            claim: what it states: a mapping with subject, predicate and value.
            triggers: patterns that call it up: a regular expression, alternatives, or plain words.
        """
        details = {
            name: list(value) if isinstance(value, Iterator) else value  # it is read twice
            for name, value in options_given(locals(), DETAILS, absent=NOT_GIVEN).items()
        }
        if "scope" in details:
            raise InvalidInput("a proposal cannot change who may see a memory; update it yourself")
        check_change(content, details)
        asked: dict[str, Json] = {name: as_json(name, value) for name, value in details.items()}
        if content is not None:
            asked["content"] = content
        if metadata is not None:
            asked["metadata"], asked["merge"] = check_metadata(metadata), merge
        if not asked:
            raise InvalidInput("no change was given; state for example content or tags")
        return self._propose(ProposedVerb.UPDATE, memory_id, asked, reader, reason)

    def propose_delete(
        self, memory_id: str, *, reader: Scope | None = None, reason: str = "proposed by the caller"
    ) -> Proposal:
        """Proposes to delete a memory; it stays until a person decides.

        Options:
            reader: who reads; by default the project, agent and session of this mesh.
            reason: the reason, stored in the audit block.
        """
        return self._propose(ProposedVerb.DELETE, memory_id, {}, reader, reason)

    def proposals(
        self,
        *,
        pending: bool = True,
        limit: int = 100,
        scope: Scope | None = None,
        as_owner: bool = False,
    ) -> list[Proposal]:
        """Lists proposals for memories that are visible, newest first.

        Options:
            pending: only those that wait for a decision; False lists decided ones too.
            limit: the largest number of results, 1 to 1,000.
            scope: who reads; by default the project, agent and session of this mesh.
            as_owner: show what is for others, too: every project, agent and session.
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
