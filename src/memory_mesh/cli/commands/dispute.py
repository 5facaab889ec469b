"""`memory-mesh dispute`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = 'memory-mesh dispute mem_1767225600000_0a1b2c --reason "the office has moved"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    parser.add_argument("--reason", metavar="TEXT", help="the reason, stored in the audit block")


def run(options: argparse.Namespace) -> int:
    """Counts one vote that the memory is false; three such votes send it to review."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        reason = options.reason or "disputed by the caller"
        memory = mesh.dispute(options.id, reason=reason, scope=reader)
        trust = mesh.trust(options.id, scope=reader)
    return output.answer(
        cli_options.truth_of(memory, trust),
        f"[MemoryMesh] Disputed record {memory.id}, trust now {trust:.2f}, {memory.status.value}",
        as_json=options.json,
    )
