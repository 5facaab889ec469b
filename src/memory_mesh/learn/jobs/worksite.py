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
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.fastdataclass import dataclass, field
from memory_mesh.base.typed import TypeAlias
from memory_mesh.learn.rules.retention import JobRules
from memory_mesh.learn.system_memory import ExperienceFiles
from memory_mesh.model import Commit, Lens, Memory, Scope, Standing, Status, Wanted
from memory_mesh.model.filter import Compare, Sign
from memory_mesh.model.job import JobStep
from memory_mesh.rules.audience import AUDIENCE
from memory_mesh.write.access import Access

SLICE = 100  # records of one short transaction
Slice: TypeAlias = list[tuple[Scope, JobStep]]  # what it did, and for which audience
Slices: TypeAlias = Generator[Slice, None, None]


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
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def under(prefix: str, states: Mapping[str, str]) -> dict[str, str]:
    """Returns small values by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in states.items()}
