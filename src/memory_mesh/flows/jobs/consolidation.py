"""Consolidation of traces: what executions of one project have in common becomes a learning.

::

    new traces ── a slice ──▶ goals, vectors          slow work, before any lock
                                │
             the learnings of their audience, traces left alone   (book.py)
                                ▼
             groups ──▶ texts ──▶ wordings
                                │
      ledger.commit: is it still as it was planned on? ──▶ learnings, links, marks of the traces

A slice is one transaction: the learnings and the marks of its traces are written together. Killed
anywhere, the next run goes on with the traces that have no mark. Nothing crosses an audience.
"""

from collections.abc import Sequence
from datetime import datetime

from memory_mesh.fastdataclass import replace
from memory_mesh.flows.jobs import discovery, staging
from memory_mesh.flows.jobs.book import Book, Entry, goals_of
from memory_mesh.flows.jobs.discovery import AWAY, NEW, TRACE
from memory_mesh.flows.jobs.site import Site, Slice, Slices, sliced, under
from memory_mesh.flows.jobs.writing import Plan, SlicePlan, written
from memory_mesh.flows.prepare import clean, embed
from memory_mesh.model import (
    Draft,
    Kind,
    Memory,
    Scope,
    Source,
    Status,
    Tier,
    record as model_record,
)
from memory_mesh.model.job import Due
from memory_mesh.model.trace import LEARNING_LABEL, is_trace
from memory_mesh.policy.jobs import consolidation_due
from memory_mesh.policy.learning import learning_record
from memory_mesh.policy.learning.learning_record import execution_of
from memory_mesh.policy.writing.trust import lowest

NAME = "consolidate-traces"
RAN = f"job/{NAME}/ran"


def due(site: Site) -> Due:
    """Says whether traces should be consolidated now."""
    counts, oldest = discovery.waiting(site, site.rules.traces)
    ran = site.states(RAN).get(RAN)
    last = oldest if ran is None else datetime.fromisoformat(ran)
    return consolidation_due(counts, last, site.now, site.rules)


def work(site: Site) -> Slices:
    """Consolidates every trace that nobody looked at, oldest first."""
    yield from discovery.discover(site)
    yield from discovery.returned(site)
    states = under(TRACE, site.states(TRACE))
    new = site.wanted([id_ for id_, value in states.items() if value == NEW])
    book = Book(site)
    for ids in sliced(new):
        part, done = ids, _slice(site, book, ids)
        while done is None:  # another process was faster: read anew what there is
            states, book = under(TRACE, site.states(TRACE)), Book(site)
            part = [id_ for id_ in part if states.get(id_) == NEW]
            done = _slice(site, book, part) if part else []
        yield done
    yield from staging.stage(site)


def _slice(site: Site, book: Book, part: Sequence[str]) -> Slice | None:
    """Consolidates some traces; None if another process changed what they were compared with."""
    found = {memory.id: memory for memory in site.memories(part)}
    traces = [found[id_] for id_ in part if id_ in found and _counts(found[id_])]
    goals = goals_of(site, traces)
    book.open({memory.scope for memory in traces})
    touched: dict[int, tuple[Scope, Entry]] = {}
    for memory in traces:
        entry = book.add(memory, goals[memory.id])
        touched[id(entry)] = (memory.scope, entry)
    entries = list(touched.values())
    plans = [_plan(site, *pair) for pair in entries if pair[1].known or len(pair[1].members) > 1]
    alone = {
        entry.members[0]: scope
        for scope, entry in entries
        if entry.known is None and len(entry.members) == 1
    }
    away = {id_: AWAY if id_ in found else None for id_ in part if id_ not in goals}
    ran = {RAN: model_record.iso(site.now)} if site.only is None else {}  # others wait on
    return written(site, SlicePlan(tuple(plans), tuple(part), alone, away, ran))


def _counts(memory: Memory) -> bool:
    return memory.status is Status.ACTIVE and is_trace(memory)


def _plan(site: Site, scope: Scope, entry: Entry) -> Plan:
    """Writes the learning of one group, from the newest of its traces."""
    known, members = entry.known, tuple(entry.members)
    if known is not None and not known.open:
        return Plan(entry, scope, known.record, None, members)
    held = None if known is None else known.record
    ids = (*(() if held is None else held.traces), *members)[-learning_record.MATERIAL :]
    loaded = {memory.id: memory for memory in site.memories(list(dict.fromkeys((*ids, *members))))}
    material = [
        execution_of(loaded[id_])
        for id_ in ids
        if id_ in loaded and loaded[id_].status is not Status.DELETED
    ]
    new = [execution_of(loaded[id_]) for id_ in members]
    record = learning_record.grown(held, new, material)
    draft = Draft(
        text=learning_record.text_of(record),
        scope=scope,
        source=Source(lowest(loaded[id_].source.kind for id_ in members), agent=site.access.agent),
        kind=Kind.LEARNING,
        label=LEARNING_LABEL,
        tier=Tier.LONG_TERM,
        confidence=round(record.count / (record.count + 1), 3),
        extra={learning_record.KEY: learning_record.plain(record)},
        derived_from=members,
        allow_duplicate=True,
    )
    access = replace(site.access, read_claims=False)
    (worded,) = embed(access, [clean(access, draft)], news=[not site.dry_run])
    return Plan(entry, scope, record, worded, members)
