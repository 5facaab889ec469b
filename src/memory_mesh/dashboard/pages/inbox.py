"""Inbox: what waits for a decision, compared side by side; decided, edited, and taken back.

::

    proposals ─┐
    conflicts ─┼──▶ InboxItem(now │ then, why, by whom) ──▶ approve, reject, both, edit ──▶ undo
    quarantine ┤
    lessons ───┤
    skills ────┤
    worth ─────┘                              told for nothing: deleted, or voted for and kept
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from memory_mesh.base.typed import Any, dataclass
from memory_mesh.care.access_keys import READ, REVIEW, WRITE
from memory_mesh.dashboard.asked import (
    EVERY_STATUS,
    EVERYONE,
    Asked,
    GoTo,
    PageRoute,
    Shown,
    Undo,
)
from memory_mesh.dashboard.words_changed import Stretch, changes
from memory_mesh.model import (
    Conflict,
    InvalidInput,
    Memory,
    MeshError,
    NotAllowed,
    NotFound,
    Proposal,
    ProposedVerb,
    Resolution,
    Scope,
    Skill,
    Status,
)
from memory_mesh.model.pack import Worth

PATH = "/inbox"
_A_KIND, _OF_ALL = 20, 4  # items of each kind on its page, and on the page of all
_MOST = 200  # that are shown and decided at once, and skills that are looked through
_LOOKED_AT = 1_000  # of the latest, for those that were decided
KINDS = ("proposals", "conflicts", "quarantine", "lessons", "skills", "worth")
_DECIDED = "decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """One thing to decide: what is there now, what would be, and why it waits."""

    id: str
    kind: str  # one of KINDS
    title: str
    why: str
    memory: Memory | None = None  # that is there
    other: Memory | None = None  # that would take its place
    now: Sequence[Stretch] = ()  # the wording of the one, and of the other
    then: Sequence[Stretch] = ()
    details: Sequence[tuple[str, str]] = ()
    proposal: Proposal | None = None
    conflict: Conflict | None = None
    skill: Skill | None = None

    @property
    def text(self) -> str:
        """What an editor begins with."""
        return "".join(each.text for each in self.then)


def show(asked: Asked) -> Shown:
    """What waits, a few of each kind or more of one; or what was decided last."""
    chosen, most = asked.one("show"), asked.number("limit", _A_KIND, _MOST)
    found = {} if chosen == _DECIDED else _waiting(asked, most + 1)
    if chosen == _DECIDED:
        items = _decided(asked, most + 1)
        full = len(items) > most
    else:
        some = most if chosen else _OF_ALL
        parts = {kind: each[:some] for kind, each in found.items() if chosen in {"", kind}}
        items = _items(asked, parts)
        full = len(found.get(chosen, ())) > most
    counts = {kind: len(each) for kind, each in found.items()}
    limit = min(_MOST, most * 2)
    return Shown(
        "inbox.html",
        {
            "items": items[:most] if chosen else items,
            "chosen": chosen,
            "counts": {kind: _at_most(count, most) for kind, count in counts.items() if count},
            "all": _at_most(sum(counts.values()), most),
            "cut": {kind for kind, count in counts.items() if not chosen and count > _OF_ALL},
            "more": asked.here(PATH, show=chosen, limit=limit) if full and limit > most else None,
            "kinds": KINDS,
            "edited": asked.one("edit"),
        },
    )


def _at_most(count: int, most: int) -> str:
    """A count in words; above what was looked for it is only known that there are more."""
    return f"{count}" if count <= most else f"{most}+"


def _waiting(asked: Asked, limit: int) -> dict[str, list[Any]]:
    """What waits of each kind, the latest first."""
    review = asked.mesh.review
    conflicts = review.conflicts(pending=True, limit=limit, as_owner=True)
    against = {each.new for each in conflicts}
    alone = [
        each
        for each in review.waiting(limit=2 * limit, as_owner=True)
        if isinstance(each, Memory) and each.id not in against
    ]
    skills = asked.mesh.skills.get_all(include=[Status.QUARANTINED], across=EVERYONE, limit=_MOST)
    return {
        "proposals": review.proposals(limit=limit, as_owner=True),
        "conflicts": conflicts,
        "quarantine": [each for each in alone if each.lesson is None][:limit],
        "lessons": [each for each in alone if each.lesson is not None][:limit],
        "skills": [each for each in skills if each.status is Status.QUARANTINED][:limit],
        "worth": review.worth(limit=limit, as_owner=True),
    }


def _items(asked: Asked, parts: Mapping[str, list[Any]]) -> list[InboxItem]:
    """What waits, with what it is about."""
    proposals, conflicts = parts.get("proposals", []), parts.get("conflicts", [])
    texts = _texts(asked, proposals, conflicts)
    held = [*parts.get("quarantine", []), *parts.get("lessons", [])]
    return [
        *_proposals(proposals, texts),
        *_conflicts(conflicts, texts),
        *(_held(asked, each) for each in held),
        *map(_skill, parts.get("skills", [])),
        *map(_worth, parts.get("worth", [])),
    ]


def _decided(asked: Asked, limit: int) -> list[InboxItem]:
    """The proposals and conflicts that a person decided last, the latest first."""
    review = asked.mesh.review
    parts: dict[str, list[Any]] = {
        "proposals": [
            each
            for each in review.proposals(pending=False, limit=_LOOKED_AT, as_owner=True)
            if not each.pending
        ][:limit],
        "conflicts": [
            each
            for each in review.conflicts(decided=True, limit=_LOOKED_AT, as_owner=True)
            if not each.pending and not each.by_rule
        ][:limit],
    }
    return sorted(_items(asked, parts), key=_when_decided, reverse=True)


def _when_decided(item: InboxItem) -> str:
    asked = item.proposal.decided_at if item.proposal else None
    settled = item.conflict.resolved_at if item.conflict else None
    return str(asked or settled or "")


def _texts(
    asked: Asked, proposals: Iterable[Proposal], conflicts: Iterable[Conflict]
) -> dict[str, Memory]:
    """The memories that these are about, read at once."""
    ids = {each.memory for each in proposals}
    ids |= {id_ for each in conflicts for id_ in (each.new, each.existing)}
    if not ids:
        return {}
    found = asked.mesh.get_all(
        filter={"id": sorted(ids)}, across=EVERYONE, include=EVERY_STATUS, limit=len(ids)
    )
    return {memory.id: memory for memory in found}


def _proposals(found: Iterable[Proposal], texts: dict[str, Memory]) -> list[InboxItem]:
    items = []
    for each in found:
        memory = texts.get(each.memory)
        if memory is None:
            continue
        text = str(each.change.get("content", memory.text))
        gone = each.verb is ProposedVerb.DELETE
        apart = [] if gone or not each.pending else changes(memory.text, text)
        details = [(name, str(value)) for name, value in each.change.items() if name != "content"]
        items.append(
            InboxItem(
                id=each.id,
                kind="proposals",
                title="Delete this memory?" if gone else "Change this memory?",
                why=each.reason,
                memory=memory,
                now=_side(apart, "out") or (Stretch("same", memory.text),),
                then=() if gone else _side(apart, "in") or (Stretch("same", text),),
                details=details,
                proposal=each,
            )
        )
    return items


def _conflicts(found: Iterable[Conflict], texts: dict[str, Memory]) -> list[InboxItem]:
    items = []
    for each in found:
        if not {each.new, each.existing} <= texts.keys():
            continue
        old, new = texts[each.existing], texts[each.new]
        apart = changes(old.text, new.text)
        items.append(
            InboxItem(
                id=each.id,
                kind="conflicts",
                title="Which of these is true?",
                why=each.reason,
                memory=old,
                other=new,
                now=_side(apart, "out"),
                then=_side(apart, "in"),
                conflict=each,
            )
        )
    return items


def _side(apart: Iterable[Stretch], how: str) -> list[Stretch]:
    """One side of two wordings: what both have, and what it alone has."""
    return [each for each in apart if each.how in {"same", how}]


def _held(asked: Asked, memory: Memory) -> InboxItem:
    """A memory in quarantine, or a lesson, with why it is held."""
    why = asked.mesh.explain(memory.id, scope=memory.scope, see_across=EVERYONE)
    reasons = why.versions[-1].reasons if why.versions else ()
    reasons = tuple(each for each in reasons if memory.id not in each)  # how to do it at a terminal
    lesson = memory.lesson
    stated = (
        ("What went wrong", lesson.situation if lesson.situation != lesson.applies_to else ""),
        ("Overlooked", lesson.oversight), ("Mended by", lesson.fix), ("Severity", lesson.severity),
    ) if lesson else ()  # fmt: skip
    return InboxItem(
        id=memory.id,
        kind="lessons" if lesson else "quarantine",
        title="Learn this lesson?" if lesson else "Let this memory in?",
        why="; ".join(reasons),
        other=memory,
        then=(Stretch("same", memory.text),),
        details=[(name, str(value)) for name, value in stated if value],
    )


def _skill(skill: Skill) -> InboxItem:
    return InboxItem(
        id=skill.id,
        kind="skills",
        title=f"Use the skill {skill.name}?",
        why=skill.description or skill.intent,
        then=(Stretch("same", skill.text),),
        skill=skill,
    )


def _worth(found: Worth) -> InboxItem:
    return InboxItem(
        id=found.memory.id,
        kind="worth",
        title="Is this memory worth its tokens?",
        why=str(found),
        other=found.memory,
        then=(Stretch("same", found.memory.text),),
    )


# Decisions: one or many at a time; what can be taken back says how.


def decide(asked: Asked, *, approve: bool) -> GoTo:
    """Approves or rejects proposals, memories, lessons and skills."""
    ids = list(dict.fromkeys(asked.many("id")))
    if not ids:
        raise InvalidInput("choose something first")
    if len(ids) > _MOST:
        raise InvalidInput(f"decide at most {_MOST} at a time")
    reason = asked.one("reason") or f"{'approved' if approve else 'rejected'} on the page"
    failed = []
    for id_ in ids:
        try:
            asked.mesh.review.decide(id_, approve=approve, reason=reason, scope=_scope(asked, id_))
        except MeshError as error:
            if len(ids) == 1:
                raise
            failed.append(str(error))
    again = [id_ for id_ in ids if not id_.startswith("skill_")]
    said = f"{'Approved' if approve else 'Rejected'} {len(ids) - len(failed)}."
    if failed:
        said += f" {len(failed)} were not: {failed[0]}"
    undo = Undo(f"{PATH}/undo", {"id": again}) if again and not failed else None
    return GoTo(asked.back(PATH), said, undo)


def keep(asked: Asked) -> GoTo:
    """Votes for a memory that cost tokens for nothing: it stays, and is offered no more."""
    memory = asked.memory(asked.one("id"))
    asked.mesh.rate(memory.id, helpful=True, scope=memory.scope)
    return GoTo(asked.back(PATH), "Kept, with a vote that it is helpful.")


def resolve(asked: Asked) -> GoTo:
    """Decides which of two memories is true."""
    resolution = asked.one("resolution")
    found = _conflict(asked, asked.one("id"))
    new = asked.memory(found.new)
    asked.mesh.review.resolve(
        found.id, resolution, reason=asked.one("reason") or "decided on the page", scope=new.scope
    )
    said = {
        Resolution.SUPERSEDE: "The new one holds; the old one is kept as replaced.",
        Resolution.REJECT: "The old one holds; the new one is kept as rejected.",
    }.get(Resolution(resolution), "Both are kept.")
    return GoTo(asked.back(PATH), said, Undo(f"{PATH}/undo", {"id": [found.new]}))


def edit(asked: Asked) -> GoTo:
    """Lets in what waits in other words: those of the form."""
    id_, text = asked.one("id"), asked.one("text")
    if not asked.may(REVIEW):
        raise NotAllowed(f"{asked.reader.name} may write here, and may not decide what waits")
    if not text:
        raise InvalidInput("a memory needs a text; to keep it out, reject it")
    review, reason = asked.mesh.review, "edited on the page"
    if id_.startswith("prop_"):
        memory = asked.memory(_proposal(asked, id_).memory)
        asked.mesh.update(memory.id, text, reader=memory.scope, reason=reason)
        review.decide(id_, approve=False, reason="taken in other words", scope=memory.scope)
        return GoTo(asked.back(PATH), "Saved in your words; the proposal is closed.")
    memory = asked.memory(id_)
    if text != memory.text:
        asked.mesh.update(memory.id, text, reader=memory.scope, reason=reason)
    review.decide(id_, approve=True, reason=reason, scope=memory.scope)
    return GoTo(asked.back(PATH), "Saved in your words, and let in.")


def undo(asked: Asked) -> GoTo:
    """Takes decisions back; what was decided waits again."""
    ids = asked.many("id")
    for id_ in ids:
        asked.mesh.review.undo(id_, scope=_scope(asked, id_))
    return GoTo(asked.back(PATH), "Taken back; it waits again.")


def _scope(asked: Asked, id_: str) -> Scope:
    """The audience of what is decided: a decision is made within it."""
    if id_.startswith("skill_"):
        found = asked.mesh.skills.get_all(
            include=[Status.QUARANTINED], across=EVERYONE, limit=_MOST
        )
        return next((each.scope for each in found if each.id == id_), Scope())
    if id_.startswith("prop_"):
        return asked.memory(_proposal(asked, id_).memory).scope
    return asked.memory(id_).scope


def _proposal(asked: Asked, id_: str) -> Proposal:
    found = asked.mesh.review.proposals(pending=False, limit=_LOOKED_AT, as_owner=True)
    for each in found:
        if each.id == id_:
            return each
    raise NotFound(f"there is no proposal {id_} among the latest; it may be decided already")


def _conflict(asked: Asked, id_: str) -> Conflict:
    found = asked.mesh.review.conflicts(decided=True, limit=_LOOKED_AT, as_owner=True)
    for each in found:
        if each.id == id_:
            return each
    raise NotFound(f"there is no conflict {id_} among the latest")


ROUTES = (
    PageRoute(PATH, show, READ, title="Inbox", icon="inbox"),
    PageRoute(f"{PATH}/approve", partial(decide, approve=True), REVIEW, "POST"),
    PageRoute(f"{PATH}/reject", partial(decide, approve=False), REVIEW, "POST"),
    PageRoute(f"{PATH}/keep", keep, WRITE, "POST"),
    PageRoute(f"{PATH}/resolve", resolve, REVIEW, "POST"),
    PageRoute(f"{PATH}/undo", undo, REVIEW, "POST"),
    PageRoute(f"{PATH}/edit", edit, WRITE, "POST"),
)
