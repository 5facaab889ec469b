"""`memory-mesh mcp`."""

import argparse
import json
import os
from contextlib import suppress
from pathlib import Path

from memory_mesh.agents.claude_code import places
from memory_mesh.agents.daemon import place
from memory_mesh.agents.mcp.aliases import SETS
from memory_mesh.agents.mcp.token import kept_token, token_path
from memory_mesh.cli import output, stated_store
from memory_mesh.cli.parsing import UsageError
from memory_mesh.config import load
from memory_mesh.errors import MissingExtra, NotAllowed
from memory_mesh.model import Json

EXAMPLE = "memory-mesh mcp --http --port 7437"
ADDRESS, PORT = "127.0.0.1", 7437
_OF_HTTP = ("host", "port", "allow_host", "no_token")
_MOST_PORTS = 65_535
_SETTINGS = {
    "namespace": "MEMORY_MESH_NAMESPACE",
    "project": "MEMORY_MESH_PROJECT",
    "agent": "MEMORY_MESH_AGENT",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add = parser.add_argument
    add("--http", action="store_true", help="serve over HTTP, for clients that start no process")
    add("--host", metavar="ADDRESS", help=f"listen here (default: {ADDRESS})")
    add("--port", metavar="N", type=int, help=f"default: {PORT}; 0: any free one")
    add("--allow-host", metavar="NAME", action="append",
        help="a name that clients may call this server by; may be repeated")  # fmt: skip
    add("--no-token", action="store_true", help="ask clients for no token (loopback only)")
    add("--compat", choices=SETS, help="offer the tools of another memory server instead")


def run(options: argparse.Namespace) -> int:
    """Says how a host reaches the memory, or serves it over HTTP."""
    variables = {**os.environ, **_stated(options)}
    load({}, variables)  # says what is wrong with the settings
    if options.http:
        return _serve(options, variables)
    for name in _OF_HTTP:
        given = getattr(options, name)
        if given is not None and given is not False:
            raise UsageError(f"--{name.replace('_', '-')} needs --http")
    entry: dict[str, Json] = {"command": str(places.find_commands({}).mcp)}
    if options.compat:
        entry["args"] = ["--compat", options.compat]
    if stated := _stated(options) | stated_store.for_agents(options):
        entry["env"] = {  # the address has no password; USER@HOST looks like one of mail
            name: value if name == "MEMORY_MESH_STORE" else output.named(value)
            for name, value in stated.items()
        }
    _say_entry(entry)
    output.hint("Put this into the settings of your agent; for Claude Code run: memory-mesh init")
    if said := stated_store.key_line(stated):
        output.note(f"[MemoryMesh] {said}.")
    return 0


def _serve(options: argparse.Namespace, variables: dict[str, str]) -> int:
    try:
        from memory_mesh.agents.mcp import server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "memory_mesh":
            raise
        raise MissingExtra.of("mcp", "MCP over HTTP") from None
    from memory_mesh.agents.mcp.asking import Asking

    host = ADDRESS if options.host is None else options.host
    port = PORT if options.port is None else options.port
    if not 0 <= port <= _MOST_PORTS:
        raise UsageError(f"--port is a number from 0 to {_MOST_PORTS}")
    local = server.is_loopback(host)
    if options.no_token and not local:
        raise NotAllowed(
            f"--no-token is for the loopback interface; at {host} anybody who reaches "
            "the port could read and write the memories. Leave it out"
        )
    store = Path(place.folder_of(variables, str(Path.cwd())))
    token, is_new = (None, False) if options.no_token else kept_token(store)
    asking = Asking("mcp-http", environment=variables, has_host_process=False)
    with (
        suppress(KeyboardInterrupt),  # the way to end it at a terminal
        server.bound(host, port) as listener,
    ):
        port = listener.getsockname()[1]
        listening = server.Listening(host, port, token, tuple(options.allow_host or ()))
        _say_started(listening.url, store, token, is_new=is_new, local=local)
        server.serve(asking, listening, listener, options.compat)
    return 0


def _say_started(url: str, store: Path, token: str | None, *, is_new: bool, local: bool) -> None:
    """Prints the entry for a host; a token is shown when it is made, and never again."""
    entry: dict[str, Json] = {"type": "http", "url": url}
    if token is not None:
        shown = token if is_new else "TOKEN"
        entry["headers"] = {"Authorization": f"Bearer {shown}"}
        path = output.named(token_path(store))
        said = "This token is shown once; it" if is_new else "The token"
        output.note(f"[MemoryMesh] {said} is kept in {path}; delete the file to get a new one.")
    if not local:
        output.note(
            "[MemoryMesh] Others can reach this port, and HTTP does not hide the token: put a "
            "server with TLS before it, and name it with --allow-host."
        )
    _say_entry(entry)
    output.note(f"[MemoryMesh] Serving MCP at {url}; stop with Ctrl-C.")


def _say_entry(entry: dict[str, Json]) -> None:
    print(json.dumps({"mcpServers": {"memory-mesh": entry}}, indent=2), flush=True)


def _stated(options: argparse.Namespace) -> dict[str, str]:
    """The settings of the command line, as variables."""
    stated = {name: getattr(options, option) for option, name in _SETTINGS.items()}
    found = {name: value for name, value in stated.items() if value is not None}
    found |= stated_store.variables(options)
    stated_store.refuse_user(options)
    return found
