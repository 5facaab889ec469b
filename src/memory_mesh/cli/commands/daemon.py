"""Commands for the background process and MCP: daemon and mcp."""

import argparse
import json
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.agents import request as requests
from memory_mesh.agents.daemon import client, place
from memory_mesh.agents.hosts import places
from memory_mesh.agents.mcp.aliases import SETS
from memory_mesh.base.typed import Any
from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, argument
from memory_mesh.config import load
from memory_mesh.model import Json, NotAllowed, Scope, StoreError
from memory_mesh.model.care import AccessKey
from memory_mesh.platform import store_urls
from memory_mesh.sync import MemoryMesh

# daemon

_ASK_SECONDS = 2.0

_START_SECONDS = 15.0

_STOP_SECONDS = 60.0  # that it may take to finish what it has begun


def _run_daemon(options: argparse.Namespace) -> int:
    """Shows, starts, stops or runs the daemon of the store."""
    variables = {**os.environ, **store_folder.variables(options)}
    config = load({}, variables)  # says what is wrong with the settings
    asking = requests.made("status", environment=variables)
    if options.action == "run":
        return _run(asking["store"], config.daemon_idle_seconds)
    if options.action == "stop":
        return _stop(asking, as_json=options.json)
    if options.action == "start":
        _start(asking["store"], variables)
    return _status(asking, as_json=options.json)


def _status(asking: dict[str, Any], *, as_json: bool) -> int:
    try:
        reply = client.ask(asking, seconds=_ASK_SECONDS)
    except client.NoDaemon as refusal:
        plain: dict[str, Json] = {"running": False, "store": asking["store"], "why": refusal.reason}
        line = f"[MemoryMesh] No daemon answers for {output.named(asking['store'])}: {refusal}."
        return output.answer(
            plain, line, as_json=as_json, remark=_next_step(refusal, asking["store"])
        )
    known = reply["answer"]
    since = datetime.fromtimestamp(known["since"], UTC).isoformat(timespec="seconds")
    plain = {
        "running": True,
        "store": known["store"],
        "pid": reply["pid"],
        "version": reply["version"],
        "since": since.replace("+00:00", "Z"),
        "requests": known["requests"],
        "memory_mb": known["memory_mb"],
        "socket": known["socket"],
    }
    line = (
        f"[MemoryMesh] The daemon of {output.named(known['store'])} runs: process {reply['pid']}, "
        f"version {reply['version']}, {known['requests']} requests since {plain['since']}, "
        f"{known['memory_mb']} MB."
    )
    return output.answer(plain, line, as_json=as_json)


def _next_step(refusal: client.NoDaemon, store: str) -> str:
    if refusal.reason == "switched off":
        return "to allow it, unset MEMORY_MESH_DAEMON and take `daemon` out of the settings file"
    if refusal.reason == "timeout":
        return f"it hangs or was stopped; nothing is lost if you end it: kill -9 {_holder(store)}"
    return "hooks and MCP start one when they need it; to start it now: memory-mesh daemon start"


def _holder(store: str) -> str:
    known = place.recorded(store)
    return "PROCESS" if known is None else str(known[0])


def _start(store: str, variables: dict[str, str]) -> None:
    try:
        client.ensure(store, variables, seconds=_START_SECONDS)
    except client.NoDaemon as refusal:
        if refusal.reason == "switched off":
            raise NotAllowed(f"{refusal}; {_next_step(refusal, store)}") from None
        raise StoreError(
            f"the daemon did not start ({refusal}); to see why, run: memory-mesh daemon run"
        ) from None


def _stop(asking: dict[str, Any], *, as_json: bool) -> int:
    asking["environment"].pop("MEMORY_MESH_DAEMON", None)  # one that is not wanted can be stopped
    try:
        reply = client.ask(asking | {"do": "stop"}, seconds=_ASK_SECONDS)
    except client.NoDaemon as refusal:
        if refusal.reason in {"timeout", "wrong user"}:
            raise StoreError(f"{refusal}; {_next_step(refusal, asking['store'])}") from None
        done = f"[MemoryMesh] No daemon runs for {output.named(asking['store'])}."
        return output.answer({"stopped": False}, done, as_json=as_json)
    end = time.monotonic() + _STOP_SECONDS
    while _lives(reply["pid"]):
        if time.monotonic() > end:
            raise StoreError(f"process {reply['pid']} still works on requests; wait, or kill it")
        time.sleep(0.02)
    done = f"[MemoryMesh] Stopped the daemon, process {reply['pid']}."
    return output.answer({"stopped": True, "pid": reply["pid"]}, done, as_json=as_json)


def _run(store: str, idle: float) -> int:
    from memory_mesh.agents.daemon.running import serve

    output.note(f"[MemoryMesh] Serving {output.named(store)}; stop with Ctrl-C.")
    if not serve(store, idle):
        raise StoreError(
            f"another daemon serves {store} already; see it: memory-mesh daemon status"
        )
    return 0


def _lives(pid: int) -> bool:
    """Whether a process still runs; one that ended and that nobody has asked about does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return False
    except OSError:
        return not Path("/proc/self/stat").exists()  # no such list: the signal has told
    return state.rpartition(")")[2].split()[:1] != ["Z"]


DAEMON = Command(
    "memory-mesh server daemon status",
    (
        argument(
            "action",
            nargs="?",
            choices=("status", "start", "stop", "run"),
            default="status",
            help="show whether a daemon runs, start one, stop it, or run it in the foreground",
        ),
    ),
    _run_daemon,
)


# mcp

ADDRESS, PORT = "127.0.0.1", 7437

_OF_HTTP = ("host", "port", "allow_host", "no_token")

_CLIENT = "mcp-http"  # the agent, unless --agent names one

_SETTINGS = {
    "namespace": "MEMORY_MESH_NAMESPACE",
    "project": "MEMORY_MESH_PROJECT",
    "agent": "MEMORY_MESH_AGENT",
}


def _run_mcp(options: argparse.Namespace) -> int:
    """Says how a host reaches the memory, or serves it over HTTP."""
    variables = {**os.environ, **_stated(options)}
    load({}, variables)  # says what is wrong with the settings
    if options.http:
        return _serve(options)
    for name in _OF_HTTP:
        given = getattr(options, name)
        if given is not None and given is not False:
            raise UsageError(f"--{name.replace('_', '-')} needs --http")
    entry: dict[str, Json] = {"command": str(places.find_commands({}).mcp)}
    if options.compat:
        entry["args"] = ["--compat", options.compat]
    if stated := _stated(options) | store_folder.for_agents(options):
        entry["env"] = {  # the address has no password; USER@HOST looks like one of mail
            name: value if name == "MEMORY_MESH_STORE" else output.named(value)
            for name, value in stated.items()
        }
    _say_entry(entry)
    output.hint("Put this into the settings of your agent; for Claude Code run: memory-mesh init")
    if said := store_folder.key_line(stated):
        output.note(f"[MemoryMesh] {said}.")
    return 0


def _serve(options: argparse.Namespace) -> int:
    """Serves MCP and nothing else, for one person: the service with one key."""
    from memory_mesh.cli.commands.serve import check_port, server  # of an extra

    mcp = server("mcp", "MCP over HTTP")
    host = ADDRESS if options.host is None else options.host
    port = PORT if options.port is None else options.port
    check_port(port)
    local = mcp.is_loopback(host)
    if options.no_token and not local:
        raise NotAllowed(
            f"--no-token is for the loopback interface; at {host} anybody who reaches "
            "the port could read and write the memories. Leave it out"
        )
    with (
        suppress(KeyboardInterrupt),  # the way to end it at a terminal
        cli_options.mesh_of(options, meaning=True) as whole,
        mcp.bound(host, port) as listener,
    ):
        store_urls.refuse_service(whole.config.store)
        url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        mesh = whole.view(scope=Scope(project=cli_options.reader_of(whole).project))
        name = mesh.config.agent_id if "agent_id" in mesh.config.origins else _CLIENT
        grants = {mesh.config.namespace: "editor"}
        key = AccessKey("", name, grants, "agent", datetime.now(UTC))
        if not options.no_token:
            key = _key_of_clients(mesh, key)
        _say_started(f"{url}/mcp", key, local=local)
        names = tuple(options.allow_host or ())
        only = mcp.OnlyMcp(key if options.no_token else None, names, options.compat)
        mcp.serve(mesh, listener, url, mcp.KeyLimits(), only=only)
    return 0


def _key_of_clients(mesh: MemoryMesh, wanted: AccessKey) -> AccessKey:
    """The key that clients here have; one that is made now has its text."""
    for key in mesh.care.access_keys.get_all():
        if (key.name, key.grants, key.ends) == (wanted.name, wanted.grants, None):
            return key
    return mesh.care.access_keys.add(wanted.name, grants=wanted.grants)


def _say_started(url: str, key: AccessKey, *, local: bool) -> None:
    """Prints the entry for a host; a token is shown when it is made, and never again."""
    entry: dict[str, Json] = {"type": "http", "url": url}
    if key.id:
        entry["headers"] = {"Authorization": f"Bearer {key.text or 'TOKEN'}"}
        said = "This token is shown once" if key.text else "The token is the one that was shown"
        output.note(f"[MemoryMesh] {said}; for a new one: memory-mesh server keys rotate {key.id}")
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
    found |= store_folder.variables(options)
    store_folder.refuse_user(options)
    return found


MCP = Command(
    "memory-mesh server mcp --http --port 7437",
    (
        argument(
            "--http", action="store_true", help="serve over HTTP, for clients that start no process"
        ),
        argument("--host", metavar="ADDRESS", help=f"listen here (default: {ADDRESS})"),
        argument("--port", metavar="N", type=int, help=f"default: {PORT}; 0: any free one"),
        argument(
            "--allow-host",
            metavar="NAME",
            action="append",
            help="a name that clients may call this server by; may be repeated",
        ),
        argument(
            "--no-token", action="store_true", help="ask clients for no token (loopback only)"
        ),
        argument("--compat", choices=SETS, help="offer the tools of another memory server instead"),
    ),
    _run_mcp,
)
