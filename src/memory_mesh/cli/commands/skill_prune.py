"""`memory-mesh skill-prune`."""

import argparse

from memory_mesh.cli import options as cli_options, output

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
    with cli_options.opened(options) as (mesh, reader):
        done = mesh.prune_skills(options.threshold, scope=reader)
    return output.answer(
        {"archived": done.archived, "kept": done.kept},
        f"[MemoryMesh] Archived {output.counted(len(done.archived), 'skill')}, kept {done.kept}.",
        *done.archived,
        as_json=options.json,
    )
