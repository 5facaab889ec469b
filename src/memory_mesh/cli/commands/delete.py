"""`memory-mesh delete`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.model import Proposal

EXAMPLE = "memory-mesh delete --id mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    parser.add_argument(
        "--propose", action="store_true", help="ask a person to decide; delete nothing yet"
    )
    parser.add_argument("--reason", metavar="TEXT", help="the reason, stored in the audit block")


def run(options: argparse.Namespace) -> int:
    """Hides the memory; it can be restored for 30 days.

    In an agent's shell the delete of what the user stored is a proposal.
    """
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader),
    ):
        asked: Proposal | None
        if options.propose:
            reason = options.reason or "proposed by the caller"
            asked = mesh.propose_delete(options.id, reader=reader, reason=reason)
        else:
            reason = options.reason or "deleted by the caller"
            asked = mesh.delete(options.id, scope=reader, reason=reason)
    if asked is not None:
        if not options.propose:
            output.hint("A more trusted source stored it: this channel can only propose that")
        return output.proposed(asked, as_json=options.json)
    output.hint(f"To undo this within 30 days: memory-mesh restore --id {options.id}")
    done = f"[MemoryMesh] Deleted record {options.id}"
    return output.answer({"deleted": options.id}, done, as_json=options.json)
