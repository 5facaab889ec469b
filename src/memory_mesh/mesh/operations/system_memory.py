"""The system memory: what executions of all projects and users say together, without texts.

At the level `own` each user has a log of their own projects, in clear, beside their memories.
"""

from memory_mesh.base.typed import TYPE_CHECKING, replace
from memory_mesh.mesh import flows
from memory_mesh.mesh.options import Limit, Reason
from memory_mesh.mesh.view import View
from memory_mesh.model import InvalidInput, MeshError, NotAllowed, Scope
from memory_mesh.platform import telemetry
from memory_mesh.platform.projects import short_name
from memory_mesh.privacy import masked
from memory_mesh.privacy.redactor import kept_value
from memory_mesh.rules.arguments import check_limit, check_text
from memory_mesh.rules.trust import is_authoritative
from memory_mesh.write.access import Access
from memory_mesh.write.prepare import goal_as_kept, redact_in_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_mesh.learn.system_memory import ExperienceFiles
    from memory_mesh.model.learning import Experience, ExperienceSummary
    from memory_mesh.model.trace import Trace

_OFF = (
    "the system memory is off: nothing crosses projects. To share anonymised figures between all "
    "projects and users of this store, set system_memory = true in the configuration file, or "
    "MEMORY_MESH_SYSTEM_MEMORY=on"
)
_PREFIX = "exp_"


class SystemMemoryVerbs(View):
    """Methods for the log of experiences; all but erasing need the setting `system_memory`.

    A log of the level `own` lies in the namespace of its user: nobody else reads it, and it goes
    when the user is deleted.
    """

    def log_experience(self, trace: "Trace") -> "Experience":
        """Logs the anonymised figures of one execution; `traces.record` does it by itself."""
        from memory_mesh.write.rules.trace_checks import trace_with

        access, files = self._system()
        experience = self._experience(access, trace_with(trace, {}), self._config.project)
        return flows.system_memory.append(access, files, [experience])[0]

    def experiences(self, *, limit: Limit = 100, before: str | None = None) -> "list[Experience]":
        """Lists experiences, archived ones too, the newest first.

        Options:
            before: only those before this experience id, such as exp_42.
        """
        access, files = self._system()
        number = None if before is None else _number(before)
        return flows.system_memory.newest(access, files, check_limit(limit), number)

    def search_experiences(self, query: str, *, limit: Limit = 10) -> "list[Experience]":
        """Finds experiences, archived ones too, by words: kinds of tasks, outcomes, tools."""
        access, files = self._system()
        said = check_text(query, "query")
        return flows.system_memory.search(access, files, said, check_limit(limit))

    def experience_summary(self) -> "ExperienceSummary":
        """Returns what all experiences say together: counts by task and outcome, tools, times."""
        from memory_mesh.learn.system_memory import summarise

        access, files = self._system()
        return summarise(flows.system_memory.every(access, files))

    def roll_experiences(self) -> int:
        """Archives the experiences beyond the newest 1,000, a hundred at a time; how many."""
        access, files = self._system()
        return flows.system_memory.roll(access, files)

    def write_memory_log(self) -> str:
        """Writes system/memory_log.md in the store's folder anew; returns its path."""
        access, files = self._system()
        if not files.kept:
            raise InvalidInput("your own log has no file; list it: memory-mesh memory-log list")
        flows.system_memory.write_log(access, files)
        return str(files.log)

    def erase_experiences(
        self,
        *,
        project: str | None = None,
        everything: bool = False,
        reason: Reason = "erased by the caller",
    ) -> int:
        """Removes experiences for good, archived ones too; returns how many. Works when off.

        Options:
            project: the project whose experiences go: its name, or the last folder of its path.
            everything: remove all of them.
        """
        if not is_authoritative(self._kind):
            raise NotAllowed("only the user can erase experiences")
        if (project is None) != everything:
            raise InvalidInput("say what to erase: either project=… or everything=True")
        if project is not None:
            check_text(project, "project")
        erased = 0
        for access, files in self._logs():
            names = None if project is None else self._logged_as(access, files, project)
            erased += flows.system_memory.erase(
                access,
                files,
                lambda one, names=names: names is None or one.project_name in names,  # type: ignore[misc]  # bound now
                reason,
            )
        return erased

    def _logged_as(self, access: Access, files: "ExperienceFiles", project: str) -> set[str]:
        """The names of a project in the log, by its name or by the last part of that.

        What was logged under a former name of the project is its own, too.
        """
        named = (project, *self._former(project))
        exact = {sealed for each in named for sealed in _sealed_by_each(access, each)}
        logged = {one.project_name for one in flows.system_memory.every(access, files)}
        if exact & logged:
            return exact
        known = flows.traces.projects(self._access(), self._now())
        alike = {
            each: sealed
            for each in {*known, *filter(None, [self._config.project])}
            if short_name(each) == project
            and (sealed := logged.intersection(_sealed_by_each(access, each)))
        }
        if len(alike) > 1:
            raise InvalidInput(
                f"{project} is the name of {len(alike)} projects; nothing was erased. "
                f"Give the path of one: {', '.join(sorted(alike))}"
            )
        return set().union(*alike.values()) or exact

    def _former(self, project: str) -> tuple[str, ...]:
        stored = self._stored_scope(Scope(project)).project or project
        same = flows.projects.names(self._opened().ledger, self._config.namespace, stored).same
        return (stored, *same)

    def _log_if_on(self, traces: "Sequence[Trace]", project: str | None) -> None:
        """Logs recorded traces at once where the setting is on; they are recorded if that fails."""
        if not traces or self._config.system_memory == "off":
            return
        try:
            access, files = self._system()
            experiences = [self._experience(access, trace, project) for trace in traces]
            flows.system_memory.append(access, files, experiences)
        except (MeshError, OSError) as error:
            telemetry.warn_once(
                "system memory",
                f"what happened is recorded, but the system memory could not be written: "
                f"{masked(str(error))}. `memory-mesh memory-log write` writes its file anew",
            )

    def _experience(self, access: Access, trace: "Trace", project: str | None) -> "Experience":
        from memory_mesh.learn.system_memory import NO_PROJECT, anonymous

        counted = anonymous(
            trace if trace.timestamp else replace(trace, timestamp=self._now()),
            project=NO_PROJECT if project is None else _sealed(access, project),
            agent=self._config.agent_id,
        )
        if self._config.system_memory != "own":
            return counted
        goal = goal_as_kept(access, trace.goal)
        said = (str(kept_value(each, trace.goal, goal)) for each in trace.learnings)
        return replace(
            counted,
            project_name=self._stored_scope(Scope(project)).project or NO_PROJECT,
            primary_goal=goal,
            learnings_or_issues="".join(f"- {redact_in_trace(access, each)}\n" for each in said),
        )

    def _system(self) -> "tuple[Access, ExperienceFiles]":
        """Access to the log that the setting names, and its files."""
        if self._config.system_memory == "off":
            raise InvalidInput(_OFF)
        return self._logs()[0]

    def _logs(self) -> "list[tuple[Access, ExperienceFiles]]":
        """The logs that may hold something of this user, the one that is written to first."""
        from memory_mesh.learn.system_memory import ExperienceFiles

        folder = self._opened().folder
        own = (self._access(), ExperienceFiles(folder, kept=False))
        if self._config.system_memory == "own":
            return [own]
        shared = self._of_same_store(flows.system_memory.NAMESPACE, None, None)
        return [(shared._access(), ExperienceFiles(folder)), own]  # noqa: SLF001  # its twin


def _sealed(access: Access, project: str) -> str:
    """A project's name in the log: a digest under the store's key."""
    if access.seal is None:
        raise InvalidInput("the system memory needs the store's key")
    return _logged_name(access.seal(_project_value(project)))


def _sealed_by_each(access: Access, project: str) -> list[str]:
    """A project's names in the log: in clear, and under each key, those before a rotation too."""
    if access.seal is None:
        raise InvalidInput("the system memory needs the store's key")
    digests = access.seal.under_each(_project_value(project))
    return [project, *map(_logged_name, digests)]


def _project_value(project: str) -> str:
    return f"project\0{project}"


def _logged_name(digest: bytes) -> str:
    return f"project_{digest.hex()[:12]}"


def _number(experience_id: str) -> int:
    digits = check_text(experience_id, "before").removeprefix(_PREFIX)
    if not digits.isascii() or not digits.isdecimal():
        raise InvalidInput(f"before is an experience id such as exp_42, not {experience_id!r}")
    return int(digits)
