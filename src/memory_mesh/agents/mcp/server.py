"""The MCP server over streamable HTTP, by the official package: the tools that stdio offers.

::

    HTTP ──▶ bearer token ──▶ Host and Origin ──▶ size ──▶ official `mcp` ──▶ asking.py ──▶ daemon

It is for clients that cannot start a process. It listens on the loopback interface unless told
otherwise; a page in a browser that points a name of its own at it is refused by Host and Origin.
What a client stores is the word of an agent: no host's process stands above this one.
"""

import hmac
import ipaddress
import os
import secrets
import socket
import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import mcp_types as types
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from pydantic import AnyHttpUrl, BaseModel
from starlette.applications import Starlette

from memory_mesh._version import __version__
from memory_mesh.agents.mcp import protocol
from memory_mesh.agents.mcp.backend import HostRequests
from memory_mesh.agents.mcp.front import offer
from memory_mesh.base.typed import Any, TypeVar, dataclass
from memory_mesh.model.errors import NetworkError, NotAllowed
from memory_mesh.platform import system

_NAME = "mcp-token"
_BYTES = 32
_OTHERS = 0o077
_SHORTEST = 20  # characters of a token that somebody wrote into the file

PATH = "/mcp"
MAX_BYTES = 4_000_000  # of a request
_CALLS = 8  # at a time; others wait
_CONNECTIONS = 200
_SESSIONS = 100
_IDLE_SECONDS = 1_800.0
_ENDING_SECONDS = 5
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
Result = TypeVar("Result", bound=BaseModel)
Context = ServerRequestContext[Any]


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the server listens, the names that a client may call it by, and its token."""

    host: str
    port: int
    token: str | None
    names: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The address for a client on this machine."""
        return f"http://{_written(self.host)}:{self.port}{PATH}"

    def security(self) -> TransportSecuritySettings:
        """Which Host and Origin a request may have: ours, and those that the user named."""
        own = [f"{name}:{self.port}" for name in (*_LOOPBACK, _written(self.host))]
        stated = [name for each in self.names for name in (each, f"{each}:*")]
        origins = [f"{scheme}://{name}" for name in stated for scheme in ("http", "https")]
        return TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[*own, *stated],
            allowed_origins=[*(f"http://{name}" for name in own), *origins],
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; NetworkError says why there is none."""
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio: TCP_NODELAY
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen()
        except OSError:
            made.close()
            raise
    except OSError as error:
        raise NetworkError(
            f"cannot listen on {host} port {port} ({error.strerror}); choose another with --port, "
            "or --port 0 for any that is free"
        ) from None
    return made


def serve(
    asking: HostRequests, listening: Listening, listener: socket.socket, compat: str | None = None
) -> None:
    """Serves until the process is asked to end."""
    config = uvicorn.Config(
        application(asking, listening, compat),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_ENDING_SECONDS,
        ws="none",
    )
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        asking.close()


def application(asking: HostRequests, listening: Listening, compat: str | None = None) -> Starlette:
    """The server as an ASGI application."""
    auth: dict[str, Any] = {}
    if listening.token is not None:
        issuer = AnyHttpUrl(listening.url)  # no OAuth: nothing of it is announced
        auth["auth"] = AuthSettings(issuer_url=issuer, resource_server_url=None)
        auth["token_verifier"] = OneToken(listening.token)
    return offering(Back(asking, compat), offer(compat)).streamable_http_app(
        streamable_http_path=PATH,
        host=listening.host,
        transport_security=listening.security(),
        max_request_body_size=MAX_BYTES,
        max_sessions=_SESSIONS,
        session_idle_timeout=_IDLE_SECONDS,
        **auth,
    )


class OneToken:
    """Knows the one token that opens the store."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """The client, if it has the token; compared in constant time."""
        if not hmac.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id="token", scopes=[])


class Back:
    """Answers requests in threads: the store and the daemon's socket block."""

    def __init__(self, asking: HostRequests, compat: str | None) -> None:
        self._asking, self._compat = asking, compat
        self._limiter: anyio.CapacityLimiter | None = None

    async def ask(self, _context: Context, do: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a request."""
        if self._limiter is None:  # belongs to the loop that runs
            self._limiter = anyio.CapacityLimiter(_CALLS)
        if self._compat is not None:
            given = {**given, "compat": self._compat}
        work = partial(self._asking.ask, do, given)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Calls a tool; an error is a result that the model can read."""
        given = {"name": params.name, "arguments": params.arguments or {}}
        reply = await self.ask(context, "tool", given)
        error = reply.get("error")
        answer = reply["answer"] if error is None else protocol.failed_call(**_said(error))
        return types.CallToolResult.model_validate(answer)

    async def read(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Reads a resource."""
        answer = await self._answer(context, "resource", {"uri": str(params.uri)})
        return types.ReadResourceResult.model_validate(answer)

    async def prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Returns the messages of a prompt."""
        given = {"name": params.name, "arguments": params.arguments or {}}
        return types.GetPromptResult.model_validate(await self._answer(context, "prompt", given))

    async def _answer(self, context: Context, do: str, given: Mapping[str, Any]) -> dict[str, Any]:
        reply = await self.ask(context, do, given)
        if reply.get("ok") is True:
            answer: dict[str, Any] = reply["answer"]
            return answer
        said = _said(reply["error"])
        refused = protocol.failure(said["kind"], said["text"], protocol.STATELESS[-1])
        raise MCPError(refused.code, str(refused))


def offering(back: Back, offered: Mapping[str, Any]) -> Server[Any]:
    """The server of the official package that offers our tools and asks `back` for answers."""
    return Server(
        offered["name"],
        version=__version__,
        title=offered["title"],
        instructions=offered["instructions"],
        on_list_tools=_listing(types.ListToolsResult, "tools", offered),
        on_list_resources=_listing(types.ListResourcesResult, "resources", offered),
        on_list_resource_templates=_listing(
            types.ListResourceTemplatesResult, "resourceTemplates", offered
        ),
        on_list_prompts=_listing(types.ListPromptsResult, "prompts", offered),
        on_call_tool=back.call,
        on_read_resource=back.read,
        on_get_prompt=back.prompt,
    )


def _listing(
    kind: type[Result], name: str, offered: Mapping[str, Any]
) -> Callable[[Context, types.PaginatedRequestParams | None], Awaitable[Result]]:
    """Answers a list, which is the same at any time."""
    found: Sequence[Any] = offered[name]
    result = kind.model_validate({name: found})

    async def listed(_context: Context, _params: types.PaginatedRequestParams | None) -> Result:
        return result

    return listed


def _said(error: Mapping[str, Any]) -> dict[str, str]:
    return {"kind": str(error["kind"]), "text": str(error["text"])}


def _written(host: str) -> str:
    """An address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


# The bearer token of the server over HTTP: made once, kept in a file for its owner only.


def token_path(store: Path) -> Path:
    """Where the token of a store is."""
    return store / "agents" / _NAME


def kept_token(store: Path) -> tuple[str, bool]:
    """Returns the token and whether it was made just now.

    NotAllowed if others may read the file, or if there is no token in it.
    """
    path = token_path(store)
    system.make_folder(path.parent)
    made = system.new_file(path, os.O_WRONLY)
    if made is not None:
        token = secrets.token_urlsafe(_BYTES)
        with os.fdopen(made, "w", encoding="ascii") as file:
            file.write(f"{token}\n")
        return token, True
    return _read(path), False


def _read(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | system.NO_LINK)
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as file:
        about = os.fstat(descriptor)
        token = file.read(1_000).strip()
    own = about.st_uid == system.user_id()
    if system.MODES and (not own or stat.S_IMODE(about.st_mode) & _OTHERS):
        raise NotAllowed(f"others may read the token in {path}; delete the file to get a new one")
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise NotAllowed(f"{path} holds no token; delete the file to get a new one")
    return token
