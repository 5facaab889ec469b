"""`memory-mesh reinforce`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = "memory-mesh reinforce mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_any_id(parser)
    parser.add_argument(
        "--boost",
        type=float,
        default=0.1,
        metavar="0..1",
        help="how much to raise its importance (default: 0.1)",
    )


def run(options: argparse.Namespace) -> int:
    """Counts one vote that the memory is true; it raises trust and importance."""
    id_ = cli_options.any_id(options, "reinforce")
    with cli_options.opened(options) as (mesh, reader), cli_options.looked_up(id_, reader):
        memory = mesh.reinforce(id_, options.boost, scope=reader)
        trust = mesh.trust(id_, scope=reader)
    return output.answer(
        cli_options.truth_of(memory, trust),
        f"[MemoryMesh] Reinforced record {memory.id}, trust now {trust:.2f}",
        as_json=options.json,
    )
