"""A quick look at the namespaces of a store: whether each opens and has what was acknowledged.

It reads the end of each file's history and no more: `verify` reads everything. Nothing is migrated,
and no log of a damaged file is touched.
"""

from itertools import islice
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite.keeping import copying, head_file
from memory_mesh.errors import MeshError
from memory_mesh.model.safekeeping import Looked


def look(folder: Path, *, besides: str | None = None, most: int) -> Looked:
    """Looks at the first namespaces of a store but one, by name; says what is wrong with each."""
    wrong = copying.gone(folder)
    found = copying.files(folder)
    names = sorted({*found, *wrong} - {besides})
    for name in islice(names, most):
        if name in found and (said := _flaw(found[name], name)) is not None:
            wrong[name] = said
    seen = names[:most]
    return Looked(len(names), len(seen), {name: wrong[name] for name in seen if name in wrong})


def _flaw(path: Path, namespace: str) -> str | None:
    """Why a namespace does not open; None if it does, or was just deleted."""
    if (flaw := head_file.lack(path, namespace)) is not None:
        return str(flaw)
    try:
        copying.standing(path)
    except MeshError as error:
        return str(error) if path.exists() else None
    return None
