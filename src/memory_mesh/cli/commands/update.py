"""`memory-mesh update`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.model import Json, Memory, Status
from memory_mesh.policy.privacy import redacted
from memory_mesh.policy.writing.receipts import redaction
from memory_mesh.sync import MemoryMesh

EXAMPLE = 'memory-mesh update mem_1767225600000_0a1b2c "Light themes, since May"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    cli_options.add_text(parser, "the new text")
    cli_options.add_details(parser)
    parser.add_argument(
        "--propose", action="store_true", help="ask a person to decide; change nothing yet"
    )
    parser.add_argument("--reason", metavar="TEXT", help="the reason, stored in the audit block")


def run(options: argparse.Namespace) -> int:
    """Stores a new version of the memory; fields that are not given stay as they are."""
    content, metadata = cli_options.content_of(options), cli_options.metadata_of(options)
    said = cli_options.details_of(options)
    if content is None and not metadata and not said:
        raise UsageError("no change was given; use for example --content or --tag")
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        if options.propose:
            asked = mesh.propose_update(
                options.id,
                content,
                metadata,
                merge=options.metadata is None,
                reader=reader,
                reason=options.reason or "proposed by the caller",
                **said,
            )
            return output.proposed(asked, as_json=options.json)
        memory = mesh.update(
            options.id,
            content,
            metadata,
            # --meta changes single fields, --metadata replaces all
            merge=options.metadata is None,
            reader=reader,
            reason=options.reason or "updated by the caller",
            **said,
        )
        plain = output.described(memory)
        if memory.status is Status.SUPERSEDED:
            plain |= _superseded(memory, mesh.view(scope=reader))
    replaced = redacted(repr((content, metadata, said)), repr(output.described(memory)))
    if replaced and not options.json:
        output.tell([redaction(replaced)])
    done = f"[MemoryMesh] Updated record {memory.id}"
    return output.answer(plain, done, as_json=options.json)


def _superseded(memory: Memory, mesh: MemoryMesh) -> dict[str, Json]:
    """Says that a search goes on finding another memory in its place, and which if it is seen."""
    from memory_mesh.cli.missing_id import successor

    later = successor(memory.id, mesh)
    by = "another memory" if later is None else later
    change = "" if later is None else f"; to change what it finds: memory-mesh update {later}"
    output.tell([f"{memory.id} is superseded by {by}: a search finds that one, not this{change}"])
    return {} if later is None else {"superseded_by": later}
