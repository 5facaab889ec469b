"""`memory-mesh ingest-skill`."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.errors import InvalidInput, NotFound
from memory_mesh.model import Scope
from memory_mesh.process.files import texts

EXAMPLE = "memory-mesh ingest-skill --file skills/deploy.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--file", metavar="PATH", required=True, help="a YAMO file, or Markdown with frontmatter"
    )
    parser.add_argument("--type", metavar="TYPE", help="type of the skill, stored in its metadata")
    parser.add_argument(
        "--global",
        action="store_true",
        dest="for_all",
        help="store for every project, not only this one",
    )


def run(options: argparse.Namespace) -> int:
    """Stores the skill and prints its id."""
    path = Path(options.file)
    if not path.is_file():
        raise NotFound(f"the file {path} does not exist")
    found = next(texts(path).found, None)
    if found is None:
        raise InvalidInput(f"{path} is not UTF-8 text, or it is too large")
    metadata = {"type": options.type} if options.type else None
    with cli_options.opened(options) as (mesh, reader):
        scope = Scope(None if options.for_all else reader.project, None, None)
        receipt = mesh.ingest_skill(found[1], metadata, str(path), scope=scope)
    if not options.json:
        output.tell(reason for reason in receipt.reasons if reason != "stored")
    return output.answer(
        {
            **output.described_skill(receipt.skill),
            "outcome": receipt.outcome,
            "reasons": list(receipt.reasons),
            "redacted": dict(receipt.redacted),
        },
        f"[MemoryMesh] Ingested skill {receipt.skill.name} ({receipt.id})",
        as_json=options.json,
    )
