"""The files of the system memory: the log of the last entries, and compressed archives.

    <store>/system/memory_log.md               the active entries
    <store>/system/memory_log.0001.md.gz       entries exp_1 to exp_999
    <store>/system/memory_log.0002.md.gz       entries exp_1000 to exp_1999, and so on

The ledger has the active entries too; the log is written from it. An archived entry is in its
archive only. An archive holds at most a thousand entries, is read line by line and replaced as a
whole.
"""

import gzip
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_mesh.errors import StoreError
from memory_mesh.formats import memory_log
from memory_mesh.model.experience import Experience
from memory_mesh.process import durable_files
from memory_mesh.process.locks import locked
from memory_mesh.process.private import make_folder

PER_ARCHIVE = 1_000
_HEAD_BYTES = 200  # of the log, with the number of its first entry
_TAIL_BYTES = 65_536  # of the log that are read to find its last entry
_ARCHIVE = re.compile(r"memory_log\.([0-9]{4,})\.md\.gz\Z")
_ID = re.compile(rb"^experience_id: exp_([0-9]+)$", re.MULTILINE)
_END = b"\n---\n"


class ExperienceFiles:
    """The files of one store's system memory."""

    def __init__(self, store: Path) -> None:
        self.folder: Path = store / "system"
        self.log: Path = self.folder / "memory_log.md"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps other processes from changing the files; removes what a killed one left."""
        make_folder(self.folder)
        with locked(self.folder / ".lock"):
            for left in self.folder.glob(".memory_log.*.tmp"):
                with suppress(OSError):
                    left.unlink()
            yield

    def archives(self) -> list[Path]:
        """The archives, the oldest first."""
        if not self.folder.is_dir():
            return []
        found = [
            (int(match[1]), path)
            for path in self.folder.iterdir()
            if (match := _ARCHIVE.match(path.name))
        ]
        return [path for _, path in sorted(found)]

    def archive_of(self, number: int) -> Path:
        """Where an entry is archived."""
        return self.folder / f"memory_log.{number // PER_ARCHIVE + 1:04d}.md.gz"

    def archived(self, path: Path) -> Iterator[Experience]:
        """The entries of an archive in order, read line by line; nothing if there is none."""
        try:
            with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
                for found in memory_log.entries(lines):
                    if isinstance(found, memory_log.Fault):
                        raise StoreError(
                            f"{path}, line {found.line}: {found.message}; restore the archive "
                            "from a backup"
                        )
                    yield found
        except FileNotFoundError:
            return
        except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
            raise StoreError(f"{path} is damaged; restore it from a backup") from error

    def write_archive(self, path: Path, entries: Sequence[Experience]) -> None:
        """Replaces an archive; one without entries is removed. The same entries, the same bytes."""
        if not entries:
            path.unlink(missing_ok=True)
            return
        text = "".join(memory_log.render_all(entries)).encode()
        durable_files.write_atomically(path, gzip.compress(text, mtime=0), private=True)

    def write_log(self, text: str) -> None:
        """Replaces the log of active entries."""
        durable_files.write_atomically(self.log, text.encode(), private=True)

    def begins_before(self, number: int) -> bool:
        """True if the log still shows an entry below a number."""
        try:
            with self.log.open("rb") as file:
                found = _ID.search(file.read(_HEAD_BYTES))
        except FileNotFoundError:
            return False
        return found is not None and int(found[1]) < number

    def append(self, entries: Sequence[Experience]) -> bool:
        """Appends entries to the log in one write; False if it does not end just before them."""
        last = self._last()
        if last is not None and last >= entries[-1].number:
            return True  # somebody who came later wrote the whole log
        if last != entries[0].number - 1:
            return False
        text = "".join(f"\n{memory_log.render(entry)}" for entry in entries).encode()
        descriptor = os.open(self.log, os.O_WRONLY | os.O_APPEND)
        try:
            return os.write(descriptor, text) == len(text)
        finally:
            os.close(descriptor)

    def _last(self) -> int | None:
        """The number of the log's last entry; None where it has none or ends within one."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
                tail = file.read()
        except FileNotFoundError:
            return None
        found = list(_ID.finditer(tail))
        return int(found[-1][1]) if found and tail[found[-1].end() :].endswith(_END) else None
