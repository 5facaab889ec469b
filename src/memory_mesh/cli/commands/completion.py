"""`memory-mesh completion`."""

import argparse
from collections.abc import Iterator

from memory_mesh.cli import parsing

EXAMPLE = (
    "memory-mesh completion bash > ~/.local/share/bash-completion/completions/memory-mesh\n"
    "  memory-mesh completion zsh > ~/.zfunc/_memory-mesh\n"
    "  memory-mesh completion fish > ~/.config/fish/completions/memory-mesh.fish"
)
_SHELLS = ("bash", "zsh", "fish", "tcsh")
_FOLDERS, _FILES = {"db_dir"}, {"checkpoint", "against"}
_FOLDER_WORDS, _FILE_WORDS = {"FOLDER", "DIR"}, {"FILE", "PATH"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("shell", choices=_SHELLS, help="the shell")


def run(options: argparse.Namespace) -> int:
    """Prints the completion script."""
    if options.shell == "fish":
        print("\n".join(_fish()))
        return 0
    import shtab

    print(shtab.complete(_every_command(), shell=options.shell))
    return 0


def _every_command() -> argparse.ArgumentParser:
    """Returns one parser with all commands as subparsers."""
    import shtab

    parser = parsing.Parser(prog=parsing.PROGRAM)
    parsing.add_common(parser)
    below = parser.add_subparsers(metavar="command")
    parsers = [parser]
    for name, summary in parsing.COMMANDS.items():
        parsers.append(below.add_parser(name, help=summary, description=summary))
        parsing.describe(parsers[-1], parsing.load(name))
    for name, summary in parsing.GROUPS["start"].items():
        if name in parsing.SHOWN:
            below.add_parser(name, help=summary, description=summary)
    for action in (action for one in parsers for action in one._actions):  # noqa: SLF001  # no public way
        if _names_folder(action):
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]  # shtab's own mark
        elif _names_file(action):
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab's own mark
    return parser


def _names_folder(action: argparse.Action) -> bool:
    return action.dest in _FOLDERS or action.metavar in _FOLDER_WORDS


def _names_file(action: argparse.Action) -> bool:
    return action.dest in _FILES or action.metavar in _FILE_WORDS


def _fish() -> Iterator[str]:
    """The script for fish: a line per command and per option."""
    start = f"complete -c {parsing.PROGRAM}"
    yield f"# Completion of {parsing.PROGRAM} for fish."
    yield f"{start} -f"
    every = {name: told for group in parsing.GROUPS.values() for name, told in group.items()}
    for name, told in every.items():
        yield f"{start} -n __fish_use_subcommand -a {name} -d {_quoted(told)}"
    names = " ".join(parsing.COMMANDS)
    yield f"{start} -n '__fish_seen_subcommand_from help' -a {_quoted(names)}"
    for name in parsing.COMMANDS:
        parser = parsing.Parser(prog=name)
        parsing.describe(parser, parsing.load(name))
        when = f"{start} -n '__fish_seen_subcommand_from {name}'"
        for action in parser._actions:  # noqa: SLF001  # argparse lists them nowhere else
            if words := _fish_words(action):
                yield f"{when} {words}"


def _fish_words(action: argparse.Action) -> str:
    """The words of fish for an option, or for an argument that has choices or is a path."""
    choices = " ".join(map(str, action.choices or ()))
    paths = _names_folder(action) or _names_file(action)
    if not action.option_strings:
        if choices:
            return f"-a {_quoted(choices)}"
        return "-F" if paths else ""
    words = [f"-l {one[2:]}" for one in action.option_strings if one.startswith("--")]
    words += [f"-s {one[1:]}" for one in action.option_strings if not one.startswith("--")]
    if action.nargs != 0:
        words.append("-r -F" if paths else f"-x -a {_quoted(choices)}" if choices else "-x")
    told = (action.help or "").replace("%%", "%").partition(";")[0]
    return " ".join([*words, f"-d {_quoted(told)}"])


def _quoted(text: str) -> str:
    """The text as fish reads it."""
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
