"""Which keys a store has, without making one, and keys that go along to another store."""

import os
from pathlib import Path

from memory_mesh.process import key_record
from memory_mesh.process.durable_files import write_atomically
from memory_mesh.process.keys import IDENTITY, KeyFile, key_folder
from memory_mesh.process.private import make_folder


def key_file(folder: Path) -> KeyFile | None:
    """The key file of the store in a folder; None if there is none yet."""
    try:
        identity = (folder / IDENTITY).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    path = key_folder(os.environ) / f"{identity}.key"
    return KeyFile(path) if identity.isalnum() and path.exists() else None


def key_ids(folder: Path) -> list[str]:
    """The ids of the keys of the store in a folder, the oldest first."""
    found = key_file(folder)
    return [] if found is None else [key.id for key in found.keys()]  # noqa: SIM118  # of a file


def carry_keys(source: Path, to: Path) -> list[str]:
    """Gives a store the keys of another as older ones; returns what a person should know.

    A store that has no key yet gets them as they are, so that placeholders go on as before.
    """
    given = key_file(source)
    if given is None:
        return []
    target = KeyFile.of(to)
    if target.path == given.path:
        return []
    if not target.path.exists() and not (to / key_record.FILE).exists():
        make_folder(target.path.parent)
        write_atomically(target.path, given.path.read_bytes(), private=True)
        target.keys()  # which records them
        return []
    known = target.keys()
    older = [key for key in given.keys() if key not in known]  # noqa: SIM118  # of a file
    if older:
        lines = target.path.read_text(encoding="utf-8").splitlines(keepends=True)
        first = next(n for n, line in enumerate(lines) if line.strip() and line[0] != "#")
        lines[first:first] = [key.line for key in older]
        write_atomically(target.path, "".join(lines).encode(), private=True)
    if known[-1] == given.newest:
        return []
    remark = (
        f"the key file {target.path} has the keys of the old store as older ones: rejected values "
        "stay rejected, and new placeholders differ from those that are there"
    )
    return [remark]
