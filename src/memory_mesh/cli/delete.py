"""`memory-mesh delete`."""

import argparse

from memory_mesh.cli import naming, opening, printing

EXAMPLE = "memory-mesh delete --id mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    naming.add_id(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why, for the audit block")


def run(options: argparse.Namespace) -> int:
    """Hide the memory from every read of the present."""
    with opening.mesh_of(options) as mesh:
        reader = opening.reader_of(mesh.config)
        with naming.looked_up(options.id, reader):
            reason = options.reason or "deleted by the caller"
            mesh.delete(options.id, scope=reader, reason=reason)
    if options.json:
        printing.say_json({"deleted": options.id})
    else:
        printing.say(f"[MemoryMesh] Deleted record {options.id}")
    printing.hint(f"For 30 days you can change your mind: memory-mesh restore --id {options.id}")
    return 0
