"""Keeping a store in order: vectors that wait, the index, the sinks, the chain.

Nothing here runs by itself: a host, a command or the library's own `upkeep` calls it. Each part can
be interrupted at any point and run again.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from memory_mesh.desk import Desk
from memory_mesh.errors import InvalidInput, StoreError, TextRefused
from memory_mesh.model import Block, Body, SpaceState, Verification
from memory_mesh.policy import audit
from memory_mesh.policy.privacy import masked
from memory_mesh.ports import Index, Ledger, Sink
from memory_mesh.remember import SLICE
from memory_mesh.values import replace
from memory_mesh.wording import embed_waiting

TAIL_ROWS = 50_000  # vectors: where an exact scan starts to cost more than the index
TAIL_SHARE = 0.2  # of the body: how much the tail of a large store may grow
_COMMITS = 64  # blocks read per step
_PROBE = "which space is this"


def embed_all(desk: Desk, progress: Callable[[int], None] | None = None) -> int:
    """Give every text that waits its vector in the embedder's space; how many got one."""
    if desk.embedder is None:
        return 0
    space = desk.embedder.embed([_PROBE], query=True).space
    done = 0
    with suppress(TextRefused):  # only such texts are left
        while count := embed_waiting(desk.ledger, desk.namespace, desk.embedder, space, SLICE):
            done += count
            if progress is not None:
                progress(done)
    return done


def absorb(ledger: Ledger, index: Index, namespace: str) -> list[Body]:
    """Take tails that outgrew a scan into the index, and dead rows out of it."""
    return [
        body
        for state in ledger.stats(namespace).spaces
        if (worth_an_index(state) or _lost(index, namespace, state))
        and (body := _absorb_one(ledger, index, namespace, state)) is not None
    ]


def worth_an_index(state: SpaceState) -> bool:
    """True when the tail costs more to scan than an index to ask."""
    absorbed = state.body.rows if state.body is not None else 0
    return state.vectors - absorbed > max(TAIL_ROWS, TAIL_SHARE * absorbed)


def rebuild(ledger: Ledger, index: Index, namespace: str) -> list[Body]:
    """Make every index anew from the ledger, whatever its size."""
    bodies = []
    for state in ledger.stats(namespace).spaces:
        ledger.absorbed(namespace, state.space, state.body, None)
        index.drop(namespace, state.space.name)
        body = _absorb_one(ledger, index, namespace, replace(state, body=None))
        bodies += [body] if body is not None else []
    return bodies


def drain(ledger: Ledger, namespace: str, sinks: Sequence[Sink], seconds: float) -> bool:
    """Hand every sink what it has not heard, for at most this long; True when all is told."""
    end = time.monotonic() + seconds
    told = [_drain_one(ledger, namespace, sink, end) for sink in sinks]
    return all(told)


def verify(ledger: Ledger, namespace: str, against: str | None) -> Verification:
    """The ledger's own check, held against a checkpoint kept elsewhere if there is one."""
    mark = None if against is None else audit.read_checkpoint(against)
    if mark is not None and mark.namespace != namespace:
        message = f"the checkpoint is of the namespace {mark.namespace!r}, not of {namespace!r}"
        raise InvalidInput(message)
    return ledger.verify(namespace, mark)


def _lost(index: Index, namespace: str, state: SpaceState) -> bool:
    """True when the ledger names an index that is not there any more."""
    return state.body is not None and not index.holds(namespace, state.space.name, state.body)


def _absorb_one(ledger: Ledger, index: Index, namespace: str, state: SpaceState) -> Body | None:
    """The ledger names a body only after it is whole on disk: a kill in between changes nothing."""
    body = index.absorb(
        namespace,
        state.space.name,
        dimension=state.space.dimension,
        base=state.body,
        rows=lambda after: ledger.vectors(namespace, state.space, after),
    )
    if body is not None and body != state.body:
        ledger.absorbed(namespace, state.space, state.body, body)
    return body


def _drain_one(ledger: Ledger, namespace: str, sink: Sink, end: float) -> bool:
    cursor = ledger.sink_cursor(namespace, sink.name).seq
    while blocks := ledger.blocks(namespace, cursor, _COMMITS):
        for commit in _by_commit(blocks):
            if time.monotonic() >= end:
                return False
            if not _deliver(ledger, namespace, sink, commit):
                return False
            cursor = commit[0].seq or cursor
    return True


def _deliver(ledger: Ledger, namespace: str, sink: Sink, commit: list[Block]) -> bool:
    """One commit to one sink; a failure is counted and never reaches the writer."""
    failure = None
    try:
        sink.deliver(namespace, commit)
    except Exception as error:  # noqa: BLE001  # whatever a sink does, writes go on
        failure = masked(f"{type(error).__name__}: {error}")
    try:
        ledger.sink_moved(namespace, sink.name, commit[0].seq or 0, failure)
    except StoreError:  # the cursor stays where it was, and this commit is told once more
        return False
    return failure is None


def _by_commit(blocks: Sequence[Block]) -> list[list[Block]]:
    commits: dict[int, list[Block]] = {}
    for block in blocks:
        commits.setdefault(block.seq or 0, []).append(block)
    return list(commits.values())
