"""Maintenance in short slices: which jobs are due, and running them."""

from collections.abc import Callable, Iterable, Sequence

from memory_mesh import flows
from memory_mesh.errors import InvalidInput, NotAllowed, NotFound
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Scope
from memory_mesh.model.job import Due, JobReport
from memory_mesh.policy import audience
from memory_mesh.policy.writing.trust import is_authoritative
from memory_mesh.typed import TYPE_CHECKING, Any
from memory_mesh.verbs.system_memory import SystemMemoryVerbs

if TYPE_CHECKING:
    from memory_mesh.flows.jobs import Site


class JobVerbs(SystemMemoryVerbs):
    """Methods that run maintenance jobs."""

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
        scope: Scope | None = None,
        across: Iterable[str] = (),
    ) -> list[JobReport]:
        """Runs the jobs that are due, or the named ones; reports what each did, or would do.

        A job works on the whole namespace, in transactions of at most 100 records. It may be
        stopped at any point and run again, also by another process.

        Options:
            dry_run: only report what would be done.
            max_slices: the largest number of transactions; a later run goes on.
            progress: called with the job's name and the number of steps so far.
            scope: who reads; by default the project, agent and session of this mesh.
            across: parts of the scope to ignore: project, agent, session.
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
        self, project: str | None = None, *, dry_run: bool = False, as_owner: bool = False
    ) -> list[JobReport]:
        """Consolidates the traces of a project, then archives them; nothing is deleted.

        Without a name it is the project of this mesh; other projects are left alone. Traces that
        fit no other stay as they are, because nothing was learned from them yet.

        Options:
            dry_run: only report what would be done.
            as_owner: show what is for others, too: every project, agent and session.
        """
        if not is_authoritative(self._kind):
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
        from memory_mesh.policy.jobs import JobRules
        from memory_mesh.policy.retention import RetentionPolicy

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
            system=self._system() if config.system_memory else None,
        )

    def _shows(self, scope: Scope | None, across: Iterable[str]) -> Callable[[Scope], bool]:
        """Who is told about what: a job works for all audiences, and tells each of its own."""
        lens = self._lens(scope, across=across)
        left_out: dict[str, Any] = dict.fromkeys(lens.across)
        return lambda of: audience.sees(lens.scope, replace(of, **left_out))
