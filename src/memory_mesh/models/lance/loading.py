"""Lance itself: loaded when first needed, refused where it would crash.

Its threads do not live through a fork. A child of a process that had loaded it crashes or reads
garbage at its first call, even on a dataset it opens itself; so such a child does without.

Lance reads a manifest without any checksum, and believes it: the checksums of a body are ours.
"""

import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.model import Body, MissingExtra, NotAfterFork, StoreError
from memory_mesh.platform import extras
from memory_mesh.platform.durable_files import write_atomically

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.lance import _Session

_SUMS = "manifest.sums"  # in the body's folder: a line for each version that may be read
_HIGHEST = 2**64 - 1  # Lance counts the names of manifests down, so that the newest comes first
_LARGE = 2**63  # above it a name counts down, below it up, as in earlier versions of Lance
UNREADABLE = (OSError, ValueError, RuntimeError)  # what Lance raises for a damaged or missing file
_METADATA_BYTES = 32 * 1024 * 1024
_forked = False


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
    path = folder / _SUMS
    if path.exists() and not path.is_file():  # a pipe would be waited for
        return []
    try:
        return path.read_text("utf-8", "replace").splitlines()
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
        path = folder / "_versions" / f"{name}.manifest"
        with suppress(FileNotFoundError):
            if path.is_file():  # a pipe would be waited for
                return f"{zlib.crc32(path.read_bytes()):08x}"
    return None


def hindrance() -> str | None:
    """Why this process cannot use Lance, in words; None when it can."""
    if _forked:
        return NotAfterFork.__doc__
    return None if _installed() else str(MissingExtra.of("lance", "the index of large stores"))


def load() -> None:
    """Raise unless Lance can be used here; the rest is imported where it is used."""
    if _forked:
        raise NotAfterFork
    if not _installed():
        raise MissingExtra.of("lance", "the index of large stores")


def session(cache_bytes: int) -> "_Session":
    """Caches that several datasets share."""
    from lance.lance import _Session

    return _Session(cache_bytes, _METADATA_BYTES)


def open_body(uri: str, body: Body, shared: "_Session | None" = None) -> "LanceDataset | None":
    """The dataset at the body's version; None unless it is there and holds just what is said."""
    import lance

    try:
        if not is_as_noted(Path(uri), body.version):
            return None
        dataset = lance.dataset(uri, version=body.version, session=shared)
        return dataset if body_of(dataset) == body else None
    except UNREADABLE:
        return None


def open_latest(uri: str) -> "LanceDataset | None":
    """The dataset as it is now, whatever it holds; None when there is no sound one."""
    import lance

    try:
        dataset = lance.dataset(uri)
    except UNREADABLE:
        return None
    return dataset if is_sound(dataset) else None


def is_sound(dataset: "LanceDataset") -> bool:
    """All its versions can be listed: one that cannot would stop every later cleaning."""
    try:
        dataset.versions()
    except UNREADABLE:
        return False
    return True


@contextmanager
def writing() -> Iterator[None]:
    """Say in our words that the index could not be written."""
    try:
        yield
    except UNREADABLE as error:
        raise StoreError(
            f"the index could not be written; the ledger has everything: {error}"
        ) from error


def body_of(dataset: "LanceDataset") -> Body:
    """What a dataset holds: 8 bytes a row are read for it."""
    numbers = dataset.to_table(columns=["number"])["number"].to_numpy()
    return Body(dataset.version, int(numbers.max(initial=0)), len(numbers))


@cache
def _installed() -> bool:
    return extras.is_installed("lance")


def _after_fork_in_child() -> None:
    global _forked  # noqa: PLW0603  # one process, one answer
    _forked = "lance" in sys.modules or "lancedb" in sys.modules


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
