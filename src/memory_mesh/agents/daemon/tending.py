"""Upkeep of the namespaces that requests used, in small steps, while nobody asks."""

import threading
from collections.abc import Callable
from contextlib import suppress

from memory_mesh import log
from memory_mesh.agents import sessions
from memory_mesh.agents.opening import Opened, Stores
from memory_mesh.errors import MeshError

QUIET_SECONDS = 2.0  # without a request before upkeep begins


class _GiveWay(Exception):
    """A request came, or the end."""


class Tending:
    """Runs upkeep in a thread of its own and stops it as soon as somebody asks for something."""

    def __init__(
        self, store: str, stores: Stores, *, wanted: Callable[[], bool], done: Callable[[], None]
    ) -> None:
        """Keep the stores; `wanted` says whether to give way, `done` is called at the end."""
        self._store, self._stores = store, stores
        self._wanted, self._done = wanted, done
        self._thread: threading.Thread | None = None
        self._swept = False

    @property
    def runs(self) -> bool:
        """Whether upkeep is going on."""
        return self._thread is not None and self._thread.is_alive()

    def is_due(self) -> bool:
        """Whether a namespace was used since its last upkeep, and nobody works on it."""
        return not self.runs and self._stores.is_used()

    def begin(self) -> None:
        """Starts the thread."""
        self._thread = threading.Thread(target=self._run, name="memory-mesh upkeep")
        self._thread.start()

    def finish(self) -> None:
        """Waits for the thread, which gives way at its next step."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._sweep()
            with self._stores.opened() as found, suppress(_GiveWay):
                for opened in found:
                    for namespace in sorted(opened.used):
                        self._tend(opened, namespace)
        finally:
            self._done()

    def _tend(self, opened: Opened, namespace: str) -> None:
        """Runs upkeep on one namespace; what fails is tried again after the next request."""
        opened.used.discard(namespace)
        try:
            opened.kept(namespace).upkeep(between=self._between)
        except _GiveWay:
            opened.used.add(namespace)
            raise
        except (MeshError, OSError) as error:
            log.info("upkeep failed", kind=type(error).__name__)

    def _between(self) -> None:
        if self._wanted():
            raise _GiveWay

    def _sweep(self) -> None:
        """Removes what is known of sessions that ended long ago, once in a daemon's life."""
        if not self._swept:
            self._swept = True
            sessions.remove_old(self._store)
