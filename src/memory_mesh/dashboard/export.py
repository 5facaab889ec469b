"""The pages as static files: of one namespace, for reading, without a script, form or key.

::

    application, asked as one who may only read ──▶ page ──▶ file: no form, no script,
                      ▲                              │       links to other files alone
                      └──────── links of it ◀────────┘

Who the files are given to sees what a key with the role `reader` would show, and nothing of the
machine: no finding of doctor, no hook, no other namespace.
"""

import shutil
from collections import deque
from collections.abc import Mapping
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
from starlette.types import ASGIApp, Message

from memory_mesh.base.typed import dataclass
from memory_mesh.care.access_keys import READ
from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.readers import Owner, OwnerReaders
from memory_mesh.model import InvalidInput, StoreError
from memory_mesh.sync import MemoryMesh

MOST_PAGES = 2_000
_HOST = "127.0.0.1"
_STATIC = Path(__file__).parent / "static"
_FOLLOWED = {
    frozenset(),
    *map(frozenset, ({"after"}, {"before"}, {"examine"}, {"count"})),
}  # of a query
_LEFT_OUT = {"form", "script", "button", "input", "select", "textarea"}
_VOID = {"meta", "link", "input", "br", "hr", "img", "rect", "line", "circle", "path"}
_OF_SCRIPTS = ("hx-", "data-", "on")


@dataclass(frozen=True, slots=True)
class ExportedPages:
    """What was written: the file to open, how many pages, and how many were left out."""

    start: Path
    pages: int
    left_out: int


class _ExportReader(Owner):
    """May read one namespace, and nothing else."""

    name = "export"

    def __init__(self, mesh: MemoryMesh, namespace: str) -> None:
        super().__init__(mesh)
        self._namespace = namespace

    def may(self, scope: str, namespace: str) -> bool:
        return scope == READ and namespace == self._namespace

    def namespaces(self, after: str | None = None) -> list[str]:
        del after
        return [self._namespace]


class _ExportReaders(OwnerReaders):
    """Knows one secret: that of this export."""

    def __init__(self, mesh: MemoryMesh, namespace: str) -> None:
        super().__init__(mesh)
        self._owner = _ExportReader(mesh, namespace)
        self.secret = self._secret


def export(mesh: MemoryMesh, folder: Path, namespace: str) -> ExportedPages:
    """Writes the pages of a namespace to an empty or new folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is not empty; name a new folder")
    try:
        (folder / "static").mkdir(parents=True, mode=0o700)
        for name in ("style.css", "mark.svg"):
            shutil.copyfile(_STATIC / name, folder / "static" / name)
        return anyio.run(_export, mesh, folder, namespace)
    except OSError as error:
        raise StoreError(f"the pages cannot be written: {error}") from error


async def _export(mesh: MemoryMesh, folder: Path, namespace: str) -> ExportedPages:
    readers = _ExportReaders(mesh, namespace)
    application = Dashboard(readers).application()
    cookie = f"memory-mesh-0={readers.secret}"
    names: dict[str, str] = {}  # of files, by the address of the page
    texts: dict[str, _StaticPage] = {}
    waiting = deque([await _start(application, cookie)])
    while waiting and len(names) < MOST_PAGES:
        address = waiting.popleft()
        if address in names:
            continue
        status, text = await _get(application, address, cookie)
        if status != 200:  # noqa: PLR2004
            continue
        page = _StaticPage(text)
        names[address], texts[address] = _file_name(address, len(names)), page
        waiting.extend(link for link in page.links if link not in names and _is_followed(link))
    for address, page in texts.items():
        (folder / names[address]).write_text(page.with_links(names), encoding="utf-8")
    left_out = len({link for link in waiting if link not in names})
    return ExportedPages(folder / next(iter(names.values())), len(names), left_out)


async def _start(application: ASGIApp, cookie: str) -> str:
    """The address of the first page of the navigation."""
    _, text = await _get(application, "/", cookie, header="location")
    return text


async def _get(
    application: ASGIApp, address: str, cookie: str, header: str | None = None
) -> tuple[int, str]:
    """One request inside of this process: its status, and its text or one header."""
    parts = urlsplit(address)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": parts.path, "raw_path": parts.path.encode(), "root_path": "",
        "query_string": parts.query.encode(), "server": (_HOST, 0), "client": (_HOST, 0),
        "headers": [(b"host", _HOST.encode()), (b"cookie", cookie.encode())],
    }  # fmt: skip
    await application(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], headers.get(header, "") if header else body.decode()


def _is_followed(address: str) -> bool:
    parts = urlsplit(address)
    return (
        address.startswith("/")
        and not parts.path.startswith("/-/")
        and frozenset(parse_qs(parts.query)) in _FOLLOWED
    )


def _file_name(address: str, number: int) -> str:
    """`index.html`, or what the page shows and its number: `memories-0012.html`."""
    shown = urlsplit(address).path.split("/")[2:3]
    return f"{(shown or ['page'])[0]}-{number:04}.html" if number else "index.html"


class _StaticPage(HTMLParser):
    """A page without what needs a server; its links are written once all files are known."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self._parts: list[str | tuple[str, str]] = []  # text, or a link and its other attributes
        self._out = 0  # depth inside of what is left out
        self.feed(text)

    def with_links(self, names: Mapping[str, str]) -> str:
        """The page as a file beside the others; a link to what is no file leads nowhere."""
        return "".join(
            part if isinstance(part, str) else _linked(names.get(part[0]), part[1])
            for part in self._parts
        )

    def handle_decl(self, decl: str) -> None:
        self._parts.append(f"<!{decl}>")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._out or tag in _LEFT_OUT:
            self._out += tag not in _VOID
            return
        given = [(name, value) for name, value in attrs if not name.startswith(_OF_SCRIPTS)]
        if tag == "a":
            href = dict(given).get("href") or ""
            address, _, place = href.partition("#")
            self.links.append(address)
            rest = _attributes([each for each in given if each[0] != "href"])
            self._parts.append((address, rest) if address else f'<a href="#{escape(place)}"{rest}>')
            return
        self._parts.append(f"<{tag}{_attributes([(n, _static(v)) for n, v in given])}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._out and tag not in _LEFT_OUT:
            self._parts.append(f"<{tag}{_attributes(attrs)}/>")

    def handle_endtag(self, tag: str) -> None:
        if self._out:
            self._out -= tag not in _VOID
        elif tag not in _LEFT_OUT:
            self._parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._out:
            self._parts.append(escape(data))


def _linked(name: str | None, rest: str) -> str:
    return f'<a href="{escape(name)}"{rest}>' if name else f"<a{rest}>"


def _static(value: str | None) -> str | None:
    known = value is not None and value.startswith("/-/static/")
    return f"static/{Path(value or '').name}" if known else value


def _attributes(found: list[tuple[str, str | None]]) -> str:
    return "".join(
        f" {name}" if value is None else f' {name}="{escape(value)}"' for name, value in found
    )
