"""Replace or remove a file that a person may be editing, without losing what they save.

The new file takes the place of the old one in one step, and the old one is looked at only after
that: if it is not what was expected, the two change places again (`durable_files.exchanged`). Where
the system cannot do that, the file is compared directly before a rename.

A program that opened the old file earlier may still write to it. So it is kept in a hidden folder
until the next run has seen that nobody did (`late_writes`).
"""

import os
from pathlib import Path

from memory_mesh.mirror.scan import hashed
from memory_mesh.process.durable_files import (
    exchanged,
    opened_locked,
    sync_folder,
    written_beside,
)

KEPT = ".mirror-replaced"  # a folder beside the files: not listed, because its name is hidden


def replace(path: Path, expected: str, data: bytes, *, root: Path) -> bool:
    """Replaces the file if its hash is still the expected one; False if it is not."""
    with opened_locked(path, 0):
        draft = written_beside(path, data)
        if not exchanged(draft, path):  # no exchange here: look, then rename
            if _hash(path) != expected:
                draft.unlink()
                return False
            os.link(path, _place(path, root, expected))
            draft.replace(path)
        elif _hash(draft) != expected:
            exchanged(draft, path)  # what was saved a moment ago is back in its place
            _settle(draft, hashed(data), root)
            return False
        else:
            _keep(draft, path, root)
    sync_folder(path.parent)
    return True


def remove(path: Path, expected: str, *, root: Path) -> bool:
    """Removes the file if its hash is still the expected one; False if it is not."""
    with opened_locked(path, 0):
        aside = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
        path.rename(aside)
        if _hash(aside) == expected:
            _keep(aside, path, root)
            sync_folder(path.parent)
            return True
        try:
            os.link(aside, path)  # unless somebody made a new one meanwhile
            aside.unlink()
        except FileExistsError:
            aside.rename(path.with_name(f"{path.stem}-{os.urandom(2).hex()}{path.suffix}"))
    return False


def late_writes(root: Path) -> list[str]:
    """Names of kept files that were written to after they were replaced; the others are removed."""
    folder = root / KEPT
    if not folder.is_dir():
        return []
    late: list[str] = []
    for kept in sorted(folder.glob("[!.]*")):
        if _hash(kept) == kept.name.rpartition(".")[2]:
            kept.unlink()
        else:
            late.append(kept.name)
    return late


def _keep(old: Path, path: Path, root: Path) -> None:
    """Keeps the replaced file under a name that ends in its hash."""
    old.rename(_place(path, root, _hash(old)))


def _place(path: Path, root: Path, hash_: str) -> Path:
    folder = root / KEPT
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder / f"{path.stem.lstrip('.')}.{os.urandom(4).hex()}.{hash_}"


def _settle(draft: Path, own: str, root: Path) -> None:
    """Removes our draft after a second exchange; what a person saved between the two is kept."""
    if _hash(draft) == own:
        draft.unlink()
    else:
        _keep(draft, draft, root)


def _hash(path: Path) -> str:
    return hashed(path.read_bytes())
