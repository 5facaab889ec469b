"""Where the command line says that the store is, as variables for other processes."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from memory_mesh.cli.parsing import UsageError
from memory_mesh.errors import InvalidInput
from memory_mesh.process import store_urls
from memory_mesh.process.stated_keys import FILE, stated_keys


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


def for_agents(options: argparse.Namespace) -> dict[str, str]:
    """The variables to write for agents, which often start without those of this shell.

    That of a database is written whoever states it, and with it the path of a key file.
    """
    found = variables(options)
    store = os.environ.get("MEMORY_MESH_STORE", "")
    if options.store is None and options.db_dir is None and store_urls.is_server(store):
        found["MEMORY_MESH_STORE"] = _without_password(store, to_write=True)
    stated = stated_keys(os.environ)
    if found.get("MEMORY_MESH_STORE") and stated is not None and stated.variable == FILE:
        found[FILE] = str(stated.path.absolute())
    return found


def key_line(written: Mapping[str, str]) -> str | None:
    """What to say of a key that agents need and that is never written; None if there is none."""
    stated = stated_keys(os.environ)
    if not written.get("MEMORY_MESH_STORE") or stated is None or stated.variable == FILE:
        return None
    return (
        f"The agent needs {stated.variable} as well, which is not written: set it where the agent "
        f"gets its variables from, or state the key by {FILE}"
    )


def refuse_user(options: argparse.Namespace) -> None:
    """Raises UsageError for --user: an agent works in one namespace, which is not a user's."""
    if options.user is not None:
        raise UsageError(
            "--user is for programs that serve many users; give an agent a namespace of its own: "
            f"--namespace {options.user}"
        )


def _without_password(store: str, *, to_write: bool) -> str:
    if not to_write:
        return store_urls.shown(store)
    if store_urls.shown(store) != store:
        raise InvalidInput(
            "the address holds a password, which would be written where others read it; leave it "
            "out and keep it in ~/.pgpass"
        )
    return store
