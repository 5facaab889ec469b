"""The options that say what a read may see, shared by `search` and `list`."""

import argparse
from typing import TypedDict

from memory_mesh.cli import opening
from memory_mesh.config import Config
from memory_mesh.model import Scope, Status


class View(TypedDict):
    """How `search` and `get_all` are told."""

    limit: int
    filter: str | None
    scope: Scope
    across: tuple[str, ...]
    include: list[str]
    as_of: str | None
    valid_at: str | None


def add_view(parser: argparse.ArgumentParser, limit: int) -> None:
    """Declare them."""
    add = parser.add_argument
    add("--limit", metavar="N", type=int, default=limit, help=f"at most this many ({limit})")
    add("--filter", metavar="EXPR", help="for example: type = 'event' AND importance >= 0.5")
    add("--as-of", metavar="TIME", help="as the store was at that moment, ISO 8601")
    add("--valid-at", metavar="TIME", help="what was true at that moment")
    hidden = [status.value for status in Status if status is not Status.ACTIVE]
    add("--include", metavar="STATUS", action="append", default=[], choices=hidden,
        help=f"also show what is {', '.join(hidden)}")  # fmt: skip
    add("--all-projects", action="store_true", help="whatever project a memory belongs to")


def view_of(options: argparse.Namespace, config: Config) -> View:
    """What the reader asked to see."""
    return {
        "limit": options.limit,
        "filter": options.filter,
        "scope": opening.reader_of(config),
        "across": ("project",) if options.all_projects else (),
        "include": options.include,
        "as_of": options.as_of,
        "valid_at": options.valid_at,
    }
