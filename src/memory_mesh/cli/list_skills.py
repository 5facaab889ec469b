"""`memory-mesh list-skills`."""

import argparse

from memory_mesh.cli import opening, printing

EXAMPLE = "memory-mesh list-skills --limit 20"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="at most (default 100)")


def run(options: argparse.Namespace) -> int:
    """Print the active skills, newest first."""
    with opening.mesh_of(options) as mesh:
        reader = opening.reader_of(mesh.config)
        skills = mesh.list_skills(limit=options.limit, scope=reader)
    if options.json:
        printing.say_json([printing.described_skill(skill) for skill in skills])
        return 0
    printing.say(f"[MemoryMesh] {len(skills)} skills.")
    for skill in skills:
        printing.say(printing.skill_line(skill))
    return 0
