"""Finds the traces that consolidation has not looked at, without reading those that it has.

Traces are listed newest first, down to the newest one that was found before; each new one is put on
the list of small values. The cost grows with the new traces, not with all there are.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import chain

from memory_mesh.learn.jobs.worksite import Site, Slices, sliced, under
from memory_mesh.learn.rules import trace_learnings
from memory_mesh.model import Commit, Memory, Scope, Standing, Status, Wanted
from memory_mesh.model.trace import LABEL, is_trace

NEW, ALONE, AWAY = "new", "alone", "away"
TRACE = "trace/"
NEWEST = "job/consolidate-traces/newest"
_OVER = (Status.ARCHIVED, Status.SUPERSEDED)


def discover(site: Site) -> Slices:
    """Puts new traces on the list, a page at a time; afterwards the newest is where the next stops.

    A run that is killed before the end starts at the top again, and finds the same.
    """
    first, reached = _newest(site), site.states(NEWEST).get(NEWEST)
    for fresh in _unlisted(site):
        if fresh:
            names = {
                f"{TRACE}{memory.id}": NEW if memory.status is Status.ACTIVE else AWAY
                for memory in fresh
            }
            site.commit(
                Wanted(states=tuple(names)),
                partial(
                    lambda names, standing: Commit(
                        states={
                            name: value
                            for name, value in names.items()
                            if name not in standing.states
                        }
                    ),
                    names,
                ),
                names,
            )
            yield []
    if first is not None and first != reached:
        site.commit(Wanted(), lambda _: Commit(states={NEWEST: first}), {NEWEST: first})


def _newest(site: Site) -> str | None:
    with site.access.ledger.read(site.access.namespace) as snapshot:
        page = snapshot.page(site.lens(LABEL), 1, None)
    return page[0].id if page else None


def returned(site: Site) -> Slices:
    """Puts traces that were away, deleted or in quarantine, on the list where they are back."""
    away = [id_ for id_, value in under(TRACE, site.states(TRACE)).items() if value == AWAY]
    for part in sliced(away):
        back: dict[str, str | None] = {
            f"{TRACE}{memory.id}": None if memory.status in _OVER else NEW
            for memory in site.memories(part)
            if memory.status is Status.ACTIVE or memory.status in _OVER
        }
        if back:
            site.commit(Wanted(), partial(_set, back), back)
            yield []


def waiting(site: Site, enough: int) -> tuple[Counter[Scope], datetime | None]:
    """Counts the traces that nobody looked at, by audience, and says since when they wait.

    Stops where one audience has enough.
    """
    listed = [id_ for id_, value in under(TRACE, site.states(TRACE)).items() if value == NEW]
    counts: Counter[Scope] = Counter()
    oldest: datetime | None = None
    for memories in chain(map(site.memories, sliced(listed)), _unlisted(site)):
        active = [memory for memory in memories if memory.status is Status.ACTIVE]
        counts.update(memory.scope for memory in active)
        times = [memory.created for memory in active]
        oldest = min((*times, *([oldest] if oldest else [])), default=None)
        if enough and max(counts.values(), default=0) >= enough:
            break
    return counts, oldest


def _unlisted(site: Site) -> Iterator[list[Memory]]:
    """The traces above the newest that was found before, newest first."""
    reached = site.states(NEWEST).get(NEWEST)
    for page in site.labelled(LABEL):
        ids = [memory.id for memory in page]
        end = reached in ids
        yield _fresh(site, page[: ids.index(reached)] if end and reached else page)
        if end:
            return


def _fresh(site: Site, memories: Sequence[Memory]) -> list[Memory]:
    """Those that are on no list and that no learning was made from."""
    found = [memory for memory in memories if is_trace(memory) and memory.status not in _OVER]
    names = [f"{TRACE}{memory.id}" for memory in found]
    with site.access.ledger.read(site.access.namespace) as snapshot:
        listed = {*snapshot.standing(Wanted(states=tuple(names))).states, *site.planned}
    found = [memory for memory in found if f"{TRACE}{memory.id}" not in listed]
    used = _used(site, [memory.id for memory in found])
    return [memory for memory in found if memory.id not in used]


def _used(site: Site, ids: Sequence[str]) -> set[str]:
    """The traces that a learning was made from."""
    if not ids:
        return set()
    with site.access.ledger.read(site.access.namespace) as snapshot:
        links = snapshot.links(ids, None, ["derived_from"])
        makers = list(dict.fromkeys(link.source for link in links))
        found = snapshot.get(makers, site.lens())
    learnings = {memory.id for memory in found if trace_learnings.read(memory) is not None}
    return {link.target for link in links if link.source in learnings}


def _set(names: dict[str, str | None], _: Standing) -> Commit:
    return Commit(states=names)
