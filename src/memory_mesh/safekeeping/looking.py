"""A quick look at the namespaces of a store: whether each opens and has what was acknowledged.

It reads the end of each file's history and no more: `verify` reads everything. Nothing is migrated,
and no log of a damaged file is touched.
"""

from itertools import islice
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite import namespace_places
from memory_mesh.engines.ledgers.sqlite.keeping import copying, head_file
from memory_mesh.errors import MeshError
from memory_mesh.model.safekeeping import Looked


def look(folder: Path, *, besides: str | None = None, most: int) -> Looked:
    """Looks at the first namespaces of a store but one, by name; says what is wrong with each."""
    names = (name for name in namespace_places.names(folder / "namespaces") if name != besides)
    seen = list(islice(names, most))
    told = {name: _flaw(folder, name) for name in seen}
    wrong = {name: said for name, said in told.items() if said is not None}
    return Looked(len(seen) + sum(1 for _ in names), len(seen), wrong)


def _flaw(folder: Path, namespace: str) -> str | None:
    """Why a namespace does not open; None if it does, was just made, or was just deleted."""
    path = copying.place(folder, namespace)
    if (said := copying.missing(path, namespace)) is not None:
        return said
    try:
        if (other := namespace_places.twin(folder / "namespaces", path)) is not None:
            namespace_places.refuse_twin(path, other)
        if not path.stat().st_size:
            return None
        if (flaw := head_file.lack(path, namespace)) is not None:
            return str(flaw)
        copying.standing(path)
    except FileNotFoundError:
        return None
    except MeshError as error:
        return str(error) if path.exists() else None
    return None
