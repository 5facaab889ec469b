"""The async classes have the methods of the blocking ones, each run in a thread."""

import asyncio
import inspect
import os
import subprocess
import sys
import threading
import time

import pytest

import memory_mesh
from memory_mesh.compat import neolata
from memory_mesh.compat.neolata import memory_graph
from memory_mesh.mesh import conversation, mesh
from memory_mesh.mesh.async_threads import MAX_THREADS, AwaitedOnly, Threads, awaited, not_awaited
from memory_mesh.mesh.view import Family
from tests.operations import FAMILIES, names

TWINS = (
    (mesh.MemoryMesh, memory_mesh.MemoryMesh),
    (conversation.MemoryContextManager, memory_mesh.MemoryContextManager),
    (memory_graph.MemoryGraph, neolata.MemoryGraph),
)
AT_ONCE = {  # what RFC-0011 4.1 and 4.3 and neolata have without an await, and what makes views
    "clear_cache", "format_results", "get_cache_stats", "dispose", "format_memories_for_prompt",
    "on", "off", "hook_states", "for_user", "view",
}  # fmt: skip


def _families():
    """Each family of the blocking mesh, with that of the async one."""
    blocking, awaited = FAMILIES[mesh.MemoryMesh], FAMILIES[memory_mesh.MemoryMesh]
    return [(kind, awaited[name]) for name, kind in blocking.items()]


class Blocking:
    """Blocking."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.goes_on = threading.Event()

    def add(self, content: str, *, pinned: bool = False) -> str:
        """Store one memory."""
        self.log.append(content)
        return f"{content}:{pinned}"

    def slow(self) -> None:
        """Take a while."""
        time.sleep(0.02)
        self.log.append("slow")

    def wait(self) -> None:
        """Take as long as somebody wants."""
        self.goes_on.wait()
        self.log.append("waited")

    def fail(self, query: str) -> None:
        """Find nothing."""
        raise LookupError(query)

    def close(self) -> None:
        """End."""


class Awaiting(AwaitedOnly):
    """Awaited."""

    def __init__(self) -> None:
        self._sync, self._threads = Blocking(), Threads()

    add = awaited(Blocking.add)
    add_at_once = not_awaited(Blocking.add)
    slow = awaited(Blocking.slow)
    wait = awaited(Blocking.wait)
    fail = awaited(Blocking.fail)

    async def close(self) -> None:
        """End."""
        await self._threads.run_last(self._sync.close)


@pytest.mark.parametrize(("blocking", "face"), [*TWINS, *_families()])
def test_every_public_name_of_the_blocking_class_is_in_the_async_one(blocking, face):
    for name in sorted(names(blocking)):
        own, its = inspect.getattr_static(blocking, name), inspect.getattr_static(face, name)
        assert isinstance(own, property | Family) is isinstance(its, property), name
        if isinstance(its, property):
            continue
        assert inspect.iscoroutinefunction(its) is (name not in AT_ONCE), name
        theirs = inspect.signature(getattr(face, name)).parameters
        assert list(theirs) == list(inspect.signature(getattr(blocking, name)).parameters), name
        assert inspect.getdoc(its), name


@pytest.mark.parametrize(("blocking", "face"), TWINS)
def test_the_constructors_take_the_same(blocking, face):
    assert list(inspect.signature(face).parameters) == list(inspect.signature(blocking).parameters)


def test_no_thread_library_is_loaded_before_the_first_await():
    code = (
        "import sys, memory_mesh; memory_mesh.MemoryMesh\n"
        "assert not {'asyncio', 'concurrent.futures.thread'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_arguments_results_and_errors_pass_through():
    async def story():
        face = Awaiting()
        assert await face.add("a", pinned=True) == "a:True"
        assert face.add_at_once("b") == "b:False"
        with pytest.raises(LookupError, match="nothing"):
            await face.fail("nothing")
        await face.close()
        return face

    face = asyncio.run(story())
    assert face._sync.log == ["a", "b"]
    assert not face._threads.running


def test_a_cancelled_await_lets_its_call_finish():
    async def story():
        face = Awaiting()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(face.wait(), 0.02)
        assert face._sync.log == []
        face._sync.goes_on.set()
        deadline = time.monotonic() + 60
        while not face._sync.log and time.monotonic() < deadline:  # noqa: ASYNC110  # a list, no event
            await asyncio.sleep(0.01)
        return face._sync.log

    assert asyncio.run(story()) == ["waited"]


def test_no_more_threads_run_than_the_pool_holds():
    async def story():
        face = Awaiting()
        before = threading.active_count()
        calls = [asyncio.create_task(face.slow()) for _ in range(60)]
        most = 0
        while not all(call.done() for call in calls):
            await asyncio.sleep(0.001)
            most = max(most, threading.active_count() - before)
        assert len(face._sync.log) == 60
        assert 1 < most <= MAX_THREADS
        await face.close()

    asyncio.run(story())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_makes_its_own_pool():
    face = Awaiting()
    asyncio.run(face.add("parent"))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(face.add("child"))
            code = 0 if face._sync.log == ["parent", "child"] else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
        assert time.monotonic() < deadline, "the child waits for its parent's threads"
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(done[1]) == 0
    asyncio.run(face.close())
