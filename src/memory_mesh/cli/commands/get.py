"""`memory-mesh get`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.model import Memory, Status

EXAMPLE = "memory-mesh get --id mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    parser.add_argument(
        "--as-of", metavar="TIME", help="the memory as it was at that time, ISO 8601"
    )
    parser.add_argument("--valid-at", metavar="TIME", help="only if it was true at that time")
    parser.add_argument("--deleted", action="store_true", help="show it even if it was deleted")


def run(options: argparse.Namespace) -> int:
    """Prints the memory's fields, then its text."""
    with cli_options.opened(options) as (mesh, reader):
        memory = mesh.get(
            options.id,
            scope=reader,
            as_of=options.as_of,
            valid_at=options.valid_at,
            include=[Status.DELETED] if options.deleted else [],
        )
    if memory is None:
        raise cli_options.missing(options.id, reader)
    if options.json:
        output.say_json(output.described(memory))
    else:
        _show(memory)
    return 0


def _show(memory: Memory) -> None:
    known = output.described(memory)
    content = known.pop("content")
    for line in output.pairs({name: _shown(value) for name, value in known.items()}):
        print(line)
    output.say(f"\n{content}")


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)
