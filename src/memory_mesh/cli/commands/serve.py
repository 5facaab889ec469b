"""Commands for the service over HTTP: serve, and its keys."""

import argparse
from contextlib import suppress
from datetime import UTC, datetime
from types import ModuleType

from memory_mesh.base.typed import Any
from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, about, argument
from memory_mesh.model import Json, MissingExtra
from memory_mesh.model.care import AccessKey
from memory_mesh.platform.store_urls import refuse_service

HOST, PORT = "127.0.0.1", 7438
_MOST_PORTS = 65_535
_FIRST = "first"


def _run_serve(options: argparse.Namespace) -> int:
    """Serves the store over HTTP until the process is asked to end."""
    check_port(options.port)
    cli_options.refuse_agent("serve", "it opens the store to others, and prints their first key")
    store_folder.refuse_one(options, "each request says whose memories it is about")
    refuse_service(store_folder.config_of(options).store)
    mcp = server("server", "the service")
    with (
        suppress(KeyboardInterrupt),  # the way to end it at a terminal
        cli_options.mesh_of(options, meaning=True) as mesh,
        mcp.bound(options.host, options.port) as listener,
    ):
        port = listener.getsockname()[1]
        url = (options.url or f"http://{options.host}:{port}").rstrip("/")
        if not mesh.care.access_keys.get_all():
            _say_first(
                mesh.care.access_keys.add(_FIRST, grants={"*": "admin"}, speaks_as="user"), url
            )
        if not mcp.is_loopback(options.host):
            output.note(
                "[MemoryMesh] Others can reach this port, and HTTP does not hide keys: put a "
                "server with TLS before it."
            )
        where = store_folder.shown(mesh.config)
        output.note(f"[MemoryMesh] Serving {output.named(where)} at {url}; stop with Ctrl-C.")
        output.note(f"[MemoryMesh] What it offers: {url}/openapi.json; MCP: {url}/mcp")
        limits = mcp.KeyLimits(rate=options.rate, burst=2 * options.rate)
        mcp.serve(mesh, listener, url, limits, issuer=_issuer(options, mcp.Issuer, url))
    return 0


def _issuer(options: argparse.Namespace, made: Any, url: str) -> Any:  # noqa: ANN401  # of an extra
    """Who signs people in; None if only keys open the service."""
    if options.oidc_issuer is None:
        if options.oidc_audience or options.oidc_grant or options.oidc_userinfo:
            raise UsageError("say who signs people in: --oidc-issuer URL")
        return None
    grants: dict[str, dict[str, str]] = {}
    for each in options.oidc_grant or ():
        group, mark, place = each.partition(":")
        if not mark:
            raise UsageError(
                f"--oidc-grant is GROUP:PLACE=ROLE, such as eng:team=editor, not {each!r}"
            )
        grants.setdefault(group, {}).update((_grant(place),))
    return made(
        options.oidc_issuer,
        url,
        audience=options.oidc_audience,
        user=options.oidc_user,
        grants=grants,
        asks=options.oidc_userinfo,
    )


def server(extra: str, what: str) -> ModuleType:
    """The server, which needs packages of an extra."""
    try:
        from memory_mesh.server import mcp
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "memory_mesh":
            raise
        raise MissingExtra.of(extra, what) from None
    return mcp


def check_port(port: int) -> None:
    """Raises UsageError for a number that no port has."""
    if not 0 <= port <= _MOST_PORTS:
        raise UsageError(f"--port is a number from 0 to {_MOST_PORTS}")


def _say_first(key: AccessKey, url: str) -> None:
    """Prints the key of whoever runs the service, this once, and what to do with it."""
    print(key.text, flush=True)
    output.note(
        "[MemoryMesh] That is your key: it may do everything, and it is shown this once. Try it:\n"
        f"  export MEMORY_MESH_STORE={url} MEMORY_MESH_ACCESS_KEY={key.text}\n"
        '  memory-mesh store "The office is in Oslo"\n'
        "Give everybody else a key of their own, with --as-user if a person speaks through it:\n"
        "  memory-mesh server keys add NAME --grant user:NAME=owner"
    )


SERVE = Command(
    f"memory-mesh serve --port {PORT}",
    (
        about(
            "Every operation is a route, each with a key; memory-mesh --store URL and\n"
            "MemoryMesh(URL, key=…) use it like a folder."
        ),
        argument("--host", metavar="ADDRESS", default=HOST, help=f"listen here (default: {HOST})"),
        argument(
            "--port", metavar="N", type=int, default=PORT, help=f"default: {PORT}; 0: any free one"
        ),
        argument(
            "--rate",
            metavar="N",
            type=float,
            default=100.0,
            help="requests that one key may make a second (default: 100)",
        ),
        argument("--url", metavar="URL", help="where clients reach it, if through a proxy"),
        argument(
            "--oidc-issuer",
            metavar="URL",
            help="people sign in there: a token of this OpenID provider opens what a key would",
        ),
        argument(
            "--oidc-audience",
            metavar="NAME",
            help="whom a token must be for (default: --url, and that with /mcp)",
        ),
        argument(
            "--oidc-user",
            metavar="CLAIM",
            default="sub",
            help="the claim that says whose memories are theirs (default: sub)",
        ),
        argument(
            "--oidc-grant",
            metavar="GROUP:PLACE=ROLE",
            action="append",
            help="what a group may do where, * is everybody who signs in; repeat it",
        ),
        argument(
            "--oidc-userinfo",
            action="store_true",
            help="ask the issuer about tokens that are no JWT; it does not say whom they are for",
        ),
    ),
    _run_serve,
)


def _run_access_keys(options: argparse.Namespace) -> int:
    """Makes, lists, ends or replaces keys of the service."""
    cli_options.refuse_agent(f"server keys {options.action}", "keys say who reads the store")
    needed = {"add": "a NAME", "revoke": "the ID of a key", "rotate": "the ID of a key"}
    if options.action in needed and options.which is None:
        raise UsageError(f"{options.action} needs {needed[options.action]}")
    if options.action != "add" and (options.grant or options.as_user or options.days):
        raise UsageError("--grant, --as-user and --days are for add")
    with cli_options.mesh_of(options) as mesh:
        keys = mesh.care.access_keys
        if options.action == "list":
            return _list(keys.get_all(), as_json=options.json)
        if options.action == "revoke":
            ended = keys.revoke(options.which)
            if not any(_governs(key) for key in keys.get_all()):
                output.note(
                    "[MemoryMesh] That was the last key that may make keys. Make one where the "
                    "store is, without URL: memory-mesh server keys add me --grant '*=admin' "
                    "--as-user"
                )
            return output.answer(
                _plain(ended), f"[MemoryMesh] The key {ended.id} is over.", as_json=options.json
            )
        if options.action == "rotate":
            return _made(keys.rotate(options.which), as_json=options.json)
        whose = "user" if options.as_user else "agent"
        grants = dict(map(_grant, options.grant or ()))
        made = keys.add(options.which, grants=grants, speaks_as=whose, days=options.days)
        return _made(made, as_json=options.json)


def _governs(key: AccessKey) -> bool:
    """Whether a key that is not over makes and ends keys."""
    may = "admin" in key.grants.get("*", "").split("+") and key.speaks_as == "user"
    return may and not key.is_over(datetime.now(UTC))


def _grant(text: str) -> tuple[str, str]:
    place, mark, role = text.rpartition("=")
    if not mark or not place:
        raise UsageError(f"--grant is PLACE=ROLE, such as user:ann=owner, not {text!r}")
    return place, role


def _made(key: AccessKey, *, as_json: bool) -> int:
    remark = "shown this once; only its digest is kept"
    line = f"[MemoryMesh] {key.text}\n  the key {key.id} of {key.name}: {_grants(key)}"
    return output.answer(_plain(key) | {"text": key.text}, line, as_json=as_json, remark=remark)


def _list(keys: list[AccessKey], *, as_json: bool) -> int:
    if as_json:
        output.say_json({"keys": [_plain(key) for key in keys]})
        return 0
    now = datetime.now(UTC)
    for key in keys:
        over = f", over since {key.ends:%Y-%m-%d}" if key.is_over(now) else ""
        until = f", until {key.ends:%Y-%m-%d %H:%M}" if key.ends and not over else ""
        used = f"{key.last_used:%Y-%m-%d %H:00}" if key.last_used else "never"
        said = f"{_grants(key)}, speaks as {key.speaks_as}, used {used}{over}{until}"
        output.say(f"{key.id}  {key.name}: {said}")
    if not keys:
        output.say(
            "There is no key yet. Make one: memory-mesh server keys add NAME --grant PLACE=ROLE"
        )
    return 0


def _grants(key: AccessKey) -> str:
    return ", ".join(f"{place}={role}" for place, role in key.grants.items())


def _plain(key: AccessKey) -> dict[str, Json]:
    times = {name: getattr(key, name) for name in ("created", "expires", "revoked", "last_used")}
    return {
        "id": key.id,
        "name": key.name,
        "grants": dict(key.grants),
        "speaks_as": key.speaks_as,
        **{name: at and at.isoformat() for name, at in times.items()},
    }


ACCESS_KEYS = Command(
    "memory-mesh server keys add ann --grant user:ann=owner",
    (
        about(
            "A place is a namespace, user:NAME, user:* or *; a role is reader, editor, reviewer,\n"
            "owner or admin, or scopes such as read+write."
        ),
        argument("action", nargs="?", choices=("list", "add", "revoke", "rotate"), default="list"),
        argument(
            "which", nargs="?", metavar="NAME|ID", help="what a new key is called, or which one"
        ),
        argument(
            "--grant", metavar="PLACE=ROLE", action="append", help="what it may do where; repeat it"
        ),
        argument(
            "--as-user",
            action="store_true",
            help="what it writes is the user's own word, not an agent's",
        ),
        argument("--days", metavar="N", type=int, help="it ends after so many days"),
    ),
    _run_access_keys,
)
