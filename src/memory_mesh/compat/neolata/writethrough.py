"""Hooks that write on what was stored: daily Markdown files, and a web address."""

from collections.abc import Iterable, Mapping
from datetime import UTC
from os import PathLike
from pathlib import Path

from memory_mesh.compat.neolata.hooks import Writethrough, checked_events
from memory_mesh.compat.neolata.model import GraphEvent
from memory_mesh.compat.neolata.rows import event_row
from memory_mesh.errors import InvalidInput
from memory_mesh.formats.event_log import entry
from memory_mesh.process.durable_files import append_locked
from memory_mesh.process.private import make_folder
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.engines.sinks.webhook import Webhook


def markdown_writethrough(
    *,
    dir: str | PathLike[str],  # noqa: A002  # neolata's name
    events: Iterable[str] = ("store",),
) -> Writethrough:
    """A hook that appends each event to `memories-YYYY-MM-DD.md` of its day (UTC) in a folder.

    Options:
        dir: the folder; it is made when the first event comes.
        events: the events to write down: store, supersede, quarantine, archive.
    """
    return _Markdown(Path(dir), checked_events(events))


def webhook_writethrough(
    *,
    url: str,
    events: Iterable[str] = ("store",),
    headers: Mapping[str, str] | None = None,
    near_hosts: Iterable[str] = (),
) -> Writethrough:
    """A hook that posts each event as JSON to a web address.

    Options:
        url: the address; a public one, or one whose host `near_hosts` lists.
        events: the events to post: store, supersede, quarantine, archive.
        headers: headers of each request, such as Authorization.
        near_hosts: hosts on this machine or in your network that may be posted to.
    """
    from memory_mesh.engines.sinks.webhook import Webhook  # few graphs have one

    return _Posted(Webhook(url, headers, near_hosts), checked_events(events))


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
        self._hook.post(event_row(event))
