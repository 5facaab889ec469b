"""The jobs that keep one namespace in order: one list for `upkeep`, the daemon and workers.

Each may be stopped at any point and run again, by any process; run twice, it changes nothing. A job
with nothing to do writes nothing.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta

from memory_mesh import flows
from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.model import UpkeepReport
from memory_mesh.model.job import DISTILL, WEBHOOKS, JobReport
from memory_mesh.verbs.jobs import JobVerbs
from memory_mesh.verbs.lessons import LessonVerbs

_SINK_SECONDS = 60.0  # the sinks are fed for at most this long


def _nothing(_: int) -> None:
    """What a caller who does not ask for the number of waiting texts does with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a job is run: what is called between its slices, and how large they are."""

    pause: Callable[[], None]  # it may wait for others, or raise to stop here
    steps: Callable[[int], None]  # with the number of records that a job worked on
    texts: Callable[[int], None] | None = None  # with the number of texts embedded so far
    waiting: Callable[[int], None] = _nothing  # with the number of texts to embed
    small: bool = False  # embed few texts at a time


class MaintenanceVerbs(LessonVerbs, JobVerbs):
    """Methods for the jobs of a namespace; none of them is public."""

    def _maintained(self, name: str, report: UpkeepReport, manner: Manner) -> UpkeepReport:
        """Runs one of `MAINTENANCE` and returns the report with what it did."""
        if name not in MAINTENANCE:
            raise InvalidInput(f"there is no job {name!r}; the jobs are: {', '.join(MAINTENANCE)}")
        return MAINTENANCE[name](self, report, manner)

    def _maintenance_wanted(self) -> list[str]:
        """The jobs that the settings and sinks of this mesh give a meaning."""
        left_out = {
            DISTILL: not self._config.enable_wisdom_distillation,
            WEBHOOKS: not self._opened().sinks,
        }
        return [name for name in MAINTENANCE if not left_out.get(name)]

    def _embed_pending(self, report: UpkeepReport, manner: Manner) -> UpkeepReport:
        """Rewrites old keyword terms, embeds what waits, links it, and absorbs large tails."""
        parts, namespace, pause = self._opened(), self._config.namespace, manner.pause
        reindexed = flows.upkeep.reindex(parts.ledger, namespace, between=pause)
        embedded = flows.reembedding.keep_up(
            self._access(), manner.texts, pause if manner.small else None, manner.waiting
        )
        states = parts.ledger.stats(namespace).spaces
        linked = flows.linking.link_all(self._access(), states, pause) if states else 0
        pause()
        wanted = any(state.body or flows.upkeep.worth_an_index(state) for state in states)
        index = parts.index() if wanted else None
        bodies = flows.upkeep.index_inside(parts.ledger, namespace, states, pause)
        if index is not None:
            bodies += flows.upkeep.absorb(parts.ledger, index, namespace)
        return replace(
            report, embedded=embedded, bodies=tuple(bodies), reindexed=reindexed, linked=linked
        )

    def _feed_webhooks(self, report: UpkeepReport, _: Manner) -> UpkeepReport:
        """Hands the sinks what was written since the last time."""
        parts = self._opened()
        told = flows.upkeep.drain(parts.ledger, self._config.namespace, parts.sinks, _SINK_SECONDS)
        return replace(report, sinks_told=told)

    def _distill_if_due(self, report: UpkeepReport, _: Manner) -> UpkeepReport:
        """Learns from failures, where the settings say so and something was stored since."""
        if not self._config.enable_wisdom_distillation or not self.distillation_due():
            return report
        return replace(report, lessons=len(self.distill().learned))

    def _consolidate(self, report: UpkeepReport, manner: Manner) -> UpkeepReport:
        """Makes learnings of new traces, if it is due."""
        done = self._run_due(["consolidate-traces"], manner)
        return replace(report, jobs=(*report.jobs, *done))

    def _retain(self, report: UpkeepReport, manner: Manner) -> UpkeepReport:
        """Archives, compresses and deletes what has reached its age."""
        pruned = 0
        if days := self._config.recall_days:
            before = self._now() - timedelta(days=days)
            ledger = self._opened().ledger
            pruned = flows.upkeep.prune_recalls(
                ledger, self._config.namespace, before, manner.pause
            )
        others = [job.name for job in flows.jobs.JOBS if job.name != "consolidate-traces"]
        done = self._run_due(others, manner)
        return replace(report, recalls_pruned=pruned, jobs=(*report.jobs, *done))

    def _run_due(self, names: Sequence[str], manner: Manner) -> list[JobReport]:
        return flows.jobs.run(
            self._site(dry_run=False),
            names,
            shows=self._shows(None, ()),
            progress=lambda _job, steps: manner.steps(steps),
            only_due=True,
        )


# In this order. A further job, such as embedding everything anew, is one more entry.
MAINTENANCE: dict[str, Callable[[MaintenanceVerbs, UpkeepReport, Manner], UpkeepReport]] = {
    "embed-pending": MaintenanceVerbs._embed_pending,  # noqa: SLF001
    WEBHOOKS: MaintenanceVerbs._feed_webhooks,  # noqa: SLF001
    DISTILL: MaintenanceVerbs._distill_if_due,  # noqa: SLF001
    "consolidate-traces": MaintenanceVerbs._consolidate,  # noqa: SLF001
    "retention": MaintenanceVerbs._retain,  # noqa: SLF001
}
