"""Parses the command line into one command and its options.

Only the parser of the requested command is built, because building all of them takes longer than
most commands. The common options are accepted before and after the command.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module

from memory_mesh._version import __version__
from memory_mesh.base.typed import Any, NoReturn, TypeAlias, dataclass
from memory_mesh.rules.arguments import near

argparse._ = str  # type: ignore[attr-defined]  # Python has no translations; to look loads `locale`
PROGRAM = "memory-mesh"
SHOWN = ("help", "version")  # they have no module: `--help` and `--version` do it
FRONT = (  # what most people do; `help` lists these
    "init", "doctor", "store", "search", "context", "list", "get", "update", "delete", "explain",
    "stats",
)  # fmt: skip
COMMANDS = {  # by the name of its function; `GROUPS` says what people type
    "init": "give Claude Code this memory, or take it away again",
    "doctor": "check every link from the store to the agent, each with its fix",
    "store": "store a memory",
    "search": "find memories",
    "context": "print the memories for a prompt, under a budget of tokens",
    "list": "list memories, newest first",
    "get": "show one memory",
    "update": "change a memory, with options or (edit) in your editor",
    "delete": "hide a memory; it can be restored for 30 days",
    "erase": "erase memories for good, with what was made of them",
    "explain": "say why a memory is as it is, or why a search found it or not",
    "bisect": "find the write that made an answer wrong, and take it back",
    "stats": "show counts, sizes, the path and the status of the store",
    "evolve": "store a newer statement; an older one that contradicts it by rule gives way",
    "pin": "bring a memory into every context, or unpin it",
    "restore": "restore a deleted memory, or a store from a backup",
    "history": "show every recorded version of a memory",
    "rate": "vote whether a memory was helpful",
    "wipe": "delete the memories of a project or a user, or all, after a backup",
    "review": "list, approve or reject what waits for review",
    "conflicts": "list and resolve contradictions",
    "reinforce": "vote that a memory is true",
    "dispute": "vote that a memory is false",
    "lessons": "show the rules learned from failures",
    "distill": "turn recent failures into lessons",
    "extract": "store what a conversation states, found by rules or by a language model",
    "reflect": "summarise what memories agree on",
    "list-skills": "list skills, newest first",
    "search-skills": "find skills",
    "ingest-skill": "store a skill from a file",
    "skill-feedback": "record whether a skill worked",
    "skill-prune": "archive skills with a low reliability",
    "synthesize": "stage a skill from steps that recur in memories",
    "trace": "record executions, and ask them about the next task",
    "memory-log": "show, archive or erase the log shared by all projects",
    "trigger": "test triggers, list them, and show what a task calls up",
    "link": "link one memory to another, or remove such a link",
    "links": "show the links of a memory, what they lead to, and ways between memories",
    "clusters": "show groups of memories that links hold together",
    "graph": "draw what a memory is linked to, or what superseded what",
    "episode": "group memories into episodes, and summarise them",
    "export": "write the memories to a file: an archive, JSON lines, CSV or Markdown",
    "export-tables": "write the namespace as tables of @yamo/memory-mesh",
    "import": "bring memories from an archive, a table, notes, or a tool such as mem0 or ChatGPT",
    "ingest-dir": "store the text files of a folder",
    "import-tables": "import a store of @yamo/memory-mesh",
    "migrate-tables": "migrate such tables from schema V1 to V2, or back",
    "import-lane": "import a SQLite file of Memory Lane",
    "check": "list the memories whose code moved, changed or is gone, and what a branch changes",
    "inspect": "say what is wrong in a store, ours or another tool's, and change nothing",
    "verify": "check the audit chain and the store's invariants",
    "backup": "copy the whole store while others use it, and keep so many copies",
    "repair": "rebuild what is derived: keyword tables, indexes, counters, head file",
    "salvage": "copy what can be read of a damaged store into a new one",
    "sync": "keep the stores of your machines in step through a shared folder",
    "move": "move the store, or one namespace, to another folder with its key",
    "keys": "show, rotate or replace the key of the store",
    "namespaces": "list the namespaces of the store, or delete one for good",
    "upkeep": "update keyword terms, embed texts and build the index",
    "reembed": "change the embedding model side by side, compared, with a way back",
    "setup-server": "make the tables of a PostgreSQL database, or bring them up to date",
    "fleet": "share a store out among many PostgreSQL servers, and move its places",
    "jobs": "list and run maintenance: consolidation of traces, retention",
    "worker": "do the jobs of a store in PostgreSQL, until Ctrl-C",
    "daemon": "show, start or stop the background process of hooks and MCP",
    "mcp": "say how agents reach the memory by MCP, or serve it over HTTP",
    "serve": "serve the store over HTTP to everybody who has a key",
    "ui": "open the page of the store: look, ask why, correct, forget",
    "access-keys": "make, list and end the keys of the service",
    "mirror": "keep memories as Markdown files in a folder, in both directions",
    "project": "show, name, merge or split the project of this folder",
    "models": "list, download or install models for search by meaning",
    "config": "show every setting: its value, where it comes from, what it does",
    "eval": "measure how well search finds memories",
    "completion": "print a completion script for a shell",
}
GROUPS = {  # noun: {name: what runs, as a command of above with first words, and its summary}
    "memory": {
        "restore": "restore", "history": "history", "pin": "pin", "rate": "rate",
        "evolve": "evolve", "wipe": "wipe", "erase": "erase",
    },
    "review": {
        "list": "review: list what waits for review",
        "approve": "review --approve: let in what waits, or make a proposed change",
        "reject": "review --reject: keep out what waits, or leave out a proposed change",
        "undo": "review --undo: undo the last review or decision",
        "conflicts": "conflicts", "reinforce": "reinforce", "dispute": "dispute",
    },
    "lesson": {
        "add": "lessons --add: store a lesson in your own words",
        "list": "lessons", "distill": "distill", "reflect": "reflect",
        "extract": "extract",
    },
    "skill": {
        "list": "list-skills", "search": "search-skills", "add": "ingest-skill",
        "feedback": "skill-feedback", "prune": "skill-prune", "synthesize": "synthesize",
    },
    "trace": {
        "record": "trace record: record an execution",
        "show": "trace show: show one trace",
        "list": "trace list: list traces, newest first",
        "similar": "trace similar: find earlier executions with a similar goal",
        "plan": "trace plan: say what memory knows before a task",
        "import": "trace import: bring trace files",
        "export": "trace export: write traces as files",
        "layout": "trace layout: write the traces of a project as a folder",
        "log": "memory-log",
    },
    "trigger": {
        "test": "trigger test: say whether a pattern matches a text",
        "list": "trigger list: list the memories with triggers",
        "find": "trigger find: show what a task calls up",
        "prompt": "trigger prompt: print it as a prompt",
    },
    "graph": {
        "draw": "graph", "link": "link", "links": "links", "clusters": "clusters",
        "episode": "episode",
    },
    "import": {
        "archive": "import", "folder": "ingest-dir", "tables": "import-tables",
        "migrate": "migrate-tables", "lane": "import-lane",
    },
    "export": {"archive": "export", "tables": "export-tables"},
    "care": {
        "verify": "verify", "backup": "backup",
        "restore": "restore: restore a store from a backup",
        "repair": "repair", "salvage": "salvage", "move": "move", "keys": "keys",
        "namespaces": "namespaces", "upkeep": "upkeep", "reembed": "reembed",
    },
    "server": {
        "setup": "setup-server", "fleet": "fleet", "jobs": "jobs", "worker": "worker",
        "daemon": "daemon", "mcp": "mcp", "keys": "access-keys",
    },
}  # fmt: skip
PLACES = {  # what is typed for each command, in new words: the other names are accepted as well
    what: f"{noun} {name}"
    for noun, names in GROUPS.items()
    for name, what in names.items()
    if what in COMMANDS and what not in GROUPS
}
ALIASES = {
    "add": "store",
    "remember": "store",
    "find": "search",
    "recall": "search",
    "show": "get",
    "ls": "list",
    "edit": "update --edit",
    "supersede": "evolve",
    "rm": "delete",
    "forget": "delete",
    "why": "explain",
    "resolve": "conflicts",
    "undo": "review --undo",
    "users": "namespaces",
    "info": "stats",
    "clear": "wipe",
    "reset": "wipe",
    "undelete": "restore",
    "health": "doctor",
}
_FAMILIES = {  # the module of each command that is not in one of its own name
    "get": "memories",
    "list": "memories",
    "update": "memories",
    "pin": "memories",
    "delete": "memories",
    "erase": "memories",
    "history": "memories",
    "rate": "memories",
    "check": "review",
    "conflicts": "review",
    "reinforce": "review",
    "dispute": "review",
    "reflect": "learning",
    "distill": "learning",
    "extract": "learning",
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
    "access-keys": "serve",
    "reembed": "models",
    "completion": "config",
    "doctor": "init",
    "explain": "context",
    "trigger": "context",
    "keys": "stats_and_namespaces",
    "namespaces": "stats_and_namespaces",
    "stats": "stats_and_namespaces",
}
_COMMON = "common options"
_MORE = f"Every command also takes --project, --user, --json and more: {PROGRAM} help options"
_VALUED = {"--store", "--db-dir", "--namespace", "--user", "--project", "--session", "--agent"}
_FLAGS = {"--json", "--version", "--help", "-h", "--verbose", "-v", "-vv"}


Step: TypeAlias = Callable[[argparse.ArgumentParser], object]  # what adds options to a parser


class UsageError(Exception):
    """The command line is not valid."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: an example, what it takes, and what runs it."""

    example: str
    takes: Sequence[Step]
    run: Callable[[argparse.Namespace], int]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds what the command takes to a parser."""
        for step in self.takes:
            step(parser)


def argument(*names: str, **options: Any) -> Step:  # noqa: ANN401  # argparse's own options
    """A step that adds an argument or an option."""
    return lambda parser: parser.add_argument(*names, **options)


def adding(function: Callable[..., None], *first: object, **options: object) -> Step:
    """A step that calls a function which adds options, with these arguments."""
    return lambda parser: function(parser, *first, **options)


def one_of(*steps: Step, required: bool = False) -> Step:
    """A step that adds arguments which exclude each other."""
    return lambda parser: [
        step(group)  # type: ignore[arg-type]  # it takes arguments as a parser does
        for group in [parser.add_mutually_exclusive_group(required=required)]
        for step in steps
    ]


def about(text: str) -> Step:
    """A step that says more of a command, below what it does."""

    def describe(parser: argparse.ArgumentParser) -> None:
        parser.description = f"{parser.description or ''}\n\n{text}".strip()

    return describe


def read(argv: Sequence[str]) -> tuple[Command, argparse.Namespace]:
    """Returns the requested command and its options; --help and --version exit here."""
    _refuse_broken_text(argv)
    name, words = _split(argv)
    if name is None:
        _without_command(words)
    name, words = _meant(name, words)
    if name in SHOWN:
        name, words = _shown(name, words)
    if name in GROUPS:
        name, words = _in_group(name, words)
    if name not in COMMANDS:
        raise UsageError(_unknown(name))
    _refuse_positional_json(name, words)
    command = load(name)
    parser = Parser(prog=f"{PROGRAM} {place(name)}", description=_described(name))
    describe(parser, command)
    parser.set_defaults(command=name)
    parser.typed = words
    if {"--help", "-h"} & {*words}:
        return command, _checked(parser, parser.parse_args(words))
    parser.usage = ""  # errors show none, and to write it takes time
    return command, _checked(parser, parser.parse_intermixed_args(words))


def command_of(name: str) -> str:
    """The command that a name runs: `store` for `add`."""
    return ALIASES.get(name, name).partition(" ")[0]


def place(name: str) -> str:
    """What is typed for a command: `skill list` for `list-skills`."""
    return PLACES.get(name, name)


def summary_of(what: str) -> str:
    """The line that says what a command of a group does."""
    name, _, about = what.partition(": ")
    return about or COMMANDS[name]


def words_of(what: str) -> list[str]:
    """The command that a name of a group runs, and the words that it begins with."""
    return what.partition(": ")[0].split()


def _meant(name: str, words: list[str]) -> tuple[str, list[str]]:
    """The command that another name stands for, with the words that it stands for."""
    name, *first = ALIASES.get(name, name).split()
    return name, [*first, *words]


def _in_group(noun: str, words: list[str]) -> tuple[str, list[str]]:
    """The command of a group, or the one that has the name of the group; --help lists them."""
    at = _position(words)
    word = words[at] if at < len(words) and not words[at].startswith("-") else None
    if word in GROUPS[noun]:
        name, *first = words_of(GROUPS[noun][word])
        return name, [*first, *words[:at], *words[at + 1 :]]
    if noun in COMMANDS:
        return noun, words
    if {"--help", "-h"} & {*words}:
        print(f"usage: {PROGRAM} {noun} COMMAND [options]\n\n{_listed(noun)}\n\n{_MORE}")
        raise SystemExit(0)
    meant = near(word or "", [*GROUPS[noun]])
    said = f"unknown command {noun} {word!r}; " if word else ""
    hint = f"did you mean {noun} {meant}?" if meant else f"give one of: {', '.join(GROUPS[noun])}."
    raise UsageError(f"{said}{hint} See: {PROGRAM} {noun} --help")


def _listed(noun: str) -> str:
    """The commands of a group, one per line."""
    rows = {f"{noun} {name}": summary_of(what) for name, what in GROUPS[noun].items()}
    return "\n".join(_rows(rows))


def _rows(rows: Mapping[str, str]) -> list[str]:
    width = max(map(len, rows))
    return [
        line
        for name, told in rows.items()
        for line in _fitted(f"  {name:<{width}}  {told}", indent=width + 4)
    ]


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
            whose = options.user if parser.get_default("command") == "delete" else None
            whole = f"memory-mesh namespaces delete --user {whose}" if whose else ""
            hint = f"give one ID; to delete all memories of the user for good: {whole}"
            once = hint if whole else "give one ID"
            parser.error(once if options.named is None else "give the ID once")
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
    parser.epilog = f"example:\n  {command.example}\n\n{_MORE}"


def add_common(parser: argparse.ArgumentParser) -> None:
    """Adds the options that every command accepts."""
    common = parser.add_argument_group(_COMMON)
    common.add_argument(
        "--store",
        metavar="URL",
        help="the store: a folder, postgresql://USER@HOST/DATABASE or https://HOST",
    )
    common.add_argument("--db-dir", metavar="DIR", help="the store's folder")
    common.add_argument("--namespace", metavar="NAME", help="the namespace, one file of the store")
    common.add_argument(
        "--user", metavar="ID", help="the user whose memories are meant, instead of a namespace"
    )
    known = parser._option_string_actions  # noqa: SLF001  # argparse lists them nowhere else
    if "--project" not in known:  # wipe has its own
        common.add_argument("--project", metavar="NAME",
            help="the project; default: that of the current folder; '' for none")  # fmt: skip
    common.add_argument("--session", metavar="ID", help="the session that reads or writes")
    common.add_argument(
        "--agent", metavar="ID", help="the agent that reads or writes; alone it separates nothing"
    )
    common.add_argument("--json", action="store_true", help="print JSON (output only)")
    names = ["-v", "--verbose"]
    if "--verbose" in known:  # RFC-0011's own, of stats
        names.pop()
    common.add_argument(
        *names, action="count", default=0, dest="log_level",
        help="print log records to standard error; twice: details, too",
    )  # fmt: skip
    common.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    common.add_argument("-h", "--help", action="help", help="say how the command is used")


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises its errors and does not accept shortened options."""

    typed: Sequence[str] = ()  # the words of the shell

    def __init__(self, **options: object) -> None:
        fixed = {"allow_abbrev": False, "formatter_class": _Formatter, "add_help": False}
        super().__init__(**fixed, **options)  # type: ignore[arg-type]  # argparse's own options

    def format_help(self) -> str:
        """Returns the help text without the common options, which `help options` lists."""
        for group in self._action_groups:
            for action in group._group_actions if group.title == _COMMON else ():  # noqa: SLF001
                action.help = argparse.SUPPRESS
        told, needed = super().format_help(), self.get_default("needs_place")
        return told.replace(f"[{needed[1]}]", needed[1], 1) if needed else told

    def error(self, message: str) -> NoReturn:
        """Raises the message in plain words, with a pointer to --help."""
        from memory_mesh.cli.misuse import reworded

        said = reworded(message, self, self.typed)
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
    position = _position(argv)
    if position >= len(argv):
        return None, list(argv)
    word = argv[position]
    if not word.startswith("-"):
        return word, [*argv[:position], *argv[position + 1 :]]
    meant = near(word.partition("=")[0], sorted(_VALUED | _FLAGS))
    hint = f"did you mean {meant}?" if meant else "options of a command stand behind it."
    raise UsageError(f"unknown option {word} before the command; {hint} See: {PROGRAM} --help")


def _position(argv: Sequence[str]) -> int:
    """The place of the first word that is neither a common option nor the value of one."""
    position = 0
    while position < len(argv) and argv[position].partition("=")[0] in _VALUED | _FLAGS:
        position += 2 if argv[position] in _VALUED else 1
    return position


def _shown(name: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """What `help [COMMAND]` and `version` ask for, as options ask for it."""
    if name == "version":
        if "--json" in words:
            print(f'{{"version": "{__version__}"}}')
            raise SystemExit(0)
        _without_command(["--version", *words])
    if "--all" in words:
        print("\n".join(_everything()))
        raise SystemExit(0)
    command, rest = _split(words)
    if command == "options":
        print(_common_options())
        raise SystemExit(0)
    if command is None or command in SHOWN:
        _without_command(["--help"])
    name, _ = _meant(command, [])
    return name, [*(rest[:1] if name in GROUPS else []), "--help"]


def _without_command(words: Sequence[str]) -> NoReturn:
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} COMMAND [options]",
        description="Long-term memory for AI agents: one durable store for many processes.",
        epilog=_overview(),
    )
    add_common(parser)
    parser.parse_args(words)  # exits on --help and --version
    raise UsageError(f"no command was given\n\n{_overview()}")


def _overview() -> str:
    """What most people do, on one screen."""
    example = f'example: {PROGRAM} store "The user prefers dark themes"'
    one = f"how one is used: {PROGRAM} help COMMAND"
    more = f"more: {PROGRAM} help --all"
    return "\n".join([*_rows({name: COMMANDS[name] for name in FRONT}), "", example, one, more])


def _everything() -> Iterator[str]:
    """Every command, in its group."""
    grouped = {*FRONT, *GROUPS, *PLACES}
    yield f"usage: {PROGRAM} COMMAND [options]\n\nevery day:"
    yield from _rows({name: COMMANDS[name] for name in FRONT})
    yield from (f"\n{noun}:\n{_listed(noun)}" for noun in GROUPS)
    yield "\nmore:"
    rest = {name: told for name, told in COMMANDS.items() if name not in grouped}
    yield from _rows({**rest, "help": "show how a command is used", "version": "print the version"})
    also = ", ".join(f"{name} ({place(command_of(name))})" for name in ALIASES)
    yield "\n" + "\n".join(_fitted(f"also: {also}", indent=2))
    old = ", ".join(f"{name} ({new})" for name, new in PLACES.items() if name != new)
    yield "\n".join(_fitted(f"earlier names: {old}", indent=2))


def _common_options() -> str:
    """The options that every command accepts."""
    parser = Parser(prog=PROGRAM, usage=f"{PROGRAM} COMMAND [options], in any order")
    add_common(parser)
    return argparse.ArgumentParser.format_help(parser).rstrip()


def _fitted(line: str, indent: int) -> list[str]:
    """A line in the width of the terminal; as it is where there is none."""
    import shutil

    if sys.stdout is None or not sys.stdout.isatty():
        return [line]
    import textwrap

    columns = max(indent + 10, shutil.get_terminal_size().columns - 1)
    return textwrap.wrap(line, columns, subsequent_indent=" " * indent, break_on_hyphens=False)


def _described(name: str) -> str:
    """What a command does, and the commands of the group that it gives its name."""
    about = f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}."
    return f"{about}\n\ncommands:\n{_listed(name)}" if name in GROUPS else about


def _unknown(name: str) -> str:
    meant = near(name, [*COMMANDS, *GROUPS, *ALIASES, *SHOWN])
    known = place(command_of(meant or ""))
    hint = f"did you mean {known}?" if meant else f"see: {PROGRAM} help"
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
            hint = f"{PROGRAM} {place(name)} --help"
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
