"""How much a search embeds of what waits: counted by batches on a clock that the test moves."""

from datetime import timedelta

import pytest

from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.platform import locks
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from memory_mesh.write.late_vectors import (
    CATCH_UP_CHARS,
    CATCH_UP_SECONDS,
    CATCH_UP_TEXTS,
    SEARCH_BATCH_CHARS,
)

NOTE = "The deploy of service {} failed because the backup of its database was missing. "


class Counting:
    """The real model; each call takes a stated time on the test's clock."""

    def __init__(self, model: OnnxEmbedder, clock: FrozenClock, seconds: float) -> None:
        self._model, self._clock, self._seconds = model, clock, seconds
        self.batches: list[list[str]] = []

    def embed(self, texts, *, query=False):
        self._clock.advance(timedelta(seconds=self._seconds))
        if not query:
            self.batches.append(list(texts))
        return self._model.embed(texts, query=query)

    def close(self):
        pass


def stored(folder, clock, texts):
    with MemoryMesh(db_dir=folder, clock=clock) as plain:
        plain.add_many(texts)


@pytest.mark.parametrize(("seconds", "batches"), [(0.1, 3), (0.3, 1), (0.0, CATCH_UP_TEXTS)])
def test_a_search_begins_no_batch_after_a_quarter_of_a_second(
    tmp_path, clock, real_embedder, seconds, batches
):
    texts = [NOTE.format(n) * (SEARCH_BATCH_CHARS // 100) for n in range(40)]
    stored(tmp_path, clock, texts)
    counting = Counting(real_embedder, clock, seconds)
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=counting) as mesh:
        hits = mesh.search("why did the deploy fail?")
        assert len(counting.batches) == batches
        assert hits.explanation.pending == 40 - batches
        newest = [f"service {n} " for n in range(39, 39 - batches, -1)]
        assert [name in batch[0] for name, batch in zip(newest, counting.batches, strict=True)] == [
            True
        ] * batches


def test_a_search_in_a_hurry_embeds_nothing_that_waits(tmp_path, clock, real_embedder):
    stored(tmp_path, clock, [NOTE.format(n) for n in range(3)])
    counting = Counting(real_embedder, clock, 0.0)
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=counting) as mesh:
        with locks.at_most(CATCH_UP_SECONDS / 2):
            hits = mesh.search("why did the deploy fail?")
        assert counting.batches == []
        assert hits.explanation.pending == 3
        with locks.at_most(CATCH_UP_SECONDS * 100):
            mesh.search("why did another deploy fail?")
        assert counting.batches


def test_a_first_search_over_44_long_documents_embeds_none_of_them(tmp_path, clock, real_embedder):
    stored(tmp_path, clock, [NOTE.format(n) * 200 for n in range(44)])
    counting = Counting(real_embedder, clock, 0.0)
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=counting) as mesh:
        hits = mesh.search("why did the deploy fail?")
        assert counting.batches == []
        assert hits.explanation.pending == 44
        assert len(hits) == 10  # by their words


def test_short_notes_do_not_wait_behind_long_documents(tmp_path, clock, real_embedder):
    stored(tmp_path, clock, ["The cat sleeps on the sofa.", *["Tea. " * 1_000] * 3])
    counting = Counting(real_embedder, clock, 0.0)
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=counting) as mesh:
        (hit,) = mesh.search("a pet takes a nap", limit=1)
        assert hit.content == "The cat sleeps on the sofa."
        assert counting.batches == [["The cat sleeps on the sofa."]]


def test_upkeep_embeds_the_rest_in_batches_that_it_commits_and_can_be_stopped(
    tmp_path, clock, real_embedder
):
    texts = [(NOTE.format(n) * 100)[:CATCH_UP_CHARS] for n in range(30)]
    stored(tmp_path, clock, texts)
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=real_embedder) as mesh:
        with pytest.raises(KeyboardInterrupt):
            mesh.care.upkeep(progress=_interrupt)
        left = mesh.stats().spaces[0].pending
        assert 0 < left < 30
        assert mesh.care.upkeep().embedded == left
        assert mesh.stats().spaces[0].pending == 0
        assert mesh.care.verify().ok


def _interrupt(_count):
    raise KeyboardInterrupt
