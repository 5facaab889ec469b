"""`memory-mesh pin`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = "memory-mesh pin mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    parser.add_argument("--unpin", action="store_true", help="remove the mark")


def run(options: argparse.Namespace) -> int:
    """Pins or unpins the memory."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        memory = mesh.pin(options.id, pinned=not options.unpin, scope=reader)
    done = f"[MemoryMesh] {'Pinned' if memory.pinned else 'Unpinned'} record {memory.id}"
    return output.answer(output.described(memory), done, as_json=options.json)
