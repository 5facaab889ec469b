"""Answers of recent searches, each valid for one state of the namespace.

The key holds the namespace's seq, so a write anywhere makes older answers unreachable. Time is the
other thing that changes an answer: an entry lives five minutes, or until the next moment at which
some memory starts or ceases to be valid.
"""

import threading
from collections import OrderedDict
from datetime import datetime, timedelta

from memory_mesh.base.typed import dataclass
from memory_mesh.model import Hits

ENTRIES = 500
LIFETIME = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Figures of the cache."""

    size: int
    max_size: int
    hits: int
    misses: int


class SearchCache:
    """Keeps the 500 most recently used answers; safe in threads."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[object, ...], tuple[datetime, datetime, Hits]]
        self._entries = OrderedDict()
        self._hits = self._misses = 0
        self._mutex = threading.Lock()

    def get(self, key: tuple[object, ...], now: datetime) -> Hits | None:
        """Returns the cached answer if it is still valid."""
        with self._mutex:
            found = self._entries.get(key)
            if found is None or not found[0] <= now < found[1]:  # a clock may go back, too
                self._misses += 1
                return None
            self._hits += 1
            self._entries.move_to_end(key)
            return found[2]

    def put(
        self, key: tuple[object, ...], hits: Hits, now: datetime, bound: datetime | None
    ) -> None:
        """Keep an answer until its lifetime or the bound is over."""
        until = now + LIFETIME if bound is None else min(bound, now + LIFETIME)
        with self._mutex:
            self._entries[key] = (now, until, hits)
            self._entries.move_to_end(key)
            while len(self._entries) > ENTRIES:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Clears the cache and its counters."""
        with self._mutex:
            self._entries.clear()
            self._hits = self._misses = 0

    def stats(self) -> CacheStats:
        """Size and use."""
        with self._mutex:
            return CacheStats(len(self._entries), ENTRIES, self._hits, self._misses)

    def after_fork(self) -> None:
        """A child starts with its own lock."""
        self._mutex = threading.Lock()
