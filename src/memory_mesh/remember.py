"""THE write path, one story per verb, batch first.

::

    Draft ── word, embed ──▶ Wording (hash, terms, vectors)     slow work, before any lock
                        │
      ledger.commit(wanted, decide)                             lock, one transaction
                        │  rivals: twins, keys, the memories named by id
                        ▼
                     judge ──▶ Keep | Merge | Repeat | Refuse
                        ▼
                     Commit(puts, observations, entries) ──▶ Receipt

A change of a memory (update, pin, delete, restore) is the same story with one memory as its rival.
Nothing is silent: every write leaves a block, and every draft gets a receipt with its reasons.
Where no embedder answers, the text is stored all the same and waits for its vector.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from memory_mesh.errors import EmbeddingError, NotFound, NotRestorable, TextRefused
from memory_mesh.formats import rfc11, yamo
from memory_mesh.model import (
    Commit,
    Draft,
    Entry,
    Json,
    Keep,
    Memory,
    Merge,
    Observation,
    Operation,
    Outcome,
    Put,
    Receipt,
    Refuse,
    Repeat,
    Rivals,
    Scope,
    Seen,
    Space,
    Statement,
    Status,
    TextVectors,
    Wanted,
    Wording,
)
from memory_mesh.policy import analyze, audience
from memory_mesh.policy.judge import judge
from memory_mesh.ports import Embedder, Ids, Ledger
from memory_mesh.values import dataclass, fields, replace

SLICE = 256  # drafts per transaction: no other writer waits longer than one slice takes
RESTORABLE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where and by whom is written: the parts every write needs."""

    ledger: Ledger
    ids: Ids
    namespace: str
    agent: str
    yamo: bool = True
    embedder: Embedder | None = None


@dataclass(frozen=True, slots=True)
class Deed:
    """What is done to a memory, why, and the wording it gets if its text changes."""

    what: str
    why: str
    wording: Wording | None = None


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


def word(text: str) -> Wording:
    """A text made ready: what identifies it and what finds it."""
    return Wording(text, hashlib.sha256(text.encode()).digest(), " ".join(analyze.terms(text)))


def prepare(desk: Desk, texts: Sequence[str]) -> list[Wording]:
    """Texts made ready, with vectors where an embedder answers; without them they wait."""
    wordings = [word(text) for text in texts]
    worthy = [number for number, text in enumerate(texts) if text.strip()]
    if desk.embedder is None or not worthy:
        return wordings
    try:
        embedded = _embed_each(desk.embedder, [texts[number] for number in worthy])
    except EmbeddingError:
        return wordings
    for number, found in zip(worthy, embedded, strict=True):
        if found is not None:
            space, vectors = found
            wordings[number] = replace(wordings[number], space=space, vectors=vectors)
    return wordings


def embed_waiting(
    ledger: Ledger, namespace: str, embedder: Embedder, space: Space, limit: int
) -> int:
    """Give texts that wait in a space their vectors, at most `limit`; how many got them."""
    with ledger.read(namespace) as snapshot:
        waiting = snapshot.pending(space, limit).texts
    if not waiting:
        return 0
    embedded = _embed_each(embedder, [text for _, text in waiting])
    if not any(embedded):
        raise TextRefused
    late = tuple(
        TextVectors(number, *(found or (space, ())))
        for (number, _), found in zip(waiting, embedded, strict=True)
    )
    ledger.commit(namespace, Wanted(), lambda _: Commit(vectors=late))
    return sum(1 for found in late if found.space == space)


def _embed_each(
    embedder: Embedder, texts: Sequence[str]
) -> list[tuple[Space, tuple[bytes, ...]] | None]:
    """Space and vectors of each text; None for one that the embedder does not take."""
    try:
        embedding = embedder.embed(texts)
    except TextRefused:
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        return _embed_each(embedder, texts[:half]) + _embed_each(embedder, texts[half:])
    return [(embedding.space, vectors) for vectors in embedding.vectors]


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
    wording = prepare(desk, [text])[0] if text is not None else None
    return _change(desk, memory_id, reader, Deed("update", reason, wording), alter)


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


def _remember_slice(desk: Desk, drafts: Sequence[Draft]) -> tuple[Receipt, ...]:
    worded = list(zip(drafts, prepare(desk, [draft.text for draft in drafts]), strict=True))
    wanted = Wanted(
        twins=tuple((wording.hash, draft.scope) for draft, wording in worded),
        keys=tuple(draft.key for draft in drafts if draft.key is not None),
    )
    return desk.ledger.commit(
        desk.namespace, wanted, lambda rivals: _decide(desk, worded, rivals)
    ).receipts


def _decide(desk: Desk, worded: Sequence[tuple[Draft, Wording]], rivals: Rivals) -> Commit:
    """Judge draft after draft; what an earlier one of the slice stores is a rival of the later."""
    twins, keys = dict(rivals.twins), dict(rivals.keys)
    rivals = replace(rivals, twins=twins, keys=keys)
    parts: list[Commit] = []
    for draft, wording in worded:
        part, settled = _settle(desk, draft, wording, rivals)
        parts.append(part)
        if settled is not None:
            key = (wording.hash, draft.scope)
            twins[key] = (*twins.get(key, ()), settled)
            if draft.key is not None:
                keys[draft.key] = Seen(wording.hash, part.receipts[0].outcome, settled)
    return Commit(
        puts=tuple(put for part in parts for put in part.puts),
        observations=tuple(seen for part in parts for seen in part.observations),
        entries=tuple(entry for part in parts for entry in part.entries),
        receipts=tuple(receipt for part in parts for receipt in part.receipts),
    )


def _settle(
    desk: Desk, draft: Draft, wording: Wording, rivals: Rivals
) -> tuple[Commit, Memory | None]:
    """What one draft changes, and the memory it ended in."""
    match judge(draft, wording, rivals):
        case Keep():
            memory = _born(desk, draft, rivals)
            return _kept(desk, memory, draft, wording, rivals), memory
        case Merge(into):
            reason = f"the same text is known as {into.id}"
            seen = _observation(into.id, wording, Outcome.MERGED, draft)
            entry = _change_entry(desk, rivals, into.id, Deed("merge", reason), {})
            receipt = _receipt(into, Outcome.MERGED, reason, *_not_taken(draft, into))
            return Commit(observations=(seen,), entries=(entry,), receipts=(receipt,)), into
        case Repeat(seen):
            return Commit(receipts=(_repeated(draft, seen),)), None
        case Refuse(reason):
            refused = Receipt(None, draft.text, draft.metadata, None, Outcome.REFUSED, (reason,))
            return Commit(receipts=(refused,)), None


def _born(desk: Desk, draft: Draft, rivals: Rivals) -> Memory:
    """The draft as a memory of this moment."""
    stated = {name: getattr(draft, name) for name in _STATED}
    return Memory(
        id=_fresh(desk, "mem", rivals), created_at=rivals.at, recorded_from=rivals.at, **stated
    )


def _kept(desk: Desk, memory: Memory, draft: Draft, wording: Wording, rivals: Rivals) -> Commit:
    """A new memory: its first version, its observation and its retain block."""
    entry = Entry(
        id=_fresh(desk, "yamo_retain", rivals),
        operation=Operation.RETAIN,
        agent=desk.agent,
        at=rivals.at,
        memories=(memory.id,),
        wire=yamo.render(_retained(desk, memory, rivals)) if desk.yamo else None,
        metadata={"content_sha256": wording.hash.hex()} | _flags(memory),
    )
    return Commit(
        puts=(Put(memory, wording),),
        observations=(_observation(memory.id, wording, Outcome.STORED, draft),),
        entries=(entry,),
        receipts=(_receipt(memory, Outcome.STORED, "nothing known stands against it"),),
    )


def _retained(desk: Desk, memory: Memory, rivals: Rivals) -> yamo.YamoBlock:
    stated = memory.extra.get("hypothesis")
    return yamo.retain(
        memory.id,
        memory.text,
        agent_id=desk.agent,
        memory_type=rfc11.shown_type(memory),
        at=rivals.at,
        hypothesis=stated if isinstance(stated, str) and stated else yamo.HYPOTHESIS,
    )


def _flags(memory: Memory) -> dict[str, Json]:
    """What a later scan of the blocks looks for: a stated status and the tags."""
    status = memory.extra.get("status")
    flags: dict[str, Json] = {"status": status} if isinstance(status, str) else {}
    return flags | ({"tags": list(memory.tags)} if memory.tags else {})


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
    entry = _change_entry(desk, rivals, new.id, deed, metadata)
    return Commit(puts=(Put(new, wording),), entries=(entry,), after=new)


def _change_entry(
    desk: Desk, rivals: Rivals, memory_id: str, deed: Deed, metadata: dict[str, Json]
) -> Entry:
    block = yamo.change(memory_id, deed.what, agent_id=desk.agent, reason=deed.why, at=rivals.at)
    return Entry(
        id=_fresh(desk, "yamo_change", rivals),
        operation=Operation.CHANGE,
        agent=desk.agent,
        at=rivals.at,
        memories=(memory_id,),
        wire=yamo.render(block) if desk.yamo else None,
        metadata={"type": deed.what, "why": deed.why} | metadata,
    )


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
    return replace(_receipt(seen.memory, seen.outcome, *reasons), content=draft.text)


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


def _fresh(desk: Desk, prefix: str, rivals: Rivals) -> str:
    """An id nobody has; another process may have drawn the same one this millisecond."""
    id_ = desk.ids.draw(prefix)
    while rivals.taken(id_):
        id_ = desk.ids.draw(prefix)
    return id_


def _slices(drafts: Sequence[Draft]) -> Iterator[Sequence[Draft]]:
    for start in range(0, len(drafts), SLICE):
        yield drafts[start : start + SLICE]


_STATED = tuple(field.name for field in fields(Statement))
