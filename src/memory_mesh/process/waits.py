"""How long a call may wait for another process, and what ends a wait early.

A wait has a bound of its own. `at_most` lowers the bounds of all waits inside it, and a
`Cancellation` ends those of one call: what has begun goes on, and what waits gives up.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from memory_mesh.typed import TypeVar

USUAL_SECONDS = 10.0  # that a wait lasts at most, where no setting says otherwise
T = TypeVar("T")
_limit: ContextVar[float | None] = ContextVar("memory_mesh_wait_limit", default=None)
_cancellation: ContextVar["Cancellation | None"] = ContextVar("memory_mesh_cancel", default=None)


class Cancellation:
    """Ends the waits of one call, the present one and those that follow."""

    def __init__(self) -> None:
        self.cancelled: bool = False
        self._events: set[threading.Event] = set()

    def cancel(self) -> None:
        """Wakes whoever waits."""
        self.cancelled = True
        for event in tuple(self._events):
            event.set()

    def run(self, call: Callable[[], T]) -> T:
        """Calls a function whose waits this ends."""
        before = _cancellation.set(self)
        try:
            return call()
        finally:
            _cancellation.reset(before)

    @contextmanager
    def heard_by(self, event: threading.Event) -> Iterator[None]:
        """Sets the event when the call is cancelled."""
        self._events.add(event)
        try:
            if self.cancelled:
                event.set()
            yield
        finally:
            self._events.discard(event)


def until(seconds: float) -> float:
    """The moment, in monotonic seconds, at which a wait of at most so many ends in this call.

    It has passed where nothing is to be waited for.
    """
    if seconds <= 0 or cancelled():
        return 0.0
    end = time.monotonic() + min(seconds, threading.TIMEOUT_MAX / 2)
    limit = _limit.get()
    return end if limit is None else min(end, limit)


def is_over(end: float) -> bool:
    """Whether the moment has come, or the call was cancelled."""
    return cancelled() or time.monotonic() >= end


def cancelled() -> bool:
    """Whether the present call was cancelled."""
    cancellation = _cancellation.get()
    return cancellation is not None and cancellation.cancelled


def wait(event: threading.Event, end: float) -> None:
    """Waits for an event, the moment or the cancellation of the call, whichever comes first."""
    seconds = max(0.0, end - time.monotonic())
    cancellation = _cancellation.get()
    if cancellation is None:
        event.wait(seconds)
        return
    with cancellation.heard_by(event):
        event.wait(seconds)


def hurried(seconds: float) -> bool:
    """Whether the present call may wait for less than this; it then does only what it must."""
    limit = _limit.get()
    return limit is not None and limit - time.monotonic() < seconds


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """No wait inside ends later than so many seconds from now."""
    before = _limit.set(until(seconds))
    try:
        yield
    finally:
        _limit.reset(before)
