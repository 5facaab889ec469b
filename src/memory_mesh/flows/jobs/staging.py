"""Stages skills from learnings whose successes agree on steps; a person approves them.

A learning says in its own transaction that a skill is to be staged; the skill follows in another
one. Killed in between, the next run stages it, and a skill with the same text is staged once.
"""

from memory_mesh.flows import skills
from memory_mesh.flows.jobs.site import Site, Slice, Slices, sliced, under
from memory_mesh.formats import yamo_skill
from memory_mesh.model import Commit, Memory, SkillDraft, Source, Status, Wanted
from memory_mesh.model.job import JobStep
from memory_mesh.policy.learning import learning_record
from memory_mesh.policy.learning.learning_record import LearningRecord

STAGE, STAGED = "stage/", "staged/"


def stage(site: Site) -> Slices:
    """Stages the skills that are to be staged."""
    wanted = under(STAGE, site.states(STAGE))
    for part in sliced(site.wanted(list(wanted))):
        done: Slice = []
        memories = {memory.id: memory for memory in site.memories(part)}
        for id_ in part:
            memory = memories.get(id_)
            record = None if memory is None else learning_record.read(memory)
            if memory is not None and record is not None and memory.status is Status.ACTIVE:
                done.append((memory.scope, _staged(site, memory, record)))
        marks: dict[str, str | None] = {f"{STAGED}{id_}": wanted[id_] for id_ in part}
        marks |= {f"{STAGE}{id_}": None for id_ in part}
        site.commit(Wanted(), lambda _, marks=marks: Commit(states=marks), marks)  # type: ignore[misc]
        yield done


def _staged(site: Site, memory: Memory, record: LearningRecord) -> JobStep:
    """Hands the steps of a learning in as a skill that waits for review."""
    steps = [finding.text for finding in record.findings.approach]
    named = [id_ for finding in record.findings.approach for id_ in finding.traces]
    traces = tuple(dict.fromkeys(named))
    sources = (memory.id, *traces)
    if site.dry_run:
        return JobStep("stage", record.pattern, (), traces)
    draft = SkillDraft(
        text=yamo_skill.skill_text(
            record.pattern,
            steps,
            topic=record.pattern,
            sources=traces,
            confidence=record.successes / (record.count + 1),
        ),
        metadata={
            "name": record.pattern,
            "intent": record.pattern,
            "description": "; ".join(steps),
            "tags": ["consolidated"],
        },
        scope=memory.scope,
        source=Source(memory.source.kind, agent=site.access.agent),
        sources=sources,
        staged=True,
    )
    receipt = skills.ingest(site.access, draft)
    return JobStep("stage", f"{receipt.skill.name}: {receipt.reasons[0]}", (receipt.id,), sources)
