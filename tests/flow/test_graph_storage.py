"""A storage of the caller's own keeps what a graph has, and gives all of it back."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from memory_mesh.compat.neolata import json_storage, memory_graph, memory_storage
from memory_mesh.model import Outcome, Status
from memory_mesh.model.errors import (
    InvalidInput,
    NotFound,
    StorageFailed,
    StoreIsBusy,
    StoreIsDamaged,
)
from memory_mesh.testing import FrozenClock
from tests.receipts import id_of

USER = {"source": "user_explicit"}
SCHEMAS = {"owner": {"conflictPolicy": "require_review"}}


class Plain:
    """A storage with the three methods and nothing else."""

    def __init__(self):
        self.kept, self.gone, self.calls = {}, {}, []
        self.broken = None

    def load(self, agent):
        self.calls.append(("load", agent))
        self._fail("load")
        return self.kept.get(agent)

    def save(self, agent, data):
        self.calls.append(("save", agent))
        self._fail("save")
        self.kept[agent] = json.loads(json.dumps(data))

    def archive(self, agent, ids):
        self.calls.append(("archive", agent))
        self._fail("archive")
        data = self.kept[agent]
        self.gone.setdefault(agent, []).extend(m for m in data["memories"] if m["id"] in ids)
        data["memories"] = [m for m in data["memories"] if m["id"] not in ids]

    def _fail(self, name):
        if self.broken == name:
            message = "https://db.example.com refused Bearer abcdefghijklmnop.qrstuvwxyz0123456789"
            raise ConnectionError(message)


class Columns(Plain):
    """A storage that keeps neolata's columns and drops what it does not know."""

    def save(self, agent, data):
        super().save(agent, data)
        for row in self.kept[agent]["memories"]:
            del row["mesh"]


@dataclass
class Opener:
    """Opens graphs over the same kept data, one after the other."""

    kind: str
    make: Any
    clock: FrozenClock

    def __call__(self):
        return memory_graph.create_memory(
            storage=self.make(), clock=self.clock, predicate_schemas=SCHEMAS
        )


@pytest.fixture(params=["json", "memory", "plain", "columns"])
def opened(request, tmp_path, clock):
    shared = {"memory": memory_storage, "plain": Plain, "columns": Columns}
    if request.param == "json":
        return Opener("json", lambda: json_storage(dir=tmp_path / "kept"), clock)
    lasting = shared[request.param]()
    return Opener(request.param, lambda: lasting, clock)


def claim(predicate, value):
    return {"subject": "project x", "predicate": predicate, "value": value}


def everything(graph, agent="kuro"):
    return {
        hit.id: hit
        for hit in graph.search(agent, "budget owner harbour lamp", include_all=True, limit=100)
    }


@pytest.mark.req("R-003-078", "R-003-083", "R-003-084", "R-003-085", "R-003-087")
def test_a_second_graph_finds_everything_as_the_first_left_it(opened, clock):
    with opened() as graph:
        old = graph.store(
            "kuro", "The budget is 5k", claim=claim("budget", "5k"), provenance=USER,
            category="decision", tags=["money"], importance=0.9,
            event_time="2025-12-01T09:00:00Z",
        )  # fmt: skip
        clock.advance(timedelta(days=3))
        new = graph.store("kuro", "The budget is 6k", claim=claim("budget", "6k"), provenance=USER)
        owner = graph.store("kuro", "The owner is Ada", claim=claim("owner", "Ada"))
        waiting = graph.store("kuro", "The owner is Bob", claim=claim("owner", "Bob"))
        lamp = graph.store("kuro", "a green lamp", category="odd sort", provenance={
            "source": "tool_output", "sourceId": "scan 7"})  # fmt: skip
        graph.reinforce(id_of(lamp))
        graph.dispute(id_of(lamp))
        graph.store("mira", "a lamp of another agent")
        before, pending = everything(graph), graph.pending_conflicts()
        assert waiting.outcome is Outcome.QUARANTINED
    clock.advance(timedelta(days=10))
    with opened() as graph:
        assert graph.search("kuro", "owner")[0].id == owner.id
        after = everything(graph)
        again = graph.pending_conflicts()
        for id_, memory in before.items():
            back = after[id_]
            for name in (
                "memory", "agent", "category", "importance", "tags", "created_at", "updated_at",
                "event_time", "claim", "status", "quarantine", "reinforcements", "disputes",
                "superseded_by", "supersedes",
            ):  # fmt: skip
                assert getattr(back, name) == getattr(memory, name), name
            assert back.provenance.source == memory.provenance.source
            assert back.provenance.source_id == memory.provenance.source_id
            assert back.provenance.corroboration == memory.provenance.corroboration
        assert (
            after.keys() == before.keys() == {each.id for each in (old, new, owner, waiting, lamp)}
        )
        if opened.kind != "columns":  # which has no place for them
            assert [each.id for each in again] == [each.id for each in pending]
        done = graph.review_quarantine(id_of(waiting), action="activate")
        assert done.status is Status.ACTIVE
        assert [hit.memory for hit in graph.search("kuro", "owner")] == ["The owner is Bob"]
        assert graph._mesh.care.verify().findings == ()


@pytest.mark.req("R-003-086")
def test_what_is_archived_leaves_what_is_loaded(clock):
    storage = Plain()
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        kept = graph.store("kuro", "the harbour opens at six")
        gone = graph.store("kuro", "the harbour never opens", quarantine=True)
        graph.review_quarantine(id_of(gone), action="reject")
        assert [row["id"] for row in storage.gone["kuro"]] == [gone.id]
        assert storage.gone["kuro"][0]["status"] == "archived"
        graph.store("kuro", "the harbour closes at nine")
        assert gone.id not in {row["id"] for row in storage.kept["kuro"]["memories"]}
        assert storage.calls.count(("archive", "kuro")) == 1
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        found = graph.search("kuro", "harbour", include_all=True)
        assert kept.id in {hit.id for hit in found}
        assert gone.id not in {hit.id for hit in found}


@pytest.mark.req("R-003-096", "R-003-085")
def test_a_storage_that_fails_is_told_of_and_loses_nothing(clock):
    storage = Plain()
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        graph.store("kuro", "the harbour opens at six")
        storage.broken = "save"
        with pytest.raises(StorageFailed, match="save the memories of 'kuro'") as failed:
            graph.store("kuro", "the harbour closes at nine")
        shown = "".join(map(str, (failed.value, failed.value.__cause__)))
        assert "abcdefghijkl" not in shown
        assert "save()" in shown
        assert len(graph.search("kuro", "harbour")) == 2
        assert len(storage.kept["kuro"]["memories"]) == 1
        with pytest.raises(StorageFailed):
            graph.save()
        storage.broken = None
        graph.save()
        assert len(storage.kept["kuro"]["memories"]) == 2
        storage.broken = "save"
        with pytest.raises(StorageFailed):
            graph.store("kuro", "the harbour is closed on Sundays")
        storage.broken = None
    assert len(storage.kept["kuro"]["memories"]) == 3


def test_close_says_so_when_the_last_save_failed(clock):
    storage = Plain()
    graph = memory_graph.create_memory(storage=storage, clock=clock)
    storage.broken = "save"
    with pytest.raises(StorageFailed):
        graph.store("kuro", "the harbour opens at six")
    with pytest.raises(StorageFailed):
        graph.close()


def test_what_cannot_be_loaded_is_not_written_over(clock):
    storage = Plain()
    storage.broken = "load"
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        for _ in range(2):
            with pytest.raises(StorageFailed, match="Nothing was changed"):
                graph.store("kuro", "the harbour opens at six")
        assert ("save", "kuro") not in storage.calls
        storage.broken = None
        graph.store("kuro", "the harbour opens at six")
    assert storage.calls.count(("load", "kuro")) == 3


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({}, "id"),
        ({"id": "m", "created_at": "2026-01-01T00:00:00Z"}, "content"),
        ({"id": "m", "content": "x"}, "created_at"),
        ({"id": "m", "content": "x", "created_at": "soon"}, "created_at"),
        ({"id": "m", "content": "x", "created_at": "2026-01-01", "status": "odd"}, "odd"),
        ({"id": "m", "content": "x", "created_at": "2026-01-01", "status": "deleted"}, "status"),
        ({"id": "m", "content": "x", "created_at": "2026-01-01", "disputes": -1}, "count"),
        ({"id": "m", "content": "x", "created_at": "2026-01-01", "mesh": {}}, "kind is missing"),
        ({"id": "m", "content": "x", "created_at": "2026-01-01", "claim": {"subject": "s"}},
         "predicate"),
        ("text", "mapping"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_named(clock, row, why):
    storage = Plain()
    storage.kept["kuro"] = {"memories": [row]}
    with (
        memory_graph.create_memory(storage=storage, clock=clock) as graph,
        pytest.raises(InvalidInput, match=why),
    ):
        graph.search("kuro", "x")


@pytest.mark.req("R-003-084", "R-003-085")
def test_rows_in_javascripts_spelling_are_read(clock):
    storage = Plain()
    row = {
        "id": "mem-1", "memory": "the harbour opens at six", "createdAt": "2026-01-01T00:00:00Z",
        "eventTime": "2025-12-24", "supersededBy": None, "accessCount": 3,
        "provenance": {"source": "user_explicit", "sourceId": "mail"},
    }  # fmt: skip
    other = {"id": "mem-2", "content": "the harbour is old", "created_at": "2026-01-01"}
    links = [
        {"sourceId": "mem-1", "targetId": "mem-2", "similarity": 0.7},
        {"source": "mem-1", "target": "nobody", "similarity": 0.9},
    ]
    storage.kept["kuro"] = {"memories": [row, other], "links": links}
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        (hit,) = graph.search("kuro", "opens")
        assert (hit.id, hit.access_count >= 3, hit.confidence) == ("mem-1", True, 1.0)
        assert hit.provenance.source_id == "mail"
        graph.store("kuro", "news")
        (link,) = storage.kept["kuro"]["links"]
        assert (link["source_id"], link["target_id"], link["type"]) == ("mem-1", "mem-2", "similar")
        assert link["similarity"] == 0.7


def test_one_id_belongs_to_one_memory(clock):
    storage = Plain()
    row = {"id": "m", "content": "x", "created_at": "2026-01-01"}
    storage.kept["kuro"] = {"memories": [row, row]}
    storage.kept["mira"] = {"memories": [row]}
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        with pytest.raises(InvalidInput, match="twice"):
            graph.search("kuro", "x")
        assert len(graph.search("mira", "x")) == 1


def test_memories_of_another_project_are_kept_and_not_shown(clock):
    storage = Plain()
    with memory_graph.create_memory(storage=storage, clock=clock, project="one") as graph:
        graph.store("kuro", "the harbour opens at six")
    with memory_graph.create_memory(storage=storage, clock=clock, project="two") as graph:
        assert graph.search("kuro", "harbour") == []
        graph.store("kuro", "the lamp is green")
        assert len(storage.kept["kuro"]["memories"]) == 2
    with memory_graph.create_memory(storage=storage, clock=clock, project="one") as graph:
        assert [hit.memory for hit in graph.search("kuro", "harbour lamp")] == [
            "the harbour opens at six"
        ]


def test_a_session_expires_by_its_last_write_and_not_by_a_load(clock):
    storage = Plain()
    session = {"subject": "s", "predicate": "p", "value": "v", "scope": "session", "sessionId": "s"}
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        graph.store("kuro", "the harbour opens at six", claim=session)
    for days, seen in ((20, 1), (20, 0)):
        clock.advance(timedelta(days=days))
        with memory_graph.create_memory(storage=storage, clock=clock) as graph:
            assert len(graph.search("kuro", "harbour", session_id="s")) == seen
            assert graph._mesh.care.verify().findings == ()


def test_an_id_is_found_once_its_agent_is_known(clock):
    listed, unlisted = memory_storage(), Plain()
    for storage in (listed, unlisted):
        with memory_graph.create_memory(storage=storage, clock=clock) as graph:
            stored = id_of(graph.store("kuro", "the harbour opens at six"))
        with memory_graph.create_memory(storage=storage, clock=clock) as graph:
            if storage is unlisted:
                assert graph.search(None, "harbour") == []
                with pytest.raises(NotFound, match="name its agent first"):
                    graph.reinforce(stored)
                graph.search("kuro", "harbour")
            assert graph.reinforce(stored).reinforcements == 1
            assert len(graph.search(None, "harbour")) == 1


def test_a_storage_needs_its_three_methods_and_no_folder_beside_it(tmp_path, clock):
    with pytest.raises(InvalidInput, match="no load"):
        memory_graph.create_memory(storage=object(), clock=clock)  # type: ignore[call-overload]

    class Awaited(Plain):
        async def load_episodes(self, agent):
            """Would have to be awaited."""

    with pytest.raises(InvalidInput, match="load_episodes of a storage"):
        memory_graph.create_memory(storage=Awaited(), clock=clock)
    with pytest.raises(InvalidInput, match="give one of them"):
        memory_graph.create_memory(storage=Plain(), db_dir=tmp_path)


def test_every_write_of_an_agent_saves_that_agent_once(clock):
    storage = Plain()
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        graph.store_many("kuro", [f"lamp {number}" for number in range(70)])
        stored = graph.store("mira", "a harbour")
        graph.reinforce(id_of(stored))
    assert storage.calls == [
        ("load", "kuro"), ("save", "kuro"), ("load", "mira"), ("save", "mira"), ("save", "mira"),
    ]  # fmt: skip


def test_threads_that_write_at_once_are_all_saved(clock):
    storage = Plain()
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:

        def write(number):
            for each in range(5):
                graph.store(f"agent {number % 2}", f"lamp {number} {each}")

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(write, range(6)))
    assert [len(storage.kept[f"agent {n}"]["memories"]) for n in range(2)] == [15, 15]
    assert [storage.calls.count(("load", f"agent {n}")) for n in range(2)] == [1, 1]


def test_an_agent_whose_name_is_redacted_is_saved_under_the_name_given(clock):
    storage, card = Plain(), "4111 1111 1111 1111"
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        stored = graph.store(card, "a lamp")
        assert graph.search(card, "lamp")[0].agent != card
        graph.reinforce(id_of(stored))
    assert storage.kept.keys() == {card}
    with memory_graph.create_memory(storage=storage, clock=clock) as graph:
        assert graph.search(card, "lamp")[0].reinforcements == 1


def test_the_files_of_a_json_storage_are_separate_and_readable(tmp_path, clock):
    storage = json_storage(dir=tmp_path / "kept")
    with memory_graph.create_memory(
        storage=storage, clock=clock, predicate_schemas=SCHEMAS
    ) as graph:
        graph.store("Kuro. B", "The owner is Ada", claim=claim("owner", "Ada"))
        graph.store("Kuro. B", "The owner is Bob", claim=claim("owner", "Bob"))
    (folder,) = (tmp_path / "kept").glob("agent-*")
    assert folder.name == "agent-%4buro%2e%20%42"
    files = {path.name: json.loads(path.read_text()) for path in folder.iterdir()}
    assert {"memories.json", "links.json", "pending_conflicts.json"} <= files.keys()
    assert [row["content"] for row in files["memories.json"]] == [
        "The owner is Ada", "The owner is Bob",
    ]  # fmt: skip
    (conflict,) = files["pending_conflicts.json"]
    assert conflict["new_claim"]["value"] == "Bob"
    assert conflict["existing_claim"]["value"] == "Ada"
    again = json_storage(dir=tmp_path / "kept")
    assert again.agents() == ["Kuro. B"]
    again.close()


def test_a_damaged_file_stops_that_agent_and_stays_as_it_is(tmp_path, clock):
    damaged = tmp_path / "kept/agent-kuro/memories.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text('[{"id": ')
    with memory_graph.create_memory(
        storage=json_storage(dir=tmp_path / "kept"), clock=clock
    ) as graph:
        with pytest.raises(StoreIsDamaged, match="Repair the file"):
            graph.store("kuro", "news")
        graph.store("mira", "news")
    assert damaged.read_text() == '[{"id": '


def test_no_name_and_no_link_leads_out_of_the_folder(tmp_path, clock):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/agent-kuro").symlink_to(outside)
    with memory_graph.create_memory(
        storage=json_storage(dir=tmp_path / "kept"), clock=clock
    ) as graph:
        with pytest.raises(InvalidInput, match="links are not followed"):
            graph.store("kuro", "news")
        for name in ("..", ".", "-", "con"):
            graph.store(name, "news")
    assert list(outside.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "kept"}


OTHER = """
import sys
from memory_mesh.compat.neolata import json_storage, memory_graph
graph = memory_graph.create_memory(storage=json_storage(dir=sys.argv[1]))
try:
    graph.store("kuro", "from another process")
except Exception as error:
    print(type(error).__name__, error)
else:
    print("stored")
graph.close()
"""


def test_a_folder_of_json_files_has_one_writer(tmp_path, clock):
    def other():
        command = [sys.executable, "-c", OTHER, str(tmp_path / "kept")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        return done.stdout

    with memory_graph.create_memory(
        storage=json_storage(dir=tmp_path / "kept"), clock=clock
    ) as graph:
        graph.store("kuro", "the harbour opens at six")
        with (
            memory_graph.create_memory(storage=json_storage(dir=tmp_path / "kept")) as second,
            pytest.raises(StoreIsBusy, match="db_dir"),
        ):
            second.search("kuro", "harbour")
        assert other().startswith("StoreIsBusy")
    assert other() == "stored\n"
    with memory_graph.create_memory(
        storage=json_storage(dir=tmp_path / "kept"), clock=clock
    ) as graph:
        assert len(graph.search("kuro", "harbour process")) == 2


def test_a_kill_leaves_whole_files(tmp_path, clock):
    with memory_graph.create_memory(
        storage=json_storage(dir=tmp_path / "kept"), clock=clock
    ) as graph:
        graph.store("kuro", "the harbour opens at six")
    killed = OTHER.replace(
        "graph = ",
        "import memory_mesh.platform.durable_files as files, os, pathlib\n"
        "pathlib.Path.replace = lambda *_: os._exit(9)\ngraph = ",
    )
    command = [sys.executable, "-c", killed, str(tmp_path / "kept")]
    assert subprocess.run(command, check=False, timeout=300).returncode == 9
    with memory_graph.create_memory(
        storage=json_storage(dir=tmp_path / "kept"), clock=clock
    ) as graph:
        assert len(graph.search("kuro", "harbour process")) == 1
