"""`memory-mesh export-tables`."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.model import Status

EXAMPLE = "memory-mesh export-tables ./for-yamo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("path", help="a new or empty folder; it gets what is for anybody")
    parser.add_argument(
        "--include",
        metavar="STATUS",
        action="append",
        choices=[status.value for status in Status],
        help="also export memories with this status; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    """Writes the namespace as a LanceDB directory with the tables of RFC-0011, schema V2."""
    from memory_mesh.compat.rfc11.export import hand_out
    from memory_mesh.compat.rfc11.reader import MeshHoldings

    include = [Status(word) for word in options.include or ()]
    with cli_options.mesh_of(options) as mesh:
        done = hand_out(MeshHoldings(mesh, include=include), Path(options.path).expanduser())
    return output.answer(
        {"memories": done.memories, "skills": done.skills, "blocks": done.blocks},
        f"[MemoryMesh] Exported {output.counted(done.memories, 'memory', 'memories')}, "
        f"{output.counted(done.skills, 'skill')} and "
        f"{output.counted(done.blocks, 'block')} to {output.named(options.path)}.",
        as_json=options.json,
    )
