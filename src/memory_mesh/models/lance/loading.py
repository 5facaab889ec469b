"""Lance itself: loaded when first needed, refused where it would crash.

Its threads do not live through a fork. A child of a process that had loaded it crashes or reads
garbage at its first call, even on a dataset it opens itself; so such a child does without.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.model import Body
from memory_mesh.model.errors import MissingExtra, NotAfterFork, StoreError
from memory_mesh.models.lance import manifests
from memory_mesh.platform import extras

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.lance import _Session

UNREADABLE = (OSError, ValueError, RuntimeError)  # what Lance raises for a damaged or missing file
_METADATA_BYTES = 32 * 1024 * 1024
_forked = False


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
        if not manifests.is_as_noted(Path(uri), body.version):
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
