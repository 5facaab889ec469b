"""The three layers of a write: the scrubber first, then the embedder, then the store."""

import pytest

from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of

PAGE = (
    "<html><head><script>track()</script></head><body><h1>Kettle</h1>"
    "<p>Ask <b>ann.smith@example.com</b> how the kettle is descaled.</p></body></html>"
)


class Listening:
    """The real model, with every text that it was handed."""

    def __init__(self, model):
        self._model = model
        self.heard = []

    def embed(self, texts, *, query=False):
        self.heard += texts
        return self._model.embed(texts, query=query)

    def close(self):
        pass


@pytest.fixture
def listening(real_embedder):
    return Listening(real_embedder)


@pytest.mark.req("R-000-174")
def test_the_embedder_is_handed_only_what_the_scrubber_left(tmp_path, listening):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=listening) as mesh:
        mesh.add(PAGE)
        mesh.add("Reach **Ann** at `ann.smith@example.com`, or call +1 415 555 0132.")
    assert len(listening.heard) == 2
    for text in listening.heard:
        for raw in ("ann.smith@example.com", "555 0132", "<p>", "track()", "**"):
            assert raw not in text
    assert "how the kettle is descaled" in listening.heard[0]


@pytest.mark.req("R-000-013", "R-000-014")
def test_what_is_added_passes_scrubber_embedder_and_store(tmp_path, listening):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=listening) as mesh:
        stored = mesh.add(PAGE)
        assert "<p>" not in stored.content  # layer 0 came before all else
        assert "[EMAIL_" in stored.content
        assert ["kettle is descaled" in text for text in listening.heard] == [True]  # layer 1
        (space,) = [state.space for state in mesh.stats().spaces]  # layer 2, the vector
        (part,) = mesh.care.vectors([id_of(stored)], space)[id_of(stored)]
        assert part.vector == listening.embed(listening.heard[:1]).vectors[0][0]
        (by_words,) = mesh.search("descaled", keyword_only=True)  # layer 2, the keyword index
        assert by_words.id == stored.id
        assert mesh.search("track", keyword_only=True) == []
