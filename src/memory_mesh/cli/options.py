"""Options shared by several commands: details of a memory, `--id`, the store, reads."""

import argparse
import os
import stat
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import Any
from memory_mesh.cli import output
from memory_mesh.cli.command_table import UsageError
from memory_mesh.mesh.operation import Option, options_of
from memory_mesh.mesh.operations.projects import ProjectVerbs
from memory_mesh.mesh.view import family
from memory_mesh.model import Channel, InvalidInput, Json, NotAllowed, NotFound, Scope, Status
from memory_mesh.model.times import iso
from memory_mesh.platform.agent_shell import agent_variables
from memory_mesh.rules.arguments import moment, user_namespace
from memory_mesh.sync import MemoryMesh
from memory_mesh.text import times

_FILLED = frozenset({  # what a command fills from who asks, or has in words of its own
    "scope", "reader", "across", "also", "use_cache", "progress", "between", "count_tokens",
    "exclude", "weights", "merge", "if_version", "see_across", "content", "metadata",
})  # fmt: skip
_DETAILS = frozenset({  # of a memory that the command line has no option for
    "kind", "confidence", "tier", "pinned", "source_kind", "source_agent", "source_ref",
    "source_skill", "claim", "quarantine", "keep_active", "derived_from",
})  # fmt: skip
_HIDDEN = [status.value for status in Status if status is not Status.ACTIVE]
_SAID: dict[str, dict[str, Any]] = {  # of options that several commands have
    "filter": {
        "metavar": "EXPR",
        "help": 'for example: team = \'core\' AND priority >= 3; or JSON: {"team": "core"}',
    },
    "include": {
        "metavar": "STATUS",
        "choices": _HIDDEN,
        "help": f"also show memories that are {', '.join(_HIDDEN)}; may be repeated",
    },
    "keyword_only": {"flag": "--keyword"},
    "tags": {"flag": "--tag"},
    "triggers": {
        "flag": "--trigger",
        "metavar": "PATTERN",
        "action": "append",
        "help": "a pattern of tasks that call it up; may be repeated",
    },
    "types": {"flag": "--type"},
    "as_owner": {
        "help": "list those of every project, agent and session of the namespace, not only of this "
        "project; to decide on one of another project, add --project NAME"
    },
}
_NOTHING: Mapping[str, Mapping[str, Any]] = {}
_COUNTED = 1_000  # memories of other projects
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
_ago = lazy_pattern(r"(\d{1,5}) ?(m|h|d|w)(?:in(?:ute)?s?|ours?|ays?|eeks?)?(?: ago)?")
_date = lazy_pattern(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")


def add_metadata(parser: argparse.ArgumentParser) -> None:
    """Adds the options that fill the metadata of a memory."""
    add = parser.add_argument
    add("--type", metavar="WORD", help="type of the memory: event, lesson, preference, ...")
    add("--rationale", metavar="TEXT", help="why it is worth keeping")
    add("--hypothesis", metavar="TEXT", help="what it is expected to help with")
    add("--source", metavar="NAME", help="the system or agent it comes from")
    add("--metadata", metavar="JSON", help="more fields, as a JSON object")
    add("--meta", metavar="KEY=VALUE", action="append", default=[],
        help="one more field; may be repeated")  # fmt: skip


def add_text(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds a text, which can be given with or without `--content`."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help=f"{what}; - reads standard input")
    parser.add_argument("--content", metavar="TEXT", help="the same, as an option")


def content_of(options: argparse.Namespace) -> str | None:
    """Returns the given text, or standard input for `-`; None if there is none."""
    if options.text and options.content is not None:
        raise UsageError("give the text once: as TEXT or with --content")
    content: str | None = " ".join(options.text) if options.text else options.content
    return content if content != "-" else standard_input()


def piped() -> bool:
    """Whether standard input comes from a pipe or a file."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # there is none
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def standard_input() -> str:
    """Returns all of standard input without its last line end."""
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(
            "standard input is not UTF-8 text. Give a text, or convert it: iconv -t UTF-8"
        ) from None
    return text.removesuffix("\n").removesuffix("\r")


def asked(question: str) -> str:
    """Returns what a person types at a terminal in answer to a question."""
    print(question, end="", file=sys.stderr)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def metadata_of(options: argparse.Namespace) -> dict[str, Json] | None:
    """Builds RFC-0011's metadata object from the options; None if none was given."""
    given = _parsed(options.metadata, "--metadata")
    for pair in options.meta:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise UsageError(f"--meta takes key=value, not {pair!r}")
        given[key] = value
    for name in ("type", "rationale", "hypothesis", "source"):
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    if options.tags:
        known = given.get("tags", [])
        given["tags"] = [*(known if isinstance(known, list) else [known]), *options.tags]
    return given or None


def _parsed(text: str | None, option: str) -> dict[str, Any]:
    if text is None:
        return {}
    from memory_mesh.formats import json_text

    try:
        value = json_text.read(text)
    except json_text.JsonFault as error:
        raise InvalidInput(
            f"""{option} is not valid JSON: {error}. Write it as '{{"team": "core"}}'"""
            + (", or give one field: --meta team=core" if option == "--metadata" else "")
        ) from None
    if not isinstance(value, dict):
        raise InvalidInput(f"""{option} takes a JSON object such as '{{"ticket": 7}}'""")
    return value


def add_id(parser: argparse.ArgumentParser) -> None:
    """Adds the id of a memory, which can be given with or without `--id`."""
    add_any_id(parser)
    parser.set_defaults(needs_id=True)


def add_any_id(parser: argparse.ArgumentParser) -> None:
    """Adds an id that can be left out in some uses of a command; see `any_id`."""
    parser.add_argument("named", nargs="?", metavar="ID", help="the memory's id")
    parser.add_argument("--id", metavar="ID", help="the same, as an option")


def add_place(
    parser: argparse.ArgumentParser, option: str, what: str, dest: str, told: str
) -> None:
    """Adds a file or folder, which can be given with or without its option."""
    parser.add_argument("place", nargs="?", metavar=what, help=told)
    parser.add_argument(option, dest=dest, metavar=what, help="the same, as an option")
    parser.set_defaults(needs_place=(dest, what))


def any_id(options: argparse.Namespace, command: str) -> str:
    """Returns the id that was given in either form."""
    if (options.named is None) == (options.id is None):
        raise UsageError(f"give one ID. See: memory-mesh {command} --help")
    given: str = options.named or options.id
    return given


@contextmanager
def looked_up(
    memory_id: str, reader: Scope, mesh: MemoryMesh, *, why: bool = False
) -> Iterator[None]:
    """Replaces NotFound by an error that names the id and what to do next."""
    try:
        yield
    except NotFound:
        raise missing(memory_id, reader, mesh, why=why) from None


def missing(memory_id: str, reader: Scope, mesh: MemoryMesh, *, why: bool = False) -> NotFound:
    """Returns the error for a memory that was not found, with what to do next."""
    from memory_mesh.cli import missing_id

    return missing_id.missing(memory_id, reader, mesh, why=why)


def mesh_of(
    options: argparse.Namespace, *, meaning: bool = False, channel: Channel = Channel.CLI
) -> MemoryMesh:
    """Returns the mesh for the options, to be used in a `with` statement.

    In a shell that an agent started, every command writes as the agent. Only commands that need
    search by meaning use a model, because loading it takes a second. Texts stored by the others get
    their vectors at the next search or upkeep.
    """
    if options.user is not None and options.namespace is not None:
        raise UsageError("give --user or --namespace, not both: each user has their own namespace")
    mesh = MemoryMesh(
        options.store,
        embedder=None if meaning else "none",
        channel=Channel.ASSISTANT if agent_variables(os.environ) else channel,
        db_dir=options.db_dir,
        namespace=options.namespace,
        agent_id=options.agent,
        project=options.project,
        session=options.session,
    )
    if options.user is None:
        return mesh
    return mesh._of_same_store(user_namespace(options.user), None, None, owner=True)  # noqa: SLF001


def refuse_agent(command: str, why: str = "it cannot be undone") -> None:
    """Refuses what only a person may do, in a shell that an agent started."""
    if agent_variables(os.environ):
        raise NotAllowed(f"an agent may not run {command}: {why}")


def without_agent() -> str:
    """How a person who types in an agent's shell runs a command as the user; else an empty text."""
    unset = "".join(f" -u {name}" for name in agent_variables(os.environ))
    return f"env{unset} memory-mesh COMMAND" if unset else ""


@contextmanager
def opened(
    options: argparse.Namespace, *, meaning: bool = False, channel: Channel = Channel.CLI
) -> Iterator[tuple[MemoryMesh, Scope]]:
    """The mesh that the options name, and who is asking."""
    from memory_mesh.cli.mirroring import write_through

    with mesh_of(options, meaning=meaning, channel=channel) as mesh:
        reader = reader_of(mesh)
        yield mesh, reader
        write_through(options.command, mesh, reader)
        reader_of(mesh)  # takes note of the project if this command wrote the first memory


def reader_of(mesh: MemoryMesh) -> Scope:
    """Returns the reader's scope; the default project is that of the current folder."""
    config = mesh.config
    if "project" in config.origins:
        return Scope(config.project or None, config.agent_id, config.session)
    folder = here()
    found = None if folder is None else family(ProjectVerbs, mesh).at(folder)  # `care` loads more
    return Scope(None if found is None else found.name, config.agent_id, config.session)


def here() -> str | None:
    """The current folder; None if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109  # a plain string is all that is wanted
    except FileNotFoundError:  # the current folder was removed
        return None


def add_operation(
    parser: argparse.ArgumentParser,
    method: Callable[..., object],
    said: Mapping[str, Mapping[str, Any]] = _NOTHING,
    hidden: Collection[str] = (),
) -> None:
    """Adds the options of an operation under their own names, but not those of `hidden`.

    Name, type, choices, default and help are those of its declaration; `said` holds what this
    command says otherwise of an option, as argparse takes it, with its name as `flag`.
    """
    offered = [*(parser.get_default("offered") or ())]
    for option in options_of(method).values():
        name = option.name
        if option.positional or name in hidden or name in offered or name in _FILLED | _DETAILS:
            continue
        words = {**_as_argument(option), **_SAID.get(name, {}), **said.get(name, {})}
        if "choices" in said.get(name, {}):
            words.pop("metavar", None)
        parser.add_argument(words.pop("flag", f"--{name.replace('_', '-')}"), dest=name, **words)
        offered.append(name)
    parser.set_defaults(offered=offered)


def given(options: argparse.Namespace, method: Callable[..., object]) -> dict[str, Any]:
    """Returns what was typed of the options of an operation; the others have their defaults."""
    names = [name for name in options_of(method) if name in options.offered]
    typed = {name: getattr(options, name) for name in names}
    return {name: value for name, value in typed.items() if value is not None}


def details_of(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the details of a memory beside its text and metadata; tags go into the metadata."""
    said = given(options, MemoryMesh.add)
    said.pop("tags", None)
    return said


def _as_argument(option: Option) -> dict[str, Any]:
    """An option in argparse's words; one that is not typed is None."""
    kinds = [kind for kind in option.classes if kind is not type(None)]
    about = option.about.replace("%", "%%")
    known = option.default
    if isinstance(known, int | float) and not isinstance(known, bool):
        about += f" (default: {known})"
    words: dict[str, Any] = {"help": about}
    if isinstance(known, bool) or kinds == [] or bool in kinds:
        return words | {"action": "store_true", "default": None}
    if datetime in kinds:
        return words | {"type": until if option.name == "until" else when, "metavar": "TIME"}
    if float in kinds:
        metavar = "0..1" if "0 to 1" in about or option.name.startswith("min_") else "N"
        return words | {"type": _number if str in kinds else float, "metavar": metavar}
    if int in kinds:
        return words | {"type": int, "metavar": "N"}
    words["metavar"] = "TEXT"
    if str in kinds:
        return words
    return words | {"action": "append", "help": f"{about}; may be repeated"}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def when(text: str) -> str:
    """A time as people type it, in ISO 8601: `last week`, `7d` (ago), `2026-11`; else unchanged."""
    return _period(text)[0]


def until(text: str) -> str:
    """The end of what `when` reads the beginning of: of yesterday, of a month, of a day."""
    return _period(text)[1]


def _period(text: str) -> tuple[str, str]:
    """From the first moment of what a text names to the one after its last."""
    now, word = datetime.now().astimezone(), text.strip().lower()
    if long_ago := _ago().fullmatch(word):
        ago = now - timedelta(seconds=int(long_ago[1]) * _SECONDS[long_ago[2]])
        return ago.isoformat(), ago.isoformat()
    date = _date().fullmatch(word)
    if date is None and word[:4].isdecimal():
        return text, text
    if date is None:
        for said in (word, f"last {word}"):  # a weekday alone is the last one
            named = times.read(said, now)
            if named is not None and named.words.lower() == said:
                return named.start.isoformat(), named.stop.isoformat()
        return text, text
    year, month, day = (int(part or 0) for part in date.groups())
    try:
        first = datetime(year, month or 1, day or 1, tzinfo=UTC)
        if day:
            stop = first + timedelta(days=1)
        elif month:
            stop = first.replace(year=year + month // 12, month=month % 12 + 1)
        else:
            stop = first.replace(year=year + 1)
    except (ValueError, OverflowError):
        return text, text
    return first.isoformat(), stop.isoformat()


def add_view(
    parser: argparse.ArgumentParser,
    method: Callable[..., object],
    said: Mapping[str, Mapping[str, Any]] = _NOTHING,
    hidden: Collection[str] = (),
) -> None:
    """Adds the options of an operation that selects memories, and for whom and of when they are."""
    add_operation(parser, method, said, hidden)
    add_period(parser, "memories")
    parser.add_argument("--all-projects", action="store_true",
        help="show the memories of every project")  # fmt: skip


def add_period(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds the options for a time to begin and to end with."""
    named = "yesterday, 7d, 'last week', 2026-11 or ISO 8601"
    parser.add_argument("--since", metavar="TIME", type=when,
        help=f"only {what} of that time or later: {named}")  # fmt: skip
    parser.add_argument("--until", metavar="TIME", type=until,
        help=f"only {what} of that time or earlier; a day or month counts whole")  # fmt: skip


def view_of(
    options: argparse.Namespace, mesh: MemoryMesh, method: Callable[..., object]
) -> dict[str, Any]:
    """Returns the arguments of an operation that selects memories."""
    said = given(options, method)
    said |= {"scope": reader_of(mesh), "across": ("project",) if options.all_projects else ()}
    for name, sign in (("since", ">="), ("until", "<")):
        bound = moment(f"--{name}", getattr(options, name))
        if bound is not None:
            said["filter"] = _bounded(said.get("filter"), sign, iso(bound))
    return said


def _bounded(condition: str | dict[str, Any] | None, sign: str, at: str) -> str | dict[str, Any]:
    """The condition, and that a memory happened, or was stored, before or after a moment."""
    if isinstance(condition, str) and condition.lstrip().startswith("{"):
        condition = _parsed(condition, "--filter")
    if isinstance(condition, dict):
        test = {"$gte" if sign == ">=" else "$lt": at}
        stored = {"occurred_at": {"$exists": False}, "created_at": test}
        return {"$and": [condition, {"$or": [{"occurred_at": test}, stored]}]}
    own = f"occurred_at IS NULL AND created_at {sign} '{at}'"
    period = f"(occurred_at {sign} '{at}' OR ({own}))"
    return period if condition is None else f"({condition}) AND {period}"


def add_also(parser: argparse.ArgumentParser) -> None:
    """Adds the options that name further views to search."""
    for name, whose in (
        ("user", "the memories of this user"),
        ("project", "the memories of this project"),
        ("namespace", "this namespace"),
    ):
        parser.add_argument(
            f"--also-{name}", metavar="ID" if name == "user" else "NAME", action="append",
            default=[], help=f"search {whose}, too; may be repeated",
        )  # fmt: skip


def also_of(options: argparse.Namespace, mesh: MemoryMesh, reader: Scope) -> list[MemoryMesh]:
    """Returns the further views to search: of users, projects and namespaces, in this order.

    Users and namespaces are read for the project that asks, as with --user and --namespace.
    """
    asking = mesh.view(scope=reader)
    for name in options.also_project:
        own = mesh.view(scope=Scope(project=name))  # which reads its former names, too
        if not own.get_all(limit=1, filter={"project": {"$exists": True}}):
            there = f"no memory has the project {output.named(name)}"
            output.tell([f"{there}; those there are: memory-mesh list --all-projects"])
    return [
        *(asking.for_user(name) for name in options.also_user),
        *(mesh.view(scope=Scope(project=name)) for name in options.also_project),
        *(asking.view(namespace=name) for name in options.also_namespace),
    ]


def elsewhere(mesh: MemoryMesh, view: Mapping[str, Any]) -> list[str]:
    """Says how many memories other projects have, where those were not looked at."""
    project = view["scope"].project
    others = {"$exists": True} if project is None else {"$ne": project}
    found = () if view["across"] else mesh.get_all(
        limit=_COUNTED, scope=view["scope"], across=("project",), filter={"project": others}
    )  # fmt: skip
    if not found:
        return []
    counts = Counter(memory.scope.project or "every project" for memory in found)
    said = [f"{count} in {output.unbroken(name)}" for name, count in counts.most_common()]
    said[0] = said[0].replace(" in ", " memory in " if said[0][:2] == "1 " else " memories in ", 1)
    only = "the memories of projects were not looked at"
    only = only if project is None else f"only the project {project} was looked at"
    return [f"{only}; {output.some(said)}: --all-projects"]
