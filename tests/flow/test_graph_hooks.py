"""Events and write-through hooks: told after a write, and never in its way."""

import asyncio
import json
import os
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from memory_mesh.compat import neolata as awaited
from memory_mesh.compat.neolata import (
    GraphEvent,
    hooks,
    markdown_writethrough,
    memory_graph,
    memory_storage,
    webhook_writethrough,
)
from memory_mesh.formats import memory_log
from memory_mesh.model.errors import ForbiddenAddress, InvalidInput, StorageFailed
from tests.receipts import id_of
from tests.servers import Reply, serve

USER = {"source": "user_explicit"}


class Heard(list[GraphEvent]):
    """A handler that remembers events, with the events it wants."""

    def __init__(self, *events):
        super().__init__()
        self.events = events or hooks.EVENTS

    def __call__(self, event):
        self.append(event)

    def told(self):
        return [(event.event, event.memory.memory) for event in self]


def claim(value):
    return {"subject": "project x", "predicate": "budget", "value": value}


@pytest.fixture
def graph(tmp_path, clock):
    with memory_graph.create_memory(db_dir=tmp_path / "graph", clock=clock) as opened:
        yield opened


@pytest.mark.req("R-003-099")
def test_every_event_is_told_after_its_write(tmp_path, clock):
    heard = Heard()
    with memory_graph.create_memory(
        db_dir=tmp_path / "graph", clock=clock, writethrough=[heard]
    ) as graph:
        graph.store("kuro", "budget 5k", claim=claim("5k"), provenance=USER)
        graph.store("kuro", "budget 6k", claim=claim("6k"), provenance=USER)
        weak = graph.store("kuro", "budget 9k", claim=claim("9k"))
        graph.review_quarantine(id_of(weak), action="reject", reason="no")
        lamp = graph.store("kuro", "a lamp", provenance={"source": "inference"})
        graph.store("kuro", "a lamp")  # known already
        for _ in range(3):
            graph.dispute(id_of(lamp), reason="wrong")
        assert graph.wait_for_hooks()
    assert heard.told() == [
        ("store", "budget 5k"),
        ("store", "budget 6k"),
        ("supersede", "budget 5k"),
        ("quarantine", "budget 9k"),
        ("archive", "budget 9k"),
        ("store", "a lamp"),
        ("quarantine", "a lamp"),
    ]
    superseded = heard[2]
    assert superseded.memory.superseded_by == heard[1].memory.id
    assert (superseded.agent, superseded.memory.status) == ("kuro", "superseded")
    assert (heard[4].reason, heard[6].reason) == ("no", "wrong")


def test_a_decision_on_a_conflict_is_told_by_what_it_changed(graph):
    heard = Heard()
    for event in hooks.EVENTS:
        graph.on(event, heard)
    graph.store("kuro", "budget 5k", claim=claim("5k"), provenance=USER)
    for value, resolution in (("7k", "reject"), ("8k", "supersede")):
        graph.store("kuro", f"budget {value}", claim=claim(value))
        (pending,) = graph.pending_conflicts()
        graph.resolve_conflict(pending.id, resolution)
    assert graph.wait_for_hooks()
    assert heard.told() == [
        ("store", "budget 5k"),
        ("quarantine", "budget 7k"),
        ("archive", "budget 7k"),
        ("quarantine", "budget 8k"),
        ("supersede", "budget 5k"),
    ]


def test_a_handler_hears_what_it_asked_for_until_it_is_taken_off(graph):
    heard = Heard()
    graph.on("store", heard)
    graph.on("store", heard)  # once
    graph.store("kuro", "one")
    assert graph.wait_for_hooks()
    assert graph.off("store", heard)
    assert not graph.off("store", heard)
    graph.store("kuro", "two")
    assert graph.wait_for_hooks()
    assert heard.told() == [("store", "one")]
    with pytest.raises(
        InvalidInput, match="there are store, supersede, quarantine, archive, decay"
    ):
        graph.on("erase", heard)
    with pytest.raises(InvalidInput, match="plain function"):
        graph.on("store", "print")

    async def later(event):
        """Would have to be awaited."""

    with pytest.raises(InvalidInput, match="plain function"):
        graph.on("store", later)


@pytest.mark.req("R-003-101")
def test_a_hook_that_fails_or_hangs_is_in_nobodys_way(tmp_path, clock, monkeypatch):
    monkeypatch.setattr(hooks, "CLOSING_SECONDS", 0.01)
    monkeypatch.setattr(hooks, "MAX_WAITING", 2)
    released, heard = threading.Event(), Heard()

    def hangs(_event):
        released.wait(60)

    def fails(_event):
        message = "cannot reach it with Bearer abcdefghijklmnop.qrstuvwxyz0123456789"
        raise OSError(message)

    with memory_graph.create_memory(
        db_dir=tmp_path / "graph", clock=clock, writethrough=[hangs, fails, heard]
    ) as graph:
        outcomes = []
        for number in range(4):
            outcomes.append(graph.store("kuro", f"lamp {number}").outcome)
            while len(heard) <= number:
                assert not graph.wait_for_hooks(0.01)
        assert outcomes == ["stored"] * 4
        assert len(graph.search("kuro", "lamp")) == 4
        states = {state.name.rpartition(".")[2]: state for state in graph.hook_states()}
        assert (states["hangs"].told, states["hangs"].waiting, states["hangs"].dropped) == (0, 2, 1)
        assert (states["Heard"].told, states["Heard"].failed) == (4, 0)
        assert (states["fails"].told, states["fails"].failed) == (0, 4)
        assert "abcdefgh" not in str(states["fails"].last_failure)
    released.set()
    assert len(heard) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_tells_its_own_events_and_not_its_parents(tmp_path, clock):
    log, released = tmp_path / "log", threading.Event()

    def write(event):
        released.wait(60)
        with log.open("a") as file:
            file.write(f"{os.getpid()} {event.memory.memory}\n")

    with memory_graph.create_memory(
        db_dir=tmp_path / "graph", clock=clock, writethrough=[write]
    ) as graph:
        graph.store("kuro", "of the parent")
        child = os.fork()
        if not child:
            released.set()
            graph.store("kuro", "of the child")
            os._exit(0 if graph.wait_for_hooks(30) else 1)
        assert os.waitpid(child, 0)[1] == 0
        released.set()
        assert graph.wait_for_hooks(30)
    assert sorted(log.read_text().splitlines()) == sorted(
        [f"{child} of the child", f"{os.getpid()} of the parent"]
    )


def test_a_memory_that_could_not_be_saved_is_told_of_all_the_same(clock):
    storage, heard = memory_storage(), Heard()

    def fail(agent, data):
        raise OSError("full")

    with memory_graph.create_memory(storage=storage, clock=clock, writethrough=[heard]) as graph:
        kept, storage.save = storage.save, fail  # type: ignore[method-assign]
        with pytest.raises(StorageFailed):
            graph.store("kuro", "a lamp")
        storage.save = kept  # type: ignore[method-assign]
    assert heard.told() == [("store", "a lamp")]


@pytest.mark.req("R-003-097")
def test_daily_markdown_files_hold_every_store(tmp_path, clock):
    folder = tmp_path / "log"
    with memory_graph.create_memory(
        db_dir=tmp_path / "graph", clock=clock, writethrough=[markdown_writethrough(dir=folder)]
    ) as graph:
        first = graph.store("kuro", "The harbour opens\n# at six", tags=["sea"], category="event")
        graph.store("kuro", "The harbour closes")
        assert graph.wait_for_hooks()
        today = f"memories-{clock.now():%Y-%m-%d}.md"
        clock.advance(timedelta(days=1))
        graph.store("kuro", "A new day")
        assert graph.wait_for_hooks()
        tomorrow = f"memories-{clock.now():%Y-%m-%d}.md"
    assert {path.name for path in folder.iterdir()} == {today, tomorrow}
    text = (folder / today).read_text()
    assert text.count("\n## ") == 2
    assert f"- id: `{first.id}`" in text
    assert "```text\nThe harbour opens\n# at six\n```" in text
    assert "- tags: `sea`" in text
    assert "A new day" in (folder / tomorrow).read_text()


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path, clock):
    folder, outside = tmp_path / "log", tmp_path / "outside.md"
    folder.mkdir()
    outside.write_text("mine")
    (folder / f"memories-{clock.now():%Y-%m-%d}.md").symlink_to(outside)
    with memory_graph.create_memory(
        db_dir=tmp_path / "graph", clock=clock, writethrough=[markdown_writethrough(dir=folder)]
    ) as graph:
        graph.store("kuro", "The harbour opens")
        assert graph.wait_for_hooks()
        (state,) = graph.hook_states()
        assert "links are not followed" in str(state.last_failure)
    assert outside.read_text() == "mine"


HOSTILE = st.text(st.sampled_from("`~#>-*[](!)<b/\\|\n\r\t \u202e\x1b\u200bé"), max_size=60)


@given(HOSTILE, HOSTILE)
def test_no_text_of_a_memory_is_markup_of_the_log(text, value):
    at = datetime(2026, 1, 1, tzinfo=UTC)
    lines = memory_log.entry("store", at, value, text, {"tags": value}).decode().split("\n")
    opening = next(index for index, line in enumerate(lines) if line.startswith("```"))
    fence = lines[opening].removesuffix("text")
    assert set(fence) == {"`"}
    closing = [index for index, line in enumerate(lines) if line.strip().startswith(fence)][1:]
    assert len(closing) == 1
    outside = lines[:opening] + lines[closing[0] + 1 :]
    assert all(line.isprintable() for line in lines)
    assert [line[:3] for line in outside if line] in (["## ", "- t"], ["## "])
    assert all(line.count("`") in {0, 2} for line in outside)


@pytest.mark.req("R-003-098")
def test_a_webhook_is_posted_each_store(tmp_path, clock):
    with serve(lambda _: Reply(b"", status=204)) as server:
        hook = webhook_writethrough(
            url=f"{server.url}/hooks/T0SECRET?key=S3CR3TKEY",
            headers={"Authorization": "Bearer x"},
            near_hosts=["127.0.0.1"],
        )
        with memory_graph.create_memory(
            db_dir=tmp_path / "graph", clock=clock, writethrough=[hook]
        ) as graph:
            stored = graph.store("kuro", "budget 5k", claim=claim("5k"), provenance=USER)
            graph.store("kuro", "budget 9k", claim=claim("9k"))  # waits: not a store
            graph.store("kuro", "budget 6k", claim=claim("6k"), provenance=USER)  # supersedes
            graph.store_many("mira", ["a lamp", "a harbour"])
            assert graph.wait_for_hooks()
            assert graph.hook_states()[0].told == 4
    request = server.requests[0]
    assert {each.method for each in server.requests} == {"POST"}
    assert [json.loads(each.body)["memory"]["content"] for each in server.requests] == [
        "budget 5k", "budget 6k", "a lamp", "a harbour",
    ]  # fmt: skip
    assert request.path == "/hooks/T0SECRET?key=S3CR3TKEY"
    assert request.headers["Authorization"] == "Bearer x"
    said = json.loads(request.body)
    assert (said["event"], said["agent"]) == ("store", "kuro")
    assert (said["memory"]["id"], said["memory"]["content"]) == (stored.id, "budget 5k")
    assert said["memory"]["claim"]["value"] == "5k"


@pytest.mark.req("R-003-093")
@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1", "172.16.0.1", "192.168.1.9", "100.64.0.1", "127.0.0.1", "[::1]", "[fd12::1]",
        "[::ffff:10.0.0.1]", "localhost", "api.localhost", "nas", "nas.local", "db.internal",
    ],
)  # fmt: skip
def test_a_webhook_to_a_near_host_is_refused_unless_the_user_lists_the_host(host):
    url = f"http://{host}/x"
    for listed in ((), ("10.0.0.2", "nas.lan")):
        with pytest.raises(ForbiddenAddress, match="near_hosts"):
            webhook_writethrough(url=url, near_hosts=listed)
    assert webhook_writethrough(url=url, near_hosts=["10.0.0.2", host]).events == ("store",)


@pytest.mark.req("R-003-092", "R-003-093")
@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]"])
def test_no_list_opens_a_link_local_address_to_a_webhook(host):
    with pytest.raises(ForbiddenAddress, match="not allowed"):
        webhook_writethrough(url=f"http://{host}/x", near_hosts=[host])


@pytest.mark.req("R-003-096")
def test_the_address_of_a_webhook_is_guarded_and_in_no_error(tmp_path, clock):
    for url in (
        "http://169.254.169.254/latest", "file:///etc/passwd", "https://user:pw@example.com/x",
    ):  # fmt: skip
        with pytest.raises(ForbiddenAddress) as refused:
            webhook_writethrough(url=url)
        assert "pw@" not in str(refused.value)
    with serve(lambda request: Reply(request.path.encode(), status=400)) as server:
        hook = webhook_writethrough(
            url=f"{server.url}/hooks/T0SECRETPATH?key=S3CR3TKEY", near_hosts=["127.0.0.1"]
        )
        with memory_graph.create_memory(
            db_dir=tmp_path / "graph", clock=clock, writethrough=[hook]
        ) as graph:
            graph.store("kuro", "a lamp")
            assert graph.wait_for_hooks()
            failure = str(graph.hook_states()[0].last_failure)
    assert "400" in failure
    assert "T0SECRET" not in failure
    assert "S3CR3T" not in failure


def test_the_async_face_takes_hooks_and_storages_too(clock):
    heard = Heard("store")

    async def story():
        async with awaited.create_memory(
            storage=memory_storage(), clock=clock, writethrough=[heard]
        ) as graph:
            graph.on("quarantine", heard)
            await graph.store("kuro", "a lamp")
            await graph.store("kuro", "another lamp", quarantine=True)
            assert await graph.wait_for_hooks()
            return [state.events for state in graph.hook_states()]

    assert asyncio.run(story()) == [("store", "quarantine")]
    assert heard.told() == [("store", "a lamp"), ("quarantine", "another lamp")]
