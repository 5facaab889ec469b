"""MCP in the service: the tools that stdio offers, for those who have a key, at /mcp.

A tool that only reads needs the scope read, any other one write; an agent speaks, whoever has the
key. Headers say whose memories, as for every other route.
"""

import secrets
from collections.abc import Mapping
from functools import partial
from socket import socket

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request

from memory_mesh.agents.mcp.front import offer
from memory_mesh.agents.mcp.server import PATH, Back, Context, bound, is_loopback, offering
from memory_mesh.agents.mcp.tools import TOOLS
from memory_mesh.agents.opening import Stores, answer
from memory_mesh.base.typed import Any
from memory_mesh.care.access_keys import READ, WRITE, check
from memory_mesh.model import Channel, MeshError
from memory_mesh.model.care import AccessKey
from memory_mesh.server import ui
from memory_mesh.server.app import KeyLimits, Service, crashed, namespace_of, no_route
from memory_mesh.server.problems import Problem
from memory_mesh.sync import MemoryMesh

__all__ = ["KeyLimits", "application", "bound", "is_loopback", "serve"]

_HOST = "memory-mesh-service"
_READING = frozenset(tool["name"] for tool in TOOLS if tool["annotations"]["readOnlyHint"])
_SESSIONS = 1_000


_CONNECTIONS = 500
_STOP_SECONDS = 10


def serve(mesh: MemoryMesh, listener: socket, url: str, limits: KeyLimits) -> None:
    """Serves until the process is asked to end; calls that are under way then have 10 seconds."""
    config = uvicorn.Config(
        application(Service(mesh, limits), url),
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_STOP_SECONDS,
        ws="none",
    )
    uvicorn.Server(config).run(sockets=[listener])


def application(service: Service, url: str) -> Starlette:
    """The service with MCP beside its routes; `url` is where clients reach it."""
    auth = AuthSettings(issuer_url=AnyHttpUrl(url), resource_server_url=None)
    made = offering(_Back(service), offer(None)).streamable_http_app(
        streamable_http_path=PATH,
        custom_starlette_routes=service.routes(),
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_sessions=_SESSIONS,
        auth=auth,
        token_verifier=_Verifier(service),
    )
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
        except Problem:
            return None
        return AccessToken(token=token, client_id=key.id, scopes=[])


class _Back(Back):
    """Answers in this process, from the memories that the key of the request opens."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def ask(self, context: Context, do: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a request."""
        try:
            asked = context.request
            assert isinstance(asked, Request)  # noqa: S101  # over HTTP there is one
            key = await self._service.key_of(asked.headers.get("authorization", ""))
            namespace = namespace_of(asked.headers, key)
            reads = do != "tool" or given["name"] in _READING
            check(key, READ if reads else WRITE, namespace)
            stores = _OneMesh(self._service, key, asked.headers, namespace)
            request = {
                "id": secrets.token_hex(16), "do": do, "input": given, "host": _HOST,
                "store": "", "cwd": "", "parents": [], "environment": {},
            }  # fmt: skip
            found = await self._service.in_thread(partial(answer, stores, request))
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
