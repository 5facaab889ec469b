"""`memory-mesh reinforce`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = "memory-mesh reinforce mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    parser.add_argument(
        "--boost",
        type=float,
        default=0.1,
        metavar="0..1",
        help="how much to raise its importance (default: 0.1)",
    )


def run(options: argparse.Namespace) -> int:
    """Counts one vote that the memory is true; it raises trust and importance."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        memory = mesh.reinforce(options.id, options.boost, scope=reader)
        trust = mesh.trust(options.id, scope=reader)
    return output.answer(
        cli_options.truth_of(memory, trust),
        f"[MemoryMesh] Reinforced record {memory.id}, trust now {trust:.2f}",
        as_json=options.json,
    )
