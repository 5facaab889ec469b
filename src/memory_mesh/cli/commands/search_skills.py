"""`memory-mesh search-skills`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = 'memory-mesh search-skills "deploy the service" --limit 3'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("query", help="what the skill should do, or `Name: …` to search by name")
    parser.add_argument(
        "--limit", type=int, default=10, metavar="N", help="maximum number (default: 10)"
    )


def run(options: argparse.Namespace) -> int:
    """Prints the matching skills, best first."""
    with cli_options.opened(options, meaning=True) as (mesh, reader):
        hits = mesh.search_skills(options.query, limit=options.limit, scope=reader)
    return output.answer(
        [{**output.described_skill(hit.skill), "score": hit.score} for hit in hits],
        f"[MemoryMesh] Found {output.counted(len(hits), 'skill')}.",
        *(f"{hit.score:.2f}  {output.skill_line(hit.skill)}" for hit in hits),
        as_json=options.json,
    )
