"""Reflections (summaries of memories) and skills made from them.

::

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
from collections.abc import Sequence
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.context import fence
from memory_mesh.formats import yamo_learning
from memory_mesh.learn import skills
from memory_mesh.learn.rules import procedures, reflected_beliefs as learning_beliefs
from memory_mesh.learn.rules.repeated_procedures import TELLINGS
from memory_mesh.model import (
    Channel,
    Draft,
    InvalidInput,
    Kind,
    Lens,
    LLMError,
    Memory,
    Query,
    Scope,
    Source,
    SourceKind,
    Status,
    skill,
)
from memory_mesh.model.learning import Reflection, Synthesis
from memory_mesh.model.ports import LLM
from memory_mesh.model.query import Among, And, Not
from memory_mesh.rules.trust import lowest
from memory_mesh.search.recall import recall
from memory_mesh.write.access import Access
from memory_mesh.write.add import remember
from memory_mesh.write.prepare import redact

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
            lowest((access.kind, *kinds)), agent=access.agent
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
    kind = lowest(memory.source.kind for memory in sources)
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
