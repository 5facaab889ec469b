"""The page against hostile memories in every field, and against readers with every kind of key."""

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from starlette.testclient import TestClient

from memory_mesh.care.access_keys import READ, ROLES
from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.pages import ROUTES
from memory_mesh.dashboard.readers import OwnerReaders
from memory_mesh.model import Channel, Scope
from memory_mesh.server.app import Service
from memory_mesh.server.mcp import application
from memory_mesh.server.ui import KeyHolder
from memory_mesh.sync import MemoryMesh
from tests.faults.report import Report
from tests.surface.page_reading import HOSTILE, PLACE, Page, ReaderClient

_MARK = "x-pwned"  # a tag, or an attribute, that only a memory could have brought
_BREAKS = (
    f"<{_MARK}>",
    f'"><{_MARK} {_MARK}=1>',
    f"' {_MARK}='1",
    f"</textarea></title></select></option><{_MARK}>",
    f"--><!--><{_MARK}>",
    f"]]></svg><{_MARK}>",
    f'" {_MARK}=1 onmouseover="x()',
)
_QUERIES: Sequence[Mapping[str, str]] = ({}, {"q": "note"}, {"status": "any"}, {"said": "note"})


def hostile(folder: Path, *, seed: int, memories: int) -> Report:
    """Memories that try to leave the place where a page shows them, on every page."""
    chance, report = random.Random(seed), Report({"memories": memories, "pages": 0})
    with MemoryMesh(folder, embedder="none") as mesh:
        ids = [_hostile_memory(mesh, chance, at) for at in range(memories)]
        for break_ in _BREAKS:
            mesh.context(f"note {break_}", scope=Scope(session=break_))
            mesh.skills.add(f"name: deploy\nintent: {break_}\nagent: ann\n", {"tags": [break_]})
            mesh.traces.record(f"Ship {break_}", plan=break_, learnings=[break_])
        mesh.graph.link(ids[0], ids[1], reason=_BREAKS[0])
        readers = OwnerReaders(mesh)
        with TestClient(Dashboard(readers).application(), base_url=PLACE) as client:
            client.get("/-/in", params={"token": readers.token})
            reader = ReaderClient(client)
            prompts = [each.id for each in mesh.care.prompts(across=["session"])]
            for path, query in _walk(ids, prompts, _QUERIES):
                page = reader.get(path, **query)
                report.count("pages")
                for wrong in _broken_out(page):
                    report.broken("broken out", f"{path} {query}: {wrong}")
                if page.status >= 500:
                    report.broken("failed", f"{path} {query}: {page.status}")
    return report


def _hostile_memory(mesh: MemoryMesh, chance: random.Random, at: int) -> str:
    def text() -> str:
        return f"note {at} {chance.choice((*_BREAKS, *HOSTILE))}"

    view = mesh.view(channel=chance.choice((Channel.LIBRARY, Channel.WEB, Channel.MCP)))
    stored = view.add(
        text(),
        {"tags": [text()[:60]], "type": text()[:40], text()[:60]: text(), "source": text()[:60]},
        speaker=text(),
        source_agent=text(),
        source_ref=text(),
        scope=Scope(*(chance.choice((None, text())) for _ in range(3))) if at > 1 else None,
        claim={"subject": text(), "predicate": "says", "value": text()} if at % 3 == 0 else None,
        allow_duplicate=True,
    )
    assert stored.id is not None, stored
    if at % 4 == 0:
        found = mesh.get_all(
            filter={"id": stored.id},
            across=["project", "agent", "session"],
            include=["quarantined", "disputed"],
        )
        mesh.update(stored.id, text(), reader=found[0].scope, reason=text())
    return stored.id


def _walk(
    ids: Sequence[str], prompts: Sequence[str], queries: Sequence[Mapping[str, str]]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Every page that can be got, with what it may be asked."""
    for route in ROUTES:
        if route.method != "GET":
            continue
        whole = "{id}" in route.path
        for id_ in (*ids, *prompts) if whole else ("",):
            yield route.path.replace("{id}", id_), {}
        if not whole:
            yield from ((route.path, query) for query in queries)
            yield from ((route.path, {"edit": id_}) for id_ in ids[:2])
            yield from ((route.path, {"prompt": prompt, "said": "note"}) for prompt in prompts)


def _broken_out(page: Page) -> Iterator[str]:
    """Elements and attributes that no template has."""
    for tag, found in page.tags:
        scripted = [name for name in found if name.startswith(("on", "hx-on")) or name == _MARK]
        foreign = [
            value
            for name in ("href", "src", "action", "formaction")
            if (value := found.get(name)) and urlsplit(value).scheme not in {"", "http"}
        ]
        inline = tag == "script" and "src" not in found
        if tag == _MARK or scripted or foreign or inline or "style" in found:
            yield f"<{tag} {found}>"


def readers(folder: Path, *, seed: int, pages: int) -> Report:
    """What a key sees and may press, on random pages, held against what its grants allow."""
    chance, report = random.Random(seed), Report({"pages": 0, "shown": 0, "refused": 0})
    with MemoryMesh(folder, embedder="none") as mesh:
        places = {"default": mesh, "team": mesh.view(namespace="team")}
        places |= {f"user.{name}": mesh.for_user(name) for name in ("ann", "ben")}
        words = {name: f"canary{at}x{seed}" for at, name in enumerate(places)}
        ids = {
            name: view.add(f"The word of the day is {words[name]}").id or ""
            for name, view in places.items()
        }
        for view in places.values():
            view.context("what is the word of the day?")
        service = Service(mesh)
        with TestClient(application(service, PLACE), base_url=PLACE) as client:
            for _ in range(pages):
                _look(client, (service, mesh, chance), ids, words, report)
    return report


def _look(
    client: TestClient,
    asking: tuple[Service, MemoryMesh, random.Random],
    ids: Mapping[str, str],
    words: Mapping[str, str],
    report: Report,
) -> None:
    service, mesh, chance = asking
    granted = chance.sample(["default", "team", "user:ann", "user:ben", "user:*", "*"], 2)
    roles = [role for role in ROLES if role != "admin"]
    key = mesh.care.access_keys.add(
        "one", grants={place: chance.choice(roles) for place in granted},
        speaks_as=chance.choice(("user", "agent")),
    )  # fmt: skip
    holder = KeyHolder(service, key)
    client.cookies.clear()
    client.post("/ui/-/in", data={"token": key.text or ""})
    for _ in range(5):
        name = chance.choice(list(ids))
        route = chance.choice([each for each in ROUTES if each.method == "GET"])
        path = route.path.replace("{id}", chance.choice(list(ids.values())))
        page = ReaderClient(client, f"ui/{name}").get(path, **chance.choice(_QUERIES))
        report.count("pages")
        may = holder.may(READ, name) and holder.may(route.needs, name)
        report.count("shown" if may else "refused")
        if not may and page.status != 403:
            report.broken("not refused", f"{key.grants} {name}{path}: {page.status}")
        foreign = [word for place, word in words.items() if word in page.html and place != name]
        if foreign or (not may and words[name] in page.html):
            report.broken("shown", f"{key.grants} {name}{path}: {foreign}")
        for pressed in _pressed(page):
            if not holder.may(pressed, name):
                report.broken("offered", f"{key.grants} {name}{path}: needs {pressed}")


def _pressed(page: Page) -> Iterator[str]:
    """What the actions that a page offers need."""
    needs = {each.path: each.needs for each in ROUTES if each.method == "POST"}
    for _, found in page.tags:
        to = found.get("action") or found.get("formaction") or ""
        path = "/" + "/".join(to.split("/")[3:])
        if path in needs:
            yield needs[path]
