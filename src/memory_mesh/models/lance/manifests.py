"""Checksums of the manifests of a body: Lance reads a manifest without any, and believes it.

A manifest names the columns, files and rows of a version. One with a changed bit may hide rows, or
end the process inside Lance. So a body whose manifest is not as it was written is no body.
"""

import zlib
from contextlib import suppress
from pathlib import Path

from memory_mesh.platform.durable_files import write_atomically

_SUMS = "manifest.sums"  # in the body's folder: a line for each version that may be read
_HIGHEST = 2**64 - 1  # Lance counts the names of manifests down, so that the newest comes first
_LARGE = 2**63  # above it a name counts down, below it up, as in earlier versions of Lance


def note(folder: Path, version: int) -> None:
    """Writes down how the manifest of a version is, beside those of versions that are still there.

    A version that was written before any was noted, and is still there, is taken as it is.
    """
    noted = _noted(folder)
    there = _versions(folder)
    lines = [line for line in noted or () if _version(line) in there - {version}]
    new = {version} if noted is not None else there
    lines += [f"{each} {_sum(folder, each)}" for each in sorted(new)]
    data = "".join(f"{line}\n" for line in lines).encode()
    write_atomically(folder / _SUMS, data, private=True)


def is_as_noted(folder: Path, version: int) -> bool:
    """False if the manifest is not as noted; the bodies of earlier versions have no note."""
    noted = _noted(folder)
    return noted is None or f"{version} {_sum(folder, version)}" in noted


def _noted(folder: Path) -> list[str] | None:
    """The lines that were written; None if there are none."""
    try:
        return (folder / _SUMS).read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return None


def _version(line: str) -> int | None:
    said = line.partition(" ")[0]
    return int(said) if said.isascii() and said.isdigit() else None


def _versions(folder: Path) -> set[int]:
    """The versions whose manifests are there."""
    names = (path.stem for path in (folder / "_versions").glob("*.manifest"))
    numbers = {int(name) for name in names if name.isascii() and name.isdigit()}
    return {_HIGHEST - number if number > _LARGE else number for number in numbers}


def _sum(folder: Path, version: int) -> str | None:
    """The checksum of a version's manifest, which has one of two names; None if there is none."""
    for name in (f"{_HIGHEST - version:020d}", str(version)):
        with suppress(FileNotFoundError):
            data = (folder / "_versions" / f"{name}.manifest").read_bytes()
            return f"{zlib.crc32(data):08x}"
    return None
