"""Which keys a store has, by their ids, without making one."""

import os
from pathlib import Path

from memory_mesh.process.keys import IDENTITY, KeyFile, key_folder


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
