"""Parses the command line into one command and its options.

Only the parser of the requested command is built, because building all of them takes longer than
most commands. The common options are accepted before and after the command.
"""

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module

from memory_mesh._version import __version__
from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.base.typed import NoReturn

PROGRAM = "memory-mesh"
GROUPS = {
    "start": {
        "init": "give Claude Code this memory, or take it away again",
        "doctor": "check every link from the store to the agent, each with its fix",
        "help": "show how a command is used",
        "version": "print the version",
    },
    "remember and find": {
        "store": "store a memory",
        "search": "find memories",
        "context": "print the memories for a prompt, under a budget of tokens",
        "get": "show one memory",
        "list": "list memories, newest first",
        "evolve": "store a newer statement; what it contradicts is superseded",
        "update": "change a memory; its earlier versions are kept",
        "pin": "pin or unpin a memory",
        "delete": "hide a memory; it can be restored for 30 days",
        "restore": "restore a deleted memory, or a store from a backup",
    },
    "judge": {
        "rate": "vote whether a memory was helpful",
        "reinforce": "vote that a memory is true",
        "dispute": "vote that a memory is false",
        "review": "list, approve or reject what waits for review",
        "conflicts": "list and resolve contradictions",
        "explain": "say why a memory is as it is, or why a search found it or not",
        "history": "show every recorded version of a memory",
    },
    "learn": {
        "reflect": "summarise what memories agree on",
        "distill": "turn recent failures into lessons",
        "lessons": "show the rules learned from failures",
        "synthesize": "stage a skill from steps that recur in memories",
        "ingest-skill": "store a skill from a file",
        "search-skills": "find skills",
        "list-skills": "list skills, newest first",
        "skill-feedback": "record whether a skill worked",
        "skill-prune": "archive skills with a low reliability",
        "trace": "record executions, and ask them about the next task",
        "trigger": "test triggers, list them, and show what a task calls up",
    },
    "connect": {
        "link": "link one memory to another, or remove such a link",
        "links": "show the links of a memory, what they lead to, and ways between memories",
        "clusters": "show groups of memories that links hold together",
        "graph": "draw what a memory is linked to, or what superseded what",
        "episode": "group memories into episodes, and summarise them",
        "project": "show, name, merge or split the project of this folder",
    },
    "bring in and take out": {
        "ingest-dir": "store the text files of a folder",
        "mirror": "keep memories as Markdown files in a folder, in both directions",
        "export": "write the namespace to one portable file, an archive",
        "import": "bring a namespace from an archive",
        "import-tables": "import a store of @yamo/memory-mesh",
        "export-tables": "write the namespace as tables of @yamo/memory-mesh",
        "migrate-tables": "migrate such tables from schema V1 to V2, or back",
        "import-lane": "import a SQLite file of Memory Lane",
        "memory-log": "show, archive or erase the log shared by all projects",
    },
    "keep safe": {
        "stats": "show counts, sizes, the path and the status of the store",
        "verify": "check the audit chain and the store's invariants",
        "backup": "copy the whole store while others use it, and keep so many copies",
        "repair": "rebuild what is derived: keyword tables, indexes, counters, head file",
        "salvage": "copy what can be read of a damaged store into a new one",
        "move": "move the store, or one namespace, to another folder with its key",
        "namespaces": "list the namespaces of the store, or delete one for good",
        "keys": "show, rotate or replace the key of the store",
    },
    "run": {
        "upkeep": "update keyword terms, embed texts and build the index",
        "reembed": "change the embedding model side by side, compared, with a way back",
        "setup-server": "make the tables of a PostgreSQL database, or bring them up to date",
        "jobs": "list and run maintenance: consolidation of traces, retention",
        "worker": "do the jobs of a store in PostgreSQL, until Ctrl-C",
        "daemon": "show, start or stop the background process of hooks and MCP",
        "mcp": "say how agents reach the memory by MCP, or serve it over HTTP",
        "models": "list, download or install models for search by meaning",
        "config": "show every setting: its value, where it comes from, what it does",
        "eval": "measure how well search finds memories",
        "completion": "print a completion script for a shell",
    },
}
SHOWN = ("help", "version")  # they have no module: `--help` and `--version` do it
COMMANDS = {
    name: summary
    for group in GROUPS.values()
    for name, summary in group.items()
    if name not in SHOWN
}
ALIASES = {
    "add": "store",
    "remember": "store",
    "find": "search",
    "recall": "search",
    "show": "get",
    "ls": "list",
    "edit": "update",
    "supersede": "evolve",
    "rm": "delete",
    "forget": "delete",
    "why": "explain",
}
_FAMILIES = {  # the module of each command that is not in one of its own name
    "get": "memories",
    "list": "memories",
    "update": "memories",
    "pin": "memories",
    "delete": "memories",
    "history": "memories",
    "rate": "memories",
    "conflicts": "review",
    "reinforce": "review",
    "dispute": "review",
    "reflect": "learning",
    "distill": "learning",
    "lessons": "learning",
    "synthesize": "learning",
    "ingest-skill": "skills",
    "search-skills": "skills",
    "list-skills": "skills",
    "skill-feedback": "skills",
    "skill-prune": "skills",
    "link": "graph",
    "links": "graph",
    "clusters": "graph",
    "episode": "graph",
    "import-tables": "tables",
    "export-tables": "tables",
    "migrate-tables": "tables",
    "import-lane": "tables",
    "backup": "backups",
    "restore": "backups",
    "export": "backups",
    "import": "backups",
    "move": "backups",
    "verify": "damage",
    "repair": "damage",
    "salvage": "damage",
    "evolve": "store",
    "upkeep": "jobs",
    "worker": "jobs",
    "setup-server": "jobs",
    "mcp": "daemon",
    "reembed": "models",
    "completion": "config",
    "doctor": "init",
    "explain": "context",
    "trigger": "context",
    "keys": "namespaces",
    "stats": "namespaces",
}
_VALUED = {"--store", "--db-dir", "--namespace", "--user", "--project", "--session", "--agent"}
_FLAGS = {"--json", "--version", "--help", "-h", "--verbose", "-v", "-vv"}


class UsageError(Exception):
    """The command line is not valid."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: an example, what adds its options to a parser, and what runs it."""

    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def read(argv: Sequence[str]) -> tuple[Command, argparse.Namespace]:
    """Returns the requested command and its options; --help and --version exit here."""
    _refuse_broken_text(argv)
    name, words = _split(argv)
    if name is None:
        _without_command(words)
    name = ALIASES.get(name, name)
    if name in SHOWN:
        name, words = _shown(name, words)
    if name not in COMMANDS:
        raise UsageError(_unknown(name))
    _refuse_positional_json(name, words)
    command = load(name)
    parser = Parser(prog=f"{PROGRAM} {name}", description=_sentence(name))
    describe(parser, command)
    parser.set_defaults(command=name)
    return command, _checked(parser, parser.parse_args(words))


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.Namespace:
    """Refuses `--option=--`: argparse takes it for the end of the options and gives no value."""
    for action in parser._actions:  # noqa: SLF001  # argparse lists them nowhere else
        given = getattr(options, action.dest, None)
        if action.nargs is None and given == [] != action.default:
            parser.error(f"{'/'.join(action.option_strings) or action.dest} needs a value")
    if "needs_id" in options:  # as ID or as --id ID
        if options.id is not None and options.named is not None and "text" in options:
            options.text, options.named = [options.named, *options.text], None
        if (options.named is None) == (options.id is None):
            parser.error("give one ID" if options.named is None else "give the ID once")
        options.id = options.named or options.id
    if "needs_place" in options:  # as FILE or as --to FILE
        name, what = options.needs_place
        given = getattr(options, name)
        if (options.place is None) == (given is None):
            parser.error(f"give the {what} once" if given else f"give a {what}")
        setattr(options, name, options.place or given)
    return options


def load(name: str) -> Command:
    """Imports and returns a command; those of one family share a module."""
    word = name.replace("-", "_")
    module = import_module(f"memory_mesh.cli.commands.{_FAMILIES.get(name, word)}")
    command: Command = getattr(module, word.upper())
    return command


def describe(parser: argparse.ArgumentParser, command: Command) -> None:
    """Adds the command's options, the common options and the example to a parser."""
    command.add_arguments(parser)
    add_common(parser)
    parser.epilog = f"example:\n  {command.example}"


def add_common(parser: argparse.ArgumentParser) -> None:
    """Adds the options that every command accepts."""
    common = parser.add_argument_group("common options")
    common.add_argument(
        "--store", metavar="URL", help="the store: a folder, or postgresql://USER@HOST/DATABASE"
    )
    common.add_argument("--db-dir", metavar="DIR", help="the store's folder")
    common.add_argument("--namespace", metavar="NAME", help="the namespace, one file of the store")
    common.add_argument(
        "--user", metavar="ID", help="the user whose memories are meant, instead of a namespace"
    )
    common.add_argument(
        "--project",
        metavar="NAME",
        help="the project; default: that of the current folder; '' for none",
    )
    common.add_argument("--session", metavar="ID", help="the session that reads or writes")
    common.add_argument(
        "--agent", metavar="ID", help="the agent that reads or writes; alone it separates nothing"
    )
    common.add_argument("--json", action="store_true", help="print JSON (output only)")
    names = ["-v", "--verbose"]
    if "--verbose" in parser._option_string_actions:  # noqa: SLF001  # RFC-0011's own, of stats
        names.pop()
    common.add_argument(
        *names, action="count", default=0, dest="log_level",
        help="print log records to standard error; twice: details, too",
    )  # fmt: skip
    common.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises its errors and does not accept shortened options."""

    def __init__(self, **options: object) -> None:
        fixed = {"allow_abbrev": False, "formatter_class": _Formatter}
        super().__init__(**fixed, **options)  # type: ignore[arg-type]  # argparse's own options

    def error(self, message: str) -> NoReturn:
        """Raises the message in plain words, with a pointer to --help."""
        from memory_mesh.cli.misuse import reworded

        said = reworded(message, self)
        raise UsageError(f"{said}{'' if said.endswith('?') else '.'} See: {self.prog} --help")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A help formatter that asks for the terminal's width only when help is printed.

    argparse creates a formatter for every option, and asking for the width loads more modules.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80)

    def format_help(self) -> str:
        """Returns the help text in the width of the terminal."""
        import shutil

        self._width = shutil.get_terminal_size().columns - 2
        return super().format_help()


def _split(argv: Sequence[str]) -> tuple[str | None, list[str]]:
    """Splits the words into the command's name, or None, and all other words."""
    position = 0
    while position < len(argv):
        word = argv[position]
        if not word.startswith("-"):
            return word, [*argv[:position], *argv[position + 1 :]]
        if word.partition("=")[0] not in _VALUED | _FLAGS:
            from memory_mesh.cli.misuse import near

            meant = near(word.partition("=")[0], sorted(_VALUED | _FLAGS))
            hint = f"did you mean {meant}?" if meant else "options of a command stand behind it."
            raise UsageError(
                f"unknown option {word} before the command; {hint} See: {PROGRAM} --help"
            )
        position += 2 if word in _VALUED else 1
    return None, list(argv)


def _shown(name: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """What `help [COMMAND]` and `version` ask for, as options ask for it."""
    if name == "version":
        if "--json" in words:
            print(f'{{"version": "{__version__}"}}')
            raise SystemExit(0)
        _without_command(["--version", *words])
    command, _ = _split(words)
    if command is None or command in SHOWN:
        _without_command(["--help"])
    return ALIASES.get(command, command), ["--help"]


def _without_command(words: Sequence[str]) -> NoReturn:
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} <command> [options]",
        description="Long-term memory for AI agents: one durable store for many processes.",
        epilog=_overview(),
    )
    add_common(parser)
    parser.parse_args(words)  # exits on --help and --version
    raise UsageError(f"no command was given\n\n{_overview()}")


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines: list[str] = []
    for group, commands in GROUPS.items():
        lines.append(f"{group}:")
        for name, told in commands.items():
            lines += _fitted(f"  {name:<{width}}  {told}", indent=width + 4)
        lines.append("")
    also = ", ".join(f"{short} ({name})" for short, name in ALIASES.items())
    example = f'example:\n  {PROGRAM} store "The user prefers dark themes"'
    more = f"See {PROGRAM} help <command> for the options of a command."
    return "\n".join([*lines, *_fitted(f"also: {also}", indent=2), "", example, "", more])


def _fitted(line: str, indent: int) -> list[str]:
    """A line in the width of the terminal; as it is where there is none."""
    import shutil
    import sys

    if sys.stdout is None or not sys.stdout.isatty():
        return [line]
    import textwrap

    columns = max(indent + 10, shutil.get_terminal_size().columns - 1)
    return textwrap.wrap(line, columns, subsequent_indent=" " * indent, break_on_hyphens=False)


def _sentence(name: str) -> str:
    summary = COMMANDS[name]
    return f"{summary[0].upper()}{summary[1:]}."


def _unknown(name: str) -> str:
    from memory_mesh.cli.misuse import near

    meant = near(name, [*COMMANDS, *ALIASES, *SHOWN])
    hint = f"did you mean {ALIASES.get(meant, meant)}?" if meant else f"see: {PROGRAM} help"
    return f"unknown command {name!r}; {hint}"


def _refuse_broken_text(words: Sequence[str]) -> None:
    """Rejects arguments that are not UTF-8: Python passes their bytes as lone surrogates."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"the argument {word!r} is not UTF-8 text") from None


def _refuse_positional_json(name: str, words: Sequence[str]) -> None:
    """Rejects JSON as a positional argument (RFC-0011's Zero-JSON rule)."""
    before = ""
    for word in words:
        if (not before.startswith("--") or before in _FLAGS) and _is_json(word):
            hint = f"{PROGRAM} {name} --help"
            if name in {"search", "store"}:
                hint = f'plain words: {PROGRAM} {name} "..."; fields are options: {hint}'
            raise UsageError(f"JSON is not accepted as an argument; use {hint}")
        before = word


def _is_json(word: str) -> bool:
    if word.lstrip()[:1] not in {"{", "["}:
        return False
    import json

    try:
        return isinstance(json.loads(word), dict | list)
    except (ValueError, RecursionError):
        return word.lstrip().startswith("{")  # meant as JSON, and broken
