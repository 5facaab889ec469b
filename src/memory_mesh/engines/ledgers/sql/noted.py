"""Records of reads that wait for a transaction: searches, uses, and what entered a prompt."""

import threading
from collections.abc import Sequence
from datetime import datetime

from memory_mesh import log
from memory_mesh.errors import MayBeStored
from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Entry
from memory_mesh.typed import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from memory_mesh.model.pack import Injection

FULL = 64  # records after which they are written
LOCKED = "a namespace was locked for too long. Look for a stopped process."
MOST = 1_000  # records of a namespace that wait in a process; above that the oldest go


@dataclass(frozen=True, slots=True)
class Noted:
    """One record: of a search, of an injection, or of memories that were used."""

    entry: Entry | None = None
    injection: "Injection | None" = None
    used: tuple[str, ...] = ()
    at: datetime | None = None  # of the use


class Taken:
    """What a transaction takes from the buffer, once it has begun; it waits again if that fails."""

    def __init__(self, buffer: "NotedBuffer", namespace: str) -> None:
        self._buffer, self._namespace = buffer, namespace
        self.noted: list[Noted] = []

    def __enter__(self) -> Self:
        """Takes nothing yet."""
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Gives back what a failed transaction took, but nothing that may be written already."""
        if failure is not None and not issubclass(failure, MayBeStored):
            self._buffer.wait_again(self._namespace, self.noted)

    def all(self) -> list[Noted]:
        """Takes all that waits."""
        self.noted += self._buffer.drained(self._namespace)
        return self.noted


class NotedBuffer:
    """Records that wait for the next transaction; what a failed one took comes back."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: dict[str, list[Noted]] = {}
        self._added = 0
        self.dropped: int = 0

    def add(self, namespace: str, noted: Noted) -> bool:
        """Keep the record; True for every 64th, when it is time to write."""
        with self._mutex:
            waiting = self._waiting.setdefault(namespace, [])
            waiting.append(noted)
            self._added += 1
            self._cut(waiting)
            return len(waiting) == FULL or (len(waiting) > FULL and self._added % FULL == 0)

    def taken(self, namespace: str) -> Taken:
        """What waits, to be written now."""
        return Taken(self, namespace)

    def wait_again(self, namespace: str, noted: Sequence[Noted]) -> None:
        """Keeps records that were taken and not written, before those that came meanwhile."""
        if noted:
            with self._mutex:
                waiting = [*noted, *self._waiting.get(namespace, [])]
                self._cut(waiting)
                self._waiting[namespace] = waiting

    def drained(self, namespace: str) -> list[Noted]:
        """All that waits; it waits no longer."""
        with self._mutex:
            return self._waiting.pop(namespace, [])

    def holds(self, namespace: str) -> bool:
        """Whether anything waits."""
        with self._mutex:
            return bool(self._waiting.get(namespace))

    def namespaces(self) -> list[str]:
        """Those for which something waits."""
        with self._mutex:
            return [name for name, noted in self._waiting.items() if noted]

    def after_fork(self) -> None:
        """A child leaves its parent's records to the parent."""
        self._mutex = threading.Lock()
        self._waiting = {}

    def _cut(self, waiting: list[Noted]) -> None:
        """Forgets the oldest beyond what may wait."""
        if (many := len(waiting) - MOST) > 0:
            del waiting[:many]
            tell_lost(many)
            self.dropped += many


def tell_lost(many: int, why: str = LOCKED) -> None:
    """Warns that records of reads are lost; the memories are not touched by it."""
    log.warn_once(
        "records of reads",
        f"records of searches and uses are lost, because {why} The memories are not touched by it.",
    )
    log.debug("records of reads were dropped", records=many)


def uses(noted: Sequence[Noted]) -> list[tuple[datetime, str]]:
    """When each memory was used, in order."""
    return [(one.at, id_) for one in noted if one.at is not None for id_ in one.used]
