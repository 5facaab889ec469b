"""From the words of a command line to one command and its options.

Only the parser of the command that was asked for is made: making all of them would cost more than
most commands take. The common options are understood before and after the command.
"""

import argparse
from collections.abc import Sequence
from importlib import import_module

from memory_mesh._version import __version__
from memory_mesh.typed import NoReturn, Protocol

PROGRAM = "memory-mesh"
COMMANDS = {
    "store": "store a memory",
    "search": "find memories",
    "get": "show one memory",
    "list": "list memories, newest first",
    "update": "change a memory; its earlier versions stay on record",
    "pin": "mark a memory as always wanted",
    "delete": "hide a memory; it can be restored for 30 days",
    "restore": "bring a deleted memory back",
    "ingest-dir": "store the text files of a folder",
    "reflect": "say what memories agree on",
    "synthesize": "stage a skill from steps that recur in memories",
    "ingest-skill": "keep a skill from a file",
    "search-skills": "find skills",
    "list-skills": "list skills, newest first",
    "skill-feedback": "say whether a skill worked",
    "skill-prune": "archive skills that cannot be relied on",
    "lessons": "show the rules learned from failures",
    "distill": "turn recent failures into lessons",
    "review": "list and decide what waits in quarantine",
    "conflicts": "list and decide contradictions",
    "history": "show every recorded version of a memory",
    "import-tables": "bring in a store of @yamo/memory-mesh",
    "export-tables": "write the namespace as tables of @yamo/memory-mesh",
    "migrate-tables": "bring such tables from schema V1 to V2, or back",
    "import-lane": "bring in a SQLite file of Memory Lane",
    "stats": "show how much there is and where",
    "verify": "check the audit chain and every invariant",
    "upkeep": "read words anew, embed what waits, and grow the index",
    "namespaces": "list the namespaces of the store",
    "eval": "measure how well memories are found",
    "models": "list, fetch or install models for search by meaning",
    "config": "show the settings and where each comes from",
    "completion": "print a completion script for a shell",
}
_VALUED = {"--db-dir", "--namespace", "--project", "--session", "--agent"}
_FLAGS = {"--json", "--version", "--help", "-h"}


class UsageError(Exception):
    """The command line cannot be understood."""


class Command(Protocol):
    """What a command's module offers."""

    EXAMPLE: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's own options."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; the exit code."""


def read(argv: Sequence[str]) -> tuple[Command, argparse.Namespace]:
    """The command that was asked for and its options; help and version end here."""
    _refuse_broken_text(argv)
    name, words = _split(argv)
    if name is None:
        _without_command(words)
    if name not in COMMANDS:
        raise UsageError(_unknown(name))
    _refuse_positional_json(name, words)
    command = load(name)
    parser = Parser(prog=f"{PROGRAM} {name}", description=_sentence(name))
    describe(parser, command)
    return command, parser.parse_args(words)


def load(name: str) -> Command:
    """The module of a command."""
    module: Command = import_module(f"memory_mesh.cli.commands.{name.replace('-', '_')}")
    return module


def describe(parser: argparse.ArgumentParser, command: Command) -> None:
    """Give a parser the command's options, the common ones and the example."""
    command.add_arguments(parser)
    add_common(parser)
    parser.epilog = f"example:\n  {command.EXAMPLE}"


def add_common(parser: argparse.ArgumentParser) -> None:
    """Declare the options that every command takes."""
    common = parser.add_argument_group("common options")
    common.add_argument("--db-dir", metavar="DIR", help="the store's folder")
    common.add_argument("--namespace", metavar="NAME", help="whose store: a file of its own")
    common.add_argument(
        "--project", metavar="NAME", help="default: the git work tree you are in; '' for none"
    )
    common.add_argument("--session", metavar="ID", help="the session that reads or writes")
    common.add_argument("--agent", metavar="ID", help="the agent that reads or writes")
    common.add_argument("--json", action="store_true", help="print JSON (output only)")
    common.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")


class Parser(argparse.ArgumentParser):
    """argparse, with errors that the caller prints and no guessing of shortened options."""

    def __init__(self, **options: object) -> None:
        fixed = {"allow_abbrev": False, "formatter_class": _Formatter}
        super().__init__(**fixed, **options)  # type: ignore[arg-type]  # argparse's own options

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where to read on."""
        raise UsageError(f"{message}. See: {self.prog} --help")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """argparse's own, which it also makes for every option just to check the option's metavar.

    Asking for the terminal's width loads modules that nothing else needs: only help does it.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80)

    def format_help(self) -> str:
        """The help, as wide as the terminal."""
        import shutil

        self._width = shutil.get_terminal_size().columns - 2
        return super().format_help()


def _split(argv: Sequence[str]) -> tuple[str | None, list[str]]:
    """The command's name and all the other words; no name when only common options are there."""
    position = 0
    while position < len(argv):
        word = argv[position]
        if not word.startswith("-"):
            return word, [*argv[:position], *argv[position + 1 :]]
        if word.partition("=")[0] not in _VALUED | _FLAGS:
            raise UsageError(f"there is no option {word} before the command. See: {PROGRAM} --help")
        position += 2 if word in _VALUED else 1
    return None, list(argv)


def _without_command(words: Sequence[str]) -> NoReturn:
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} <command> [options]",
        description="Long-term memory for AI agents: one store, many processes, nothing lost.",
        epilog=_overview(),
    )
    add_common(parser)
    parser.parse_args(words)  # leaves for good on --help and --version
    raise UsageError(f"which command?\n\n{_overview()}")


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    example = f'example:\n  {PROGRAM} store --content "The user prefers dark themes"'
    more = f"{PROGRAM} <command> --help says more about each."
    return "\n".join(["commands:", *lines, "", example, "", more])


def _sentence(name: str) -> str:
    summary = COMMANDS[name]
    return f"{summary[0].upper()}{summary[1:]}."


def _unknown(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(COMMANDS)}."
    return f"there is no command {name!r}; {hint}"


def _refuse_broken_text(words: Sequence[str]) -> None:
    """Bytes that are not UTF-8 reach us as lone surrogates, which no store can keep."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"the argument {word!r} is not UTF-8 text") from None


def _refuse_positional_json(name: str, words: Sequence[str]) -> None:
    """RFC-0011's Zero-JSON rule; what follows an option is that option's value."""
    before = ""
    for word in words:
        if (not before.startswith("--") or before in _FLAGS) and _is_json(word):
            hint = f'{name} "the words"' if name == "search" else f"{name} --help"
            if name == "store":
                hint = 'store --content "..."'
            raise UsageError(f"JSON is not taken as an argument; use {PROGRAM} {hint}")
        before = word


def _is_json(word: str) -> bool:
    if word.lstrip()[:1] not in {"{", "["}:
        return False
    import json

    try:
        return isinstance(json.loads(word), dict | list)
    except ValueError:
        return word.lstrip().startswith("{")  # meant as JSON, and broken
