"""Semantic search with the real model: exact when small, consistent always, never in the way."""

import hashlib
import math
import struct
from datetime import timedelta
from random import Random

import pytest

from memory_mesh import care
from memory_mesh.model import Embedding, Scope, Space
from memory_mesh.model.errors import EmbeddingError, TextRefused
from memory_mesh.models.embedders.chain import Chain
from memory_mesh.sync import MemoryMesh

FACTS = [
    "The user prefers dark themes",
    "Deploys happen on Fridays after the stand-up",
    "The database password is rotated every month",
    "Ann plays the cello in an orchestra",
    "The invoice must be paid within 14 days",
]


class Flaky:
    """A small deterministic embedder of its own space that fails as often as it is told to."""

    def __init__(self, model: str = "flaky", dimension: int = 8, failing: float = 0.0) -> None:
        self.space = Space("test", model, "1", dimension, 256)
        self.failing = failing
        self.asked = 0
        self._random = Random(7)

    def embed(self, texts, *, query=False):
        self.asked += 1
        if self._random.random() < self.failing:
            raise EmbeddingError
        return Embedding(self.space, tuple((self._vector(text),) for text in texts))

    def close(self):
        pass

    def _vector(self, text):
        random = Random(hashlib.sha256(text.lower().encode()).digest())
        values = [random.gauss(0, 1) for _ in range(self.space.dimension)]
        length = math.sqrt(sum(value * value for value in values))
        return struct.pack(f"<{len(values)}f", *(value / length for value in values))


@pytest.fixture
def meaning(tmp_path, clock, real_embedder):
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, custom_embedder=real_embedder) as mesh:
        yield mesh


@pytest.mark.req("R-000-015", "R-000-018", "R-000-001")
def test_dark_mode_finds_dark_themes(meaning):
    meaning.add_many(FACTS)
    hits = meaning.search("which colour scheme suits me, dark mode?")
    assert hits[0].content == FACTS[0]
    assert meaning.search("musical instrument")[0].content == FACTS[3]
    assert meaning.search("when do we release?")[0].content == FACTS[1]
    (state,) = meaning.stats().spaces
    assert (state.space.name, state.space.dimension) == (hits.explanation.space, 384)
    assert hits.explanation.pending == 0


@pytest.mark.req("R-000-198", "R-000-251")
def test_constructing_a_mesh_loads_no_model(tmp_path, model_folder):
    from tests.flow.fresh import modules_after

    heavy = {"numpy", "onnxruntime", "tokenizers", "lance", "lancedb", "pyarrow"}
    script = f"from memory_mesh.sync import MemoryMesh; m = MemoryMesh(db_dir={str(tmp_path)!r})"
    environment = {"MEMORY_MESH_MODEL_DIR": str(model_folder), "MEMORY_MESH_EMBEDDER": "local"}
    assert not heavy & modules_after(script + "; m.init()", environment)
    assert {"numpy", "onnxruntime"} <= modules_after(script + "; m.add('tea')", environment)


def test_the_last_sentence_of_a_long_text_is_found_by_meaning(meaning):
    filler = "The meeting went on about the budget of the second quarter. " * 60
    meaning.add(filler + "Finally, Bob adopted a small kitten.")
    meaning.add_many(FACTS)
    assert "kitten" in meaning.search("who has a new pet?", limit=1, min_relevance=0)[0].content


def test_meaning_respects_audience_time_and_status(meaning, clock):
    stored = meaning.add("Ann plays the cello", scope=Scope(session="s1"))
    seen = {"scope": Scope(session="s1")}
    then = clock.now()
    clock.advance(timedelta(hours=1))
    assert meaning.search("musical instrument") == []
    assert meaning.search("musical instrument", **seen)
    meaning.update(stored.id, "Ann sold her car", reader=Scope(session="s1"))
    assert meaning.search("vehicle", **seen)[0].content == "Ann sold her car"
    assert (
        meaning.search("musical instrument", as_of=then, **seen)[0].content == "Ann plays the cello"
    )
    meaning.delete(stored.id, scope=Scope(session="s1"))
    assert meaning.search("vehicle", **seen) == []


def test_a_text_stored_without_a_model_is_found_by_meaning_once_there_is_one(
    tmp_path, real_embedder
):
    with MemoryMesh(db_dir=tmp_path) as plain:
        plain.add_many(FACTS)
        assert plain.search("musical instrument") == []
        assert plain.search("cello")
    with MemoryMesh(db_dir=tmp_path, custom_embedder=real_embedder) as mesh:
        hits = mesh.search("musical instrument")
        assert hits[0].content == FACTS[3]
        assert hits.explanation.pending == 0


def test_a_search_embeds_no_more_than_a_few_and_upkeep_the_rest(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as plain:
        plain.add_many([f"fact {n}" for n in range(600)])
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Flaky()) as mesh:
        assert mesh.search("fact 1").explanation.pending == 600 - 32
        heard: list[int] = []
        assert mesh.care.upkeep(progress=heard.append).embedded == 600 - 32
        assert heard == [256, 512, 568]
        assert mesh.search("fact 1").explanation.pending == 0


def test_keyword_only_leaves_the_model_alone(tmp_path):
    flaky = Flaky()
    with MemoryMesh(db_dir=tmp_path, custom_embedder=flaky) as mesh:
        mesh.add("tea is hot")
        asked = flaky.asked
        assert mesh.search("tea", keyword_only=True).explanation.space is None
        assert flaky.asked == asked


def test_an_embedder_that_is_down_is_said_and_keywords_answer(tmp_path, clock):
    flaky = Flaky()
    with MemoryMesh(db_dir=tmp_path, custom_embedder=flaky, clock=clock) as mesh:
        mesh.add("tea is hot")
        flaky.failing = 1.0
        assert mesh.add("tea is green").outcome == "stored"
        hits = mesh.search("tea")
        assert len(hits) == 2
        assert "No embedder answered" in (hits.explanation.note or "")
        flaky.failing = 0.0
        again = mesh.search("tea")
        assert again.explanation.note is None
        assert again.explanation.pending == 0


@pytest.mark.req("R-003-118")
def test_a_fallback_writes_its_own_space_and_nothing_is_mixed(tmp_path, clock):
    first, second = Flaky("first", 8), Flaky("second", 16)
    chain = Chain({"first": first, "second": second}, clock)
    with MemoryMesh(db_dir=tmp_path, custom_embedder=chain, clock=clock) as mesh:
        mesh.add("tea is hot")
        first.failing = 1.0
        mesh.add("tea is green")
        hits = mesh.search("something else")
        assert hits.explanation.space == second.space.name
        assert "first" in (hits.explanation.note or "")
        first.failing = 0.0
        clock.advance(timedelta(seconds=61))
        assert mesh.search("something new").explanation.space == first.space.name
        states = {state.space.name: state for state in mesh.stats().spaces}
        assert states[first.space.name].pending == 0


@pytest.mark.req("R-003-118")
@pytest.mark.parametrize("seed", range(3))
def test_an_hour_of_a_failing_and_replaced_embedder_loses_nothing(tmp_path, clock, seed):
    random = Random(seed)
    old, new = Flaky("old", 8), Flaky("new", 24)
    stored = 0
    for minute in range(60):
        old.failing, new.failing = random.random(), random.random()
        embedder = None if random.random() < 0.2 else old if minute < 30 else new
        with MemoryMesh(db_dir=tmp_path, custom_embedder=embedder, clock=clock) as mesh:
            assert mesh.add(f"fact of minute {minute}").outcome == "stored"
            stored += 1
            found = {
                hit.content for hit in mesh.search(f"minute {minute}", limit=100, min_relevance=0)
            }
            assert f"fact of minute {minute}" in found
        clock.advance(timedelta(minutes=1))
    new.failing = 0.0
    with MemoryMesh(db_dir=tmp_path, custom_embedder=new, clock=clock) as mesh:
        mesh.care.upkeep()
        assert mesh.stats().memories == stored
        states = {state.space.name: state for state in mesh.stats().spaces}
        assert states[new.space.name].pending == 0
        assert states[new.space.name].vectors == stored
        assert mesh.care.verify().ok


class Broken(Flaky):
    """Answers, but not as the port promises."""

    def __init__(self, answer):
        super().__init__()
        self._answer = answer

    def embed(self, texts, *, query=False):
        return self._answer(self.space, texts)


def fails(space, texts):
    raise ConnectionError("no route")


@pytest.mark.parametrize(
    "answer",
    [
        fails,
        lambda space, texts: Embedding(space, tuple((b"\0" * 36,) for _ in texts)),
        lambda space, texts: Embedding(space, ()),
        lambda space, texts: Embedding(space, tuple(() for _ in texts)),
    ],
    ids=["raises", "wrong length", "wrong count", "no window"],
)
def test_an_embedder_that_breaks_its_promise_loses_no_write(tmp_path, answer):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Broken(answer)) as mesh:
        assert mesh.add("tea is hot").outcome == "stored"
        hits = mesh.search("tea")
        assert [hit.content for hit in hits] == ["tea is hot"]
        assert hits.explanation.note
        assert mesh.stats().spaces == ()


class Choosy(Flaky):
    """Does not take texts that hold the word poison."""

    def embed(self, texts, *, query=False):
        if any("poison" in text for text in texts):
            raise TextRefused
        return super().embed(texts, query=query)


def test_one_text_the_embedder_refuses_keeps_no_other_waiting(tmp_path):
    texts = [f"fact {n}" for n in range(40)]
    texts[7] = "poison"
    with MemoryMesh(db_dir=tmp_path) as plain:
        plain.add_many(texts)
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Choosy()) as mesh:
        assert mesh.care.upkeep().embedded == 40
        assert mesh.search("fact 3").explanation.pending == 0
        assert mesh.search("poison", keyword_only=True)[0].content == "poison"
        mesh.add_many(["more poison", "more facts"])
        assert mesh.stats().spaces[0].vectors == 40


def test_a_keyword_hit_far_down_the_vector_list_keeps_its_cosine(tmp_path):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Flaky()) as mesh:
        mesh.add_many([f"filler {n}" for n in range(400)])
        mesh.add_many(["zebra one", "zebra two"])
        parts = {hit.content: hit.parts for hit in mesh.search("zebra", limit=402)}
        assert "cosine" in parts["zebra one"]
        assert "cosine" in parts["zebra two"]


def test_equal_vectors_of_many_audiences_hide_nobodys(tmp_path):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Flaky()) as mesh:
        mesh.add_many(
            {"content": "the same text", "scope": Scope(project=f"p{n}")} for n in range(1_000)
        )
        for n in range(0, 1_000, 37):
            (hit,) = mesh.search("the same text", scope=Scope(project=f"p{n}"))
            assert "cosine" in hit.parts


def test_a_namespace_made_anew_shares_nothing_with_the_old_one(tmp_path):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Flaky()) as mesh:
        mesh.add("dog one")
        assert mesh.search("dog one")[0].parts["cosine"] == pytest.approx(1.0)
        care.delete_namespace(tmp_path, "default")
        mesh.add("cat one")
        assert [hit.content for hit in mesh.search("cat one")] == ["cat one"]
        assert mesh.search("cat one")[0].parts["cosine"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("profile", "parts"),
    [
        ("mesh", {"margin", "keyword", "covered", "meaning", "cosine"}),
        ("rrf", {"rrf_keyword", "rrf_vector", "keyword", "vector", "bm25", "cosine"}),
    ],
)
def test_both_profiles_explain_their_parts(meaning, profile, parts):
    meaning.add_many(FACTS)
    hit = meaning.search("dark themes", profile=profile)[0]
    assert hit.content == FACTS[0]
    assert parts <= hit.parts.keys()


@pytest.mark.req("R-000-170", "R-000-171")
def test_a_hit_of_rrf_tells_its_similarity_in_two_decimals(meaning):
    meaning.add_many(FACTS)
    for hit in meaning.search("dark themes", profile="rrf"):
        distance = 1 - hit.parts["cosine"]
        assert hit.parts["similarity"] == round(1 - distance / 2, 2)


def test_a_repeated_question_asks_no_embedder_until_something_is_written(tmp_path, clock):
    embedder = Flaky()
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, custom_embedder=embedder) as mesh:
        mesh.add_many(FACTS)
        first, asked = mesh.search("dark themes"), embedder.asked
        again = mesh.search("dark themes")
        assert (again, again.explanation) == (first, first.explanation)
        assert embedder.asked == asked
        mesh.add("The user dislikes dark themes in print")
        mesh.search("dark themes")
        assert embedder.asked == asked + 2  # the new text and the question


def test_an_answer_without_a_vector_is_not_kept(tmp_path, clock):
    embedder = Flaky(failing=1.0)
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, custom_embedder=embedder) as mesh:
        mesh.add_many(FACTS)
        assert mesh.search("dark themes").explanation.space is None
        embedder.failing = 0.0
        assert mesh.search("dark themes").explanation.space == embedder.space.name


def test_an_answer_is_not_kept_while_texts_wait_for_a_vector(tmp_path, clock):
    embedder = Flaky()
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, custom_embedder=embedder) as mesh:
        mesh.add_many(f"Fact {number} about the garden" for number in range(5))
        embedder.failing = 1.0
        mesh.add_many(f"Fact {number} about the house" for number in range(40))
        embedder.failing = 0.0
        pending = [mesh.search("the house").explanation.pending for _ in range(3)]
        assert pending == [8, 0, 0]
