"""What every Embedder promises, as tests: inherit, provide `open_embedder`, and run with pytest."""

import math
import sys
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_mesh.model import Embedding
from memory_mesh.model.ports import Embedder

TEXTS = (
    "The user prefers dark themes in every editor.",
    "Deploys happen on Thursdays after the stand-up.",
    "日本語の文も同じように扱われます。",
    "ok",
)
_FILLER = "The meeting went on and nothing new was said about the budget. "


def numbers(vector: bytes) -> list[float]:
    """The floats in a vector."""
    found = array("f", vector)
    if sys.byteorder == "big":
        found.byteswap()
    return found.tolist()


def closeness(one: bytes, other: bytes) -> float:
    """The cosine of two vectors of length 1."""
    return math.fsum(a * b for a, b in zip(numbers(one), numbers(other), strict=True))


class EmbedderContract:
    """The suite, for an embedder whose model knows English."""

    def open_embedder(self) -> Embedder:
        """An embedder, not used before."""
        raise NotImplementedError

    @pytest.fixture
    def embedder(self) -> Iterator[Embedder]:
        """The embedder under test."""
        opened = self.open_embedder()
        yield opened
        opened.close()

    def test_every_text_has_its_vector_in_order(self, embedder: Embedder) -> None:
        """One by one or in a batch, a text has the same vector."""
        together = embedder.embed(TEXTS)
        assert len(together.vectors) == len(TEXTS)
        for text, (vector,) in zip(TEXTS, together.vectors, strict=True):
            ((alone,),) = embedder.embed([text]).vectors
            assert closeness(alone, vector) > 0.9999

    def test_a_vector_is_float32_of_the_space_s_dimension(self, embedder: Embedder) -> None:
        """Its bytes are finite numbers, of length 1 where the space says so."""
        found = embedder.embed(TEXTS)
        for (vector,) in found.vectors:
            assert len(vector) == 4 * found.space.dimension
            assert all(map(math.isfinite, numbers(vector)))
            if found.space.normalised:
                assert math.hypot(*numbers(vector)) == pytest.approx(1, abs=1e-4)

    def test_the_same_question_has_the_same_answer(self, embedder: Embedder) -> None:
        """Twice the same call gives the same bytes."""
        assert embedder.embed(TEXTS).vectors == embedder.embed(TEXTS).vectors

    def test_no_texts_still_have_a_space(self, embedder: Embedder) -> None:
        """Asking for nothing tells where vectors will lie."""
        nothing = embedder.embed([])
        assert nothing.vectors == ()
        assert nothing.space == embedder.embed(TEXTS[:1]).space

    def test_any_text_has_a_vector(self, embedder: Embedder) -> None:
        """Empty, blank, broken or endless: none is refused."""
        odd = ["", "   \n", "\ud800 half a character", "\x00", "🙂" * 50, "x" * 3000]
        found = embedder.embed(odd)
        assert all(found.vectors)
        assert len(found.vectors) == len(odd)

    def test_what_means_the_same_lies_near(self, embedder: Embedder) -> None:
        """A paraphrase is nearer than a related text, and that is nearer than an unrelated one."""
        person, very, dog, day = _vectors(
            embedder.embed(
                [
                    "That is a happy person",
                    "That is a very happy person",
                    "That is a happy dog",
                    "Today is a sunny day",
                ]
            )
        )
        same, related, other = (closeness(person, text) for text in (very, dog, day))
        assert same > related + 0.1 > other + 0.2

    def test_a_query_finds_what_it_means(self, embedder: Embedder) -> None:
        """The words "dark mode" find dark themes."""
        (query,) = _vectors(embedder.embed(["dark mode"], query=True))
        themes, deploys, *_ = _vectors(embedder.embed(TEXTS))
        assert closeness(query, themes) > closeness(query, deploys) + 0.1

    def test_the_last_sentence_of_a_long_text_is_found(self, embedder: Embedder) -> None:
        """A long text has a vector for each window, and its end is in one of them."""
        ending = "The recipe needs saffron, cumin and two lemons."
        (windows,) = embedder.embed([_FILLER * 120 + ending]).vectors
        (query,) = _vectors(embedder.embed(["which spices does the dish need?"], query=True))
        assert len(windows) > 1
        *others, last = (closeness(query, window) for window in windows)
        assert last > max(others) + 0.05

    def test_a_query_has_one_vector_however_long(self, embedder: Embedder) -> None:
        """What it starts with and what it ends with both count."""
        text = "How do I cook saffron rice? " + _FILLER * 120 + "How do I cook saffron rice?"
        ((vector,),) = embedder.embed([text], query=True).vectors
        about, other = _vectors(embedder.embed(["cooking rice with saffron", "train timetables"]))
        assert closeness(vector, about) > closeness(vector, other)

    def test_many_threads_get_their_own_answers(self, embedder: Embedder) -> None:
        """Nobody gets another thread's vectors."""
        wanted = [vector for (vector,) in embedder.embed(TEXTS).vectors]

        def ask(position: int) -> float:
            ((vector,),) = embedder.embed([TEXTS[position]]).vectors
            return closeness(vector, wanted[position])

        with ThreadPoolExecutor(8) as threads:
            found = threads.map(ask, [number % len(TEXTS) for number in range(32)])
            assert min(found) > 0.9999

    def test_closing_twice_is_fine(self, embedder: Embedder) -> None:
        """Whoever closes last does no harm."""
        embedder.embed(TEXTS[:1])
        embedder.close()
        embedder.close()


def _vectors(found: Embedding) -> list[bytes]:
    """The first window of each text."""
    return [windows[0] for windows in found.vectors]
