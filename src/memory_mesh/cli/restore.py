"""`memory-mesh restore`."""

import argparse

from memory_mesh.cli import naming, opening, printing

EXAMPLE = "memory-mesh restore --id mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    naming.add_id(parser)


def run(options: argparse.Namespace) -> int:
    """Bring the memory back as it was."""
    with opening.mesh_of(options) as mesh:
        reader = opening.reader_of(mesh.config)
        with naming.looked_up(options.id, reader):
            memory = mesh.restore(options.id, scope=reader)
    if options.json:
        printing.say_json(printing.described(memory))
    else:
        printing.say(f"[MemoryMesh] Restored record {memory.id}")
    return 0
