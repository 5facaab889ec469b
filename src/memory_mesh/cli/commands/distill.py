"""`memory-mesh distill`."""

import argparse

from memory_mesh.cli import options as cli_options
from memory_mesh.cli import output
from memory_mesh.model.learning import Distillation

EXAMPLE = "memory-mesh distill"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--if-due", action="store_true", help="run only if the last run was more than six hours ago"
    )


def run(options: argparse.Namespace) -> int:
    """Turns recent failures into lessons; can be interrupted and run again."""
    with cli_options.mesh_of(options, meaning=True) as mesh:
        reader = cli_options.reader_of(mesh.config)
        if options.if_due and not mesh.distillation_due():
            if not options.json:
                output.hint("Distillation is not due yet.")
                return 0
            done = Distillation(0)
        else:
            done = mesh.distill(scope=reader)
    if options.json:
        output.say_json(
            {
                "scanned": done.scanned,
                "learned": [block.lesson_id for block in done.learned],
                "known": [block.lesson_id for block in done.known],
                "unclear": list(done.unclear),
                "constraints": list(done.constraints),
            }
        )
        return 0
    waiting = sum(1 for block in done.learned if block.status != "active")
    output.say(
        f"[MemoryMesh] Distilled {len(done.learned)} lessons from {done.scanned} failures, "
        f"{len(done.known)} known, {len(done.unclear)} without a rule."
    )
    for block in done.learned:
        rule = output.unbroken(block.preventative_rule)
        output.say(f"{block.severity}: {rule} ({block.lesson_id})")
    if waiting:
        output.hint(f"{waiting} of them wait for review: memory-mesh review")
    return 0
