"""Bytes of the files of a namespace."""

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite.namespace_places import SUFFIX
from memory_mesh.model import Sizes

_COPY, _VECTORS = ".before-", ".vectors-"


def sizes(spool: Path) -> Sizes:
    """Bytes of the files of a namespace, which lie beside its spool."""
    path = spool.with_suffix(SUFFIX)
    stem, found = path.stem, Counter[str]()
    with suppress(FileNotFoundError):
        names = os.listdir(path.parent)  # noqa: PTH208  # once: there may be 10,000 namespaces
        for name in (name for name in names if name.startswith(stem)):
            found[_part(name.removeprefix(stem))] += _bytes(path.with_name(name))
    return Sizes(
        database=_bytes(path),
        wal=_bytes(path.with_suffix(f"{SUFFIX}-wal")),
        spool=_bytes(spool),
        copies=found["copies"],
        vectors=found["vectors"],
    )


def _part(ending: str) -> str:
    """What a file with this ending is, of those whose names differ."""
    if ending.startswith(_COPY) and ending.endswith(".bak"):
        return "copies"
    is_vectors = ending.startswith(_VECTORS) and ending.removeprefix(_VECTORS).isdigit()
    return "vectors" if is_vectors else ""


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
