"""Where the mirrored folder is, and keeping it up to date after a command that writes."""

from contextlib import suppress
from pathlib import Path

from memory_mesh.cli import output
from memory_mesh.config import Config
from memory_mesh.model import MeshError, Scope
from memory_mesh.sync import MemoryMesh

WRITING = frozenset(
    {
        "store", "evolve", "update", "delete", "restore", "review", "conflicts", "reflect",
        "ingest-dir", "import-lane", "import-tables", "dispute", "pin", "wipe",
    }
)  # fmt: skip


def folder_of(named: str | None, config: Config) -> Path:
    """The folder that was named, else the configured one, else `.rawko/memories`.

    A configured relative path starts at the top of the work tree.
    """
    if named is not None:
        return Path(named)
    return _top() / (config.mirror_dir or Path(".rawko", "memories"))


def write_through(command: str, mesh: MemoryMesh, reader: Scope) -> None:
    """Writes what a command changed to the configured folder; a failure does not undo it."""
    if mesh.config.mirror_dir is None or command not in WRITING:
        return
    folder = folder_of(None, mesh.config)
    if not folder.is_dir():
        return
    from memory_mesh.mirror import Mirror

    try:
        report = Mirror(mesh.view(scope=reader), folder).push()
    except (MeshError, OSError) as error:
        output.tell([f"the mirror {folder} was not brought up to date: {error}"])
        return
    output.tell([f"mirror: {line.path}: {line.words}" for line in report.notes])


def _top() -> Path:
    here = Path()
    with suppress(FileNotFoundError):
        here = Path.cwd()
        for place in (here, *here.parents):
            if (place / ".git").exists():
                return place
    return here
