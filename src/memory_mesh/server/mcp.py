"""MCP in the service: the tools that stdio offers, for those who have a key, at /mcp.

::

    HTTP ──▶ key ──▶ Host and Origin ──▶ size ──▶ official `mcp` ──▶ view of the key ──▶ tool

A tool that only reads needs the scope read, any other one write; an agent speaks, whoever has the
key. Headers say whose memories, as for every other route. `memory-mesh mcp --http` is the same
without the other routes, for one person; a page in a browser that points a name of its own at it is
refused by Host and Origin.
"""

import secrets
import signal
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import FrameType

import mcp_types as types
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request

from memory_mesh._version import __version__
from memory_mesh.agents.mcp import protocol
from memory_mesh.agents.mcp.front import offer
from memory_mesh.agents.mcp.tools import TOOLS
from memory_mesh.agents.opening import Stores, answer
from memory_mesh.base.typed import Any, TypeVar, dataclass
from memory_mesh.care.access_keys import READ, WRITE, check
from memory_mesh.model import Channel, MeshError
from memory_mesh.model.care import AccessKey
from memory_mesh.platform.ports import bound, is_loopback
from memory_mesh.server.app import (
    KeyLimits,
    Service,
    crashed,
    namespace_of,
    no_route,
)
from memory_mesh.server.problems import Problem
from memory_mesh.server.sign_in import Issuer
from memory_mesh.sync import MemoryMesh

__all__ = ["Issuer", "KeyLimits", "OnlyMcp", "application", "bound", "is_loopback", "serve"]

PATH = "/mcp"
_HOST = "memory-mesh-service"
_READING = frozenset(tool["name"] for tool in TOOLS if tool["annotations"]["readOnlyHint"])
_SESSIONS = 1_000
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
Result = TypeVar("Result", bound=BaseModel)
Context = ServerRequestContext[Any]

_CONNECTIONS = 500
_STOP_SECONDS = 10  # for calls that are under way
_KEEP_SECONDS = 30  # an idle connection
_LOOKS_SECONDS = 60.0  # since a balancer has looked at /readyz: it is still there
_CLOSE = (b"connection", b"close")
_LEAVE_SECONDS = 5.0  # until it has seen that the process ends: three looks a second apart


@dataclass(frozen=True, slots=True)
class OnlyMcp:
    """MCP without the other routes, for one person on their own machine."""

    key: AccessKey | None = None  # whose rights everybody has; None: each request needs a key
    names: tuple[str, ...] = ()  # that clients may call it by, beside its own
    compat: str | None = None  # the tools of another memory server instead

    def security(self, url: str) -> TransportSecuritySettings:
        """Which Host and Origin a request may have: ours, and those that the user named."""
        here, _, port = url.removeprefix("http://").rpartition(":")
        own = [f"{name}:{port}" for name in (*_LOOPBACK, here)]
        stated = [name for each in self.names for name in (each, f"{each}:*")]
        origins = [f"{scheme}://{name}" for name in stated for scheme in ("http", "https")]
        return TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[*own, *stated],
            allowed_origins=[*(f"http://{name}" for name in own), *origins],
        )


def serve(
    mesh: MemoryMesh,
    listener: socket.socket,
    url: str,
    limits: KeyLimits,
    *,
    only: OnlyMcp | None = None,
    issuer: Issuer | None = None,
) -> None:
    """Serves until the process is asked to end.

    SIGTERM, if a balancer looks at /readyz: that fails from then on, and for 5 seconds whatever
    comes is answered, so that nobody is sent to a closed port. Calls then have 10 seconds.
    """
    service = Service(mesh, limits, open_key=None if only is None else only.key, issuer=issuer)
    config = uvicorn.Config(
        application(service, url, only),
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_STOP_SECONDS,
        timeout_keep_alive=_KEEP_SECONDS,
        ws="none",
    )
    warm_up = mesh._store.warm_up  # noqa: SLF001  # a hook's first prompt has no time to wait for it
    warming = threading.Thread(target=warm_up, name="memory-mesh warming", daemon=True)
    warming.start()
    _Server(config, service).run(sockets=[listener])
    warming.join(_STOP_SECONDS)


class _Server(uvicorn.Server):
    """Ends in an order that a balancer and those who read a stream can follow."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service, self._end = service, 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """As uvicorn does it, but later if a balancer looks; Ctrl-C waits for none."""
        now = time.monotonic()
        looked = now - self._service.looked_at < _LOOKS_SECONDS
        if sig == signal.SIGTERM and looked and not self._service.leaving:
            self._service.leaving, self._end = True, now + _LEAVE_SECONDS
        else:
            self._service.leaving, self._service.stopping = False, True
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """While it leaves, each answer is the last of its connection; then it ends."""
        is_over = await super().on_tick(counter)
        if self._service.leaving:
            headers = self.server_state.default_headers  # a new list each second
            headers += [] if _CLOSE in headers else [_CLOSE]
            if time.monotonic() >= self._end:
                self.handle_exit(signal.SIGTERM, None)
        return is_over or self.should_exit


def application(service: Service, url: str, only: OnlyMcp | None = None) -> Starlette:
    """The service with MCP beside its routes; `url` is where clients reach it."""
    compat = None if only is None else only.compat
    auth: dict[str, Any] = {}
    if service.open_key is None:
        by = service.issuer
        plain = {  # texts: an address that pydantic made has a slash more
            "issuer_url": url if by is None else by.url,
            "resource_server_url": None if by is None else f"{url}{PATH}",
            "validate_token_resource": False,  # sign_in.py looks whom a token is for
        }
        auth["auth"] = AuthSettings.model_validate(plain)
        auth["token_verifier"] = _Verifier(service)
    made = _offering(_Back(service, compat), offer(compat)).streamable_http_app(
        streamable_http_path=PATH,
        custom_starlette_routes=service.routes() if only is None else [],
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False)
        if only is None
        else only.security(url),
        max_sessions=_SESSIONS,
        **auth,
    )
    if only is None:  # the page needs further packages
        from memory_mesh.server import ui

        made.mount(ui.PATH, ui.page(service))
    for status in (404, 405):
        made.add_exception_handler(status, no_route)
    made.add_exception_handler(Exception, crashed)
    return made


class _Verifier:
    """Knows the keys of the service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def verify_token(self, token: str) -> AccessToken | None:
        """The client, if its key is valid."""
        try:
            key = await self._service.known(f"Bearer {token}")
        except (MeshError, Problem):
            return None
        return AccessToken(token=token, client_id=key.id, scopes=[])


class _Back:
    """Answers in this process, from the memories that the key of the request opens."""

    def __init__(self, service: Service, compat: str | None) -> None:
        self._service, self._compat = service, compat

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Calls a tool; an error is a result that the model can read."""
        given = {"name": params.name, "arguments": params.arguments or {}}
        reply = await self._ask(context, "tool", given)
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
        reply = await self._ask(context, do, given)
        if reply.get("ok") is True:
            answer: dict[str, Any] = reply["answer"]
            return answer
        said = _said(reply["error"])
        refused = protocol.failure(said["kind"], said["text"], protocol.STATELESS[-1])
        raise MCPError(refused.code, str(refused))

    async def _ask(self, context: Context, do: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a request."""
        try:
            asked = context.request
            assert isinstance(asked, Request)  # noqa: S101  # over HTTP there is one
            key = await self._service.key_of(asked.headers.get("authorization", ""))
            namespace = namespace_of(asked.headers, key)
            reads = do != "tool" or given["name"] in _READING
            check(key, READ if reads else WRITE, namespace)
            stores = _OneMesh(self._service, key, asked.headers, namespace)
            given = given if self._compat is None else {**given, "compat": self._compat}
            request = {
                "id": secrets.token_hex(16), "do": do, "input": given, "host": _HOST,
                "store": "", "cwd": "", "parents": [], "environment": {},
            }  # fmt: skip
            found = await self._service.in_thread(partial(answer, stores, request), of=namespace)
        except (MeshError, Problem) as error:
            kind = error.name if isinstance(error, Problem) else type(error).__name__
            return {"ok": False, "error": {"kind": kind, "text": str(error)}}
        return {"ok": True, "answer": found}


class _OneMesh(Stores):
    """The one view that a request of a key is about."""

    def __init__(
        self, service: Service, key: AccessKey, headers: Mapping[str, str], namespace: str
    ) -> None:
        super().__init__()
        self._view = partial(service.view, key, headers, namespace)

    def mesh_for(
        self,
        request: Mapping[str, Any],
        *,
        channel: Channel,
        embedder: bool = True,
        session: str | None = None,
    ) -> MemoryMesh:
        """The memories as the holder of the key sees them, with an agent's word at most."""
        del request, embedder, session  # the headers have said it
        return self._view(most=channel)


def _offering(back: "_Back", offered: Mapping[str, Any]) -> Server[Any]:
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
