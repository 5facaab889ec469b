"""Staying alive across fork(): nobody forks while a thread is inside SQLite.

SQLite's own mutexes are copied by fork in the state they have. A child made while another thread
holds one would hang at its first statement. So every use of SQLite passes a gate, fork waits until
the gate is empty, and the child starts with fresh locks and fresh connections.

SQLite also keeps one table per process of the files it has open and locked. A child would inherit
it, but not the locks: it would believe to hold what it does not, and its parent's last close would
remove the write-ahead log under it. So idle connections are closed before a fork.

Python keeps a lock for each module that is being imported, and a child inherits those that other
threads hold. Its first import of such a module would never end, and much here is imported at its
first use. So a fork waits until no other thread imports.
"""

import _imp
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import _bootstrap

from memory_mesh.model.ports import Forkable, Releasable

_PAUSE = 0.001  # seconds between two looks at who imports
_PATIENCE = 10.0  # seconds a fork waits for running statements or imports; then it goes ahead


class _Gate:
    """Threads that use SQLite pass this gate; fork waits until the others have left it."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        self.changed = threading.Condition()
        self.inside: dict[int, int] = {}
        self.forking = False

    @contextmanager
    def passed(self) -> Iterator[None]:
        me = threading.get_ident()
        with self.changed:
            while self.forking and me not in self.inside:
                self.changed.wait()
            self.inside[me] = self.inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self.changed:
                self.inside[me] -= 1
                if not self.inside[me]:
                    del self.inside[me]
                    self.changed.notify_all()

    def before_fork(self) -> None:
        me = threading.get_ident()
        with self.changed:
            self.forking = True
            self.changed.wait_for(lambda: not (self.inside.keys() - {me}), _PATIENCE)

    def after_fork_in_parent(self) -> None:
        with self.changed:
            self.forking = False
            self.changed.notify_all()


class _Imports:
    """Fork waits until no other thread imports a module, and none begins to before it is done."""

    def __init__(self) -> None:
        self._held = False

    def before_fork(self) -> None:
        end = time.monotonic() + _PATIENCE
        _imp.acquire_lock()  # without it nobody begins to import a module
        while _imported_elsewhere() and time.monotonic() < end:
            _imp.release_lock()  # whoever imports may have to import more to get done
            time.sleep(_PAUSE)
            _imp.acquire_lock()
        self._held = True

    def after_fork(self) -> None:
        if self._held:
            self._held = False
            _imp.release_lock()


def _imported_elsewhere() -> bool:
    """Whether another thread is importing a module."""
    me = threading.get_ident()
    locks = [reference() for reference in list(_module_locks.values())]
    return any(getattr(lock, "owner", None) not in {None, me} for lock in locks)


_gate = _Gate()
_imports = _Imports()
# Python's own table of the modules that are being imported; without it nobody waits
_module_locks: dict[str, Callable[[], object]] = getattr(_bootstrap, "_module_locks", {})
_forkables: "weakref.WeakSet[Forkable]" = weakref.WeakSet()
_releasables: "weakref.WeakSet[Releasable]" = weakref.WeakSet()


def inside_sqlite() -> AbstractContextManager[None]:
    """Hold this while SQLite runs, never while waiting for another process."""
    return _gate.passed()


def protect(forkable: Forkable) -> None:
    """Have `after_fork` called in every child."""
    _forkables.add(forkable)


def release(releasable: Releasable) -> None:
    """Have `before_fork` called in the parent, and `after_fork` in every child."""
    _releasables.add(releasable)
    protect(releasable)


def _before_fork() -> None:
    _gate.before_fork()
    for releasable in list(_releasables):
        releasable.before_fork()
    _imports.before_fork()  # the last: who holds a lock that those above wait for may import


def _after_fork_in_parent() -> None:
    _imports.after_fork()
    _gate.after_fork_in_parent()


def _after_fork_in_child() -> None:
    _imports.after_fork()
    _gate.start_anew()
    for forkable in list(_forkables):
        forkable.after_fork()


def bury(inherited: Sequence[object]) -> None:
    """Keeps the parent's objects referenced: closing a connection here could harm the parent."""
    if inherited:
        import ctypes

        for each in inherited:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
