"""The page as an ASGI application: who asks, a route, an operation, a template.

::

    HTTP ──▶ cookie ──▶ reader ──▶ scope of the route ──▶ page function in a thread ──▶ template

A page is one function in `pages/`, one template and one test. It calls operations and nothing
else, and only those that count nothing: looking leaves no trace. An action is a POST with the token
of the session, and sends the browser back to a page. `readers.py` says who may ask.
"""

import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote

import anyio
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from memory_mesh.base.typed import Any, TypeAlias
from memory_mesh.care.access_keys import READ
from memory_mesh.dashboard.asked import (
    Answer,
    Asked,
    Drawing,
    GoTo,
    PageRoute,
    Reader,
    Shown,
    Undo,
    address,
    inside,
)
from memory_mesh.dashboard.pages import ROUTES
from memory_mesh.dashboard.pages.working import FeedPlace, batch
from memory_mesh.dashboard.readers import Readers
from memory_mesh.dashboard.words import FILTERS
from memory_mesh.model import InvalidInput, MeshError, NotAllowed, NotFound

_HERE = Path(__file__).parent
_MAX_FORM = 1_000_000  # bytes
_SAID = "said"  # the cookie with what an action did, until it is shown
_MOST_SAID = 3_500  # characters of a cookie
_THEME, _THEMES = "theme", ("auto", "light", "dark")
_YEAR = 31_536_000
_FEED_SECONDS, _FEED_BATCHES = 1.0, 3_600
_STATUS: Mapping[type[MeshError], int] = {NotFound: 404, NotAllowed: 403, InvalidInput: 400}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


class Dashboard:
    """The pages for readers, under a path of their own or at the root."""

    def __init__(self, readers: Readers, root: str = "") -> None:
        """Take who may read, and where the application is mounted."""
        self._readers, self._root = readers, root
        self._templates = templates(root)

    def application(self) -> Starlette:
        """The ASGI application."""
        found: list[Route | Mount] = [
            Mount("/-/static", StaticFiles(directory=_HERE / "static")),
            Route("/-/in", self._guarded(self._sign_in), methods=["GET", "POST"]),
            Route("/-/out", self._guarded(self._sign_out), methods=["POST"]),
            Route("/-/theme", self._guarded(self._theme), methods=["POST"]),
            Route("/-/feed/{namespace}", self._guarded(self._feed)),
            Route("/", self._guarded(self._start)),
        ]
        for route in ROUTES:
            run = self._guarded(partial(self._page, route))
            found.append(Route(f"/{{namespace}}{route.path}", run, methods=[route.method]))
        made = Starlette(routes=found)
        made.add_exception_handler(404, self._guarded(self._lost))
        return made

    # Every answer: headers, errors as pages.

    def _guarded(self, run: Endpoint) -> Callable[..., Awaitable[Response]]:
        async def answer(request: Request, _error: Exception | None = None) -> Response:
            try:
                self._readers.check_host(request.headers.get("host", ""))
                response = await run(request)
            except MeshError as error:
                response = self._failed(request, error)
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return answer

    def _failed(self, request: Request, error: MeshError, asked: Asked | None = None) -> Response:
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
        return self._drawn(request, Shown("error.html", {"error": str(error)}, status), asked)

    async def _lost(self, _request: Request) -> Response:
        raise NotFound("there is no such page")

    # Who asks.

    async def _reader(self, request: Request) -> Reader | None:
        secret = request.cookies.get(self._cookie(request), "")
        return await self._readers.reader(secret) if secret else None

    def _cookie(self, request: Request) -> str:
        """Its name: cookies know no ports, and several pages may be open on one machine."""
        return f"memory-mesh-{request.url.port or 0}"

    def _token(self, request: Request) -> str:
        """What a form must carry: only who has the cookie could have got it from us."""
        secret = request.cookies.get(self._cookie(request), "")
        return hmac.new(secret.encode(), b"form", sha256).hexdigest()

    async def _sign_in(self, request: Request) -> Response:
        form = await _form(request) if request.method == "POST" else _plain(request)
        given = form.get("token", [""])[-1].strip()
        if request.headers.get("sec-fetch-site") == "cross-site" and request.method == "POST":
            raise NotAllowed("sign in on this page itself")
        secret = await self._readers.secret_of(given) if given else None
        if secret is None:
            values = {"refused": bool(given), "by_key": self._readers.by_key}
            return self._drawn(request, Shown("sign_in.html", values, 401 if given else 200), None)
        response = RedirectResponse(f"{self._root}/", 303)
        self._keep(request, response, self._cookie(request), secret)
        return response

    async def _sign_out(self, request: Request) -> Response:
        self._check(request, await _form(request))
        response = RedirectResponse(f"{self._root}/-/in", 303)
        response.delete_cookie(self._cookie(request), path=self._root or "/")
        return response

    async def _theme(self, request: Request) -> Response:
        form = await _form(request)
        self._check(request, form)
        chosen = form.get(_THEME, [""])[-1]
        response = RedirectResponse(
            inside(form.get("back", [""])[-1], self._root) or f"{self._root}/", 303
        )
        self._keep(request, response, _THEME, chosen if chosen in _THEMES else _THEMES[0], _YEAR)
        return response

    def _keep(
        self, request: Request, to: Response, name: str, value: str, seconds: int | None = None
    ) -> None:
        to.set_cookie(
            name, value, max_age=seconds, path=self._root or "/", httponly=True, samesite="lax",
            secure=request.url.scheme == "https",
        )  # fmt: skip

    def _check(self, request: Request, form: Mapping[str, Sequence[str]]) -> None:
        """Refuses a form that another site sent."""
        given = (form.get("csrf") or [""])[-1]
        if not hmac.compare_digest(given.encode(), self._token(request).encode()):
            raise NotAllowed("this form is not from this page, or is too old; load the page again")

    # Pages and actions.

    async def _start(self, request: Request) -> Response:
        reader = await self._reader(request)
        if reader is None:
            return RedirectResponse(f"{self._root}/-/in", 303)
        places = await self._readers.run(reader.namespaces)
        first = "default" if "default" in places or not places else places[0]
        return RedirectResponse(address(self._root, first, ROUTES[0].path), 303)

    async def _page(self, route: PageRoute, request: Request) -> Response:
        reader = await self._reader(request)
        if reader is None:
            return RedirectResponse(f"{self._root}/-/in", 303)
        path = {name: str(value) for name, value in request.path_params.items()}
        namespace = path.pop("namespace")
        form = await _form(request) if route.method == "POST" else {}
        if route.method == "POST":
            self._check(request, form)
        if not reader.may(route.needs, namespace):
            raise NotAllowed(f"{reader.name} may not {route.needs} in {namespace}")
        asked = Asked(
            reader, namespace, reader.view(namespace), datetime.now(UTC), self._root, path,
            _plain(request), form,
        )  # fmt: skip
        response: Response = await self._readers.run(partial(self._answered, request, route, asked))
        return response

    def _answered(self, request: Request, route: PageRoute, asked: Asked) -> Response:
        """Runs in a thread: operations wait for files."""
        try:
            answer: Answer = route.run(asked)
        except MeshError as error:
            return self._failed(request, error, asked)
        if isinstance(answer, Shown):
            return self._drawn(request, answer, asked)
        if isinstance(answer, Drawing):
            return Response(answer.svg, media_type="image/svg+xml")
        response = RedirectResponse(answer.to, 303)
        if answer.said:
            self._keep(request, response, _SAID, _notice(answer))
        return response

    # The live feed: a batch a second where something happened, until the page is left.

    async def _feed(self, request: Request) -> Response:
        namespace = str(request.path_params["namespace"])
        await self._feed_reader(request, namespace)
        last = request.headers.get("last-event-id") or _plain(request).get("since", ["0"])[-1]
        batches = self._batches(request, namespace, FeedPlace.read(last))
        return StreamingResponse(batches, media_type="text/event-stream")

    async def _feed_reader(self, request: Request, namespace: str) -> Reader:
        reader = await self._reader(request)
        if reader is None or not reader.may(READ, namespace):
            raise NotAllowed(f"sign in with a key that may read {namespace}")
        return reader

    async def _batches(
        self, request: Request, namespace: str, place: FeedPlace
    ) -> AsyncIterator[str]:
        for _ in range(_FEED_BATCHES):  # then the browser connects again
            reader = await self._feed_reader(request, namespace)  # a key may have ended
            view = await self._readers.run(partial(reader.view, namespace))
            asked = Asked(reader, namespace, view, datetime.now(UTC), self._root)
            found = await self._readers.run(partial(batch, asked, place))
            place = found.place
            if found.events or found.more:
                values = {"asked": asked, "events": found.events}
                html = self._templates.get_template("events.html").render(values)
                count = found.more + len(found.events)
                said = json.dumps({"html": html, "more": found.more, "count": count})
                yield f"event: batch\nid: {place}\ndata: {said}\n\n"
            else:
                yield ": nothing\n\n"
            await anyio.sleep(_FEED_SECONDS)

    def _drawn(self, request: Request, shown: Shown, asked: Asked | None) -> Response:
        """The page with what all pages have: navigation, who looks, what was just done."""
        said = request.cookies.get(_SAID) if asked is not None else None
        values: dict[str, Any] = {
            "asked": asked,
            "here_path": request.url.path.removeprefix(self._root),
            "back": f"{request.url.path}?{request.url.query}".rstrip("?"),
            "csrf": self._token(request),
            "theme": request.cookies.get(_THEME, _THEMES[0]),
            "notice": json.loads(unquote(said)) if said else None,
            "navigation": [each for each in ROUTES if each.title],
            "places": asked.reader.namespaces() if asked is not None else [],
        }
        text = self._templates.get_template(shown.template).render(values | dict(shown.values))
        response = HTMLResponse(text, shown.status)
        if said:
            response.delete_cookie(_SAID, path=self._root or "/")
        return response


def templates(root: str) -> Environment:
    """The templates: everything is escaped, and a name that is not there is an error."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    made.globals["static"] = f"{root}/-/static"
    made.globals["root"] = root
    made.globals["themes"] = _THEMES
    return made


def _notice(done: GoTo) -> str:
    """What was done as a cookie; what undoes it is left out where it would not fit."""
    undo = done.undo or Undo("")
    plain: dict[str, Any] = {"said": done.said[:500], "undo": undo.path, "fields": {**undo.fields}}
    text = quote(json.dumps(plain))
    return (
        text if len(text) <= _MOST_SAID else quote(json.dumps(plain | {"undo": "", "fields": {}}))
    )


def _plain(request: Request) -> dict[str, list[str]]:
    return parse_qs(request.url.query, keep_blank_values=True)


async def _form(request: Request) -> dict[str, list[str]]:
    text = bytearray()
    async for part in request.stream():
        text += part
        if len(text) > _MAX_FORM:
            raise InvalidInput("a form has at most 1 MB")
    return parse_qs(text.decode(errors="replace"), keep_blank_values=True)
