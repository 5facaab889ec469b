"""The option `--id`, shared by the commands about one memory."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from memory_mesh.errors import NotFound
from memory_mesh.model import Scope


def add_id(parser: argparse.ArgumentParser) -> None:
    """Declare it."""
    parser.add_argument("--id", required=True, metavar="ID", help="the memory's id")


@contextmanager
def looked_up(memory_id: str, reader: Scope) -> Iterator[None]:
    """Say of a memory that is not to be seen where it was looked for."""
    try:
        yield
    except NotFound:
        raise missing(memory_id, reader) from None


def missing(memory_id: str, reader: Scope) -> NotFound:
    """The error, with what to do next."""
    where = f" for the project {reader.project}" if reader.project else ""
    return NotFound(
        f"there is no memory {memory_id}{where}. See what there is: memory-mesh list "
        "--all-projects; for another project's memory add --project"
    )
