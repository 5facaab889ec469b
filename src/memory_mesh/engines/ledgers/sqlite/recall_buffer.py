"""Recall blocks that wait for the next transaction of this process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from memory_mesh.model import Entry

FULL = 64


class RecallBuffer:
    """Entries by namespace; what a failed transaction took comes back."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: dict[str, list[Entry]] = {}

    def add(self, namespace: str, entry: Entry) -> bool:
        """Keep the entry; True when it is time to write."""
        with self._mutex:
            waiting = self._waiting.setdefault(namespace, [])
            waiting.append(entry)
            return len(waiting) >= FULL

    @contextmanager
    def taken(self, namespace: str) -> Iterator[list[Entry]]:
        """All that waits, to be written now."""
        with self._mutex:
            entries = self._waiting.pop(namespace, [])
        try:
            yield entries
        except BaseException:
            with self._mutex:
                self._waiting[namespace] = entries + self._waiting.get(namespace, [])
            raise

    def drop(self, namespace: str) -> None:
        """Forget what waits."""
        with self._mutex:
            self._waiting.pop(namespace, None)

    def namespaces(self) -> list[str]:
        """Those for which something waits."""
        with self._mutex:
            return [name for name, entries in self._waiting.items() if entries]

    def after_fork(self) -> None:
        """A child leaves its parent's entries to the parent."""
        self._mutex = threading.Lock()
        self._waiting = {}
