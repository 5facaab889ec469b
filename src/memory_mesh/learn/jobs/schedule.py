"""One small runner for maintenance: which jobs are due, and running them slice by slice.

::

    due? ──▶ slice ──▶ slice ──▶ … ──▶ report
               │
    read, compare and embed without a lock, then one short transaction of at most 100 records

A job keeps how far it has come in the ledger, in the transaction of the work itself. So it can be
killed at any point and run again, by any process, and running it twice is running it once.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.learn import system_memory
from memory_mesh.learn.jobs import lifecycle, long_term, worksite, write_slice
from memory_mesh.learn.jobs.worksite import AWAY, NEW, TRACE, Site, Slice, Slices, sliced, under
from memory_mesh.learn.rules import trace_learnings
from memory_mesh.learn.rules.retention import Action, consolidation_due
from memory_mesh.model import Draft, InvalidInput, Kind, Scope, Source, Status, Tier, times
from memory_mesh.model.job import Due, JobReport, JobStep
from memory_mesh.model.trace import LEARNING_LABEL, is_trace
from memory_mesh.platform import telemetry
from memory_mesh.rules.trust import lowest
from memory_mesh.write.prepare import clean, embed

# Consolidation of traces: what executions of one project have in common becomes a learning.
#
# ::
#
#     new traces ── a slice ──▶ goals, vectors          slow work, before any lock
#                                 │
#              the learnings of their audience, traces left alone   (write_slice.py)
#                                 ▼
#              groups ──▶ texts ──▶ wordings
#                                 │
#       ledger.commit: is it still as it was planned on? ──▶ learnings, links, marks of the traces
#
# A slice is one transaction: the learnings and the marks of its traces are written together. Killed
# anywhere, the next run goes on with the traces that have no mark. Nothing crosses an audience.


CONSOLIDATION = "consolidate-traces"
RAN = f"job/{CONSOLIDATION}/ran"


def traces_due(site: Site) -> Due:
    """Says whether traces should be consolidated now."""
    counts, oldest = worksite.waiting(site, site.rules.traces)
    ran = site.states(RAN).get(RAN)
    last = oldest if ran is None else datetime.fromisoformat(ran)
    return consolidation_due(counts, last, site.now, site.rules)


def consolidate(site: Site) -> Slices:
    """Consolidates every trace that nobody looked at, oldest first."""
    yield from worksite.discover(site)
    yield from worksite.returned(site)
    states = under(TRACE, site.states(TRACE))
    new = site.wanted([id_ for id_, value in states.items() if value == NEW])
    book = write_slice.Book(site)
    for ids in sliced(new):
        part, done = ids, _slice(site, book, ids)
        while done is None:  # another process was faster: read anew what there is
            states, book = under(TRACE, site.states(TRACE)), write_slice.Book(site)
            part = [id_ for id_ in part if states.get(id_) == NEW]
            done = _slice(site, book, part) if part else []
        yield done
    yield from write_slice.stage(site)


def _slice(site: Site, book: write_slice.Book, part: Sequence[str]) -> Slice | None:
    """Consolidates some traces; None if another process changed what they were compared with."""
    found = {memory.id: memory for memory in site.memories(part)}
    traces = [
        found[id_]
        for id_ in part
        if id_ in found and found[id_].status is Status.ACTIVE and is_trace(found[id_])
    ]
    goals = write_slice.goals_of(site, traces)
    book.open({memory.scope for memory in traces})
    touched: dict[int, tuple[Scope, write_slice.LearningGroup]] = {}
    for memory in traces:
        entry = book.add(memory, goals[memory.id])
        touched[id(entry)] = (memory.scope, entry)
    entries = list(touched.values())
    plans = [_plan(site, *pair) for pair in entries if pair[1].known or len(pair[1].members) > 1]
    alone = {
        entry.members[0]: scope
        for scope, entry in entries
        if entry.known is None and len(entry.members) == 1
    }
    away = {id_: AWAY if id_ in found else None for id_ in part if id_ not in goals}
    ran = {RAN: times.iso(site.now)} if site.only is None else {}  # others wait on
    return write_slice.written(
        site, write_slice.SlicePlan(tuple(plans), tuple(part), alone, away, ran)
    )


def _plan(site: Site, scope: Scope, entry: write_slice.LearningGroup) -> write_slice.GroupPlan:
    """Writes the learning of one group, from the newest of its traces."""
    known, members = entry.known, tuple(entry.members)
    if known is not None and not known.open:
        return write_slice.GroupPlan(entry, scope, known.record, None, members)
    held = None if known is None else known.record
    ids = (*(() if held is None else held.traces), *members)[-trace_learnings.MATERIAL :]
    loaded = {memory.id: memory for memory in site.memories(list(dict.fromkeys((*ids, *members))))}
    material = [
        trace_learnings.execution_of(loaded[id_])
        for id_ in ids
        if id_ in loaded and loaded[id_].status is not Status.DELETED
    ]
    new = [trace_learnings.execution_of(loaded[id_]) for id_ in members]
    record = trace_learnings.grown(held, new, material)
    draft = Draft(
        text=trace_learnings.text_of(record),
        scope=scope,
        source=Source(lowest(loaded[id_].source.kind for id_ in members), agent=site.access.agent),
        kind=Kind.LEARNING,
        label=LEARNING_LABEL,
        tier=Tier.LONG_TERM,
        confidence=round(record.count / (record.count + 1), 3),
        extra={trace_learnings.KEY: trace_learnings.plain(record)},
        derived_from=members,
        allow_duplicate=True,
    )
    access = replace(site.access, read_claims=False)
    (worded,) = embed(access, [clean(access, draft)], news=[not site.dry_run])
    return write_slice.GroupPlan(entry, scope, record, worded, members)


# Rolls the log of experiences: the newest 1,000 stay open, older ones go to a compressed archive.
#
# Recording an experience rolls by itself when a hundred are over; the job does it where recording
# was
# interrupted, and says in a dry run what would go. Archived entries are listed and searched as
# before.


LOG_NAME = "roll-system-memory"


def log_is_due(site: Site) -> Due:
    """Says whether entries are beyond the newest 1,000."""
    if site.system is None:
        return Due(now=False, why="the system memory is off")
    count = system_memory.to_roll(site.system[0])
    kept = f"the newest {system_memory.KEEP:,} stay"
    return Due(now=count > 0, why=f"entries to archive: {count}; {kept}" if count else kept)


def roll_log(site: Site) -> Slices:
    """Moves entries to archives, a hundred in a transaction."""
    count = 0 if site.system is None else system_memory.to_roll(site.system[0])
    if site.system is None or not count:
        return
    if not site.dry_run:
        count = system_memory.roll(*site.system)
    yield [(Scope(), JobStep("roll", f"entries of the system memory to the archive: {count}"))]


# Retention by policy: short-term memory to the archive, long-term memory in fewer words.
#
# What is pinned, a lesson, system memory or not consolidated is never touched
# (learn/rules/retention.py).


NAME = "retention"


def due(site: Site) -> Due:
    """Says whether the policy has anything to do now."""
    counts = {
        "expired memories to erase": len(long_term.ended(site)),
        "traces to archive": len(long_term.idle(site)),
        "learnings to consolidate again": len(long_term.due(site, Action.CONSOLIDATE)),
        "learnings whose traces are to be packed": len(long_term.due(site, Action.COMPRESS)),
    }
    said = ", ".join(f"{name}: {count}" for name, count in counts.items() if count)
    return Due(now=bool(said), why=said or "nothing is old enough")


def work(site: Site) -> Slices:
    """Erases, archives, consolidates again and compresses what is old enough."""
    yield from long_term.erase_ended(site)
    yield from long_term.archive_idle(site)
    yield from long_term.consolidate_again(site)
    yield from write_slice.stage(site)
    yield from long_term.compress(site)


Shows = Callable[[Scope], bool]  # whether the caller sees what is for an audience
Progress = Callable[[str, int], None]  # the job, and how many records it has worked on
HIDDEN = "of another audience"


@dataclass(frozen=True, slots=True)
class Job:
    """Maintenance under a name: when it is due, and its work, slice by slice."""

    name: str
    about: str
    due: Callable[[Site], Due]
    work: Callable[[Site], Slices]


JOBS = (
    Job(
        CONSOLIDATION,
        "make learnings from traces of the same kind",
        traces_due,
        consolidate,
    ),
    Job(
        NAME,
        "delete what has expired, archive and compress what is no longer used",
        due,
        work,
    ),
    Job(
        LOG_NAME,
        "archive the oldest entries of the system memory",
        log_is_due,
        roll_log,
    ),
    Job(
        lifecycle.NAME,
        "merge duplicates, decide contradictions, make digests, archive what has faded",
        lifecycle.due,
        lifecycle.work,
    ),
)


def chosen(names: Sequence[str] | None) -> list[Job]:
    """Returns the jobs with these names, or all, in the order in which they run."""
    known = [job.name for job in JOBS]
    for name in names or ():
        if name not in known:
            raise InvalidInput(f"there is no job {name!r}; the jobs are: {', '.join(known)}")
    return [job for job in JOBS if names is None or job.name in names]


def listed(site: Site) -> list[JobReport]:
    """Says of every job whether it is due, and why."""
    return [JobReport(job=job.name, due=job.due(site)) for job in JOBS]


def run(
    site: Site,
    names: Sequence[str] | None,
    *,
    max_slices: int | None = None,
    shows: Shows,
    progress: Progress | None = None,
    only_due: bool = False,
) -> list[JobReport]:
    """Runs the jobs that are due, or the named ones whether they are due or not.

    With `only_due` the named ones run only if they are due.
    """
    reports: list[JobReport] = []
    left = max_slices
    for job in chosen(names):
        asked = names is not None and not only_due
        due = Due(now=True, why="asked for") if asked else job.due(site)
        if not due.now:
            reports.append(JobReport(job=job.name, due=due, dry_run=site.dry_run))
            continue
        report = _run(site, job, due, left, shows=shows, progress=progress)
        left = None if left is None else left - report.slices
        reports.append(report)
    return reports


def _run(
    site: Site,
    job: Job,
    due: Due,
    max_slices: int | None,
    *,
    shows: Shows,
    progress: Progress | None,
) -> JobReport:
    start, steps, slices, complete = telemetry.started(), list[JobStep](), 0, True
    work = job.work(site)
    while True:
        if max_slices is not None and slices >= max_slices:
            complete = False
            work.close()
            break
        done = next(work, None)
        if done is None:
            break
        slices += 1
        steps += [step if shows(scope) else JobStep(step.action, HIDDEN) for scope, step in done]
        if progress is not None:
            progress(job.name, len(steps))
    telemetry.info(
        "job", job=job.name, slices=slices, steps=len(steps), ms=telemetry.milliseconds(start)
    )
    return JobReport(
        job=job.name,
        due=due,
        ran=True,
        dry_run=site.dry_run,
        steps=tuple(steps),
        slices=slices,
        complete=complete,
    )
