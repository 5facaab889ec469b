"""`memory-mesh list-skills`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = "memory-mesh list-skills --limit 20"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--limit", type=int, default=100, metavar="N", help="maximum number (default: 100)"
    )


def run(options: argparse.Namespace) -> int:
    """Prints the active skills, newest first."""
    with cli_options.opened(options) as (mesh, reader):
        skills = mesh.list_skills(limit=options.limit, scope=reader)
    return output.answer(
        [output.described_skill(skill) for skill in skills],
        f"[MemoryMesh] {output.counted(len(skills), 'skill')}.",
        *map(output.skill_line, skills),
        as_json=options.json,
    )
