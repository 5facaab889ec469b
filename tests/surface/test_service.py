"""The service: every operation over HTTP, by key; the same object by its URL."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import anyio
import pytest
import uvicorn
from sse_starlette.sse import AppStatus

from memory_mesh.agents.daemon.place import recorded
from memory_mesh.base.typed import Any
from memory_mesh.cli.main import run
from memory_mesh.formats import wire
from memory_mesh.mesh import remote
from memory_mesh.mesh.document_names import ASIDE
from memory_mesh.model import (
    InvalidInput,
    Kind,
    MayBeStored,
    MeshError,
    NotAllowed,
    NotFound,
    Scope,
    StoreIsAway,
)
from memory_mesh.models.http.client import Limits
from memory_mesh.server import mcp
from memory_mesh.server.app import KeyLimits, Service
from memory_mesh.server.mcp import application, bound
from memory_mesh.server.openapi import description
from memory_mesh.server.problems import Problem
from memory_mesh.server.routes import NOT_OFFERED, routes
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests import servers
from tests.operations import operations
from tests.postgres import SECRET
from tests.surface.hooking import HOOK, AwayHost, Host
from tests.surface.serving import Served, served
from tests.until import until

ROOT = Path(__file__).resolve().parents[2]
OPENAPI = ROOT / "docs/reference/openapi.json"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("service"), embedder="none") as found:
        yield found


def ask(service: Served, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    """A request without our client: status and JSON."""
    stated = {"Authorization": f"Bearer {service.key}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    request = Request(f"{service.url}{path}", data, stated)  # our own address
    try:
        with urlopen(request) as answer:  # our own address
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error) | {"headers": dict(error.headers)}


def test_every_operation_is_a_route_or_named_as_none() -> None:
    offered = {route.name for route in routes().values()}
    assert offered.isdisjoint(NOT_OFFERED)
    known = (set(operations(MemoryMesh)) - ASIDE) | {"init", "bisect"}  # aside, and told about
    assert offered | NOT_OFFERED == known


def test_the_description_is_the_one_in_the_docs() -> None:
    """The committed file is what the routes say."""
    made = json.dumps(description(routes()), indent=1, ensure_ascii=False) + "\n"
    assert made == OPENAPI.read_text(encoding="utf-8")


MANY: list[str | dict[str, object]] = [
    "The office is in Oslo",
    {"content": "Standup is at nine", "scope": Scope(project="p"), "kind": Kind.DECISION},
    "",
]
SAME: dict[str, Callable[[MemoryMesh], object]] = {
    "add": lambda mesh: mesh.add("Bob works at ACME", tags=["work"], importance=0.7).outcome,
    "add_many": lambda mesh: [one.outcome for one in mesh.add_many(MANY)],
    "search": lambda mesh: [
        (hit.content, round(hit.score, 6)) for hit in mesh.search("Where does Bob work?")
    ],
    "explanation": lambda mesh: mesh.search("Oslo").explanation.profile,
    "get_all": lambda mesh: [one.text for one in mesh.get_all(limit=2)],
    "cursor": lambda mesh: [
        one.text for one in mesh.get_all(limit=2, cursor=mesh.get_all(limit=2).cursor)
    ],
    "filter": lambda mesh: [one.text for one in mesh.get_all(filter="tags = 'work'")],
    "update": lambda mesh: mesh.update(mesh.get_all()[0].id, pinned=True).pinned,
    "evolve": lambda mesh: mesh.evolve("Bob works at Initech").outcome,
    "context": lambda mesh: "Initech" in mesh.context("Bob?", max_tokens=200).text,
    "profile": lambda mesh: str(mesh.profile(of="Bob")).count("\n"),
    "history": lambda mesh: [
        one.status
        for one in mesh.history(mesh.get_all(filter="tags = 'work'", include=["superseded"])[0].id)
    ],
    "explain": lambda mesh: type(mesh.explain(mesh.get_all()[0].id)).__name__,
    "graph": lambda mesh: mesh.graph.entity("Bob").name,
    "lessons": lambda mesh: mesh.lessons.record("The deploy failed: the disk was full").severity,
    "traces": lambda mesh: mesh.traces.plan("deploy the service").goal,
    "stats": lambda mesh: mesh.stats().memories,
    "blocks": lambda mesh: {block.entry.operation for block in mesh.care.blocks()},
    "verify": lambda mesh: mesh.care.verify().ok,
    "delete": lambda mesh: mesh.delete(mesh.get_all()[0].id),
    "erase": lambda mesh: mesh.erase(mesh.get_all()[0].id, dry_run=True).state,
    "users": lambda mesh: [mesh.for_user("ann").add("Ann likes tea").outcome, mesh.users()],
    "also": lambda mesh: [
        (hit.content, hit.view.user)
        for hit in mesh.search("tea", also=[mesh.for_user("ann"), mesh.view(namespace="default")])
        if hit.view is not None
    ],
    "user": lambda mesh: [hit.content for hit in mesh.for_user("ann").search("tea")],
    "scope": lambda mesh: mesh.view(scope=Scope(project="p", session="s")).add("In p").outcome,
    "of scope": lambda mesh: [
        one.scope for one in mesh.view(scope=Scope(project="p", session="s")).get_all(limit=1)
    ],
    "not found": lambda mesh: mesh.update("mem_none", content="x"),
    "no option": lambda mesh: mesh.search("x", qery="y"),  # type: ignore[call-arg]
    "bad option": lambda mesh: mesh.search("x", limit=0),
    "bad filter": lambda mesh: mesh.get_all(filter="tags ="),
    "no user": lambda mesh: mesh.for_user(""),
    "get": lambda mesh: mesh.get("mem_none"),
}


def outcome(call: Callable[[MemoryMesh], object], mesh: MemoryMesh) -> object:
    try:
        return call(mesh)
    except (MeshError, TypeError) as error:
        return type(error), str(error)


def test_a_url_is_the_same_object_as_a_folder(tmp_path: Path) -> None:
    with (
        served(tmp_path / "behind", embedder="none") as service,
        MemoryMesh(tmp_path / "folder", embedder="none") as here,
        service.mesh() as there,
    ):
        for name, call in SAME.items():
            assert outcome(call, there) == outcome(call, here), name


def test_what_is_wrong_is_said_in_words_for_http(service: Served) -> None:
    def said(path: str, body: object) -> str:
        return str(ask(service, path, body)[1]["detail"])

    assert said("/v1/add", {"bogus": 1}).endswith("its options are in /openapi.json")
    assert said("/v1/add", b"Oslo").startswith("the body of the request is no JSON: Expecting")
    rex = service.mesh(service.new_key("rex", {"team": "editor"}))
    with pytest.raises(NotAllowed, match="key 'rex' may not work as an admin in the whole store;"):
        rex.care.access_keys.get_all()


def test_a_service_that_is_away_is_named_in_whole_sentences() -> None:
    with bound("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    mesh = MemoryMesh(url, key="mm_x")
    with pytest.raises(StoreIsAway, match=r"is the service running\? Look whether it runs; retry"):
        mesh.search("Oslo")
    mesh.close()


def test_an_agent_hears_why_it_may_not_serve(tmp_path: Path) -> None:
    stated = os.environ | {"CLAUDECODE": "1", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "memory_mesh", "serve"]
    done = subprocess.run(command, env=stated, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "an agent may not run serve: it opens the store to others" in done.stderr


def test_values_come_back_as_they_were(service: Served) -> None:
    with service.mesh() as there:
        id_ = there.view(namespace="values").add("Kai prefers tea").id
        here = service.behind.view(namespace="values")
        for read in (
            lambda mesh: mesh.history(id_),
            lambda mesh: mesh.care.blocks(),
            lambda mesh: mesh.review.chain(id_),
            lambda mesh: mesh.graph.neighbourhood(id_),
            lambda mesh: mesh.care.verify(),
        ):
            found = read(there.view(namespace="values"))
            assert found == read(here)
            assert type(found) is type(read(here))


def test_what_needs_the_store_itself_says_so(service: Served, tmp_path: Path) -> None:
    with service.mesh() as mesh:
        with pytest.raises(InvalidInput, match="needs the store itself"):
            _ = mesh.folder
        with (
            MemoryMesh(tmp_path / "folder", embedder="none") as here,
            pytest.raises(InvalidInput, match="views of the same mesh"),
        ):
            mesh.search("x", also=[here])
        with pytest.raises(InvalidInput, match="needs the store itself"):
            mesh.care.models.state()
        mesh.view(namespace="files").add("To be written out")
        target = tmp_path / "all.jsonl"
        assert mesh.view(namespace="files").export(target) == 1
        assert mesh.view(namespace="copies").import_(target).outcomes["stored"] == 1


def test_an_import_stores_for_nobody_else_than_it_was_asked_for(service: Served) -> None:
    grants = {"team": "editor", "user:ann": "editor"}
    editor = {"Authorization": f"Bearer {service.new_key('rows', grants, speaks_as='user')}"}
    lines = b'{"content": "Bob rows a boat", "user_id": "bob"}\n{"content": "The team rows at six"}'
    listed = b'[{"memory": "Bob rows a boat", "user_id": "bob"}]'
    for body, stored in ((lines, 1), (listed, 0)):
        _, done = ask(service, "/v1/import", body, memory_mesh_namespace="team", **editor)
        assert (done["outcomes"].get("stored", 0), done["outcomes"]["refused"]) == (stored, 1)
        assert "for that user" in done["reasons"][0]
    assert "bob" not in service.behind.users()
    _, done = ask(service, "/v1/import", lines, memory_mesh_user="ann", **editor)
    assert done["outcomes"] == {"refused": 0, "stored": 2}


def test_whoever_may_read_exports_without_the_names_of_other_namespaces(
    service: Served,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service.behind.view(namespace="shelf").add("The red book is on the shelf")
    monkeypatch.setenv("MEMORY_MESH_ACCESS_KEY", service.new_key("shelf", {"shelf": "reader"}))
    file = tmp_path / "shelf.jsonl"
    assert run(["export", str(file), "--store", service.url]) == 0, capsys.readouterr().err
    said = capsys.readouterr()
    assert "Exported 1 memory" in said.out
    assert said.err == ""
    assert json.loads(file.read_text(encoding="utf-8"))["content"] == "The red book is on the shelf"


def test_hooks_recall_and_capture_over_a_url(service: Served, tmp_path: Path) -> None:
    """What is said to one machine is in the first prompt of another one."""
    stated = {
        "MEMORY_MESH_STORE": service.url,
        "MEMORY_MESH_ACCESS_KEY": service.new_key("cat", {"cats": "editor"}, speaks_as="user"),
        "MEMORY_MESH_NAMESPACE": "cats",
    }

    def hook(machine: str, **given: str) -> bytes:
        host = Host(tmp_path / machine, stated)
        event = {"session_id": machine, "cwd": str(host.folder), **given}
        environment, text = host.environment, json.dumps(event).encode()
        done = subprocess.run(HOOK, input=text, env=environment, capture_output=True, check=True)
        return done.stdout

    prompt = {"hook_event_name": "UserPromptSubmit"}
    hook("one", **prompt, prompt="Remember: I always deploy to the staging host heron")
    until(lambda: service.behind.view(namespace="cats").search("staging host"))
    assert b"heron" in hook("other", **prompt, prompt="Which staging host do I deploy to?")


def test_what_is_said_while_the_service_is_away_arrives_later(tmp_path: Path) -> None:
    with MemoryMesh(tmp_path / "store", embedder="none") as mesh:
        key = mesh.care.access_keys.add("dan", grants={"dans": "editor"}, speaks_as="user").text
    with bound("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    stated = {"MEMORY_MESH_STORE": f"http://127.0.0.1:{port}", "MEMORY_MESH_ACCESS_KEY": key or ""}
    host = Host(tmp_path / "home", {**stated, "MEMORY_MESH_DAEMON": "0"})

    def hook(prompt: str) -> None:
        given = {"session_id": "s", "cwd": str(host.folder), "prompt": prompt}
        event = {"hook_event_name": "UserPromptSubmit", **given}
        text = json.dumps(event).encode()
        subprocess.run(HOOK, input=text, env=host.environment, capture_output=True, check=True)

    def waiting() -> list[Path]:
        return list((tmp_path / "home").rglob("agents/waiting/*.json"))

    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    hook(f"Remember: I always deploy to the staging host heron. My token is {secret}")
    until(lambda: bool(waiting()))
    (kept,) = waiting()
    assert kept.stat().st_mode & 0o077 == 0
    assert not {secret, key} & set(kept.read_text().replace('"', " ").split())
    with served(tmp_path / "store", port=port, embedder="none") as service:
        hook("Remember: we ship on Mondays")
        mine = service.behind.view(namespace="dans")
        until(lambda: not waiting() and len(mine.get_all(across=["project"])) > 1)
        said = " ".join(one.text for one in mine.get_all(across=["project"]))
    assert "heron" in said
    assert "Mondays" in said


@pytest.mark.parametrize("daemon", [False, True])
def test_a_hook_says_that_the_service_is_away_and_keeps_what_was_said(
    tmp_path: Path, *, daemon: bool
) -> None:
    with bound("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    stated = {"MEMORY_MESH_STORE": f"http://127.0.0.1:{port}", "MEMORY_MESH_ACCESS_KEY": "mm_x"}
    host = AwayHost(tmp_path / "home", stated)
    with host.daemon() if daemon else nullcontext():
        assert host.prompt("Remember: I always deploy to the staging host heron").raw == b""
        until(lambda: len(host.told("capture")) == 1)
    for what in ("hook", "capture"):
        (line,) = host.told(what)
        assert (line["outcome"], line["reason"]) == ("away", "ServiceIsAway")


def test_a_hook_whose_service_is_away_starts_a_daemon_for_the_next_one(tmp_path: Path) -> None:
    with bound("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    stated = {"MEMORY_MESH_STORE": url, "MEMORY_MESH_ACCESS_KEY": "mm_x", "MEMORY_MESH_DAEMON": "1"}
    host = AwayHost(tmp_path / "home", stated)
    try:
        host.prompt("Which staging host do I deploy to?")
        until(lambda: recorded(str(host.store)) is not None)
    finally:
        host.stop_daemon()


def test_the_only_place_of_a_key_is_where_it_reads(service: Served) -> None:
    for place in ("user:eve", "eves"):
        mesh = service.mesh(service.new_key("eve", {place: "owner"}, speaks_as="user"))
        mesh.add(f"Eve keeps bees in {place}")
        assert [one.text for one in mesh.get_all()] == [f"Eve keeps bees in {place}"]
    assert "bees" in service.behind.for_user("eve").get_all()[0].text


def test_a_namespace_that_is_named_is_not_the_only_place_of_a_key(service: Served) -> None:
    mesh = service.mesh(service.new_key("fay", {"fays": "editor"}))
    mesh.add("Fay keeps ducks")
    with pytest.raises(NotAllowed, match="in the namespace default"):
        mesh.view(namespace="default").search("ducks")
    with pytest.raises(NotAllowed, match="in the namespace default"):
        mesh.search("ducks", also=[mesh.view(namespace="default")])


def test_a_service_that_is_away(tmp_path: Path) -> None:
    mesh = MemoryMesh("http://127.0.0.1:9", key="mm_x_y")
    with pytest.raises(StoreIsAway, match="refuses the connection"):
        mesh.search("x")
    with pytest.raises(InvalidInput, match="opens with a key"):
        MemoryMesh("http://127.0.0.1:9")


def test_a_service_that_answers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits a minute for a process that hangs; a slow one is waited for."""
    monkeypatch.setattr(remote, "_SILENT_SECONDS", 0.3)
    monkeypatch.setattr(remote, "_LOOK", Limits(read_seconds=0.3, attempts=1))
    over = threading.Event()

    def say_nothing(_channel: object) -> None:
        over.wait(60)

    with servers.listening(say_nothing) as port:
        mesh = MemoryMesh(f"http://127.0.0.1:{port}", key="mm_x_y")
        with pytest.raises(StoreIsAway, match="not even /livez"):
            mesh.search("x")
        with pytest.raises(MayBeStored, match="not even /livez"):
            mesh.update("mem_1", tags=["x"])
        over.set()

    def slow(request: servers.Request) -> servers.Reply:
        is_asked = request.path == "/v1/search"
        return servers.Reply(b"[]" if is_asked else b"ok", wait=0.6 if is_asked else 0)

    with servers.serve(slow) as server, MemoryMesh(server.url, key="mm_x_y") as mesh:
        assert mesh.search("x") == []
    assert [request.path for request in server.requests] == ["/readyz", "/v1/search", "/livez"]


class TestKeys:
    def test_without_a_key_nothing_opens(self, service: Served) -> None:
        for header in ("", "Bearer", "Bearer mm_0_0", "Basic eDp5", f"Bearer {service.key}x"):
            status, problem = ask(service, "/v1/search", {"query": "x"}, Authorization=header)
            assert (status, problem["title"]) == (401, "NotAllowed")
            assert problem["headers"]["www-authenticate"] == "Bearer"

    def test_the_nearest_grant_counts(self, service: Served) -> None:
        key = service.new_key(
            "k", {"*": "reader", "team": "editor", "user:ann": "owner"}, speaks_as="user"
        )
        mesh = service.mesh(key)
        mesh.view(namespace="team").add("The team meets on Monday")
        with pytest.raises(NotFound):
            mesh.for_user("ann").erase("mem_none", dry_run=True)
        for refused in (
            lambda: mesh.add("Not here"),
            lambda: mesh.for_user("bob").add("Nor here"),
            lambda: mesh.view(namespace="team").erase("mem_none", dry_run=True),
            lambda: mesh.erase(user="ann"),
            mesh.users,
            mesh.care.upkeep,
            mesh.care.access_keys.get_all,
            lambda: mesh.review.waiting(as_owner=True),
        ):
            with pytest.raises(NotAllowed, match="may not"):
                refused()
        assert mesh.search("team") == []

    def test_nobody_reads_the_keys_as_memories(self, service: Served) -> None:
        with pytest.raises(NotAllowed):
            service.mesh().view(namespace="memory-mesh.service").care.blocks()

    def test_an_agent_never_speaks_as_the_user(self, service: Served) -> None:
        agent = service.mesh(service.new_key("bot", {"*": "editor"}))
        for channel in ("library", "cli", "hook"):
            stored = agent.view(channel=channel, namespace="bot").add(f"Said by {channel}")
            found = service.mesh().view(namespace="bot").get(stored.id or "")
            assert found is not None
            assert found.source.kind == "inference"
        user = (
            service.mesh()
            .view(namespace="bot")
            .add("Said by the user", source_kind="user_explicit")
        )
        with pytest.raises(NotAllowed):
            agent.view(namespace="bot").review.decide(user.id or "", approve=False)

    def test_a_key_ends(self, tmp_path: Path) -> None:
        clock = FrozenClock()
        with served(tmp_path, clock=clock, embedder="none") as service:
            short = service.new_key("short", {"*": "reader"}, days=1)
            assert service.mesh(short).search("x") == []
            clock.advance(timedelta(days=1, seconds=1))
            service.behind.care.access_keys.revoke(service.key.split("_")[1])
            with served(tmp_path, clock=clock, embedder="none") as other:  # believes nothing yet
                for ended in (short, service.key):
                    with pytest.raises(NotAllowed, match="needs a key"):
                        other.mesh(ended).search("x")

    def test_a_rotated_key_and_its_successor_open_both(self, service: Served) -> None:
        old = service.new_key("turning", {"team": "reader"})
        keys = service.mesh().care.access_keys
        new = keys.rotate(old.split("_")[1])
        assert new.grants == {"team": "reader"}
        for key in (old, new.text):
            assert service.mesh(key).view(namespace="team").get("mem_none") is None
        assert [key.text for key in keys.get_all()] == [None] * len(keys.get_all())

    def test_a_key_that_is_over_stays_so_when_it_is_rotated(self, service: Served) -> None:
        keys = service.mesh().care.access_keys
        old = service.new_key("over", {"team": "reader"})
        ended = keys.revoke(old.split("_")[1])
        keys.rotate(ended.id)
        assert {one.id: one.revoked for one in keys.get_all()}[ended.id] == ended.revoked
        with pytest.raises(NotAllowed, match="needs a key"):
            service.mesh(old).view(namespace="team").get("mem_none")

    def test_every_change_is_a_block(self, tmp_path: Path) -> None:
        with MemoryMesh(tmp_path, embedder="none") as mesh:
            made = mesh.care.access_keys.add("k", grants={"team": "reader"})
            mesh.care.access_keys.revoke(made.id)
            kept = mesh.view(namespace="memory-mesh.service").care
            said = [block.entry.metadata["reason"] for block in kept.blocks()]
            assert said == [f"made the key {made.id}", f"revoked the key {made.id}"]
            assert kept.verify().ok
            assert made.text is not None
            secret = made.text.partition(f"{made.id}_")[2].encode()
            assert len(secret) > 20
            assert not any(
                secret in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()
            )

    @pytest.mark.parametrize(
        "given",
        [
            {"name": " ", "grants": {"*": "reader"}},
            {"name": "k", "grants": {}},
            {"name": "k" * 101, "grants": {"*": "reader"}},
            {"name": "k", "grants": {"*": "king"}},
            {"name": "k", "grants": {"team": "admin"}},
            {"name": "k", "grants": {"memory-mesh.service": "owner"}},
            {"name": "k", "grants": {"*": "reader"}, "speaks_as": "god"},
            {"name": "k", "grants": {"*": "reader"}, "days": 0},
        ],
    )
    def test_a_key_that_makes_no_sense_is_refused(self, service: Served, given: Any) -> None:
        with pytest.raises(InvalidInput):
            service.mesh().care.access_keys.add(**given)

    def test_only_the_user_makes_keys(self, tmp_path: Path) -> None:
        with (
            MemoryMesh(tmp_path, channel="mcp", embedder="none") as mesh,
            pytest.raises(NotAllowed),
        ):
            mesh.care.access_keys.add("k", grants={"*": "admin"})


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = KeyLimits(max_bytes=1_000, rate=0.001, burst=3)
    with served(tmp_path_factory.mktemp("narrow"), limits, embedder="none") as found:
        yield found


class TestLimits:
    def test_a_large_body_is_refused(self, narrow: Served) -> None:
        status, problem = ask(narrow, "/v1/add", {"content": "x" * 1_000})
        assert (status, problem["status"]) == (413, 413)

    def test_a_key_that_asks_too_often_waits(self, narrow: Served) -> None:
        key = narrow.new_key("busy", {"*": "reader"})
        sent = [
            ask(narrow, "/v1/get", {"memory_id": "m"}, Authorization=f"Bearer {key}")
            for _ in range(4)
        ]
        assert [status for status, _ in sent] == [200, 200, 200, 429]
        assert int(sent[-1][1]["headers"]["retry-after"]) > 0


def test_a_bulk_load_leaves_threads_to_others(tmp_path: Path) -> None:
    """Calls of one namespace wait for each other; too many are told to come back."""
    going, done = threading.Event(), list[str]()

    async def run(service: Service) -> int:
        async def bulk() -> None:
            try:
                await service.in_thread(lambda: going.wait(30), of="bulk")
            except Problem as problem:
                done.append(f"{problem.status} {dict(problem.headers or {})['retry-after']}")

        async with anyio.create_task_group() as group:
            for _ in range(106):  # 4 at work, 100 that wait
                group.start_soon(bulk)
            await anyio.wait_all_tasks_blocked()
            other: int = await service.in_thread(lambda: 7, of="other")
            going.set()
        return other

    with MemoryMesh(tmp_path, embedder="none") as mesh:
        assert anyio.run(run, Service(mesh)) == 7
    assert done == ["503 2", "503 2"]


def test_a_namespace_rests_after_a_long_write_while_others_ask(tmp_path: Path) -> None:
    """Then as much time is left to them as it took, and its calls run one at a time."""

    async def run(service: Service, *, asks: bool, writes: bool) -> tuple[float, int]:
        async def bulk() -> None:
            await service.in_thread(lambda: going.wait(30), of="bulk", writes=writes)

        going = threading.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(bulk)
            await anyio.wait_all_tasks_blocked()
            for _ in range(3):  # for longer than a long call
                await service.in_thread(lambda: time.sleep(0.05), of="other" if asks else "bulk")
            going.set()
        share = service._shares.get("bulk")
        return (4, 0) if share is None else (share.total_tokens, share.borrowed_tokens)

    with MemoryMesh(tmp_path, embedder="none") as mesh:
        for asks, writes, left in (
            (True, True, (1, 1)),
            (False, True, (4, 0)),
            (True, False, (4, 0)),
        ):
            assert anyio.run(partial(run, Service(mesh), asks=asks, writes=writes)) == left


class TestEnding:
    """A process that is asked to end, while a balancer sends it requests."""

    @pytest.fixture
    def running(self, tmp_path: Path) -> Iterator[tuple[Any, str, dict[str, str]]]:
        with MemoryMesh(tmp_path, embedder="none") as mesh, bound("127.0.0.1", 0) as listener:
            key = mesh.care.access_keys.add("k", grants={"*": "reader"}).text
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            service = Service(mesh)
            config = uvicorn.Config(application(service, url), log_level="warning", ws="none")
            server = mcp._Server(config, service)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()
            until(lambda: server.started)
            yield server, url, {"Authorization": f"Bearer {key}"}
            server.should_exit = True
            thread.join()
            AppStatus.should_exit = False  # the streams of MCP take one server for all of a process

    def test_it_says_so_and_answers_on(self, running: Any) -> None:
        server, url, headers = running
        assert urlopen(f"{url}/readyz").status == 200  # a balancer looks
        server.handle_exit(signal.SIGTERM, None)
        with pytest.raises(HTTPError, match="503"):
            urlopen(f"{url}/readyz")
        until(lambda: (b"connection", b"close") in server.server_state.default_headers)
        assert urlopen(f"{url}/livez").status == 200
        with urlopen(Request(f"{url}/v1/search", b'{"query": "x"}', headers)) as answer:
            assert json.load(answer)["items"] == []
            assert answer.headers["Connection"] == "close"
        server._end = 0.0  # the five seconds are over
        until(lambda: server._service.stopping and server.should_exit)

    @pytest.mark.parametrize(
        ("how", "looked"), [(signal.SIGTERM, False), (signal.SIGINT, True), (signal.SIGINT, False)]
    )
    def test_nobody_waits_where_no_balancer_looks(
        self, running: Any, how: signal.Signals, *, looked: bool
    ) -> None:
        server, url, _ = running
        if looked:
            assert urlopen(f"{url}/readyz").status == 200
        server.handle_exit(how, None)
        assert server._service.stopping
        assert server.should_exit


class TestRequests:
    def test_a_repeated_call_stores_nothing_twice(self, service: Served) -> None:
        headers = {"Idempotency_Key": "once", "Memory_Mesh_Namespace": "repeats"}
        first, again = (ask(service, "/v1/add", {"content": "Once"}, **headers) for _ in range(2))
        assert first[1]["id"] == again[1]["id"]
        assert again[1]["again"] is True
        status, problem = ask(service, "/v1/add", {"content": "Another"}, **headers)
        assert (status, problem["title"]) == (409, "IdempotencyConflict")
        many = {"items": ["One of two", {"content": "Two of two"}]}
        sent = [ask(service, "/v1/add_many", many, **headers)[1] for _ in range(2)]
        assert [one["id"] for one in sent[0]] == [one["id"] for one in sent[1]]
        _, sent = ask(service, "/v1/add_many", {"items": ["Again", 4]}, **headers)
        assert [one["outcome"] for one in sent] == ["refused", "refused"]  # no item is dropped
        status, _ = ask(service, "/v1/rate", {"memory_id": "m", "helpful": True}, **headers)
        assert status == 403

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            (b"{", 400), (b"[]", 400), (b"\xff", 400), (b'{"query": 1}', 400), (b"{}", 400),
            (b'{"query": "x", "limit": 1e400}', 400), (b'{"query": "x", "scope": 3}', 400),
            (b'{"query": "x", "scope": {"project": 3}}', 400), (b'{"query": "\\ud800"}', 400),
            (b"[" * 100_000, 400), (b'{"query": "x", "also": 3}', 400),
            (b'{"query": "x", "also": [3]}', 400),
            (b'{"query": "x", "also": [' + b"{}," * 20 + b"{}]}", 400),
        ],
    )  # fmt: skip
    def test_a_body_that_is_none_is_a_problem(
        self, service: Served, body: bytes, status: int
    ) -> None:
        found, problem = ask(service, "/v1/search", body)
        assert found == status, problem
        assert problem["detail"]

    @pytest.mark.parametrize(
        "headers",
        [
            {"Memory_Mesh_User": ""},
            {"Memory_Mesh_User": "x" * 200},
            {"Memory_Mesh_User": "a", "Memory_Mesh_Namespace": "b"},
            {"Memory_Mesh_Namespace": "user.ann"},
            {"Memory_Mesh_Namespace": "a%00b"},
            {"Memory_Mesh_Channel": "god"},
            {"Memory_Mesh_Project": "%00"},
        ],
    )
    def test_a_header_that_names_nobody_is_a_problem(
        self, service: Served, headers: dict[str, str]
    ) -> None:
        status, problem = ask(service, "/v1/search", {"query": "x"}, **headers)
        assert status == 400, problem

    def test_what_there_is_not(self, service: Served) -> None:
        assert ask(service, "/v1/nothing")[0] == 404
        assert ask(service, "/v1/care/models/state")[0] == 404

    def test_it_says_how_it_is(self, service: Served) -> None:
        with urlopen(f"{service.url}/readyz") as answer:  # our own address
            assert answer.read() == b"ok\n"
        request = Request(
            f"{service.url}/metrics", headers={"Authorization": f"Bearer {service.key}"}
        )
        with urlopen(request) as answer:  # our own address
            from prometheus_client.parser import text_string_to_metric_families

            found = {one.name for one in text_string_to_metric_families(answer.read().decode())}
        assert found == {"memory_mesh_http_requests", "memory_mesh_http_seconds"}


def test_processes_over_one_database_know_the_same_keys(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    with (
        served(database, db_dir=tmp_path / "one", embedder="none") as one,
        served(database, db_dir=tmp_path / "two", embedder="none") as two,
        one.mesh() as here,
        two.mesh(one.key) as there,
    ):
        key = here.care.access_keys.add("bea", grants={"team": "editor"}).text
        team = two.mesh(key).view(namespace="team")
        assert here.view(namespace="team").get(team.add("Seen by both").id or "") is not None
        assert {one.name for one in there.care.access_keys.get_all()} == {"first", "bea"}


def test_an_official_client_of_mcp_signs_in_with_a_key(service: Served) -> None:
    import httpx2
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    key = service.new_key("agent", {"user:mia": "editor"})

    async def talk() -> tuple[Any, Any, Any]:
        headers = {"Authorization": f"Bearer {key}", "Memory-Mesh-User": "mia"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            streamable_http_client(f"{service.url}/mcp", http_client=http) as (reads, writes, *_),
            ClientSession(reads, writes) as session,
        ):
            await session.initialize()
            stored = await session.call_tool("memory_store", {"content": "Mia prefers tea"})
            found = await session.call_tool("memory_search", {"query": "tea"})
            http.headers["Memory-Mesh-User"] = "ann"
            refused = await session.call_tool("memory_search", {"query": "tea"})
            return stored.structured_content, found.structured_content, refused

    stored, found, refused = anyio.run(talk)
    assert (stored["outcome"], stored["trust"]) == ("stored", "inference")
    assert [one["first_line"] for one in found["memories"]] == ["Mia prefers tea"]
    assert refused.is_error


def test_from_nothing_to_a_shared_memory_at_the_command_line(tmp_path: Path) -> None:
    """The real processes: serve prints the first key once; two people share what one stored."""
    plain = {name: text for name, text in os.environ.items() if not name.startswith("MEMORY_MESH")}
    plain |= dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(tmp_path))
    command = [sys.executable, "-m", "memory_mesh"]

    def run(*words: str, key: str) -> str:
        stated = plain | {"MEMORY_MESH_STORE": url, "MEMORY_MESH_ACCESS_KEY": key}
        done = subprocess.run(
            [*command, *words], env=stated, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    serving = [*command, "serve", "--port", "0", "--store", str(tmp_path / "store")]
    pipe = subprocess.PIPE
    with subprocess.Popen(serving, env=plain, stdout=pipe, stderr=pipe, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stderr is not None
            first = server.stdout.readline().strip()
            line = next(line for line in server.stderr if "Serving" in line)
            url = line.split(" at ")[1].split(";")[0]
            run("store", "--namespace", "team", "The office is in Oslo", key=first)
            keys = ("server", "keys", "add", "bea", "--grant", "team=editor", "--as-user", "--json")
            bea = json.loads(run(*keys, key=first))["text"]
            assert "Oslo" in run("search", "--namespace", "team", "Which office?", key=bea)
            assert "bea: team=editor" in run("server", "keys", key=first)
        finally:
            server.terminate()
    kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(key.encode() in text for text in kept for key in (first, bea))


def test_a_service_loads_its_model_before_anybody_asks(tmp_path: Path) -> None:
    plain = {name: text for name, text in os.environ.items() if not name.startswith("MEMORY_MESH")}
    command = [sys.executable, "-m", "memory_mesh", "serve", "--port", "0"]
    vector = servers.Reply(json.dumps({"embeddings": [[1.0, 0.0]]}).encode())
    with servers.serve(lambda _: vector) as model:
        settings = {"HOME": str(tmp_path), "MEMORY_MESH_EMBEDDER": "ollama"}
        settings["MEMORY_MESH_EMBEDDER_BASE_URL"] = model.url
        pipe = subprocess.DEVNULL
        with subprocess.Popen(command, env=plain | settings, stdout=pipe, stderr=pipe) as server:
            try:
                until(lambda: bool(model.requests))
            finally:
                server.terminate()
    assert b"warm" in model.requests[0].body


def test_wire_reads_what_a_newer_service_says() -> None:
    """Unknown fields are passed over, and a field that is not there has its default."""
    assert wire.decoded(Scope, {"object": "Scope", "project": "p", "newer": 1}) == Scope("p")
