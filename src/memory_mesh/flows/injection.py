"""Memories for an agent that is about to work: which ones, and as a block of its prompt.

::

    MatchContext(task, agent, plan) ── redact
      ▼
    ledger.read(namespace)                     one read transaction
      │  triggered(lens)                       all triggers, no text; the newest 10,000
      ▼
    match each ──▶ good enough for its importance?
      │  described(those)                      title, tags, importance, time, agent
      ▼
    points ──▶ the best `max_memories`
      │  load(those)                           the texts, for a prompt only
      ▼
    background knowledge, cut to the budget ── record the use
"""

from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.errors import StoreIsFull
from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.flows.access import Access
from memory_mesh.flows.blocks import use_entry
from memory_mesh.flows.prepare import redact
from memory_mesh.formats.background import HEADING, Background, background
from memory_mesh.model import Fused, Lens, Memory, Query, SourceKind
from memory_mesh.model.trigger import (
    InjectionRules,
    MatchContext,
    MemoryMetadata,
    RelevantMemory,
    Triggered,
    TriggerMatch,
)
from memory_mesh.policy.scrub import tokens
from memory_mesh.policy.triggers import selecting
from memory_mesh.policy.triggers.matching import situation
from memory_mesh.ports import Snapshot

MOST_SCANNED = 10_000  # memories with triggers that one selection looks at, the newest
MOST_CALLED = 1_000  # called memories whose points are counted: the best matches, then the newest
QUESTION_CHARS = 200  # of a task in the record
BACKGROUND, CALLED = "background", "called"  # the format and the section in the record
UNKNOWN = "unknown"
_OF_THE_USER = frozenset((SourceKind.USER_EXPLICIT, SourceKind.USER_IMPLICIT))
NOTHING: Mapping[int, TriggerMatch] = {}


@dataclass(frozen=True, slots=True)
class Asked:
    """What an agent is about to do, what it may see, and how to select."""

    context: MatchContext
    lens: Lens
    rules: InjectionRules


def relevant(access: Access, asked: Asked) -> list[RelevantMemory]:
    """Returns the relevant memories, best first, without their texts; records nothing."""
    asked = _redacted(access, asked)
    meant = _meant(access, asked)
    with access.ledger.read(access.namespace) as snapshot:
        return _selected(snapshot, asked, meant)


def prompt(access: Access, asked: Asked, max_tokens: int) -> str:
    """Returns the block of background knowledge, and records the use of what it shows."""
    asked = _redacted(access, asked)
    meant = _meant(access, asked)
    with access.ledger.read(access.namespace) as snapshot:
        found = _selected(snapshot, asked, meant)
        memories = snapshot.load([each.memory.version for each in found], asked.lens)
    shown = [(each, memories[each.memory.version]) for each in found]
    text, count = _within(shown, max_tokens)
    if count and asked.lens.as_of is None:
        _record(access, asked, shown[:count], (text, max_tokens))
    return text


def called_among(scanned: Iterable[Triggered], query: Query) -> dict[int, TriggerMatch]:
    """Returns the versions that a trigger calls up for a query, each with its match."""
    return _called(scanned, MatchContext(query.text))


def by_points(snapshot: Snapshot, query: Query) -> list[Fused]:
    """Returns the answer of the profile `points`: a hundredth of the points is the score."""
    rules = query.rules or InjectionRules(max_memories=query.limit)
    context = MatchContext(query.text, query.lens.scope.agent or "")
    found = _selected(snapshot, Asked(context, query.lens, rules))
    return [
        Fused(
            each.memory.version,
            each.points / 100,
            {**each.parts, "points": each.points, "trigger": float(each.match.strength)},
        )
        for each in found
    ]


def called_by(snapshot: Snapshot, query: Query) -> dict[int, TriggerMatch]:
    """Returns the versions that a trigger calls up for the profile `points`."""
    context = MatchContext(query.text, query.lens.scope.agent or "")
    return _called(snapshot.triggered(query.lens, MOST_SCANNED), context)


def triggers(access: Access, lens: Lens, limit: int) -> list[MemoryMetadata]:
    """Returns the newest memories that have triggers, without their texts."""
    with access.ledger.read(access.namespace) as snapshot:
        versions = [each.version for each in snapshot.triggered(lens, limit)]
        return sorted(_described(snapshot, versions), key=lambda each: -each.version)


def _meant(access: Access, asked: Asked) -> Mapping[int, TriggerMatch]:
    """What the task calls up by meaning; a second look at the triggers, if that is switched on."""
    least = asked.rules.min_similarity
    if not least or access.embedder is None:
        return {}
    from memory_mesh.flows.trigger_meaning import by_meaning

    with access.ledger.read(access.namespace) as snapshot:
        scanned = snapshot.triggered(asked.lens, MOST_SCANNED)
    return by_meaning(access, asked.context.task, scanned, least)


def _selected(
    snapshot: Snapshot, asked: Asked, meant: Mapping[int, TriggerMatch] = NOTHING
) -> list[RelevantMemory]:
    scanned = snapshot.triggered(asked.lens, MOST_SCANNED)
    visible = {memory.version for memory in scanned} if meant else set()
    found = {version: met for version, met in meant.items() if version in visible}
    found |= _called(scanned, asked.context)
    kept = sorted(found, key=lambda version: (-found[version].strength, -version))[:MOST_CALLED]
    pairs = ((memory, found[memory.version]) for memory in _described(snapshot, kept))
    return selecting.best(pairs, asked.context, asked.lens.now, asked.rules)


def _called(scanned: Iterable[Triggered], context: MatchContext) -> dict[int, TriggerMatch]:
    there = situation(context)
    matches = ((memory.version, selecting.called(memory, there)) for memory in scanned)
    return {version: met for version, met in matches if met is not None}


def _described(snapshot: Snapshot, versions: Sequence[int]) -> list[MemoryMetadata]:
    return [
        replace(memory, title=selecting.title_of(memory.title))
        for memory in snapshot.described(versions)
    ]


def _redacted(access: Access, asked: Asked) -> Asked:
    """The question in the words of the store: names and secrets are placeholders there."""
    context = asked.context
    plan = context.current_plan
    return replace(
        asked,
        context=MatchContext(
            redact(access, context.task),
            redact(access, context.agent_name),
            None if plan is None else redact(access, plan),
        ),
    )


def _within(shown: Sequence[tuple[RelevantMemory, Memory]], max_tokens: int) -> tuple[str, int]:
    """The longest block that keeps to the budget, and how many memories it shows."""
    entries = [_background(found, memory) for found, memory in shown]
    for count in range(len(entries), 0, -1):
        text = background(entries[:count])
        if tokens.count(text) <= max_tokens:
            return text, count
    return "", 0


def _background(found: RelevantMemory, memory: Memory) -> Background:
    about = found.memory
    kind = memory.source.kind
    return Background(
        about.title,
        about.level,
        about.discovered_by or UNKNOWN,
        memory.text,
        memory.tags,
        None if kind in _OF_THE_USER else kind.value,
    )


def _record(
    access: Access,
    asked: Asked,
    shown: Sequence[tuple[RelevantMemory, Memory]],
    given: tuple[str, int],
) -> None:
    """Counts the use, and records what entered the prompt, soon: nothing waits for a lock."""
    from memory_mesh.model.pack import Injected, Injection

    text, max_tokens = given
    now, task = asked.lens.now, asked.context.task
    ids = [each.id for each, _ in shown]
    if not access.yamo:
        try:
            access.ledger.use(access.namespace, ids, None)
        except StoreIsFull:  # a full disk must not hide what it holds; other faults are told
            return
        return
    injection = Injection(
        id=access.ids.draw("inj"),
        at=now,
        reader=asked.lens.scope,
        question=task[:QUESTION_CHARS],
        format=BACKGROUND,
        fence="",
        tokens=tokens.count(text),
        max_tokens=max_tokens,
        memories=tuple(
            Injected(memory.id, memory.recorded_from, CALLED, _tokens(each, memory), each.points)
            for each, memory in shown
        ),
        agent=access.agent,
    )
    entry = use_entry(access, ids, asked.lens, asked=task, use="inject")
    access.ledger.note(access.namespace, entry, injection)


def _tokens(found: RelevantMemory, memory: Memory) -> int:
    """Of one entry, without the heading of all, and rounded down: the parts fit into the whole."""
    return tokens.count(background([_background(found, memory)])) - tokens.count(HEADING) - 1
