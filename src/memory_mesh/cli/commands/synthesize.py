"""`memory-mesh synthesize`."""

import argparse

from memory_mesh.cli import options as cli_options
from memory_mesh.cli import output

EXAMPLE = 'memory-mesh synthesize --topic "release process"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--topic", metavar="TEXT", help="the topic; default: the newest memories")
    parser.add_argument(
        "--lookback",
        type=int,
        default=20,
        metavar="N",
        help="number of memories to read (default: 20)",
    )


def run(options: argparse.Namespace) -> int:
    """Stages a skill from recurring steps; it becomes active when somebody approves it."""
    with cli_options.mesh_of(options, meaning=bool(options.topic)) as mesh:
        made = mesh.synthesize(
            topic=options.topic,
            lookback=options.lookback,
            scope=cli_options.reader_of(mesh.config),
        )
    if options.json:
        output.say_json(
            {
                "status": made.status,
                "analysis": made.analysis,
                "skill_id": made.skill_id,
                "skill_name": made.skill_name,
                "yamo_text": made.yamo_text,
                "sources": list(made.sources),
            }
        )
        return 0
    output.say(f"[MemoryMesh] {made.analysis}")
    if made.skill_id:
        output.say(f"[MemoryMesh] Staged skill {made.skill_name} ({made.skill_id})")
        output.say(made.yamo_text or "")
        output.hint(f"To use it: memory-mesh review --id {made.skill_id} --approve")
    return 0
