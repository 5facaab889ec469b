"""Proposals: a writer asks for a change of a memory that it may not make alone; a person decides.

::

    propose ──▶ Proposal (waits) ── review ──▶ approved: the change, in the same transaction
                      ▲                   └──▶ rejected
                      └────────── undo ───────── the memory as it was before, if it is unchanged
"""

from collections.abc import Callable, Mapping

from memory_mesh.base.typed import fields, replace
from memory_mesh.model import (
    Commit,
    InvalidInput,
    Json,
    Lens,
    Memory,
    NotFound,
    Proposal,
    ProposedVerb,
    Scope,
    Source,
    Standing,
    Statement,
    Status,
    Wanted,
)
from memory_mesh.rules import trust
from memory_mesh.rules.arguments import MAX_PROPOSALS, PROPOSAL_CHARS
from memory_mesh.write import change
from memory_mesh.write.access import Access, unused_id
from memory_mesh.write.audit_entries import Change, change_entry, seen
from memory_mesh.write.prepare import redact, redact_details, redact_source
from memory_mesh.write.rules.drafts import alteration_of

Alter = Callable[[Memory], Memory]
_FIELDS = tuple(field.name for field in fields(Statement))
_CHANGED_SINCE = (
    "{} was changed after the proposal was approved; change it by hand, or restore an earlier "
    "version with update"
)


def propose(
    access: Access,
    verb: ProposedVerb,
    memory_id: str,
    reader: Scope,
    asked: Mapping[str, Json],
    *,
    source: Source,
    reason: str,
) -> Proposal:
    """Records a proposal; the same one that waits, or was rejected, is returned instead.

    What was rejected can be proposed again once the memory has changed since.
    """
    if (size := sum(map(len, (str(asked), reason)))) > PROPOSAL_CHARS:
        raise InvalidInput(f"the proposal has {size} characters; the limit is {PROPOSAL_CHARS}")
    asked, reason = _stored(access, asked, memory_id), redact(access, reason)
    source = redact_source(access, source)
    found: list[Proposal] = []

    def decide(standing: Standing) -> Commit:
        memory = seen(standing, memory_id, reader)
        if verb is ProposedVerb.UPDATE:
            alteration_of(asked, source.channel)(memory)  # refuses what review would refuse
        known = standing.proposed(memory_id) if standing.proposed is not None else ()
        same = [
            each for each in known if (each.verb, each.change, each.source) == (verb, asked, source)
        ]
        if same and (same[0].pending or _still_rejected(same[0], memory)):
            found.append(same[0])
            return Commit()
        if sum(each.pending for each in known) >= MAX_PROPOSALS:
            raise InvalidInput(
                f"{MAX_PROPOSALS} proposals for {memory.id} wait already; review them first"
            )
        new = Proposal(
            id=unused_id(access, "prop", standing),
            verb=verb,
            memory=memory.id,
            change=asked,
            reason=reason,
            source=source,
            created=standing.at,
        )
        found.append(new)
        return _recorded(access, standing, new, Change("propose", reason))

    access.ledger.commit(access.namespace, Wanted(ids=(memory_id,)), decide)
    return found[-1]


def _still_rejected(asked: Proposal, memory: Memory) -> bool:
    """True if a person rejected it and the memory is the one that they looked at."""
    decided_at = asked.decided_at
    return asked.approved is False and decided_at is not None and memory.recorded_from < decided_at


def waiting(access: Access, lens: Lens, limit: int, *, pending: bool) -> list[Proposal]:
    """Proposals for memories that the lens sees, newest first.

    None waits for what is deleted: it can be decided once the memory is restored.
    """
    hidden = {Status.DELETED} if pending else set()
    every = replace(lens, statuses=frozenset(Status) - hidden, any_validity=True)
    looked_at = limit
    with access.ledger.read(access.namespace) as snapshot:
        while True:
            found = snapshot.proposals(looked_at, pending=pending)
            ids = list(dict.fromkeys(each.memory for each in found))
            visible = {memory.id for memory in snapshot.get(ids, every)}
            listed = [each for each in found if each.memory in visible]
            if len(listed) >= limit or len(found) < looked_at:
                return listed[:limit]
            looked_at *= 4  # those for others' memories are in the way


def proposal(access: Access, proposal_id: str, reader: Scope) -> Proposal:
    """One proposal by its id; that for a memory which the reader does not see is not found."""
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.standing(Wanted(proposals=(proposal_id,))).proposals.get(proposal_id)
        about = () if found is None else (found.memory,)
        memories = snapshot.standing(Wanted(ids=about)).memories.values()
    if found is None or not any(trust.sees(reader, memory.scope) for memory in memories):
        raise NotFound(f"there is no proposal {proposal_id}; list them with: memory-mesh review")
    return found


def approve(
    access: Access, asked: Proposal, reader: Scope, alter: Alter | None, reason: str
) -> Proposal:
    """Makes the proposed change; the change and the decision are one transaction."""
    done: list[Proposal] = []

    def decide(standing: Standing, changed: Callable[[Standing], Commit]) -> Commit:
        settled = _decided(_pending(standing, asked.id), standing, said.why, approved=True)
        done.append(settled)
        return _with(changed(standing), _recorded(access, standing, settled, said))

    said = Change("review", redact(access, reason))
    also = change.Also((asked.id,), decide)
    why = f"approved {asked.id}: {asked.reason}"
    if alter is None:
        change.delete(access, asked.memory, reader, why, also)
    else:
        text = asked.change.get("content")
        content = text if isinstance(text, str) else None
        change.update(access, asked.memory, reader, alter, text=content, reason=why, also=also)
    return done[-1]


def reject(access: Access, asked: Proposal, reader: Scope, reason: str) -> Proposal:
    """Rejects a proposal; the memory stays as it is."""
    said = Change("review", redact(access, reason))
    done: list[Proposal] = []

    def decide(standing: Standing) -> Commit:
        seen(standing, asked.memory, reader, deleted=True)
        settled = _decided(_pending(standing, asked.id), standing, said.why, approved=False)
        done.append(settled)
        return _recorded(access, standing, settled, said)

    wanted = Wanted(ids=(asked.memory,), proposals=(asked.id,))
    access.ledger.commit(access.namespace, wanted, decide)
    return done[-1]


def undo(access: Access, asked: Proposal, reader: Scope) -> Proposal:
    """Undoes the decision on a proposal: it waits again, and the memory is as it was before."""
    if asked.pending:
        raise InvalidInput(f"{asked.id} waits for review; there is nothing to undo")
    again = replace(asked, decided_at=None, approved=None, why=None)
    said = Change("review", "the review was undone")

    def decide(standing: Standing, changed: Callable[[Standing], Commit]) -> Commit:
        if standing.proposals.get(asked.id) != asked:
            raise InvalidInput(f"{asked.id} was decided anew in the meantime; look at it again")
        now = seen(standing, asked.memory, reader, deleted=True)
        if before is not None and now.recorded_from != asked.decided_at:
            raise InvalidInput(_CHANGED_SINCE.format(asked.memory))
        return _with(changed(standing), _recorded(access, standing, again, said))

    also = change.Also((asked.id,), decide)
    before = _before(access, asked, reader) if asked.approved else None
    if before is None:
        wanted = Wanted(ids=(asked.memory,), proposals=(asked.id,))
        access.ledger.commit(
            access.namespace, wanted, lambda standing: decide(standing, lambda _: Commit())
        )
    elif asked.verb is ProposedVerb.DELETE:
        change.restore(access, asked.memory, reader, also)
    else:
        change.update(
            access,
            asked.memory,
            reader,
            lambda now: replace(now, **{name: getattr(before, name) for name in _FIELDS}),
            text=before.text,
            reason=said.why,
            also=also,
        )
    return again


def _stored(access: Access, asked: Mapping[str, Json], memory_id: str) -> dict[str, Json]:
    """A change as it waits: its text is the one that `update` would store."""
    details = {name: value for name, value in asked.items() if name != "content"}
    stored = redact_details(access, details)
    if isinstance(content := asked.get("content"), str):
        stored["content"] = change.cleaned(access, content, memory_id)[1].text
    return stored


def _before(access: Access, asked: Proposal, reader: Scope) -> Memory | None:
    """The version before the approval; None if the approval changed nothing."""
    with access.ledger.read(access.namespace) as snapshot:
        standing = snapshot.standing(Wanted(ids=(asked.memory,)))
        seen(standing, asked.memory, reader, deleted=True)
        versions = snapshot.history(asked.memory)
    if all(version.recorded_from != asked.decided_at for version in versions):
        return None
    return versions[-2]  # where another change followed, the transaction refuses to undo


def _pending(standing: Standing, proposal_id: str) -> Proposal:
    found = standing.proposals.get(proposal_id)
    if found is None or not found.pending:
        raise InvalidInput(
            f"{proposal_id} is decided; undo that first: "
            f"memory-mesh review --id {proposal_id} --undo"
        )
    return found


def _decided(asked: Proposal, standing: Standing, reason: str, *, approved: bool) -> Proposal:
    return replace(asked, decided_at=standing.at, approved=approved, why=reason)


def _recorded(access: Access, standing: Standing, asked: Proposal, said: Change) -> Commit:
    """A proposal as it is now, with its block."""
    metadata: dict[str, Json] = {
        "proposal": asked.id,
        "verb": asked.verb.value,
        "channel": asked.source.channel.value,
        "approved": asked.approved,
    }
    entry = change_entry(access, standing, asked.memory, said, metadata)
    return Commit(proposals=(asked,), entries=(entry,))


def _with(changed: Commit, recorded: Commit) -> Commit:
    """Both as one commit."""
    return replace(
        changed,
        proposals=recorded.proposals,
        entries=(*changed.entries, *recorded.entries),
    )
