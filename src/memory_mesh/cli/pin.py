"""`memory-mesh pin`."""

import argparse

from memory_mesh.cli import naming, opening, printing

EXAMPLE = "memory-mesh pin --id mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    naming.add_id(parser)
    parser.add_argument("--unpin", action="store_true", help="take the mark away")


def run(options: argparse.Namespace) -> int:
    """Mark the memory, or take the mark away."""
    with opening.mesh_of(options) as mesh:
        reader = opening.reader_of(mesh.config)
        with naming.looked_up(options.id, reader):
            memory = mesh.pin(options.id, pinned=not options.unpin, scope=reader)
    if options.json:
        printing.say_json(printing.described(memory))
    else:
        printing.say(f"[MemoryMesh] {'Pinned' if memory.pinned else 'Unpinned'} record {memory.id}")
    return 0
