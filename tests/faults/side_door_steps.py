"""The steps of the state machine: every verb that can change something, with every payload flag."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from memory_mesh.compat.lane.memory_lane import MemoryLane
from memory_mesh.model import Channel, Claim, Draft, Scope, Source, SourceKind, Status, Tier
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from tests.faults.side_doors import Fact, World

Step = Callable[["World", MemoryMesh], object]
_HALF = 0.5
_LOOKALIKES = str.maketrans({"a": "\u0430", "e": "\u0435", "o": "\u043e", "i": "\u0456"})


class NotRestored(Exception):
    """The user wanted an own memory back, and it is not there."""


def tell(world: "World", view: MemoryMesh, fact: "Fact", value: str, **details: Any) -> str | None:
    """Stores a statement of a fact with its claim, and remembers what it says."""
    receipt = view.add(fact.text(value), claim=fact.claim(value), **details)
    if receipt.id is not None:
        world.said.setdefault(receipt.id, (fact, value))
    return f"{receipt.outcome} {receipt.id} {value} {details}"


def add(world: "World", view: MemoryMesh) -> object:
    """A statement with random flags."""
    fact, value = _fact(world)
    return tell(world, view, fact, value, **_flags(world))


def add_disguised(world: "World", view: MemoryMesh) -> object:
    """A statement whose claim looks like a known one and is spelled otherwise."""
    fact, value = _fact(world)
    claim = fact.claim(value) | {"exclusive": world.chance.random() < _HALF}
    part = world.chance.choice(("subject", "predicate"))
    plain = str(claim[part])
    claim[part] = world.chance.choice(
        (
            plain.translate(_LOOKALIKES),
            f"{plain[:2]}\u200b{plain[2:]}",
            plain.upper(),
            f"\u2060{plain}",
        )
    )
    receipt = view.add(fact.text(value), claim=claim, **_flags(world))
    if receipt.id is not None:
        world.said.setdefault(receipt.id, (fact, value))
    return f"{receipt.outcome} {claim}"


def add_draft(world: "World", view: MemoryMesh) -> object:
    """A ready draft that states a source which its channel does not have."""
    fact, value = _fact(world)
    draft = Draft(
        text=fact.text(value),
        scope=_scope(world),
        source=Source(SourceKind.USER_EXPLICIT, world.chance.choice(list(Channel))),
        claim=Claim(subject=fact.subject, predicate=fact.predicate, value=value,
                    exclusive=world.chance.random() < _HALF),
        importance=1.0,
        pinned=True,
        tier=Tier.SYSTEM,
        keep_active=world.chance.random() < _HALF,
        allow_duplicate=world.chance.random() < _HALF,
    )  # fmt: skip
    receipt = view.add_many([draft])[0]
    if receipt.id is not None:
        world.said.setdefault(receipt.id, (fact, value))
    return f"{receipt.outcome} {receipt.id} {draft.source}"


def evolve(world: "World", view: MemoryMesh) -> object:
    fact, value = _fact(world)
    receipt = view.evolve(fact.text(value), claim=fact.claim(value), **_flags(world))
    if receipt.id is not None:
        world.said.setdefault(receipt.id, (fact, value))
    return f"{receipt.outcome} {receipt.superseded}"


def store_in_lane(world: "World", view: MemoryMesh) -> object:
    fact, value = _fact(world)
    return MemoryLane(view).store(fact.text(value), {"type": "correction", "confidence_score": 1.0})


def vote_in_lane(world: "World", view: MemoryMesh) -> object:
    chosen = _id(world)
    MemoryLane(view).feedback(chosen, helpful=world.chance.random() < _HALF)
    return chosen


def update(world: "World", view: MemoryMesh) -> object:
    fact, value = _fact(world)
    changes: dict[str, Any] = world.chance.choice(
        (
            {"content": fact.text(value)},
            {"claim": fact.claim(value)},
            {"metadata": {"note": "changed"}},
            {"pinned": True},
            {"importance": 0.1},
            {"tags": ["changed"]},
            {"valid_until": world.clock.now() - timedelta(days=1)},
            {"scope": Scope(session="elsewhere")},
            {"source_kind": "inference"},
            {"triggers": ["changed"]},
        )
    )
    reader = _reader(world)
    return view.update(_id(world), reader=reader, **changes).id


def update_many(world: "World", view: MemoryMesh) -> object:
    changes: list[dict[str, object]] = [
        {"id": _id(world), "tags": ["many"]},
        {"id": _id(world), "importance": 0.0},
    ]
    return len(view.update_many(changes, reader=_reader(world)))


def pin(world: "World", view: MemoryMesh) -> object:
    return view.pin(_id(world), pinned=world.chance.random() < _HALF, scope=_reader(world)).id


def delete(world: "World", view: MemoryMesh) -> object:
    chosen = _id(world)
    view.delete(chosen, scope=_reader(world))
    return chosen


def restore(world: "World", view: MemoryMesh) -> object:
    return view.restore(_id(world, Status.DELETED), scope=_reader(world)).id


def mark_superseded(world: "World", view: MemoryMesh) -> object:
    return view.review.mark_superseded(_id(world), by=_id(world))


def rate(world: "World", view: MemoryMesh) -> object:
    helpful = world.chance.random() < _HALF
    chosen = _id(world)
    return [view.rate(chosen, helpful=helpful, scope=_reader(world)).id for _ in range(6)]


def reinforce(world: "World", view: MemoryMesh) -> object:
    chosen = _id(world)
    return [view.review.reinforce(chosen, 1.0, scope=_reader(world)).id for _ in range(6)]


def dispute(world: "World", view: MemoryMesh) -> object:
    chosen = _id(world)
    return [view.review.dispute(chosen, scope=_reader(world)).status for _ in range(6)]


def inherit(world: "World", view: MemoryMesh) -> object:
    heritage = {"intentChain": ["a stranger's intent"], "hypotheses": [], "rationales": []}
    return view.insert_heritage(_id(world), heritage, scope=_reader(world)).id


def review(world: "World", view: MemoryMesh) -> object:
    approve = world.chance.random() < _HALF
    waiting = [item.id for item in view.review.waiting(limit=1_000, scope=_reader(world))]
    chosen = world.chance.choice([*waiting, _id(world)])
    _settle(world, chosen)
    return view.review(chosen, approve=approve, scope=_reader(world)).id


def undo_review(world: "World", view: MemoryMesh) -> object:
    chosen = _id(world)
    _settle(world, chosen)
    return view.review.undo(chosen, scope=_reader(world)).id


def review_source(world: "World", view: MemoryMesh) -> object:
    return len(view.review.decide_source("web", approve=True, scope=_reader(world)))


def resolve(world: "World", view: MemoryMesh) -> object:
    found = world.mesh.review.conflicts(decided=True, limit=1_000, scope=_reader(world))
    if not found:
        return "none"
    how, chosen = (
        world.chance.choice(("supersede", "reject", "keep_both")),
        world.chance.choice(found),
    )
    _settle(world, chosen.new)
    return view.review.resolve(chosen.id, how, scope=_reader(world)).id


def register(world: "World", view: MemoryMesh) -> object:
    fact, _ = _fact(world)
    schema = world.chance.choice(
        ({"cardinality": "multi"}, {"conflict_policy": "keep_both"}, {"normalize": "lowercase"})
    )
    view.review.register_predicates({fact.predicate: schema})
    return schema


def register_again(world: "World", view: MemoryMesh) -> object:
    """The user says that the facts have one value."""
    view.review.register_predicates({fact.predicate: {} for fact in _facts()})
    return "all"


def link(world: "World", view: MemoryMesh) -> object:
    kinds = ("related", "follows", "part_of", "depends_on", "supersedes", "newer_than", "similar")
    one, other = _id(world), _id(world)
    return view.graph.link(one, other, type=world.chance.choice(kinds), scope=_reader(world)).type


def unlink(world: "World", view: MemoryMesh) -> object:
    kinds = ("related", "follows", "part_of", "depends_on", "newer_than")
    return view.graph.unlink(_id(world), _id(world), type=world.chance.choice(kinds))


def make_episode(world: "World", view: MemoryMesh) -> object:
    return view.graph.create_episode("a stretch", ids=[_id(world)], scope=_reader(world)).id


def propose_update(world: "World", view: MemoryMesh) -> object:
    fact, value = _fact(world)
    proposal = view.review.propose_update(_id(world), fact.text(value), reader=_reader(world))
    world.proposals.append(proposal.id)
    return proposal.id


def propose_delete(world: "World", view: MemoryMesh) -> object:
    proposal = view.review.propose_delete(_id(world), reader=_reader(world))
    world.proposals.append(proposal.id)
    return proposal.id


def review_proposal(world: "World", view: MemoryMesh) -> object:
    if not world.proposals:
        return "none"
    chosen = world.chance.choice(world.proposals)
    _settle(world, *world.said)
    act = world.chance.choice((lambda: view.review(chosen, approve=True),
                               lambda: view.review.undo(chosen)))  # fmt: skip
    return act().id


def distill(world: "World", view: MemoryMesh) -> object:
    fact, value = _fact(world)
    return view.distill_lesson(
        {"situation": fact.question, "error_pattern": "E42", "oversight": "none", "fix": "none",
         "severity": "critical", "preventative_rule": fact.text(value),
         "applicable_scope": "everything", "confidence": world.chance.random()}
    )  # fmt: skip


def keep_house(world: "World", view: MemoryMesh) -> object:
    """What runs by itself: upkeep, jobs and distillation."""
    act = world.chance.choice((view.care.upkeep, view.care.run_jobs, view.lessons.distill))
    return type(act()).__name__


def archive(world: "World", view: MemoryMesh) -> object:
    return view.care.archive_project("atlas")


def user_adds(world: "World", view: MemoryMesh) -> object:
    fact, value = _fact(world)
    stated = world.chance.choice(({}, {"source_kind": "user_explicit"}, {"role": "user"}))
    return tell(world, view, fact, value, scope=_scope(world), **stated)


def user_restores(world: "World", view: MemoryMesh) -> object:
    """The user deletes an own memory, a stranger takes the place, the user wants it back."""
    own = [memory for memory in world.memories()
           if memory.source.channel is Channel.CLI and memory.status is Status.ACTIVE
           and memory.source.kind is SourceKind.USER_EXPLICIT
           and world.said.get(memory.id, (None,))[0] not in world.settled]  # fmt: skip
    if not own:
        return "none"
    chosen = world.chance.choice(own)
    reader = chosen.scope
    view.delete(chosen.id, scope=reader)
    if chosen.id in world.said:
        fact, value = world.said[chosen.id]
        other = world.chance.choice([each for each in fact.values if each != value])
        low = world.chance.choice((Channel.WEB, Channel.TOOL, Channel.ASSISTANT))
        tell(world, world.view(low, reader), fact, other, scope=reader)
    try:
        back = view.restore(chosen.id, scope=reader)
    except MeshError as error:
        raise NotRestored(f"{chosen.id}: {error}") from error
    if back.status is not Status.ACTIVE:
        raise NotRestored(f"{chosen.id} came back as {back.status}")
    return back.id


_CHANGING: tuple[Step, ...] = (
    update, update_many, pin, delete, restore, mark_superseded, rate, reinforce, dispute, inherit,
    review, undo_review, review_source, resolve, register, link, unlink, make_episode,
    propose_update, propose_delete, review_proposal, distill, keep_house, archive, store_in_lane,
    vote_in_lane,
)  # fmt: skip
LOW_VERBS: tuple[Step, ...] = (
    *(add,) * 6, *(add_disguised,) * 3, *(add_draft,) * 3, *(evolve,) * 2, *_CHANGING,
)  # fmt: skip
USER_VERBS: tuple[Step, ...] = (
    *(user_adds,) * 4, *(user_restores,) * 2, register_again, delete, restore, update, review,
    resolve, undo_review, review_proposal, evolve,
)  # fmt: skip


def _settle(world: "World", *ids: str) -> None:
    """Notes that the user decided about a fact: from then on his word stands, not a rule."""
    if world.user_acts:
        world.settled.update(world.said[id_][0] for id_ in ids if id_ in world.said)


def _flags(world: "World") -> dict[str, Any]:
    """Each flag of a payload with a chance of one in four."""
    chance, now = world.chance, world.clock.now()
    flags: dict[str, Any] = {
        "source_kind": chance.choice(list(SourceKind)),
        "role": chance.choice(("user", "assistant", "system", "tool")),
        "speaker": chance.choice(("user", "Dana", "system")),
        "scope": _scope(world),
        "keep_active": True,
        "allow_duplicate": True,
        "quarantine": "for later",
        "pinned": True,
        "importance": "critical",
        "confidence": 1.0,
        "tier": "system",
        "kind": chance.choice(("correction", "decision", "preference")),
        "occurred_at": now + timedelta(days=chance.choice((-400, 400))),
        "valid_from": now + timedelta(days=chance.choice((-400, 1))),
        "valid_until": now + timedelta(days=400),
        "derived_from": [_id(world)],
        "key": f"key {chance.randrange(40)}",
        "metadata": {"source": "user", "exclusive": False, "status": "active", "trust": 1.0},
        "source_agent": "user",
    }
    chosen = {name: value for name, value in flags.items() if chance.random() < 0.25}
    if chosen.get("valid_from") and chosen["valid_from"] > now:
        chosen.pop("valid_until", None)
    return chosen


def _facts() -> "tuple[Fact, ...]":
    from tests.faults.side_doors import FACTS

    return FACTS


def _fact(world: "World") -> "tuple[Fact, str]":
    fact = world.chance.choice(_facts())
    return fact, world.chance.choice(fact.values)


def _scope(world: "World") -> Scope:
    from tests.faults.side_doors import SCOPES

    return world.chance.choice(SCOPES)


def _reader(world: "World") -> Scope:
    from tests.faults.side_doors import READERS

    return world.chance.choice(READERS)


def _id(world: "World", status: Status | None = None) -> str:
    """A memory of the store, more often one of the user's."""
    found = [memory for memory in world.memories() if status in {None, memory.status}]
    own = [memory for memory in found if memory.source.channel not in {Channel.WEB, Channel.MCP}]
    chosen = own if own and world.chance.random() < 0.7 else found
    return world.chance.choice(chosen).id if chosen else "mem_none"
