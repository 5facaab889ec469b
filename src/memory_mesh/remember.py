"""THE write path, one story per verb, batch first.

::

    Draft ── redact, scrub, embed ──▶ Wording (hash, terms, vectors)   slow work, before any lock
                        │
      ledger.commit(wanted, decide)                             lock, one transaction
                        │  rivals: twins, keys, the memories named by id
                        ▼
                     judge ──▶ Keep | Known | Merge | Repeat | Refuse
                        ▼
                     Commit(puts, observations, links, entries) ──▶ Receipt

A change of a memory (update, pin, delete, restore) is the same story with one memory as its rival.
Nothing is silent: every write leaves a block, and every draft gets a receipt with its reasons.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from memory_mesh.desk import Deed, Desk, change_entry, fresh, kept_entry
from memory_mesh.errors import InvalidInput, NotFound, NotRestorable
from memory_mesh.formats import rfc11
from memory_mesh.formats.heritage import cut_to
from memory_mesh.model import (
    Commit,
    Draft,
    Entry,
    Heritage,
    Json,
    Keep,
    Known,
    Link,
    Memory,
    Merge,
    Observation,
    Outcome,
    Put,
    Receipt,
    Refuse,
    Repeat,
    Rivals,
    Scope,
    Seen,
    Statement,
    Status,
    Wanted,
    Wording,
)
from memory_mesh.policy import audience, heritage
from memory_mesh.policy.judge import judge
from memory_mesh.policy.trust import lowest
from memory_mesh.values import fields, replace
from memory_mesh.wording import Clean, clean, embed, redacted

SLICE = 256  # drafts per transaction: no other writer waits longer than one slice takes
RESTORABLE = timedelta(days=30)
_LESS_TRUSTED = (
    "the memory comes from a more trusted source than this channel may change; add what you know "
    "as a memory of its own"
)
_EMPTY = "a memory cannot be updated to an empty text; delete it instead"


def remember(
    desk: Desk, drafts: Sequence[Draft], progress: Callable[[int], None] | None = None
) -> list[Receipt]:
    """Store the drafts in slices, each one transaction; one receipt per draft, in order."""
    receipts: list[Receipt] = []
    for part in _slices(drafts):
        receipts += _remember_slice(desk, part)
        if progress is not None:
            progress(len(receipts))
    return receipts


def update(
    desk: Desk,
    memory_id: str,
    reader: Scope,
    alter: Callable[[Memory], Memory],
    *,
    text: str | None,
    reason: str,
) -> Memory:
    """Record a new version of a memory; the earlier one stays readable as of its time."""
    wording = None
    if text is not None:
        ((_, wording),) = embed(desk, [clean(desk, Draft(text=text))], news=[True])
        if not wording.text:
            raise InvalidInput(_EMPTY)

    def altered(old: Memory) -> Memory:
        if lowest((old.source.kind, desk.kind)) is not old.source.kind:
            raise InvalidInput(_LESS_TRUSTED)
        new = redacted(desk.redactor, alter(old))
        return new if wording is None else replace(new, text=wording.text)

    return _change(desk, memory_id, reader, Deed("update", reason, wording), altered)


def pin(desk: Desk, memory_id: str, reader: Scope, *, pinned: bool) -> Memory:
    """Mark a memory as always wanted, or take the mark away."""
    deed = Deed("pin", "pinned by the caller" if pinned else "unpinned by the caller")
    return _change(desk, memory_id, reader, deed, lambda old: replace(old, pinned=pinned))


def delete(desk: Desk, memory_id: str, reader: Scope, reason: str) -> Memory:
    """Hide a memory from every read of the present; it can be restored for 30 days."""
    deed = Deed("delete", reason)
    return _change(desk, memory_id, reader, deed, lambda old: replace(old, status=Status.DELETED))


def restore(desk: Desk, memory_id: str, reader: Scope) -> Memory:
    """Bring a deleted memory back with the status it had."""

    def decide(rivals: Rivals) -> Commit:
        old = rivals.memories.get(memory_id)
        if old is None or not audience.sees(reader, old.scope):
            raise NotFound
        if old.status is not Status.DELETED or rivals.at - old.recorded_from > RESTORABLE:
            raise NotRestorable
        before = rivals.history(memory_id)[-2]
        new = replace(old, status=before.status, recorded_from=rivals.at)
        return _changed(desk, rivals, old, new, Deed("restore", "restored by the caller"))

    return _commit_change(desk, memory_id, decide)


def inherit(desk: Desk, memory_id: str, reader: Scope, chain: Heritage, depth: int) -> Memory:
    """Give a memory its heritage: the newest links, the cut ones counted."""
    deed = Deed("heritage", "heritage given by the caller")
    kept = cut_to(chain, depth)
    return _change(
        desk,
        memory_id,
        reader,
        deed,
        lambda old: redacted(desk.redactor, replace(old, heritage=kept)),
    )


def review(desk: Desk, memory_id: str, reader: Scope, *, approve: bool, reason: str) -> Memory:
    """End a memory's quarantine: it becomes active, or is archived with the reason."""

    def decide(rivals: Rivals) -> Commit:
        old = rivals.memories.get(memory_id)
        if old is None or not audience.sees(reader, old.scope):
            raise NotFound
        if old.status is not Status.QUARANTINED:
            message = f"{memory_id} does not wait for review: it is {old.status}"
            raise InvalidInput(message)
        status = Status.ACTIVE if approve else Status.ARCHIVED
        new = replace(old, status=status, recorded_from=rivals.at)
        return _changed(desk, rivals, old, new, Deed("review", reason))

    return _commit_change(desk, memory_id, decide)


def _remember_slice(desk: Desk, drafts: Sequence[Draft]) -> tuple[Receipt, ...]:
    cleaned = [clean(desk, draft) for draft in drafts]
    wanted = _wanted([draft for draft, _, _ in cleaned], [wording for _, wording, _ in cleaned])
    worded = embed(desk, cleaned, news=_news(desk, cleaned, wanted))
    return desk.ledger.commit(
        desk.namespace, wanted, lambda rivals: _decide(desk, worded, rivals)
    ).receipts


def _news(desk: Desk, cleaned: Sequence[Clean], wanted: Wanted) -> list[bool]:
    """Which drafts are worth embedding: not those that are known; the transaction asks again."""
    if desk.embedder is None:
        return [False] * len(cleaned)
    with desk.ledger.read(desk.namespace) as snapshot:
        rivals = snapshot.rivals(wanted)
    return [isinstance(judge(draft, wording, rivals), Keep) for draft, wording, _ in cleaned]


def _wanted(drafts: Sequence[Draft], wordings: Sequence[Wording]) -> Wanted:
    """What a verdict on these drafts depends on."""
    return Wanted(
        twins=tuple(
            (wording.hash, draft.scope) for draft, wording in zip(drafts, wordings, strict=True)
        ),
        keys=tuple(draft.key for draft in drafts if draft.key is not None),
        ids=tuple(
            id_
            for draft in drafts
            for id_ in (*draft.derived_from, *([draft.born.id] if draft.born else ()))
        ),
        patterns=tuple(
            (draft.lesson.pattern_id, draft.scope) for draft in drafts if draft.lesson is not None
        ),
    )


def _decide(desk: Desk, worded: Sequence[tuple[Draft, Wording]], rivals: Rivals) -> Commit:
    """Judge draft after draft; what an earlier one of the slice stores is a rival of the later."""
    twins, keys, lessons = dict(rivals.twins), dict(rivals.keys), dict(rivals.lessons)
    memories = dict(rivals.memories)
    rivals = replace(rivals, twins=twins, keys=keys, lessons=lessons, memories=memories)
    parts: list[Commit] = []
    for draft, wording in worded:
        part, settled = _settle(desk, draft, wording, rivals)
        parts.append(part)
        if settled is not None:
            key = (wording.hash, draft.scope)
            twins[key] = (*twins.get(key, ()), settled)
            memories[settled.id] = settled
            if settled.lesson is not None and part.puts:
                lessons[settled.lesson.pattern_id, draft.scope] = (settled,)
            if draft.key is not None:
                keys[draft.key] = Seen(wording.hash, part.receipts[0].outcome, settled)
    return Commit(
        puts=tuple(put for part in parts for put in part.puts),
        observations=tuple(seen for part in parts for seen in part.observations),
        links=tuple(link for part in parts for link in part.links),
        entries=tuple(entry for part in parts for entry in part.entries),
        receipts=tuple(receipt for part in parts for receipt in part.receipts),
    )


def _settle(
    desk: Desk, draft: Draft, wording: Wording, rivals: Rivals
) -> tuple[Commit, Memory | None]:
    """What one draft changes, and the memory it ended in."""
    match judge(draft, wording, rivals):
        case Keep() as keep:
            memory = _born(desk, draft, keep, rivals)
            return _kept(desk, (draft, wording), memory, keep, rivals), memory
        case Known(memory, reason):
            receipt = replace(_receipt(memory, Outcome.MERGED, reason), again=True)
            return Commit(receipts=(receipt,)), None
        case Merge(into):
            reason = f"the same text is known as {into.id}"
            seen = _observation(into.id, wording, Outcome.MERGED, draft)
            entry = change_entry(desk, rivals, into.id, Deed("merge", reason), {})
            receipt = _receipt(into, Outcome.MERGED, reason, *_not_taken(draft, into))
            return Commit(observations=(seen,), entries=(entry,), receipts=(receipt,)), into
        case Repeat(seen):
            return Commit(receipts=(_repeated(draft, seen),)), None
        case Refuse(reason):
            refused = Receipt(None, draft.text, draft.metadata, None, Outcome.REFUSED, (reason,))
            return Commit(receipts=(refused,)), None


def _born(desk: Desk, draft: Draft, keep: Keep, rivals: Rivals) -> Memory:
    """The draft as a memory of this moment; what is derived has the trust of its sources."""
    stated = {name: getattr(draft, name) for name in _STATED}
    parents = [rivals.memories[id_] for id_ in draft.derived_from if id_ in rivals.memories]
    if parents:
        kinds = [parent.source.kind for parent in parents]
        stated["source"] = replace(draft.source, kind=lowest((draft.source.kind, *kinds)))
    if desk.heritage_depth is not None and draft.heritage is None:
        chains = [one.heritage for one in parents if audience.sees(draft.scope, one.scope)]
        stated["heritage"] = heritage.grown(chains, draft.extra, desk.heritage_depth)
    if draft.born is not None:
        stated |= {"uses": draft.born.uses, "last_used": draft.born.last_used}
    prefix = "mem" if draft.topic is None else "reflect"
    return Memory(
        id=draft.born.id if draft.born is not None else fresh(desk, prefix, rivals),
        created_at=draft.born.created_at if draft.born is not None else rivals.at,
        recorded_from=rivals.at,
        status=keep.status,
        status_today=keep.status,
        **stated,
    )


def _kept(
    desk: Desk, worded: tuple[Draft, Wording], memory: Memory, keep: Keep, rivals: Rivals
) -> Commit:
    """A new memory: its first version, observation, links and block; what it replaces is closed."""
    draft, wording = worded
    outcome = Outcome.STORED if memory.status is Status.ACTIVE else Outcome.QUARANTINED
    replaced = [_superseded(desk, old, memory, rivals) for old in keep.supersedes]
    receipt = _receipt(memory, outcome, keep.reason)
    return Commit(
        puts=(Put(memory, wording), *(put for put, _ in replaced)),
        observations=(_observation(memory.id, wording, outcome, draft),),
        links=tuple(Link(memory.id, source, "derived_from") for source in draft.derived_from),
        entries=(
            kept_entry(desk, memory, draft, wording, rivals),
            *(entry for _, entry in replaced),
        ),
        receipts=(replace(receipt, superseded=tuple(old.id for old in keep.supersedes)),),
    )


def _superseded(desk: Desk, old: Memory, new: Memory, rivals: Rivals) -> tuple[Put, Entry]:
    """The closing of a memory that another one takes the place of."""
    closed = replace(
        old,
        status=Status.SUPERSEDED,
        status_today=Status.SUPERSEDED,
        successor=new.id,
        recorded_from=rivals.at,
    )
    deed = Deed("supersede", f"{new.id} takes its place")
    return Put(closed, None), change_entry(desk, rivals, old.id, deed, {"successor": new.id})


def _change(
    desk: Desk, memory_id: str, reader: Scope, deed: Deed, alter: Callable[[Memory], Memory]
) -> Memory:
    """One memory's next version, decided on what it is inside the transaction."""

    def decide(rivals: Rivals) -> Commit:
        old = rivals.memories.get(memory_id)
        if old is None or old.status is Status.DELETED or not audience.sees(reader, old.scope):
            raise NotFound
        new = replace(alter(old), recorded_from=rivals.at)
        return _changed(desk, rivals, old, new, deed)

    return _commit_change(desk, memory_id, decide)


def _commit_change(desk: Desk, memory_id: str, decide: Callable[[Rivals], Commit]) -> Memory:
    """The memory as the change leaves it."""
    after = desk.ledger.commit(desk.namespace, Wanted(ids=(memory_id,)), decide).after
    assert after is not None  # noqa: S101  # both deciders set it
    return after


def _changed(desk: Desk, rivals: Rivals, old: Memory, new: Memory, deed: Deed) -> Commit:
    """The new version and its block; nothing at all when nothing differs."""
    new = replace(new, status_today=new.status)
    differing: list[Json] = [
        name for name in (*_STATED, "status") if getattr(old, name) != getattr(new, name)
    ]
    if not differing:
        return Commit(after=old)
    wording = deed.wording if new.text != old.text else None
    metadata: dict[str, Json] = {"changed": differing}
    if wording is not None:
        metadata["content_sha256"] = wording.hash.hex()
    entry = change_entry(desk, rivals, new.id, deed, metadata)
    return Commit(puts=(Put(new, wording),), entries=(entry,), after=new)


def _observation(memory_id: str, wording: Wording, outcome: Outcome, draft: Draft) -> Observation:
    origin = draft.source.ref or draft.source.agent or draft.source.channel.value
    return Observation(memory_id, wording.hash, outcome, origin, draft.key)


def _receipt(memory: Memory, outcome: Outcome, *reasons: str) -> Receipt:
    created = rfc11.iso(memory.created_at)
    return Receipt(memory.id, memory.text, memory.metadata, created, outcome, reasons)


def _repeated(draft: Draft, seen: Seen) -> Receipt:
    """The first answer once more, and what became of the memory since."""
    reasons = ["this key was seen before with the same text"]
    if seen.memory.status is not Status.ACTIVE:
        reasons.append(f"the memory is {seen.memory.status} since")
    first = _receipt(seen.memory, seen.outcome, *reasons)
    return replace(first, content=draft.text, again=True)


def _not_taken(draft: Draft, into: Memory) -> list[str]:
    """A merge changes nothing of the known memory; the receipt says what was left behind."""
    plain = Draft(text=draft.text)
    left = [
        "metadata" if name == "extra" else name
        for name in _STATED
        if name != "source"
        and getattr(draft, name) != getattr(plain, name)
        and getattr(draft, name) != getattr(into, name)
    ]
    if not left:
        return []
    return [f"not taken over: {', '.join(left)}; use update to change the known memory"]


def _slices(drafts: Sequence[Draft]) -> Iterator[Sequence[Draft]]:
    for start in range(0, len(drafts), SLICE):
        yield drafts[start : start + SLICE]


_STATED = tuple(field.name for field in fields(Statement))
