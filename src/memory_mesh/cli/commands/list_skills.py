"""`memory-mesh list-skills`."""

import argparse

from memory_mesh.cli import options as cli_options
from memory_mesh.cli import output

EXAMPLE = "memory-mesh list-skills --limit 20"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--limit", type=int, default=100, metavar="N", help="maximum number (default: 100)"
    )


def run(options: argparse.Namespace) -> int:
    """Prints the active skills, newest first."""
    with cli_options.mesh_of(options) as mesh:
        reader = cli_options.reader_of(mesh.config)
        skills = mesh.list_skills(limit=options.limit, scope=reader)
    if options.json:
        output.say_json([output.described_skill(skill) for skill in skills])
        return 0
    output.say(f"[MemoryMesh] {len(skills)} skills.")
    for skill in skills:
        output.say(output.skill_line(skill))
    return 0
