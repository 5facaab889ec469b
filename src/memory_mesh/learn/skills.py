"""Skills: taken in, found, relied on more or less, and archived when they fail too often.

A skill is written through the same transaction as a memory and leaves a block. Another text under a
known name takes the place of the old one and inherits how far it could be relied on; the same text
changes nothing. From an untrusted source, or made by `synthesize`, it is staged for review.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from memory_mesh.base.typed import replace
from memory_mesh.learn.rules import skill_rules
from memory_mesh.model import (
    Candidate,
    Commit,
    EmbeddingError,
    Entry,
    InvalidInput,
    Json,
    NotFound,
    Pruned,
    Reliability,
    Scope,
    Skill,
    SkillDraft,
    SkillHit,
    SkillOrigin,
    SkillPut,
    SkillQuery,
    SkillReceipt,
    SkillVector,
    Space,
    Standing,
    Status,
    StoreError,
    Wanted,
)
from memory_mesh.rules import trust
from memory_mesh.rules.arguments import SKILL_CHARS
from memory_mesh.text import analyzer
from memory_mesh.write.access import Access, unused_id
from memory_mesh.write.audit_entries import Change, change_entry, skill_entry
from memory_mesh.write.prepare import (
    embed_one,
    embedder_failed,
    redact,
    redact_skill,
    redacted_values,
)
from memory_mesh.write.rules.receipts import redaction

KEYWORD, VECTOR = 0.7, 0.3  # RFC-0011 section 5.3
FIELD_WEIGHTS = (3, 2, 1, 1)  # name, intent, tags, description

SkillChange = Callable[[Skill, datetime], Skill]
DEEP = 100  # candidates of each leg
MOST_PRUNED = 10_000  # skills that are looked at
CATCH_UP = 32  # skills without a vector that one search embeds at most


def ingest(access: Access, draft: SkillDraft) -> SkillReceipt:
    """Stores a skill; the receipt says whether it is stored, merged or staged, and why."""
    if len(draft.text) > SKILL_CHARS:
        raise InvalidInput(f"the skill is too long; the limit is {SKILL_CHARS} characters")
    given, draft = draft, redact_skill(access, draft)
    redacted = redacted_values(access, given, draft)
    said = skill_rules.describe(draft.text, draft.metadata)
    same = _same(access, draft, said.name)
    if same is not None:
        return _told(same, redacted)
    terms = _terms(said)
    embedded = embed_one(access.embedder, said.intent)
    receipts: list[SkillReceipt] = []

    def decide(standing: Standing) -> Commit:
        known = standing.skill_names.get((said.name, draft.scope))
        if known is not None and known.text == draft.text and _settles(draft, known):
            receipts.append(_merged(known))
            return Commit()
        skill, reason = _new_skill(access, draft, said, known, standing)
        outcome = "stored" if skill.status is Status.ACTIVE else "staged"
        receipts.append(SkillReceipt(skill, outcome, (reason,)))
        put = SkillPut(skill, terms, *(embedded or (None, b"")))
        gone = _replaced(access, known, skill, standing)
        return Commit(
            skills=(*(put for put, _ in gone), put),
            entries=(
                skill_entry(access, standing, skill, draft.sources),
                *(entry for _, entry in gone),
            ),
        )

    access.ledger.commit(access.namespace, Wanted(skill_names=((said.name, draft.scope),)), decide)
    return _told(receipts[-1], redacted)


def _told(receipt: SkillReceipt, redacted: Mapping[str, int]) -> SkillReceipt:
    """The receipt with what was redacted."""
    if not redacted:
        return receipt

    reasons = (*receipt.reasons, redaction(redacted))
    return replace(receipt, reasons=reasons, redacted=redacted)


def _same(access: Access, draft: SkillDraft, name: str) -> SkillReceipt | None:
    """Finds the skill with the same text before slow work; the transaction checks again."""
    statuses = {Status.ACTIVE, Status.QUARANTINED}
    if draft.watched or not _trusted(draft):
        statuses.add(Status.ARCHIVED)  # only a trusted word brings it back
    if draft.watched:
        statuses.add(Status.SUPERSEDED)
    query = SkillQuery(draft.scope, DEEP, statuses=frozenset(statuses), named=name)
    with access.ledger.read(access.namespace) as snapshot:
        found = [one.skill for one in snapshot.skills(query)]
    found = [one for one in found if (one.name, one.scope) == (name, draft.scope)]
    used = next((one for one in found if one.status is Status.ACTIVE), None)
    return next(
        (
            _merged(skill)
            for skill in found
            if skill.text == draft.text and _settles(draft, skill, used)
        ),
        None,
    )


def _settles(draft: SkillDraft, known: Skill, used: Skill | None = None) -> bool:
    """True if the stored skill makes this one redundant.

    A file whose skill gave way to one from elsewhere is left; one that went back to what it said
    before is news.
    """
    if known.status is Status.SUPERSEDED:
        return used is not None and used.source.ref != draft.source.ref == known.source.ref
    return known.status is not Status.QUARANTINED or not _trusted(draft)


def _trusted(draft: SkillDraft) -> bool:
    return trust.is_authoritative(trust.authority(draft.source)) and not draft.staged


def _merged(known: Skill) -> SkillReceipt:
    reason = f"the same text is stored as {known.id}"
    if known.status is Status.ARCHIVED:
        reason += ", which is archived"
    return SkillReceipt(known, "merged", (reason,))


def search(access: Access, query: str, scope: Scope, limit: int) -> list[SkillHit]:
    """Returns active skills for a question, best first; `Name: …` finds one by its name."""
    query = redact(access, query)
    name = skill_rules.named_in(query)
    if name is not None:
        found = [one.skill for one in _found(access, SkillQuery(scope, DEEP, named=name))]
        if found:
            skill = next((one for one in found if one.name == name), found[0])
            return [SkillHit(skill, 1.0, {"name": 1.0})]
    terms = analyzer.query_terms(query)
    asked = _asked(access, query, scope)
    candidates = _found(access, SkillQuery(scope, DEEP, tuple(terms), asked))
    hits = [score(candidate, terms) for candidate in candidates]
    best = sorted(hits, key=lambda hit: (-hit.score, -hit.skill.reliability, hit.id))
    return [hit for hit in best if hit.score > 0][:limit]


def listed(access: Access, query: SkillQuery) -> list[Skill]:
    """Skills of a status, the newest first; after one that the reader does not see none."""
    if query.before is not None:
        cursor = SkillQuery(
            query.reader, 1, ids=(query.before,), statuses=frozenset(Status), across=query.across
        )
        if not _found(access, cursor):
            return []
    return [candidate.skill for candidate in _found(access, query)]


def feedback(access: Access, skill_id: str, reader: Scope, *, success: bool) -> Reliability:
    """Counts one use of a skill and whether it worked.

    A channel moves the reliability of what it could have written itself; else it counts the use.
    """

    def alter(skill: Skill, at: datetime) -> Skill:
        if skill.status is Status.QUARANTINED:
            raise InvalidInput(f"{skill_id} waits for review and cannot be rated yet")
        reliability = skill.reliability
        if trust.may_change(access.kind, skill.source):
            reliability = skill_rules.relied(reliability, success=success)
        return replace(skill, reliability=reliability, uses=skill.uses + 1, last_used=at)

    worked = "worked" if success else "failed"
    before, after = _change(access, skill_id, reader, Change("update", f"it {worked}"), alter)
    return Reliability(skill_id, after.reliability, after.uses, before.reliability)


def prune(access: Access, reader: Scope, threshold: float) -> Pruned:
    """Archives active skills whose reliability is strictly below the threshold.

    A channel that does not speak for the user leaves those of more trusted sources.
    """
    query = SkillQuery(reader, MOST_PRUNED, below=threshold)
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.skills(query)
    doomed = [one for one in found if trust.may_change(access.kind, one.skill.source)]
    archived = []
    for candidate in doomed:
        why = f"its reliability fell below {threshold:g}"
        gone = _archive(access, candidate.skill.id, reader, Change("archive", why), threshold)
        archived += [gone] if gone is not None else []
    with access.ledger.read(access.namespace) as snapshot:
        kept = len(snapshot.skills(SkillQuery(reader, MOST_PRUNED)))
    return Pruned(threshold, tuple(archived), kept)


def review(access: Access, skill_id: str, reader: Scope, *, approve: bool, reason: str) -> Skill:
    """Approves a staged skill, which replaces the one with its name, or archives it."""

    def alter(skill: Skill, _at: datetime) -> Skill:
        if skill.status is not Status.QUARANTINED:
            raise InvalidInput(f"{skill_id} does not wait for review: it is {skill.status}")
        return replace(skill, status=Status.ACTIVE if approve else Status.ARCHIVED)

    names = _names(access, skill_id) if approve else ()
    return _change(access, skill_id, reader, Change("review", reason), alter, names=names)[1]


def _new_skill(
    access: Access,
    draft: SkillDraft,
    said: skill_rules.Described,
    known: Skill | None,
    standing: Standing,
) -> tuple[Skill, str]:
    """The skill as it is kept, and why with this status."""
    trusted = _trusted(draft)
    reason = "stored"
    if not trusted:
        reason = (
            "it waits for review" if draft.staged else f"from {draft.source.kind}: waits for review"
        )
    elif known is not None:
        reason = f"stored; it replaces {known.id}"
    skill = Skill(
        id=unused_id(access, "skill", standing),
        name=said.name,
        intent=said.intent,
        text=draft.text,
        description=said.description,
        tags=said.tags,
        scope=draft.scope,
        source=draft.source,
        status=Status.ACTIVE if trusted else Status.QUARANTINED,
        created=standing.at,
        extra=said.extra,
    )
    if draft.origin is not None:
        return _brought(skill, draft.origin, standing), reason
    if known is None or known.status is not Status.ACTIVE or not trusted:
        return skill, reason
    return _inherited(skill, known), reason


def _inherited(skill: Skill, known: Skill) -> Skill:
    """Gives a skill the reliability of the skill that it replaces."""
    return replace(skill, reliability=known.reliability, uses=known.uses, last_used=known.last_used)


def _brought(skill: Skill, origin: SkillOrigin, standing: Standing) -> Skill:
    """A skill with what it brought along; an id that is taken here gives way to a new one."""
    return replace(
        skill,
        id=skill.id if standing.taken(origin.id) else origin.id,
        created=origin.created,
        reliability=max(0.0, min(1.0, origin.reliability)),
        uses=origin.uses,
        last_used=origin.last_used,
    )


def _replaced(
    access: Access, known: Skill | None, skill: Skill, standing: Standing
) -> list[tuple[SkillPut, Entry]]:
    """Replaces an active skill only by an active one, a staged skill by any of its name."""
    if known is None or (known.status is Status.ACTIVE and skill.status is not Status.ACTIVE):
        return []
    change = Change("supersede", f"replaced by {skill.id}")
    entry = change_entry(access, standing, known.id, change, {"successor": skill.id})
    return [(SkillPut(replace(known, status=Status.SUPERSEDED)), entry)]


def _change(
    access: Access,
    skill_id: str,
    reader: Scope,
    change: Change,
    alter: SkillChange,
    *,
    names: tuple[tuple[str, Scope], ...] = (),
) -> tuple[Skill, Skill]:
    """A skill before and after a change that is decided inside the transaction.

    Where its name is given, the skill that is in use under it gives way.
    """
    pair: list[tuple[Skill, Skill]] = []

    def decide(standing: Standing) -> Commit:
        old = standing.skills.get(skill_id)
        if old is None or not trust.sees(reader, old.scope):
            raise NotFound(
                f"there is no skill {skill_id}. List the skills: memory-mesh list-skills"
            )
        new = alter(old, standing.at)
        namesakes = standing.skill_names.values()
        used = next((one for one in namesakes if one.status is Status.ACTIVE), None)
        if used is not None:
            new = _inherited(new, used)
        pair.append((old, new))
        metadata: dict[str, Json] = {"reliability": new.reliability, "status": new.status.value}
        entry = change_entry(access, standing, skill_id, change, metadata)
        gone = _replaced(access, used, new, standing)
        return Commit(
            skills=(*(put for put, _ in gone), SkillPut(new)),
            entries=(entry, *(entry for _, entry in gone)),
        )

    access.ledger.commit(access.namespace, Wanted(skills=(skill_id,), skill_names=names), decide)
    return pair[-1]


def _names(access: Access, skill_id: str) -> tuple[tuple[str, Scope], ...]:
    """The name and audience of a skill; neither ever changes."""
    query = SkillQuery(
        Scope(), 1, ids=(skill_id,), statuses=frozenset(Status), across=trust.AUDIENCE
    )
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.skills(query)
    return tuple((one.skill.name, one.skill.scope) for one in found)


def _archive(
    access: Access, skill_id: str, reader: Scope, change: Change, threshold: float
) -> str | None:
    """Archive one, unless it was used successfully in the meantime."""

    def alter(skill: Skill, _at: datetime) -> Skill:
        if skill.reliability >= threshold or skill.status is not Status.ACTIVE:
            raise _Spared
        return replace(skill, status=Status.ARCHIVED)

    try:
        _change(access, skill_id, reader, change, alter)
    except _Spared:
        return None
    return skill_id


class _Spared(Exception):
    """Raised when the skill's reliability is no longer below the threshold."""


def _asked(access: Access, query: str, scope: Scope) -> tuple[Space, bytes] | None:
    """The query's vector; skills that wait for one in that space get it, a few at a time."""
    embedder = access.embedder
    if embedder is None or not query.strip():
        return None
    try:
        embedding = embedder.embed([query], query=True)
    except EmbeddingError as error:
        embedder_failed(error)
        return None
    late = [
        SkillVector(candidate.skill.id, *found)
        for candidate in _found(access, SkillQuery(scope, CATCH_UP, waiting=embedding.space))
        if (found := embed_one(embedder, candidate.skill.intent)) is not None
    ]
    if late:
        with suppress(StoreError):  # a store that cannot be written is still searched
            access.ledger.commit(
                access.namespace, Wanted(), lambda _: Commit(skill_vectors=tuple(late))
            )
    return embedding.space, embedding.vectors[0][0]


def _found(access: Access, query: SkillQuery) -> Sequence[Candidate]:
    with access.ledger.read(access.namespace) as snapshot:
        return snapshot.skills(query)


def _terms(said: skill_rules.Described) -> tuple[str, str, str, str]:
    name, intent, tags, description = (
        " ".join(analyzer.terms(text))
        for text in (said.name, said.intent, " ".join(said.tags), said.description)
    )
    return name, intent, tags, description


# Scores skills for a question.


def score(candidate: Candidate, terms: Sequence[str]) -> SkillHit:
    """Returns 0.7 of the keyword score plus 0.3 of the intent's similarity."""
    keyword = keyword_score(candidate.terms, terms)
    vector = max(0.0, min(1.0, candidate.cosine)) if candidate.cosine is not None else 0.0
    total = KEYWORD * keyword + VECTOR * vector
    return SkillHit(candidate.skill, total, {"keyword": keyword, "vector": vector})


def keyword_score(fields: Sequence[str], terms: Sequence[str]) -> float:
    """Returns the weighted share (3, 2, 1, 1) of the question's terms in the fields, 0 to 1.

    A word found in a skill's name outweighs one found in its description; all words in all fields
    would be 1, and a field that is empty cannot be expected to hold any.
    """
    wanted = set(terms)
    weighed = zip(FIELD_WEIGHTS, fields, strict=True)
    filled = [(weight, set(field.split())) for weight, field in weighed if field]
    if not wanted or not filled:
        return 0.0
    held = sum(weight * len(wanted & words) / len(wanted) for weight, words in filled)
    return held / sum(weight for weight, _ in filled)
