"""What is wrong with a command line, in words for a person; loaded only to say so."""

import argparse
import shlex
from collections.abc import Sequence

from memory_mesh.rules.arguments import near

_OF_ONE, _CHOICE, _EXCLUDED = "argument ", "invalid choice: ", "not allowed with argument "
_UNKNOWN, _NEEDED = "unrecognized arguments: ", "the following arguments are required: "
_ANY_OF, _IS_NEEDED = "one of the arguments ", " is required"
_INSTEAD = {  # what other tools call it: the option that does it here, and how
    "--tag": ("--filter", "--filter \"tags = 'WORD'\""),
    "--tags": ("--filter", "--filter \"tags = 'WORD'\""),
    "--budget": ("--max-tokens", "--max-tokens"),
    "--tokens": ("--max-tokens", "--max-tokens"),
    "--top-k": ("--limit", "--limit"),
    "--top": ("--limit", "--limit"),
    "--last": ("--limit", "--limit"),
    "-n": ("--limit", "--limit"),
    "--format": ("--json", "--json. The ending of a file says its format, such as notes.jsonl"),
    "--type": ("--filter", "--filter \"type = 'WORD'\""),
    "--pinned": ("--filter", '--filter "pinned = true"'),
}
_KINDS = {"int": "a whole number", "float": "a number", "_keep": "a whole number"}


def reworded(message: str, parser: argparse.ArgumentParser, typed: Sequence[str]) -> str:
    """Argparse's message, with what to type instead; `typed` are the words of the shell."""
    if message.startswith(_OF_ONE):
        option, _, rest = message.removeprefix(_OF_ONE).partition(": ")
        return _of_one(option, rest) or message
    if message.startswith(_UNKNOWN):
        return _unrecognized(parser, message.removeprefix(_UNKNOWN), typed)
    if message.startswith(_NEEDED):
        return f"{message.removeprefix(_NEEDED)} is missing; for example: {_example(parser)}"
    if message.startswith(_ANY_OF) and message.endswith(_IS_NEEDED):
        names = message.removeprefix(_ANY_OF).removesuffix(_IS_NEEDED).split()
        return f"give {' or '.join(names)}; for example: {_example(parser)}"
    return message


def _of_one(option: str, wrong: str) -> str | None:
    """What is wrong with one option, in other words; None if there are none."""
    if wrong in {"expected one argument", "expected at least one argument"}:
        return f"{option} needs a value"
    if wrong.startswith(_CHOICE):
        given, _, choices = wrong.removeprefix(_CHOICE).rpartition(" (choose from ")
        return _wrong_choice(option, given, choices.removesuffix(")"))
    if wrong.startswith(_EXCLUDED):
        other = wrong.removeprefix(_EXCLUDED)
        return f"{option} and {other} exclude each other; give one of them"
    kind, is_value, given = wrong.removeprefix("invalid ").partition(" value: ")
    return f"{option} takes {_KINDS.get(kind, kind)}, not {given}" if is_value else None


def _unrecognized(parser: argparse.ArgumentParser, words: str, typed: Sequence[str]) -> str:
    first = words.split(maxsplit=1)[0].partition("=")[0]
    if first.startswith("mem_"):
        return "one id at a time: repeat the command for each memory"
    if not first.startswith("-"):
        if "--query" in parser._option_string_actions:  # noqa: SLF001  # as below
            return f"unexpected words: {words}. For a question: --query {shlex.quote(words)}"
        several = " " in words and words not in typed
        hint = ". Put a text with spaces in quotes" if several else ""
        return f"unexpected words: {words}{hint}"
    options = list(parser._option_string_actions)  # noqa: SLF001  # argparse lists them nowhere else
    needed, instead = _INSTEAD.get(first, ("", ""))
    if needed in options:
        return f"unknown option {first}; use {instead}"
    meant = near(first, options)
    shorter = [one for one in options if one.startswith(first)] if len(first) > 2 else []  # noqa: PLR2004
    meant = shorter[0] if len(shorter) == 1 else meant
    return f"unknown option {first}" + (f"; did you mean {meant}?" if meant else "")


def _wrong_choice(option: str, given: str, choices: str) -> str:
    known = [each.strip(" '\"") for each in choices.split(",")]
    meant = near(given.strip("'\""), known)
    hint = f"; did you mean {meant}?" if meant else ""
    words = ", ".join(known[:-1]) + f" or {known[-1]}" if known[1:] else known[0]
    return f"{option} takes {words}, not {given}{hint}"


def _example(parser: argparse.ArgumentParser) -> str:
    return (parser.epilog or "").partition("\n")[2].strip().splitlines()[0]
