"""onnxruntime as we want it: silent towards the network, harmless across a fork.

Since 1.29 its wheels for Linux and macOS report their use to Microsoft and leave a device id in the
user's home, unless ORT_DISABLE_TELEMETRY is set before the first import. And a session's threads do
not live in a forked child: destroying the copy there, even at exit, waits for them for ever.
"""

import os
import weakref
from functools import cache
from types import ModuleType

from memory_mesh.ports import Forkable

_holders: "weakref.WeakSet[Forkable]" = weakref.WeakSet()


def onnxruntime() -> ModuleType:
    """The library, with its reporting switched off; always imported through here."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime as library  # type: ignore[import-untyped]  # ships no types

    library.disable_telemetry_events()  # Windows, and where somebody else imported it first
    found: ModuleType = library
    return found


def protect(holder: Forkable) -> None:
    """Have `after_fork` called in every child of this process."""
    _holders.add(holder)
    _watch_forks()


def bury(session: object) -> None:
    """Keep it referenced for ever, so that nothing destroys it."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))


@cache
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_in_child)


def _in_child() -> None:
    for holder in list(_holders):
        holder.after_fork()
