"""A reader of the page, for tests: in process, sending its forms as a browser would."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

from starlette.testclient import TestClient

from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.readers import OwnerReaders
from memory_mesh.sync import MemoryMesh

PLACE = "http://127.0.0.1"
HOSTILE = (
    "<script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "' autofocus onfocus='window.pwned = 1",
    "</textarea><svg/onload=window.pwned=1>",
    "--></title><script>window.pwned=1</script>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.pwned=1",
    "</script><a hx-get=/x hx-trigger=load hx-on:click=window.pwned=1>",
)


class Page(HTMLParser):
    """An answer: its text, links and elements."""

    def __init__(self, status: int, html: str) -> None:
        super().__init__()
        self.status, self.html = status, html
        self.links: dict[str, str] = {}  # by their words
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[str] = []
        self._link: tuple[str, int] | None = None
        self._hidden = 0
        self.feed(html)

    @property
    def text(self) -> str:
        """The words that a reader sees."""
        return re.sub(r"\s+", " ", " ".join(self._texts)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        self._hidden += tag in {"script", "style", "title"}
        if tag == "a":
            self._link = found.get("href") or "", len(self._texts)

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in {"script", "style", "title"}
        if tag == "a" and self._link is not None:
            href, at = self._link
            self.links[" ".join("".join(self._texts[at:]).split())] = href
            self._link = None

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._texts.append(data)


class ReaderClient:
    """Signed in, and able to press what the page offers."""

    def __init__(self, client: TestClient, namespace: str = "default") -> None:
        self.client, self.namespace = client, namespace

    def get(self, path: str, **query: object) -> Page:
        """A page of the namespace."""
        address = path if path.startswith("/-/") else f"/{self.namespace}{path}"
        answer = self.client.get(address, params=query)  # type: ignore[arg-type]
        return Page(answer.status_code, answer.text)

    def post(self, path: str, *, on: str = "/memories", **fields: object) -> Page:
        """Sends a form as the page `on` would: with its token."""
        found = re.search(r'name="csrf" value="(\w+)"', self.get(on).html)
        assert found is not None
        sent = {"csrf": found[1], "back": f"/{self.namespace}{on}", **fields}
        answer = self.client.post(f"/{self.namespace}{path}", data=sent)
        return Page(answer.status_code, answer.text)


@contextmanager
def looked_at(mesh: MemoryMesh, namespace: str = "default") -> Iterator[ReaderClient]:
    """The page of an open store, signed in as its owner."""
    readers = OwnerReaders(mesh)
    with TestClient(Dashboard(readers).application(), base_url=PLACE) as client:
        assert client.get("/-/in", params={"token": readers.token}).status_code == 200
        yield ReaderClient(client, namespace)


def opened(folder: Path, **options: object) -> MemoryMesh:
    """A store without a model."""
    return MemoryMesh(folder, embedder="none", **options)  # type: ignore[arg-type]
