"""`memory-mesh update`."""

import argparse

from memory_mesh.cli import details, naming, opening, printing
from memory_mesh.cli.parsing import UsageError

EXAMPLE = 'memory-mesh update --id mem_1767225600000_0a1b2c --content "Light themes, since May"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    naming.add_id(parser)
    parser.add_argument("--content", metavar="TEXT", help="the new text; - reads standard input")
    details.add_details(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why, for the audit block")


def run(options: argparse.Namespace) -> int:
    """Record a new version: what is given replaces, what is not stays."""
    content, metadata = details.content_of(options), details.metadata_of(options)
    said = details.details_of(options)
    if content is None and not metadata and not said:
        message = "nothing to change was given; for example --content or --tag"
        raise UsageError(message)
    with opening.mesh_of(options) as mesh:
        reader = opening.reader_of(mesh.config)
        with naming.looked_up(options.id, reader):
            memory = mesh.update(
                options.id,
                content,
                metadata,
                merge=options.metadata is None,  # single fields; --metadata replaces the whole
                reader=reader,
                reason=options.reason or "updated by the caller",
                **said,
            )
    if options.json:
        printing.say_json(printing.described(memory))
    else:
        printing.say(f"[MemoryMesh] Updated record {memory.id}")
    return 0
