"""A worker that outlives its server: it waits while the database is away, and works again.

Only what waiting can mend is waited for. A wrong key, missing rights and a database that is not set
up are errors of their own, and end the worker.
"""

import asyncio
import time
from collections.abc import Callable

from memory_mesh.engines.queues.running import JobWorker, on_signals
from memory_mesh.errors import StoreIsAway

FIRST, LONGEST = 1.0, 30.0  # seconds between two attempts to reach the database


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
        if time.monotonic() - start > LONGEST:  # it worked, or waited for answers, for a while
            seconds = FIRST
        if not told:
            away()
            told = True
        if pause(seconds):
            return
        seconds = min(2 * seconds, LONGEST)


async def _stopped_within(seconds: float) -> bool:
    stop = asyncio.Event()
    with on_signals(stop.set):
        try:
            await asyncio.wait_for(stop.wait(), seconds)
        except TimeoutError:
            return False
    return True
