"""Commands for settings and shells: config and completion."""

import argparse
import os
from collections.abc import Iterator
from dataclasses import fields

from memory_mesh.cli import command_table, options as cli_options, output
from memory_mesh.config import CONFIG_FILE, Config, config_path
from memory_mesh.config.tables import VARIABLES, about
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json
from memory_mesh.platform.projects import identity_of
from memory_mesh.platform.store_urls import shown
from memory_mesh.privacy import masked
from memory_mesh.rules.arguments import shown_namespace

# config

_FOUND_BY = {"set": "config", "remote": "remote", "root": "root commit", "path": "work tree"}

_SECRETS = {"embedder_api_key", "llm_api_key", "reranker_api_key"}


def _run_config(options: argparse.Namespace) -> int:
    """Prints each setting, its value, its origin and what it does; API keys are hidden."""
    config = cli_options.mesh_of(options, meaning=True).config
    settings = {
        item.name: (_shown(item.name, config), config.origins.get(item.name, "default"))
        for item in fields(Config)
        if item.name != "origins"
    }
    if "project" not in config.origins and (found := identity_of(cli_options.here())) is not None:
        settings["project"] = (found.name, f"git {_FOUND_BY[found.how]}")
    if options.user is not None:
        name = safe_text(shown_namespace(config.namespace), keep_newlines=False)
        settings["namespace"] = (name, "option --user")
    if options.json:
        plain: dict[str, Json] = {
            name: {"value": value, "origin": origin, "about": about(name)}
            for name, (value, origin) in settings.items()
        }
        output.say_json(plain | _variables())
        return 0
    lines = {
        name: f"{value}  ({origin})  {about(name)}" for name, (value, origin) in settings.items()
    }
    for name, variable in _variables().items():
        lines[name] = f"{variable['value']}  ({variable['origin']})  {variable['about']}"
    for line in output.pairs(lines):
        print(line)
    return 0


def _variables() -> dict[str, dict[str, str | None]]:
    """Each variable that is no setting of a store, with its value and what it does."""
    return {
        name: {
            "value": masked(os.environ[name]) if name in os.environ else file,
            "origin": f"environment {name}" if name in os.environ else "not set",
            "about": said,
        }
        for name, said in VARIABLES.items()
        for file in [str(config_path(os.environ)) if name == CONFIG_FILE else None]
    }


def _shown(name: str, config: Config) -> Json:
    value = getattr(config, name)
    if name in _SECRETS and value is not None:
        return "***"
    if name == "store" and value is not None:
        return shown(value)
    if value is None or isinstance(value, bool | int | float | str):
        return masked(value) if isinstance(value, str) else value
    if isinstance(value, tuple):
        return [masked(str(item)) for item in value]
    return masked(str(value))


CONFIG = command_table.Command("memory-mesh config", (), _run_config)


# completion

_SHELLS = ("bash", "zsh", "fish", "tcsh")

_SEEN_GROUP = f"__fish_seen_subcommand_from {' '.join(command_table.GROUPS)}"

_FOLDERS, _FILES = {"db_dir"}, {"checkpoint", "against"}

_FOLDER_WORDS, _FILE_WORDS = {"FOLDER", "DIR"}, {"FILE", "PATH"}


def _run_completion(options: argparse.Namespace) -> int:
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

    parser = command_table.Parser(prog=command_table.PROGRAM)
    command_table.add_common(parser)
    below = parser.add_subparsers(metavar="command")
    parsers = [parser]
    for name, what in _top():
        parsers.append(below.add_parser(name, help=what, description=what))
        if name in command_table.COMMANDS:
            command_table.describe(parsers[-1], command_table.load(name))
    for noun, names in command_table.GROUPS.items():
        told = f"{noun}: {', '.join(names)}"
        group = below.add_parser(noun, help=told, description=told)
        under = group.add_subparsers(metavar="command")
        for name, what in names.items():
            told = command_table.summary_of(what)
            parsers.append(under.add_parser(name, help=told, description=told))
            command_table.describe(parsers[-1], command_table.load(command_table.words_of(what)[0]))
    for action in (action for one in parsers for action in one._actions):  # noqa: SLF001  # no public way
        if _names_folder(action):
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]  # shtab's own mark
        elif _names_file(action):
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab's own mark
    return parser


def _top() -> Iterator[tuple[str, str]]:
    """The commands that are in no group, and what they do."""
    grouped = {*command_table.PLACES, *command_table.GROUPS}
    yield from (
        (name, told) for name, told in command_table.COMMANDS.items() if name not in grouped
    )
    yield from (("help", "show how a command is used"), ("version", "print the version"))


def _names_folder(action: argparse.Action) -> bool:
    return action.dest in _FOLDERS or action.metavar in _FOLDER_WORDS


def _names_file(action: argparse.Action) -> bool:
    return action.dest in _FILES or action.metavar in _FILE_WORDS


def _fish() -> Iterator[str]:
    """The script for fish: a line per command and per option."""
    start = f"complete -c {command_table.PROGRAM}"
    yield f"# Completion of {command_table.PROGRAM} for fish."
    yield f"{start} -f"
    for name, told in _top():
        yield f"{start} -n __fish_use_subcommand -a {name} -d {_quoted(told)}"
        if name in command_table.COMMANDS:
            of = f"'__fish_seen_subcommand_from {name}; and not {_SEEN_GROUP}'"
            yield from _fish_options(f"{start} -n {of}", name)
    names = " ".join([*command_table.FRONT, *command_table.GROUPS])
    yield f"{start} -n '__fish_seen_subcommand_from help' -a {_quoted(names)}"
    for noun, names_of in command_table.GROUPS.items():
        yield f"{start} -n __fish_use_subcommand -a {noun} -d {_quoted(', '.join(names_of))}"
        within = f"__fish_seen_subcommand_from {noun}"
        any_of = " ".join(names_of)
        for name, what in names_of.items():
            told = _quoted(command_table.summary_of(what))
            first = f"'{within}; and not __fish_seen_subcommand_from {any_of}'"
            yield f"{start} -n {first} -a {name} -d {told}"
            of = f"'{within}; and __fish_seen_subcommand_from {name}'"
            yield from _fish_options(f"{start} -n {of}", command_table.words_of(what)[0])


def _fish_options(start: str, name: str) -> Iterator[str]:
    parser = command_table.Parser(prog=name)
    command_table.describe(parser, command_table.load(name))
    for action in parser._actions:  # noqa: SLF001  # argparse lists them nowhere else
        if words := _fish_words(action):
            yield f"{start} {words}"


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


COMPLETION = command_table.Command(
    (
        "memory-mesh completion bash > ~/.local/share/bash-completion/completions/memory-mesh\n"
        "  memory-mesh completion zsh > ~/.zfunc/_memory-mesh\n"
        "  memory-mesh completion fish > ~/.config/fish/completions/memory-mesh.fish"
    ),
    (command_table.argument("shell", choices=_SHELLS, help="the shell"),),
    _run_completion,
)
