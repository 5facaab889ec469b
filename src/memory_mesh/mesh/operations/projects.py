"""Which project a folder is, and what else it reads."""

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import needs, reads
from memory_mesh.mesh.options import AsOwner
from memory_mesh.mesh.view import View, family
from memory_mesh.model import InvalidInput, Memory, NotAllowed, Project, Scope
from memory_mesh.platform.projects import (
    ProjectNames,
    Repository,
    Sighting,
    checked_name,
    folder_name,
    identity,
    repository_of,
    state_name,
)
from memory_mesh.rules.arguments import check_text
from memory_mesh.rules.trust import is_authoritative
from memory_mesh.write.access import Access

if TYPE_CHECKING:
    from memory_mesh.evidence.citations import CheckedEvidence
    from memory_mesh.evidence.work_tree import WorkTree

_NOTED = 1_000  # repositories that a process remembers


class ProjectVerbs(View):
    """Methods for the identity of projects."""

    def at(self, folder: str | PathLike[str]) -> Project | None:
        """Returns the project that a folder belongs to; None outside of any.

        It is named by its repository's remote, else its root commit, else its path, or as the user
        has set it. The store takes note of it once, so that its memories are found when the name
        changes, and never from another repository at the same path. Read and write there with
        `mesh.view(scope=Scope(project=found.name))`.
        """
        repository = _repository(folder)
        if self._remote is not None:  # the folder is here, and what the store knows of it is not
            if repository is None:
                return None
            seen = identity(repository, None)
            return Project(seen.name, seen.how, repository.place)
        access = self._access()
        if repository is not None:
            return self._settled(access, repository)
        named = flows.projects.named_folder(access, self._stored_name(folder_name(fspath(folder))))
        if named is None:
            return None
        name, place = named
        return _project(name, "folder", place, self._names(access, name))

    @reads
    @needs("admin")
    def stated(self, name: str) -> Project:
        """Returns a project by its name, with the other names that it reads."""
        stored = self._stored_name(check_text(name, "name"))
        return _project(stored, "stated", "", self._names(self._access(), stored))

    def merge(self, other: str, *, project: str | None = None) -> Project:
        """Lets a project read the memories of another one; `care.projects.split` undoes it.

        Both keep their own memories, and nothing of one replaces anything of the other.

        Options:
            project: the project that reads; by default that of this mesh.
        """
        self._check_user("merge projects")
        own, named = self._own_project(project), self._stored_name(check_text(other, "other"))
        return _project(own, "stated", "", flows.projects.merge(self._access(), own, named))

    def split(self, other: str, *, project: str | None = None) -> Project:
        """Lets a project read the memories of another one no longer; NotFound if it does not.

        Options:
            project: the project that reads; by default that of this mesh.
        """
        self._check_user("split projects")
        own, named = self._own_project(project), self._stored_name(check_text(other, "other"))
        return _project(own, "stated", "", flows.projects.split(self._access(), own, named))

    def name(self, folder: str | PathLike[str], name: str | None) -> Project | None:
        """Sets what the project of a folder is called; None removes the name. Returns the project.

        In a repository the name is kept in git's configuration, where every work tree finds it and
        no move loses it; elsewhere it is kept in this store and holds for the folders below, too.
        """
        self._check_user("name a project")
        if name is not None and checked_name(name) != name:
            raise InvalidInput(
                "a project's name has 1 to 200 printable characters and no space around"
            )
        repository = _repository(folder)
        if not Path(folder).is_dir():
            raise InvalidInput(f"there is no folder {fspath(folder)}")
        if repository is None:
            self._name_folder(self._stored_name(folder_name(fspath(folder))), name)
            return self.at(folder)
        self.at(folder)  # what it is called now stays readable
        try:
            state_name(repository, name)
        except FileExistsError:
            raise InvalidInput(
                f"git is changing {repository.files}/config at this moment, or left its lock "
                "config.lock behind; try again, or remove the lock"
            ) from None
        except OSError as error:
            raise InvalidInput(
                f"the name cannot be written to {repository.files}/config: {error.strerror}"
            ) from None
        return self.at(folder)

    @reads
    @needs("admin")
    def counts(
        self, *, names: Sequence[str] | None = None, as_owner: AsOwner = False
    ) -> dict[str, int]:
        """Returns how many active memories the reader sees of each project.

        Options:
            names: only of these projects.
        """
        lens = self._owned(None, as_owner=as_owner)
        with self._read() as snapshot:
            found = snapshot.counts(lens, "project")
        if names is None:
            return {name: count for name, count in found.items() if name is not None}
        return {name: found.get(name, 0) for name in map(self._stored_name, names)}

    def _check_user(self, what: str) -> None:
        """Raises NotAllowed for an agent: what a project reads enters the user's prompts."""
        if not is_authoritative(self._kind):
            raise NotAllowed(f"only the user can {what}; an agent may say --project NAME")

    def _name_folder(self, place: str, name: str | None) -> None:
        """Sets the name of a folder outside of git; None removes the one that holds for it."""
        access = self._access()
        if name is not None:
            flows.projects.name_folder(access, place, self._stored_name(name))
        elif (named := flows.projects.named_folder(access, place)) is not None:
            flows.projects.name_folder(access, named[1], None)

    def _settled(self, access: Access, repository: Repository) -> Project:
        """The project of a repository; what this process took note of is not looked up again."""
        noted, key = self._opened().projects, (access.namespace, repository)
        found = noted.get(key)
        if found is None:
            found, is_noted = self._looked_up(access, repository)
            if is_noted and len(noted) < _NOTED:
                noted[key] = found
        return _project(
            found.name, found.how, found.place, self._names(access, found.name), found.others
        )

    def _looked_up(self, access: Access, repository: Repository) -> tuple[Project, bool]:
        """The project of a repository by what the store knows, and whether all is on record."""
        clone, place = map(self._stored_name, (repository.clone, repository.place))
        states = flows.projects.about(access, clone, place)
        known = flows.projects.clone(states, clone)
        found = identity(repository, known.root if known is not None else None)
        unnamed = found.how == "path"
        seen = Sighting(
            clone,
            place,
            self._stored_name(found.name),
            found.how,
            tuple(self._stored_name(name) for _, name in repository.remotes[1:]),
            root=found.root,
            moved_from=_moved_from(access, repository) if unnamed and known is None else None,
        )
        settled = flows.projects.settled(access, seen, states)
        others = tuple(each for each in dict.fromkeys(seen.others) if each != settled.name)
        return Project(settled.name, found.how, place, others=others), not settled.changes

    def _names(self, access: Access, name: str) -> ProjectNames:
        return flows.projects.names(access.ledger, access.namespace, name)

    def _own_project(self, project: str | None) -> str:
        name = self._config.project if project is None else check_text(project, "project")
        if not name:
            raise InvalidInput("no project is named; give project=NAME, or run it inside of one")
        return self._stored_name(name)

    def _stored_name(self, name: str) -> str:
        """A name as the store holds it."""
        return self._stored_scope(Scope(name)).project or name


# Where the code that memories cite lies.


def code_of(view: View, reader: Scope) -> "Callable[[Memory], CheckedEvidence | None]":
    """What says of a memory whether the code that it cites still stands in the reader's folder.

    The folder is looked at when a memory cites something, if the project is the reader's.
    """
    known: list[tuple[WorkTree | None, frozenset[str]]] = []

    def check(memory: Memory) -> "CheckedEvidence | None":
        if not memory.extra.get("evidence"):
            return None
        if not known:
            known.append(work_tree_of(view, reader, view._git_seconds))  # noqa: SLF001
        tree, names = known[0]
        if tree is None:
            return None
        from memory_mesh.evidence.work_tree import checked  # few memories cite code

        return checked(tree, memory.extra) if is_judged(tree, names, memory) else None

    return check


def work_tree_of(
    view: View, reader: Scope, seconds: float
) -> "tuple[WorkTree | None, frozenset[str]]":
    """The work tree around the reader, where git may take so long; and the names of its project.

    There are none in the work tree of another project than the reader's.
    """
    folder = "." if view._folder is None else view._folder  # noqa: SLF001  # a part of every view
    if not folder:
        return None, frozenset()
    from memory_mesh.evidence.work_tree import WorkTree

    tree = WorkTree.at(folder, seconds)
    is_known = reader.project is not None and tree is not None
    found = family(ProjectVerbs, view).at(folder) if is_known else None
    if found is None or found.name != reader.project:
        return tree, frozenset()
    return tree, frozenset((found.name, *found.former))


def is_judged(tree: "WorkTree", names: frozenset[str], memory: Memory) -> bool:
    """Whether the code of a memory is in a work tree: of its project, or one that it cites."""
    if memory.scope.project is not None:
        return memory.scope.project in names
    from memory_mesh.evidence.work_tree import is_of_here

    return is_of_here(tree, memory.extra)


def _project(
    name: str, how: str, place: str, names: ProjectNames, others: tuple[str, ...] = ()
) -> Project:
    return Project(name, how, place, names.same, names.read, others)


def _repository(folder: str | PathLike[str]) -> Repository | None:
    """The repository of a folder; InvalidInput for a path that no folder can have."""
    try:
        return repository_of(check_text(fspath(folder), "folder"))
    except OSError as error:  # a name that is too long
        raise InvalidInput(f"there is no such folder: {error.strerror}; name another") from None


def _moved_from(access: Access, repository: Repository) -> str | None:
    """The project that a repository was at another path, where it is no longer."""
    for place, known in flows.projects.clones(access, repository.birth).items():
        there = repository_of(place)
        if place != repository.place and (there is None or there.birth != repository.birth):
            return known.project
    return None
