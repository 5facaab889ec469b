"""The service as an ASGI application: a key, a route, a view of the store, an operation.

::

    HTTP ──▶ key (care/access_keys.py, believed 5 s) ──▶ rate ──▶ size ──▶ scope
         ──▶ view of the key's namespace and channel ──▶ operation in a thread ──▶ JSON

Routes call operations and nothing else, so that what a reader may not see, a route cannot show.
A process keeps nothing that another one needs: run as many as you like over one store. mcp.py adds
/mcp.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from urllib.parse import unquote
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route as Path

from memory_mesh.base.typed import Any, dataclass
from memory_mesh.care import access_keys
from memory_mesh.care.access_keys import ADMIN, ERASE, EVERYWHERE, NAMESPACE, REVIEW, SPEAKERS
from memory_mesh.formats import json_text, wire
from memory_mesh.mesh.operation import options_of, unknown_option
from memory_mesh.mesh.remote import NO_ROUTE
from memory_mesh.model import (
    Channel,
    InvalidInput,
    Json,
    Memory,
    MeshError,
    NotAllowed,
    Scope,
    StoreError,
)
from memory_mesh.model.care import AccessKey
from memory_mesh.platform import telemetry
from memory_mesh.platform.locks import Cancellation
from memory_mesh.rules.arguments import check_plain_namespace, check_text, user_namespace
from memory_mesh.rules.trust import ceiling, lowest
from memory_mesh.server import sign_in
from memory_mesh.server.openapi import description
from memory_mesh.server.problems import Problem, of_error
from memory_mesh.server.routes import PREFIX, VIEWS, ServiceRoute, routes
from memory_mesh.server.sign_in import Issuer, SignIn
from memory_mesh.server.streams import Streams, wants_events
from memory_mesh.sync import MemoryMesh

HEADER = "memory-mesh-"
KEPT_SECONDS = 5.0  # that a key is believed without a look into the store
MAX_BYTES = 8_000_000  # of a request
SECONDS = 60.0  # for one operation
RATE, BURST = 100.0, 200.0  # requests of one key a second, and at once
_THREADS = 16
_OF_ONE = 4  # calls at a time for one namespace: a bulk load leaves the other threads to others
_LONG, _LONGEST_REST = 0.1, 5.0  # seconds: a write after which a namespace rests as long again
_RECENT = 1.0  # second in which another one asked
_WAITING = 100  # further ones that wait for these; after them it is said to come back later
_LONGEST_KEY = 8_000  # characters, of a token of somebody who signed in; ours have 45
_KEYS = "care.access_keys."
_MOST_VIEWS = 20  # that one search asks
_MANY, _ITEMS = "add_many", "items"
_USERS = frozenset(("user", "user_id"))  # options that name one
_KEYED = frozenset(("add", "evolve"))  # operations with a key of their own for repeated calls
Answer = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """What one key may take of the service."""

    max_bytes: int = MAX_BYTES
    seconds: float = SECONDS
    rate: float = RATE
    burst: float = BURST


class Service:
    """A store behind keys."""

    def __init__(
        self,
        mesh: MemoryMesh,
        limits: KeyLimits | None = None,
        *,
        open_key: AccessKey | None = None,
        issuer: Issuer | None = None,
    ) -> None:
        """Take an open mesh, which stays the caller's to close; `open_key` is everybody's."""
        self.open_key, self.issuer = open_key, issuer
        self.leaving = False  # then balancers are told to send nothing more
        self.stopping = False  # then streams end
        self.looked_at = -math.inf  # when a balancer last asked whether to send something
        self._streams = Streams(self)
        self._sign_in = None if issuer is None else SignIn(issuer)
        self._mesh, self._limits = mesh, limits or KeyLimits()
        self._routes = routes()
        self._known: dict[str, tuple[float, AccessKey | None]] = {}
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens, when they were counted
        self._counts: dict[tuple[str, int], list[float]] = {}  # calls and seconds of a route
        self._threads: anyio.CapacityLimiter | None = None
        self._asking = [("", -math.inf)] * 2  # the last two namespaces, and when they asked
        self._shares: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()
        self._keys = mesh.view(namespace=NAMESPACE)._access  # noqa: SLF001  # the same store

    def routes(self) -> list[Path]:
        """Every route, of the operations and of the service itself."""
        found = [
            Path("/livez", self._answered(self._livez, "livez"), methods=["GET"]),
            Path("/readyz", self._answered(self._readyz, "readyz"), methods=["GET"]),
            Path("/metrics", self._answered(self._metrics, "metrics"), methods=["GET"]),
            Path("/openapi.json", self._answered(self._openapi, "openapi"), methods=["GET"]),
        ]
        for name, method, stream in (
            ("changes", "GET", self._streams.changes),
            ("export", "GET", self._streams.export),
            ("import", "POST", self._streams.import_),
        ):
            path = f"{PREFIX}{name}"
            found.append(Path(path, self._answered(stream, path), methods=[method]))
        if self.issuer is not None:
            answer = self._answered(self._resource, "resource")
            found.append(Path(sign_in.METADATA, answer, methods=["GET"]))
        for path, route in self._routes.items():
            run = self._answered(partial(self._operation, route), path)
            found.append(Path(path, run, methods=["POST"]))
        return found

    def _answered(self, run: Answer, name: str) -> Answer:
        """The endpoint with its errors as problems, and counted."""

        async def answer(request: Request) -> Response:
            begun = time.monotonic()
            try:
                with telemetry.trace_of(request.headers):
                    response = await run(request)
            except (MeshError, Problem) as error:
                problem = error if isinstance(error, Problem) else of_error(error)
                response = problem.response()
            counted = self._counts.setdefault((name, response.status_code), [0, 0.0])
            counted[0] += 1
            counted[1] += time.monotonic() - begun
            return response

        return answer

    async def _operation(self, route: ServiceRoute, request: Request) -> Response:
        key = await self.key_of(request.headers.get("authorization", ""))
        body = await self._body(request)
        namespace = namespace_of(request.headers, key)
        access_keys.check(key, route.needs, EVERYWHERE if route.needs == ADMIN else namespace)
        arguments = _arguments(route, body, request.headers.get("idempotency-key"))
        for name in _USERS & arguments.keys():  # an operation on another user's memories
            access_keys.check(key, route.needs, user_namespace(arguments[name]))
        if arguments.get("as_owner"):  # what is for others, too
            needed = REVIEW if route.name.startswith("review.") else ERASE
            access_keys.check(key, needed, namespace)
        if VIEWS in arguments:
            arguments[VIEWS] = self._others(route, key, arguments[VIEWS])
        if (version := request.headers.get("if-match")) is not None:
            _condition(route, arguments, version)
        view = self.view(key, request.headers, namespace)
        work = partial(route.of(view), **arguments)
        if route.tells_progress and wants_events(request):
            return self._streams.progress(work, namespace)
        found = await self.in_thread(work, of=namespace, writes=not route.operation.reads)
        if route.name.startswith(_KEYS):
            self._known.clear()
        etag = {"etag": f'"{found.recorded_from.isoformat()}"'} if isinstance(found, Memory) else {}
        return JSONResponse(wire.encoded(found), headers=etag)

    def view_for(self, headers: Mapping[str, str], key: AccessKey, needed: str) -> MemoryMesh:
        """The view that a request states, if its key may do that there."""
        namespace = namespace_of(headers, key)
        access_keys.check(key, needed, namespace)
        return self.view(key, headers, namespace)

    def _others(self, route: ServiceRoute, key: AccessKey, named: object) -> list[MemoryMesh]:
        """Further views that a search asks, each within the rights of the key."""
        each_named = isinstance(named, list) and all(isinstance(one, dict) for one in named)
        if not each_named or len(named) > _MOST_VIEWS:  # type: ignore[arg-type]  # a list
            raise InvalidInput(
                f"{VIEWS} takes {_MOST_VIEWS} objects with the headers of views at most"
            )
        found = []
        for one in named:  # type: ignore[attr-defined]  # as above
            headers = {str(name).lower(): str(value) for name, value in one.items()}
            found.append(self.view_for(headers, key, route.needs))
        return found

    async def key_of(self, authorization: str) -> AccessKey:
        """The key of a request; a problem says that there is none, or that it asks too often."""
        key = await self.known(authorization)
        self._check_rate(key)
        return key

    async def known(self, authorization: str) -> AccessKey:
        """The same without counting: of a request that is counted elsewhere."""
        if self.open_key is not None:
            return self.open_key
        kind, _, text = authorization.partition(" ")
        text = text.strip()
        fits = kind.lower() == "bearer" and 0 < len(text) <= _LONGEST_KEY
        key = await self._key(text) if fits else None
        if key is None:
            raise Problem(
                401,
                "NotAllowed",
                "this needs a key that is valid, sent as `Authorization: Bearer mm_…`; whoever "
                "runs the service makes one: memory-mesh server keys add NAME",
                {"www-authenticate": "Bearer" + (self.issuer.challenge if self.issuer else "")},
            )
        return key

    async def _key(self, text: str) -> AccessKey | None:
        now = time.monotonic()
        at, known = self._known.get(text, (-KEPT_SECONDS, None))
        if now - at < KEPT_SECONDS:
            return known
        key: AccessKey | None = await self.in_thread(partial(self._looked_up, text))
        if len(self._known) >= 10_000:  # noqa: PLR2004  # guesses are forgotten, all at once
            self._known.clear()
        self._known[text] = (now, key)
        return key

    def _looked_up(self, text: str) -> AccessKey | None:
        access, now = self._keys(), self._mesh._now()  # noqa: SLF001  # the clock of the store
        key = access_keys.find(access, text, now)
        if key is None and self._sign_in is not None:
            return self._sign_in.key_of(text)
        if key is not None:
            with suppress(StoreError):  # a read waits for no writer: it is noted another time
                access_keys.note_use(access, key, now)
        return key

    def _check_rate(self, key: AccessKey) -> None:
        """Takes one request from the key's share of this process."""
        now = time.monotonic()
        left, at = self._buckets.get(key.id, (self._limits.burst, now))
        left = min(self._limits.burst, left + (now - at) * self._limits.rate)
        if left < 1:
            wait = max(1, round((1 - left) / self._limits.rate))
            said = f"the key {key.name!r} asks more than {self._limits.rate:g} times a second"
            said += "; wait as long as Retry-After says"
            raise Problem(429, "TooManyRequests", said, {"retry-after": str(wait)})
        self._buckets[key.id] = (left - 1, now)

    def view(
        self,
        key: AccessKey,
        headers: Mapping[str, str],
        namespace: str,
        most: Channel = Channel.LIBRARY,
    ) -> MemoryMesh:
        """The memories as this key sees them, in the scope that the request states."""
        stated = {
            name: check_text(unquote(headers[f"{HEADER}{name}"]), name)
            for name in ("project", "agent", "session")
            if f"{HEADER}{name}" in headers
        }
        scope = Scope(stated.get("project"), stated.get("agent", key.name), stated.get("session"))
        channel = _bounded(headers.get(f"{HEADER}channel", most), SPEAKERS[key.speaks_as])
        view = self._mesh._of_same_store(namespace, scope, channel)  # noqa: SLF001  # users as well
        view._folder = ""  # noqa: SLF001  # what a caller cites is not on this machine
        return view

    async def _body(self, request: Request) -> dict[str, Json]:
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > self._limits.max_bytes:
                raise Problem(
                    413, "InvalidInput", f"a request has at most {self._limits.max_bytes:,} bytes; "
                    "send fewer items at a time",
                )  # fmt: skip
            parts.append(part)
        text = b"".join(parts)
        if not text.strip():
            return {}
        try:
            found = json_text.read(text)
        except json_text.JsonFault as error:
            raise InvalidInput(f"the body of the request is no JSON: {error}") from None
        if not isinstance(found, dict):
            raise InvalidInput("the body must be a JSON object with the options of the operation")
        return found

    async def in_thread(
        self,
        work: Callable[[], Any],
        *,
        of: str | None = None,
        writes: bool = False,
        limited: bool = True,
    ) -> Any:  # noqa: ANN401  # what it returns
        """What blocking work returns; waits for other processes end when the time is over.

        Work of one namespace waits for its share of the threads; nobody else waits for it.
        """
        if self._threads is None:  # belongs to the loop that runs
            self._threads = anyio.CapacityLimiter(_THREADS)
        waiting = Cancellation()
        with anyio.move_on_after(self._limits.seconds if limited else None):
            async with nullcontext() if of is None else self._share(of, writes=writes):
                return await anyio.to_thread.run_sync(
                    waiting.run, work, abandon_on_cancel=True, limiter=self._threads
                )
        waiting.cancel()
        raise Problem(
            503, "StoreIsBusy", f"this took more than {self._limits.seconds:g} seconds; what was "
            "begun may still end. Look before you write it again", {"retry-after": "5"},
        )  # fmt: skip

    @asynccontextmanager
    async def _share(self, of: str, *, writes: bool) -> AsyncIterator[None]:
        """Lets a call of a namespace in; a problem if too many wait for it already.

        After a long write the next call of the namespace waits as long again, one at a time, while
        others ask: so half of the time of the process is theirs.
        """
        share = self._shares.get(of)
        if share is None:
            share = self._shares[of] = anyio.CapacityLimiter(_OF_ONE)
        if share.statistics().tasks_waiting >= _WAITING:
            raise Problem(
                503, "StoreIsBusy", f"{_WAITING} calls wait for this namespace already; send fewer "
                "at a time", {"retry-after": "2"},
            )  # fmt: skip
        before, now = self._asking[-1], time.monotonic()
        self._asking = [self._asking[0] if before[0] == of else before, (of, now)]
        call = object()
        await share.acquire_on_behalf_of(call)
        begun = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - begun
            others = any(name != of and at > begun - _RECENT for name, at in self._asking)
            rests = writes and others and took > _LONG
            share.total_tokens = 1 if rests else _OF_ONE
            if rests:
                rest, loop = min(took, _LONGEST_REST), asyncio.get_running_loop()
                loop.call_later(rest, share.release_on_behalf_of, call)
            else:
                share.release_on_behalf_of(call)

    async def _livez(self, _request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _readyz(self, _request: Request) -> Response:
        """Whether the store answers and this process stays."""
        self.looked_at = time.monotonic()
        if self.leaving:
            raise Problem(503, "Closed", "this process is about to end", {"retry-after": "1"})
        await self.in_thread(lambda: access_keys.get_all(self._keys()))
        return PlainTextResponse("ok\n")

    async def _openapi(self, _request: Request) -> Response:
        return JSONResponse(description(self._routes))

    async def _resource(self, _request: Request) -> Response:
        """Where people sign in (RFC 9728)."""
        assert self.issuer is not None  # noqa: S101  # else there is no such route
        return JSONResponse(
            {"resource": self.issuer.service, "authorization_servers": [self.issuer.url]}
        )

    async def _metrics(self, request: Request) -> Response:
        key = await self.key_of(request.headers.get("authorization", ""))
        access_keys.check(key, ADMIN, EVERYWHERE)
        lines = [
            "# HELP memory_mesh_http_requests_total Requests by route and status.",
            "# TYPE memory_mesh_http_requests_total counter",
            "# HELP memory_mesh_http_seconds_total Seconds that they took.",
            "# TYPE memory_mesh_http_seconds_total counter",
        ]
        for (name, status), (count, seconds) in sorted(self._counts.items()):
            labels = f'{{route="{name}",status="{status}"}}'
            lines.insert(2, f"memory_mesh_http_requests_total{labels} {count:g}")
            lines.append(f"memory_mesh_http_seconds_total{labels} {seconds:.6f}")
        return PlainTextResponse("\n".join([*lines, ""]), media_type="text/plain; version=0.0.4")


def namespace_of(headers: Mapping[str, str], key: AccessKey) -> str:
    """The namespace that the headers name, else `default`, else the first place of the key."""
    user, named = headers.get(f"{HEADER}user"), headers.get(f"{HEADER}namespace")
    if user is not None and named is not None:
        raise InvalidInput("name a user or a namespace, not both")
    if user is not None:
        return user_namespace(unquote(user))
    if named:
        return check_plain_namespace(unquote(named))
    if key.grants.keys() & {"default", EVERYWHERE}:
        return "default"
    place = next((each for each in key.grants if "*" not in each), "default")
    return user_namespace(place[5:]) if place.startswith("user:") else place


def _bounded(stated: str, own: Channel) -> Channel:
    """The channel that a request states, unless that would be trusted more than its key."""
    try:
        asked = Channel(stated)
    except ValueError:
        known = ", ".join(each.value for each in Channel)
        raise InvalidInput(f"there is no channel {stated!r}; there are: {known}") from None
    return asked if lowest((ceiling(asked), ceiling(own))) is ceiling(asked) else own


def _arguments(
    route: ServiceRoute, body: Mapping[str, Json], repeated: str | None
) -> dict[str, Any]:
    """The options of a call as its operation takes them."""
    for name in body:
        if name not in route.options:
            fault = unknown_option(f"{route.name}()", name, route.options, listed="/openapi.json")
            raise Problem(400, "TypeError", str(fault))
    for option in route.options.values():
        if option.is_required and option.name not in body:
            raise InvalidInput(f"{option.name} is missing; it is what {route.name} is about")
    found = {name: wire.decoded(route.options[name].kind, value) for name, value in body.items()}
    if route.name == _MANY and isinstance(found[_ITEMS], list):
        found[_ITEMS] = [_item(item) for item in found[_ITEMS]]
    if repeated is not None:
        _repeat(route, found, repeated)
    return found


def _condition(route: ServiceRoute, arguments: dict[str, Any], version: str) -> None:
    """Puts the version of If-Match where the operation takes it."""
    if "if_version" not in route.options:
        raise NotAllowed(f"{route.name} takes no If-Match: update does")
    if version.strip() != "*":
        arguments["if_version"] = version.strip().removeprefix("W/").strip('"')


def _item(item: object) -> object:
    """An item of add_many with the options of add as that takes them."""
    if not isinstance(item, dict):
        return item
    known = options_of(MemoryMesh.add)
    return {
        name: wire.decoded(known[name].kind, value) if name in known else value
        for name, value in item.items()
    }


def _repeat(route: ServiceRoute, found: dict[str, Any], key: str) -> None:
    """Puts an idempotency key where the operation takes it; elsewhere none is promised."""
    if route.name in _KEYED:
        found.setdefault("key", key)
    elif route.name == _MANY and isinstance(found.get(_ITEMS), list):
        found[_ITEMS] = [
            {"key": f"{key}/{at}", **({"content": item} if isinstance(item, str) else item)}
            if isinstance(item, str | dict)
            else item  # add_many says what is wrong with it
            for at, item in enumerate(found[_ITEMS])
        ]
    else:
        raise NotAllowed(
            f"{route.name} takes no Idempotency-Key: add, evolve and add_many do; the others can "
            "be repeated, or say what they changed"
        )


async def crashed(_request: Request, _error: Exception) -> Response:
    """The answer where the service itself is wrong; the log says how."""
    return Problem(
        500, "MeshError", "an unexpected error; the log of the service has it"
    ).response()


async def no_route(request: Request, error: Exception) -> Response:
    """The answer to a request for what there is not."""
    status = getattr(error, "status_code", 404)
    said = f"there is no {request.method} {request.url.path}; the routes are in /openapi.json"
    return Problem(status, NO_ROUTE, said).response()
