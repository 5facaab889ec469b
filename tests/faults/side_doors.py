"""A state machine over all channels, verbs and payload flags: trust has no side door.

Before and after each step of a channel, the machine notes what several readers see of every
memory that is trusted more than the writer of that step. Nothing of it may differ, whatever the
verb was and whether it was refused; a change that was asked for may only wait as a proposal. A
search never puts a statement of less trust above the one it contradicts, and what the user
restores is back.

The rules that it checks are those of the documentation, written down here a second time: the
machine asks the library for nothing but what readers see.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from memory_mesh.model import Channel, Memory, Scope, SourceKind, Status
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults import side_door_steps
from tests.faults.report import Progress, Report, Ticker, silent
from tests.faults.sample import dealt

STEPS_OF_A_WORLD = 100
_LOW_SHARE = 0.75  # of the steps are of less trusted channels
_HIDDEN = [status for status in Status if status is not Status.ACTIVE]
_KINDS = tuple(SourceKind)  # from most to least trusted
_CEILINGS = {
    Channel.TOOL: SourceKind.TOOL_OUTPUT,
    Channel.FILE: SourceKind.DOCUMENT,
    Channel.IMPORT: SourceKind.DOCUMENT,
    Channel.WEB: SourceKind.DOCUMENT,
    Channel.MCP: SourceKind.INFERENCE,
    Channel.ASSISTANT: SourceKind.INFERENCE,
    Channel.EXTRACTION: SourceKind.INFERENCE,
}
LOW = tuple(_CEILINGS)
_USERS_WORD = {SourceKind.USER_EXPLICIT, SourceKind.SYSTEM}
USERS = (Channel.LIBRARY, Channel.CLI, Channel.HOOK)
SCOPES = (
    Scope(),
    Scope(project="atlas"),
    Scope(project="atlas", session="s1"),
    Scope(agent="planner"),
)
READERS = (
    Scope(),
    Scope(project="atlas"),
    Scope(project="atlas", agent="planner", session="s1"),
)
_SEEN = (
    "text", "status", "pinned", "importance", "confidence", "tags", "extra", "claim", "valid_from",
    "valid_until", "occurred_at", "scope", "kind", "label", "tier", "speaker", "role", "order",
    "triggers", "heritage", "lesson", "skill", "successor", "source", "created",
)  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """What can be known and contradicted."""

    subject: str
    predicate: str
    sentence: str
    question: str
    values: tuple[str, ...]

    def text(self, value: str) -> str:
        return self.sentence.format(value)

    def claim(self, value: str) -> dict[str, object]:
        return {"subject": self.subject, "predicate": self.predicate, "value": value}


FACTS = (
    Fact("staging server", "port", "The staging server listens on port {}.",
         "Which port does the staging server listen on?", ("8080", "3000", "9443", "7001")),
    Fact("billing service", "database", "The billing service keeps its data in {}.",
         "Where does the billing service keep its data?", ("PostgreSQL", "MySQL", "DynamoDB")),
    Fact("release", "day", "The release goes out on {}.",
         "On which day does the release go out?", ("Friday", "Monday", "Wednesday")),
    Fact("user", "city", "The user lives in {}.",
         "In which city does the user live?", ("Berlin", "Paris", "Lisbon")),
    Fact("api", "owner", "The API is owned by the {} team.",
         "Which team owns the API?", ("Kestrel", "Heron", "Osprey")),
)  # fmt: skip


@dataclass
class World:
    """One store with a view for each channel and audience, and what the machine knows of it."""

    mesh: MemoryMesh
    clock: FrozenClock
    chance: random.Random
    said: dict[str, tuple[Fact, str]] = field(default_factory=dict)  # by id: fact and value
    proposals: list[str] = field(default_factory=list)
    settled: set[Fact] = field(default_factory=set)  # of which the user decided a conflict
    user_acts: bool = True  # the step is the user's
    log: list[str] = field(default_factory=list)

    def view(self, channel: Channel, scope: Scope) -> MemoryMesh:
        return self.mesh.view(scope=scope, channel=channel)

    def memories(self) -> list[Memory]:
        """Every memory of the store, whatever its audience and status."""
        every = ("project", "agent", "session")
        return list(self.mesh.get_all(limit=1_000, across=every, include=_HIDDEN))


@dataclass(frozen=True)
class Actor:
    """Who makes a step: a channel, where it writes, and the kind that it states."""

    channel: Channel
    scope: Scope
    kind: SourceKind

    def is_below(self, memory: Memory) -> bool:
        """True if the memory is trusted more, by its kind and by what its writer may do."""
        own = _KINDS.index(self.kind)
        authority = _KINDS.index(_authority(memory))
        return own > _KINDS.index(memory.source.kind) and own > authority


@dataclass(frozen=True)
class _Deck:
    """What comes next: every verb and channel once, then any."""

    low: Iterator[side_door_steps.Step]
    users: Iterator[side_door_steps.Step]
    channels: Iterator[Channel]


def run(folder: Path, *, steps: int, seed: int, progress: Progress = silent) -> Report:
    """Makes the steps in as many fresh worlds as they need; counts what differs after each."""
    report = Report()
    for name in ("steps", "changed upward", "stood above", "not restored", "proposals"):
        report.count(name, 0)
    ticker, dice = Ticker(progress, steps), random.Random(seed)
    deck = _Deck(
        low=dealt(side_door_steps.LOW_VERBS, dice),
        users=dealt(side_door_steps.USER_VERBS, dice),
        channels=dealt(LOW, dice),
    )
    for number in range(-(-steps // STEPS_OF_A_WORLD)):
        chance = random.Random(f"{seed} {number}")
        left = min(STEPS_OF_A_WORLD, steps - number * STEPS_OF_A_WORLD)
        with _world(folder / f"{number}", chance) as world:
            for _ in range(left):
                _step(world, report, deck)
            report.count("proposals", len(world.mesh.review.proposals(pending=False, limit=1_000)))
            if not world.mesh.care.verify().ok:
                report.broken("not sound", f"world {number}: {world.mesh.care.verify()}")
        ticker.tick(number * STEPS_OF_A_WORLD + left, "steps")
    return report


@contextmanager
def _world(folder: Path, chance: random.Random) -> Iterator[World]:
    clock = FrozenClock()
    with MemoryMesh(db_dir=folder, clock=clock, embedder="none") as mesh:
        world = World(mesh, clock, chance)
        for fact in FACTS:
            side_door_steps.tell(world, world.view(Channel.CLI, Scope()), fact, fact.values[0])
        yield world


def _step(world: World, report: Report, deck: _Deck) -> None:
    """One step of a random actor; what is above it must look the same afterwards."""
    chance = world.chance
    low = chance.random() < _LOW_SHARE
    channel = next(deck.channels) if low else chance.choice(USERS)
    kind = _CEILINGS.get(channel, SourceKind.USER_EXPLICIT)
    actor = Actor(channel, chance.choice(SCOPES), kind)
    world.user_acts = not low
    verb = next(deck.low if low else deck.users)
    before = _protected(world, actor) if low else {}
    world.clock.advance(timedelta(seconds=chance.choice((1, 60, 86_400))))
    told = f"{channel} {actor.scope} {verb.__name__}"
    try:
        told += f" {verb(world, world.view(channel, actor.scope))}"
    except side_door_steps.NotRestored as error:
        report.broken("not restored", f"{error}: {_lately(world)}")
    except MeshError as error:
        report.count("refused")
        told += f" refused: {error}"
    world.log.append(told)
    report.count("steps")
    report.count(f"by {channel}")
    if low:
        _compare(world, report, actor, before)
        _ask(world, report)


Seen = dict[tuple[Scope, str], tuple[object, ...]]


def _protected(world: World, actor: Actor) -> Seen:
    """What each reader sees of the memories that are trusted more than the actor."""
    above = {memory.id for memory in world.memories() if actor.is_below(memory)}
    return {
        (reader, memory.id): tuple(getattr(memory, name) for name in _SEEN)
        for reader in READERS
        for memory in world.mesh.get_all(limit=1_000, scope=reader, include=_HIDDEN)
        if memory.id in above
    }


def _compare(world: World, report: Report, actor: Actor, before: Seen) -> None:
    after = {
        (reader, memory.id): tuple(getattr(memory, name) for name in _SEEN)
        for reader in READERS
        for memory in world.mesh.get_all(limit=1_000, scope=reader, include=_HIDDEN)
    }
    for at, was in before.items():
        now = after.get(at)
        if now == was:
            continue
        differs = "is gone" if now is None else str(
            {name: (old, new) for name, old, new in zip(_SEEN, was, now, strict=True) if old != new}
        )  # fmt: skip
        report.broken("changed upward", f"{_lately(world)}\n{actor}: {at[1]} {differs}")
        return


def _ask(world: World, report: Report) -> None:
    """Asks for one fact as one reader: the most trusted statement stands above its rivals."""
    fact, reader = world.chance.choice(FACTS), world.chance.choice(READERS)
    if fact in world.settled:
        return
    hits = [hit.memory for hit in world.mesh.search(fact.question, scope=reader, limit=20)]
    about = [memory for memory in hits if world.said.get(memory.id, (None,))[0] is fact]
    for place, memory in enumerate(about):
        for below in about[place + 1 :]:
            stated = memory.claim and below.claim and not memory.claim.read and not below.claim.read
            differ = world.said[memory.id][1] != world.said[below.id][1]
            if not stated or not differ or _ranked(memory) <= _ranked(below):
                continue
            if memory.source.channel not in LOW or _authority(below) not in _USERS_WORD:
                report.count("stood above another channel's")
            else:
                report.broken(
                    "stood above",
                    f"{_lately(world, memory.id, below.id)}\n{reader} asks {fact.question!r}: "
                    f"{memory.id} {memory.text!r} {memory.scope} {memory.source} {memory.claim}\n"
                    f"above {below.id} {below.text!r} {below.scope} {below.source} {below.claim}",
                )
                return


def _lately(world: World, *ids: str) -> str:
    """The last steps, or those that name one of the memories."""
    named = [line for line in world.log if any(id_ in line for id_ in ids)]
    return "\n".join((named or world.log)[-6:])


def _ranked(memory: Memory) -> tuple[int, int]:
    """Places of the memory's channel and kind; a lower number is trusted more."""
    return _KINDS.index(_authority(memory)), _KINDS.index(memory.source.kind)


def _authority(memory: Memory) -> SourceKind:
    source = memory.source
    if source.stated:
        return source.kind
    return _CEILINGS.get(source.channel, SourceKind.USER_EXPLICIT)
