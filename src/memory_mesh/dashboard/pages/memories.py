"""Memories: search as you type, facets, and what can be done with one or with many of them."""

from collections.abc import Mapping
from functools import partial

from memory_mesh.base.typed import dataclass
from memory_mesh.care.access_keys import ERASE, WRITE
from memory_mesh.dashboard.asked import (
    EVERY_STATUS,
    EVERYONE,
    Asked,
    GoTo,
    PageRoute,
    Shown,
    Undo,
)
from memory_mesh.model import InvalidInput, Json, Kind, Memory, SourceKind, Status

PATH = "/memories"
_A_PAGE, _MOST = 50, 200
_FIELDS = {  # of a query: the field of the filter that it asks for
    "kind": "kind",
    "type": "label",
    "source": "source_kind",
    "project": "project",
    "agent": "agent_id",
    "session": "session_id",
    "tag": "tags",
}
_ANY = "any"


@dataclass(frozen=True, slots=True)
class ListedMemory:
    """One memory of the list; of a search with its score, and the part that answers."""

    memory: Memory
    score: float | None = None
    newer: str | None = None


def show(asked: Asked) -> Shown:
    """The newest memories, or the best for a question; both only look."""
    question, state = asked.one("q"), asked.one("status", Status.ACTIVE.value)
    condition = _condition(asked, state)
    limit = asked.number("limit", _A_PAGE, _MOST)
    include = () if state == Status.ACTIVE.value else EVERY_STATUS
    more: dict[str, str | int] | None = None
    if question:
        hits = asked.mesh.search(
            question, limit=limit, filter=condition, across=EVERYONE, include=include, record=False
        )
        rows = [ListedMemory(hit.memory, hit.score, hit.newer) for hit in hits]
        if len(hits) == limit < _MOST:
            more = {"limit": min(_MOST, limit * 2)}
    else:
        page = asked.mesh.get_all(
            limit=_A_PAGE, filter=condition, across=EVERYONE, include=include,
            cursor=asked.one("after") or None,
        )  # fmt: skip
        rows = [ListedMemory(memory) for memory in page]
        more = {"after": page.cursor} if page.cursor else None
    chosen = {name: asked.one(name) for name in (*_FIELDS, "since", "until") if asked.one(name)}
    values = {
        "rows": rows,
        "question": question,
        "state": state,
        "chosen": chosen,
        "more": asked.here(PATH, q=question, status=state, **chosen, **more) if more else None,
        "kinds": tuple(Kind),
        "sources": tuple(SourceKind),
        "states": EVERY_STATUS,
        "edited": asked.one("edit"),
    }
    return Shown("memories.html", values)


def _condition(asked: Asked, state: str) -> Mapping[str, Json] | None:
    tests: dict[str, Json] = {
        field: asked.one(name) for name, field in _FIELDS.items() if asked.one(name)
    }
    bounds = {"$gte": asked.one("since"), "$lte": asked.one("until")}
    if any(bounds.values()):
        tests["created_at"] = {test: value for test, value in bounds.items() if value}
    if state not in {_ANY, Status.ACTIVE.value}:
        tests["status"] = state
    return tests or None


def skills(asked: Asked) -> Shown:
    """The skills, newest first, with how well each has worked."""
    found = asked.mesh.skills.get_all(
        limit=_A_PAGE, include=EVERY_STATUS, across=EVERYONE, before=asked.one("after") or None
    )
    full = len(found) == _A_PAGE
    more = asked.here(f"{PATH}/skills", after=found[-1].id) if full else None
    return Shown("skills.html", {"skills": found, "more": more})


# What can be done: each action takes one memory or many, and says what takes it back.


def edit(asked: Asked) -> GoTo:
    """A new version of one memory, with the words of the form."""
    (memory,) = _named(asked)
    text = asked.one("text")
    if not text:
        raise InvalidInput("a memory needs a text; to take it away, delete it")
    if text != memory.text:
        asked.mesh.update(
            memory.id, text, reader=memory.scope, reason=asked.one("reason") or "edited on the page"
        )
    return GoTo(asked.back(), "Saved as a new version; the one before is kept.")


def pin(asked: Asked, *, pinned: bool) -> GoTo:
    """Pins memories, or unpins them."""
    found = _named(asked)
    for memory in found:
        asked.mesh.pin(memory.id, pinned=pinned, scope=memory.scope)
    said = f"{'Pinned' if pinned else 'Unpinned'} {_memories(found)}."
    undo = Undo(f"{PATH}/{'unpin' if pinned else 'pin'}", {"id": [each.id for each in found]})
    return GoTo(asked.back(), said, undo)


def delete(asked: Asked) -> GoTo:
    """Hides memories; they come back with one click, for 30 days."""
    found = _named(asked)
    reason = asked.one("reason") or "deleted on the page"
    waiting = [
        memory.id
        for memory in found
        if asked.mesh.delete(memory.id, scope=memory.scope, reason=reason) is not None
    ]
    gone = [memory.id for memory in found if memory.id not in waiting]
    said = f"Deleted {_memories(found)}." if not waiting else (
        f"Deleted {len(gone)}; {len(waiting)} from a more trusted source now wait in the inbox."
    )  # fmt: skip
    return GoTo(asked.back(), said, Undo(f"{PATH}/restore", {"id": gone}) if gone else None)


def restore(asked: Asked) -> GoTo:
    """Brings deleted memories back."""
    found = _named(asked)
    for memory in found:
        asked.mesh.restore(memory.id, scope=memory.scope)
    return GoTo(asked.back(), f"Brought back {_memories(found)}.")


def forget(asked: Asked) -> Shown:
    """What forgetting for good would take away; where that is confirmed, does it: the receipts."""
    found, sure = _named(asked), asked.one("sure") == "yes"
    reason = asked.one("reason") or "erased on the page"
    receipts = [
        asked.mesh.erase(memory.id, scope=memory.scope, reason=reason, dry_run=not sure)
        for memory in found
    ]
    return Shown("forget.html", {"found": found, "receipts": receipts, "sure": sure})


def _named(asked: Asked) -> list[Memory]:
    ids = asked.many("id")
    if not ids:
        raise InvalidInput("choose a memory first")
    if len(ids) > _MOST:
        raise InvalidInput(f"choose at most {_MOST} memories at a time")
    return [asked.memory(memory_id) for memory_id in dict.fromkeys(ids)]


def _memories(found: list[Memory]) -> str:
    return "1 memory" if len(found) == 1 else f"{len(found)} memories"


ROUTES = (
    PageRoute(PATH, show, title="Memories", icon="memories"),
    PageRoute(f"{PATH}/skills", skills),
    PageRoute(f"{PATH}/edit", edit, WRITE, "POST"),
    PageRoute(f"{PATH}/pin", partial(pin, pinned=True), WRITE, "POST"),
    PageRoute(f"{PATH}/unpin", partial(pin, pinned=False), WRITE, "POST"),
    PageRoute(f"{PATH}/delete", delete, WRITE, "POST"),
    PageRoute(f"{PATH}/restore", restore, WRITE, "POST"),
    PageRoute(f"{PATH}/forget", forget, ERASE, "POST"),
)
