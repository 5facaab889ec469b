"""`memory-mesh delete`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = "memory-mesh delete --id mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    parser.add_argument(
        "--propose", action="store_true", help="ask a person to decide; delete nothing yet"
    )
    parser.add_argument("--reason", metavar="TEXT", help="the reason, stored in the audit block")


def run(options: argparse.Namespace) -> int:
    """Hides the memory; it can be restored for 30 days."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader),
    ):
        if options.propose:
            asked = mesh.propose_delete(
                options.id, reader=reader, reason=options.reason or "proposed by the caller"
            )
            return output.proposed(asked, as_json=options.json)
        reason = options.reason or "deleted by the caller"
        mesh.delete(options.id, scope=reader, reason=reason)
    output.hint(f"To undo this within 30 days: memory-mesh restore --id {options.id}")
    done = f"[MemoryMesh] Deleted record {options.id}"
    return output.answer({"deleted": options.id}, done, as_json=options.json)
