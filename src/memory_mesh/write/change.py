"""Change one memory: update, pin, delete, restore, heritage.

The memory's next version is decided inside the transaction, on what the memory is there. Every
change leaves a block with its reason.

Who restores asks for it, as who evolves does: what took the memory's place gives way, and
`review.undo` keeps both. Beside a more trusted memory it waits for review. What the user restores
is rejected no more. Another channel restores what it could have deleted itself; what the user
deleted comes back by the user's word alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from memory_mesh.base.typed import dataclass, fields, replace
from memory_mesh.model import (
    Commit,
    Draft,
    Heritage,
    InvalidInput,
    Json,
    Lens,
    Memory,
    NotAllowed,
    NotFound,
    NotRestorable,
    Put,
    Resolution,
    Rival,
    Scope,
    SourceKind,
    Standing,
    Statement,
    Status,
    VersionConflict,
    VoteKind,
    Wanted,
)
from memory_mesh.model.trace import LABEL as TRACE
from memory_mesh.rules import trust
from memory_mesh.rules.arguments import MEMORY_CHARS, RESTORABLE_DAYS
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import Change, change_entry, reasons_of
from memory_mesh.write.prepare import (
    Clean,
    Worded,
    clean,
    embed,
    redact_statement,
    retagged,
    tagged,
)
from memory_mesh.write.rejected_values import ERASED, forgiveness
from memory_mesh.write.rules.contradictions import (
    contradicted,
    guesses,
    keys_of,
    may_alter,
    may_move,
    voted,
)
from memory_mesh.write.rules.judge import is_called_lesson, taught_already
from memory_mesh.write.rules.merge import cut_to
from memory_mesh.write.transaction import on_record, rejected, superseded

_LESS_TRUSTED = (
    "the memory comes from a more trusted source than this channel may change, or the user pinned "
    "it or let it in; propose the change (propose_update, or update --propose; propose_delete, or "
    "delete --propose), or add what you know as a memory of its own"
)
_TEACHES = (
    "only the user makes a memory a lesson; propose the change (propose_update, or update "
    "--propose), or add the lesson as a memory of its own, which waits for review"
)
_PINS = "only the user can pin or unpin a memory"
_EMPTY = "a memory cannot be updated to an empty text; delete it instead"
_SAME = "two of the changes are about the same; make them one after the other"
REJECTED = "this value was rejected in review; undo the review with undo_review to store it"
_BLOCKS = 50  # of a memory that are looked at for who deleted it
_AWAY = (Status.DELETED, Status.ARCHIVED)
_RESTORED = Change("restore", "restored by the caller")
_DELETED_BY = (
    "only the user, or who deleted it, can restore {0}; ask the user to run: "
    "memory-mesh restore --id {0}"
)


@dataclass(frozen=True, slots=True)
class Also:
    """What is decided in the transaction of a change: on these proposals, around the change."""

    proposals: tuple[str, ...]
    decide: Callable[[Standing, Callable[[Standing], Commit]], Commit]


def update(
    access: Access,
    memory_id: str,
    reader: Scope,
    alter: Callable[[Memory], Memory],
    *,
    text: str | None,
    reason: str,
    also: Also | None = None,
) -> Memory:
    """Record a new version of a memory; the earlier one stays readable as of its time."""
    worded = None
    if text is not None:
        (worded,) = embed(access, [cleaned(access, text, memory_id)], news=[True])
    change = Change("update", reason, None if worded is None else worded[1])
    altered = _altering(access, alter, worded)
    return _change(access, memory_id, reader, change, altered, also=also)


def of_version(version: datetime, alter: Callable[[Memory], Memory]) -> Callable[[Memory], Memory]:
    """The same change, of this version alone: VersionConflict if it has another one by now."""

    def altered(old: Memory) -> Memory:
        if old.recorded_from != version:
            raise VersionConflict
        return alter(old)

    return altered


@dataclass(frozen=True, slots=True)
class Update:
    """One of several updates: of which memory, how, to which text, and why."""

    memory: str
    alter: Callable[[Memory], Memory]
    text: str | None
    reason: str


def update_many(access: Access, reader: Scope, updates: Sequence[Update]) -> list[Memory]:
    """Record new versions of several memories in one transaction, or none of them.

    Two that claim something of the same must be made one after the other: InvalidInput.
    """
    labels = _trace_labels(access, [each.memory for each in updates])
    found = [
        _cleaned_as(access, each.text, labels.get(each.memory))
        for each in updates
        if each.text is not None
    ]
    worded = iter(embed(access, found, news=[True] * len(found)))
    deciders = [
        _deciding(access, each.memory, reader, *_worded(access, each, worded)) for each in updates
    ]
    after: list[Memory] = []

    def decide(standing: Standing) -> Commit:
        commits = [one(standing) for one in deciders]
        after[:] = [commit.after for commit in commits if commit.after is not None]
        about = [key for memory in after for key in {*keys_of(memory), (memory.id, "", Scope())}]
        about += [(each.lesson.pattern_id, "", each.scope) for each in after if each.lesson]
        if len(set(about)) < len(about):
            raise InvalidInput(_SAME)
        relinked = frozenset(id_ for commit in commits for id_ in commit.relinked)
        links = (link for commit in commits for link in commit.links)
        return Commit(
            puts=tuple(put for commit in commits for put in commit.puts),
            entries=tuple(entry for commit in commits for entry in commit.entries),
            reread=tuple(id_ for commit in commits for id_ in commit.reread),
            relinked=tuple(relinked),
            links=tuple(link for link in links if link.target not in relinked),  # its text goes
            conflicts=tuple(each for commit in commits for each in commit.conflicts),
        )

    wanted = Wanted(ids=tuple(each.memory for each in updates))
    access.ledger.commit(access.namespace, wanted, decide)
    return after


def _worded(
    access: Access, update: Update, worded: Iterator[Worded]
) -> tuple[Change, Callable[[Memory], Memory]]:
    own = None
    if update.text is not None:
        own = next(worded)
    change = Change("update", update.reason, None if own is None else own[1])
    return change, _altering(access, update.alter, own)


def _altering(
    access: Access, alter: Callable[[Memory], Memory], worded: Worded | None
) -> Callable[[Memory], Memory]:
    """How an update changes a memory, inside the limits of the channel."""

    def altered(old: Memory) -> Memory:
        new = _bounded(redact_statement(access, alter(old)), access.kind)
        if worded is None:
            return new
        draft, wording = worded
        stated = new.claim if new.claim is not None and not new.claim.read else draft.claim
        return replace(new, text=wording.text, claim=stated)

    return altered


def cleaned(access: Access, text: str, memory_id: str) -> Clean:
    """The new text of a memory as it will be stored; InvalidInput if it is empty or too long."""
    return _cleaned_as(access, text, _trace_labels(access, [memory_id]).get(memory_id))


def _cleaned_as(access: Access, text: str, label: str | None) -> Clean:
    found = clean(access, Draft(text=text, label=label))
    if (size := len(found[0].text)) > MEMORY_CHARS:
        raise InvalidInput(f"the text has {size} characters; the limit is {MEMORY_CHARS}")
    if not found[1].text:
        raise InvalidInput(_EMPTY)
    return found


def _trace_labels(access: Access, ids: Sequence[str]) -> dict[str, str]:
    """The labels of those memories that are traces: their texts are held to stricter rules."""
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.standing(Wanted(ids=tuple(ids))).memories
    return {id_: TRACE for id_, memory in found.items() if memory.label == TRACE}


def pin(access: Access, memory_id: str, reader: Scope, *, pinned: bool) -> Memory:
    """Pins or unpins a memory."""
    change = Change("pin", "pinned by the caller" if pinned else "unpinned by the caller")
    if not trust.is_authoritative(access.kind):
        raise NotAllowed(_PINS)
    return _change(access, memory_id, reader, change, lambda old: replace(old, pinned=pinned))


def delete(
    access: Access, memory_id: str, reader: Scope, reason: str, also: Also | None = None
) -> Memory:
    """Deletes a memory: hidden at once, restorable for 30 days."""
    change = Change("delete", reason)
    return _change(
        access,
        memory_id,
        reader,
        change,
        lambda old: replace(old, status=Status.DELETED),
        also=also,
    )


def rate(access: Access, memory_id: str, lens: Lens, *, helpful: bool) -> Memory:
    """Counts one vote on whether a visible memory was helpful, and leaves its block."""
    kind = VoteKind.HELPFUL if helpful else VoteKind.HARMFUL
    with access.ledger.read(access.namespace) as snapshot:
        if not snapshot.get([memory_id], lens):
            raise NotFound.of(memory_id)

    def decide(standing: Standing) -> Commit:
        old = standing.memories.get(memory_id)
        if old is None or old.status is Status.DELETED:
            raise NotFound.of(memory_id)
        moves = may_move(old, kind, access.kind)
        new = voted(old, kind, access.kind, moves=moves)
        said: dict[str, Json] = {"vote": kind.value, "moved": moves}
        entry = change_entry(access, standing, memory_id, Change("vote", f"rated {kind}"), said)
        return Commit(counted=(new,), entries=(entry,), after=new)

    return commit_change(access, memory_id, decide)


def inherit(access: Access, memory_id: str, reader: Scope, chain: Heritage, depth: int) -> Memory:
    """Sets the heritage of a memory: the newest links, with a count of those cut off."""
    change = Change("heritage", "heritage given by the caller")
    kept = cut_to(chain, depth)
    return _change(
        access,
        memory_id,
        reader,
        change,
        lambda old: redact_statement(access, replace(old, heritage=kept)),
    )


def mark_superseded(access: Access, old_id: str, new_id: str) -> bool:
    """Marks an imported memory that waits for review as superseded by another one.

    Returns False if the memory was approved in the meantime; then it stays.
    """

    def decide(standing: Standing) -> Commit:
        old, new = standing.memories.get(old_id), standing.memories.get(new_id)
        if old is None or new is None or old.id == new.id:
            return Commit()
        if not all(trust.sees(access.reader, memory.scope) for memory in (old, new)):
            return Commit()
        if old.status is not Status.QUARANTINED or new.status is Status.DELETED:
            return Commit()
        check_may_alter(access, old, standing)
        put, entry = superseded(access, old, new, standing)
        return Commit(puts=(put,), entries=(entry,))

    done = access.ledger.commit(access.namespace, Wanted(ids=(old_id, new_id)), decide)
    return bool(done.puts)


def check_may_alter(access: Access, memory: Memory, standing: Standing) -> None:
    """Raises NotAllowed if this channel may not change a memory."""
    if not may_alter(access.kind, memory, standing.history):
        raise NotAllowed(_LESS_TRUSTED)


def _change(
    access: Access,
    memory_id: str,
    reader: Scope,
    change: Change,
    alter: Callable[[Memory], Memory],
    *,
    also: Also | None = None,
) -> Memory:
    """One memory's next version, decided on what it is inside the transaction."""
    decide = _deciding(access, memory_id, reader, change, alter)
    return commit_change(access, memory_id, decide, also)


def _deciding(
    access: Access,
    memory_id: str,
    reader: Scope,
    change: Change,
    alter: Callable[[Memory], Memory],
) -> Callable[[Standing], Commit]:
    """What decides the change of one memory."""

    def decide(standing: Standing) -> Commit:
        old = standing.memories.get(memory_id)
        if old is None or old.status is Status.DELETED or not trust.sees(reader, old.scope):
            raise NotFound.of(memory_id)
        check_may_alter(access, old, standing)
        new = replace(alter(old), recorded_from=standing.at)
        if (
            is_called_lesson(new)
            and not is_called_lesson(old)
            and not trust.is_authoritative(access.kind)
        ):
            raise NotAllowed(_TEACHES)
        return changed(access, standing, old, new, change)

    return decide


def commit_change(
    access: Access,
    memory_id: str,
    decide: Callable[[Standing], Commit],
    also: Also | None = None,
) -> Memory:
    """The memory as the change leaves it, with what else belongs to the same transaction."""
    wanted = Wanted(ids=(memory_id,))
    if also is not None:
        wanted, alone = replace(wanted, proposals=also.proposals), decide

        def decide(standing: Standing) -> Commit:
            return also.decide(standing, alone)

    after = access.ledger.commit(access.namespace, wanted, decide).after
    assert after is not None  # noqa: S101  # both deciders set it
    return after


def changed(
    access: Access,
    standing: Standing,
    old: Memory,
    new: Memory,
    change: Change,
    *,
    contradicts: bool = False,
) -> Commit:
    """The new version and its block; nothing at all when nothing differs.

    It is refused if it contradicts an active memory, unless `contradicts` says that is settled.
    """
    new = replace(new, status_today=new.status)
    said = any(getattr(old, name) != getattr(new, name) for name in _TRUTH)
    said = said or trust.persons(old) != trust.persons(new)
    others = others_beside(new, standing) if said and new.status is Status.ACTIVE else None
    if others is not None and not contradicts:
        _refuse_untrue(access, new, others)
    differing: list[Json] = [
        name
        for name in (*_STATED, "status")
        if getattr(old, name) != getattr(new, name)
        and not (name == "claim" and new.text != old.text)  # it was read from the text
    ]
    if not differing:
        return Commit(after=old)
    metadata: dict[str, Json] = {"changed": differing}
    if new.status is Status.DELETED and not trust.is_authoritative(access.kind):
        metadata["by"] = access.kind.value  # who may restore it
    if new.text == old.text:  # a text that new tags find is stored anew: as of before, the old ones
        wording = retagged(old, new.tags) if new.tags != old.tags else None
    elif (wording := change.wording) is not None:
        metadata["content_sha256"] = wording.hash.hex()
        wording = tagged(wording, new.tags)
    entry = change_entry(access, standing, new.id, change, metadata)
    reread = _stands_for(new) != _stands_for(old)
    guessed = guesses(new, others) if reread and others is not None else []
    return Commit(
        puts=(Put(new, wording, reasons_of(entry)),),
        entries=(entry,),
        reread=(new.id,) if reread else (),
        relinked=() if new.text == old.text else (new.id,),
        conflicts=tuple(on_record(access, new, rival, standing) for rival in guessed),
        after=new,
    )


def _bounded(memory: Memory, kind: SourceKind) -> Memory:
    """Limits source, importance and pin to what the writer's channel may set."""
    bound = trust.lowest((trust.authority(memory.source), kind))
    return replace(
        memory,
        source=replace(memory.source, kind=trust.lowest((memory.source.kind, kind))),
        importance=trust.allowed_importance(bound, memory.importance),
        pinned=memory.pinned and trust.is_authoritative(bound),
    )


def _stands_for(memory: Memory) -> tuple[object, ...]:
    """Returns what a guess about the memory goes by."""
    claim = memory.claim
    said = None if claim is None else (claim.subject, claim.predicate, claim.value)
    return said, memory.scope, trust.persons(memory)


def others_beside(new: Memory, standing: Standing) -> Standing:
    """What stands beside the changed memory: claims on the same, lessons of the same pattern."""
    claim, lesson = new.claim, new.lesson
    if standing.claimed is None or (claim is None and lesson is None):
        return standing
    about = keys_of(new)
    patterns = () if lesson is None else ((lesson.pattern_id, new.scope),)
    return standing.claimed(Wanted(claims=about, patterns=patterns))


def _refuse_untrue(access: Access, new: Memory, standing: Standing) -> None:
    """Refuses a change that brings back a rejected value or contradicts an active memory."""
    if why := rejected(access, new, standing):
        raise InvalidInput(why if why.startswith(ERASED) else REJECTED)
    against = [*contradicted(new, standing), *taught_already(new, standing)]
    if against:
        raise InvalidInput(
            f"the change contradicts {against[0].id}: {against[0].text[:80]!r}; delete that "
            "memory, or add the text as a new memory"
        )


_STATED = tuple(field.name for field in fields(Statement))
_TRUTH = ("status", "text", "claim", "scope", "valid_from", "valid_until")  # what rules look at


def restore(access: Access, memory_id: str, reader: Scope, also: Also | None = None) -> Memory:
    """Brings a deleted or archived memory back with the status it had, or to wait for review."""
    deleters = {} if trust.is_authoritative(access.kind) else _deleters(access, memory_id)

    def decide(standing: Standing) -> Commit:
        old = standing.memories.get(memory_id)
        if old is None or not trust.sees(reader, old.scope):
            raise NotFound.of(memory_id)
        late = standing.at - old.recorded_from > timedelta(days=RESTORABLE_DAYS)
        if old.status not in _AWAY or (late and old.status is Status.DELETED):
            raise NotRestorable
        _check_allowed(access, old, deleters, standing)
        before = [each.status for each in standing.history(memory_id)]
        had = [status for status in before if status not in {Status.DELETED, old.status}]
        status = had[-1] if had else Status.ACTIVE  # salvage may have read the last version alone
        new = replace(old, status=status, recorded_from=standing.at)
        return _restored(access, standing, old, new)

    return commit_change(access, memory_id, decide, also)


def _deleters(access: Access, memory_id: str) -> dict[datetime, SourceKind]:
    """Who deleted a memory, by when; a block names only channels that do not speak for the user."""
    with access.ledger.read(access.namespace) as snapshot:
        blocks = snapshot.blocks_about(memory_id, _BLOCKS)
    return {
        block.entry.at: SourceKind(str(block.entry.metadata.get("by", SourceKind.USER_EXPLICIT)))
        for block in blocks
        if block.entry.metadata.get("type") == "delete"
    }


def _check_allowed(
    access: Access, old: Memory, deleters: Mapping[datetime, SourceKind], standing: Standing
) -> None:
    """Raises NotAllowed if this channel could not have deleted the memory, or who did was above."""
    if trust.is_authoritative(access.kind):
        return
    then = old.recorded_from.replace(microsecond=old.recorded_from.microsecond // 1_000 * 1_000)
    by = deleters.get(then, SourceKind.USER_EXPLICIT)  # the time of a block is in milliseconds
    if trust.lowest((by, access.kind)) is not by or not may_alter(
        access.kind, old, standing.history
    ):
        raise NotAllowed(_DELETED_BY.format(old.id))


def _restored(access: Access, standing: Standing, old: Memory, new: Memory) -> Commit:
    """The memory and what it contradicts: they give way, or it waits."""
    if new.status is not Status.ACTIVE:
        return changed(access, standing, old, new, _RESTORED)
    beside = others_beside(new, standing)
    forgiven: tuple[bytes, ...] = ()
    if rejected(access, new, beside):
        if not trust.is_authoritative(access.kind):
            raise InvalidInput(REJECTED)
        forgiven = forgiveness(access, new)
    against = [*contradicted(new, beside), *taught_already(new, beside)]
    stronger = any(
        trust.outranks(one.source, new.source) or not may_alter(access.kind, one, standing.history)
        for one in against
    )
    if stronger:
        new = replace(new, status=Status.QUARANTINED)
    resolution = None if stronger else Resolution.SUPERSEDE
    conflicts = [
        on_record(access, new, _rival(new, one, resolution, standing), standing, _RESTORED.why)
        for one in against
    ]
    gone = [] if stronger else [superseded(access, one, new, standing) for one in against]
    done = changed(access, standing, old, new, _RESTORED, contradicts=True)
    return replace(
        done,
        puts=(*done.puts, *(put for put, _ in gone)),
        entries=(*done.entries, *(entry for _, entry in gone)),
        conflicts=(*done.conflicts, *conflicts),
        forgiven=forgiven,
    )


def _rival(new: Memory, one: Memory, resolution: Resolution | None, standing: Standing) -> Rival:
    ours, theirs = trust.trust_of(new, standing.at), trust.trust_of(one, standing.at)
    return Rival(one, ours, theirs, "it took the place of a restored memory", resolution)
