"""Keep a store in order: vectors, index, sinks, audit, another embedding model; and its figures."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, Any, dataclass, replace
from memory_mesh.care import key_file
from memory_mesh.ledgers.shared.named_values import ERASING
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import needs, reads
from memory_mesh.mesh.operations.lessons import LessonVerbs
from memory_mesh.mesh.operations.system_memory import SystemMemoryVerbs
from memory_mesh.mesh.options import (
    Across,
    AsOwner,
    Condition,
    Limit,
    Progress,
    Reader,
    Statuses,
)
from memory_mesh.mesh.view import Family, View, family
from memory_mesh.model import (
    Block,
    Body,
    Finding,
    InvalidInput,
    MeshError,
    MissingExtra,
    NotAllowed,
    NotFound,
    Part,
    Scope,
    Space,
    StoreError,
    UpkeepReport,
    Verification,
)
from memory_mesh.model.job import DISTILL, WEBHOOKS, Due, JobReport
from memory_mesh.model.reembedding import Comparison, ReembedState
from memory_mesh.platform import telemetry
from memory_mesh.rules import audit, trust
from memory_mesh.rules.arguments import check_limit, check_text, check_whole, shown_namespace
from memory_mesh.write.access import Access

if TYPE_CHECKING:
    from memory_mesh.care.erase import Ground
    from memory_mesh.learn.jobs import Site
    from memory_mesh.learn.system_memory import ExperienceFiles
    from memory_mesh.mesh.operations.access_keys import AccessKeyVerbs
    from memory_mesh.mesh.operations.projects import ProjectVerbs
    from memory_mesh.model.pack import Injection
    from memory_mesh.model.ports import Embedder
    from memory_mesh.model.trigger import MemoryMetadata

_MOST_QUERIES, _DEEPEST = 500, 1_000
_COUNTED, _MOST_SAMPLED = ("kind", "source_kind", "status", "project", "day"), 100_000
# Maintenance in short slices: which jobs are due, and running them.


class ReembedVerbs(View):
    """Methods that give a namespace vectors of another model, and let searches use them."""

    def reembed(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        progress: Progress = None,
        between: Callable[[], None] | None = None,
    ) -> ReembedState:
        """Makes vectors of another model for every text; searches use the former one meanwhile.

        May be interrupted at any point and run again, by any process: it makes what is missing.

        Options:
            between: called after each small transaction; it may wait, or raise to stop here.
        """
        access = self._embedding_access()
        if self._opened().ledger.stats(self._config.namespace).seq == 0:
            raise InvalidInput("the namespace is empty: set the model, and texts get its vectors")
        if model is not None:
            models = self._opened().models()
            flows.reembedding.begin(access, models.open(model), models.own_name)
        _, embedder = flows.reembedding.beside(access, flows.recall.stated_in(access))
        done = flows.reembedding.fill(access, embedder, progress, between)
        return flows.reembedding.state(access, done)

    def state(self) -> ReembedState:
        """Returns which model searches use, which is kept beside it, and how far that one is."""
        return flows.reembedding.state(self._access())

    def compare(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        queries: int = 50,
        depth: int = 10,
        as_owner: AsOwner = False,
    ) -> Comparison:
        """Asks this reader's own recent queries of both models; nothing is recorded.

        Options:
            queries: how many of the last distinct queries are asked, at most 500.
            depth: how many hits of each answer are compared.
        """
        most = min(check_whole(queries, "queries", least=1), _MOST_QUERIES)
        deep = min(check_whole(depth, "depth", least=1), _DEEPEST)
        access, many = self._embedding_access(model), most * flows.reembedding.READ_RECORDS
        access.ledger.flush(access.namespace)
        if as_owner:
            records = access.ledger.recalls(access.namespace, many)
        else:
            records = flows.records.recalls(access, self._reader(None), many)
        lens = self._owned(None, as_owner=as_owner)
        return flows.reembedding.compare(access, lens, records, (most, deep))

    def switch(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        progress: Progress = None,
    ) -> ReembedState:
        """Lets searches use the new model; makes first what it lacks, and keeps the old vectors."""
        access = self._embedding_access(model)
        done = flows.reembedding.swap(access, back=False, progress=progress)
        return flows.reembedding.state(access, done)

    def roll_back(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        progress: Progress = None,
    ) -> ReembedState:
        """Lets searches use the former model again; texts that came since are embedded first."""
        access = self._embedding_access(model)
        done = flows.reembedding.swap(access, back=True, progress=progress)
        return flows.reembedding.state(access, done)

    def drop(self) -> ReembedState:
        """Deletes the vectors beside those in use; after that there is no way back to them."""
        access = self._access()
        flows.reembedding.drop(access)
        return flows.reembedding.state(access)

    def _embedding_access(self, model: "Embedder | Mapping[str, object] | None" = None) -> Access:
        """The access; a model that is given can be found from now on."""
        access = self._access()
        if model is not None:
            self._opened().models().open(model)
        return access


class AuditVerbs(View):
    """Methods that read and check the audit chain."""

    @reads
    def blocks(
        self,
        *,
        after_seq: int = 0,
        limit: Limit = 100,
        scope: Reader = None,
        as_owner: AsOwner = False,
    ) -> list[Block]:
        """Returns blocks of the audit chain, oldest first; a write's blocks are never split.

        A block is shown if all that it is about, and all that it names, is visible. To go on, give
        the seq of the last one. The owner's chain has no gaps.

        Options:
            after_seq: start after the write with this number.
        """
        many = check_limit(limit)
        if as_owner:
            return self._opened().ledger.blocks(self._config.namespace, after_seq, many)
        sight = flows.explain.sight_of(self._lens(scope))
        return flows.records.blocks(self._access(), sight, after_seq, many)

    @reads
    def recalls(
        self, *, limit: Limit = 100, scope: Reader = None, as_owner: AsOwner = False
    ) -> list[Block]:
        """Returns the latest records of searches by this reader, newest first.

        This process's own are written first. Those that another process still buffers, or this one
        while another writes, are missing: until its next write, 64 records or its close. Records of
        earlier versions, and of searches with `across`, name no reader: only the owner sees them.
        """
        access, many = self._access(), check_limit(limit)
        access.ledger.flush(access.namespace)
        if as_owner:
            return access.ledger.recalls(access.namespace, many)
        return flows.records.recalls(access, self._reader(scope), many)

    @reads
    def prompts(
        self,
        *,
        limit: Limit = 100,
        before: str | None = None,
        scope: Reader = None,
        across: Across = (),
    ) -> "list[Injection]":
        """Returns what entered the latest prompts for this reader, newest first.

        `explain` says the rest of one of them. Records that another process still buffers are
        missing, as in `recalls`; they are kept as long.

        Options:
            before: the id of a record: only those before it.
        """
        sight = flows.explain.sight_of(self._lens(scope, across=across))
        return flows.explain.prompts(self._access(), sight, check_limit(limit), before)

    @reads
    def verify(
        self,
        *,
        checkpoint: str | PathLike[str] | None = None,
        against: str | PathLike[str] | None = None,
    ) -> Verification:
        """Checks the audit chain and the store; can write a checkpoint or compare with one.

        Options:
            checkpoint: the file to write a checkpoint to.
            against: the file of an earlier checkpoint to compare with.
        """
        parts = self._opened()
        held = None if against is None else _read(against)
        verification = flows.upkeep.verify(parts.ledger, self._config.namespace, held)
        if (wrong := key_file.flaw(self._config.db_dir)) is not None:
            findings = (*verification.findings, Finding("key", wrong))
            verification = replace(verification, findings=findings)
        if checkpoint is not None:
            if verification.head is None or not verification.head.position:
                raise NotFound(
                    f"the namespace {shown_namespace(self._config.namespace)!r} is empty; "
                    "store a memory first"
                )
            mark = audit.checkpoint(verification.head, parts.clock.now())
            try:
                Path(checkpoint).write_text(mark + "\n", encoding="utf-8")
            except (OSError, ValueError) as error:
                raise StoreError(f"the checkpoint cannot be written: {error}") from error
        return verification


def _read(path: str | PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"the file {path} does not exist") from None
    except (OSError, ValueError) as error:  # a folder, no text, a name that no file can have
        raise InvalidInput(f"the checkpoint cannot be read: {error}") from error


class JobVerbs(View):
    """Methods that run maintenance jobs."""

    @reads
    def jobs(self) -> list[JobReport]:
        """Lists the jobs with whether each is due, and why; runs nothing."""
        return flows.jobs.listed(self._site(dry_run=True))

    def run_jobs(
        self,
        names: Sequence[str] | None = None,
        *,
        dry_run: bool = False,
        max_slices: int | None = None,
        progress: Callable[[str, int], None] | None = None,
        scope: Reader = None,
        across: Across = (),
    ) -> list[JobReport]:
        """Runs the jobs that are due, or the named ones; reports what each did, or would do.

        A job works on the whole namespace, in transactions of at most 100 records. It may be
        stopped at any point and run again, also by another process.

        Options:
            dry_run: only report what would be done.
            max_slices: the largest number of transactions; a later run goes on.
            progress: called with the job's name and the number of steps so far.
        """
        if isinstance(names, str):
            raise InvalidInput("names must be a list of jobs, not a text")
        if max_slices is not None and (type(max_slices) is not int or max_slices < 1):
            raise InvalidInput("max_slices must be a whole number, 1 or more")
        return flows.jobs.run(
            self._site(dry_run=dry_run),
            names,
            max_slices=max_slices,
            shows=self._shows(scope, across),
            progress=progress,
        )

    def archive_project(
        self, project: str | None = None, *, dry_run: bool = False, as_owner: AsOwner = False
    ) -> list[JobReport]:
        """Consolidates the traces of a project, then archives them; nothing is deleted.

        Without a name it is the project of this mesh; other projects are left alone. Traces that
        fit no other stay as they are, because nothing was learned from them yet.

        Options:
            dry_run: only report what would be done.
        """
        if not trust.is_authoritative(self._kind):
            raise NotAllowed("only the user can archive a project")
        named = project or self._config.project
        names = self._names_of(named)
        self._check_has_traces(named, names, as_owner=as_owner)
        site = replace(self._site(dry_run=dry_run), only=lambda of: of.project in names)
        shows = self._shows(Scope(named), ())
        first = flows.jobs.run(site, ["consolidate-traces"], shows=shows)
        steps = [
            step
            for part in flows.jobs.archive_project(site, names)
            for scope, step in part
            if shows(scope)
        ]
        why = Due(now=True, why=f"the project {named or 'without a name'} is archived")
        archived = JobReport(
            job="archive-project", due=why, ran=True, dry_run=dry_run, steps=tuple(steps)
        )
        return [*first, archived]

    def _names_of(self, named: str | None) -> frozenset[str | None]:
        """The names under which the traces of a project are stored, its former ones too."""
        stored = self._stored_scope(Scope(named)).project
        if stored is None:
            return frozenset({None})
        known = flows.projects.names(self._opened().ledger, self._config.namespace, stored)
        return frozenset({stored, *known.same})

    def _check_has_traces(
        self, named: str | None, names: frozenset[str | None], *, as_owner: bool
    ) -> None:
        """Raises NotFound for a project without traces; the owner hears which ones have some."""
        if None in names:
            return
        known = flows.traces.projects(self._access(), self._now())
        if names.isdisjoint(known):
            said = f"there are no traces of a project {named!r}"
            if as_owner:
                said += f"; projects with traces: {', '.join(known)}" if known else "; none has any"
            raise NotFound(said)

    def _site(self, *, dry_run: bool) -> "Site":
        from memory_mesh.learn.rules.retention import JobRules, RetentionPolicy

        config = self._config
        return flows.jobs.Site(
            access=self._access(),
            now=self._now(),
            rules=JobRules(
                config.consolidate_traces,
                config.consolidate_days,
                RetentionPolicy(
                    config.retention_hours,
                    config.retention_consolidate_days,
                    config.retention_compress_days,
                ),
            ),
            dry_run=dry_run,
            system=self._experience_files(),
            erase=lambda *sought: flows.erase.erase(self._ground(), *sought).memories,
        )

    def _experience_files(self) -> "tuple[Access, ExperienceFiles] | None":
        """Where executions of all projects are logged, if the settings say so."""
        log = family(SystemMemoryVerbs, self)
        counts = self._config.system_memory == "counts"  # the only level with archives
        return log._system() if counts else None  # noqa: SLF001  # the same view

    def _shows(self, scope: Scope | None, across: Iterable[str]) -> Callable[[Scope], bool]:
        """Who is told about what: a job works for all audiences, and tells each of its own."""
        lens = self._lens(scope, across=across)
        left_out: dict[str, Any] = dict.fromkeys(lens.across)
        return lambda of: trust.sees(lens.scope, replace(of, **left_out))


# The jobs that keep one namespace in order: one list for `upkeep`, the daemon and workers.
#
# Each may be stopped at any point and run again, by any process; run twice, it changes nothing. A
# job with nothing to do writes nothing.


_SINK_SECONDS = 60.0  # the sinks are fed for at most this long


def _go_on() -> None:
    """What a caller who never waits does between two steps."""


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


class MaintenanceVerbs(JobVerbs):
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

    def _to_embed(self) -> int:
        """How many vectors of texts the job `embed-pending` would make now."""
        return flows.reembedding.to_embed(self._access())

    def _embed_pending(self, report: UpkeepReport, manner: Manner) -> UpkeepReport:
        """Rewrites old keyword terms, embeds what waits, links it, and absorbs large tails."""
        parts, namespace, pause = self._opened(), self._config.namespace, manner.pause
        reindexed = flows.upkeep.reindex(parts.ledger, namespace, between=pause)
        embedded = flows.reembedding.keep_up(
            self._access(), manner.texts, pause if manner.small else None, manner.waiting
        )
        states = parts.ledger.stats(namespace).spaces
        linked = flows.similar_links.link_all(self._access(), states, pause) if states else 0
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
        told = flows.upkeep.drain(
            parts.ledger, self._config.namespace, parts.sinks, _SINK_SECONDS, self._now()
        )
        return replace(report, sinks_told=told)

    def _distill_if_due(self, report: UpkeepReport, _: Manner) -> UpkeepReport:
        """Learns from failures, where the settings say so and something was stored since."""
        lessons = family(LessonVerbs, self)
        if not self._config.enable_wisdom_distillation or not lessons.due():
            return report
        return replace(report, lessons=len(lessons.distill().learned))

    def _consolidate(self, report: UpkeepReport, manner: Manner) -> UpkeepReport:
        """Makes learnings of new traces, if it is due."""
        done = self._run_due(["consolidate-traces"], manner)
        return replace(report, jobs=(*report.jobs, *done))

    def _retain(self, report: UpkeepReport, manner: Manner) -> UpkeepReport:
        """Archives, compresses and deletes what has reached its age; goes on with erasures."""
        pruned = 0
        with self._read() as snapshot:
            hidden = snapshot.states(ERASING)
        if hidden:
            flows.erase.finish(self._ground())
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
            replace(self._site(dry_run=False), between=manner.pause),
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


class UpkeepVerbs(MaintenanceVerbs):
    """Methods that maintain a store and report its figures."""

    def upkeep(
        self,
        *,
        progress: Progress = None,
        between: Callable[[], None] | None = None,
    ) -> UpkeepReport:
        """Runs all maintenance: terms, vectors, links, index, sinks, records, lessons, due jobs.

        May be interrupted at any point and run again.

        Options:
            between: called between small steps; it may wait for others, or raise to stop here.
        """
        self._opened().ledger.flush(self._config.namespace)  # records of reads wait for a write
        pause = between or _go_on
        manner = Manner(
            pause=pause, steps=lambda _: pause(), texts=progress, small=between is not None
        )
        report = UpkeepReport(0, (), sinks_told=True)
        for name in MAINTENANCE:
            report = self._maintained(name, report, manner)
            pause()
        self._keep_in_step(pause)
        return report

    def _keep_in_step(self, pause: Callable[[], None]) -> None:
        """Syncs with the person's other machines; where that cannot be now, the next time does."""
        opened = self._opened()
        if self._config.store is None and key_file.takes_part(opened.folder, opened.environment):
            try:
                flows.exchange.run(self._sync_site(pause), idle=True)
            except (MeshError, OSError) as error:
                telemetry.info("sync failed", kind=type(error).__name__)

    def _sync_site(self, pause: Callable[[], None] = _go_on) -> "flows.exchange.SyncSite":
        """What a sync of the whole store needs of it: every namespace, for every reader."""
        opened, grounds = self._opened(), dict[str, "Ground"]()
        if self._config.store is not None or not self._config.enable_memory:
            raise InvalidInput(
                "sync is for stores in a folder, of one person; a team shares a store by a service"
            )

        def ground(namespace: str) -> "Ground":
            if namespace not in grounds:
                grounds[namespace] = self._of_same_store(namespace, None, None)._ground()  # noqa: SLF001
            return grounds[namespace]

        return flows.exchange.SyncSite(
            store=opened.folder,
            ground=ground,
            namespaces=lambda: [*opened.ledger.namespaces()],
            environment=opened.environment,
            pause=pause,
        )

    def rebuild_index(self) -> list[Body]:
        """Rebuilds the index from the ledger; the ledger holds everything the index holds."""
        parts = self._opened()
        index = parts.index()
        if index is None and self._config.store is None:
            raise MissingExtra.of("lance", "The index of large stores")
        return flows.upkeep.rebuild(parts.ledger, index, self._config.namespace)

    def rebuild_terms(self) -> int:
        """Rewrites the keyword terms of every text and skill; returns how many there are."""
        return flows.upkeep.reindex(self._opened().ledger, self._config.namespace, everything=True)

    @reads
    @needs("admin")
    def namespaces(self, *, after: str | None = None, limit: int | None = None) -> list[str]:
        """Lists the namespaces in the store, sorted; that of a user is `user.` and the id.

        Options:
            after: only those after this name: the last one of the page before.
            limit: the largest number of results, 1 to 1,000.
        """
        start = "" if after is None else check_text(after, "after")
        most = None if limit is None else check_whole(limit, "limit", least=1)
        return [shown_namespace(name) for name in self._opened().ledger.namespaces(start, most)]

    def vectors(
        self,
        ids: Sequence[str],
        space: Space,
        *,
        scope: Reader = None,
        as_owner: AsOwner = False,
    ) -> dict[str, list[Part]]:
        """Returns the vectors of visible memories in one of the spaces that `stats` lists."""
        check_whole(space.dimension, "dimension", least=1)
        sight = flows.explain.sight_of(self._owned(scope, as_owner=as_owner))
        with self._read() as snapshot:
            seen = snapshot.numbers(list(ids), sight)
            return snapshot.vectors(space, [id_ for id_ in ids if id_ in seen])


class CareVerbs(UpkeepVerbs, AuditVerbs):
    """What keeps a store in order: `mesh.care`."""

    @reads
    def triggers(self, *, limit: Limit = 100, scope: Reader = None) -> "list[MemoryMetadata]":
        """Lists the memories that have triggers, the newest first, without their texts."""
        return flows.injection.triggers(self._access(), self._lens(scope), check_limit(limit))

    @reads
    def counts(
        self,
        by: str,
        *,
        filter: Condition = None,
        include: Statuses = (),
        sample: int | None = None,
        scope: Reader = None,
        across: Across = (),
    ) -> dict[str, int]:
        """Returns how many memories the reader sees of each value of a field, most first.

        `by` is kind, source_kind, status, project, or day: the one that they were first stored on.

        Options:
            sample: of more memories than this, count so many from all over, each for its share.
        """
        if by not in _COUNTED:
            raise InvalidInput(f"by must be one of: {', '.join(_COUNTED)}")
        if sample is not None and (type(sample) is not int or not 0 < sample <= _MOST_SAMPLED):
            raise InvalidInput(f"sample must be a whole number from 1 to {_MOST_SAMPLED:,}")
        lens = self._lens(scope, filter=filter, include=include, across=across)
        with self._read() as snapshot:
            found = snapshot.counts(lens, by, sample)
        named = [(name, count) for name, count in found.items() if name is not None]
        return dict(sorted(named, key=lambda each: (-each[1], each[0])))

    models: "Family[ReembedVerbs]" = Family(
        "upkeep", "ReembedVerbs", "Change the embedding model, compare both, go back."
    )
    access_keys: "Family[AccessKeyVerbs]" = Family(
        "access_keys", "AccessKeyVerbs", "The keys of the service: who may do what where."
    )
    projects: "Family[ProjectVerbs]" = Family(
        "projects", "ProjectVerbs", "The projects of folders: look one up, name it, merge, split."
    )
