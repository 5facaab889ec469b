"""`memory-mesh completion`."""

import argparse

from memory_mesh.cli import parsing

EXAMPLE = "memory-mesh completion bash > ~/.local/share/bash-completion/completions/memory-mesh"
_SHELLS = ("bash", "zsh", "tcsh")
_FOLDERS, _FILES = {"db_dir"}, {"checkpoint", "against"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("shell", choices=_SHELLS, help="the shell")


def run(options: argparse.Namespace) -> int:
    """Prints the completion script."""
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
    for action in (action for one in parsers for action in one._actions):  # noqa: SLF001  # no public way
        if action.dest in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]  # shtab's own mark
        if action.dest in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab's own mark
    return parser
