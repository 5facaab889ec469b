"""`memory-mesh skill-prune`."""

import argparse

from memory_mesh.cli import opening, printing

EXAMPLE = "memory-mesh skill-prune --threshold 0.3"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--threshold",
        type=float,
        default=0.3,
        metavar="0.0-1.0",
        help="archive skills below it (default: 0.3)",
    )


def run(options: argparse.Namespace) -> int:
    """Archive what cannot be relied on; nothing is dropped."""
    with opening.mesh_of(options) as mesh:
        reader = opening.reader_of(mesh.config)
        done = mesh.prune_skills(options.threshold, scope=reader)
    if options.json:
        printing.say_json({"archived": list(done.archived), "kept": done.kept})
        return 0
    printing.say(f"[MemoryMesh] Archived {len(done.archived)} skills, kept {done.kept}.")
    for id_ in done.archived:
        printing.say(id_)
    return 0
