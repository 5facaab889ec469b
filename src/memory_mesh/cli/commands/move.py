"""`memory-mesh move`."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.policy.users import shown_namespace
from memory_mesh.process.store_urls import need_folder

EXAMPLE = "memory-mesh move --to /mnt/volume/memory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--to", metavar="FOLDER", required=True, help="the new folder")
    parser.add_argument(
        "--only",
        action="store_true",
        help="move only the namespace, into the store of that folder, which is made if needed",
    )


def run(options: argparse.Namespace) -> int:
    """Copies, verifies, and keeps the old files under another name."""
    from memory_mesh.safekeeping.move import move_namespace, move_store

    cli_options.refuse_agent("move", "it takes the store away from whoever uses it")
    if not options.only:
        store_folder.refuse_one(options, "add --only to move that part, or leave it out")
    folder = store_folder.folder_of(
        options, "run memory-mesh export here, and memory-mesh import where it is to go"
    )
    to = Path(need_folder(options.to)).expanduser()
    if options.only:
        done = move_namespace(folder, store_folder.namespace_of(options), to)
    else:
        done = move_store(folder, to)
    names = [shown_namespace(name) for name in done.namespaces]
    code = output.answer(
        {
            "to": output.named(done.to),
            "namespaces": list(names),
            "kept": output.named(done.kept),
            "remarks": [output.named(remark) for remark in done.remarks],
        },
        f"[MemoryMesh] Moved {output.some(names)} to {output.named(done.to)}; the copy was "
        "verified.",
        as_json=options.json,
    )
    if not options.json:
        output.tell(output.named(remark) for remark in done.remarks)
    return code
