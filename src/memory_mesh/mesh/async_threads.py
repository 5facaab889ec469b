"""The threads in which the async classes run their blocking calls."""

import contextvars
import functools
import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from memory_mesh.mesh.operation import public_name
from memory_mesh.platform.locks import Cancellation

if TYPE_CHECKING:
    from asyncio import Future
    from concurrent.futures import ThreadPoolExecutor

MAX_THREADS = 8
CLOSING_SECONDS = 1.0  # that `close` leaves to earlier calls which wait for another process
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
        """Await a blocking call.

        A cancelled await lets the call finish in its thread, but for its waits: a call that waits
        for another process gives up, and its thread is free.
        """
        import asyncio  # a caller that awaits has it loaded; `import memory_mesh` must not load it

        work = functools.partial(call, *args, **kwargs)
        context, waiting = contextvars.copy_context(), Cancellation()
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._pool.started(), context.run, waiting.run, work)
        self._pool.calls.add(waiting)
        done.add_done_callback(lambda ended: self._pool.forget(waiting, ended))
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            waiting.cancel()
            raise

    async def run_last(self, call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Await the call that closes the object, and let the threads end.

        Calls before it that still wait for another process after a second give up.
        """
        import asyncio

        if not self._owner:
            return await self.run(call, *args, **kwargs)
        late = asyncio.get_running_loop().call_later(CLOSING_SECONDS, self._pool.give_up)
        try:
            return await self.run(call, *args, **kwargs)
        finally:
            late.cancel()
            self.end()

    def end(self) -> None:
        """Let the threads end after their present calls, unless another object owns them."""
        if self._owner:
            self._pool.end()


class Awaited(Generic[_P, _R]):
    """A method of an async class, as type checkers see it: what the blocking one takes, awaited."""

    def __get__(self, instance: object, owner: type) -> Callable[_P, Coroutine[Any, Any, _R]]:
        raise NotImplementedError  # at run time the attribute is a function


class NotAwaited(Generic[_P, _R]):
    """A method that an async class has as the blocking one has it, as type checkers see it."""

    def __get__(self, instance: object, owner: type) -> Callable[_P, _R]:
        raise NotImplementedError


def awaited(method: Callable[Concatenate[Any, _P], _R], family: str = "") -> Awaited[_P, _R]:
    """The method of a blocking class or of a family of it, for the async one: in a thread."""

    async def call(self: "AwaitedOnly", *arguments: object, **options: object) -> object:
        blocking = getattr(self._sync, family) if family else self._sync
        return await self._threads.run(method, blocking, *arguments, **options)  # type: ignore[arg-type]  # as it takes them

    return _named(call, method)  # type: ignore[no-any-return]


def not_awaited(method: Callable[Concatenate[Any, _P], _R]) -> NotAwaited[_P, _R]:
    """The method of a blocking class, for the async one: it waits for nothing."""

    def call(self: "AwaitedOnly", *arguments: object, **options: object) -> object:
        return method(self._sync, *arguments, **options)  # type: ignore[arg-type]  # as it takes them

    return _named(call, method)  # type: ignore[no-any-return]


def _named(call: Any, method: Any) -> Any:  # noqa: ANN401  # functions
    """The function under the name of the method, so that `help` shows what it takes."""
    call.__wrapped__, call.__name__, call.__qualname__ = (
        method,
        method.__name__,
        public_name(method.__qualname__),
    )
    call.__doc__ = method.__doc__
    return call


class AwaitedOnly:
    """The base of the async classes: says what to write instead of a plain `with`."""

    _blocking = "sync"  # the module of the blocking class
    _sync: Any
    _threads: Threads

    if not TYPE_CHECKING:  # a type checker reports a plain `with` by itself

        def __enter__(self) -> None:
            name = type(self._sync).__name__
            raise TypeError(
                f"{name} is awaited: write `async with {name}(...) as mesh`, or use the blocking "
                f"class with the same methods: from memory_mesh.{self._blocking} import {name}"
            )

        def __exit__(self, *error: object) -> None:
            """Never called: `__enter__` raises."""

        def __getattr__(self, name: str) -> None:
            """Say what was meant, as the blocking class does."""
            if not name.startswith("_"):
                getattr(self._sync, name)
            said = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(said, name=name, obj=self)


class AsyncFamily(AwaitedOnly):
    """A family of operations, awaited in the threads of its mesh."""

    def __init__(self, blocking: object, threads: Threads) -> None:
        """Take the blocking family."""
        self._sync, self._threads = blocking, threads


class _Pool:
    """One executor per process: a forked child has none of its parent's threads."""

    def __init__(self) -> None:
        self.executor: ThreadPoolExecutor | None = None
        self.calls: set[Cancellation] = set()
        self._pid = 0

    def started(self) -> "ThreadPoolExecutor":
        if self.executor is None or self._pid != os.getpid():
            from concurrent.futures import ThreadPoolExecutor

            self.executor = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="memory-mesh")
            self.calls = set()
            self._pid = os.getpid()
        return self.executor

    def forget(self, waiting: Cancellation, ended: "Future[_R]") -> None:
        """Lets go of a call that ended; the error of one that nobody awaits any more is taken."""
        self.calls.discard(waiting)
        if not ended.cancelled():
            ended.exception()  # else asyncio prints it as never retrieved

    def give_up(self) -> None:
        """Ends the waits of all calls for other processes."""
        for waiting in tuple(self.calls):
            waiting.cancel()

    def end(self) -> None:
        executor, self.executor = self.executor, None
        if executor is not None and self._pid == os.getpid():
            executor.shutdown(wait=False)
