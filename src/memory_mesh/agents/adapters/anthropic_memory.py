"""Anthropic's memory tool on a mesh: `run_tools(tools=[MeshMemoryTool(mesh)], ...)`.

A file under /memories is a memory of the label "file": its text is searched with all others, its
path is the source_ref, each edit is a new version. There are no folders but those of the paths, and
nothing of it lies on the disk as a file, so no path leads out. What the model writes has the trust
of an inference. A file holds 65,000 characters.
"""

from collections.abc import Sequence
from posixpath import normpath
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

from memory_mesh.agents.adapters.exchange_memory import blocking
from memory_mesh.agents.adapters.user_memory import Records, quoted
from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.model import Memory, MeshError
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh

_ROOT = "/memories"
_KIND = "file"
_LEVELS = 2  # of folders that a listing shows, as Anthropic's own tool does
_AROUND = 2  # lines above and below an edit that are shown


class MeshMemoryTool(BetaAbstractMemoryTool):
    """The files of one user; `mesh.for_user(id)` keeps those of users apart."""

    def __init__(self, mesh: "MemoryMesh | AsyncMesh", **options: Any) -> None:
        """Keep the mesh; whoever opened it closes it. Options are those of the base class."""
        super().__init__(**options)
        self._records = Records(blocking(mesh), _KIND)

    def execute(self, command: Any) -> Any:
        """Runs one command; what goes wrong is an answer for the model."""
        try:
            return super().execute(command)
        except MeshError as error:
            raise ToolError(str(error)) from None

    def view(self, command: Any) -> str:
        """The numbered lines of a file, or what lies below a folder."""
        path = _checked(command.path)
        found = self._file(path)
        if found is None:
            return self._listing(path)
        lines = _content(found).split("\n")
        first, last = command.view_range or (1, -1)
        first = max(first, 1)
        shown = lines[first - 1 : None if last == -1 else last]
        return f"Here's the content of {path} with line numbers:\n" + _numbered(shown, first)

    def create(self, command: Any) -> str:
        """Writes a new file."""
        path = _checked(command.path)
        if path == _ROOT or self._below(path):
            raise ToolError(f"File {path} already exists")
        self._records.add([(path, command.file_text, command.file_text)])
        return f"File created successfully at: {path}"

    def str_replace(self, command: Any) -> str:
        """Replaces a text that stands in a file once."""
        path, (memory, text) = _checked(command.path), self._read(command.path)
        count = text.count(command.old_str)
        if count != 1:
            raise ToolError(
                f"No replacement was performed: old_str stands {count} times in {path}; it must be "
                "there exactly once"
            )
        new = text.replace(command.old_str, command.new_str or "")
        self._records.change(memory, new, new)
        line = text[: text.index(command.old_str)].count("\n")
        first = max(line - _AROUND, 0)
        around = new.split("\n")[first : line + _AROUND + 1]
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            f"numbers):\n{_numbered(around, first + 1)}"
        )

    def insert(self, command: Any) -> str:
        """Puts lines behind a line; 0 is the start."""
        path, (memory, text) = _checked(command.path), self._read(command.path)
        lines = text.removesuffix("\n").split("\n")
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the "
                f"range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        new = "\n".join(lines) + "\n"
        self._records.change(memory, new, new)
        return f"The file {path} has been edited."

    def delete(self, command: Any) -> str:
        """Deletes a file, or all below a folder."""
        path = _checked(command.path, folder="Cannot delete the /memories directory itself")
        self._records.delete(self._some(path))
        return f"Successfully deleted {path}"

    def rename(self, command: Any) -> str:
        """Gives a file, or all below a folder, another path."""
        why = "Cannot rename the /memories directory itself"
        old, new = _checked(command.old_path, folder=why), _checked(command.new_path, folder=why)
        files = self._some(old)
        if self._below(new) or new.startswith(f"{old}/"):
            raise ToolError(f"The destination {new} already exists")
        moved = [(new + _path(one).removeprefix(old), _content(one)) for one in files]
        self._records.add([(path, text, text) for path, text in moved])
        self._records.delete(files)
        return f"Successfully renamed {old} to {new}"

    def clear_all_memory(self) -> str:
        """Deletes every file."""
        self._records.delete(self._records.find())
        return "All memory cleared"

    def _file(self, path: str) -> Memory | None:
        return next(iter(self._records.find(f"source_ref = {quoted(path)}")), None)

    def _read(self, given: str) -> tuple[Memory, str]:
        found = self._file(_checked(given))
        if found is None:
            raise ToolError(f"The path {given} does not exist. Please provide a valid path.")
        return found, _content(found)

    def _below(self, path: str) -> list[Memory]:
        """The file of a path, or those below it, by path."""
        found = self._records.find()
        return sorted((one for one in found if f"{_path(one)}/".startswith(f"{path}/")), key=_path)

    def _some(self, path: str) -> list[Memory]:
        found = self._below(path)
        if not found:
            raise ToolError(f"The path {path} does not exist")
        return found

    def _listing(self, path: str) -> str:
        found = self._below(path) if path == _ROOT else self._some(path)
        sizes: dict[str, int] = {path: 0}
        for one in found:
            parts = _path(one).removeprefix(f"{path}/").split("/")
            names = [f"{path}/{'/'.join(parts[:n])}/" for n in range(1, len(parts))]
            for name in [path, *names, _path(one)]:
                sizes[name] = sizes.get(name, 0) + len(_content(one).encode())
        top = path.count("/")
        lines = [
            f"{size}\t{name}"
            for name, size in sorted(sizes.items())
            if name.rstrip("/").count("/") - top <= _LEVELS
        ]
        return (
            f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden "
            "items:\n" + "\n".join(lines)
        )


def _checked(path: str, *, folder: str = "") -> str:
    """A path below /memories; with `folder`, that is what is said of /memories itself."""
    found = normpath(path)
    if found != _ROOT and not found.startswith(f"{_ROOT}/"):
        raise ToolError(f"Path must start with /memories, got: {path}")
    if folder and found == _ROOT:
        raise ToolError(folder)
    return found


def _path(memory: Memory) -> str:
    return memory.source.ref or ""


def _content(memory: Memory) -> str:
    return str(memory.extra["value"])


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{n:6}\t{line}" for n, line in enumerate(lines, start=first))
