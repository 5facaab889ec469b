"""`memory-mesh history`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.model import Json, Memory, record

EXAMPLE = "memory-mesh history mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    parser.add_argument(
        "--chain",
        action="store_true",
        help="also show the memories it replaced and those that replaced it",
    )


def run(options: argparse.Namespace) -> int:
    """Prints every recorded version, oldest first."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        ids = [options.id]
        if options.chain:
            ids = [memory.id for memory in mesh.chain(options.id, scope=reader)]
        versions = [version for id_ in ids for version in mesh.history(id_, scope=reader)]
        if not versions:
            raise cli_options.missing(options.id, reader, mesh)
    return output.answer(
        [_plain(version) for version in versions], *map(_line, versions), as_json=options.json
    )


def _plain(version: Memory) -> dict[str, Json]:
    return output.described(version) | {
        "recorded_from": record.iso(version.recorded_from),
        "recorded_until": None
        if version.recorded_until is None
        else record.iso(version.recorded_until),
        "successor": version.successor,
    }


def _line(version: Memory) -> str:
    until = "now" if version.recorded_until is None else record.iso(version.recorded_until)
    follows = f" -> {version.successor}" if version.successor else ""
    head = (
        f"{record.iso(version.recorded_from)} .. {until}  {version.id}  {version.status}{follows}"
    )
    return f"{head}\n  {output.one_line(version.text, 100)}"
