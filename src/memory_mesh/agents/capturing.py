"""Whether hooks still learn: told from the journal alone, for the visible line and for `doctor`.

Every hook that may teach something leaves two lines: its own, and later that of its capture, which
says `done` even where there was nothing to learn. Hooks without captures mean that capture has
stopped. This module is small: a session's start loads it.
"""

import time

from memory_mesh.agents import journal
from memory_mesh.agents.hook import claude_code
from memory_mesh.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DONE = "done"  # the outcome of a capture that worked
LEAST_EVENTS = 3  # that were not learned from
LEAST_STARTS = 5  # of sessions, where nothing else happens at all
SETTLING_SECONDS = 90.0  # that a capture may take: a hook's worker ends after a minute
NEXT = "memory-mesh doctor"
_TAIL_BYTES = 16 * 1024  # some hundred lines


def warning(store: str) -> str | None:
    """What a session's user should know: that capture has stopped, and what to do; else None."""
    found = missed(journal.tail(store, _TAIL_BYTES), time.time())
    if found is None:
        return None
    events, _ = found
    return f"nothing was learned from the last {events} events; to see why, run: {NEXT}"


def missed(lines: "Iterable[Mapping[str, Any]]", now: float) -> tuple[int, str] | None:
    """How many events were not learned from, and why; None while capture works.

    Only those count that are since the last capture that worked, and old enough to have theirs.
    """
    settled = journal.stamp(now - SETTLING_SECONDS)
    events = starts = 0
    reason = "no capture ended"
    for line in lines:
        what, event = line.get("what"), line.get("event")
        if what == "capture" and line.get("outcome") == DONE:
            events = starts = 0
            reason = "no capture ended"
        elif what == "capture":
            reason = str(line.get("reason") or "no reason is known")
        elif what == "hook" and str(line.get("at", "")) < settled:
            events += event in claude_code.CAPTURES
            starts += event == claude_code.START
    if events >= LEAST_EVENTS:
        return events, reason
    if starts >= LEAST_STARTS and not events:
        return starts, "sessions start, but no prompt reaches the hook"
    return None
