"""`memory-mesh search-skills`."""

import argparse

from memory_mesh.cli import options as cli_options
from memory_mesh.cli import output

EXAMPLE = 'memory-mesh search-skills "deploy the service" --limit 3'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("query", help="what the skill should do, or `Name: …` to search by name")
    parser.add_argument(
        "--limit", type=int, default=10, metavar="N", help="maximum number (default: 10)"
    )


def run(options: argparse.Namespace) -> int:
    """Prints the matching skills, best first."""
    with cli_options.mesh_of(options, meaning=True) as mesh:
        reader = cli_options.reader_of(mesh.config)
        hits = mesh.search_skills(options.query, limit=options.limit, scope=reader)
    if options.json:
        output.say_json([{**output.described_skill(hit.skill), "score": hit.score} for hit in hits])
        return 0
    output.say(f"[MemoryMesh] Found {len(hits)} skills.")
    for hit in hits:
        output.say(f"{hit.score:.2f}  {output.skill_line(hit.skill)}")
    return 0
