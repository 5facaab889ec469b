"""Keeping a store in order: terms and vectors that wait, the index, the sinks, the chain.

Nothing here runs by itself: a host, a command or the library's own `upkeep` calls it. Each part can
be interrupted at any point and run again.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from memory_mesh.base.typed import replace
from memory_mesh.model import (
    Block,
    Body,
    Commit,
    Cursor,
    Finding,
    InvalidInput,
    SpaceState,
    Standing,
    StoreError,
    StoreIsDamaged,
    Terms,
    Verification,
    Wanted,
)
from memory_mesh.model.job import wait_after
from memory_mesh.model.ports import Index, Ledger, Maintenance, Sink, SinkCursors, VectorFeed
from memory_mesh.platform import locks, telemetry
from memory_mesh.privacy import masked
from memory_mesh.rules import audit
from memory_mesh.rules.arguments import WRITE_SLICE
from memory_mesh.text.analyzer import ANALYZER
from memory_mesh.write.prepare import terms_of

TAIL_ROWS = 50_000  # vectors: where an exact scan starts to cost more than the index
TAIL_SHARE = 0.05  # of the body: how much the tail of a very large store may grow
INSIDE_ROWS = 30_000  # the same where a database scans, and keeps the index itself
DEAD_SHARE = 0.1  # of the body's rows, deleted or drawn anew: then it is made anew
_COMMITS = 64  # blocks read per step
_DAMAGED = {"database pages", "schema", "checksums", "rows as reads return them", "chain"}
_SAMPLE = 100  # texts of each end of a store, and of its middle, whose terms `verify` reads anew
_OTHER_TERMS = "has other terms than it gives today; run `memory-mesh upkeep --rebuild-terms`"


def reindex(
    ledger: Ledger,
    namespace: str,
    *,
    everything: bool = False,
    at_once: int = WRITE_SLICE,
    between: Callable[[], None] = lambda: None,
) -> int:
    """Rewrites keyword terms of an earlier analyzer, or all; returns how many texts and skills.

    Terms are read outside of the lock, newest first; each slice is a short transaction of its own,
    and `between` is called after it.
    """
    with ledger.read(namespace) as snapshot:
        head = snapshot.head()
    known = head.analyzer == ANALYZER and not everything
    marks = {"text": head.old_texts, "skill": head.old_skills}
    start = telemetry.started()
    done = sum(
        _reindex(ledger, namespace, of, between, up_to=mark if known else None, at_once=at_once)
        for of, mark in marks.items()
    )
    telemetry.info("reindex", texts=done, ms=telemetry.milliseconds(start))
    return done


def absorb(ledger: Ledger, index: Index, namespace: str) -> list[Body]:
    """Moves large tails into the index, and makes anew what is lost or holds many dead rows."""
    return [
        body
        for state in ledger.stats(namespace).spaces
        if (
            worth_an_index(state)
            or worn(state)
            or (state.body is not None and not index.holds(namespace, state.space.name, state.body))
        )
        and (body := _absorb_one(ledger, index, namespace, state)) is not None
    ]


def index_inside(
    ledger: VectorFeed,
    namespace: str,
    states: Sequence[SpaceState],
    between: Callable[[], None] = lambda: None,
) -> list[Body]:
    """Takes large tails into an index that the ledger itself keeps, a moment per transaction."""
    found = (
        _index_one(ledger, namespace, state, between)
        for state in states
        if _is_large(state, INSIDE_ROWS)
    )
    return [body for body in found if body is not None]


def worth_an_index(state: SpaceState) -> bool:
    """True when the tail costs more to scan than an index to ask."""
    return _is_large(state, TAIL_ROWS)


def _is_large(state: SpaceState, least: int) -> bool:
    absorbed = state.body.rows if state.body is not None else 0
    return state.tail > max(least, TAIL_SHARE * absorbed)


def worn(state: SpaceState) -> bool:
    """True when the index holds so many rows the ledger has no more that it is made anew."""
    return (
        state.body is not None
        and state.body.rows - (state.vectors - state.tail) > DEAD_SHARE * state.body.rows
    )


def rebuild(ledger: Ledger, index: Index | None, namespace: str) -> list[Body]:
    """Rebuilds every index from the ledger, whatever its size; without `index` those inside it."""
    bodies = []
    for state in ledger.stats(namespace).spaces:
        ledger.absorbed(namespace, state.space, state.body, None)
        anew = replace(state, body=None)
        if index is None:
            body = _index_one(ledger, namespace, anew)
        else:
            index.drop(namespace, state.space.name)
            body = _absorb_one(ledger, index, namespace, anew)
        bodies += [body] if body is not None else []
    return bodies


def drain(
    ledger: Ledger, namespace: str, sinks: Sequence[Sink], seconds: float, now: datetime
) -> bool:
    """Delivers new blocks to every sink, for at most this long; True if all were delivered.

    A commit that a sink did not take keeps the later ones waiting, and is told again after 1, 2,
    4 … seconds. Dead ones go again first, once each, where somebody asked for that.
    """
    end = time.monotonic() + seconds
    with locks.at_most(seconds):
        told = [_drain_one(ledger, namespace, sink, end, now) for sink in sinks]
    if sinks:
        telemetry.info("feed sinks", sinks=len(sinks), complete=all(told))
    return all(told)


def prune_recalls(
    ledger: Maintenance,
    namespace: str,
    before: datetime,
    between: Callable[[], None] = lambda: None,
) -> int:
    """Deletes recall blocks from before a moment, a slice per transaction; returns how many."""
    done = 0
    while count := ledger.prune_recalls(namespace, before, WRITE_SLICE):
        done += count
        between()
    return done


def verify(ledger: Ledger, namespace: str, against: str | None) -> Verification:
    """Runs the ledger's check, and compares with a checkpoint if one is given."""
    mark = None if against is None else audit.read_checkpoint(against)
    if mark is not None and mark.namespace != namespace:
        raise InvalidInput(
            f"the checkpoint belongs to the namespace {mark.namespace!r}, not to {namespace!r}"
        )
    found = ledger.verify(namespace, mark)
    if not _DAMAGED.isdisjoint(finding.check for finding in found.findings):
        return found  # what the rows say is not what was stored: it is told already
    try:
        checked, findings = _terms_checked(ledger, namespace)
    except (StoreIsDamaged, ValueError, TypeError) as error:  # the ledger's own check told why
        told = [Finding("keyword terms of a sample", f"cannot be read: {error}")]
        checked, findings = 0, [] if found.findings else told
    return replace(
        found,
        checked={**found.checked, "keyword terms of a sample": checked},
        findings=(*found.findings, *findings),
    )


def _reindex(
    ledger: Ledger,
    namespace: str,
    of: str,
    between: Callable[[], None],
    *,
    up_to: int | None,
    at_once: int,
) -> int:
    """Texts or skills up to a number, or all; how many."""
    done = 0
    while up_to is None or up_to > 0:
        with ledger.read(namespace) as snapshot:
            found = snapshot.indexed(of, up_to, at_once)
        if not found and up_to is None:
            break
        last = found[0].number if up_to is None else up_to
        first = found[-1].number if found else 1
        anew = Terms(of, first, last, {entry.number: terms_of(entry) for entry in found})
        ledger.commit(namespace, Wanted(), partial(_written, anew))
        done += len(found)
        up_to = first - 1
        between()
    return done


def _written(terms: Terms, _: Standing) -> Commit:
    return Commit(terms=terms)


def _terms_checked(ledger: Ledger, namespace: str) -> tuple[int, list[Finding]]:
    """Of the newest, the middle and the oldest texts: how many were read, and what differs."""
    with ledger.read(namespace) as snapshot:
        head = snapshot.head()
        if head.analyzer != ANALYZER:
            return 0, []  # the ledger told of all of them
        sample = {entry.number: entry for entry in snapshot.indexed("text", None, _SAMPLE)}
        highest = max(sample, default=0)
        for up_to in (highest // 2, _SAMPLE):
            entries = snapshot.indexed("text", up_to, _SAMPLE)
            sample.update((entry.number, entry) for entry in entries)
    today = [entry for number, entry in sorted(sample.items()) if number > head.old_texts]
    return len(today), [
        Finding("keyword terms of a sample", f"text {entry.number} {_OTHER_TERMS}")
        for entry in today
        if entry.terms != terms_of(entry)
    ]


def _absorb_one(feed: VectorFeed, index: Index, namespace: str, state: SpaceState) -> Body | None:
    """The ledger names a body only after it is whole on disk: a kill in between changes nothing."""
    start = telemetry.started()
    body = index.absorb(
        namespace,
        state.space.name,
        dimension=state.space.dimension,
        base=None if worn(state) else state.body,
        rows=lambda after: feed.vectors(namespace, state.space, after),
    )
    telemetry.info(
        "absorb", vectors=0 if body is None else body.rows, ms=telemetry.milliseconds(start)
    )
    if body is not None and body != state.body:
        feed.absorbed(namespace, state.space, state.body, body)
    return body


def _index_one(
    ledger: VectorFeed,
    namespace: str,
    state: SpaceState,
    between: Callable[[], None] = lambda: None,
) -> Body | None:
    """The index inside the ledger once it holds every vector; None where the ledger keeps none."""
    start, before = telemetry.started(), state.body
    body = ledger.index_some(namespace, state.space)
    while body is not None and body != before:
        between()
        body, before = ledger.index_some(namespace, state.space), body
    if body is not None:
        telemetry.info("index", vectors=body.rows, ms=telemetry.milliseconds(start))
    return body


def _drain_one(ledger: Ledger, namespace: str, sink: Sink, end: float, now: datetime) -> bool:
    for name, seq, failure in ledger.dead_letters(namespace):
        if name == sink.name and not failure and time.monotonic() < end:
            _deliver(ledger, namespace, sink, ledger.blocks(namespace, seq - 1, 1))
    stood = ledger.sink_cursors(namespace).get(sink.name, Cursor())
    if stood.attempts and stood.at and now < stood.at + wait_after(stood.attempts):
        return False
    cursor = stood.seq
    while blocks := ledger.blocks(namespace, cursor, _COMMITS):
        for commit in _by_commit(blocks):
            if time.monotonic() >= end or not _deliver(ledger, namespace, sink, commit):
                return False
            cursor = commit[0].seq or cursor
    return True


def _deliver(cursors: SinkCursors, namespace: str, sink: Sink, commit: list[Block]) -> bool:
    """One commit to one sink; a failure is counted and never reaches the writer."""
    failure = None
    gone = cursors.forgotten(namespace, {id_ for each in commit for id_ in each.entry.memories})
    told = [  # without words about memories that were deleted meanwhile
        each
        if gone.isdisjoint(each.entry.memories)
        else replace(each, entry=replace(each.entry, wire=None, metadata={}))
        for each in commit
    ]
    try:
        sink.deliver(namespace, told)
    except Exception as error:  # noqa: BLE001  # whatever a sink does, writes go on
        failure = masked(f"{type(error).__name__}: {error}")
    if failure is not None:
        telemetry.debug("a sink failed", seq=commit[0].seq)
    try:
        cursors.sink_moved(namespace, sink.name, commit[0].seq or 0, failure)
    except StoreError:  # the cursor stays where it was, and this commit is told once more
        return False
    return failure is None


def _by_commit(blocks: Sequence[Block]) -> list[list[Block]]:
    commits: dict[int, list[Block]] = {}
    for block in blocks:
        commits.setdefault(block.seq or 0, []).append(block)
    return list(commits.values())
