"""Long-term memory by policy: learnings are consolidated again, and the traces behind them packed.

After six months without a change, learnings that are alike become one: the older takes the other in
and supersedes it. After a year the archived traces of a learning are packed: goal, tools and
outcome stay readable and searchable, the rest is compressed and unpacked when a trace is read.

Consolidated traces go to the archive after a day without use, or when a project is archived. An
archived trace keeps its text, its vectors and its history; a search that includes the archive finds
it. What was decided outside is decided again inside the transaction, on what the trace is there: a
trace that was pinned, used or unmarked meanwhile stays.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from statistics import fmean

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.learn.jobs.worksite import (
    ALONE,
    AWAY,
    NEW,
    SLICE,
    TRACE,
    PlanIsStale,
    Site,
    Slice,
    Slices,
    under,
)
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
from memory_mesh.learn.rules.trace_groups import Goal, likeness
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
from memory_mesh.model.commit import Sought
from memory_mesh.model.job import JobStep
from memory_mesh.model.trace import KEY, packed
from memory_mesh.rules.trust import standing_of
from memory_mesh.write.audit_entries import Change, change_entry, decided, reasons_of, turned
from memory_mesh.write.prepare import Worded, clean, embed
from memory_mesh.write.transaction import superseded

ARCHIVED = "archived/"
_UNCONSOLIDATED = (NEW, ALONE, AWAY)
_ENDED = f"expired {retention.GRACE_DAYS} days ago or earlier"
_MOST_ENDED = 1_000  # that are erased at once: each time the database is written anew
_GONE = (Status.DELETED, Status.SUPERSEDED, Status.ARCHIVED)
Rule = Callable[[retention.RetentionRecord], tuple[retention.Action, str]]


@dataclass(frozen=True, slots=True)
class ArchiveCandidate:
    """A consolidated trace that could be archived, and whether its session is over."""

    memory: Memory
    session_over: bool


def idle(site: Site) -> list[ArchiveCandidate]:
    """Returns the traces that the policy archives now."""
    policy = site.rules.retention
    return [
        one
        for one in consolidated(site)
        if retention.decide(as_record(one, consolidated=True), policy, site.now)[0]
        is retention.Action.ARCHIVE
    ]


def archive_idle(site: Site) -> Slices:
    """Archives the traces that the policy archives now."""
    policy = site.rules.retention
    yield from _archive(site, idle(site), lambda held: retention.decide(held, policy, site.now))
    yield from _forget(site)


def archive_project(site: Site, names: Container[str | None]) -> Slices:
    """Archives every consolidated trace of a project, used today or not, under all its names."""

    def rule(held: retention.RetentionRecord) -> tuple[retention.Action, str]:
        protected = retention.protection(held)
        if protected is not None:
            return retention.Action.KEEP, protected
        return retention.Action.ARCHIVE, "its project was archived"

    found = [one for one in consolidated(site) if one.memory.scope.project in names]
    yield from _archive(site, found, rule)


def consolidated(site: Site) -> list[ArchiveCandidate]:
    """Returns the active traces that a learning holds, oldest first."""
    marks = under(TRACE, site.states(TRACE))
    traces = [memory for memory in site.memories(list(marks)) if memory.status is Status.ACTIVE]
    over = sessions_over(traces, site.rules.retention.hours)
    return [
        ArchiveCandidate(memory, memory.id in over)
        for memory in traces
        if marks[memory.id] not in _UNCONSOLIDATED
    ]


def sessions_over(traces: Sequence[Memory], hours: int) -> set[str]:
    """Returns the traces after which their project was silent for so long and was opened again."""
    projects: dict[tuple[str | None, str | None], list[Memory]] = {}
    for memory in traces:
        projects.setdefault((memory.scope.project, memory.scope.agent), []).append(memory)
    over: set[str] = set()
    for held in projects.values():
        held.sort(key=lambda memory: memory.created)
        opened: datetime | None = None
        for earlier, later in pairwise(held):
            if later.created - earlier.created >= timedelta(hours=hours):
                opened = later.created
        over |= {memory.id for memory in held if opened is not None and memory.created < opened}
    return over


def as_record(one: ArchiveCandidate, *, consolidated: bool) -> retention.RetentionRecord:
    """Returns what the policy looks at in a trace."""
    memory = one.memory
    moments = (memory.created, memory.recorded_from, memory.last_used)
    return retention.RetentionRecord(
        tier=memory.tier,
        last_active=max(time for time in moments if time is not None),
        changed=memory.recorded_from,
        active=memory.status is Status.ACTIVE,
        pinned=memory.pinned,
        lesson=memory.kind is Kind.LESSON or memory.lesson is not None,
        consolidated=consolidated,
        session_over=one.session_over,
    )


def ended(site: Site) -> list[str]:
    """Returns the memories that expired so long ago that they are erased now."""
    before = site.now - timedelta(days=retention.GRACE_DAYS)
    with site.access.ledger.read(site.access.namespace) as snapshot:
        return snapshot.ended(before, _MOST_ENDED)


def erase_ended(site: Site) -> Slices:
    """Erases what expired so long ago; that nobody can read it any more was so from its moment."""
    before = times.iso(site.now - timedelta(days=retention.GRACE_DAYS))
    while found := {memory.id: memory for memory in site.memories(ended(site))}:
        sought = Sought(ids=tuple(found), ended=before)
        done = sought.ids if site.dry_run else site.erase(sought, _ENDED)
        yield [
            (found[id_].scope, JobStep("erase", f"it expired {days} days ago", (id_,), (id_,)))
            for id_ in done
            for end in [datetime.fromisoformat(str(found[id_].extra[times.EXPIRES]))]
            for days in [(site.now - end).days]
        ]
        if site.dry_run or not done:  # a dry run shows the first ones
            return


def _archive(site: Site, found: Sequence[ArchiveCandidate], rule: Rule) -> Slices:
    kept = [
        one
        for one in found
        if rule(as_record(one, consolidated=True))[0] is retention.Action.ARCHIVE
    ]
    for start in range(0, len(kept), SLICE):
        part = kept[start : start + SLICE]
        names = tuple(f"{TRACE}{one.memory.id}" for one in part)
        ids = tuple(one.memory.id for one in part)
        planned = _planned(site, part) if site.dry_run else {}
        commit = site.commit(
            Wanted(ids=ids, states=names), partial(_decide_archiving, site, part, rule), planned
        )
        done = {put.memory.id for put in commit.puts} if commit is not None else set()
        yield [
            (
                one.memory.scope,
                JobStep(
                    "archive",
                    rule(as_record(one, consolidated=True))[1],
                    (one.memory.id,),
                    (one.memory.id,),
                ),
            )
            for one in part
            if site.dry_run or one.memory.id in done
        ]


def _planned(site: Site, part: Sequence[ArchiveCandidate]) -> dict[str, str | None]:
    """What a dry run keeps in place of the commit: the traces are archived and not packed yet."""
    marks, planned = under(TRACE, site.states(TRACE)), dict[str, str | None]()
    for one in part:
        id_ = one.memory.id
        site.drafted[id_] = replace(one.memory, status=Status.ARCHIVED)
        planned |= {
            f"{TRACE}{id_}": None,
            f"{ARCHIVED}{marks[id_]}/{id_}": times.iso(site.now),
        }
    return planned


def _decide_archiving(
    site: Site, part: Sequence[ArchiveCandidate], rule: Rule, standing: Standing
) -> Commit:
    """Archives those that are still to be archived."""
    changed: list[tuple[Memory, Change]] = []
    states: dict[str, str | None] = {}
    for one in part:
        id_ = one.memory.id
        now, mark = standing.memories.get(id_), standing.states.get(f"{TRACE}{id_}")
        if now is None or mark is None:
            continue
        held = as_record(
            ArchiveCandidate(now, one.session_over), consolidated=mark not in _UNCONSOLIDATED
        )
        action, why = rule(held)
        if action is retention.Action.ARCHIVE:
            changed.append((turned(now, Status.ARCHIVED, standing), Change("archive", why)))
            states |= {
                f"{TRACE}{id_}": None,
                f"{ARCHIVED}{mark}/{id_}": times.iso(standing.at),
            }
    done = decided(site.access, standing, changed)
    return Commit(puts=done.puts, entries=done.entries, states=states)


def _forget(site: Site) -> Slices:
    """Takes traces from the list that somebody deleted or archived; retention has no part in it."""
    marks = under(TRACE, site.states(TRACE))
    held = [id_ for id_, mark in marks.items() if mark not in _UNCONSOLIDATED]
    gone = [memory.id for memory in site.memories(held) if memory.status in _GONE]
    for start in range(0, len(gone), SLICE):
        states: dict[str, str | None] = {
            f"{TRACE}{id_}": None for id_ in gone[start : start + SLICE]
        }
        site.commit(Wanted(), partial(_set, states), states)
        yield []


def _set(states: dict[str, str | None], _: Standing) -> Commit:
    return Commit(states=states)


def due(site: Site, action: retention.Action) -> list[tuple[KnownLearning, str]]:
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
    left = [one for one, _ in due(site, retention.Action.CONSOLIDATE)]
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
    for one, why in due(site, retention.Action.COMPRESS):
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


def _record(site: Site, one: KnownLearning, state: str) -> retention.RetentionRecord:
    memory = one.memory
    looked_at = state == _mark(memory.text, memory.recorded_from)
    return retention.RetentionRecord(
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
        material = list(map(trace_learnings.execution_of, shown))
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


def _worded(site: Site, record: trace_learnings.LearningRecord) -> Worded:
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
    made: tuple[trace_learnings.LearningRecord, Worded],
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


def _to_stage(
    record: trace_learnings.LearningRecord, id_: str, states: Mapping[str, str]
) -> dict[str, str]:
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
