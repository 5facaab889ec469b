"""`memory-mesh store`."""

import argparse

from memory_mesh.cli import details, opening, printing
from memory_mesh.errors import InvalidInput
from memory_mesh.formats import rfc11
from memory_mesh.model import Outcome, Scope

EXAMPLE = 'memory-mesh store --content "The user prefers dark themes" --type preference'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--content", metavar="TEXT", required=True, help="the memory; - reads standard input"
    )
    details.add_details(parser)
    parser.add_argument(
        "--global", action="store_true", dest="for_all", help="for every project, not only this one"
    )
    parser.add_argument("--key", metavar="KEY", help="idempotency key: same key, same receipt")
    parser.add_argument(
        "--allow-duplicate", action="store_true", help="store it even if the same text is known"
    )


def run(options: argparse.Namespace) -> int:
    """Store, and say under which id."""
    content = details.content_of(options) or ""
    said, metadata = details.details_of(options), details.metadata_of(options) or {}
    if options.key is not None:
        said["key"] = options.key
    said["allow_duplicate"] = options.allow_duplicate
    with opening.mesh_of(options) as mesh:
        reader = opening.reader_of(mesh.config)
        said["scope"] = Scope(None if options.for_all else reader.project, None, reader.session)
        if "agent_id" in mesh.config.origins:
            metadata.setdefault("source", mesh.config.agent_id)
        receipt = mesh.add(content, metadata, **said)
    if receipt.outcome is Outcome.REFUSED:
        raise InvalidInput("; ".join(receipt.reasons))
    if options.json:
        printing.say_json(rfc11.record(receipt))
        return 0
    printing.say(f"[MemoryMesh] Ingested record {receipt.id}")
    if receipt.outcome is not Outcome.STORED:
        printing.hint(f"{receipt.outcome}: {'; '.join(receipt.reasons)}")
    return 0
