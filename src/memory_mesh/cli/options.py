"""Options shared by several commands: details of a memory, `--id`, the store, reads."""

import argparse
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

from memory_mesh.base.typed import Any, TypedDict
from memory_mesh.cli.parsing import UsageError
from memory_mesh.mesh.operation import Option, options_of
from memory_mesh.model import Channel, Json, Memory, Scope, Status
from memory_mesh.model.errors import InvalidInput, NotAllowed, NotFound
from memory_mesh.platform.agent_shell import agent_variables
from memory_mesh.rules.users import user_namespace
from memory_mesh.sync import MemoryMesh

_TIMES = ("occurred_at", "valid_from", "valid_until")


def add_details(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the details of a memory."""
    add = parser.add_argument
    add("--type", metavar="WORD", help="type of the memory: event, lesson, preference, ...")
    add("--rationale", metavar="TEXT", help="why it is worth keeping")
    add("--hypothesis", metavar="TEXT", help="what it is expected to help with")
    add("--metadata", metavar="JSON", help="more fields, as a JSON object")
    add(
        "--meta",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one more field; may be repeated",
    )
    add("--tag", metavar="TAG", action="append", default=[], help="a tag; may be repeated")
    add(
        "--trigger",
        metavar="PATTERN",
        action="append",
        default=[],
        help="a pattern of tasks that call it up; may be repeated",
    )
    add("--importance", metavar="WEIGHT", help="0 to 1, or low, medium, high, critical")
    add("--source", metavar="NAME", help="the system or agent it comes from")
    add("--speaker", metavar="NAME", help="who said it")
    add("--role", metavar="ROLE", help="role of the speaker: user, assistant, ...")
    add("--order", metavar="N", type=int, help="its position in the session")
    add("--occurred-at", metavar="TIME", help="when it happened, ISO 8601")
    add("--valid-from", metavar="TIME", help="start of the time in which it is true")
    add("--valid-until", metavar="TIME", help="end of the time in which it is true")


def add_text(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds a text, which can be given with or without `--content`."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help=f"{what}; - reads standard input")
    parser.add_argument("--content", metavar="TEXT", help="the same, as an option")


def content_of(options: argparse.Namespace) -> str | None:
    """Returns the given text, or standard input for `-`; None if there is none."""
    if options.text and options.content is not None:
        raise UsageError("give the text once: as TEXT or with --content")
    content: str | None = " ".join(options.text) if options.text else options.content
    if content != "-":
        return content
    return standard_input()


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


def metadata_of(options: argparse.Namespace) -> dict[str, Json] | None:
    """Builds RFC-0011's metadata object from the options; None if none was given."""
    given = _parsed(options.metadata)
    for pair in options.meta:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise UsageError(f"--meta takes key=value, not {pair!r}")
        given[key] = value
    for name in ("type", "rationale", "hypothesis", "source"):
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    if options.tag:
        known = given.get("tags", [])
        given["tags"] = [*(known if isinstance(known, list) else [known]), *options.tag]
    return given or None


def details_of(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the details beside text and metadata, named as `add` and `update` expect."""
    details: dict[str, Any] = {}
    if options.importance is not None:
        details["importance"] = _number_or_word(options.importance)
    if options.trigger:
        details["triggers"] = options.trigger
    for name in ("speaker", "role", "order", *_TIMES):
        value = getattr(options, name)
        if value is not None:
            details[name] = value
    return details


def _parsed(metadata: str | None) -> dict[str, Json]:
    if metadata is None:
        return {}
    from memory_mesh.formats import json_text

    try:
        value = json_text.read(metadata)
    except json_text.JsonFault as error:
        raise InvalidInput(
            f'--metadata is not valid JSON: {error}. Write it as \'{{"team": "core"}}\', or give '
            "one field: --meta team=core"
        ) from None
    if not isinstance(value, dict):
        raise InvalidInput("--metadata takes a JSON object such as '{\"ticket\": 7}'")
    return value


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def add_as_owner(parser: argparse.ArgumentParser) -> None:
    """Adds the option to list as the owner of the store."""
    parser.add_argument(
        "--as-owner",
        action="store_true",
        help="list those of every project, agent and session of the namespace, not only of this "
        "project; to decide on one of another project, add --project NAME",
    )


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


def truth_of(memory: Memory, trust: float) -> dict[str, Json]:
    """Returns what votes on a memory's truth have led to, as JSON values."""
    return {
        "id": memory.id,
        "status": memory.status.value,
        "reinforcements": memory.reinforcements,
        "disputes": memory.disputes,
        "importance": memory.importance,
        "trust": trust,
    }


@contextmanager
def looked_up(memory_id: str, reader: Scope, mesh: MemoryMesh) -> Iterator[None]:
    """Replaces NotFound by an error that names the id and what to do next."""
    try:
        yield
    except NotFound:
        raise missing(memory_id, reader, mesh) from None


def missing(memory_id: str, reader: Scope, mesh: MemoryMesh) -> NotFound:
    """Returns the error for a memory that was not found, with what to do next."""
    from memory_mesh.cli import missing_id

    return missing_id.missing(memory_id, reader, mesh)


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
    found = None if folder is None else mesh.project_at(folder)
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
    hidden: Collection[str],
    said: Mapping[str, dict[str, Any]],
) -> None:
    """Adds the options of an operation: all but the hidden ones, under their own names.

    `said` holds what this command says otherwise of an option, as argparse takes it.
    """
    for option in options_of(method).values():
        if not (option.positional or option.name in hidden):
            given = _as_argument(option) | said.get(option.name, {})
            parser.add_argument(f"--{option.name.replace('_', '-')}", **given)


def operation_of(
    options: argparse.Namespace, method: Callable[..., object], hidden: Collection[str]
) -> dict[str, Any]:
    """Returns what was given of the options that `add_operation` added."""
    names = [each.name for each in options_of(method).values() if not each.positional]
    return {name: getattr(options, name) for name in names if name not in hidden}


def _as_argument(option: Option) -> dict[str, Any]:
    """An option in argparse's words: a number, a switch, words that may be repeated, or a text."""
    kinds = [kind for kind in option.classes if kind is not type(None)]
    default = option.default if option.default != () else []
    given: dict[str, Any] = {"help": option.about, "default": default}
    if isinstance(option.default, bool):
        return given | {"action": argparse.BooleanOptionalAction}
    if kinds in ([int], [float]):
        return given | {"type": kinds[0], "metavar": "N"}
    if default == []:
        return given | {"action": "append", "metavar": "WORD"}
    return given | {"metavar": "TEXT"}


class SelectionOptions(TypedDict):
    """The arguments of `search` and `get_all` that select memories."""

    limit: int
    filter: str | None
    scope: Scope
    across: tuple[str, ...]
    include: list[str]
    as_of: str | None
    valid_at: str | None


def add_view(parser: argparse.ArgumentParser, limit: int) -> None:
    """Adds the options that select memories."""
    add = parser.add_argument
    add(
        "--limit",
        metavar="N",
        type=int,
        default=limit,
        help=f"maximum number of memories (default: {limit})",
    )
    add(
        "--filter",
        metavar="EXPR",
        help='for example: team = \'core\' AND priority >= 3; or JSON: {"team": "core"}',
    )
    add("--as-of", metavar="TIME", help="read the store as it was at that time, ISO 8601")
    add("--valid-at", metavar="TIME", help="only memories that were true at that time")
    hidden = [status.value for status in Status if status is not Status.ACTIVE]
    add("--include", metavar="STATUS", action="append", default=[], choices=hidden,
        help=f"also show memories that are {', '.join(hidden)}")  # fmt: skip
    add("--all-projects", action="store_true", help="show the memories of every project")


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


def also_of(options: argparse.Namespace, mesh: MemoryMesh) -> list[MemoryMesh]:
    """Returns the further views to search: of users, projects and namespaces, in this order.

    Users and namespaces are read for the project that asks, as with --user and --namespace.
    """
    asking = mesh.view(scope=reader_of(mesh))
    return [
        *(asking.for_user(name) for name in options.also_user),
        *(mesh.view(scope=Scope(project=name)) for name in options.also_project),
        *(asking.view(namespace=name) for name in options.also_namespace),
    ]


def view_of(options: argparse.Namespace, mesh: MemoryMesh) -> SelectionOptions:
    """Returns the arguments of `search` and `get_all` from the options."""
    return {
        "limit": options.limit,
        "filter": options.filter,
        "scope": reader_of(mesh),
        "across": ("project",) if options.all_projects else (),
        "include": options.include,
        "as_of": options.as_of,
        "valid_at": options.valid_at,
    }
