"""`memory-mesh upkeep`."""

import argparse

from memory_mesh.cli import options as cli_options, output

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
        report = mesh.upkeep(progress=lambda count: output.progress(f"embedded {count} …"))
        bodies = mesh.rebuild_index() if options.rebuild_index else list(report.bodies)
        waiting = sum(state.pending for state in mesh.stats().spaces)
    counts = {
        "reindexed": rebuilt + report.reindexed,
        "embedded": report.embedded,
        "indexed": sum(body.rows for body in bodies),
        "pending": waiting,
        "pruned": report.recalls_pruned,
    }
    told = ", ".join(
        f"{name} {count}" for name, count in counts.items() if count or name != "pruned"
    )
    return output.answer(counts, f"[MemoryMesh] {told.capitalize()}.", as_json=options.json)
