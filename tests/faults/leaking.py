"""Random readers over everything that can hide a memory; a plain model says what each may see.

::

    namespace ▸ project, agent, session ▸ status ▸ validity        one of each per memory
    reader ──▶ search in every profile, get, get_many, get_all, history, stats, the cache, skills,
               lessons, conflicts, review, errors

Every text holds a word that no other has. An answer leaks when it shows a memory, or one word of a
memory, that the model keeps from its reader; it lies when it leaves out what its reader may list.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_mesh.model import Draft, Proposal, Scope, Status
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.meaning import Hashed
from tests.faults.report import Progress, Report, Ticker, silent

NAMESPACES = ("alpha", "beta", "gamma")
PROFILES = ("mesh", "rrf", "lane", "composite")
_NAMES = (None, "one", "two")
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_SPANS = (
    (None, None),
    (_NOW - timedelta(days=9), None),
    (None, _NOW + timedelta(days=9)),
    (_NOW + timedelta(days=5), None),
    (None, _NOW - timedelta(days=5)),
    (_NOW - timedelta(days=20), _NOW - timedelta(days=10)),
)
_COMMON = "harbour ferry"  # in every text: any question finds everything there is to find
_WORD = re.compile(r"\bzq[a-z]{6}\b")
_SHOWABLE = (Status.QUARANTINED, Status.SUPERSEDED, Status.ARCHIVED, Status.DISPUTED)


@dataclass(frozen=True)
class Planted:
    """One thing in the store and what hides it."""

    id: str
    word: str
    namespace: str
    scope: Scope
    status: Status = Status.ACTIVE
    span: tuple[datetime | None, datetime | None] = (None, None)
    kind: str = "memory"


@dataclass
class World:
    """Everything planted, and the meshes that read it."""

    meshes: dict[str, MemoryMesh]
    clock: FrozenClock
    planted: list[Planted] = field(default_factory=list)
    conflicts: list[tuple[str, str]] = field(default_factory=list)  # ids that contradict

    def words(self) -> dict[str, Planted]:
        return {thing.word: thing for thing in self.planted}


@dataclass(frozen=True)
class Reader:
    """Who asks where, for which moment, and with which statuses besides active ones."""

    namespace: str
    scope: Scope
    include: frozenset[Status] = frozenset()
    at: datetime | None = None  # valid_at


def leaks(
    folder: Path, *, reads: int, seed: int, memories: int = 240, progress: Progress = silent
) -> Report:
    """Random reads, each held against the model."""
    chance, report = random.Random(seed), Report({"reads": 0, "leaks": 0, "left out": 0})
    with ExitStack() as opened:
        world = _plant(folder, chance, memories, opened)
        report.figures |= {"planted": len(world.planted), "conflicts": len(world.conflicts)}
        verbs: list[Verb] = [*_VERBS.values()]
        ticker = Ticker(progress, reads)
        for number in range(reads):
            reader = _reader(chance)
            name, verb = chance.choice(list(_VERBS.items())) if number >= len(verbs) else (
                list(_VERBS.items())[number]
            )  # fmt: skip
            report.count("reads")
            report.count(f"by {name}")
            for kind, detail in verb(world, reader, chance):
                report.broken(kind, f"{name} by {reader}: {detail}")
            ticker.tick(number + 1, "reads")
    return report


Verb = Callable[[World, Reader, random.Random], Iterable[tuple[str, str]]]


def _plant(folder: Path, chance: random.Random, count: int, opened: ExitStack) -> World:
    clock = FrozenClock(_NOW - timedelta(days=60))
    meshes = {
        name: opened.enter_context(
            MemoryMesh(db_dir=folder, namespace=name, clock=clock, agent_id="none",
                       settings={"session_days": 0},  # expiry would hide half
                       custom_embedder=Hashed())
        )
        for name in NAMESPACES
    }  # fmt: skip
    world = World(meshes, clock)
    for number in range(count):
        _plant_memory(world, chance, number)
    for number in range(count // 8):
        _plant_lesson(world, chance, number)
        _plant_skill(world, chance, number)
        _plant_conflict(world, chance, number)
        _plant_superseded(world, chance, number)
    clock.set(_NOW)
    return world


def _plant_memory(world: World, chance: random.Random, number: int) -> None:
    namespace, scope = chance.choice(NAMESPACES), _scope(chance)
    mesh, word, span = world.meshes[namespace], _word(chance), chance.choice(_SPANS)
    status = chance.choice([Status.ACTIVE] * 4 + [Status.QUARANTINED, Status.DELETED,
                                                  Status.ARCHIVED, Status.DISPUTED])  # fmt: skip
    draft = Draft(
        text=f"{_COMMON} {word} number {number}",
        scope=scope,
        valid_from=span[0],
        valid_until=span[1],
        quarantine="planted" if status not in {Status.ACTIVE, Status.DELETED} else None,
    )
    id_ = str(mesh.add_many([draft])[0].id)
    if status is Status.DELETED:
        mesh.delete(id_, scope=scope)
    if status is Status.ARCHIVED:
        mesh.review(id_, approve=False, scope=scope)
    if status is Status.DISPUTED:
        mesh.review(id_, approve=True, scope=scope)
        status = Status.ACTIVE
        for _ in range(3):
            status = mesh.review.dispute(id_, scope=scope).status
    world.planted.append(Planted(id_, word, namespace, scope, status, span))


def _plant_lesson(world: World, chance: random.Random, number: int) -> None:
    namespace, scope, word = chance.choice(NAMESPACES), _scope(chance), _word(chance)
    block = world.meshes[namespace].distill_lesson(
        {"situation": f"{_COMMON} {word}", "error_pattern": f"pattern {word}", "oversight": word,
         "fix": "waited", "preventative_rule": f"Never {word} the {_COMMON}", "severity": "high",
         "applicable_scope": f"crossing {number}"},
        scope=scope,
    )  # fmt: skip
    world.planted.append(Planted(block.memory_id, word, namespace, scope, kind="lesson"))


def _plant_skill(world: World, chance: random.Random, number: int) -> None:
    namespace, scope, word = chance.choice(NAMESPACES), _scope(chance), _word(chance)
    text = f"---\nname: {word} {number}\ndescription: {_COMMON} {word}\n---\nDo {word}.\n"
    skill = world.meshes[namespace].ingest_skill(text, scope=scope).skill
    world.planted.append(Planted(skill.id, word, namespace, scope, kind="skill"))


def _plant_conflict(world: World, chance: random.Random, number: int) -> None:
    """A contradiction that waits: an inference against what the user said."""
    namespace, scope = chance.choice(NAMESPACES), _scope(chance)
    mesh, ids = world.meshes[namespace], list[str]()
    for kind, status in (("user_explicit", Status.ACTIVE), ("inference", Status.QUARANTINED)):
        word = _word(chance)
        claim = {"subject": f"{_COMMON} {number}", "predicate": "berth", "value": word}
        receipt = mesh.add(f"{_COMMON} {word} berth", claim=claim, scope=scope, source_kind=kind)
        ids.append(str(receipt.id))
        world.planted.append(Planted(ids[-1], word, namespace, scope, status))
    world.conflicts.append((ids[1], ids[0]))


def _plant_superseded(world: World, chance: random.Random, number: int) -> None:
    """A value and the one that took its place."""
    namespace, scope = chance.choice(NAMESPACES), _scope(chance)
    for status in (Status.SUPERSEDED, Status.ACTIVE):
        word = _word(chance)
        claim = {"subject": f"{_COMMON} {number}", "predicate": "captain", "value": word}
        text = f"{_COMMON} {word} captain"
        id_ = str(world.meshes[namespace].add(text, claim=claim, scope=scope).id)
        world.planted.append(Planted(id_, word, namespace, scope, status))


def _visible(thing: Planted, reader: Reader, *, any_validity: bool = False) -> bool:
    """The model: namespace, audience, status and validity, each by itself."""
    start, end = thing.span
    at = reader.at or _NOW
    return (
        thing.namespace == reader.namespace
        and _sees(reader.scope, thing.scope)
        and thing.status in {Status.ACTIVE, *reader.include}
        and (any_validity or ((start is None or start <= at) and (end is None or at < end)))
    )


def _sees(reader: Scope, audience: Scope) -> bool:
    return all(
        getattr(audience, part) is None or getattr(audience, part) == getattr(reader, part)
        for part in ("project", "agent", "session")
    )


def _shown(
    world: World, reader: Reader, answer: object, allowed: Callable[[Planted], bool]
) -> Iterable[tuple[str, str]]:
    """Every planted word in an answer that its reader must not see, wherever it stands."""
    words = world.words()
    for word in set(_WORD.findall(repr(answer))):
        thing = words.get(word)
        if thing is not None and not allowed(thing):
            yield "leaks", f"{thing}"


def _held(
    world: World, reader: Reader, answer: object, listed: Iterable[str], asked: Iterable[str]
) -> Iterable[tuple[str, str]]:
    """An answer of memories: none that is hidden, and all of those that were asked for."""
    yield from _shown(world, reader, answer, lambda thing: _visible(thing, reader))
    ids, wanted = set(listed), set(asked)
    known = {thing.id: thing for thing in world.planted}
    for id_ in ids:
        if id_ not in known or not _visible(known[id_], reader):
            yield "leaks", f"{id_} {known.get(id_)}"
    for id_ in wanted - ids:
        if _visible(known[id_], reader):
            yield "left out", f"{known[id_]}"


def _search(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    thing = chance.choice(world.planted)
    question = chance.choice((_COMMON, thing.word, f"{_COMMON} {thing.word}"))
    hits = world.meshes[reader.namespace].search(
        question, limit=chance.choice((1, 10, 1_000)), scope=reader.scope,
        include=reader.include, valid_at=reader.at, profile=chance.choice(PROFILES),
        keyword_only=chance.random() < 0.3, use_cache=chance.random() < 0.7,
        min_similarity=chance.choice((None, 0.0)),
    )  # fmt: skip
    yield from _held(world, reader, hits, (hit.id for hit in hits), ())


def _cache(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    """The same question by reader after reader: what one may see must not answer the next."""
    profile = chance.choice(PROFILES)
    for each in (reader, *(_reader(chance) for _ in range(3)), reader):
        mesh = world.meshes[each.namespace]
        hits = mesh.search(_COMMON, limit=20, scope=each.scope, include=each.include,
                           valid_at=each.at, profile=profile)  # fmt: skip
        yield from _held(world, each, hits, (hit.id for hit in hits), ())


def _get(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    thing = chance.choice(_memories(world))
    found = world.meshes[reader.namespace].get(
        thing.id, scope=reader.scope, include=reader.include, **_moment(reader)
    )
    ids = [] if found is None else [found.id]
    yield from _held(world, reader, found, ids, [thing.id])


def _get_many(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    ids = [thing.id for thing in chance.sample(_memories(world), 20)]
    found = world.meshes[reader.namespace].get_many(
        ids, scope=reader.scope, include=reader.include, **_moment(reader)
    )
    yield from _held(world, reader, found, (memory.id for memory in found), ids)


def _get_all(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    del chance
    page = world.meshes[reader.namespace].get_all(
        limit=1_000, scope=reader.scope, include=reader.include, valid_at=reader.at
    )
    every = [thing.id for thing in _memories(world)]
    yield from _held(world, reader, page, (memory.id for memory in page), every)


def _history(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    """History shows every status and time, to its audience."""
    thing = chance.choice(_memories(world))
    versions = world.meshes[reader.namespace].history(thing.id, scope=reader.scope)
    allowed = _audience(reader)
    yield from _shown(world, reader, versions, allowed)
    if versions and not allowed(thing):
        yield "leaks", f"{thing}"


def _stats(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    """Numbers of one namespace, and nothing but numbers."""
    del chance
    stats = world.meshes[reader.namespace].stats()
    yield from _shown(world, reader, stats, lambda _: False)
    here = [thing for thing in world.planted if thing.namespace == reader.namespace]
    statuses = Counter(thing.status.value for thing in here if thing.kind != "skill")
    if {name: count for name, count in stats.by_status.items() if count} != statuses:
        yield "leaks", f"{stats.by_status}, planted were {statuses}"
    if stats.skills != sum(thing.kind == "skill" for thing in here):
        yield "leaks", f"{stats.skills} skills"


def _skills(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    mesh, thing = world.meshes[reader.namespace], chance.choice(world.planted)
    found = mesh.search_skills(chance.choice((_COMMON, thing.word)), scope=reader.scope)
    listed = mesh.list_skills(limit=1_000, scope=reader.scope)
    allowed = _audience(reader)
    yield from _shown(world, reader, [found, listed], allowed)
    wanted = {each.id for each in world.planted if each.kind == "skill" and allowed(each)}
    for id_ in wanted - {skill.id for skill in listed}:
        yield "left out", id_


def _lessons(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    mesh, thing = world.meshes[reader.namespace], chance.choice(world.planted)
    question = chance.choice(("", _COMMON, thing.word))
    found = mesh.query_lessons(question, limit=1_000, scope=reader.scope, min_confidence=0.0)
    yield from _shown(world, reader, found, _audience(reader))
    wanted = [each for each in world.planted if each.kind == "lesson" and _audience(reader)(each)]
    if not question and len(found) < len(wanted):
        yield "left out", f"{len(found)} of {len(wanted)} lessons"


def _conflicts(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    """A conflict is shown to those who may see both sides."""
    del chance
    mesh = world.meshes[reader.namespace]
    every = mesh.review.conflicts(limit=1_000, scope=reader.scope, decided=True)
    yield from _shown(world, reader, every, _audience(reader))
    known = {thing.id: thing for thing in world.planted}
    for each in every:
        for side in (each.new, each.existing):
            if side in known and not _audience(reader)(known[side]):
                yield "leaks", f"{each.id}: {side}"
    found = mesh.review.conflicts(limit=1_000, scope=reader.scope, pending=True)
    allowed = {pair for pair in world.conflicts if _audience(reader)(known[pair[0]])}
    shown = {(each.new, each.existing) for each in found}
    for pair in shown - allowed:
        yield "leaks", f"{pair}"
    for pair in allowed - shown:
        yield "left out", f"{pair}"


def _awaiting(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    del chance
    waits = world.meshes[reader.namespace].review.waiting(limit=1_000, scope=reader.scope)
    found = [thing for thing in waits if not isinstance(thing, Proposal)]
    waiting = {Status.QUARANTINED, Status.DISPUTED}
    yield from _shown(
        world, reader, found,
        lambda thing: _audience(reader)(thing) and thing.status in waiting,
    )  # fmt: skip


def _errors(world: World, reader: Reader, chance: random.Random) -> Iterable[tuple[str, str]]:
    """Verbs on what is not the reader's fail, and the words of the failure tell nothing."""
    mesh, scope = world.meshes[reader.namespace], reader.scope
    hidden = [thing for thing in _memories(world) if not _audience(reader)(thing)]
    thing = chance.choice(hidden)
    attempts: dict[str, Callable[[], object]] = {
        "update": lambda: mesh.update(thing.id, "taken over", reader=scope),
        "delete": lambda: mesh.delete(thing.id, scope=scope),
        "restore": lambda: mesh.restore(thing.id, scope=scope),
        "pin": lambda: mesh.pin(thing.id, scope=scope),
        "rate": lambda: mesh.rate(thing.id, helpful=True, scope=scope),
        "trust": lambda: mesh.review.trust(thing.id, scope=scope),
        "reinforce": lambda: mesh.review.reinforce(thing.id, scope=scope),
        "dispute": lambda: mesh.review.dispute(thing.id, scope=scope),
        "review": lambda: mesh.review(thing.id, approve=True, scope=scope),
        "undo": lambda: mesh.review.undo(thing.id, scope=scope),
        "chain": lambda: mesh.review.chain(thing.id, scope=scope),
        "filter": lambda: mesh.search(_COMMON, filter=f"nonsense.id = '{thing.id}'", scope=scope),
    }
    for name, attempt in attempts.items():
        try:
            done = attempt()
        except MeshError as error:
            yield from _shown(world, reader, str(error), lambda _: False)
        else:
            yield "leaks", f"{name} worked on {thing}: {done}"
    with suppress(MeshError):  # nor does resolving somebody else's conflict
        pairs = mesh.review.conflicts(limit=1_000, scope=thing.scope)
        foreign = [each for each in pairs if thing.id in (each.new, each.existing)]
        for each in foreign:
            mesh.review.resolve(each.id, "keep_both", scope=scope)
            yield "leaks", f"resolved {each.id} of {thing}"


def _memories(world: World) -> list[Planted]:
    return [thing for thing in world.planted if thing.kind != "skill"]


def _audience(reader: Reader) -> Callable[[Planted], bool]:
    return lambda thing: thing.namespace == reader.namespace and _sees(reader.scope, thing.scope)


def _moment(reader: Reader) -> dict[str, datetime | None]:
    return {"valid_at": reader.at}


def _reader(chance: random.Random) -> Reader:
    include = frozenset(chance.sample(_SHOWABLE, chance.choice((0, 0, 1, 2))))
    at = chance.choice((None, None, _NOW - timedelta(days=15), _NOW + timedelta(days=7)))
    return Reader(chance.choice(NAMESPACES), _scope(chance), include, at)


def _scope(chance: random.Random) -> Scope:
    return Scope(*(chance.choice(_NAMES) for _ in range(3)))


def _word(chance: random.Random) -> str:
    return "zq" + "".join(chance.choices("abcdefghijklmnoprstuvw", k=6))


_VERBS: dict[str, Verb] = {
    "search": _search,
    "cache": _cache,
    "get": _get,
    "get_many": _get_many,
    "get_all": _get_all,
    "history": _history,
    "stats": _stats,
    "skills": _skills,
    "lessons": _lessons,
    "conflicts": _conflicts,
    "awaiting_review": _awaiting,
    "errors": _errors,
}
