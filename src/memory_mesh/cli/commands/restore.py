"""`memory-mesh restore`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = "memory-mesh restore --id mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)


def run(options: argparse.Namespace) -> int:
    """Restores the memory as it was."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader),
    ):
        memory = mesh.restore(options.id, scope=reader)
    done = f"[MemoryMesh] Restored record {memory.id}"
    return output.answer(output.described(memory), done, as_json=options.json)
