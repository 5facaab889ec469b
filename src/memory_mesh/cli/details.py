"""The options that say something of a memory, shared by `store` and `update`."""

import argparse
import sys
from typing import Any

from memory_mesh.cli.parsing import UsageError
from memory_mesh.errors import InvalidInput
from memory_mesh.model import Json

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
        message = "standard input is not UTF-8 text"
        raise InvalidInput(message) from None
    return text.removesuffix("\n").removesuffix("\r")


def metadata_of(options: argparse.Namespace) -> dict[str, Json] | None:
    """RFC-0011's metadata object out of its named options; None when none was given."""
    given = _parsed(options.metadata)
    for pair in options.meta:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            message = f"--meta takes key=value, not {pair!r}"
            raise UsageError(message)
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
        message = f"--metadata is not valid JSON: {error}"
        raise InvalidInput(message) from None
    if not isinstance(value, dict):
        message = "--metadata takes a JSON object such as '{\"ticket\": 7}'"
        raise InvalidInput(message)
    return value


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
