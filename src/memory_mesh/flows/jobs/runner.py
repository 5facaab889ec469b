"""One small runner for maintenance: which jobs are due, and running them slice by slice.

::

    due? ──▶ slice ──▶ slice ──▶ … ──▶ report
               │
    read, compare and embed without a lock, then one short transaction of at most 100 records

A job keeps how far it has come in the ledger, in the transaction of the work itself. So it can be
killed at any point and run again, by any process, and running it twice is running it once.
"""

from collections.abc import Callable, Sequence

from memory_mesh import log
from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import dataclass
from memory_mesh.flows.jobs import consolidation, retention, system_log
from memory_mesh.flows.jobs.site import Site, Slices
from memory_mesh.model import Scope
from memory_mesh.model.job import Due, JobReport, JobStep

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
        consolidation.NAME,
        "make learnings from traces of the same kind",
        consolidation.due,
        consolidation.work,
    ),
    Job(
        retention.NAME,
        "archive and compress what is no longer used",
        retention.due,
        retention.work,
    ),
    Job(
        system_log.NAME,
        "archive the oldest entries of the system memory",
        system_log.due,
        system_log.work,
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
    start, steps, slices, complete = log.started(), list[JobStep](), 0, True
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
        steps += [step if shows(scope) else _hidden(step) for scope, step in done]
        if progress is not None:
            progress(job.name, len(steps))
    log.info("job", job=job.name, slices=slices, steps=len(steps), ms=log.milliseconds(start))
    return JobReport(
        job=job.name,
        due=due,
        ran=True,
        dry_run=site.dry_run,
        steps=tuple(steps),
        slices=slices,
        complete=complete,
    )


def _hidden(step: JobStep) -> JobStep:
    """What a caller hears of work on records that are not for them."""
    return JobStep(step.action, HIDDEN)
