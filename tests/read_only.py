"""A folder that cannot be written, for a child process: also for one of root."""

import ctypes
import os
from pathlib import Path

_NEW_MOUNTS, _PRIVATE = 0x20000, 0x4000 | 0x40000
_BIND, _READ_ONLY_AGAIN = 0x1000, 0x1000 | 0x20 | 0x1


def cannot_be_written(folder: Path) -> None:
    """From now on this process reads the folder only; call it in a child.

    Root writes whatever the modes say: so the folder is mounted upon itself, read-only, in a mount
    namespace that vanishes with the process. Anybody else takes the right to write from it.
    """
    if os.geteuid():
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o500 if path.is_dir() else 0o400)
        return
    libc, place = ctypes.CDLL(None, use_errno=True), bytes(folder)
    for failed in (
        libc.unshare(_NEW_MOUNTS),
        libc.mount(b"none", b"/", None, _PRIVATE, None),
        libc.mount(place, place, None, _BIND, None),
        libc.mount(place, place, None, _READ_ONLY_AGAIN, None),
    ):
        if failed:
            raise OSError(ctypes.get_errno(), "cannot mount")
