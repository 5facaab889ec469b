"""Tells hooks what happened to memories, after it was written.

::

    write ── commit ──▶ (saved) ──▶ Hooks.tell ──▶ one queue per hook ──▶ its thread ──▶ handler

Each hook has a queue and, while something waits in it, a thread. So no write waits for a hook, no
hook waits for another, and a hook that fails or hangs keeps nothing but its own queue waiting. A
process that is killed takes with it what its hooks had not heard yet; a sink is told at least once.
"""

import inspect
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import Protocol, TypeAlias
from memory_mesh.compat.neolata.model import GraphEvent, HookState
from memory_mesh.compat.neolata.rows import event_row
from memory_mesh.formats.memory_log import entry
from memory_mesh.mesh.operation import takes_options
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.models.sinks.webhook import Webhook
from memory_mesh.platform import forks, telemetry
from memory_mesh.platform.durable_files import append_locked
from memory_mesh.platform.system import make_folder
from memory_mesh.privacy import masked

EVENTS = ("store", "supersede", "quarantine", "archive", "decay", "compress", "consolidate")
MAX_WAITING = 1_000  # events that wait for one hook; further ones are dropped and counted
CLOSING_SECONDS = 2.0  # `close` waits for the hooks for at most this long
Handler: TypeAlias = Callable[[GraphEvent], object]


class Writethrough(Protocol):
    """A hook that names the events it wants to hear of."""

    @property
    def events(self) -> Collection[str]:
        """Some of store, supersede, quarantine, archive, decay, compress and consolidate."""

    def __call__(self, event: GraphEvent) -> object:
        """Take one event, in a thread of its own; an error is counted and goes no further."""


class Hooks:
    """The hooks of one graph."""

    def __init__(self, hooks: Iterable[Writethrough | Handler] = ()) -> None:
        """Subscribe each hook to the events it names, or to all."""
        self._outlets: list[_Outlet] = []
        for hook in hooks:
            for event in checked_events(getattr(hook, "events", EVENTS)):
                self.on(event, hook)

    def on(self, event: str, handler: Handler) -> None:
        """Subscribe a handler to an event, once."""
        checked_events([event])
        if _is_no_function(handler):
            raise InvalidInput("a handler is a plain function or object that is called with events")
        for outlet in self._outlets:
            if outlet.handler == handler:
                outlet.events |= {event}
                return
        self._outlets = [*self._outlets, _Outlet(handler, event)]

    def off(self, event: str, handler: Handler) -> bool:
        """End a subscription; False if there was none."""
        checked_events([event])
        for outlet in self._outlets:
            if outlet.handler == handler and event in outlet.events:
                outlet.events -= {event}
                return True
        return False

    def wants(self, event: str) -> bool:
        """True if some hook would hear of it."""
        return any(event in outlet.events for outlet in self._outlets)

    def tell(self, events: Sequence[GraphEvent]) -> None:
        """Put events into the queues of the hooks that want them; never waits."""
        for event in events:
            for outlet in self._outlets:
                if event.event in outlet.events:
                    outlet.put(event)

    def states(self) -> list[HookState]:
        """How far each hook has come, in the order they were subscribed."""
        return [outlet.state() for outlet in self._outlets]

    def drain(self, seconds: float) -> bool:
        """Wait until every hook has heard everything; False if the time was too short."""
        end = time.monotonic() + seconds
        waited = [outlet.drained(max(0.0, end - time.monotonic())) for outlet in self._outlets]
        return all(waited)

    def close(self) -> None:
        """Give the hooks a moment to hear the rest, then drop it and say so."""
        self.drain(CLOSING_SECONDS)
        for outlet in self._outlets:
            outlet.close()


def checked_events(events: Iterable[str]) -> tuple[str, ...]:
    """The names of events, if they are some of ours."""
    names = (events,) if isinstance(events, str) else tuple(events)
    for name in names:
        if name not in EVENTS:
            raise InvalidInput(
                f"there is no event {shown(name, 80)}; there are {', '.join(EVENTS)}"
            )
    return names


class _Outlet:
    """One hook: what waits for it, and a thread while something does."""

    def __init__(self, handler: Handler, event: str) -> None:
        self.handler, self.events = handler, frozenset({event})
        self._name = getattr(handler, "__qualname__", None) or type(handler).__name__
        self._waiting: deque[GraphEvent] = deque()
        self._changed = threading.Condition()
        self._running = self._closed = False
        self._told = self._failed = self._dropped = 0
        self._last_failure: str | None = None
        forks.protect(self)

    def put(self, event: GraphEvent) -> None:
        with self._changed:
            if self._closed or len(self._waiting) >= MAX_WAITING:
                self._drop(1)
                return
            self._waiting.append(event)
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="memory-graph-hook", daemon=True).start()

    def state(self) -> HookState:
        with self._changed:
            return HookState(
                self._name,
                tuple(event for event in EVENTS if event in self.events),
                told=self._told,
                failed=self._failed,
                dropped=self._dropped,
                waiting=len(self._waiting),
                last_failure=self._last_failure,
            )

    def drained(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            if self._waiting:
                self._drop(len(self._waiting))
                self._waiting.clear()

    def after_fork(self) -> None:
        """The parent tells what waits; the child has a queue and a thread of its own."""
        self._changed = threading.Condition()
        self._waiting.clear()
        self._running = False

    def _drop(self, count: int) -> None:
        self._dropped += count
        telemetry.warn_once(
            f"hook {self._name}",
            f"the hook {self._name} is too slow: events were dropped. The memories are stored; "
            "`hook_states` counts what it did not hear",
        )

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._running = False
                    self._changed.notify_all()
                    return
                event = self._waiting.popleft()
            failure = self._told_of(event)
            with self._changed:
                self._told += failure is None
                self._failed += failure is not None
                self._last_failure = failure or self._last_failure

    def _told_of(self, event: GraphEvent) -> str | None:
        try:
            self.handler(event)
        except Exception as error:  # noqa: BLE001  # whatever a hook does, writes go on
            telemetry.debug("a hook failed", told=event.event)
            return masked(f"{type(error).__name__}: {error}")
        return None


def _is_no_function(handler: object) -> bool:
    """True for what cannot be called, or must be awaited."""
    called = getattr(handler, "__call__", None)  # noqa: B004  # of an object: how it is called
    return called is None or any(map(inspect.iscoroutinefunction, (handler, called)))


# Hooks that write on what was stored: daily Markdown files, and a web address.


@takes_options
def markdown_writethrough(
    *,
    dir: str | PathLike[str],  # noqa: A002  # neolata's name
    events: Iterable[str] = ("store",),
) -> Writethrough:
    """A hook that appends each event to `memories-YYYY-MM-DD.md` of its day (UTC) in a folder.

    Options:
        dir: the folder; it is made when the first event comes.
        events: the events to write down, such as store, supersede or decay.
    """
    return _Markdown(Path(dir), checked_events(events))


@takes_options
def webhook_writethrough(
    *,
    url: str,
    events: Iterable[str] = ("store",),
    headers: Mapping[str, str] | None = None,
    near_hosts: Iterable[str] = (),
    secret: str | None = None,
) -> Writethrough:
    """A hook that posts each event as JSON to a web address.

    Options:
        url: the address; a public one, or one whose host `near_hosts` lists.
        events: the events to post, such as store, supersede or decay.
        headers: headers of each request, such as Authorization.
        near_hosts: hosts on this machine or in your network that may be posted to.
        secret: what signs each message: 24 bytes or more in base64, with or without `whsec_`.
    """
    return _Posted(Webhook(url, headers, near_hosts, secret=secret), checked_events(events))


class _Markdown:
    """Appends under a lock, so that entries of two processes never mix."""

    def __init__(self, folder: Path, events: tuple[str, ...]) -> None:
        self._folder, self.events = folder.expanduser().absolute(), events

    def __call__(self, event: GraphEvent) -> None:
        """Append one entry; a file that is a link, or a folder that became one, is refused."""
        if self._folder.is_symlink():
            raise InvalidInput(f"{self._folder} is a link; links are not followed: name its target")
        make_folder(self._folder)
        path = self._folder / f"memories-{event.at.astimezone(UTC):%Y-%m-%d}.md"
        memory = event.memory
        facts = {
            "id": memory.id,
            "category": memory.category,
            "importance": f"{memory.importance:g}",
            "tags": ", ".join(memory.tags),
            "superseded by": memory.superseded_by or "",
            "reason": event.reason,
        }
        append_locked(path, entry(event.event, event.at, memory.agent, memory.memory, facts))


class _Posted:
    def __init__(self, hook: "Webhook", events: tuple[str, ...]) -> None:
        self._hook, self.events = hook, events

    def __call__(self, event: GraphEvent) -> None:
        """Post one event."""
        at = int(event.at.timestamp() * 1_000_000)
        self._hook.post(event_row(event), f"{event.event}_{event.memory.id}_{at}")
