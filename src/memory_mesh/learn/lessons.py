"""Lessons (RFC-0011 sections 3.5 and 8): store lessons, find them, derive them from failures.

::

    SCAN          blocks of the last day (of the last week for what failed twice)
      ▼           ──▶ the memories that are marked as failures, or whose text tells of one
    DEDUPLICATE   by pattern id; one that is known as certainly is left
      ▼
    DISTILL       through the one write path: the verdict is taken in the transaction
      ▼
    INJECT        the worst lessons, as constraints for the next session

The cycle holds no state but how far it came: stopped anywhere and run again, it ends the same.

Reflections (summaries of memories) and skills are made here too::

    topic ── recall ──▶ memories on it      no topic ──▶ the newest
                            │  reflections are left out: no echo counts as support
            ┌───────────────┴───────────────┐
         reflect                        synthesize
      beliefs, or a model's answer     steps that recur, as a skill's text
            ▼                               ▼
      remember (topic, derived_from)    skills.ingest (staged for review)

Where nothing is found nothing is stored. What is derived is for no wider audience, holds no longer
and is trusted no more than the memories it comes from.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.context import fence
from memory_mesh.context.pack import lens_on_lessons
from memory_mesh.formats import yamo, yamo_learning
from memory_mesh.learn import skills
from memory_mesh.learn.rules import failures, procedures, reflected_beliefs as learning_beliefs
from memory_mesh.learn.rules.note import MAX_NOTE_CHARS
from memory_mesh.learn.rules.repeated_procedures import TELLINGS
from memory_mesh.model import (
    Block,
    BlockError,
    BlockOperation,
    Channel,
    Cursor,
    Draft,
    InvalidInput,
    Kind,
    Lens,
    LLMError,
    Memory,
    Query,
    Receipt,
    Scope,
    Source,
    SourceKind,
    Status,
    severity_rank,
    skill,
)
from memory_mesh.model.learning import (
    Distillation,
    Failure,
    LessonBlock,
    LessonContext,
    Reflection,
    Synthesis,
)
from memory_mesh.model.ports import LLM
from memory_mesh.model.query import Among, And, Not
from memory_mesh.rules import trust
from memory_mesh.search.recall import recall
from memory_mesh.search.warnings import ENFORCE
from memory_mesh.write.access import Access
from memory_mesh.write.add import remember
from memory_mesh.write.prepare import redact
from memory_mesh.write.rules.failure_pattern import is_failed, pattern_id
from memory_mesh.write.rules.judge import same_pattern

TAG = "#lesson_learned"
CANDIDATE_TAG = "#lesson_learned_candidate"
CURSOR = "distillation"  # where the cycle's progress is kept, beside the sinks'
PERIOD = timedelta(hours=6)  # four times a day
DAY = timedelta(days=1)
_PAGE = 500  # commits read at a time
_MAX_COMPARED_LESSONS = 100  # lessons of one pattern that are looked at


def distill_lesson(
    access: Access,
    context: LessonContext,
    scope: Scope,
    source: Source,
    sources: Sequence[str] = (),
    *,
    enforce: bool = False,
) -> LessonBlock:
    """Teach one lesson; one that is known no less certainly is returned as it is."""
    draft = _draft(access, context, scope, source, sources)
    return _taught(access, [replace(draft, extra={ENFORCE: True}) if enforce else draft])[0]


def read_wire(text: str) -> LessonContext:
    """What a LessonLearned block teaches; InvalidInput says what is wrong with it."""
    try:
        told = yamo_learning.read_lesson(yamo.parse(text))
    except BlockError as error:
        raise InvalidInput(str(error)) from None
    return LessonContext(
        situation=told.situation,
        error_pattern=told.error_pattern,
        oversight=told.oversight,
        fix=told.fix,
        preventative_rule=told.rule,
        severity=told.severity,
        applicable_scope=told.applies_to,
        inverse_lesson=told.inverse,
        confidence=told.confidence,
    )


def query_lessons(
    access: Access, query: str, lens: Lens, *, limit: int, worst_first: bool
) -> list[LessonBlock]:
    """Active lessons that answer a question, or all of them, worst first where asked."""
    if query.strip():
        memories = [hit.memory for hit in recall(access, Query(query, lens, limit))]
        return [lesson_block(one) for one in (_worst(memories) if worst_first else memories)]
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.page(lens, limit, None, worst_first=worst_first)
    return [lesson_block(memory) for memory in found]


def cycle(access: Access, now: datetime, reader: Scope, channel: Channel) -> Distillation:
    """SCAN, DEDUPLICATE and DISTILL; failures that state no rule are returned as unclear.

    It serves the whole namespace, each failure for its own audience, and tells the reader of those
    that the reader may see.
    """
    cursor = access.ledger.sink_cursors(access.namespace).get(CURSOR, Cursor())
    everybody = Lens(
        now, reader, across=trust.AUDIENCE
    )  # a lesson is for those who see its failure
    recent = min(now - DAY, cursor.at or now)
    last, memories = _scan(access, min(now - failures.WEEK, cursor.at or now), recent, everybody)
    found, unclear = failures.candidates(memories, recent)
    learned, known = list[LessonBlock](), list[LessonBlock]()
    for told in found:
        failure, block = _known(access, told, now)
        if block is None:
            source = Source(failure.trust, channel, agent=access.agent)
            block = distill_lesson(access, failure.context, failure.scope, source, failure.sources)
        if trust.sees(reader, failure.scope):
            (learned if block.is_new else known).append(block)
    if last > cursor.seq:
        access.ledger.sink_moved(access.namespace, CURSOR, last, None)
    seen = {memory.id for memory in memories if trust.sees(reader, memory.scope)}
    shown = tuple(id_ for id_ in unclear if id_ in seen)
    return Distillation(len(seen), tuple(learned), tuple(known), shown)


def due(access: Access, now: datetime) -> bool:
    """True when the cycle last ended a quarter of a day ago or more and something was kept since.

    Whether it is a failure is for the cycle to see: a heartbeat asks too often to read it all.
    """
    cursor = access.ledger.sink_cursors(access.namespace).get(CURSOR, Cursor())
    if cursor.at is not None and timedelta(0) <= now - cursor.at < PERIOD:
        return False
    since = None if cursor.seq else now - failures.WEEK
    return any(_keeps(block) for block in _blocks(access, since, cursor.seq))


def lesson_block(memory: Memory, *, is_new: bool = False) -> LessonBlock:
    """RFC-0011's LessonBlock of a stored lesson, with its wire text."""
    lesson = memory.lesson
    if lesson is None:
        raise InvalidInput(f"{memory.id} is not a lesson")
    return LessonBlock(
        lesson_id=lesson.id,
        pattern_id=lesson.pattern_id,
        severity=lesson.severity,
        preventative_rule=lesson.rule,
        rule_confidence=lesson.confidence,
        applicable_scope=lesson.applies_to,
        wire_format=yamo.render(yamo_learning.lesson(lesson, at=memory.created)),
        memory_id=memory.id,
        status=memory.status,
        is_new=is_new,
    )


def _draft(
    access: Access, context: LessonContext, scope: Scope, source: Source, sources: Sequence[str]
) -> Draft:
    lesson = failures.lesson(context, access.ids.draw("lesson"), access.agent)
    # The pattern id is made of the redacted texts, so that it tells nothing about the others.
    error = redact(access, lesson.error_pattern)
    area = redact(access, lesson.applies_to)
    lesson = replace(
        lesson, error_pattern=error, applies_to=area, pattern_id=pattern_id(error, area)
    )
    return Draft(
        text=failures.wording(lesson),
        scope=scope,
        source=source,
        kind=Kind.LESSON,
        label=Kind.LESSON.value,
        tags=(TAG,),
        confidence=lesson.confidence,
        lesson=lesson,
        derived_from=tuple(sources),
    )


def _taught(access: Access, drafts: Sequence[Draft]) -> list[LessonBlock]:
    ids = [_stored(receipt) for receipt in remember(access, drafts)]
    with access.ledger.read(access.namespace) as snapshot:
        memories = {id_: snapshot.history(id_)[-1] for id_ in ids}
    drawn = {draft.lesson.id for draft in drafts if draft.lesson is not None}
    blocks = [lesson_block(memories[id_]) for id_ in ids]
    return [replace(block, is_new=block.lesson_id in drawn) for block in blocks]


def _stored(receipt: Receipt) -> str:
    if receipt.id is None:
        raise InvalidInput(f"the lesson was refused: {', '.join(receipt.reasons)}")
    return receipt.id


def _known(access: Access, failure: Failure, now: datetime) -> tuple[Failure, LessonBlock | None]:
    """The lesson that already teaches this no less certainly; the transaction will ask again.

    If the lesson of a pattern that was read from texts teaches something else, the failure is
    returned narrowed to its own rule.
    """
    block = _lesson_of(access, failure, now)
    if block is None or failure.stated:
        return failure, block
    if failures.teach_the_same(block.preventative_rule, failure.context.preventative_rule):
        return failure, block
    failure = failures.narrowed(failure)
    return failure, _lesson_of(access, failure, now)


def _lesson_of(access: Access, failure: Failure, now: datetime) -> LessonBlock | None:
    """The lesson of a pattern that is no less certain.

    One that a person deleted or rejected counts too: the cycle does not bring it back.
    """
    lesson = _draft(access, failure.context, failure.scope, Source(failure.trust), ()).lesson
    if lesson is None:
        return None
    everywhere = Lens(now, failure.scope, statuses=frozenset(Status), any_validity=True)
    lens = lens_on_lessons(everywhere, lesson.confidence, None, lesson.pattern_id)
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.page(lens, _MAX_COMPARED_LESSONS, None)
    statuses = {Status.ACTIVE, Status.ARCHIVED, Status.DELETED}
    if not trust.is_authoritative(failure.trust):
        statuses.add(Status.QUARANTINED)
    for memory in found:
        same = memory.lesson is not None and same_pattern(memory.lesson, lesson)
        if same and memory.scope == failure.scope and memory.status in statuses:
            return lesson_block(memory)
    return None


def _worst(memories: Sequence[Memory]) -> list[Memory]:
    """Worst first, then the most certain; of equals, what answers better stays before."""

    def rank(memory: Memory) -> tuple[int, float]:
        lesson = memory.lesson
        return (0, 0.0) if lesson is None else (severity_rank(lesson.severity), lesson.confidence)

    return sorted(memories, key=rank, reverse=True)


def _scan(
    access: Access, since: datetime, recent: datetime, lens: Lens
) -> tuple[int, list[Memory]]:
    """The last block since then that keeps something, and the memories that failed.

    Of the recent blocks without a mark, those count whose text tells of a failure and its rule.
    Blocks of the cycle's own lessons do not count: interrupted or not, it ends in the same place.
    """
    last, told, plain = 0, list[str](), list[str]()
    for block in filter(_keeps, _blocks(access, since)):
        last = block.seq or last
        if _tells_of_failure(block):
            told += block.entry.memories
        elif block.entry.at >= recent:
            plain += block.entry.memories
    found = list(_read(access, told, lens))
    found += [memory for memory in _read(access, plain, lens) if _tells_of_lesson(memory)]
    return last, list({memory.id: memory for memory in found}.values())


def _read(access: Access, ids: Sequence[str], lens: Lens) -> Iterator[Memory]:
    """The memories of these ids that the lens shows, a page at a time."""
    distinct = list(dict.fromkeys(ids))
    for start in range(0, len(distinct), _PAGE):
        with access.ledger.read(access.namespace) as snapshot:
            yield from snapshot.get(distinct[start : start + _PAGE], lens)


def _tells_of_lesson(memory: Memory) -> bool:
    """True for a short text in the user's words that tells of a failure and its rule."""
    if len(memory.text) > MAX_NOTE_CHARS or not trust.is_authoritative(
        trust.authority(memory.source)
    ):
        return False
    return memory.source.kind in trust.OF_THE_USER and failures.reads_as_lesson(memory)


def _blocks(access: Access, since: datetime | None, after: int = 0) -> Iterator[Block]:
    while found := access.ledger.blocks(access.namespace, after, _PAGE, since):
        yield from found
        after = found[-1].seq or after


def _keeps(block: Block) -> bool:
    return block.entry.operation is BlockOperation.RETAIN


def _tells_of_failure(block: Block) -> bool:
    said = block.entry.metadata
    tags = said.get("tags")
    marked = isinstance(tags, Sequence) and CANDIDATE_TAG in tags
    return marked or is_failed(said.get("status")) or bool(said.get("failure"))


LOOKBACK, LOOKBACK_OF_MODEL = 50, 10  # memories that reflect looks at, without and with a model
WIDER = 20  # memories that synthesize looks at
FARTHEST = 200  # memories that are compared with each other at most
NEAR_ENOUGH = 0.3  # cosine below which a memory that shares no word is not on the topic
RECENT = "recent memories"  # the topic of a reflection without one
_ID = re.compile(r"\[([^\[\]]*)\]")


def reflect(
    access: Access,
    lens: Lens,
    *,
    topic: str | None = None,
    lookback: int | None = None,
    store: bool = True,
    llm: LLM | None = None,
    max_tokens: int | None = None,
) -> Reflection:
    """Summarizes the memories on a topic, in their words or a model's, and stores it."""
    topic = _cleaned(access, topic)
    if lookback is None:
        lookback = LOOKBACK if llm is None else LOOKBACK_OF_MODEL
    memories = _gathered(access, lens, topic, lookback)
    asked = prompt_for(topic, memories)
    found = Reflection(topic=topic, count=len(memories), prompt=asked, context=tuple(memories))
    beliefs = learning_beliefs.beliefs(memories, topic or "")
    if beliefs:
        named = [id_ for one in beliefs for id_ in one.memories]
        found = replace(
            found,
            text=learning_beliefs.wording(beliefs, len(memories)),
            sources=tuple(dict.fromkeys(named)),
            confidence=learning_beliefs.confidence(beliefs),
        )
    if llm is not None and memories:
        found = by_model(found, llm, max_tokens)
    return _kept(access, found) if store and found.text else found


def synthesize(
    access: Access, lens: Lens, *, topic: str | None = None, lookback: int = WIDER
) -> Synthesis:
    """Makes a skill from a procedure that recurs in memories; it waits for review."""
    topic = _cleaned(access, topic)
    memories = _gathered(access, lens, topic, lookback)
    found = procedures.recurring(memories)
    if found is None:
        analysis = (
            f"No procedure was found in {_counted(len(memories), 'memory', 'memories')}: two must "
            f"share {procedures.SHARED} steps in the same order, {TELLINGS} must tell the same in "
            f"different words, or one must list {procedures.ALONE} steps."
        )
        return Synthesis(status="nothing", analysis=analysis, count=len(memories))
    sources = [memory for memory in memories if memory.id in set(found.sources)]
    title = found.title or topic or found.steps[0]
    text = yamo_learning.skill_text(
        title,
        found.steps,
        topic=topic or RECENT,
        sources=found.sources,
        confidence=len(sources) / (len(sources) + 1),
    )
    receipt = skills.ingest(access, _skill(access, title, text, found, sources))
    made = Synthesis(
        status="staged",
        analysis=f"{_analysis(found)} {_sentence(receipt.reasons[0])}",
        count=len(memories),
        skill_id=receipt.id,
        skill_name=receipt.skill.name,
        yamo_text=receipt.skill.text,
        sources=found.sources,
    )
    if receipt.skill.status is Status.QUARANTINED:
        return made
    return replace(made, status="nothing", skill_id=None, skill_name=None, yamo_text="")


def _cleaned(access: Access, topic: str | None) -> str | None:
    """Returns the redacted topic, or None if it is blank."""
    return None if topic is None or not topic.strip() else redact(access, topic)


def _gathered(access: Access, lens: Lens, topic: str | None, lookback: int) -> list[Memory]:
    """Returns the memories on a topic, best first, or the newest.

    Leaves out reflections and lessons, which were made from other memories.
    """
    if type(lookback) is not int or not 1 <= lookback <= FARTHEST:
        raise InvalidInput(f"lookback must be a whole number from 1 to {FARTHEST}")
    own = Not(Among("memory_type", ("reflection", "lesson")))
    lens = replace(lens, where=own if lens.where is None else And((own, lens.where)))
    if topic is None:
        with access.ledger.read(access.namespace) as snapshot:
            return list(snapshot.page(lens, lookback, None))
    return [
        hit.memory
        for hit in recall(access, Query(topic, lens, lookback))
        if hit.parts.get("covered", 0.0) > 0 or hit.parts.get("cosine", 0.0) >= NEAR_ENOUGH
    ]


def prompt_for(topic: str | None, memories: Sequence[Memory]) -> str:
    """Returns what a model is asked: the memories, fenced, and what to make of them."""
    if not memories:
        return ""
    template = (Path(__file__).parents[1] / "prompts" / "reflect.md").read_text(encoding="utf-8")
    about = fence.harmless(" ".join((topic or RECENT).split()))
    values = {"topic": about, "count": str(len(memories)), "memories": fence.fenced(memories)}
    return fence.filled(template, values)


def by_model(found: Reflection, llm: LLM, max_tokens: int | None) -> Reflection:
    """Returns the model's answer, unless it names a memory that it was not shown."""
    given = {memory.id for memory in found.context}
    try:
        answer = llm.complete(found.prompt, max_tokens=max_tokens).strip()
    except LLMError as error:
        return replace(found, failure=str(error))
    if not answer:
        return replace(found, failure="the language model wrote nothing")
    named = {id_.strip() for group in _ID.findall(answer) for id_ in group.split(",")}
    strange = sorted(id_ for id_ in named - given if id_.startswith(("mem_", "reflect_")))
    if strange:
        return replace(
            found, failure=f"the language model named {strange[0]}, which it was not given"
        )
    sources = tuple(memory.id for memory in found.context)
    return replace(found, text=answer, sources=sources, by_llm=True)


def _kept(access: Access, found: Reflection) -> Reflection:
    """The reflection as a memory of its own; one that is known already is that one."""
    used = [memory for memory in found.context if memory.id in set(found.sources)]
    ends = [memory.valid_until for memory in used if memory.valid_until is not None]
    if found.by_llm:
        source = Source(SourceKind.INFERENCE, Channel.ASSISTANT, agent=access.agent)
    else:
        kinds = (memory.source.kind for memory in used)
        source = Source(
            trust.lowest((access.kind, *kinds)), agent=access.agent
        )  # the topic is the caller's
    draft = Draft(
        text=found.text,
        scope=_audience(used),
        source=source,
        kind=Kind.REFLECTION,
        label=Kind.REFLECTION.value,
        confidence=found.confidence,
        valid_until=min(ends, default=None),
        extra={"topic": found.topic or RECENT},
        derived_from=found.sources,
        topic=found.topic or RECENT,
    )
    receipt = remember(access, [draft])[0]
    return replace(found, id=receipt.id, text=receipt.content)


def _skill(
    access: Access, title: str, text: str, found: procedures.Procedure, sources: Sequence[Memory]
) -> skill.SkillDraft:
    kind = trust.lowest(memory.source.kind for memory in sources)
    return skill.SkillDraft(
        text=text,
        metadata={
            "name": title,
            "intent": title,
            "description": "; ".join(found.steps),
            "tags": ["synthesized"],
        },
        scope=_audience(sources),
        source=Source(kind, agent=access.agent),
        sources=found.sources,
        staged=True,
    )


def _audience(memories: Sequence[Memory]) -> Scope:
    """Those who may see every one of the memories."""
    parts = [
        [getattr(memory.scope, part) for memory in memories]
        for part in ("project", "agent", "session")
    ]
    return Scope(*(next((name for name in names if name is not None), None) for names in parts))


def _analysis(found: procedures.Procedure) -> str:
    count = _counted(len(found.steps), "step", "steps")
    if len(found.sources) == 1:
        return f"{found.sources[0]} lists {count}; no other memory confirms them."
    return f"{count} recur in {len(found.sources)} memories, in the same order."


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
