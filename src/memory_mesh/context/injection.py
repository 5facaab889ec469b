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

from collections.abc import Mapping, Sequence

from memory_mesh.base.typed import replace
from memory_mesh.context.fence import HEADING, Background, background
from memory_mesh.model import Lens, Memory
from memory_mesh.model.pack import Injected, Injection
from memory_mesh.model.trigger import (
    MatchContext,
    MemoryMetadata,
    RelevantMemory,
    TriggerMatch,
)
from memory_mesh.rules.trust import OF_THE_USER
from memory_mesh.search.triggered import MOST_SCANNED, TriggerRequest, by_meaning, describe, select
from memory_mesh.text.scrub import tokens
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import use_entry
from memory_mesh.write.prepare import redact

QUESTION_CHARS = 200  # of a task in the record
BACKGROUND, CALLED = "background", "called"  # the format and the section in the record
UNKNOWN = "unknown"


def relevant(access: Access, asked: TriggerRequest) -> list[RelevantMemory]:
    """Returns the relevant memories, best first, without their texts; records nothing."""
    asked = _redacted(access, asked)
    meant = _meant(access, asked)
    with access.ledger.read(access.namespace) as snapshot:
        return select(snapshot, asked, meant)


def prompt(access: Access, asked: TriggerRequest, max_tokens: int) -> str:
    """Returns the block of background knowledge, and records the use of what it shows."""
    asked = _redacted(access, asked)
    meant = _meant(access, asked)
    with access.ledger.read(access.namespace) as snapshot:
        found = select(snapshot, asked, meant)
        memories = snapshot.load([each.memory.version for each in found], asked.lens)
    shown = [(each, memories[each.memory.version]) for each in found]
    text, count = _within(shown, max_tokens)
    if count and asked.lens.as_of is None:
        _record(access, asked, shown[:count], (text, max_tokens))
    return text


def triggers(access: Access, lens: Lens, limit: int) -> list[MemoryMetadata]:
    """Returns the newest memories that have triggers, without their texts."""
    with access.ledger.read(access.namespace) as snapshot:
        versions = [each.version for each in snapshot.triggered(lens, limit)]
        return sorted(describe(snapshot, versions), key=lambda each: -each.version)


def _meant(access: Access, asked: TriggerRequest) -> Mapping[int, TriggerMatch]:
    """What the task calls up by meaning; a second look at the triggers, if that is switched on."""
    least = asked.rules.min_similarity
    if not least or access.embedder is None:
        return {}
    with access.ledger.read(access.namespace) as snapshot:
        scanned = snapshot.triggered(asked.lens, MOST_SCANNED)
    return by_meaning(access, asked.context.task, scanned, least)


def _redacted(access: Access, asked: TriggerRequest) -> TriggerRequest:
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
        None if kind in OF_THE_USER else kind.value,
    )


def _record(
    access: Access,
    asked: TriggerRequest,
    shown: Sequence[tuple[RelevantMemory, Memory]],
    given: tuple[str, int],
) -> None:
    """Counts the use, and records what entered the prompt, soon: nothing waits for a lock."""
    text, max_tokens = given
    now, task = asked.lens.now, asked.context.task
    ids = [each.id for each, _ in shown]
    if not access.yamo:
        access.ledger.use(access.namespace, ids, None)
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
