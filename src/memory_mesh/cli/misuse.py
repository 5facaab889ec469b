"""What is wrong with a command line, in words for a person; loaded only to say so."""

import argparse
import difflib
import re

_KINDS = {"int": "a whole number", "float": "a number", "_keep": "a whole number"}


def reworded(message: str, parser: argparse.ArgumentParser) -> str:
    """Argparse's message, with what to type instead."""
    for pattern, say in (
        (r"unrecognized arguments: (.+)", _unrecognized),
        (r"argument (.+?): invalid (\w+) value: (.+)", _wrong_value),
        (r"argument (.+?): invalid choice: (.+) \(choose from (.+)\)", _wrong_choice),
        (r"argument (.+?): expected (?:one|at least one) argument", _no_value),
        (r"the following arguments are required: (.+)", _missing),
        (r"one of the arguments (.+) is required", _one_of),
        (r"argument (.+?): not allowed with argument (.+)", _both),
    ):
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return say(parser, *found.groups())
    return message


def near(word: str, known: list[str]) -> str | None:
    """The known word that somebody most likely meant."""
    return next(iter(difflib.get_close_matches(word, known, n=1)), None)


def _unrecognized(parser: argparse.ArgumentParser, words: str) -> str:
    first = words.split(maxsplit=1)[0].partition("=")[0]
    if not first.startswith("-"):
        return f"unexpected words: {words}. Put a text with spaces in quotes"
    options = list(parser._option_string_actions)  # noqa: SLF001  # argparse lists them nowhere else
    meant = near(first, options)
    shorter = [one for one in options if one.startswith(first)] if len(first) > 2 else []  # noqa: PLR2004
    meant = shorter[0] if len(shorter) == 1 else meant
    return f"unknown option {first}" + (f"; did you mean {meant}?" if meant else "")


def _wrong_value(_: argparse.ArgumentParser, option: str, kind: str, given: str) -> str:
    return f"{option} takes {_KINDS.get(kind, kind)}, not {given}"


def _wrong_choice(_: argparse.ArgumentParser, option: str, given: str, choices: str) -> str:
    known = [each.strip(" '\"") for each in choices.split(",")]
    meant = near(given.strip("'\""), known)
    hint = f"; did you mean {meant}?" if meant else ""
    words = ", ".join(known[:-1]) + f" or {known[-1]}" if known[1:] else known[0]
    return f"{option} takes {words}, not {given}{hint}"


def _no_value(_: argparse.ArgumentParser, option: str) -> str:
    return f"{option} needs a value"


def _missing(parser: argparse.ArgumentParser, names: str) -> str:
    return f"{names} is missing; for example: {_example(parser)}"


def _one_of(parser: argparse.ArgumentParser, names: str) -> str:
    return f"give {' or '.join(names.split())}; for example: {_example(parser)}"


def _both(_: argparse.ArgumentParser, one: str, other: str) -> str:
    return f"{one} and {other} exclude each other; give one of them"


def _example(parser: argparse.ArgumentParser) -> str:
    return (parser.epilog or "").partition("\n")[2].strip().splitlines()[0]
