"""Replace or remove a file that a person may be editing, without losing what they save.

The new file takes the place of the old one in one step, and the old one is looked at only after
that: if it is not what was expected, the two change places again (`durable_files.exchanged`). Where
the system cannot do that, the file is compared directly before a rename.

A program that opened the old file earlier may still write to it. So it is kept in a hidden folder
until the next run has seen that nobody did (`late_writes`).
"""

import os
from contextlib import suppress
from pathlib import Path

from memory_mesh.errors import InvalidInput
from memory_mesh.mirror.scan import hashed
from memory_mesh.process.durable_files import (
    exchanged,
    opened_locked,
    short,
    sync_folder,
    written_beside,
)

KEPT = ".mirror-replaced"  # a folder beside the files: not listed, because its name is hidden


def replace(path: Path, expected: str, data: bytes, *, root: Path) -> bool:
    """Replaces the file if its hash is still the expected one; False if it is not."""
    keep = _place(path, root, expected)
    with suppress(FileNotFoundError), opened_locked(path, 0):
        draft = written_beside(path, data)
        with opened_locked(draft, 0):  # nobody of ours appends to it before it is settled
            if _put(draft, path, expected, keep):
                sync_folder(path.parent)
                return True
            _settle(draft, hashed(data), _place(path, root, hashed(data)))
    return False


def _put(draft: Path, path: Path, expected: str, keep: Path) -> bool:
    """Puts the draft in the file's place and keeps the file; False if it is another one."""
    if exchanged(draft, path):
        if _hash(draft) == expected:
            draft.rename(keep)
            return True
        exchanged(draft, path)  # what was saved a moment ago is back in its place
        return False
    if not path.exists() or _hash(path) != expected:  # no exchange here: look, then rename
        return False
    os.link(path, keep)
    draft.replace(path)
    return True


def remove(path: Path, expected: str, *, root: Path) -> bool:
    """Removes the file if its hash is still the expected one; False if it is not."""
    keep = _place(path, root, expected)
    with suppress(FileNotFoundError), opened_locked(path, 0):
        aside = path.with_name(f".{short(path.stem)}.{os.urandom(4).hex()}")
        path.rename(aside)
        if _hash(aside) == expected:
            aside.rename(keep)
            sync_folder(path.parent)
            return True
        try:
            os.link(aside, path)  # unless somebody made a new one meanwhile
            aside.unlink()
        except FileExistsError:
            aside.rename(path.with_name(f"{short(path.stem)}-{os.urandom(2).hex()}{path.suffix}"))
    return False


def late_writes(root: Path, *, dry: bool = False) -> list[str]:
    """Names of kept files that were written to after they were replaced.

    The others are removed, unless the run is `dry`.
    """
    folder = root / KEPT
    if folder.is_symlink() or not folder.is_dir():
        return []
    late: list[str] = []
    for kept in sorted(folder.glob("[!.]*")):
        if kept.is_symlink() or not kept.is_file():
            continue
        if _hash(kept) != kept.name.rpartition(".")[2]:
            late.append(kept.name)
        elif not dry:
            kept.unlink()
    return late


def _place(path: Path, root: Path, hash_: str) -> Path:
    """A name to keep a file under; it ends in the hash that the file has if nobody wrote to it."""
    folder = root / KEPT
    if folder.is_symlink():
        raise InvalidInput(f"{folder} is a link; remove it: links are not followed")
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder / f"{short(path.stem.lstrip('.'))}.{os.urandom(4).hex()}.{hash_}"


def _settle(draft: Path, own: str, keep: Path) -> None:
    """Removes our draft after a second exchange; what a person saved between the two is kept."""
    if _hash(draft) == own:
        draft.unlink()
    else:
        draft.rename(keep)


def _hash(path: Path) -> str:
    return hashed(path.read_bytes())
