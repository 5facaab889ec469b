"""`memory-mesh lessons`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = 'memory-mesh lessons "talk to the payment service"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("query", nargs="?", default="", help="the task ahead")
    parser.add_argument(
        "--limit", type=int, default=10, metavar="N", help="maximum number (default: 10)"
    )
    parser.add_argument(
        "--min-confidence",
        type=float,
        metavar="0.0-1.0",
        help="leave out rules with a lower confidence",
    )


def run(options: argparse.Namespace) -> int:
    """Prints the rules for a task, or all rules by severity if no task is given."""
    order = None if options.query.strip() else "severity DESC"
    with cli_options.mesh_of(options, meaning=bool(options.query.strip())) as mesh:
        found = mesh.query_lessons(
            options.query,
            limit=options.limit,
            order_by=order,
            min_confidence=options.min_confidence,
            scope=cli_options.reader_of(mesh),
        )
    lines = [f"[MemoryMesh] {output.counted(len(found), 'lesson')}."]
    for block in found:
        rule, place = map(output.unbroken, (block.preventative_rule, block.applicable_scope))
        lines.append(f"{block.severity}: {rule}\n  applies to {place} ({block.memory_id})")
    return output.answer(
        [
            {
                "lesson_id": block.lesson_id,
                "memory_id": block.memory_id,
                "pattern_id": block.pattern_id,
                "severity": block.severity,
                "preventative_rule": block.preventative_rule,
                "rule_confidence": block.rule_confidence,
                "applicable_scope": block.applicable_scope,
                "wire_format": block.wire_format,
            }
            for block in found
        ],
        *lines,
        as_json=options.json,
    )
