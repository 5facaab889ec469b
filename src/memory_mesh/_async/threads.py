"""The threads in which the async classes run their blocking calls."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

MAX_THREADS = 8
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Threads:
    """At most MAX_THREADS threads; further calls wait. Started at the first call, not before."""

    def __init__(self, shared: "_Pool | None" = None) -> None:
        """Own a new pool, or share one that its owner ends."""
        self._pool = shared or _Pool()
        self._owner = shared is None

    def shared(self) -> "Threads":
        """The same threads for another object; ending those leaves these running."""
        return Threads(self._pool)

    @property
    def running(self) -> bool:
        """Whether a pool was started and not ended."""
        return self._pool.executor is not None

    async def run(self, call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Await a blocking call; a cancelled await lets the call finish in its thread."""
        import asyncio  # a caller that awaits has it loaded; `import memory_mesh` must not load it
        import contextvars
        import functools

        work = functools.partial(call, *args, **kwargs)
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._pool.started(), context.run, work))

    def end(self) -> None:
        """Let the threads end after their present calls, unless another object owns them."""
        if self._owner:
            self._pool.end()


class _Pool:
    """One executor per process: a forked child has none of its parent's threads."""

    def __init__(self) -> None:
        self.executor: ThreadPoolExecutor | None = None
        self._pid = 0

    def started(self) -> "ThreadPoolExecutor":
        if self.executor is None or self._pid != os.getpid():
            from concurrent.futures import ThreadPoolExecutor

            self.executor = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="memory-mesh")
            self._pid = os.getpid()
        return self.executor

    def end(self) -> None:
        executor, self.executor = self.executor, None
        if executor is not None and self._pid == os.getpid():
            executor.shutdown(wait=False)
