"""Where a job works: one namespace at one moment, for real or as a dry run.

Small values of jobs (`state` in the ledger) are read and set here, under these names::

    trace/<trace>               new, alone, away, or the learning that holds what it taught
    archived/<learning>/<trace> a trace in the archive that is not packed yet
    learning/<learning>         the hash of the text that consolidation wrote, and its version
    stage/<learning>            a skill is to be staged from it
    staged/<learning>           the hash of the steps that were staged
    job/<job>/<name>            how far a job has come

In a dry run nothing is committed: what would be set is kept in `planned`, memories as they would be
in `drafted`, and later steps see both.

It finds the traces that consolidation has not looked at, without reading those that it has.

Traces are listed newest first, down to the newest one that was found before; each new one is put on
the list of small values. The cost grows with the new traces, not with all there are.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain

from memory_mesh.base.typed import TypeAlias, dataclass, field
from memory_mesh.learn.rules import trace_learnings
from memory_mesh.learn.rules.retention import JobRules, Lifecycle
from memory_mesh.learn.system_memory import ExperienceFiles
from memory_mesh.model import Commit, Lens, Memory, Scope, Standing, Status, Wanted
from memory_mesh.model.commit import Sought
from memory_mesh.model.job import JobStep
from memory_mesh.model.query import Compare, Sign
from memory_mesh.model.trace import LABEL, is_trace
from memory_mesh.rules.trust import AUDIENCE
from memory_mesh.write.access import Access

SLICE = 100  # records of one short transaction
Slice: TypeAlias = list[tuple[Scope, JobStep]]  # what it did, and for which audience
Slices: TypeAlias = Generator[Slice, None, None]
NEW, ALONE, AWAY = "new", "alone", "away"
TRACE = "trace/"
NEWEST = "job/consolidate-traces/newest"
_OVER = (Status.ARCHIVED, Status.SUPERSEDED)


class PlanIsStale(Exception):
    """Raised inside a transaction when the store is no longer as it was planned on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The namespace a job works in, the time, the rules, and whether it is a dry run."""

    access: Access
    now: datetime
    rules: JobRules
    dry_run: bool = False
    system: tuple[Access, ExperienceFiles] | None = None  # the log of experiences, where it is on
    only: Callable[[Scope], bool] | None = None  # the audiences to work for; all of them if None
    lifecycle: Lifecycle = Lifecycle()  # of the upkeep of memories
    erase: Callable[[Sought, str], Sequence[str]] = lambda *_: ()  # for good, and why: what went
    between: Callable[[], None] = lambda: None  # between pages that are only read; it may raise
    planned: dict[str, str | None] = field(default_factory=dict)
    drafted: dict[str, Memory] = field(default_factory=dict)

    def states(self, prefix: str) -> dict[str, str]:
        """Returns the small values under a prefix, as a dry run would have left them."""
        with self.access.ledger.read(self.access.namespace) as snapshot:
            found: dict[str, str | None] = {**snapshot.states(prefix)}
        found |= {name: each for name, each in self.planned.items() if name.startswith(prefix)}
        return {name: value for name, value in sorted(found.items()) if value is not None}

    def memories(self, ids: Sequence[str]) -> list[Memory]:
        """Returns memories by id, whatever their audience and status; as a dry run left them."""
        found: list[Memory] = []
        for part in sliced(ids):
            with self.access.ledger.read(self.access.namespace) as snapshot:
                found += snapshot.get(part, self.lens())
        if not self.drafted:
            return found
        stored = {memory.id for memory in found}
        new = [self.drafted[id_] for id_ in ids if id_ in self.drafted and id_ not in stored]
        return [*(self.drafted.get(memory.id, memory) for memory in found), *new]

    def wanted(self, ids: Sequence[str]) -> list[str]:
        """Returns the ids of memories whose audience this site works for."""
        only = self.only
        if only is None:
            return list(ids)
        return [memory.id for memory in self.memories(ids) if only(memory.scope)]

    def labelled(self, label: str) -> Iterator[list[Memory]]:
        """Pages of the memories with a label, newest first, whatever their audience and status."""
        cursor: str | None = None
        while True:
            with self.access.ledger.read(self.access.namespace) as snapshot:
                page = snapshot.page(self.lens(label), SLICE, cursor)
            yield list(page)
            if (cursor := page.cursor) is None:
                return

    def lens(self, label: str | None = None) -> Lens:
        """Returns a lens on everything, or on one label; jobs compare audiences themselves."""
        return Lens(
            now=self.now,
            across=AUDIENCE,
            statuses=frozenset(Status),
            any_validity=True,
            where=None if label is None else Compare("label", Sign.EQUAL, label),
        )

    def commit(
        self,
        wanted: Wanted,
        decide: Callable[[Standing], Commit],
        planned: Mapping[str, str | None],
    ) -> Commit | None:
        """Commits a decision; None where another process was faster, or in a dry run.

        `planned` is what a dry run keeps in place of the commit's small values.
        """
        if self.dry_run:
            self.planned.update(planned)
            return None
        try:
            return self.access.ledger.commit(self.access.namespace, wanted, decide)
        except PlanIsStale:
            return None


def sliced(ids: Sequence[str], size: int = SLICE) -> Iterator[Sequence[str]]:
    """Yields the ids, at most a slice at a time."""
    yield from (ids[start : start + size] for start in range(0, len(ids), size))


def under(prefix: str, states: Mapping[str, str]) -> dict[str, str]:
    """Returns small values by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in states.items()}


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
            site.commit(Wanted(states=tuple(names)), partial(_listed, names), names)
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


def _listed(names: dict[str, str], standing: Standing) -> Commit:
    """Puts traces on the list that another process did not put there meanwhile."""
    return Commit(
        states={name: value for name, value in names.items() if name not in standing.states}
    )


def _set(names: dict[str, str | None], _: Standing) -> Commit:
    return Commit(states=names)
