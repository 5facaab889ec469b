"""`memory-mesh skill-prune`."""

import argparse

from memory_mesh.cli import options as cli_options
from memory_mesh.cli import output

EXAMPLE = "memory-mesh skill-prune --threshold 0.3"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--threshold",
        type=float,
        default=0.3,
        metavar="0.0-1.0",
        help="archive skills with a lower reliability (default: 0.3)",
    )


def run(options: argparse.Namespace) -> int:
    """Archives skills with a low reliability; deletes nothing."""
    with cli_options.mesh_of(options) as mesh:
        reader = cli_options.reader_of(mesh.config)
        done = mesh.prune_skills(options.threshold, scope=reader)
    if options.json:
        output.say_json({"archived": list(done.archived), "kept": done.kept})
        return 0
    output.say(f"[MemoryMesh] Archived {len(done.archived)} skills, kept {done.kept}.")
    for id_ in done.archived:
        output.say(id_)
    return 0
