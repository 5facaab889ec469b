"""A graph over rows that a storage has already: walks, packs, archives and optional methods."""

import json
import tempfile

import pytest

from memory_mesh.compat.neolata import json_storage, memory_graph, memory_storage
from memory_mesh.model.errors import InvalidInput, StorageFailed
from memory_mesh.testing import FrozenClock
from tests.receipts import id_of

TEXTS = {
    "m1": "the harbour opens at six",
    "m2": "Ann has the keys of the blue room",
    "m3": "invoices are paid within thirty days",
    "m4": "a green lamp",
}


def row(id_, text):
    return {"id": id_, "content": text, "created_at": "2025-12-01T09:00:00Z"}


def link(source, target, type_="related", similarity=None):
    return {"source_id": source, "target_id": target, "type": type_, "similarity": similarity}


class Storage:
    """A storage with the three methods; others are added as a test needs them."""

    def __init__(self, *links):
        self.kept = {"memories": [row(*each) for each in TEXTS.items()], "links": list(links)}
        self.gone, self.failures = [], 0

    def load(self, agent):
        assert agent == "kuro"
        return self.kept

    def save(self, agent, data):
        assert agent == "kuro"
        self.kept = json.loads(json.dumps(data))

    def archive(self, agent, ids):
        assert agent == "kuro"
        if self.failures:
            self.failures -= 1
            raise ConnectionError
        self.gone += ids
        rows = self.kept["memories"]
        self.kept["memories"] = [each for each in rows if each["id"] not in ids]


def opened(storage, clock, **options):
    return memory_graph.create_memory(storage=storage, clock=clock, embedder="none", **options)


def rejected(graph, text):
    waiting = id_of(graph.store("kuro", text, quarantine=True))
    graph.review_quarantine(waiting, action="reject")
    return waiting


@pytest.mark.req("R-003-014")
def test_a_walk_of_the_face_takes_so_many_steps_of_the_wanted_types(clock):
    storage = Storage(link("m1", "m2"), link("m2", "m3", "follows"), link("m4", "m3"))
    with opened(storage, clock) as graph:
        graph.search("kuro", "harbour")
        for hops, reached in ((1, ["m2"]), (2, ["m2", "m3"]), (3, ["m2", "m3", "m4"])):
            assert [step.memory.id for step in graph.traverse("m1", hops)] == reached
        assert [step.memory.id for step in graph.traverse("m1", 3, types=["related"])] == ["m2"]


@pytest.mark.req("R-003-015")
def test_clusters_of_the_face_are_those_of_the_agent_named(clock):
    storage = memory_storage()
    for agent, ids in (("kuro", ("m1", "m2")), ("mira", ("m3", "m4"))):
        rows = [row(id_, TEXTS[id_]) for id_ in ids]
        storage.save(agent, {"memories": rows, "links": [link(*ids)]})
    with opened(storage, clock) as graph:
        assert len(graph.clusters()) == 2
        (own,) = graph.clusters(agent="kuro")
        assert set(own.memory_ids) == {"m1", "m2"}


@pytest.mark.req("R-003-026", "R-003-066")
def test_explain_tells_by_which_link_a_memory_came_along(clock):
    with opened(Storage(link("m1", "m2", "similar", 0.5)), clock) as graph:
        decisions = graph.context("kuro", "harbour opens", explain=True).explain
        assert decisions is not None
        found, other = decisions.included
        assert (found.id, found.section, found.because) == ("m1", "found", None)
        assert (other.id, other.section, other.because) == ("m2", "linked", "m1")
        assert other.score == pytest.approx(found.score * 0.5)


@pytest.mark.req("R-003-065")
def test_a_context_of_the_face_takes_what_its_search_finds(clock):
    with opened(Storage(), clock) as graph:
        graph.store("kuro", "the harbour is old", importance=1.0)
        hits = graph.search("kuro", "harbour opens")
        found = graph.context("kuro", "harbour opens")
        assert len(hits) == 2
        assert {hit.id: hit.score for hit in found.memories} == {
            hit.id: pytest.approx(hit.score) for hit in hits
        }


@pytest.mark.req("R-003-083")
def test_memory_storages_share_nothing_and_leave_nothing_on_disk(tmp_path, clock, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first, second = memory_storage(), memory_storage()
    with opened(first, clock) as graph:
        graph.store("kuro", "the harbour opens at six")
        assert list(tmp_path.iterdir())  # the truth while it runs
    with opened(second, clock) as graph:
        assert graph.search("kuro", "harbour") == []
    assert (first.agents(), second.agents()) == (["kuro"], [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("R-003-084", "R-003-085", "R-003-086")
@pytest.mark.parametrize("missing", ["load", "save", "archive"])
def test_a_storage_without_one_of_the_three_methods_is_refused(clock, missing):
    storage = Storage()
    setattr(storage, missing, None)
    with pytest.raises(InvalidInput, match=f"no {missing}"):
        opened(storage, clock)


@pytest.mark.req("R-003-086")
@pytest.mark.parametrize("kind", ["memory", "json"])
def test_our_own_storages_keep_all_that_was_archived(tmp_path, clock, kind):
    lasting = memory_storage()
    folder = tmp_path / "kept"
    gone = []
    for text in ("the harbour never opens", "the harbour is closed"):
        storage = lasting if kind == "memory" else json_storage(dir=folder)
        with opened(storage, clock) as graph:
            graph.store("kuro", "the harbour opens at six")
            gone.append(rejected(graph, text))
            data = storage.load("kuro")
            assert data is not None
            assert [each["content"] for each in data["memories"]] == ["the harbour opens at six"]
    if kind == "memory":
        archived = lasting.archived("kuro")
    else:
        archived = json.loads((folder / "agent-kuro/archive.json").read_text())
    assert [each["id"] for each in archived] == gone


@pytest.mark.req("R-003-086")
def test_what_could_not_be_archived_is_archived_with_the_next_save(clock):
    storage = Storage()
    with opened(storage, clock) as graph:
        waiting = id_of(graph.store("kuro", "the harbour never opens", quarantine=True))
        storage.failures = 1
        with pytest.raises(StorageFailed, match="archive memories of 'kuro'"):
            graph.review_quarantine(waiting, action="reject")
        assert waiting in {each["id"] for each in storage.kept["memories"]}
        graph.save()
        assert storage.gone == [waiting]
        assert waiting not in {each["id"] for each in storage.kept["memories"]}


@pytest.mark.req("R-003-087")
def test_episodes_and_clusters_need_no_optional_method(clock):
    storage = Storage(link("m1", "m2"))
    with opened(storage, clock) as graph:
        made = graph.create_episode("kuro", "A long day", ids=["m3", "m4"])
        before = graph.clusters(agent="kuro")
        assert {"m1", "m2"} in [set(each.memory_ids) for each in before]
    with opened(storage, clock) as graph:
        assert graph.clusters(agent="kuro") == before
        assert {memory.id for memory in graph.episode(made.id).memories} == {"m3", "m4"}


@pytest.mark.req("R-003-087")
@pytest.mark.parametrize("name", ["episodes", "clusters", "pending_conflicts"])
@pytest.mark.parametrize("verb", ["load", "save"])
def test_one_of_two_optional_methods_is_enough(clock, name, verb):
    storage = Storage(link("m1", "m2"))
    given = list[str]()

    def asked(agent, *_):
        given.append(agent)
        return []

    setattr(storage, f"{verb}_{name}", asked)
    with opened(storage, clock) as graph:
        made = graph.create_episode("kuro", "A long day", ids=["m3"])
        assert graph.clusters(agent="kuro")
        assert [memory.id for memory in graph.episode(made.id).memories] == ["m3"]
    assert set(given) == {"kuro"}


class Waiting(Storage):
    """It drops what it does not know, and keeps conflicts that wait in a place of their own."""

    def __init__(self):
        super().__init__()
        self.waiting = []

    def save(self, agent, data):
        super().save(agent, data)
        for each in self.kept["memories"]:
            del each["mesh"]

    def load_pending_conflicts(self, agent):
        assert agent == "kuro"
        return self.waiting

    def save_pending_conflicts(self, agent, rows):
        assert agent == "kuro"
        self.waiting = json.loads(json.dumps(rows))


@pytest.mark.req("R-003-087")
def test_conflicts_that_wait_come_back_from_a_place_of_their_own(clock: FrozenClock):
    storage = Waiting()
    schemas = {"owner": {"conflictPolicy": "require_review"}}
    with opened(storage, clock, predicate_schemas=schemas) as graph:
        for name in ("Ada", "Bob"):
            said = {"subject": "project x", "predicate": "owner", "value": name}
            last = graph.store("kuro", f"The owner is {name}", claim=said)
        (pending,) = graph.pending_conflicts()
        assert [each["id"] for each in storage.waiting] == [pending.id]
    with opened(storage, clock, predicate_schemas=schemas) as graph:
        graph.search("kuro", "owner")
        assert [each.id for each in graph.pending_conflicts()] == [pending.id]
        graph.review_quarantine(id_of(last), action="reject")
        assert storage.waiting == []
