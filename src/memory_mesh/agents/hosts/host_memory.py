"""Claude Code's own memory: whether it is on, where it is, and how its files are read in.

It keeps Markdown files per repository and tells the model to write there. Two memories that do not
know of each other contradict each other sooner or later, so `init` says how it is set.
"""

import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from memory_mesh.agents.hosts.places import (
    home_of,
    repository_place,
    settings_here,
    user_place,
)
from memory_mesh.agents.hosts.undo import members_of
from memory_mesh.base.typed import dataclass
from memory_mesh.care.key_file import key_for
from memory_mesh.care.notes import INDEX, without_index
from memory_mesh.model import InvalidInput, Json, Receipt, Scope
from memory_mesh.platform.text_files import shown, texts
from memory_mesh.sync import MemoryMesh

CHOICES = ("keep", "off", "import")
_SWITCH, _FOLDER = "autoMemoryEnabled", "autoMemoryDirectory"
_VARIABLE = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]")
_MAX_NAME = 200  # characters; Claude Code cuts a longer one and adds a checksum
_TRUE = {"1", "true", "yes", "on"}


@dataclass(frozen=True, slots=True)
class HostMemory:
    """How Claude Code's own memory is set, and which of its folders belong to which repository."""

    enabled: bool
    said_by: str
    folders: Mapping[Path, Path]  # a folder of memories: the repository it is of
    strangers: int = 0  # folders of repositories that are not known here

    @property
    def files(self) -> int:
        """The number of files in the folders that are known."""
        return sum(len(list(folder.glob("*.md"))) for folder in self.folders)


def host_memory(environment: Mapping[str, str], here: Path, *, only_here: bool) -> HostMemory:
    """Returns how Claude Code's own memory is set for the user, or for this repository alone."""
    enabled, said_by, directory = True, "its default", ""
    place, repository = user_place(environment), repository_place(here)
    for path in settings_here(environment, here):
        stated = members_of(path)
        if isinstance(stated.get(_SWITCH), bool):
            enabled, said_by = bool(stated[_SWITCH]), str(path)
        directory = str(stated.get(_FOLDER) or directory)
    if environment.get(_VARIABLE, "").lower() in _TRUE:
        enabled, said_by = False, _VARIABLE
    root = repository.repository or here
    if directory:
        folder = Path(directory.replace("~", str(home_of(environment)), 1))
        return HostMemory(enabled, said_by, {folder: root} if folder.is_dir() else {})
    known = [root] if only_here else [root, *_repositories(environment)]
    return _in_projects(place.folder / "projects", known, enabled=enabled, said_by=said_by)


def read_in(mesh: MemoryMesh, found: HostMemory) -> list[Receipt]:
    """Stores each file as a document of its repository; a second run stores only what changed."""
    items = [
        item
        for folder, repository in found.folders.items()
        for item in _items(folder, _project(mesh, repository), key_for(mesh.folder))
    ]
    return mesh.add_many(items) if items else []


def _project(mesh: MemoryMesh, repository: Path) -> str | None:
    found = mesh.care.projects.at(repository)
    return None if found is None else found.name


def _in_projects(
    projects: Path, known: Sequence[Path], *, enabled: bool, said_by: str
) -> HostMemory:
    """Finds the folders of memories, and the repositories that their names were made from."""
    folders: dict[Path, Path] = {}
    strangers = 0
    for folder in sorted(projects.glob("*/memory")):
        if not any(folder.glob("*.md")):
            continue
        of = next((each for each in known if _is_name_of(folder.parent.name, each)), None)
        if of is None:
            strangers += 1
        else:
            folders[folder] = of
    return HostMemory(enabled, said_by, folders, strangers)


def _is_name_of(name: str, repository: Path) -> bool:
    made = _NOT_IN_NAMES.sub("-", str(repository))
    return name == made or (len(made) > _MAX_NAME and name.startswith(f"{made[:_MAX_NAME]}-"))


def _repositories(environment: Mapping[str, str]) -> list[Path]:
    """Returns the folders that Claude Code has worked in."""
    folder = environment.get("CLAUDE_CONFIG_DIR")
    path = Path(folder) if folder else home_of(environment)
    try:
        projects = members_of(path / ".claude.json").get("projects")
    except InvalidInput:  # its own file: it will say so itself
        return []
    return [Path(each) for each in projects] if isinstance(projects, dict) else []


def _items(folder: Path, project: str | None, key: bytes) -> Iterator[dict[str, object]]:
    for path, text in texts(folder, (".md",)).found:
        kept = without_index(text) if path.name == INDEX else text
        if not kept.strip():
            continue
        name = shown(path.relative_to(folder.resolve()).as_posix())
        message = f"{project}\n{name}\n{kept}".encode()
        metadata: dict[str, Json] = {"type": "document", "from": "claude-code"}
        yield {
            "content": kept,
            "metadata": metadata,
            "scope": Scope(project),
            "source_ref": f"claude-code:{name}",
            "key": f"host-memory:{hmac.digest(key, message, 'sha256').hex()}",
        }
