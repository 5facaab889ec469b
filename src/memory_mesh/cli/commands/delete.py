"""`memory-mesh delete`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = "memory-mesh delete --id mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    cli_options.add_id(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why, for the audit block")


def run(options: argparse.Namespace) -> int:
    """Hide the memory from every read of the present."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader),
    ):
        reason = options.reason or "deleted by the caller"
        mesh.delete(options.id, scope=reader, reason=reason)
    output.hint(f"For 30 days you can change your mind: memory-mesh restore --id {options.id}")
    done = f"[MemoryMesh] Deleted record {options.id}"
    return output.answer({"deleted": options.id}, done, as_json=options.json)
