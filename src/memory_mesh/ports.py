"""The outside things, as small Protocols: what a flow may ask of an engine."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from memory_mesh.model import (
    Block,
    Commit,
    Entry,
    Head,
    Lens,
    Matches,
    Memory,
    Page,
    Rivals,
    Stats,
    Verification,
    Wanted,
)


class Clock(Protocol):
    """The time of day, and nothing else."""

    def now(self) -> datetime:
        """The present, aware and in UTC."""


class Snapshot(Protocol):
    """One read transaction over one namespace: every answer is of the same moment."""

    def head(self) -> Head:
        """The namespace's counter and the end of its chain."""

    def match(self, terms: Sequence[str], lens: Lens, limit: int) -> Matches:
        """The best versions by keyword among those the lens sees."""

    def load(self, versions: Sequence[int]) -> dict[int, Memory]:
        """Versions by their number, as found by `match`."""

    def get(self, ids: Sequence[str], lens: Lens) -> list[Memory]:
        """The memories with these ids that the lens sees, in the order asked."""

    def page(self, lens: Lens, limit: int, cursor: str | None) -> Page:
        """Newest first, `limit` at a time."""

    def history(self, memory_id: str) -> list[Memory]:
        """Every version of one memory, oldest first."""

    def next_bound(self, now: datetime) -> datetime | None:
        """The next moment at which some memory starts or ceases to be valid."""

    def stats(self) -> Stats:
        """The namespace in numbers."""


class Ledger(Protocol):
    """The truth: one write is one transaction, and any number of processes may share it."""

    def commit(self, namespace: str, wanted: Wanted, decide: Callable[[Rivals], Commit]) -> Commit:
        """Take the lock, read the rivals, let `decide` decide, write all of it or nothing."""

    def read(self, namespace: str) -> AbstractContextManager[Snapshot]:
        """One read transaction; a namespace that does not exist reads as empty."""

    def note(self, namespace: str, entry: Entry) -> None:
        """Record a recall block soon: with the next commit, when 64 wait, or at close."""

    def use(self, namespace: str, ids: Sequence[str], entry: Entry | None) -> None:
        """Count one use of each memory and write the record of it before returning."""

    def vote(self, namespace: str, memory_id: str, *, helpful: bool) -> None:
        """Add one vote to a memory, in place."""

    def blocks(self, namespace: str, after_seq: int, limit: int) -> list[Block]:
        """Chained blocks of the next commits, whole commits only, oldest first."""

    def recalls(self, namespace: str, limit: int) -> list[Block]:
        """The latest recall blocks, newest first."""

    def verify(self, namespace: str) -> Verification:
        """Walk the chain and every invariant; report, never repair."""

    def block_at(self, namespace: str, position: int) -> Block | None:
        """The chained block at a position."""

    def sink_cursor(self, namespace: str, sink: str) -> tuple[int, int]:
        """How far a sink has come (seq) and how often the next commit failed."""

    def sink_moved(self, namespace: str, sink: str, seq: int, failure: str | None) -> None:
        """Move a sink's cursor; with a failure, count it, and after five give the commit up."""

    def namespaces(self) -> Iterator[str]:
        """The names of all namespaces, sorted."""

    def close(self) -> None:
        """Write what waits and release every file."""


class Sink(Protocol):
    """Something that wants to hear of every write, at least once."""

    @property
    def name(self) -> str:
        """The name its cursor is kept under."""

    def deliver(self, namespace: str, blocks: Sequence[Block]) -> None:
        """Take the blocks of one commit, or raise to be asked again."""


class Ids(Protocol):
    """Where ids come from."""

    def draw(self, prefix: str) -> str:
        """A new id `<prefix>_<ms>_<6 hex>`, never the same twice in this process."""
