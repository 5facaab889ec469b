"""`memory-mesh synthesize`."""

import argparse

from memory_mesh.cli import options as cli_options, output

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
            scope=cli_options.reader_of(mesh),
        )
    lines, use = [f"[MemoryMesh] {made.analysis}"], ""
    if made.skill_id:
        staged = f"[MemoryMesh] Staged skill {made.skill_name} ({made.skill_id})"
        lines += [staged, made.yamo_text or ""]
        use = f"To use it: memory-mesh review --id {made.skill_id} --approve"
    return output.answer(
        {
            "status": made.status,
            "analysis": made.analysis,
            "skill_id": made.skill_id,
            "skill_name": made.skill_name,
            "yamo_text": made.yamo_text,
            "sources": list(made.sources),
        },
        *lines,
        as_json=options.json,
        remark=use,
    )
