"""The file of an archive: a compressed tar that ends with a seal over every byte before it.

::

    gzip member   tar: manifest.json, then tables/<name>.jsonl as the manifest lists them
    gzip member   empty; its comment is the SHA-256 of the member before: the seal

Both are read by `tar xzf`. gzip's own checksum is of the content only, and it ignores bits of its
header, so the seal is compared before anything is unpacked. Nothing here holds more than a line of
a table in memory.
"""

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_mesh.errors import InvalidInput
from memory_mesh.formats import archive

MANIFEST = "manifest.json"
_LEVEL = 6  # of compression, always the same
_PART = 1 << 20  # bytes read at once
_LONGEST_LINE = 1 << 28  # bytes of a row: a text has ten million characters at most
_LONGEST_MANIFEST = 1 << 24
_SEAL_HEAD = b"\x1f\x8b\x08\x10\0\0\0\0\0\xff" + b"memory-mesh archive, sha256 "
_SEAL_TAIL = b"\0\x03\0" + bytes(8)
_DIGITS = 64
_SEAL_BYTES = len(_SEAL_HEAD) + _DIGITS + len(_SEAL_TAIL)
_UNREADABLE = (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile)


class ArchiveWriter:
    """Writes the members one after another."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar

    def add(self, name: str, size: int, lines: Iterable[bytes]) -> None:
        """Adds a member of so many bytes."""
        info = tarfile.TarInfo(name)  # of nobody, made at no time
        info.size, info.mode = size, 0o600
        self._tar.addfile(info, io.BufferedReader(_Stream(lines), _PART))


@contextmanager
def writing(file: io.BufferedWriter) -> Iterator[ArchiveWriter]:
    """A writer of an archive, which is sealed at the end."""
    hashed = _Hashed(file)
    with (
        gzip.GzipFile("", "wb", _LEVEL, hashed, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        yield ArchiveWriter(tar)
    file.write(_seal(hashed.digest))


class ArchiveReader:
    """Reads the members in the order in which they were written."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.manifest: archive.Manifest = archive.read(
            self._member(MANIFEST).read(_LONGEST_MANIFEST)
        )

    def lines(self, table: archive.Table, between: Callable[[], None]) -> Iterator[bytes]:
        """The lines of the next table; raises InvalidInput where they are not what was written."""
        hashed, rows = hashlib.sha256(), 0
        member = self._member(table.file)
        while line := member.readline(_LONGEST_LINE):
            hashed.update(line)
            rows += 1
            between()
            yield line
        if hashed.hexdigest() != table.sha256 or rows != table.rows:
            raise InvalidInput(f"{table.file} is not what the manifest of the archive says")

    def _member(self, name: str) -> io.BufferedReader:
        info = self._tar.next()
        found = None if info is None or info.name != name else self._tar.extractfile(info)
        if found is None:
            raise InvalidInput(f"the archive does not hold {name} where it should")
        return found  # type: ignore[return-value]  # a buffered reader


@contextmanager
def reading(path: Path) -> Iterator[ArchiveReader]:
    """A reader of a sealed archive; every fault of the file is InvalidInput that names it."""
    try:
        _check_seal(path)
        with gzip.open(path) as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
            yield ArchiveReader(tar)
    except _UNREADABLE as error:
        raise InvalidInput(f"{path} cannot be read as an archive: {error}") from error
    except OSError as error:
        if error.filename is None or Path(error.filename) != path:
            raise
        raise InvalidInput(f"{path} cannot be read: {error.strerror}. Check --from") from error
    except InvalidInput as error:
        if str(path) in str(error):
            raise
        raise InvalidInput(f"{path}: {error}") from error


def sha256_of(path: Path) -> str:
    """The SHA-256 of a whole file, in hexadecimal digits."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_PART):
            hashed.update(part)
    return hashed.hexdigest()


def _check_seal(path: Path) -> None:
    """Refuses a file that is no archive, is cut off, or has any other byte."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        rest = file.seek(0, io.SEEK_END) - _SEAL_BYTES
        file.seek(max(rest, 0))
        seal = file.read()
        if rest < 0 or not seal.startswith(_SEAL_HEAD):
            raise InvalidInput(
                f"{path} is no archive of memory-mesh, or its end is missing. Copy it again from "
                "where it was made, or export it there again; "
                "files of text are stored by: memory-mesh ingest-dir"
            )
        file.seek(0)
        while rest and (part := file.read(min(_PART, rest))):
            hashed.update(part)
            rest -= len(part)
    if seal != _seal(hashed.hexdigest()):
        raise InvalidInput(
            f"{path} is damaged: it is not what was exported. Nothing was imported. Copy it again "
            "from where it was made, or export it there again"
        )


def _seal(digest: str) -> bytes:
    return _SEAL_HEAD + digest.encode() + _SEAL_TAIL


class _Hashed:
    """A file that knows the SHA-256 of what was written to it."""

    def __init__(self, file: io.BufferedWriter) -> None:
        self.file, self._hash = file, hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return self.file.write(data)

    def flush(self) -> None:
        self.file.flush()


class _Stream(io.RawIOBase):
    """Lines as a file to read from."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines, self._rest = iter(lines), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]  # the base's own
        parts, size = [self._rest], len(self._rest)
        while size < len(buffer) and (line := next(self._lines, b"")):
            parts.append(line)
            size += len(line)
        data = b"".join(parts)
        count = min(len(buffer), len(data))
        buffer[:count], self._rest = data[:count], data[count:]
        return count
