"""`memory-mesh backup`."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.advice import completed
from memory_mesh.cli.progress import Telling
from memory_mesh.errors import MeshError
from memory_mesh.model import Json
from memory_mesh.model.safekeeping import Backup, Kept
from memory_mesh.policy.users import shown_namespace

EXAMPLE = "memory-mesh backup /backups/memory --keep 14"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_place(
        parser, "--to", "FOLDER", "to", "where backups lie, each in a folder named by its time"
    )
    parser.add_argument(
        "--keep",
        metavar="N",
        type=_keep,
        help="remove older backups of this store, but not the newest N that are sound",
    )


def _keep(text: str) -> int:
    number = int(text)  # argparse says what is wrong with another text
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {number}")
    return number


def run(options: argparse.Namespace) -> int:
    """Backs up every namespace; the exit code is 1 if one is missing or damaged in the backup."""
    from memory_mesh.safekeeping.backups import backup

    store_folder.refuse_one(options, "leave it out, or export the part: memory-mesh export")
    done = backup(
        store_folder.folder_of(
            options, "back it up with pg_dump, or a namespace of it with memory-mesh export"
        ),
        Path(options.to).expanduser(),
        keep=options.keep,
        tell=Telling(),
    )
    lines = [completed(line, options) for line in _lines(done)]
    output.answer(_plain(done), *lines, as_json=options.json)
    if done.ok:
        return 0
    wrong = len(done.missing) + sum(bool(kept.findings) for kept in done.namespaces)
    what = "1 namespace is" if wrong == 1 else f"{wrong} namespaces are"
    raise MeshError(
        f"{what} damaged, and missing or damaged in this backup; older backups were left alone. "
        "Look at them: memory-mesh verify --all; then memory-mesh repair, or restore an older "
        "backup"
    )


def described(kept: Kept) -> dict[str, Json]:
    """Returns a namespace of a backup as JSON values."""
    return {
        "namespace": shown_namespace(kept.namespace),
        "schema": kept.schema,
        "seq": kept.seq,
        "position": kept.position,
        "hash": kept.hash,
        "findings": list(kept.findings),
    }


def _lines(done: Backup) -> list[str]:
    what = f"{output.counted(len(done.namespaces), 'namespace')}, {done.bytes} bytes,"
    lines = [f"[MemoryMesh] Backed up {what} to {output.named(done.folder)}."]
    for kept in done.namespaces:
        if kept.findings:
            name = shown_namespace(kept.namespace)
            lines.append(f"[MemoryMesh] {name} is damaged: {kept.findings[0]}")
    lines += [
        f"[MemoryMesh] {shown_namespace(name)} could not be copied: {why}"
        for name, why in done.missing
    ]
    if done.removed:
        lines.append(
            f"[MemoryMesh] Removed {len(done.removed)} older: {output.some(done.removed)}."
        )
    if done.swept:
        lines.append(f"[MemoryMesh] Removed what a killed backup left: {output.some(done.swept)}.")
    return lines


def _plain(done: Backup) -> dict[str, Json]:
    return {
        "folder": output.named(done.folder),
        "store": done.store,
        "made": done.made,
        "bytes": done.bytes,
        "ok": done.ok,
        "namespaces": [described(kept) for kept in done.namespaces],
        "missing": [{"namespace": shown_namespace(name), "why": why} for name, why in done.missing],
        "removed": list(done.removed),
        "swept": list(done.swept),
    }
