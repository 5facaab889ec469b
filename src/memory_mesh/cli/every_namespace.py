"""Every namespace of a store, for commands that work on one after the other."""

import argparse
from collections.abc import Iterator

from memory_mesh.cli.parsing import UsageError
from memory_mesh.policy.users import PREFIX
from memory_mesh.sync import MemoryMesh

_PAGE = 50_000  # names in memory at once


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
    """
    while page := mesh.namespaces(after=after, limit=_PAGE):
        for name in page:
            yield name, _view(mesh, name)
        after = page[-1]


def _view(mesh: MemoryMesh, name: str) -> MemoryMesh:
    if name.startswith(PREFIX):
        return mesh.for_user(name.removeprefix(PREFIX))
    return mesh.view(namespace=name)
