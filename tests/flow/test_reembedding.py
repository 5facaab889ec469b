"""Another embedding model beside the one in use: made, compared, switched to, rolled back, dropped.

Every test runs on both ledgers.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memory_mesh.learn.health import checkup
from memory_mesh.ledgers.sqlite.ledger import FILE_FROM
from memory_mesh.model import Embedding, Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.stats import Health
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.sync import MemoryMesh
from tests.postgres import SECRET
from tests.word_vectors import WordVectors

Open = Callable[..., MemoryMesh]
NOTES = [f"note {number} about topic{number % 7} and place{number % 5}" for number in range(40)]
OLD, NEW = "words/old/1/32", "words/new/1/24"


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens the same store again and again, with the embedder that is given."""
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    postgres = request.param == "postgres"
    place = request.getfixturevalue("database") if postgres else str(tmp_path / "store")
    return lambda given=None, **settings: MemoryMesh(place, custom_embedder=given, **settings)


def old() -> WordVectors:
    return WordVectors("old")


def new(**options: str) -> WordVectors:
    return WordVectors("new", 24, **options)


def ids(mesh: MemoryMesh, query: str = "topic3 place2") -> list[str]:
    return [hit.id for hit in mesh.search(query, limit=8)]


def provider(mesh: MemoryMesh) -> str:
    """Whose vectors a search uses."""
    return str(mesh.search("dark mode for my eyes").explanation.space).partition("/")[0]


def vectors(mesh: MemoryMesh) -> dict[str, tuple[int, int]]:
    """Vectors and waiting texts by model."""
    return {each.space.model: (each.vectors, each.pending) for each in mesh.stats().spaces}


def test_searches_use_the_old_model_until_the_switch(opened: Open) -> None:
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        before = ids(mesh)
        state = mesh.care.models.reembed(new())
        assert (state.in_use, state.beside, state.switched) == (OLD, NEW, False)
        assert (state.texts, state.vectors, state.waiting, state.embedded) == (40, 40, 0, 40)
        assert ids(mesh) == before
        assert mesh.search("topic3").explanation.space == OLD
        state = mesh.care.models.switch()
        assert (state.in_use, state.beside, state.switched) == (NEW, OLD, True)
        found = mesh.search("topic3", min_relevance=0)
        assert (found.explanation.space, found.explanation.note) == (NEW, None)
        assert len(found) == 10
        assert mesh.care.verify().ok


def test_a_run_that_stops_is_finished_by_another_process(opened: Open) -> None:
    class Stop(Exception):
        pass

    def stop() -> None:
        raise Stop

    first, second = new(), new()
    with opened(old()) as mesh:
        mesh.add_many([f"{note} {'word ' * 200}" for note in NOTES])  # more than one batch
        before = ids(mesh)
        with pytest.raises(Stop):
            mesh.care.models.reembed(first, between=stop)
        state = mesh.care.models.state()
        assert 0 < state.vectors < state.texts
        assert state.waiting == state.texts - state.vectors
        assert ids(mesh) == before
    with opened(old()) as mesh:
        done = mesh.care.models.reembed(second)
        assert done.waiting == 0
        assert done.embedded == state.waiting
        assert not {*first.texts} & {*second.texts}  # nothing was embedded again


def test_upkeep_goes_on_and_keeps_both_models_up_to_date(opened: Open) -> None:
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        mesh.care.models.reembed(new())
        mesh.add("a text that came meanwhile")
        assert vectors(mesh) == {"old": (41, 0), "new": (40, 1)}
        assert mesh.care.upkeep().embedded == 1
        assert vectors(mesh) == {"old": (41, 0), "new": (41, 0)}


def test_the_switch_embeds_what_came_in_meanwhile(opened: Open) -> None:
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        mesh.care.models.reembed(new())
        mesh.add("a text that came meanwhile")
        state = mesh.care.models.switch()
        assert (state.embedded, state.waiting_in_use) == (1, 0)
        assert mesh.search("a text that came meanwhile").explanation.pending == 0


class Intruded(WordVectors):
    """While it embeds a skill, which is the last step before the switch, somebody writes."""

    def __init__(self, write: Callable[[], object]) -> None:
        super().__init__("new", 24)
        self._write, self.written = write, 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """Writes a text first, if it is the skill's."""
        if "release it" in texts:
            self._write()
            self.written += 1
        return super().embed(texts, query=query)


def test_a_text_that_comes_during_the_switch_is_not_left_behind(opened: Open) -> None:
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        mesh.care.models.reembed(new())
    with opened(old()) as mesh:
        model = Intruded(lambda: mesh.add("a text that came at the last moment"))
        mesh.ingest_skill("---\nname: ship\nintent: release it\n---\nShip on Monday.")
        state = mesh.care.models.switch(model)
        assert model.written == 1
        assert (state.embedded, state.waiting_in_use) == (1, 0)


def test_rolling_back_brings_every_former_answer_back(opened: Open) -> None:
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        before = ids(mesh)
        mesh.care.models.reembed(new())
        mesh.care.models.switch()
        mesh.add("written since, by the new model only", scope=Scope(project="elsewhere"))
        assert vectors(mesh)["old"] == (40, 1)
        state = mesh.care.models.roll_back()
        assert (state.in_use, state.embedded, state.waiting_in_use) == (OLD, 1, 0)
        assert ids(mesh) == before
        with pytest.raises(InvalidInput, match="there was no switch"):
            mesh.care.models.roll_back()


def test_a_process_with_the_former_model_says_so_and_returns_no_less(opened: Open) -> None:
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        before = ids(mesh)
        mesh.care.models.reembed(new())
        mesh.care.models.switch()
    with opened(old()) as mesh:  # it was never told, and cannot open the new model
        found = mesh.search("topic3 place2", limit=8)
        assert [hit.id for hit in found] == before
        assert found.explanation.space == OLD
        assert found.explanation.note is not None
        assert f"use the model {NEW}, and this process has {OLD}" in found.explanation.note
        checks = {check.name: check for check in checkup(mesh._access(), mesh._now()).checks}
        assert checks["embedder"].health is Health.DEGRADED
        assert NEW in checks["embedder"].detail


def test_after_a_drop_the_former_model_writes_nothing_and_searches_by_words(opened: Open) -> None:
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        mesh.ingest_skill("---\nname: ship\nintent: release it\n---\nShip on Monday.")
        mesh.care.models.reembed(new())
        mesh.care.models.switch()
        state = mesh.care.models.drop()
        assert (state.in_use, state.beside, state.dropped) == (NEW, None, (OLD,))
        assert vectors(mesh) == {"new": (40, 0)}
    with opened(old()) as mesh:
        mesh.add("topic3 by a process with the former model")
        found = mesh.search("topic3", limit=40)
        assert found.explanation.space is None
        assert found.explanation.note is not None
        assert found.explanation.note.count("it searches by words.") == 1
        assert len(found) == sum("topic3" in note for note in NOTES) + 1
        mesh.search_skills("release it")
        assert mesh.care.upkeep().embedded == 0
        assert vectors(mesh) == {"new": (40, 1)}
        assert mesh.care.verify().ok
    with opened(new()) as mesh:
        assert mesh.search("topic3").explanation.space == NEW
        assert vectors(mesh) == {"new": (41, 0)}  # the search embedded the late one


def test_a_dropped_model_can_be_made_again(opened: Open) -> None:
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        before = ids(mesh)
        mesh.care.models.reembed(new())
        mesh.care.models.drop()
        assert vectors(mesh) == {"old": (40, 0)}
        assert mesh.care.models.reembed(new()).vectors == 40
        mesh.care.models.switch()
        mesh.care.models.roll_back()
        assert ids(mesh) == before


def test_a_drop_removes_the_file_of_the_exact_scan(tmp_path: Path) -> None:
    """Only SQLite has one; it is made for stores of this size."""
    with MemoryMesh(tmp_path, custom_embedder=old(), settings={"link_similar": False}) as mesh:
        mesh.add_many([f"note {number}" for number in range(FILE_FROM + 1)])
        mesh.search("note 7")
        before = [*tmp_path.rglob("*.vectors-*")]
        assert len(before) == 1
        mesh.care.models.reembed(new())
        mesh.care.models.switch()
        mesh.search("note 7")
        mesh.care.models.drop()
        assert not before[0].exists()
        assert mesh.care.verify().ok


def test_skills_are_found_by_meaning_right_after_the_switch(opened: Open) -> None:
    model = new()
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        mesh.ingest_skill("---\nname: ship\nintent: release it\n---\nShip on Monday.")
        mesh.care.models.reembed(model)
        assert "release it" in model.texts
        mesh.care.models.switch()
        model.texts.clear()
        assert [hit.skill.name for hit in mesh.search_skills("release it")] == ["ship"]
        assert model.texts == []  # its vector was there already


def test_the_comparison_asks_the_own_recent_queries(opened: Open) -> None:
    with opened(old()) as mesh:
        stored = mesh.add_many(NOTES)
        for query in ("topic1 place1", "topic2", "topic1 place1"):
            mesh.search(query)
        mesh.rate(str(stored[1].id), helpful=True)  # it is about topic1 and place1
        mesh.care.models.reembed(new())
        recorded = len(mesh.care.recalls(limit=100, as_owner=True))
        found = mesh.care.models.compare(queries=10, depth=5)
        assert [each.query for each in found.queries] == ["topic1 place1", "topic2"]
        assert all(each.of == 5 for each in found.queries)
        shared = sum(each.same for each in found.queries)
        assert found.overlap == pytest.approx(shared / 10)
        assert found.queries[0].helped_in_use == (1,)
        assert found.helped_in_use == 1.0
        assert len(mesh.care.recalls(limit=100, as_owner=True)) == recorded  # it records nothing
        assert mesh.care.models.compare(queries=1).queries[0].query == "topic1 place1"


def test_a_reader_compares_by_its_own_queries_and_the_owner_by_all(opened: Open) -> None:
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        mine, yours = (mesh.view(scope=Scope(project=name)) for name in ("mine", "yours"))
        mine.search("topic1")
        yours.search("topic2 of a secret plan")
        mesh.care.models.reembed(new())
        assert [each.query for each in mine.care.models.compare().queries] == ["topic1"]
        everything = mesh.care.models.compare(as_owner=True).queries
        assert {each.query for each in everything} == {"topic1", "topic2 of a secret plan"}


def test_equal_models_overlap_wholly(opened: Open) -> None:
    """The figure can tell: a model of the same vectors agrees, another one does not."""
    with opened(old()) as mesh:
        mesh.add_many(NOTES)
        mesh.search("something without a word of the notes")
        twin = WordVectors("old")
        twin.space = WordVectors("twin").space
        twin._vector = old()._vector  # type: ignore[method-assign]
        mesh.care.models.reembed(twin)
        assert mesh.care.models.compare().overlap == 1.0
        mesh.care.models.drop()
        mesh.care.models.reembed(new())
        overlap = mesh.care.models.compare().overlap
        assert overlap is not None
        assert overlap < 1.0


def test_a_text_that_the_new_model_refuses_does_not_stop_the_switch(opened: Open) -> None:
    with opened(old()) as mesh:
        mesh.add_many([*NOTES, "an unreadable one"])
        model = new(refused="unreadable")
        assert mesh.care.models.reembed(model).vectors == 40
        mesh.add("one more that is unreadable")  # now it waits alone
        assert mesh.care.models.switch().switched
        assert len(mesh.search("unreadable", keyword_only=True)) == 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda mesh: mesh.care.models.switch(), "no other model is being made"),
        (lambda mesh: mesh.care.models.roll_back(), "no other model is being made"),
        (lambda mesh: mesh.care.models.compare(), "no other model is being made"),
        (lambda mesh: mesh.care.models.drop(), "there is nothing to drop"),
        (lambda mesh: mesh.care.models.reembed(old()), "searches use the model .* already"),
        (lambda mesh: mesh.care.models.reembed({"embedder_model": "nowhere"}), "is not installed"),
        (lambda mesh: mesh.care.models.reembed({"colour": "red"}), "has no setting 'colour'"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    call: Callable[[MemoryMesh], object], said: str, tmp_path: Path
) -> None:
    with MemoryMesh(tmp_path, custom_embedder=old()) as mesh:
        mesh.add("a text")
        seq = mesh.stats().seq
        with pytest.raises(InvalidInput, match=said):
            call(mesh)
        assert mesh.stats().seq == seq
        assert mesh.care.models.state().in_use is None


def test_a_second_model_beside_and_an_empty_store_are_refused(tmp_path: Path) -> None:
    with MemoryMesh(tmp_path, custom_embedder=old()) as mesh:
        with pytest.raises(InvalidInput, match="the namespace is empty"):
            mesh.care.models.reembed(new())
        assert mesh.care.namespaces() == []
        mesh.add("a text")
        mesh.care.models.reembed(new())
        with pytest.raises(InvalidInput, match="take them away first"):
            mesh.care.models.reembed(WordVectors("third"))


def test_without_a_statement_nothing_is_written_about_models(tmp_path: Path) -> None:
    with MemoryMesh(tmp_path, custom_embedder=old()) as mesh:
        mesh.add_many(NOTES)
        mesh.search("topic3")
        mesh.care.upkeep()
        with mesh._read() as snapshot:
            assert snapshot.states("space.") == {}


def test_installed_models_are_found_by_their_names(
    opened: Open, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From static vectors to the real model: other processes follow without a new setting."""
    monkeypatch.delenv("MEMORY_MESH_MODEL_DIR")
    models = tmp_path / "models"
    models.mkdir()
    (models / model_folder.name).symlink_to(model_folder)
    with opened(embedder="static", models_dir=models) as mesh:
        mesh.add_many(["Ben is allergic to peanuts.", "The user prefers dark themes"])
        mesh.care.models.reembed({"embedder_model": model_folder.name})
        assert provider(mesh) == "static"
    with opened(embedder="static", models_dir=models) as mesh:
        mesh.care.models.switch()
    with opened(embedder="static", models_dir=models) as mesh:
        found = mesh.search("dark mode for my eyes")
        assert provider(mesh) == "local"
        assert found.explanation.note is None
        assert found[0].content == "The user prefers dark themes"
        mesh.care.models.roll_back()
    with opened(embedder="local", models_dir=models) as mesh:  # the setting came too early
        assert provider(mesh) == "static"
        assert mesh.search("dark mode").explanation.note is None


def test_no_address_and_no_folder_is_kept_in_the_store(
    tmp_path: Path, model_folder: Path, real_embedder: OnnxEmbedder
) -> None:
    with MemoryMesh(tmp_path, custom_embedder=old()) as mesh:
        mesh.add("a text")
        mesh.care.models.reembed({"model_dir": str(model_folder)})
        with mesh._read() as snapshot:
            (value,) = snapshot.states("space.").values()
    assert str(model_folder.parent) not in value
    assert real_embedder.embed(["a"], query=True).space.name in value
