"""Where the command line says that the store is, as variables for other processes."""

import argparse
import os
from pathlib import Path

from memory_mesh.errors import InvalidInput
from memory_mesh.process import store_urls


def variables(options: argparse.Namespace, *, to_write: bool = True) -> dict[str, str]:
    """The variables; one that is empty counts as not set.

    A password is left out; where they are written down, an address with one is refused.
    """
    found = {}
    folder = options.db_dir
    if options.store is not None:
        folder = store_urls.folder_in(options.store) or folder
        if store_urls.is_server(options.store):
            found["MEMORY_MESH_STORE"] = _without_password(options.store, to_write=to_write)
    if folder is not None:
        found["MEMORY_MESH_DIR"] = str(Path(folder).expanduser().absolute())
        if os.environ.get("MEMORY_MESH_STORE"):
            found.setdefault("MEMORY_MESH_STORE", "")
    return found


def _without_password(store: str, *, to_write: bool) -> str:
    if not to_write:
        return store_urls.shown(store)
    if store_urls.shown(store) != store:
        raise InvalidInput(
            "the address holds a password, which would be written where others read it; leave it "
            "out and keep it in ~/.pgpass"
        )
    return store
