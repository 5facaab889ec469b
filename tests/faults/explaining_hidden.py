"""Planted cases for `explain` of what a search may not show: audience, status, time, filter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory_mesh.model import Scope
from tests.faults.explaining_ground import DAY, NOW, PROFILES, READER, Case, Ground, question_of

_PARTS = ("project", "agent", "session")
STATUSES = ("quarantined", "disputed", "superseded", "archived", "deleted", "expired")


@dataclass
class _Later:
    """Obstacles behind the one that is planted; each is there by chance."""

    details: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    says: str = ""  # what the memory says


def _later(ground: Ground, question: str, *, after: str) -> _Later:
    chance, made = ground.chance, _Later()
    gates = ("scope", "status", "validity", "filter", "candidates")
    follow = [
        gate for gate in gates[gates.index(after) + 1 if after in gates else 0 :]
        if chance.random() < 0.4
    ]  # fmt: skip
    if "status" in follow:
        made.details["quarantine"] = "planted"
    if "validity" in follow:
        made.details["valid_until"] = NOW - chance.randint(1, 30) * DAY
    if "filter" in follow:
        made.asked["filter"] = "tags = 'wanted'"
    own = ground.words(chance.randint(2, 6))
    made.says = own if "candidates" in follow else f"{question} {own}"
    made.asked["profile"] = chance.choice(PROFILES)
    made.asked["limit"] = chance.randint(1, 20)
    if made.asked["profile"] in {"composite", "lane"}:
        made.asked["min_similarity"] = 0.0
    return made


# ---- namespace


def elsewhere(ground: Ground) -> Case:
    """Another namespace of the same store."""
    mesh = ground.open(vectors=ground.chance.random() < 0.3)
    question = question_of(ground)
    ground.noise()
    more = _later(ground, question, after="filter")
    ground.mesh = mesh.view(namespace=f"n{ground.chance.randint(1, 9)}")
    id_ = ground.add(more.says)
    ground.later()
    return Case("another namespace", "namespace", mesh, id_, question, more.asked, unseen=True)


def never(ground: Ground) -> Case:
    mesh, question = ground.open(), question_of(ground)
    ground.noise()
    more = _later(ground, question, after="filter")
    ground.add(more.says)
    ground.later()
    made = f"mem_{ground.chance.randint(10**12, 10**13 - 1)}_{ground.chance.randrange(16**6):06x}"
    id_ = ground.chance.choice((made, made, "no such id", "urn:uuid:1"))
    return Case("nobody wrote it", "namespace", mesh, id_, question, more.asked, unseen=True)


def _of(parts: Mapping[str, str]) -> Scope:
    """A scope with these parts."""
    return Scope(parts.get("project"), parts.get("agent"), parts.get("session"))


def not_yours(ground: Ground) -> Case:
    """An audience that the mesh which explains does not belong to."""
    own = {"project": "mine", "session": "now"}
    mesh, question, part = ground.open(own), question_of(ground), ground.chance.choice(_PARTS)
    ground.noise()
    more = _later(ground, question, after="namespace")
    id_ = ground.add(more.says, scope=_of({part: "other"}), **more.details)
    ground.later()
    asked = dict(more.asked)
    others = [name for name in _PARTS if name != part]
    match ground.chance.randrange(4):
        case 0:
            asked["scope"] = _of({part: "other"})
        case 1:
            asked["across"] = (part,)
        case 2:
            asked["see_across"] = tuple(ground.chance.sample(others, ground.chance.randint(1, 2)))
        case _:
            pass  # the search is the mesh's own
    return Case(f"another {part}", "namespace", mesh, id_, question, asked, unseen=True)


# ---- scope


def asked_for_others(ground: Ground) -> Case:
    """The mesh sees it by its own scope; the search asks for somebody else."""
    part, question = ground.chance.choice(_PARTS), question_of(ground)
    own = {"project": "mine", "session": "now"}
    mesh, name = ground.open(own), {**own, "agent": READER}[part]
    ground.noise()
    more = _later(ground, question, after="scope")
    id_ = ground.add(more.says, scope=_of({part: name}), **more.details)
    ground.later()
    asked = more.asked | {"scope": _of({part: "other"})}
    return Case(f"the search is for another {part}", "scope", mesh, id_, question, asked)


def seen_across(ground: Ground) -> Case:
    """The mesh sees it because `see_across` says so; the search is its own."""
    parts = ground.chance.sample(_PARTS, ground.chance.randint(1, 2))
    mesh, question = ground.open({"project": "mine", "session": "now"}), question_of(ground)
    ground.noise()
    more = _later(ground, question, after="scope")
    id_ = ground.add(more.says, scope=_of(dict.fromkeys(parts, "other")), **more.details)
    ground.later()
    extra = ground.chance.sample(_PARTS, ground.chance.randint(0, 1))
    asked = more.asked | {"see_across": tuple(dict.fromkeys((*parts, *extra)))}
    if len(parts) > 1 and ground.chance.random() < 0.5:
        asked["across"] = (parts[0],)  # one of the two parts that differ stays in the way
    return Case("seen across " + ", ".join(parts), "scope", mesh, id_, question, asked)


# ---- status


def hidden(ground: Ground, status: str, text: str, details: Mapping[str, Any]) -> str:
    """Stores a text and brings it into a status; its id."""
    mesh = ground.mesh
    match status:
        case "quarantined" | "archived":
            id_ = ground.add(text, **details, quarantine="planted")
            if status == "archived":
                mesh.review(id_, approve=False)
        case "superseded":
            claim = {"subject": ground.word(), "predicate": "port"}
            id_ = ground.add(text, **details, claim=claim | {"value": "one"})
            ground.add(ground.words(4), claim=claim | {"value": "two"})
        case "expired":
            id_ = ground.add(text, **details, scope=Scope(session="past"))
        case "disputed":  # an inference loses its trust with time; votes take the rest
            ground.clock.set(NOW - 500 * DAY)
            id_ = ground.add(text, **details, source_kind="inference")
            mesh.review.reinforce(id_)  # three disputes without support would be a quarantine
            ground.clock.set(NOW - 50 * DAY)
            for _ in range(8):
                mesh.review.dispute(id_)
        case _:
            id_ = ground.add(text, **details)
            mesh.delete(id_)
    return _checked(ground, id_, status)


def _checked(ground: Ground, id_: str, status: str) -> str:
    now = ground.mesh.history(id_)[-1].status
    assert status in {now, "expired"}, f"{status} was planted, and is {now}"
    return id_


def of_status(ground: Ground) -> Case:
    status, question = ground.chance.choice(STATUSES), question_of(ground)
    mesh = (
        ground.open({"session": "past", "session_days": 30})
        if status == "expired"
        else ground.open()
    )
    more = _later(ground, question, after="status")
    id_ = hidden(ground, status, more.says, more.details)
    ground.noise()
    ground.later()
    others = [name for name in STATUSES if name not in {status, "deleted"}]
    asked = more.asked | {"include": ground.chance.sample(others, ground.chance.randint(0, 2))}
    return Case(f"{status}", "status", mesh, id_, question, asked)


def waited_then(ground: Ground) -> Case:
    """In the past that is asked for it waited for a review; today it is active."""
    mesh, question = ground.open(), question_of(ground)
    ground.noise()
    more = _later(ground, question, after="status")
    id_ = ground.add(more.says, **more.details, quarantine="planted")
    then = ground.clock.advance(DAY)
    ground.clock.advance(DAY)
    mesh.review(id_, approve=True)
    ground.later()
    return Case("waited then", "status", mesh, id_, question, more.asked | {"as_of": then})


# ---- validity


def not_valid(ground: Ground) -> Case:
    """Before its time, after it, or at another time that is asked for."""
    mesh, question, chance = ground.open(), question_of(ground), ground.chance
    ground.noise()
    more = _later(ground, question, after="validity")
    when, span, asked = chance.randint(1, 40) * DAY, dict[str, Any](), dict(more.asked)
    match chance.randrange(5):
        case 0:
            span["valid_from"] = NOW + when
        case 1:
            span["valid_until"] = NOW - when
        case 2:
            span["valid_until"] = NOW  # the end of a span is not in it
        case 3:
            span["valid_from"] = NOW - 2 * DAY
            asked["valid_at"] = NOW - 2 * DAY - when
        case _:
            span |= {"valid_from": NOW - 2 * DAY, "valid_until": NOW + when}
            asked["valid_at"] = NOW + when + DAY
    id_ = ground.add(more.says, **span)
    ground.later()
    return Case("not valid", "validity", mesh, id_, question, asked)


# ---- filter


def filtered(ground: Ground) -> Case:
    mesh, question = ground.open(vectors=ground.chance.random() < 0.3), question_of(ground)
    ground.noise()
    more = _later(ground, question, after="filter")
    field_: Sequence[tuple[dict[str, Any], str]] = (
        ({"tags": ["kept", "blue"]}, "tags = 'wanted'"),
        ({}, "tags = 'wanted'"),
        ({"importance": 0.2}, "importance > 0.5"),
        ({"kind": "decision"}, "kind <> 'decision'"),
        ({"speaker": "Ann"}, "speaker = 'Bob'"),
        ({"pinned": True}, "NOT pinned"),
        ({"confidence": 0.9}, "confidence BETWEEN 0.1 AND 0.4"),
        ({}, f"content LIKE '%{ground.word()}%'"),
        ({}, f"created_at > timestamp '{NOW.isoformat()}'"),
        ({"tags": ["wanted"], "importance": 0.2}, "tags = 'wanted' AND importance >= 0.9"),
    )
    details, text = ground.chance.choice(field_)
    id_ = ground.add(more.says, **details)
    ground.later()
    return Case(f"filter {text}", "filter", mesh, id_, question, more.asked | {"filter": text})
