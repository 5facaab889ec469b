"""What hosts keep themselves: Claude Code's own memory, and the rule files of a repository.

Claude Code keeps Markdown files per repository and tells the model to write there. Two memories
that do not know of each other contradict each other sooner or later, so `init` says how it is set.

::

    init --host-memory follow ──▶ <store>/agents/followed.json: what is followed, by repository
    a session starts ─▶ a file has another size or time ─▶ new lines stored, lost ones withdrawn

Nothing is written into a file of a host.
"""

import hmac
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from memory_mesh.agents.hosts.places import (
    home_of,
    repository_place,
    settings_here,
    user_place,
)
from memory_mesh.agents.hosts.undo import members_of
from memory_mesh.base.typed import TYPE_CHECKING, Any, dataclass
from memory_mesh.care.key_file import key_for
from memory_mesh.care.notes import INDEX, without_index
from memory_mesh.formats.private import without_private
from memory_mesh.model import Channel, InvalidInput, Json, NotFound, Outcome, Receipt, Scope
from memory_mesh.platform.system import make_folder, new_file
from memory_mesh.platform.text_files import paths, shown, texts
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh.agents.opening import Stores

CHOICES = ("keep", "off", "import", "follow")
RULE_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".cursor/rules")
ENDINGS = (".md", ".mdc", ".cursorrules")
FOLLOWED = "agents/followed.json"  # in the store's folder
_SWITCH, _FOLDER = "autoMemoryEnabled", "autoMemoryDirectory"
_VARIABLE = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]")
_MAX_NAME = 200  # characters; Claude Code cuts a longer one and adds a checksum
_TRUE = {"1", "true", "yes", "on"}
_MIN_WORDS, _MAX_CHARS = 4, 400  # of a line of a rule file
_LISTED_WORDS = 2  # at least, of an item of a list that does not begin with a link
_LISTED = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.*\S)\s*$")
_BOLD = re.compile(r"[*_]{2}(.+?)[*_]{2}")


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


# Keeping in step: the lines of a host's files are memories as long as they stand there.


def rule_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each item of a list, and each line that ends like a sentence, with its number.

    An item of one word is left out, and so is what begins with a link, or is no item, and is short.
    """
    fenced = False
    for number, line in enumerate(without_private(text).splitlines(), start=1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        listed = _LISTED.match(line)
        plain = _BOLD.sub(r"\1", listed[1] if listed else line.strip())
        is_rule = bool(listed) or plain.endswith((".", "!", "。"))
        least = _LISTED_WORDS if listed and not plain.startswith("[") else _MIN_WORDS
        if not fenced and is_rule and len(plain.split()) >= least and len(plain) <= _MAX_CHARS:
            yield number, plain


def follow(store: Path, here: Path, folders: Sequence[Path] | None) -> bool:
    """Begins to follow the files of a repository, and some folders; None: follows them no more.

    True if they were followed before.
    """
    root = repository_place(here).repository or here
    known = _followed(store)
    before = known.pop(str(root), None) is not None
    if folders is not None:
        places = [*(root / name for name in RULE_FILES), *folders]
        known[str(root)] = {"places": [str(place) for place in places], "files": {}}
    _write_followed(store, known)
    return before


def on_follow(stores: "Stores", request: Mapping[str, Any]) -> dict[str, int]:
    """Answers a hook at a session's start; `stored` is how many memories came or went."""
    mesh = stores.mesh_for(request, channel=Channel.FILE)
    return {"stored": sum(keep_in_step(mesh, Path(request["store"]), Path(request["cwd"])))}


def keep_in_step(mesh: MemoryMesh, store: Path, here: Path) -> tuple[int, int]:
    """Stores new lines of files that changed, withdraws lost ones; returns how many of each."""
    root = repository_place(here).repository or here
    known = _followed(store)
    if str(root) not in known:
        return 0, 0
    files: dict[str, Any] = known[str(root)]["files"]
    places = [Path(place) for place in known[str(root)]["places"]]
    found = {str(path): path for place in places if place.exists() for path in _files(place)}
    stored = withdrawn = 0
    for name in sorted({*found, *files}):
        stamp, before = files.get(name, (None, {}))
        now = [] if name not in found else _stamp(found[name])
        if now == stamp or (read := _lines(found.get(name))) is None:
            continue
        path = Path(name)
        near = path.is_relative_to(root)
        source = path.relative_to(root).as_posix() if near else f"claude-code:{path.name}"
        kept = {digest: before[digest] for digest in read.keys() & before.keys()}
        new = {digest: line for digest, line in read.items() if digest not in before}
        receipts = _stored(mesh, list(new.values()), shown(source))
        kept |= {
            digest: receipt.id if receipt.outcome is Outcome.STORED else None
            for digest, receipt in zip(new, receipts, strict=True)
        }
        stored += sum(receipt.outcome is Outcome.STORED for receipt in receipts)
        files[name] = [now, kept]
        if name not in found:
            del files[name]
        for digest in before.keys() - read.keys():
            beside = next((lines for _, lines in files.values() if digest in lines), None)
            if beside is not None:  # another file says so, too
                beside[digest] = beside[digest] or before[digest]
            elif before[digest]:
                withdrawn += _withdrawn(mesh, before[digest], source)
    _write_followed(store, known)
    return stored, withdrawn


def _files(place: Path) -> list[Path]:
    return paths(place, ENDINGS)


def _stamp(path: Path) -> list[int]:
    said = path.stat()
    return [said.st_size, said.st_mtime_ns]


def _lines(path: Path | None) -> dict[str, str] | None:
    """The rules of a file by their digests; none of one that is gone, None if it is unreadable."""
    if path is None:
        return {}
    text = next((text for _, text in texts(path, ENDINGS).found), None)
    if text is None:
        return None
    return {sha256(line.encode()).hexdigest()[:24]: line for _, line in rule_lines(text)}


def _stored(mesh: MemoryMesh, lines: Sequence[str], source: str) -> list[Receipt]:
    scope, metadata = Scope(project=mesh.config.project), {"type": "document"}
    items = [
        {"content": line, "metadata": metadata, "scope": scope, "source_ref": source}
        for line in lines
    ]
    return mesh.add_many(items) if items else []


def _withdrawn(mesh: MemoryMesh, memory_id: str, source: str) -> bool:
    """Deletes the memory of a lost line, unless somebody changed or confirmed it since."""
    with suppress(NotFound):
        if len(mesh.history(memory_id)) == 1:
            return mesh.delete(memory_id, reason=f"its line is gone from {source}") is None
    return False


def _followed(store: Path) -> dict[str, Any]:
    try:
        found = json.loads((store / FOLLOWED).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # nothing is followed yet
        return {}
    return found if isinstance(found, dict) else {}


def _write_followed(store: Path, known: Mapping[str, Any]) -> None:
    """Writes what is followed, for its owner only, whole or not at all."""
    path = store / FOLLOWED
    make_folder(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    made = new_file(part, os.O_WRONLY)
    if made is not None:
        with os.fdopen(made, "w", encoding="utf-8") as file:
            json.dump(known, file)
        part.replace(path)
