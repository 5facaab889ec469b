"""`memory-mesh restore`."""

import argparse
import os
from pathlib import Path

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.commands.backup import described
from memory_mesh.cli.parsing import UsageError
from memory_mesh.cli.progress import Telling
from memory_mesh.errors import NotAllowed
from memory_mesh.model import Json
from memory_mesh.model.safekeeping import Restored
from memory_mesh.policy.users import shown_namespace
from memory_mesh.process.agent_shell import agent_variables

EXAMPLE = (
    "memory-mesh restore mem_1767225600000_0a1b2c\n"
    "  memory-mesh restore --from /backups/memory/20261116T203000Z --to ./restored"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add = parser.add_argument
    cli_options.add_any_id(parser)
    add(
        "--from",
        metavar="BACKUP",
        dest="source",
        help="restore this backup, or the .db or .bak file of one namespace",
    )
    add("--to", metavar="FOLDER", help="into this folder; default: the store's own")
    add("--replace", action="store_true", help="put the store that is there aside")


def run(options: argparse.Namespace) -> int:
    """Restores the memory as it was, or a whole store."""
    if options.named is not None and options.id is None:
        options.id, options.named = options.named, None
    if options.named is not None or (options.id is None) == (options.source is None):
        raise UsageError(
            "give either the ID of a deleted memory, or --from a backup. "
            "See: memory-mesh restore --help"
        )
    if options.source is not None:
        return _whole(options)
    if options.to is not None or options.replace:
        raise UsageError("--to and --replace belong to --from. See: memory-mesh restore --help")
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        memory = mesh.restore(options.id, scope=reader)
    done = f"[MemoryMesh] Restored record {memory.id}"
    return output.answer(output.described(memory), done, as_json=options.json)


def _whole(options: argparse.Namespace) -> int:
    from memory_mesh.safekeeping.restoring import restore

    store_folder.refuse_one(
        options, "to restore one, give its file: --from BACKUP/namespaces/NAME.db --to FOLDER"
    )
    config = store_folder.config_of(options)
    if options.to is None:
        store_folder.need_folder(
            config, "bring a namespace in with memory-mesh import, or restore with pg_restore"
        )
    source = Path(options.source).expanduser()
    if options.to is None and source.is_file():
        raise UsageError("a single file is restored into a new folder: give --to FOLDER")
    if options.replace and agent_variables(os.environ):
        raise NotAllowed("only the user can replace a store")
    done = restore(
        source,
        config.db_dir if options.to is None else Path(options.to).expanduser(),
        replace=options.replace,
        known=config.db_dir,
        allow_network=config.allow_network_folder,
        tell=Telling(),
    )
    return output.answer(_plain(done), *_lines(done), as_json=options.json)


def _lines(done: Restored) -> list[str]:
    count = len(done.namespaces)
    done_so = f"Restored {output.counted(count, 'namespace')} to {output.named(done.folder)}"
    verified = {0: "", 1: " It was verified."}.get(count, " All of them were verified.")
    lines = [f"[MemoryMesh] {done_so}.{verified}"]
    if done.before is not None:
        lines.append(
            f"[MemoryMesh] The store that was there is in {output.named(done.before)}; "
            "delete it when you do not need it any more."
        )
    if done.left_behind:
        names = output.some([*map(shown_namespace, done.left_behind)])
        lines.append(f"[MemoryMesh] Only in that store, and not in the backup: {names}.")
    for kept in done.namespaces:
        lines += [
            f"[MemoryMesh] {output.named(shown_namespace(kept.namespace))}, when the backup was "
            f"made: {output.unbroken(finding)}"
            for finding in kept.findings
        ]
    if done.erased:
        names = output.some([*map(shown_namespace, done.erased)])
        lines.append(f"[MemoryMesh] Left out, because they were deleted since: {names}.")
    if done.missing:
        names = output.some([*map(shown_namespace, done.missing)])
        lines.append(f"[MemoryMesh] Not in the backup, because they were damaged: {names}.")
    if done.swept:
        lines.append(f"[MemoryMesh] Removed what a killed restore left: {output.some(done.swept)}.")
    return lines


def _plain(done: Restored) -> dict[str, Json]:
    return {
        "folder": output.named(done.folder),
        "source": output.named(done.source),
        "namespaces": [described(kept) for kept in done.namespaces],
        "erased": [shown_namespace(name) for name in done.erased],
        "missing": [shown_namespace(name) for name in done.missing],
        "left_behind": [shown_namespace(name) for name in done.left_behind],
        "before": None if done.before is None else output.named(done.before),
        "swept": list(done.swept),
    }
