"""Writes one slice of a consolidation: learnings, links to their traces, and the traces' marks.

Everything is checked again inside the transaction: if a trace or a learning is no longer what the
slice was planned on, nothing is written, and the slice is planned anew.

A book holds what new traces are compared with: the learnings of their audience, and traces left
alone.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.formats import yamo_learning
from memory_mesh.learn import skills
from memory_mesh.learn.jobs.worksite import (
    ALONE,
    NEW,
    TRACE,
    PlanIsStale,
    Site,
    Slice,
    Slices,
    sliced,
    under,
)
from memory_mesh.learn.rules import trace_learnings
from memory_mesh.learn.rules.trace_groups import Goal, GoalGroup, goal_of, nearest
from memory_mesh.model import (
    Commit,
    EmbeddingError,
    Entry as BlockEntry,
    Json,
    Link,
    Memory,
    Put,
    Scope,
    SkillDraft,
    Source,
    SourceKind,
    Space,
    Standing,
    Status,
    Wanted,
)
from memory_mesh.model.job import JobStep
from memory_mesh.model.stats import leading
from memory_mesh.model.trace import LEARNING_LABEL, trace_of
from memory_mesh.platform import extras, telemetry
from memory_mesh.rules.trust import derived_source, standing_of
from memory_mesh.write import transaction as flows_decide
from memory_mesh.write.audit_entries import Change, change_entry, reasons_of
from memory_mesh.write.prepare import Worded, embedder_failed, tagged

LEARNING = "learning/"
ALONES = 1_000  # traces left alone, the newest of an audience, that new ones are compared with
STAGE, STAGED = "stage/", "staged/"

DERIVED = "derived_from"


@dataclass(frozen=True, slots=True)
class KnownLearning:
    """A learning that consolidation wrote, what it remembers, and whether it may write it anew."""

    memory: Memory
    record: trace_learnings.LearningRecord
    open: bool  # False: deleted, archived, pinned or rewritten by somebody


class LearningGroup:
    """One group: its learning if there is one, and the traces that no learning holds yet."""

    def __init__(
        self, group: GoalGroup, known: KnownLearning | None, members: list[str], rank: SourceKind
    ) -> None:
        """Keeps a group as it was read; traces of the same rank are added to it."""
        self.group: GoalGroup = group
        self.known: KnownLearning | None = known
        self.members: list[str] = members
        self.rank: SourceKind = rank


class Book:
    """The groups of each audience, to which traces are added one by one."""

    def __init__(self, site: Site) -> None:
        """Starts empty; an audience is read when its first trace comes."""
        self._site = site
        self._entries: dict[Scope, list[LearningGroup]] = {}

    def open(self, scopes: Iterable[Scope]) -> None:
        """Reads the learnings of audiences and the traces of theirs that were left alone."""
        site, new = self._site, {scope for scope in scopes if scope not in self._entries}
        if not new:
            return
        learnings = [each for each in known_learnings(site) if each.memory.scope in new]
        exemplars = site.memories([id_ for one in learnings for id_ in one.record.exemplars])
        shown = [memory for memory in exemplars if memory.status is not Status.DELETED]
        singles = self._singles(new)
        goals = goals_of(site, [*shown, *singles])
        self._entries |= {scope: [] for scope in new}
        for one in learnings:
            own = tuple(goals[id_] for id_ in one.record.exemplars if id_ in goals)
            if own:
                rank = standing_of(one.memory.source)
                entry = LearningGroup(GoalGroup(own, one.record.count), one, [], rank)
                self._entries[one.memory.scope].append(entry)
        for memory in singles:
            rank = standing_of(memory.source)
            entry = LearningGroup(GoalGroup((goals[memory.id],)), None, [memory.id], rank)
            self._entries[memory.scope].append(entry)

    def add(self, trace: Memory, goal: Goal) -> LearningGroup:
        """Returns the group that a trace belongs to, with the trace in it.

        A learning has traces of one rank: none of a lower channel changes what the user's say.
        """
        rank = standing_of(trace.source)
        entries = [entry for entry in self._entries[trace.scope] if entry.rank is rank]
        where = nearest(goal, [entry.group for entry in entries])
        if where is None:
            made = LearningGroup(GoalGroup((goal,)), None, [goal.id], rank)
            self._entries[trace.scope].append(made)
            return made
        entry = entries[where]
        entry.group = entry.group.joined(goal)
        entry.members.append(goal.id)
        return entry

    def _singles(self, scopes: set[Scope]) -> list[Memory]:
        """The newest traces of audiences that were left alone, oldest first."""
        states = under(TRACE, self._site.states(TRACE))
        alone = [id_ for id_, value in states.items() if value == ALONE]
        found: dict[Scope, list[Memory]] = {scope: [] for scope in scopes}
        for memory in reversed(self._site.memories(alone)):
            if memory.status is Status.ACTIVE and memory.scope in found:
                found[memory.scope].append(memory)
        return [memory for held in found.values() for memory in reversed(held[:ALONES])]


def known_learnings(site: Site) -> list[KnownLearning]:
    """The learnings that consolidation wrote, oldest first; superseded ones are part of others."""
    written = under(LEARNING, site.states(LEARNING))
    found: list[KnownLearning] = []
    for page in site.labelled(LEARNING_LABEL) if written else ():
        for memory in page:
            record = trace_learnings.read(memory)
            state = written.get(memory.id)
            if record is None or state is None or memory.status is Status.SUPERSEDED:
                continue
            untouched = text_mark(memory.text) == state.partition(" ")[0] and not memory.pinned
            found.append(
                KnownLearning(memory, record, memory.status is Status.ACTIVE and untouched)
            )
    return sorted(found, key=lambda one: (one.memory.created, one.memory.id))


def text_mark(text: str) -> str:
    """Returns what tells whether a person rewrote a learning."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def goals_of(site: Site, memories: Sequence[Memory]) -> dict[str, Goal]:
    """Returns the goals of traces ready to be compared, with their vectors where they have any."""
    model, vectors = _vectors(site, memories)
    return {
        memory.id: goal_of(
            memory.id,
            memory.text,
            trace_of(memory).tools_used,
            vectors.get(memory.id, b""),
            model,
        )
        for memory in memories
    }


def _vectors(site: Site, memories: Sequence[Memory]) -> tuple[str, Mapping[str, bytes]]:
    """The vectors of the goals in the leading space; missing ones are embedded."""
    access = site.access
    spaces = [each for each in access.ledger.stats(access.namespace).spaces if each.vectors]
    space = leading(spaces).space if spaces else None
    found: dict[str, bytes] = {}
    if space is not None:
        with access.ledger.read(access.namespace) as snapshot:
            parts = snapshot.vectors(space, [memory.id for memory in memories])
        found = {id_: held[0].vector for id_, held in parts.items() if held}
    missing = [memory for memory in memories if memory.id not in found]
    if missing and access.embedder is not None:
        own, more = _embedded(site, missing)
        if own is not None and (space is None or own.name == space.name):
            space, found = own, found | more
    if space is None or not space.normalised or not extras.is_installed("numpy"):
        return "", {}
    return space.model, found


def _embedded(site: Site, memories: Sequence[Memory]) -> tuple[Space | None, dict[str, bytes]]:
    embedder = site.access.embedder
    assert embedder is not None  # noqa: S101  # the caller asked
    try:
        embedding = embedder.embed([memory.text for memory in memories])
    except EmbeddingError as error:  # words decide
        embedder_failed(error)
        return None, {}
    telemetry.debug("embed goals", texts=len(memories))
    vectors = (parts[0] for parts in embedding.vectors)
    return embedding.space, {
        memory.id: vector for memory, vector in zip(memories, vectors, strict=True)
    }


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What becomes of one group: the next text of its learning, and the traces it takes in."""

    entry: LearningGroup
    scope: Scope
    record: trace_learnings.LearningRecord
    worded: Worded | None  # None: the learning stays as it is, and the traces are marked
    members: tuple[str, ...]

    @property
    def learning(self) -> Memory | None:
        """The learning as it is stored now."""
        return None if self.entry.known is None else self.entry.known.memory


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """What becomes of the traces of one slice."""

    plans: tuple[GroupPlan, ...]
    every: tuple[str, ...]  # ids of the traces that nobody looked at before
    alone: Mapping[str, Scope]  # those that fit no other
    away: Mapping[str, str | None]  # those that cannot be read now, with their next mark
    ran: Mapping[str, str]  # when it was


_Ids = Mapping[tuple[str, ...], str]  # of the learning, by its traces


def written(site: Site, plan: SlicePlan) -> Slice | None:
    """Commits a slice and returns what it did; None if the store was no longer as planned."""
    learnings = [each.learning for each in plan.plans if each.learning is not None]
    traces = dict.fromkeys((*plan.every, *(id_ for each in plan.plans for id_ in each.members)))
    asked = flows_decide.wanted([each.worded for each in _created(plan) if each.worded])
    wanted = replace(
        asked,
        ids=tuple(dict.fromkeys((*asked.ids, *traces, *(each.id for each in learnings)))),
        states=(
            *(f"{TRACE}{id_}" for id_ in traces),
            *(f"{STAGED}{each.id}" for each in learnings),
        ),
    )
    ids: dict[tuple[str, ...], str] = {
        each.members: f"planned/{each.members[0]}" if each.learning is None else each.learning.id
        for each in plan.plans
    }
    done = site.commit(
        wanted, partial(_decide, site, plan, ids), _marks(plan, ids) | _texts(plan, ids)
    )
    if done is None and not site.dry_run:
        return None
    steps = [step for each in plan.plans for step in _told(site, each, ids, done)]
    steps += [
        (scope, JobStep("leave", "it fits no other trace", (id_,), (id_,)))
        for id_, scope in plan.alone.items()
    ]
    return steps


def _decide(
    site: Site, plan: SlicePlan, ids: dict[tuple[str, ...], str], standing: Standing
) -> Commit:
    """Checks that everything is as it was planned on, and writes the slice."""
    _check(plan, standing)
    access = replace(site.access, read_claims=False)
    created = _created(plan)
    made = flows_decide.decide(access, [each.worded for each in created if each.worded], standing)
    for each, receipt in zip(created, made.receipts, strict=True):
        ids.pop(each.members)
        if receipt.id is not None:
            ids[each.members] = receipt.id
    extended = [each for each in plan.plans if each.worded and each.learning is not None]
    changed = [_extended(site, each, standing) for each in extended]
    links = [
        Link(each.learning.id, id_, DERIVED)
        for each in plan.plans
        if each.learning is not None
        for id_ in each.members
    ]
    return replace(
        made,
        puts=(*made.puts, *(put for put, _ in changed)),
        entries=(*made.entries, *(entry for _, entry in changed)),
        links=(*made.links, *links),
        states=_marks(plan, ids) | _texts(plan, ids) | _to_stage(plan, ids, standing),
    )


def _created(plan: SlicePlan) -> list[GroupPlan]:
    return [each for each in plan.plans if each.learning is None and each.worded is not None]


def _check(plan: SlicePlan, standing: Standing) -> None:
    """Raises Stale if a learning or a trace is not what it was planned on."""
    fresh = all(standing.states.get(f"{TRACE}{id_}") == NEW for id_ in plan.every)
    for each in plan.plans:
        if each.learning is not None:
            now = standing.memories.get(each.learning.id)
            fresh = fresh and now is not None and now.recorded_from == each.learning.recorded_from
        for id_ in each.members:
            trace, mark = standing.memories.get(id_), standing.states.get(f"{TRACE}{id_}")
            active = trace is not None and trace.status is Status.ACTIVE
            fresh = fresh and active and mark in (NEW, ALONE)
    if not fresh:
        raise PlanIsStale


def _extended(site: Site, plan: GroupPlan, standing: Standing) -> tuple[Put, BlockEntry]:
    """The next version of a learning that takes traces in, and its block."""
    assert plan.worded is not None and plan.learning is not None  # noqa: S101, PT018  # as chosen
    reason = f"{len(plan.members)} more traces were consolidated"
    old = standing.memories[plan.learning.id]
    parents = [standing.memories[id_] for id_ in plan.members]
    return next_version(site, (old, parents), plan.worded, standing, reason)


def next_version(
    site: Site,
    grown: tuple[Memory, list[Memory]],
    worded: Worded,
    standing: Standing,
    reason: str,
) -> tuple[Put, BlockEntry]:
    """A learning with another text; it is trusted no more than those that it now holds, too."""
    (old, parents), (draft, wording) = grown, worded
    sources = [parent.source for parent in parents]
    new = replace(
        old,
        text=wording.text,
        extra={**old.extra, **draft.extra},
        confidence=draft.confidence,
        source=derived_source(old.source, sources),
        recorded_from=standing.at,
    )
    said: dict[str, Json] = {
        "changed": ["text", "extra", "confidence"],
        "content_sha256": wording.hash.hex(),
    }
    entry = change_entry(site.access, standing, old.id, Change("update", reason), said)
    return Put(new, tagged(wording, new.tags), reasons_of(entry)), entry


def _marks(plan: SlicePlan, ids: _Ids) -> dict[str, str | None]:
    """The traces' marks; what no learning was stored for is left alone."""
    marks: dict[str, str | None] = {**plan.ran}
    marks |= {f"{TRACE}{id_}": ALONE for id_ in plan.alone}
    marks |= {f"{TRACE}{id_}": mark for id_, mark in plan.away.items()}
    for each in plan.plans:
        marks |= {f"{TRACE}{id_}": ids.get(each.members, ALONE) for id_ in each.members}
    return marks


def _texts(plan: SlicePlan, ids: _Ids) -> dict[str, str | None]:
    """What tells later that nobody rewrote a learning."""
    return {
        f"{LEARNING}{ids[each.members]}": text_mark(each.worded[1].text)
        for each in plan.plans
        if each.worded is not None and each.members in ids
    }


def _to_stage(plan: SlicePlan, ids: _Ids, standing: Standing) -> dict[str, str | None]:
    """The learnings of which a skill is to be staged: those whose steps are new."""
    return {
        f"{STAGE}{ids[each.members]}": trace_learnings.steps_digest(each.record)
        for each in plan.plans
        if each.members in ids and _stages(each, standing.states)
    }


def _stages(plan: GroupPlan, states: Mapping[str, str]) -> bool:
    if plan.worded is None or not plan.record.findings.agreed:
        return False
    staged = None if plan.learning is None else states.get(f"{STAGED}{plan.learning.id}")
    return staged != trace_learnings.steps_digest(plan.record)


def _told(site: Site, plan: GroupPlan, ids: _Ids, done: Commit | None) -> Slice:
    """What was done to one group; its entry is left as it is now."""
    learning, id_ = plan.learning, ids.get(plan.members)
    said = ids_of(id_)
    if plan.worded is None:
        about = f"{plan.record.pattern}: {len(plan.members)} traces, the learning stays as it is"
        plan.entry.members = []
        return [(plan.scope, JobStep("mark", about, said, plan.members))]
    if id_ is None:
        about = f"{plan.record.pattern}: the learning was refused"
        return [(plan.scope, JobStep("leave", about, (), plan.members))]
    share = trace_learnings.rate(plan.record.successes, plan.record.count)
    about = f"{plan.record.pattern}: {plan.record.count} executions, {share}% succeeded"
    action = "learn" if learning is None else "extend"
    steps = [(plan.scope, JobStep(action, about, said, plan.members))]
    known = KnownLearning(_as_stored(site, plan, id_, done), plan.record, open=True)
    if site.dry_run:
        site.drafted[id_] = known.memory
        if _stages(plan, site.states(STAGED)):
            site.planned[f"{STAGE}{id_}"] = trace_learnings.steps_digest(plan.record)
    plan.entry.known = known
    plan.entry.members = []
    return steps


def ids_of(id_: str | None) -> tuple[str, ...]:
    """The id in a report; what is only planned has none."""
    return () if id_ is None or id_.startswith("planned/") else (id_,)


def _as_stored(site: Site, plan: GroupPlan, id_: str, done: Commit | None) -> Memory:
    """The learning as it was committed, or would be."""
    for put in () if done is None else done.puts:
        if put.memory.id == id_:
            return put.memory
    assert plan.worded is not None  # noqa: S101  # the caller asked
    draft, wording = plan.worded
    if plan.learning is not None:
        extra = {**plan.learning.extra, **draft.extra}
        return replace(plan.learning, text=wording.text, extra=extra, recorded_from=site.now)
    return Memory(
        id=id_,
        created=site.now,
        recorded_from=site.now,
        text=wording.text,
        scope=draft.scope,
        source=draft.source,
        kind=draft.kind,
        label=draft.label,
        extra=draft.extra,
    )


# Stages skills from learnings whose successes agree on steps; a person approves them.
#
# A learning says in its own transaction that a skill is to be staged; the skill follows in another
# one. Killed in between, the next run stages it, and a skill with the same text is staged once.


def stage(site: Site) -> Slices:
    """Stages the skills that are to be staged."""
    wanted = under(STAGE, site.states(STAGE))
    for part in sliced(site.wanted(list(wanted))):
        done: Slice = []
        memories = {memory.id: memory for memory in site.memories(part)}
        for id_ in part:
            memory = memories.get(id_)
            record = None if memory is None else trace_learnings.read(memory)
            if memory is not None and record is not None and memory.status is Status.ACTIVE:
                done.append((memory.scope, _staged(site, memory, record)))
        marks: dict[str, str | None] = {f"{STAGED}{id_}": wanted[id_] for id_ in part}
        marks |= {f"{STAGE}{id_}": None for id_ in part}
        site.commit(Wanted(), lambda _, marks=marks: Commit(states=marks), marks)  # type: ignore[misc]
        yield done


def _staged(site: Site, memory: Memory, record: trace_learnings.LearningRecord) -> JobStep:
    """Hands the steps of a learning in as a skill that waits for review."""
    steps = [finding.text for finding in record.findings.approach]
    named = [id_ for finding in record.findings.approach for id_ in finding.traces]
    traces = tuple(dict.fromkeys(named))
    sources = (memory.id, *traces)
    if site.dry_run:
        return JobStep("stage", record.pattern, (), traces)
    draft = SkillDraft(
        text=yamo_learning.skill_text(
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
