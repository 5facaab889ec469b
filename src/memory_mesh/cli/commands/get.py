"""`memory-mesh get`."""

import argparse
from collections.abc import Sequence

from memory_mesh.cli import options as cli_options, output
from memory_mesh.errors import NotFound
from memory_mesh.model import Memory, Status

EXAMPLE = "memory-mesh get mem_1767225600000_0a1b2c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_id(parser)
    parser.add_argument(
        "--as-of", metavar="TIME", help="the memory as it was at that time, ISO 8601"
    )
    parser.add_argument("--valid-at", metavar="TIME", help="only if it was true at that time")
    parser.add_argument("--deleted", action="store_true", help="show it even if it was deleted")
    parser.add_argument(
        "--expired", action="store_true", help="show it even if its session expired"
    )


def run(options: argparse.Namespace) -> int:
    """Prints the memory's fields, then its text."""
    with cli_options.opened(options) as (mesh, reader):
        memory = mesh.get(
            options.id,
            scope=reader,
            as_of=options.as_of,
            valid_at=options.valid_at,
            include=_included(options),
        )
        if memory is None:
            _explain_expiry(options.id, mesh.history(options.id, scope=reader))
            raise cli_options.missing(options.id, reader, mesh)
    if options.json:
        output.say_json(output.described(memory))
    else:
        _show(memory)
    return 0


def _included(options: argparse.Namespace) -> list[Status]:
    shown = {Status.DELETED: options.deleted, Status.EXPIRED: options.expired}
    return [status for status, wanted in shown.items() if wanted]


def _explain_expiry(memory_id: str, versions: Sequence[Memory]) -> None:
    """Raises the error for a memory that is hidden because its session expired."""
    if not versions or versions[-1].status is not Status.ACTIVE:
        return
    if (session := versions[-1].scope.session) is not None:
        raise NotFound(
            f"{memory_id} is hidden: it expired with the session {session}. Show it: "
            f"memory-mesh get --id {memory_id} --session {session} --expired"
        )


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
