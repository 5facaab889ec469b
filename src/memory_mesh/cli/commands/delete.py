"""`memory-mesh delete`."""

import argparse

from memory_mesh.cli import options as cli_options
from memory_mesh.cli import output

EXAMPLE = "memory-mesh delete --id mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    parser.add_argument("--reason", metavar="TEXT", help="the reason, stored in the audit block")


def run(options: argparse.Namespace) -> int:
    """Hides the memory; it can be restored for 30 days."""
    with cli_options.mesh_of(options) as mesh:
        reader = cli_options.reader_of(mesh.config)
        with cli_options.looked_up(options.id, reader):
            reason = options.reason or "deleted by the caller"
            mesh.delete(options.id, scope=reader, reason=reason)
    if options.json:
        output.say_json({"deleted": options.id})
    else:
        output.say(f"[MemoryMesh] Deleted record {options.id}")
    output.hint(f"To undo this within 30 days: memory-mesh restore --id {options.id}")
    return 0
