"""The store's files: room on the disk, rights, and the key."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from memory_mesh.agents.doctor.finding import Case, Finding, counted, failed, ok, warning
from memory_mesh.errors import StoreError, WrongKey
from memory_mesh.process.keys import IDENTITY, KeyFile

LEAST_BYTES, SCARCE_BYTES = 50_000_000, 1_000_000_000
_OTHERS, _OTHERS_WRITE = 0o077, 0o022
_LOOKED_AT = 5_000  # files and folders of a store


def disk(case: Case) -> Iterator[Finding]:
    """Whether there is room for more memories."""
    there = next(each for each in (case.store, *case.store.parents) if each.exists())
    yield room(shutil.disk_usage(there).free, there)


def room(free: int, folder: Path) -> Finding:
    """Judges the free bytes of the disk that a folder is on."""
    said = f"{free / 1e9:.1f} GB free at {folder}" if free > LEAST_BYTES else (
        f"only {free / 1e6:.0f} MB free at {folder}: the next write may fail"
    )  # fmt: skip
    fix = f"free some space, or set MEMORY_MESH_DIR to a folder of another disk; see: df -h {quote(str(folder))}"  # noqa: E501
    if free <= LEAST_BYTES:
        return failed("disk", said, fix)
    return warning("disk", said, fix) if free < SCARCE_BYTES else ok("disk", said)


def permissions(case: Case) -> Iterator[Finding]:
    """Whether the store belongs to this user and to nobody else."""
    if sys.platform == "win32" or not case.store.exists():
        yield ok("permissions", "there is no store yet; it will be for its owner only")
        return
    paths = _paths(case.store)
    foreign = [path for path in paths if path.lstat().st_uid != os.getuid()]
    if foreign and os.getuid() != 0:
        yield failed(
            "permissions",
            f"{foreign[0]} belongs to another user",
            f"sudo chown -R {os.getuid()} {quote(str(case.store))}",
        )
    opened = [path for path in paths if _mode(path) & _OTHERS]
    if opened:
        yield warning(
            "permissions",
            f"{counted(len(opened), 'file or folder', 'files and folders')} can be used by others, "
            f"{opened[0]} first (mode {_mode(opened[0]):04o})",
            f"chmod -R go= {quote(str(case.store))}",
        )
    elif not foreign or os.getuid() == 0:
        files = "file or folder", "files and folders"
        yield ok("permissions", f"{counted(len(paths), *files)}, for their owner only")


def key(case: Case) -> Iterator[Finding]:
    """Whether the store's key is there, outside of the store, and private."""
    if not (case.store / IDENTITY).exists():
        yield ok("key", "none yet: the first memory that needs it makes it")
        return
    keys = KeyFile.of(case.store, case.environment)
    if (wrong := _wrong(keys)) is not None:
        yield failed(
            "key",
            wrong,
            f"copy it back from a backup to {quote(str(keys.path))}, or set "
            "MEMORY_MESH_KEY_DIR; if it is lost: memory-mesh keys replace",
        )
    elif not keys.path.exists():
        yield warning(
            "key",
            f"{keys.path} is not there: what was sealed with it cannot be recognised again",
            f"copy it back from a backup to {quote(str(keys.path))}; if there was none, store a "
            "memory, and a new one is made",
        )
    elif sys.platform != "win32" and _mode(keys.path) & _OTHERS:
        yield failed(
            "key", f"{keys.path} can be read by others", f"chmod 600 {quote(str(keys.path))}"
        )
    elif sys.platform != "win32" and _mode(keys.path.parent) & _OTHERS_WRITE:
        folder = keys.path.parent
        yield failed("key", f"{folder} can be written by others", f"chmod 700 {quote(str(folder))}")
    else:
        found = counted(len(keys.keys()), "key")
        yield ok(
            "key", f"{found} in {keys.path}, for its owner only; back it up apart from the store"
        )


def _wrong(keys: KeyFile) -> str | None:
    """Why the store's key is not the one that it was written with."""
    try:
        if keys.recorded():
            keys.keys()
    except WrongKey as error:
        if not keys.path.exists():
            return f"{error.path} is not there, and the store was written with its key"
        return f"the store was written with another key than those in {error.path}"
    except StoreError:  # told below, with its own fix
        return None
    return None


def _paths(store: Path) -> list[Path]:
    """The store's folder and what lies in it, as far as it is looked at; links are not followed."""
    found = [store]
    for folder, folders, files in os.walk(store):
        found += [Path(folder, name) for name in (*folders, *files)]
        if len(found) > _LOOKED_AT:
            break
    return [path for path in found[:_LOOKED_AT] if os.path.lexists(path) and not path.is_symlink()]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
