"""The page of the command line, made from the parsers that the commands build."""

import argparse
from collections.abc import Iterator

from memory_mesh.cli import command_table


def page() -> str:
    """Every command with its options and its example, in the groups of `memory-mesh help`."""
    parts = [
        "# Command line",
        (
            "`memory-mesh COMMAND [options]`. `memory-mesh help COMMAND` prints what stands here. "
            "Every command ends with 0 if it did what was asked, 1 if it could not, 2 if it was "
            "called in a wrong way: [errors](errors.md#exit-codes)."
        ),
        "## Commands\n\n" + "\n\n".join(_overview()),
        "## Common options\n\nEvery command takes these, before or after its name.\n\n"
        + _table(common()),
        "## Other names\n\n| you type | it runs |\n|---|---|\n"
        + "\n".join(f"| `{short}` | `{name}` |" for short, name in _others().items()),
    ]
    parts += [_command(name) for name in command_table.COMMANDS]
    return "\n\n".join(parts) + "\n"


def common() -> list[argparse.Action]:
    """The options that every command takes."""
    parser = command_table.Parser(prog=command_table.PROGRAM)
    command_table.add_common(parser)
    return _actions(parser)


def own(name: str) -> list[argparse.Action]:
    """The arguments and options of one command alone."""
    parser = command_table.Parser(prog=f"{command_table.PROGRAM} {name}")
    command_table.load(name).add_arguments(parser)
    return _actions(parser)


def shown(action: argparse.Action) -> str:
    """An argument or option as it is typed."""
    if not action.option_strings:
        return str(action.metavar or action.dest).upper()
    value = "" if action.nargs == 0 else f" {_value(action)}"
    return ", ".join(action.option_strings) + value


def _others() -> dict[str, str]:
    """The names that are accepted beside those of the overview, and what they run."""
    short = {
        name: command_table.place(command_table.command_of(name)) for name in command_table.ALIASES
    }
    return short | {name: place for name, place in command_table.PLACES.items() if name != place}


def _overview() -> Iterator[str]:
    grouped = {*command_table.FRONT, *command_table.GROUPS, *command_table.PLACES}
    yield _rows("every day", {name: name for name in command_table.FRONT})
    for noun, names in command_table.GROUPS.items():
        yield _rows(noun, {f"{noun} {name}": what for name, what in names.items()})
    yield _rows("more", {name: name for name in command_table.COMMANDS if name not in grouped})


def _rows(heading: str, commands: dict[str, str]) -> str:
    """A table of commands, each with what runs; it links to that one's part of the page."""
    rows = [
        f"| [`{name}`](#{command_table.place(command_table.words_of(what)[0]).replace(' ', '-')}) "
        f"| {command_table.summary_of(what)} |"
        for name, what in commands.items()
    ]
    return f"**{heading}**\n\n| command | what it does |\n|---|---|\n" + "\n".join(rows)


def _command(name: str) -> str:
    command, told = command_table.load(name), command_table.COMMANDS[name]
    actions = own(name)
    parts = [f"## {command_table.place(name)}", f"{told[0].upper()}{told[1:]}."]
    if actions:
        parts.append(_table(actions))
    parts.append(f"```console\n{_example(command.example)}\n```")
    return "\n\n".join(parts)


def _example(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join(f"$ {line}" for line in lines if line)


def _table(actions: list[argparse.Action]) -> str:
    rows = [f"| {_code(shown(action))} | {_about(action)} |" for action in actions]
    return "| option | what it does |\n|---|---|\n" + "\n".join(rows)


def _code(text: str) -> str:
    return f"`{text}`" if "|" not in text else f"<code>{text.replace('|', '&#124;')}</code>"


def _about(action: argparse.Action) -> str:
    values = {"prog": command_table.PROGRAM, "default": action.default, "choices": action.choices}
    said = (action.help or "").replace("%%", "%")
    said = said % values if "%(" in said else said
    if action.choices and not action.option_strings:
        said += f": {', '.join(map(str, action.choices))}" if "show" not in said else ""
    return " ".join(said.split()).replace("|", "&#124;").replace("<", "&lt;")


def _value(action: argparse.Action) -> str:
    if action.metavar is not None:
        return action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar)
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [
        action
        for action in parser._actions  # noqa: SLF001  # argparse lists them nowhere else
        if action.dest != "help" and action.help != argparse.SUPPRESS
    ]
