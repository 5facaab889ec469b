"""`memory-mesh update`."""

import argparse

from memory_mesh.cli import options as cli_options
from memory_mesh.cli import output
from memory_mesh.cli.parsing import UsageError

EXAMPLE = 'memory-mesh update --id mem_1767225600000_0a1b2c --content "Light themes, since May"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    parser.add_argument("--content", metavar="TEXT", help="the new text; - reads standard input")
    cli_options.add_details(parser)
    parser.add_argument("--reason", metavar="TEXT", help="the reason, stored in the audit block")


def run(options: argparse.Namespace) -> int:
    """Stores a new version of the memory; fields that are not given stay as they are."""
    content, metadata = cli_options.content_of(options), cli_options.metadata_of(options)
    said = cli_options.details_of(options)
    if content is None and not metadata and not said:
        message = "no change was given; use for example --content or --tag"
        raise UsageError(message)
    with cli_options.mesh_of(options) as mesh:
        reader = cli_options.reader_of(mesh.config)
        with cli_options.looked_up(options.id, reader):
            memory = mesh.update(
                options.id,
                content,
                metadata,
                merge=options.metadata
                is None,  # --meta changes single fields, --metadata replaces all
                reader=reader,
                reason=options.reason or "updated by the caller",
                **said,
            )
    if options.json:
        output.say_json(output.described(memory))
    else:
        output.say(f"[MemoryMesh] Updated record {memory.id}")
    return 0
