"""`memory-mesh upkeep`."""

import argparse
import sys

from memory_mesh.cli import options as cli_options
from memory_mesh.cli import output

EXAMPLE = "memory-mesh upkeep"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--rebuild-index", action="store_true", help="delete and rebuild the index of large stores"
    )
    parser.add_argument(
        "--rebuild-terms", action="store_true", help="compute the keyword terms of every text again"
    )


def run(options: argparse.Namespace) -> int:
    """Updates terms, vectors and the index where needed; can be interrupted and run again."""
    with cli_options.mesh_of(options, meaning=True) as mesh:
        rebuilt = mesh.rebuild_terms() if options.rebuild_terms else 0
        report = mesh.upkeep(progress=_show)
        bodies = mesh.rebuild_index() if options.rebuild_index else list(report.bodies)
        waiting = sum(state.pending for state in mesh.stats().spaces)
    counts = {
        "reindexed": rebuilt + report.reindexed,
        "embedded": report.embedded,
        "indexed": sum(body.rows for body in bodies),
        "pending": waiting,
    }
    if options.json:
        output.say_json(dict(counts))
        return 0
    told = ", ".join(f"{name} {count}" for name, count in counts.items())
    output.say(f"[MemoryMesh] {told.capitalize()}.")
    return 0


def _show(count: int) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\rembedded {count} …\x1b[K", end="", file=sys.stderr, flush=True)
