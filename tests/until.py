"""Waits for the thing itself: no test waits a fixed time for what it can see."""

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 300.0  # seconds: a wait that takes so long is a hang, however busy the machine is
_STEP = 0.005


def until(holds: Callable[[], object], what: str = "it never happened") -> None:
    """Waits until something is so; fails if it does not become so."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(_STEP)


def waits_in_line(path: Path) -> bool:
    """Whether somebody waits for the lock of a file (flock) that another one holds."""
    return any("-> FLOCK" in line for line in _locks(path))


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock of a file; asking for it would keep others from it."""
    return bool(_locks(path))


def _locks(path: Path) -> list[str]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return []
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    return [line for line in lines if f" {device}:{found.st_ino} " in line]


def has_taken_signals(pid: int, sleeps: int) -> bool:
    """Whether a process has no signal before it, and its first thread slept again since."""
    status = _status(pid)
    pending = int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)
    return not pending and status["State"].startswith("S") and times_slept(pid) > sleeps


def times_slept(pid: int) -> int:
    """How often the first thread of a process has gone to sleep."""
    return int(_status(pid)["voluntary_ctxt_switches"])


def _status(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    return {
        name: value.strip() for name, _, value in (row.partition(":") for row in text.splitlines())
    }
