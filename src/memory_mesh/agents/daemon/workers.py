"""A few threads that work through a queue; they are started when there is work for them."""

import threading
from collections import deque
from collections.abc import Callable

MOST = 8
Task = Callable[[], None]


class Workers:
    """Runs tasks in at most `most` threads, in the order in which they were given."""

    def __init__(self, *, most: int = MOST) -> None:
        self._most = most
        self._waiting: deque[Task] = deque()
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()
        self._free = self._running = 0
        self._finishing = False

    @property
    def tasks(self) -> int:
        """How many tasks run or wait."""
        with self._changed:
            return self._running + len(self._waiting)

    def give(self, task: Task) -> None:
        """Adds a task, which must not raise."""
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
        while (task := self._next()) is not None:
            try:
                task()
            finally:
                with self._changed:
                    self._running -= 1

    def _next(self) -> Task | None:
        with self._changed:
            self._free += 1
            while not self._waiting and not self._finishing:
                self._changed.wait()
            self._free -= 1
            if not self._waiting:
                return None
            self._running += 1
            return self._waiting.popleft()
