"""`memory-mesh distill`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.model.learning import Distillation

EXAMPLE = "memory-mesh distill"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--if-due", action="store_true", help="only if it is time: at most four times a day"
    )


def run(options: argparse.Namespace) -> int:
    """Turn recent failures into lessons; may be interrupted and run again."""
    with cli_options.opened(options, meaning=True) as (mesh, reader):
        if options.if_due and not mesh.distillation_due():
            if not options.json:
                output.hint("Nothing is due.")
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
        f"[MemoryMesh] Distilled {len(done.learned)} lessons from {done.scanned} failures, "
        f"{len(done.known)} known, {len(done.unclear)} without a rule.",
        *(
            f"{block.severity}: {output.unbroken(block.preventative_rule)} ({block.lesson_id})"
            for block in done.learned
        ),
        as_json=options.json,
        remark=f"{waiting} of them wait for you: memory-mesh review" if waiting else "",
    )
