"""Append a document to a memory file that others may append to at the same time."""

from collections.abc import Callable
from pathlib import Path

from memory_mesh.formats import memory_file
from memory_mesh.formats.memory_file import MemoryFile
from memory_mesh.process.durable_files import append_locked


def append(
    path: Path,
    document: MemoryFile,
    *,
    expected: Callable[[bytes], bool] = lambda _before: True,
) -> bytes | None:
    """Appends a document under the file's lock by one write; returns the whole file.

    The file and its folder are made where they are missing. If the file is not as `expected`,
    nothing is appended and None is returned.
    """
    memory_file.render(document)  # what no file can show leaves no empty file
    path.parent.mkdir(parents=True, exist_ok=True)
    whole: list[bytes] = []

    def addition(before: bytes) -> bytes:
        if not expected(before):
            return b""
        more = memory_file.addition(before.decode(), document).encode()
        whole.append(before + more)
        return more

    append_locked(path, addition)
    return whole[0] if whole else None
