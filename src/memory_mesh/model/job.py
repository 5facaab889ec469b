"""Jobs: maintenance that is due, what it did or would do, and how far it came."""

from datetime import datetime, timedelta

from memory_mesh.base.typed import dataclass

WEBHOOKS = "webhooks"  # the job that only a worker with sinks does
DISTILL = "distill"  # the job that only a worker does whose settings allow it
ATTEMPTS = 24  # after which a job counts as failed, and a sink's commit as dead: thirteen hours
LONGEST = timedelta(hours=1)  # between two attempts


def wait_after(failures: int) -> timedelta:
    """How long to wait before the next attempt: 1, 2, 4 … seconds, at most an hour."""
    return min(LONGEST, timedelta(seconds=2 ** (failures - 1)))


@dataclass(frozen=True, slots=True)
class Due:
    """Whether a job should run now, and why or why not."""

    now: bool
    why: str


@dataclass(frozen=True, slots=True)
class JobStep:
    """One thing that a job did, or would do: to which records, in words."""

    action: str  # such as learn, extend, stage, archive
    about: str  # in words
    ids: tuple[str, ...] = ()  # of memories or skills; what does not exist yet has none
    evidence: tuple[str, ...] = ()  # ids of the traces that it goes by


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """What a job did, or in a dry run would do."""

    job: str
    due: Due
    ran: bool = False
    dry_run: bool = False
    steps: tuple[JobStep, ...] = ()
    slices: int = 0  # short transactions, of at most 100 records each
    complete: bool = True  # False: it stopped at the limit, and the next run goes on

    def count(self, action: str) -> int:
        """How many steps with this action there were."""
        return sum(step.action == action for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A job in the queue of a database: whether it waits, runs or failed, and how far it is."""

    number: int
    job: str
    namespace: str
    state: str  # waits, runs or failed; dead: a commit that a sink never took, by its seq
    attempts: int = 0  # that ended without success
    not_before: datetime | None = None  # when a job that failed is tried again
    done: int = 0
    total: int | None = None  # None: not known
    failure: str | None = None  # what kind of failure the last attempt ended with
