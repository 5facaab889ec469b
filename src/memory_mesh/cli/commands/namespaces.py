"""`memory-mesh namespaces`."""

import argparse
import sys

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.config import Config
from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import replace
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json
from memory_mesh.model.safekeeping import DeletedNamespace
from memory_mesh.policy.users import check_plain_namespace

EXAMPLE = "memory-mesh namespaces delete old-shop"
_DELETING = """\
`delete NAME` removes a namespace for good, with every file, index and copy of it in
the store's folder and what a mirror wrote of it; `delete --user ID` removes all that is
kept of a user. It names what it cannot reach. Backups and archives of before still hold
it, but restore and import leave it out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.description = f"{parser.description or ''}\n\n{_DELETING}".strip()
    parser.add_argument(
        "action", nargs="?", choices=("list", "delete"), default="list",
        help="list the namespaces (default), or delete one",
    )  # fmt: skip
    parser.add_argument("name", nargs="?", metavar="NAME", help="the namespace to delete")
    parser.add_argument(
        "--after", metavar="NAME", help="list only those after this one, the last of a page before"
    )
    parser.add_argument(
        "--limit", metavar="N", type=int, help="list so many at most (default: all)"
    )
    parser.add_argument(
        "--yes", action="store_true", help="delete without a question, as in a pipe"
    )


def run(options: argparse.Namespace) -> int:
    """Prints the names, one per line, or deletes one namespace."""
    if options.action == "delete":
        return _deleted(options)
    if options.name is not None:
        raise UsageError("list takes no name. See: memory-mesh namespaces --help")
    with cli_options.mesh_of(options) as mesh:
        names = mesh.namespaces(after=options.after, limit=options.limit)
    lines = [safe_text(name, keep_newlines=False) for name in names]
    return output.answer(names, *lines, as_json=options.json)


def _deleted(options: argparse.Namespace) -> int:
    """Asks, deletes and says what is gone."""
    if (options.name is None) == (options.user is None):
        raise UsageError(
            "give the NAME of a namespace, or --user ID. See: memory-mesh namespaces --help"
        )
    if options.namespace is not None:
        raise UsageError("name the namespace after `delete`, without --namespace")
    cli_options.refuse_agent("namespaces delete")
    with cli_options.mesh_of(options) as mesh:
        config = mesh.config
    _confirm(options)
    gone = _gone(options, config)
    count = "its memories"
    if gone.memories is not None:
        count = output.counted(gone.memories, "memory", "memories")
    if config.store is None:
        count = f"{count}, {output.counted(gone.files, 'file')}, {gone.bytes:,} bytes"
    lines = [
        f"[MemoryMesh] Deleted the namespace {gone.namespace}: {count}.",
        "Backups made before still hold it; restore and import leave it out.",
    ]
    if not gone.noted:
        lines.append(
            "[MemoryMesh] Its database was too damaged to tell which it was, so no erasure could "
            "be noted: a backup of it would bring it back. Remove it from those, too."
        )
    lines += [f"[MemoryMesh] Not reached: {safe_text(each)}." for each in gone.left]
    plain: Json = {
        "deleted": gone.namespace,
        "memories": gone.memories,
        "files": gone.files,
        "bytes": gone.bytes,
        "noted": gone.noted,
        "left": list(gone.left),
    }
    return output.answer(plain, *lines, as_json=options.json)


def _gone(options: argparse.Namespace, config: Config) -> DeletedNamespace:
    if config.store is not None:
        from memory_mesh.safekeeping.server import delete_from_server

        name = config.namespace if options.name is None else check_plain_namespace(options.name)
        return delete_from_server(replace(config, namespace=name))
    from memory_mesh.safekeeping.namespaces import delete_namespace

    return delete_namespace(config.db_dir, options.name, user=options.user)


def _confirm(options: argparse.Namespace) -> None:
    """Asks on a terminal for the name once more; anywhere else --yes is needed."""
    name = options.name if options.user is None else options.user
    if options.yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(
            f"nothing was deleted: this is no terminal, so add --yes to delete {name} for good"
        )
    what = "namespace" if options.user is None else "user"
    output.note(f"This deletes the {what} {name} for good: nothing in the store brings it back.")
    print(f"Type {safe_text(name, keep_newlines=False)} to go on: ", end="", file=sys.stderr)
    sys.stderr.flush()
    if sys.stdin.readline().rstrip("\r\n") != name:
        raise InvalidInput("nothing was deleted: that was another name")
