"""`memory-mesh pin`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = "memory-mesh pin --id mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    cli_options.add_id(parser)
    parser.add_argument("--unpin", action="store_true", help="take the mark away")


def run(options: argparse.Namespace) -> int:
    """Mark the memory, or take the mark away."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader),
    ):
        memory = mesh.pin(options.id, pinned=not options.unpin, scope=reader)
    done = f"[MemoryMesh] {'Pinned' if memory.pinned else 'Unpinned'} record {memory.id}"
    return output.answer(output.described(memory), done, as_json=options.json)
