"""What folders take on disk."""

import os
from contextlib import suppress
from os import PathLike


def folder_bytes(folder: str | PathLike[str]) -> int:
    """Bytes of all files below a folder; 0 if there is none. Links are not followed."""
    found = 0
    for here, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # removed meanwhile
                found += os.lstat(f"{here}/{name}").st_size
    return found
