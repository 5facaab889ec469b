"""`memory-mesh distill`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.model.learning import Distillation

EXAMPLE = "memory-mesh distill"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--if-due", action="store_true", help="run only if the last run was more than six hours ago"
    )


def run(options: argparse.Namespace) -> int:
    """Turns recent failures into lessons; can be interrupted and run again."""
    with cli_options.opened(options, meaning=True) as (mesh, reader):
        if options.if_due and not mesh.distillation_due():
            if not options.json:
                output.hint("Distillation is not due yet.")
                return 0
            done = Distillation(0)
        else:
            done = mesh.distill(scope=reader)
    waiting = sum(1 for block in done.learned if block.status != "active")
    return output.answer(
        {
            "scanned": done.scanned,
            "learned": [block.lesson_id for block in done.learned],
            "known": [block.lesson_id for block in done.known],
            "unclear": list(done.unclear),
            "constraints": list(done.constraints),
        },
        f"[MemoryMesh] Distilled {output.counted(len(done.learned), 'lesson')} from "
        f"{output.counted(done.scanned, 'failure')}, "
        f"{len(done.known)} known, {len(done.unclear)} without a rule.",
        *(
            f"{block.severity}: {output.unbroken(block.preventative_rule)} ({block.lesson_id})"
            for block in done.learned
        ),
        as_json=options.json,
        remark=f"{waiting} of them wait for review: memory-mesh review" if waiting else "",
    )
