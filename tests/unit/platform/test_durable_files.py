"""Files that others edit too: nothing is lost, nothing is half written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform.durable_files import append_locked, write_atomically

APPENDING = """
import sys
from pathlib import Path
from memory_mesh.platform.durable_files import append_locked
for number in range(int(sys.argv[3])):
    line = f"{sys.argv[2]} {number}\\n".encode()
    append_locked(Path(sys.argv[1]), lambda existing: line if existing else b"first\\n" + line)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_and_a_replaced_one_hold_the_bytes(tmp_path):
    path = tmp_path / "a.md"
    write_atomically(path, b"one")
    path.chmod(0o640)
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["a.md"]


def test_a_link_is_neither_followed_nor_replaced(tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"theirs")
    path = tmp_path / "link.md"
    path.symlink_to(outside)
    for write in (
        lambda: write_atomically(path, b"x"),
        lambda: append_locked(path, b"x"),
    ):
        with pytest.raises(InvalidInput, match="link"):
            write()
    assert path.is_symlink()
    assert outside.read_bytes() == b"theirs"


def test_a_folder_and_a_pipe_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(InvalidInput, match="plain file"):
        append_locked(tmp_path / "pipe.md", b"x")
    with pytest.raises(OSError, match="directory"):
        append_locked(tmp_path, b"x")


def test_a_failed_write_leaves_no_part_of_itself(tmp_path, monkeypatch):
    path = tmp_path / "a.md"
    append_locked(path, b"before")
    write = os.write

    def half(descriptor: int, data: bytes) -> int:
        if len(data) < 10:
            raise OSError(28, "no space left")
        return write(descriptor, data[: len(data) - 5])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="no space"):
        append_locked(path, b"a longer piece of text")
    monkeypatch.undo()
    assert path.read_bytes() == b"before"


def test_processes_that_append_at_once_lose_nothing(tmp_path):
    path = tmp_path / "log.md"
    workers = [
        subprocess.Popen([sys.executable, "-c", APPENDING, str(path), str(name), "20"])
        for name in range(4)
    ]
    assert [worker.wait() for worker in workers] == [0] * 4
    lines = path.read_text().splitlines()
    assert lines[0] == "first"
    assert sorted(lines[1:]) == sorted(f"{name} {n}" for name in range(4) for n in range(20))
