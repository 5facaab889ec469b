"""Long-term memory by policy: learnings are consolidated again, and the traces behind them packed.

After six months without a change, learnings that are alike become one: the older takes the other in
and supersedes it. After a year the archived traces of a learning are packed: goal, tools and
outcome stay readable and searchable, the rest is compressed and unpacked when a trace is read.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from statistics import fmean

from memory_mesh.base.typed import replace
from memory_mesh.learn.jobs.archive import ARCHIVED
from memory_mesh.learn.jobs.worksite import SLICE, PlanIsStale, Site, Slice, Slices, under
from memory_mesh.learn.jobs.write_slice import (
    DERIVED,
    LEARNING,
    STAGE,
    STAGED,
    KnownLearning,
    goals_of,
    known_learnings,
    next_version,
    text_mark,
)
from memory_mesh.learn.rules import retention, trace_learnings
from memory_mesh.learn.rules.retention import Action, RetentionRecord
from memory_mesh.learn.rules.trace_groups import Goal, likeness
from memory_mesh.learn.rules.trace_learnings import LearningRecord, execution_of
from memory_mesh.model import (
    Commit,
    Draft,
    Json,
    Kind,
    Link,
    Memory,
    Put,
    Standing,
    Status,
    Wanted,
    times,
)
from memory_mesh.model.job import JobStep
from memory_mesh.model.trace import KEY, packed
from memory_mesh.rules.trust import standing_of
from memory_mesh.write.audit_entries import Change, change_entry, reasons_of
from memory_mesh.write.prepare import Worded, clean, embed
from memory_mesh.write.transaction import superseded


def due(site: Site, action: Action) -> list[tuple[KnownLearning, str]]:
    """Returns the learnings with which something is to be done now, oldest first, and why."""
    states = under(LEARNING, site.states(LEARNING))
    found = []
    for one in known_learnings(site):
        held = _record(site, one, states[one.memory.id])
        chosen, why = retention.decide(held, site.rules.retention, site.now)
        if chosen is action:
            found.append((one, why))
    return found


def consolidate_again(site: Site) -> Slices:
    """Makes one learning of those that are alike, and marks all that were looked at."""
    left = [one for one, _ in due(site, Action.CONSOLIDATE)]
    exemplars = site.memories([id_ for one in left for id_ in one.record.exemplars])
    goals = goals_of(site, exemplars)
    seen: list[KnownLearning] = []
    while left:
        one = left.pop(0)
        like = [
            other
            for other in left
            if _of_one_writer(one.memory, other.memory) and _alike(one, other, goals)
        ]
        if like:
            left = [other for other in left if other not in like]
            done = _merged(site, one, like)
            if done is not None:
                yield done
        else:
            seen.append(one)
    for start in range(0, len(seen), SLICE):
        marks: dict[str, str | None] = {
            f"{LEARNING}{one.memory.id}": _mark(one.memory.text, one.memory.recorded_from)
            for one in seen[start : start + SLICE]
        }
        site.commit(Wanted(states=tuple(marks)), partial(_marked, marks), marks)
        yield []


def _of_one_writer(one: Memory, other: Memory) -> bool:
    """True if both are for one audience, and equally the user's word or that of a lower channel."""
    return (standing_of(one.source) is standing_of(other.source)) and one.scope == other.scope


def compress(site: Site) -> Slices:
    """Packs the archived traces of learnings that nobody changed for a year."""
    for one, why in due(site, Action.COMPRESS):
        rows = _archived(site, one)
        names = list(rows)
        for start in range(0, len(names), SLICE):
            part = {name: rows[name] for name in names[start : start + SLICE]}
            planned: dict[str, str | None] = dict.fromkeys(part)
            wanted = Wanted(ids=tuple(part.values()), states=tuple(part))
            done = site.commit(wanted, partial(_packed, site, part, why), planned)
            if done is None:
                small = (each for each in site.memories(wanted.ids) if _smaller(each) is not None)
                ids = tuple(each.id for each in small)
            else:
                ids = tuple(put.memory.id for put in done.puts)
            about = f"{one.record.pattern}: {len(ids)} traces, {why}"
            step = JobStep("compress", about, (one.memory.id,), ids)
            yield [(one.memory.scope, step)] if ids else []


def _record(site: Site, one: KnownLearning, state: str) -> RetentionRecord:
    memory = one.memory
    looked_at = state == _mark(memory.text, memory.recorded_from)
    return RetentionRecord(
        tier=memory.tier,
        last_active=memory.last_used or memory.recorded_from,
        changed=memory.recorded_from,
        active=memory.status is Status.ACTIVE,
        pinned=memory.pinned,
        lesson=memory.kind is Kind.LESSON or memory.lesson is not None,
        learning=one.open,
        again=looked_at,
        compressed=not _archived(site, one),
    )


def _archived(site: Site, one: KnownLearning) -> dict[str, str]:
    """The archived traces of a learning that are not packed, by the names of their marks."""
    prefixes = [f"{ARCHIVED}{id_}/" for id_ in (one.memory.id, *one.record.merged)]
    return {name: name.removeprefix(prefix) for prefix in prefixes for name in site.states(prefix)}


def _mark(text: str, changed: datetime) -> str:
    """Says that a learning was looked at since it last changed."""
    return f"{text_mark(text)} {times.iso(changed)}"


def _marked(marks: Mapping[str, str | None], standing: Standing) -> Commit:
    """Marks the learnings that consolidation did not write anew meanwhile."""
    return Commit(
        states={
            name: mark
            for name, mark in marks.items()
            if mark is not None and standing.states.get(name, "").partition(" ")[0]
            == mark.partition(" ")[0]
        }
    )  # fmt: skip


def _alike(one: KnownLearning, other: KnownLearning, goals: Mapping[str, Goal]) -> bool:
    """Returns whether the goals of two learnings are one group."""
    mine = [goals[id_] for id_ in one.record.exemplars if id_ in goals]
    theirs = [goals[id_] for id_ in other.record.exemplars if id_ in goals]
    pairs = [likeness(goal, each) for goal in mine for each in theirs]
    return bool(pairs) and fmean(pairs) >= 1


def _merged(site: Site, one: KnownLearning, like: Sequence[KnownLearning]) -> Slice | None:
    """Makes one learning of several; None if somebody changed one of them meanwhile."""
    record = one.record
    for other in like:
        ids = sorted({*record.traces, *other.record.traces})[-trace_learnings.MATERIAL :]
        shown = [each for each in site.memories(ids) if each.status is not Status.DELETED]
        material = list(map(execution_of, shown))
        record = trace_learnings.joined(record, other.record, other.memory.id, material)
    worded = _worded(site, record)
    every = (one, *like)
    wanted = Wanted(
        ids=tuple(each.memory.id for each in every),
        states=(
            *(f"{LEARNING}{each.memory.id}" for each in every), f"{STAGED}{one.memory.id}",
        ),
    )  # fmt: skip
    links = _links(site, one, like)
    planned: dict[str, str | None] = {f"{LEARNING}{each.memory.id}": None for each in like}
    planned[f"{LEARNING}{one.memory.id}"] = text_mark(worded[1].text)
    if site.dry_run:
        planned |= _to_stage(record, one.memory.id, site.states(STAGED))
        draft, wording = worded
        extra = {**one.memory.extra, **draft.extra}
        site.drafted[one.memory.id] = replace(one.memory, text=wording.text, extra=extra)
    decide = partial(_decide, site, every, (record, worded), links)
    if site.commit(wanted, decide, planned) is None and not site.dry_run:
        return None
    about = f"{record.pattern}: takes in {', '.join(each.record.pattern for each in like)}"
    ids_ = tuple(each.memory.id for each in every)
    return [(one.memory.scope, JobStep("merge", about, ids_, record.traces))]


def _worded(site: Site, record: LearningRecord) -> Worded:
    draft = Draft(
        text=trace_learnings.text_of(record),
        label=trace_learnings.KEY,
        confidence=round(record.count / (record.count + 1), 3),
        extra={trace_learnings.KEY: trace_learnings.plain(record)},
    )
    access = replace(site.access, read_claims=False)
    return embed(access, [clean(access, draft)], news=[not site.dry_run])[0]


def _links(site: Site, one: KnownLearning, like: Sequence[KnownLearning]) -> tuple[Link, ...]:
    """Links from the learning that stays to the others and to their traces."""
    with site.access.ledger.read(site.access.namespace) as snapshot:
        held = [
            link.target
            for other in like
            for link in snapshot.links([other.memory.id], None, [DERIVED])
            if link.source == other.memory.id
        ]
    targets = (*(other.memory.id for other in like), *held)
    return tuple(Link(one.memory.id, target, DERIVED) for target in dict.fromkeys(targets))


def _decide(
    site: Site,
    every: Sequence[KnownLearning],
    made: tuple[LearningRecord, Worded],
    links: tuple[Link, ...],
    standing: Standing,
) -> Commit:
    """The first learning with the words of all, the others superseded by it."""
    for each in every:
        now = standing.memories.get(each.memory.id)
        if now is None or now.recorded_from != each.memory.recorded_from:
            raise PlanIsStale
    record, worded = made
    first, *others = [standing.memories[each.memory.id] for each in every]
    reason = f"took in what is alike: {', '.join(other.id for other in others)}"
    put, entry = next_version(site, (first, others), worded, standing, reason)
    gone = [superseded(site.access, other, put.memory, standing) for other in others]
    states: dict[str, str | None] = {f"{LEARNING}{other.id}": None for other in others}
    states[f"{LEARNING}{first.id}"] = text_mark(worded[1].text)
    states |= _to_stage(record, first.id, standing.states)
    return Commit(
        puts=(put, *(closed for closed, _ in gone)),
        entries=(entry, *(said for _, said in gone)),
        links=links,
        states=states,
    )


def _to_stage(record: LearningRecord, id_: str, states: Mapping[str, str]) -> dict[str, str]:
    """The mark of a learning whose steps are new: a skill is to be staged from it."""
    digest = trace_learnings.steps_digest(record)
    new = record.findings.agreed and states.get(f"{STAGED}{id_}") != digest
    return {f"{STAGE}{id_}": digest} if new else {}


def _packed(site: Site, part: Mapping[str, str], why: str, standing: Standing) -> Commit:
    """Packs traces that are still archived and that nobody pinned."""
    puts, entries = list[Put](), []
    states: dict[str, str | None] = {}
    for name, id_ in part.items():
        states[name] = None
        memory = standing.memories.get(id_)
        small = None if memory is None else _smaller(memory)
        if memory is None or small is None or name not in standing.states:
            continue
        new = replace(memory, extra=small, recorded_from=standing.at)
        said: dict[str, Json] = {"changed": ["extra"], "status": memory.status.value}
        change = Change("archive", f"packed: its learning is {why}")
        entry = change_entry(site.access, standing, id_, change, said)
        puts.append(Put(new, None, reasons_of(entry)))
        entries.append(entry)
    return Commit(puts=tuple(puts), entries=tuple(entries), states=states)


def _smaller(memory: Memory) -> Mapping[str, Json] | None:
    """The extra of an archived trace with its details packed; None where nothing is gained."""
    if memory.status is not Status.ARCHIVED or memory.pinned:
        return None
    held = memory.extra.get(KEY)
    small = packed(held) if isinstance(held, Mapping) else None
    return None if small is None else {**memory.extra, KEY: small}
