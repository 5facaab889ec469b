"""Add, read, change and delete memories."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh import flows, log, telemetry
from memory_mesh.errors import InvalidInput, NotAllowed
from memory_mesh.model import (
    Channel,
    Claim,
    Draft,
    Heritage,
    Kind,
    Memory,
    Outcome,
    Page,
    Proposal,
    ProposedVerb,
    Receipt,
    Scope,
    SourceKind,
    Status,
    Tier,
)
from memory_mesh.model.record import heritage_json, read_heritage
from memory_mesh.policy.arguments import (
    NOT_GIVEN,
    NotGiven,
    check_limit,
    check_text,
    options_given,
)
from memory_mesh.policy.audience import sees
from memory_mesh.policy.writing.drafts import DETAILS, alteration
from memory_mesh.policy.writing.metadata import check_metadata
from memory_mesh.policy.writing.trust import is_authoritative
from memory_mesh.verbs.users import known_options
from memory_mesh.view import View

_OF_UPDATE = {"id", "content", "metadata", "merge", "reason"}


class MemoryVerbs(View):
    """Methods that add, read, change and delete memories."""

    @known_options
    def add(
        self,
        content: str,
        metadata: Mapping[str, object] | None = None,
        *,
        # begin generated options (details)
        scope: Scope | None = None,
        kind: Kind | str | None = None,
        speaker: str | None = None,
        role: str | None = None,
        order: int | None = None,
        occurred_at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_until: datetime | str | None = None,
        importance: float | str | None = None,
        confidence: float | None = None,
        tags: Iterable[str] | None = None,
        tier: Tier | str | None = None,
        pinned: bool | None = None,
        source_kind: SourceKind | str | None = None,
        source_agent: str | None = None,
        source_ref: str | None = None,
        source_skill: str | None = None,
        claim: Claim | Mapping[str, object] | None = None,
        triggers: str | Iterable[str] | None = None,
        quarantine: str | None = None,
        keep_active: bool | None = None,
        derived_from: Iterable[str] | None = None,
        key: str | None = None,
        allow_duplicate: bool | None = None,
        # end generated options
    ) -> Receipt:
        """Stores one memory; the receipt says what became of it and why.

        A text that is empty or too long is InvalidInput. A refusal by a rule is a receipt, and the
        first one of a process is in the log.

        `ingest` is an alias of `add`, kept for compatibility.

        Options:
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
            quarantine: keep it for review, for the reason given here.
            keep_active: keep it active beside a more trusted memory that contradicts it.
            derived_from: the ids of the memories that it was made from.
            key: an idempotency key: what is added again with the same key is stored once.
            allow_duplicate: store it although the same text is stored already.
        """
        details = options_given(locals(), DETAILS)
        draft = self._spoken(self._fit(self._draft(content, metadata, details)))
        with self._span(telemetry.UPSERT, attempted=1) as span:
            receipt = flows.remember.remember(self._access(), [draft])[0]
            span.answered([receipt])
        if receipt.outcome is Outcome.REFUSED and self._channel is not Channel.CLI:
            log.warn_once("refused", f"a memory was not stored: {'; '.join(receipt.reasons)}")
        return receipt

    ingest = add

    @known_options
    def add_many(
        self,
        items: Iterable[str | Mapping[str, object] | Draft],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> list[Receipt]:
        """Stores many memories, 256 per transaction; returns one receipt per item, in order.

        An item is a text, or a mapping with `content`, `metadata` and any option of `add`. Give
        each a `key` and an interrupted load can simply be run again.

        An item that `add` would raise InvalidInput or IdempotencyConflict for is refused, its
        receipt says why, and the others are stored. If no item at all is valid, the first error is
        raised.

        Options:
            progress: called with the number stored so far.
        """
        read = [self._readable(item) for item in items]
        drafts = [one for one in read if isinstance(one, Draft)]
        faults = [one for one in read if isinstance(one, InvalidInput)]
        if faults and not drafts:
            raise faults[0]
        with self._span(telemetry.UPSERT, attempted=len(drafts)) as span:
            receipts = flows.remember.remember_each(self._access(), drafts, progress)
            span.answered(receipts)
        stored = iter(receipts)
        if not faults:
            return list(stored)
        return [
            next(stored) if isinstance(one, Draft) else Receipt.not_read(f"items[{at}]: {one}")
            for at, one in enumerate(read)
        ]

    def _readable(self, item: str | Mapping[str, object] | Draft) -> Draft | InvalidInput:
        """The item as a draft, or why it is none."""
        try:
            return self._drafted(item)
        except InvalidInput as error:
            return error

    def _add_vouched(self, drafts: Sequence[Draft]) -> list[Receipt]:
        """Stores memories of the user's own export, whose seals the importer has checked."""
        if self._channel is not Channel.IMPORT and not is_authoritative(self._kind):
            return self.add_many(drafts)
        return flows.remember.remember_each(self._access(), drafts)

    def get(
        self,
        memory_id: str,
        *,
        scope: Scope | None = None,
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        include: Iterable[Status | str] = (),
    ) -> Memory | None:
        """Returns one memory, or None if there is none or it is not visible; counts as a use.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
            as_of: answer from what was recorded at this time.
            valid_at: show what is true at this time.
            include: further statuses to show beside active, such as quarantined.
        """
        found = self.get_many(
            [memory_id], scope=scope, as_of=as_of, valid_at=valid_at, include=include
        )
        return found[0] if found else None

    def get_many(
        self,
        ids: Sequence[str],
        *,
        scope: Scope | None = None,
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        include: Iterable[Status | str] = (),
    ) -> list[Memory]:
        """Returns the visible ones of these memories, in this order; counts as a use of each.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
            as_of: answer from what was recorded at this time.
            valid_at: show what is true at this time.
            include: further statuses to show beside active, such as quarantined.
        """
        lens = self._lens(scope, as_of=as_of, valid_at=valid_at, include=include)
        return flows.recall.open_memories(self._access(), list(ids), lens)

    @known_options
    def get_all(
        self,
        *,
        limit: int = 100,
        filter: str | Mapping[str, object] | None = None,
        cursor: str | None = None,
        scope: Scope | None = None,
        across: Iterable[str] = (),
        include: Iterable[Status | str] = (),
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
    ) -> Page:
        """Lists memories, newest first, `limit` at a time; `cursor` gets the next page.

        Options:
            limit: the largest number of results, 1 to 1,000.
            filter: a condition, such as "team = 'core' AND priority >= 3", or a mapping.
            cursor: the cursor of the page before.
            scope: who reads; by default the project, agent and session of this mesh.
            across: parts of the scope to ignore: project, agent, session.
            include: further statuses to show beside active, such as quarantined.
            as_of: answer from what was recorded at this time.
            valid_at: show what is true at this time.
        """
        lens = self._lens(
            scope,
            filter=filter,
            across=across,
            include=include,
            as_of=as_of,
            valid_at=valid_at,
        )
        with self._read() as snapshot:
            return snapshot.page(lens, check_limit(limit), cursor)

    def history(self, memory_id: str, *, scope: Scope | None = None) -> list[Memory]:
        """Returns every recorded version of one memory, oldest first.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        sight = flows.explain.sight_of(self._lens(scope))
        with self._read() as snapshot:
            return [
                flows.explain.without_successor(snapshot, version, sight)
                for version in snapshot.history(memory_id)
                if sees(sight.scope, version.scope)
            ]

    def update(
        self,
        memory_id: str,
        content: str | None = None,
        metadata: Mapping[str, object] | None = None,
        *,
        merge: bool = False,
        reader: Scope | None = None,
        reason: str = "updated by the caller",
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
    ) -> Memory:
        """Records a new version of a memory; options that are not given keep their value.

        None for `valid_from` or `valid_until` removes that limit.

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
        details = options_given(locals(), DETAILS, absent=NOT_GIVEN)
        alter = alteration(content, metadata, details, channel=self._channel, merge=merge)
        with self._span(telemetry.UPDATE, memory_id):
            return flows.change.update(
                self._access(), memory_id, self._reader(reader), alter, text=content, reason=reason
            )

    def update_many(
        self, changes: Iterable[Mapping[str, object]], *, reader: Scope | None = None
    ) -> list[Memory]:
        """Records new versions of several memories in one transaction, or none of them.

        A change is a mapping with `id`, and any of `content`, `metadata`, `merge`, `reason` and the
        options of `update`. Two changes that claim something of the same raise InvalidInput: make
        them one after the other.

        Options:
            reader: who reads; by default the project, agent and session of this mesh.
        """
        updates = [self._update(change) for change in changes]
        with self._span(telemetry.UPDATE, *(update.memory for update in updates)):
            return flows.change.update_many(self._access(), self._reader(reader), updates)

    def _update(self, change: Mapping[str, object]) -> "flows.change.Update":
        details = {name: value for name, value in change.items() if name not in _OF_UPDATE}
        content = change.get("content")
        alter = alteration(
            content,
            change.get("metadata"),
            details,
            channel=self._channel,
            merge=bool(change.get("merge")),
        )
        text = None if content is None else check_text(content, "content")
        reason = check_text(change.get("reason", "updated by the caller"), "reason")
        return flows.change.Update(check_text(change.get("id"), "id"), alter, text, reason)

    def pin(self, memory_id: str, *, pinned: bool = True, scope: Scope | None = None) -> Memory:
        """Pins a memory, or unpins it.

        Options:
            pinned: False takes the mark away.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        with self._span(telemetry.UPDATE, memory_id):
            return flows.change.pin(self._access(), memory_id, self._reader(scope), pinned=pinned)

    def delete(
        self, memory_id: str, *, scope: Scope | None = None, reason: str = "deleted by the caller"
    ) -> Proposal | None:
        """Deletes a memory: it is hidden at once and can be restored for 30 days.

        If it comes from a more trusted source than this channel may change, nothing is deleted: the
        wish is recorded as a proposal, which is returned and waits for `review`.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
            reason: the reason, stored in the audit block.
        """
        access, reader = self._access(), self._reader(scope)
        with self._span(telemetry.DELETE, memory_id):
            try:
                flows.change.delete(access, memory_id, reader, reason)
            except NotAllowed:
                delete = ProposedVerb.DELETE
                return flows.proposals.propose(
                    access, delete, memory_id, reader, {}, source=self._source(), reason=reason
                )
        return None

    def restore(self, memory_id: str, *, scope: Scope | None = None) -> Memory:
        """Restores a deleted memory with the status it had; what took its place gives way.

        Beside a more trusted memory that it contradicts it waits for review. A channel that does
        not speak for the user restores only what such a channel deleted.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        with self._span(telemetry.UPDATE, memory_id):
            return flows.restore.restore(self._access(), memory_id, self._reader(scope))

    def mark_superseded(self, memory_id: str, *, by: str) -> bool:
        """Marks an imported memory that waits for review as superseded by another one.

        Returns False and changes nothing if the memory was approved in the meantime.

        Options:
            by: the id of the newer memory.
        """
        return flows.change.mark_superseded(self._access(), memory_id, by)

    def rate(self, memory_id: str, *, helpful: bool, scope: Scope | None = None) -> Memory:
        """Votes whether a recalled memory was helpful; votes change its rank and nothing else.

        Every vote is counted and leaves an audit block. Votes of the user each move the rank by
        one step; votes through all other channels together move it at most one step each way.

        Options:
            helpful: whether it was of use.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        return flows.change.rate(self._access(), memory_id, self._lens(scope), helpful=helpful)

    def insert_heritage(
        self,
        memory_id: str,
        heritage: Heritage | Mapping[str, object],
        *,
        scope: Scope | None = None,
    ) -> Memory:
        """Adds the intents, hypotheses and rationales behind a memory; only the newest are kept.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        plain = heritage_json(heritage) if isinstance(heritage, Heritage) else heritage
        chain = read_heritage(check_metadata(plain))
        depth = self._config.max_heritage_depth
        return flows.change.inherit(self._access(), memory_id, self._reader(scope), chain, depth)
