"""The system's clock, the only one the product reads; ids by it.

RFC-0011 ids: `<prefix>_<unix ms>_<6 hex>`, monotonic and without repeats. Only where the clock goes
back by more than a minute do ids go back with it.
"""

import os
import threading
import time
from datetime import UTC, datetime, timedelta

from memory_mesh.model.ports import Clock

_ROOM = 1 << 24
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_SET_BACK = 60_000  # ms; a clock that goes back further was wrong before: ids follow it


class SystemClock:
    """Wall-clock time in UTC."""

    def now(self) -> datetime:
        """The present."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        return time.monotonic()


class MonotonicIds:
    """Draws ids that never repeat here; other processes are met by the ledger's unique keys."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._millisecond = self._number = 0
        self._start_anew()

    def draw(self, prefix: str) -> str:
        """A new id; within one millisecond the hexadecimal part counts up from a random start."""
        if os.getpid() != self._pid:  # a forked child would go on where its parent stands
            self._start_anew()
        with self._lock:
            now = (self._clock.now() - _EPOCH) // _MILLISECOND
            if now > self._millisecond or now < self._millisecond - _SET_BACK:
                self._millisecond = now
                self._number = int.from_bytes(os.urandom(3), "big")
            else:
                self._number += 1
                if self._number == _ROOM:
                    self._number, self._millisecond = 0, self._millisecond + 1
            return f"{prefix}_{self._millisecond}_{self._number:06x}"

    def _start_anew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._millisecond = 0
