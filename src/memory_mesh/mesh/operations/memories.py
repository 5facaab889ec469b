"""Add, read, change and delete memories."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import TYPE_CHECKING, Unpack, replace
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import needs, reads
from memory_mesh.mesh.options import (
    Across,
    AsOf,
    Condition,
    Limit,
    Reader,
    Reason,
    Statuses,
    ValidAt,
)
from memory_mesh.mesh.view import View
from memory_mesh.model import (
    Channel,
    Draft,
    Heritage,
    InvalidInput,
    Memory,
    NotAllowed,
    Outcome,
    Page,
    Proposal,
    ProposedVerb,
    Receipt,
    Stats,
    heritage_json,
    read_heritage,
)
from memory_mesh.model.commit import Sought
from memory_mesh.platform import telemetry
from memory_mesh.rules.arguments import (
    check_limit,
    check_metadata,
    check_text,
    given,
    moment,
)
from memory_mesh.rules.trust import is_authoritative, sees
from memory_mesh.text.claim_keys import key as claim_key
from memory_mesh.write import prepare
from memory_mesh.write.rules.drafts import MemoryDetails, NewMemoryDetails, alteration

if TYPE_CHECKING:
    from memory_mesh.model.care import Erasure

_ERASES = (
    "only the user erases, and lets erased words in again; propose a delete instead "
    "(propose_delete, or delete --propose), which the user can decide and erase"
)
_OF_UPDATE = {"id", "content", "metadata", "merge", "reason"}


class EraseVerbs(View):
    """Methods that erase memories for good."""

    @needs("erase")
    def erase(
        self,
        memory_id: str | Sequence[str] | None = None,
        *,
        source: str | None = None,
        subject: str | None = None,
        user: str | None = None,
        scope: Reader = None,
        reason: Reason = "erased by the user",
        dry_run: bool = False,
    ) -> "Erasure":
        """Erases memories for good, with what says the same and what was made of them.

        They are hidden at once. `done` is True when a search through every byte that we own found
        nothing of them but words that other memories have or quote, which keep them; until then
        `waits` says what it waits for, and the next call or `upkeep` goes on. The words are not
        stored again (see `unforget`). Only the user erases.

        Options:
            source: all that came from a file, page or agent; a folder means all its files.
            subject: all that claims something of this name, has it as a value or was said by it.
                A longer name counts; a text that only mentions it stays.
            user: all of a user, as `delete_user` does.
            dry_run: only say what would go.
        """
        self._check_may_erase()
        given_ids = [memory_id] if isinstance(memory_id, str) else list(memory_id or ())
        named = {"source": source, "subject": subject, "user": user}
        stated = {name: value for name, value in named.items() if value is not None}
        if len(stated) + bool(given_ids) != 1:
            raise InvalidInput("give an id, or one of source, subject and user")
        if user is not None:
            return flows.erase.erase_user(self._ground(), user, dry_run=dry_run)
        words = {name: prepare.redact(self._access(), value) for name, value in stated.items()}
        if subject is not None:
            words["subject"] = claim_key(words["subject"])
        sought = Sought(ids=tuple(dict.fromkeys(given_ids)), **words)
        ground, why = self._ground(scope), prepare.redact(self._access(), reason)
        with self._span(telemetry.DELETE, *given_ids):
            return (
                flows.erase.plan(ground, sought)
                if dry_run
                else flows.erase.erase(ground, sought, why)
            )

    @needs("erase")
    def unforget(self, content: str | None = None, *, source: str | None = None) -> bool:
        """Lets words that were erased be stored again; False if they were not kept out.

        Options:
            source: instead of the words: all that was erased of this source, or below this folder.
                Where nothing was, it is NotFound.
        """
        self._check_may_erase()
        if (content is None) == (source is None):
            raise InvalidInput("give the words, or the source that was erased")
        if source is not None:
            named = prepare.redact(self._access(), source)
            return flows.erase.unforget_source(self._ground(), named)
        return flows.erase.unforget(self._ground(), prepare.redact(self._access(), content or ""))

    def _check_may_erase(self) -> None:
        if not is_authoritative(self._kind):
            raise NotAllowed(_ERASES)


class MemoryVerbs(EraseVerbs):
    """Methods that add, read, change and delete memories."""

    def add(
        self,
        content: str,
        metadata: Mapping[str, object] | None = None,
        **details: Unpack[NewMemoryDetails],
    ) -> Receipt:
        """Stores one memory; the receipt says what became of it and why.

        A text that is empty or too long is InvalidInput. A refusal by a rule is a receipt, and the
        first one of a process is in the log.

        `ingest` is an alias of `add`, kept for compatibility.
        """
        draft = self._spoken(self._fit(self._draft(content, metadata, given(details))))
        with self._span(telemetry.UPSERT, attempted=1) as span:
            receipt = flows.add.remember(self._access(), [draft])[0]
            span.answered([receipt])
        if receipt.outcome is Outcome.REFUSED and self._channel is not Channel.CLI:
            telemetry.warn_once("refused", f"a memory was not stored: {'; '.join(receipt.reasons)}")
        return receipt

    ingest = add

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
            receipts = flows.add.remember_each(self._access(), drafts, progress)
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
        bounded = self._channel is not Channel.IMPORT and not is_authoritative(self._kind)
        if bounded or self._remote is not None:
            return self.add_many(drafts)
        return flows.add.remember_each(self._access(), drafts)

    def evolve(
        self,
        content: str,
        metadata: Mapping[str, object] | None = None,
        **details: Unpack[NewMemoryDetails],
    ) -> Receipt:
        """Stores a memory as the newer statement of what is known, and supersedes the older one.

        The older one is of the same audience and claims, stated or in its text, what cannot be true
        beside the new one. What is only similar, or trusted more, stays and is linked as related.
        The receipt says which; `review.undo` brings the older one back.
        """
        return flows.evolve.evolve(
            self._access(), self._fit(self._draft(content, metadata, given(details)))
        )

    @reads
    def get(
        self,
        memory_id: str,
        *,
        scope: Reader = None,
        as_of: AsOf = None,
        valid_at: ValidAt = None,
        include: Statuses = (),
    ) -> Memory | None:
        """Returns one memory, or None if there is none or it is not visible; counts as a use."""
        lens = self._lens(scope, as_of=as_of, valid_at=valid_at, include=include)
        found = flows.recall.open_memories(self._access(), [memory_id], lens)
        return found[0] if found else None

    @reads
    def get_many(
        self,
        ids: Sequence[str],
        *,
        scope: Reader = None,
        as_of: AsOf = None,
        valid_at: ValidAt = None,
        include: Statuses = (),
    ) -> list[Memory]:
        """Returns the visible ones of these memories, in this order; counts as a use of each."""
        lens = self._lens(scope, as_of=as_of, valid_at=valid_at, include=include)
        return flows.recall.open_memories(self._access(), list(ids), lens)

    @reads
    def get_all(
        self,
        *,
        limit: Limit = 100,
        filter: Condition = None,
        cursor: str | None = None,
        scope: Reader = None,
        across: Across = (),
        include: Statuses = (),
        as_of: AsOf = None,
        valid_at: ValidAt = None,
    ) -> Page:
        """Lists memories, newest first, `limit` at a time; `cursor` gets the next page.

        Options:
            cursor: the cursor of the page before.
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

    @reads
    def history(self, memory_id: str, *, scope: Reader = None) -> list[Memory]:
        """Returns every recorded version of one memory, oldest first."""
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
        reader: Reader = None,
        reason: Reason = "updated by the caller",
        if_version: datetime | str | None = None,
        **details: Unpack[MemoryDetails],
    ) -> Memory:
        """Records a new version of a memory; options that are not given keep their value.

        None for `valid_from`, `valid_until` or `expires_at` removes that limit.

        Options:
            merge: merge the metadata key by key instead of replacing it as a whole.
            if_version: the `recorded_from` that it must still have, else VersionConflict.
        """
        known = self._completed(details)
        alter = alteration(content, metadata, known, channel=self._channel, merge=merge)
        if (version := moment("if_version", if_version)) is not None:
            alter = flows.change.of_version(version, alter)
        with self._span(telemetry.UPDATE, memory_id):
            return flows.change.update(
                self._access(), memory_id, self._reader(reader), alter, text=content, reason=reason
            )

    def update_many(
        self, changes: Iterable[Mapping[str, object]], *, reader: Reader = None
    ) -> list[Memory]:
        """Records new versions of several memories in one transaction, or none of them.

        A change is a mapping with `id`, and any of `content`, `metadata`, `merge`, `reason` and the
        options of `update`. Two changes that claim something of the same raise InvalidInput: make
        them one after the other.
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
            self._completed(details),
            channel=self._channel,
            merge=bool(change.get("merge")),
        )
        text = None if content is None else check_text(content, "content")
        reason = check_text(change.get("reason", "updated by the caller"), "reason")
        return flows.change.Update(check_text(change.get("id"), "id"), alter, text, reason)

    def pin(self, memory_id: str, *, pinned: bool = True, scope: Reader = None) -> Memory:
        """Pins a memory, or unpins it.

        Options:
            pinned: False takes the mark away.
        """
        with self._span(telemetry.UPDATE, memory_id):
            return flows.change.pin(self._access(), memory_id, self._reader(scope), pinned=pinned)

    def delete(
        self, memory_id: str, *, scope: Reader = None, reason: Reason = "deleted by the caller"
    ) -> Proposal | None:
        """Deletes a memory: it is hidden at once and can be restored for 30 days.

        If it comes from a more trusted source than this channel may change, nothing is deleted: the
        wish is recorded as a proposal, which is returned and waits for `review`.
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

    def restore(self, memory_id: str, *, scope: Reader = None) -> Memory:
        """Restores a deleted memory with the status it had; what took its place gives way.

        Beside a more trusted memory that it contradicts it waits for review. A channel that does
        not speak for the user restores only what such a channel deleted.
        """
        with self._span(telemetry.UPDATE, memory_id):
            return flows.change.restore(self._access(), memory_id, self._reader(scope))

    def rate(self, memory_id: str, *, helpful: bool, scope: Reader = None) -> Memory:
        """Votes whether a recalled memory was helpful; votes change its rank and nothing else.

        Every vote is counted and leaves an audit block. Votes of the user each move the rank by
        one step; votes through all other channels together move it at most one step each way.

        Options:
            helpful: whether it was of use.
        """
        return flows.change.rate(self._access(), memory_id, self._lens(scope), helpful=helpful)

    @reads
    def stats(self, *, counted: bool = True) -> Stats:
        """Returns the figures of the namespace, with what it takes on disk.

        Options:
            counted: False leaves out what takes longer the more is stored: those figures are 0.
        """
        config, opened = self._config, self._opened()
        found = opened.ledger.stats(config.namespace, config.session_days, counted=counted)
        indexed = opened.index_bytes(config.namespace)
        return replace(found, sizes=replace(found.sizes, index=indexed))

    def insert_heritage(
        self,
        memory_id: str,
        heritage: Heritage | Mapping[str, object],
        *,
        scope: Reader = None,
    ) -> Memory:
        """Adds the intents, hypotheses and rationales behind a memory; only the newest are kept."""
        plain = heritage_json(heritage) if isinstance(heritage, Heritage) else heritage
        chain = read_heritage(check_metadata(plain))
        depth = self._config.max_heritage_depth
        return flows.change.inherit(self._access(), memory_id, self._reader(scope), chain, depth)
