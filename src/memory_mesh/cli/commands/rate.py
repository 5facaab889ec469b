"""`memory-mesh rate`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = "memory-mesh rate mem_1767225600000_0a1b2c --helpful"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    vote = parser.add_mutually_exclusive_group(required=True)
    vote.add_argument("--helpful", action="store_true", help="it helped: rank it higher")
    vote.add_argument("--not-helpful", action="store_true", help="it did not: rank it lower")


def run(options: argparse.Namespace) -> int:
    """Counts one vote; it changes the rank of the memory and nothing else."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        memory = mesh.rate(options.id, helpful=options.helpful, scope=reader)
    return output.answer(
        {
            "id": memory.id,
            "helpful": memory.helpful,
            "harmful": memory.harmful,
            "usefulness": memory.usefulness,
        },
        f"[MemoryMesh] Rated record {memory.id}: {memory.helpful} found it helpful, "
        f"{memory.harmful} did not",
        as_json=options.json,
    )
