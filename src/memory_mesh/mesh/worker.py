"""Jobs of a store in PostgreSQL: put them into its queue, look at them, do them.

::

    with MemoryMesh("postgresql://app@db/memories", sinks=[...]) as mesh:
        worker.run(mesh, concurrency=2)   # until Ctrl-C

A store in a folder has no queue: `upkeep` and the daemon run the same jobs.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial

from memory_mesh.base.typed import TYPE_CHECKING, Any, dataclass, replace
from memory_mesh.care.server import queue_of, tidy
from memory_mesh.config import NO_AGENT
from memory_mesh.mesh.operations.upkeep import MAINTENANCE, Manner
from memory_mesh.mesh.view import View
from memory_mesh.model import Channel, InvalidInput, NetworkError, NotFound, UpkeepReport
from memory_mesh.model.job import ATTEMPTS, WEBHOOKS, QueuedJob, wait_after
from memory_mesh.platform import telemetry
from memory_mesh.rules.arguments import check_limit

if TYPE_CHECKING:
    from memory_mesh.ledgers.queue.queue import JobQueue
    from memory_mesh.ledgers.queue.worker import Tell
    from memory_mesh.mesh.mesh import MemoryMesh
    from memory_mesh.model.ports import Ledger

JOBS = tuple(MAINTENANCE)
MOST_AT_ONCE = 8  # jobs of one process, which has so many connections


@dataclass(frozen=True, slots=True)
class Worked:
    """How the jobs of a worker ended."""

    done: int
    retried: int  # failed, and will be tried again
    failed: int  # failed too often; `memory-mesh jobs retry` puts them back


def defer(mesh: "MemoryMesh", names: Sequence[str] | None = None) -> list[str]:
    """Puts jobs of the mesh's namespace into the queue; returns those that did not wait yet.

    Without names it is every job that the settings give a meaning.
    """
    known = mesh.care._maintenance_wanted()  # noqa: SLF001
    for name in names or ():
        if name not in JOBS:
            raise InvalidInput(f"there is no job {name!r}; the jobs are: {', '.join(JOBS)}")
    with closing(_queue(mesh)) as queue:
        return queue.defer(list(names or known), mesh.config.namespace)


def queued(
    mesh: "MemoryMesh", *, every_namespace: bool = False, limit: int = 1_000
) -> list[QueuedJob]:
    """What runs, waits or failed in the mesh's namespace, or in every one, in this order.

    After them come the commits of the mesh's namespace that a sink never took. A store in a folder
    has no queue, and has only those, after the commit that each failing sink is told next.
    """
    own, ledger = mesh.config.namespace, _ledger(mesh)
    namespace = None if every_namespace else own
    dead = [
        QueuedJob(
            number=seq,
            job=WEBHOOKS,
            namespace=own,
            state="dead" if failure else "waits",
            attempts=ATTEMPTS if failure else 0,
            failure=f"{sink}: {failure}" if failure else None,
        )
        for sink, seq, failure in ledger.dead_letters(own)
    ]
    if mesh.config.store is None:
        waiting = [
            QueuedJob(
                number=ledger.blocks(own, stood.seq, 1)[0].seq or 0,
                job=WEBHOOKS,
                namespace=own,
                state="waits",
                attempts=stood.attempts,
                not_before=stood.at and stood.at + wait_after(stood.attempts),
                failure=f"{sink}: the last attempt failed",
            )
            for sink, stood in ledger.sink_cursors(own).items()
            if stood.attempts
        ]
        return [*waiting, *dead][: check_limit(limit)]
    with closing(_queue(mesh)) as queue:
        return [*queue.listed(namespace, check_limit(limit)), *dead][:limit]


def retry(mesh: "MemoryMesh", commits: Sequence[int] | None = None) -> int:
    """Puts back the namespace's failed jobs, and what sinks never took; returns how many.

    Options:
        commits: only these commits, by their numbers, and no job.
    """
    namespace, ledger = mesh.config.namespace, _ledger(mesh)
    known = {seq for _, seq, _ in ledger.dead_letters(namespace)}
    if unknown := sorted({*(commits or ())} - known):
        raise NotFound(f"nothing dead has number {unknown[0]}; what has: memory-mesh jobs queue")
    back = ledger.revive(namespace, commits)
    if mesh.config.store is None:
        return back
    with closing(_queue(mesh)) as queue:
        if back:
            queue.defer([WEBHOOKS], namespace)
        return back + (queue.retry(namespace) if commits is None else 0)


def _ledger(mesh: "MemoryMesh") -> "Ledger":
    return mesh._store.opened().ledger  # noqa: SLF001


def run(
    mesh: "MemoryMesh",
    *,
    once: bool = False,
    concurrency: int = 1,
    every: int = 60,
    dead_after: float = 30.0,
    ready: Callable[[], None] = lambda: None,
    away: Callable[[], None] = lambda: None,
) -> Worked:
    """Does the jobs of every namespace until Ctrl-C or SIGTERM, and then ends the current slices.

    While the database is away it waits, and looks again after 1, 2, 4 … seconds, at most 30. What
    it was doing is done again, as if it had been killed.

    Options:
        once: do what is ready to be done, and end.
        concurrency: how many jobs run at once, 1 to 8; never two of one namespace.
        every: seconds between two looks at which namespaces changed, 1 to 60.
        dead_after: seconds without a sign of life after which another worker's jobs are put back.
        ready: called once the database has answered, at first and whenever it was away.
        away: called when the database cannot be reached and is waited for; not with `once`.
    """
    _check(concurrency, every, dead_after)
    ended: Counter[str] = Counter()
    with closing(_queue(mesh)) as queue:
        from memory_mesh.ledgers.postgres.pool import DatabaseRoute
        from memory_mesh.ledgers.queue import worker

        if DatabaseRoute.of(mesh.config.store or "").pooled:
            raise InvalidInput(
                "a worker needs connections that keep their session: let it connect without the "
                "pooler, or through one that pools sessions"
            )
        pace = worker.Pace(concurrency, every, dead_after)

        def begun() -> worker.JobWorker:
            mesh.care.namespaces(
                limit=1
            )  # a wrong key or role ends it here, not each job of others
            wanted = mesh.care._maintenance_wanted()  # noqa: SLF001
            jobs = {name: partial(_do, mesh, name) for name in wanted}
            tidied = partial(_tidy, mesh)
            made = worker.JobWorker(mesh.config.store or "", queue, jobs, pace, ended, tidy=tidied)
            ready()
            return made

        if once:
            begun().run(once=True)
        else:
            worker.work(begun, away=away)
    return Worked(ended["done"], ended["retried"], ended["failed"])


def _queue(mesh: "MemoryMesh") -> "JobQueue":
    if mesh.config.store is None:
        raise InvalidInput(
            "a store in a folder has no queue; its jobs are run by: memory-mesh upkeep"
        )
    return queue_of(mesh.config)


def _check(concurrency: int, every: int, dead_after: float) -> None:
    if not 1 <= concurrency <= MOST_AT_ONCE:
        raise InvalidInput(f"concurrency must be 1 to {MOST_AT_ONCE}")
    if not 1 <= every <= 60:  # noqa: PLR2004  # seconds of a minute
        raise InvalidInput("every must be 1 to 60 seconds")
    if dead_after < 1:
        raise InvalidInput("dead_after must be 1 second or more")


def _do(mesh: "MemoryMesh", name: str, namespace: str, tell: "Tell") -> None:
    """Does one job; a namespace that was deleted meanwhile stays deleted."""
    ledger = _ledger(mesh)
    with ledger.read(namespace) as snapshot:
        if not snapshot.head().seq:
            return
    told = _Told(tell)
    manner = Manner(
        pause=told.again, steps=told.steps, texts=told.steps, waiting=told.waiting, small=False
    )
    report = UpkeepReport(0, (), sinks_told=True)
    report = of_jobs(mesh, namespace).care._maintained(name, report, manner)  # noqa: SLF001
    if not report.sinks_told:
        raise NetworkError("a sink did not take everything; it is told again")


def of_jobs(mesh: "MemoryMesh", namespace: str) -> "MemoryMesh":
    """A view for jobs: nobody's word, so what is learned counts as read out of texts."""
    plain: dict[str, Any] = {"agent_id": NO_AGENT, "project": None, "session": None}
    view: MemoryMesh = object.__new__(type(mesh))  # its constructor would open a store of its own
    config = replace(mesh.config, namespace=namespace, **plain)
    View.__init__(view, mesh._store, config, Channel.EXTRACTION, owner=False)  # noqa: SLF001
    return view


def _tidy(mesh: "MemoryMesh") -> None:
    """Sends idle namespaces to object storage; what fails is said once, and tried again."""
    for failure in tidy(mesh.config).failures:
        telemetry.warn_once(f"cold {failure}", failure)


class _Told:
    """How far one job is."""

    def __init__(self, tell: "Tell") -> None:
        self._tell, self._done = tell, 0
        self._total: int | None = None

    def waiting(self, count: int) -> None:
        self._total = count
        self.again()

    def steps(self, done: int) -> None:
        self._done = done
        self.again()

    def again(self) -> None:
        self._tell(self._done, self._total)
