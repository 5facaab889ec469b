"""Runs a daemon from its lock to its end.

::

    lock free ─────────────────────────────▶ serve
    lock held, its daemon answers ─────────▶ give way
    lock held, nobody answers ─────────────▶ wait in line (one process)
                                               │ lock free ──▶ serve
                                               └ its daemon answers ──▶ give way
"""

import os
import sys
import threading
from importlib import import_module

from memory_mesh._version import __version__
from memory_mesh.agents import journal, request as requests
from memory_mesh.agents.daemon import client, holding

PING_SECONDS = 1.0
_SWITCH_SECONDS = 0.001  # after which a thread at work lets another one run
_NEEDED_SOON = (
    "memory_mesh.agents.hook.events",
    "memory_mesh.sync",
    "memory_mesh.context.pack",
)


def serve(store: str, idle: float) -> bool:
    """Serves a store until the end; False if another daemon does it already."""
    store = os.path.realpath(store)
    os.umask(0o077)
    held = _held(store)
    if held is None:
        return False
    try:
        _serve(store, held, idle)
    finally:
        held.release()
    return True


def _held(store: str) -> holding.DaemonLock | None:
    held = holding.DaemonLock.taken(store)
    if held is not None or _answers(store):
        return held
    return holding.DaemonLock.taken(
        store, seconds=holding.PATIENCE_SECONDS, answers=lambda: _answers(store)
    )


def _serve(store: str, held: holding.DaemonLock, idle: float) -> None:
    from memory_mesh.agents.daemon.server import (
        GONE,
        Desk,  # not for those who give way
        Server,
    )
    from memory_mesh.agents.opening import Stores

    os.chdir("/")
    for name in requests.LIBPQ:  # each request brings its own
        os.environ.pop(name, None)
    sys.setswitchinterval(_SWITCH_SECONDS)
    desk = Desk(store, Stores())
    threading.Thread(target=_load, name="memory-mesh loading", daemon=True).start()
    journal.note(store, "daemon", outcome="started", pid=os.getpid(), version=__version__)
    Server(desk, held, idle=idle).run()
    if desk.ending != GONE:  # a line would make the folder anew
        journal.note(
            store, "daemon", outcome="ended", pid=os.getpid(), reason=desk.ending,
            requests=desk.begun,
        )  # fmt: skip


def _load() -> None:
    """Loads what the first prompt needs, which has a third of a second, while the loop begins."""
    for name in _NEEDED_SOON:
        import_module(name)


def _answers(store: str) -> bool:
    return client.answers(requests.made("ping") | {"store": store}, seconds=PING_SECONDS)
