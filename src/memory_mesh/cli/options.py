"""Options that several commands share: details of a memory, `--id`, the store, what a read sees."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from memory_mesh.cli.parsing import UsageError
from memory_mesh.config import Config
from memory_mesh.errors import InvalidInput, NotFound
from memory_mesh.model import Channel, Json, Scope, Status
from memory_mesh.process.project import project_of
from memory_mesh.sync import MemoryMesh
from memory_mesh.typed import Any, TypedDict

_TIMES = ("occurred_at", "valid_from", "valid_until")


def add_details(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    add = parser.add_argument
    add("--type", metavar="WORD", help="what sort of memory: event, lesson, preference, ...")
    add("--rationale", metavar="TEXT", help="why it is worth keeping")
    add("--hypothesis", metavar="TEXT", help="what it is expected to be good for")
    add("--metadata", metavar="JSON", help="further fields, a JSON object")
    add("--meta", metavar="KEY=VALUE", action="append", default=[], help="one further field")
    add("--tag", metavar="TAG", action="append", default=[], help="a tag; may be repeated")
    add("--importance", metavar="WEIGHT", help="0 to 1, or low, medium, high, critical")
    add("--source", metavar="NAME", help="the system or agent that it comes from")
    add("--speaker", metavar="NAME", help="who said it")
    add("--role", metavar="ROLE", help="in which role: user, assistant, ...")
    add("--order", metavar="N", type=int, help="its place within the session")
    add("--occurred-at", metavar="TIME", help="when it happened, ISO 8601")
    add("--valid-from", metavar="TIME", help="from when it is true")
    add("--valid-until", metavar="TIME", help="until when it is true")


def content_of(options: argparse.Namespace) -> str | None:
    """The text given, or standard input for `-`."""
    content: str | None = options.content
    if content != "-":
        return content
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("standard input is not UTF-8 text") from None
    return text.removesuffix("\n").removesuffix("\r")


def metadata_of(options: argparse.Namespace) -> dict[str, Json] | None:
    """RFC-0011's metadata object out of its named options; None when none was given."""
    given = _parsed(options.metadata)
    for pair in options.meta:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise UsageError(f"--meta takes key=value, not {pair!r}")
        given[key] = value
    for name in ("type", "rationale", "hypothesis", "source"):
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    if options.tag:
        known = given.get("tags", [])
        given["tags"] = [*(known if isinstance(known, list) else [known]), *options.tag]
    return given or None


def details_of(options: argparse.Namespace) -> dict[str, Any]:
    """What is said beside text and metadata, by the names that `add` and `update` take."""
    details: dict[str, Any] = {}
    if options.importance is not None:
        details["importance"] = _number_or_word(options.importance)
    for name in ("speaker", "role", "order", *_TIMES):
        value = getattr(options, name)
        if value is not None:
            details[name] = value
    return details


def _parsed(metadata: str | None) -> dict[str, Json]:
    if metadata is None:
        return {}
    import json

    try:
        value = json.loads(metadata)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"--metadata is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput("--metadata takes a JSON object such as '{\"ticket\": 7}'")
    return value


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


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


def mesh_of(
    options: argparse.Namespace, *, meaning: bool = False, channel: Channel = Channel.CLI
) -> MemoryMesh:
    """The mesh that the options name, to be used in a `with`.

    Loading a model takes a second: only a command that needs meaning has one. What the others store
    waits for its vector, and the next search or upkeep gives it one.
    """
    return MemoryMesh(
        embedder=None if meaning else "none",
        channel=channel,
        db_dir=options.db_dir,
        namespace=options.namespace,
        agent_id=options.agent,
        project=options.project,
        session=options.session,
    )


@contextmanager
def opened(
    options: argparse.Namespace, *, meaning: bool = False, channel: Channel = Channel.CLI
) -> Iterator[tuple[MemoryMesh, Scope]]:
    """The mesh that the options name, and who is asking."""
    with mesh_of(options, meaning=meaning, channel=channel) as mesh:
        yield mesh, reader_of(mesh.config)


def reader_of(config: Config) -> Scope:
    """Who is asking: as stated, and by default in the project one stands in."""
    project = config.project or None
    if "project" not in config.origins:
        project = project_of(_here())
    return Scope(project, config.agent_id, config.session)


def _here() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  # a plain string is all project_of wants
    except FileNotFoundError:  # the folder was removed under our feet
        return None


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
        "scope": reader_of(config),
        "across": ("project",) if options.all_projects else (),
        "include": options.include,
        "as_of": options.as_of,
        "valid_at": options.valid_at,
    }
