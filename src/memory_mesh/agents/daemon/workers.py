"""A few threads that work through a queue; they are started when there is work for them."""

import threading
from collections import deque
from collections.abc import Callable

from memory_mesh.typed import Any

MOST = 8


class Workers:
    """Runs tasks in at most `most` threads, in the order they were given."""

    def __init__(self, work: Callable[[Any], None], *, most: int = MOST) -> None:
        self._work, self._most = work, most
        self._waiting: deque[Any] = deque()
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()
        self._free = self._running = 0
        self._finishing = False

    @property
    def busy(self) -> bool:
        """Whether a task runs or waits."""
        with self._changed:
            return bool(self._running or self._waiting)

    def give(self, task: object) -> None:
        """Adds a task."""
        with self._changed:
            self._waiting.append(task)
            if len(self._waiting) > self._free and len(self._threads) < self._most:
                thread = threading.Thread(target=self._run, name="memory-mesh worker")
                self._threads.append(thread)
                thread.start()
            self._changed.notify()

    def finish(self) -> None:
        """Waits until every task given so far is done, and ends the threads."""
        with self._changed:
            self._finishing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._free += 1
                while not self._waiting and not self._finishing:
                    self._changed.wait()
                self._free -= 1
                if not self._waiting:
                    return
                task = self._waiting.popleft()
                self._running += 1
            try:
                self._work(task)
            finally:
                with self._changed:
                    self._running -= 1
