"""`memory-mesh upkeep`."""

import argparse
import sys

from memory_mesh.cli import opening, printing

EXAMPLE = "memory-mesh upkeep"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--rebuild-index", action="store_true", help="make the index of large stores anew"
    )


def run(options: argparse.Namespace) -> int:
    """Embed what waits and grow the index where it pays; may be interrupted and run again."""
    with opening.mesh_of(options, meaning=True) as mesh:
        report = mesh.upkeep(progress=_show)
        bodies = mesh.rebuild_index() if options.rebuild_index else list(report.bodies)
        waiting = sum(state.pending for state in mesh.stats().spaces)
    rows = sum(body.rows for body in bodies)
    if options.json:
        printing.say_json({"embedded": report.embedded, "indexed": rows, "pending": waiting})
        return 0
    printing.say(f"[MemoryMesh] Embedded {report.embedded}, indexed {rows}, pending {waiting}.")
    return 0


def _show(count: int) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\rembedded {count} …\x1b[K", end="", file=sys.stderr, flush=True)
