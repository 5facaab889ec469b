"""Which folder and namespace a command about whole stores means; no store is opened for it."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.care.key_file import FILE, stated_keys
from memory_mesh.cli import options as cli_options
from memory_mesh.cli.command_table import UsageError
from memory_mesh.config import Config
from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform import store_urls
from memory_mesh.rules.arguments import PREFIX, user_namespace
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh.care.cold import ColdNamespace

_PAGE = 50_000  # names in memory at once


def folder_of(options: argparse.Namespace, instead: str) -> Path:
    """The store's folder; a store in a database is refused with what to do instead."""
    return need_folder(config_of(options), instead)


def need_folder(config: Config, instead: str) -> Path:
    """The same for settings that are there already."""
    store_urls.refuse_service(config.store)
    if config.store is not None:
        raise InvalidInput(f"this is about stores in a folder, and yours is a database: {instead}")
    return config.db_dir


def need_server(config: Config) -> None:
    """Refuses a store in a folder, whose namespaces take no more than their files."""
    if config.store is None:
        raise InvalidInput(
            "this is about a store in PostgreSQL, and yours is in a folder: what nobody uses costs "
            "nothing there but its bytes; to archive a namespace: memory-mesh export"
        )


def config_of(options: argparse.Namespace) -> Config:
    """The settings of the store that the options name."""
    return cli_options.mesh_of(options).config


def shown(config: Config) -> str:
    """Where a store is: its folder, or the address of its database without a password."""
    if config.store is None:
        return str(config.db_dir)
    return store_urls.shown(config.store)


def named_namespace(options: argparse.Namespace) -> str | None:
    """The namespace that the command line names; None if it names none."""
    if options.user is not None:
        return user_namespace(options.user)
    return config_of(options).namespace if options.namespace is not None else None


def refuse_one(options: argparse.Namespace, instead: str) -> None:
    """Refuses --namespace and --user where a command takes the whole store; says what to do."""
    if options.namespace is not None or options.user is not None:
        which = "--namespace" if options.user is None else "--user"
        raise UsageError(f"this takes the whole store, and {which} names a part of it: {instead}")


# Every namespace of a store, for commands that work on one after the other.


def add_after(parser: argparse.ArgumentParser) -> None:
    """Adds the option that goes on after a namespace."""
    parser.add_argument(
        "--after",
        metavar="NAME",
        help="with --all: only namespaces after this one, in the order of `namespaces`",
    )


def check_after(options: argparse.Namespace) -> None:
    """Refuses the option where it would change nothing."""
    if options.after is not None and not options.all:
        raise UsageError("--after is for --all: give both, or neither")


def views(mesh: MemoryMesh, after: str | None = None) -> Iterator[tuple[str, MemoryMesh]]:
    """The name and a view of each namespace in their order, of those after one if it is given.

    Names are read page by page: what is made or deleted meanwhile is seen from the next page on.
    Those that are cold are passed over, and stay so.
    """
    while page := mesh.care.namespaces(after=after, limit=_PAGE):
        cold = {each.namespace for each in cold_of(mesh, page)}
        for name in page:
            user = name.removeprefix(PREFIX) if name.startswith(PREFIX) else None
            if name not in cold:
                yield name, mesh.view(namespace=name) if user is None else mesh.for_user(user)
        after = page[-1]


def cold_of(mesh: MemoryMesh, names: Sequence[str]) -> "list[ColdNamespace]":
    """Those of a page of names that lie on object storage."""
    if mesh.config.store is None:
        return []
    from memory_mesh.care.server import cold_among

    return cold_among(mesh.config, names)


# Where the command line says that the store is, as variables for other processes.


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
    if store_urls.is_service(written.get("MEMORY_MESH_STORE") or ""):
        return (
            "The agent needs MEMORY_MESH_ACCESS_KEY as well, which is not written: set it where "
            "the agent gets its variables from"
        )
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
