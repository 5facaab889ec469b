"""A worker: takes jobs from the queue of a database and does them, one per namespace at a time.

::

    every minute   plan: jobs of the namespaces that changed or are due ──▶ queue
                   sweep: jobs of workers that died ──▶ back into the queue
    queue ──▶ a thread does the job, slice by slice ──▶ gone, or back with a wait, or failed

The process tells the database that it lives three times in the time after which it counts as dead.
"""

import asyncio
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from procrastinate import App, JobContext, PsycopgConnector, RetryDecision, exceptions
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.retry import BaseRetryStrategy
from procrastinate.worker import Worker

from memory_mesh.base.typed import TypeAlias, dataclass
from memory_mesh.ledgers.queue.queue import (
    CONNECT_SECONDS,
    NAMESPACE,
    JobQueue,
    conninfo,
    translated,
)
from memory_mesh.model.errors import MeshError, StoreIsAway
from memory_mesh.model.job import ATTEMPTS, wait_after
from memory_mesh.platform import telemetry

FIRST, LONGEST_PAUSE = 1.0, 30.0  # seconds between two attempts to reach the database

Tell: TypeAlias = Callable[[int, int | None], None]  # how far a job is, and of how many
Work: TypeAlias = Callable[[str, Tell], None]  # does one job in a namespace
_SCHEDULE = "schedule"  # the queue of the worker's own jobs
_OLD_HOURS = 24 * 30  # after which a failed job is deleted
_TOLD_SECONDS = 1.0  # between two notes of how far a job is
_TURN_SECONDS = 60.0  # of one job, before those of other namespaces come first
_BEATS = 3  # in the time after which a worker counts as dead


@dataclass(frozen=True, slots=True)
class Pace:
    """How many jobs run at once, how often namespaces are looked at, when a worker is dead."""

    concurrency: int = 1
    every: int = 60  # seconds, 1 to 60
    dead_after: float = 30.0  # seconds without a sign of life
    turn: float = _TURN_SECONDS


class Stopped(Exception):
    """Raised between two slices of a job when the worker is to end."""


class TurnIsOver(Exception):
    """Raised between two slices of a job that took its share of time: others come first."""


class JobWorker:
    """Does the jobs of one database until it is stopped, or until none is left."""

    def __init__(
        self,
        url: str,
        queue: JobQueue,
        jobs: Mapping[str, Work],
        pace: Pace,
        ended: Counter[str] | None = None,
        *,
        tidy: Callable[[], object] = lambda: None,
    ) -> None:
        """`tidy` is called as often as namespaces are looked at, by one worker of them all."""
        self._queue, self._jobs, self._pace, self._tidy = queue, jobs, pace, tidy
        self._stopping = threading.Event()
        self._worker: _Worker | None = None  # while it runs
        self.ended = Counter() if ended is None else ended  # done, retried, failed, stopped
        connector = PsycopgConnector(
            conninfo=conninfo(url),
            min_size=1,
            max_size=pace.concurrency + _BEATS,
            timeout=CONNECT_SECONDS,
        )
        self._app = App(connector=connector)
        self._app.job_manager = _Manager(connector)
        for name in jobs:
            self._app.task(name=name, queue=name, pass_context=True, retry=_Retries(self.ended))(
                self._do
            )
        self._schedule()

    def run(self, *, once: bool = False) -> None:
        """Works until `stop`, Ctrl-C or SIGTERM; with `once` until nothing is ready to be done."""
        with translated():
            asyncio.run(self._run(once=once))

    @property
    def stopping(self) -> bool:
        """Whether it was told to end."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Ends the work after the slices that are being done."""
        self._stopping.set()
        if self._worker is not None:
            self._worker.stop()

    async def _run(self, *, once: bool) -> None:
        async with self._app.open_async():
            await self._sweep()
            await asyncio.to_thread(self._plan)
            done = -1
            while not self._stopping.is_set() and done < sum(self.ended.values()):
                done = sum(self.ended.values())
                await self._work(wait=not once)

    async def _work(self, *, wait: bool) -> None:
        worker = _Worker(
            self._app,
            queues=[*self._jobs, _SCHEDULE],
            concurrency=self._pace.concurrency,
            wait=wait,
            delete_jobs="successful",
            install_signal_handlers=False,
            update_heartbeat_interval=self._pace.dead_after / _BEATS,
            stalled_worker_timeout=self._pace.dead_after,
        )
        with self._stops(worker):
            await worker.run()  # type: ignore[no-untyped-call]  # says nothing of its result
        if wait and not self._stopping.is_set():
            raise StoreIsAway("the worker lost its connection to the database; start it again")

    @contextmanager
    def _stops(self, worker: "_Worker") -> Iterator[None]:
        """Ends the worker when this object is stopped, or by a signal to this process."""
        self._worker = worker
        try:
            with on_signals(self.stop):
                yield
        finally:
            self._worker = None

    def _do(self, context: JobContext, /, **given: Any) -> None:  # noqa: ANN401  # JSON values
        number, name = context.job.id or 0, context.job.task_name
        start = telemetry.started()
        with _Noted(self._queue, number):
            try:
                self._jobs[name](str(given[NAMESPACE]), self._teller(number))
            except TurnIsOver:
                self._queue.defer([name], str(given[NAMESPACE]))  # behind all that wait
                self.ended["turns"] += 1
                return
        self.ended["done"] += 1
        telemetry.info("job done", job=name, number=number, ms=telemetry.milliseconds(start))

    def _teller(self, number: int) -> Tell:
        last, ends = 0.0, time.monotonic() + self._pace.turn

        def tell(done: int, total: int | None) -> None:
            nonlocal last
            worker = self._worker
            stopping = self.stopping or (worker is not None and worker.ends.is_set())
            if stopping or time.monotonic() - last >= _TOLD_SECONDS:
                self._queue.tell(number, done, total)
                last = time.monotonic()
            if stopping:
                raise Stopped
            if time.monotonic() > ends:
                raise TurnIsOver

        return tell

    def _schedule(self) -> None:
        """The worker's own jobs; of all workers of a database one does each of them."""
        every = "* * * * *" if self._pace.every == 60 else f"* * * * * */{self._pace.every}"  # noqa: PLR2004
        for name, cron, work in (
            ("plan", every, self._plan),
            ("sweep", every, self._sweep),
            ("tidy", every, self._tidied),
            ("clear", "17 3 * * *", self._clear),
        ):
            task = self._app.task(name=name, queue=_SCHEDULE, queueing_lock=name)(work)
            self._app.periodic(cron=cron)(task)

    def _plan(self, timestamp: int = 0) -> None:  # noqa: ARG002  # when it was due
        telemetry.info("jobs planned", jobs=self._queue.plan(list(self._jobs)))

    def _tidied(self, timestamp: int = 0) -> None:  # noqa: ARG002  # when it was due
        self._tidy()

    async def _sweep(self, timestamp: int = 0) -> None:  # noqa: ARG002  # when it was due
        """Puts back what workers were doing when they died; what kills every worker fails."""
        manager = self._app.job_manager
        await manager.prune_stalled_workers(self._pace.dead_after)
        for job in await manager.get_stalled_jobs(seconds_since_heartbeat=self._pace.dead_after):
            telemetry.info("job of a dead worker", job=job.task_name, number=job.id)
            if job.attempts >= ATTEMPTS:
                await manager.finish_job(job, Status.FAILED, delete_job=False)
            else:
                await manager.retry_job(job)

    async def _clear(self, timestamp: int = 0) -> None:  # noqa: ARG002  # when it was due
        await self._app.job_manager.delete_old_jobs(_OLD_HOURS, include_failed=True)


@contextmanager
def on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM call `stop`, if this is the main thread."""
    loop = asyncio.get_running_loop()
    ours = threading.current_thread() is threading.main_thread()
    signals = (signal.SIGINT, signal.SIGTERM) if ours else ()
    for number in signals:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


class _Worker(Worker):
    """Tells the jobs that it ends, also where it lost its connection."""

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401  # as its base
        super().__init__(*given, **named)
        self.ends = threading.Event()

    def stop(self) -> None:
        self.ends.set()
        super().stop()  # type: ignore[no-untyped-call]  # says nothing of its result


class _Manager(JobManager):
    """Lets a job go where the same one was put in while it ran, since only one may wait."""

    async def retry_job(self, job: Job, *given: Any, **named: Any) -> None:  # noqa: ANN401
        try:
            await super().retry_job(job, *given, **named)
        except exceptions.UniqueViolation:
            await self.finish_job(job, Status.FAILED, delete_job=True)


class _Retries(BaseRetryStrategy):
    """Tries again after 1, 2, 4 … seconds, at most an hour, and behind other jobs.

    A job that waits keeps every later one with the same lock and priority waiting, too, so it gets
    a lower priority each time.
    """

    def __init__(self, ended: Counter[str]) -> None:
        self._ended = ended

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, Stopped):
            self._ended["stopped"] += 1
            return RetryDecision(retry_in={"seconds": 0})
        if job.attempts + 1 >= ATTEMPTS:
            self._ended["failed"] += 1
            return None
        self._ended["retried"] += 1
        wait = wait_after(job.attempts + 1)
        return RetryDecision(
            retry_in={"seconds": int(wait.total_seconds())}, priority=-1 - job.attempts
        )


class _Noted:
    """Stores the kind of failure that a job ends with; its message may repeat what is stored."""

    def __init__(self, queue: JobQueue, number: int) -> None:
        self._queue, self._number = queue, number

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None or issubclass(kind, Stopped):
            return
        told = kind.__name__
        if issubclass(kind, MeshError) and kind.__doc__:
            told = f"{told}: {kind.__doc__.splitlines()[0]}"
        self._queue.tell_failure(self._number, told)
        telemetry.warn_once(f"job {self._number}", f"a job failed: {error}")


# A worker that outlives its server: it waits while the database is away, and works again.
#
# Only what waiting can mend is waited for. A wrong key, missing rights and a database that is not
# set
# up are errors of their own, and end the worker.


def wait(seconds: float) -> bool:
    """Waits so long; True if Ctrl-C or SIGTERM ended it."""
    return asyncio.run(_stopped_within(seconds))


def work(
    begun: Callable[[], JobWorker],
    *,
    away: Callable[[], None],
    pause: Callable[[float], bool] = wait,
) -> None:
    """Works until it is stopped, with a new worker after each time the database was away.

    Options:
        begun: asks the database, and makes a worker if it answers.
        away: called when the database goes away, not at each attempt to reach it.
        pause: waits so many seconds; True if it was told to stop.
    """
    seconds, told = FIRST, False
    with suppress(KeyboardInterrupt):  # Ctrl-C after one worker and before the next
        while True:
            worker, start = None, time.monotonic()
            try:
                worker = begun()
                told = False
                worker.run()
                return
            except StoreIsAway:
                if worker is not None and worker.stopping:
                    return
            if (
                time.monotonic() - start > LONGEST_PAUSE
            ):  # it worked, or waited for answers, for a while
                seconds = FIRST
            if not told:
                away()
                told = True
            if pause(seconds):
                return
            seconds = min(2 * seconds, LONGEST_PAUSE)


async def _stopped_within(seconds: float) -> bool:
    stop = asyncio.Event()
    with on_signals(stop.set):
        try:
            await asyncio.wait_for(stop.wait(), seconds)
        except TimeoutError:
            return False
    return True
