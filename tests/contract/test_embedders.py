"""Every embedder keeps the promises of the contract, with the vectors of a real model."""

from collections.abc import Iterator
from functools import cache

import pytest

from memory_mesh.model.ports import Embedder
from memory_mesh.models.embedders.chain import Chain
from memory_mesh.models.embedders.fastembed import FastembedEmbedder
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.models.embedders.services import HttpEmbedder
from memory_mesh.models.embedders.static import StaticEmbedder
from memory_mesh.models.http.client import Limits
from memory_mesh.testing import EmbedderContract, FrozenClock
from memory_mesh.testing.embedder_contract import closeness
from tests.embedding import BASES, model_folder, provider, real_embedder, static_files
from tests.servers import serve


@cache
def _onnx() -> OnnxEmbedder:
    return OnnxEmbedder(model_folder())


def _local() -> OnnxEmbedder:
    """The local model, not used before; its files are read once."""
    made = OnnxEmbedder(model_folder())
    made._model = _onnx()._loaded()
    return made


@cache
def _fastembed() -> FastembedEmbedder:
    return FastembedEmbedder("sentence-transformers/all-MiniLM-L6-v2", folder=model_folder())


class TestOnnxEmbedder(EmbedderContract):
    """The local model."""

    def open_embedder(self) -> Embedder:
        return _local()

    @pytest.mark.req("R-000-197")
    def test_the_default_model_is_minilm_and_needs_no_key(self, embedder):
        found = embedder.embed(["That is a happy person"])
        assert found.space.provider == "local"
        assert found.space.dimension == 384
        assert found.space.max_tokens == 256
        assert len(found.space.revision) == 12

    @pytest.mark.req("R-000-197")
    def test_the_vectors_are_those_of_the_model_card(self, embedder):
        texts = [
            "That is a happy person",
            "That is a happy dog",
            "That is a very happy person",
            "Today is a sunny day",
        ]
        (person,), *others = embedder.embed(texts).vectors
        assert [round(closeness(person, other), 3) for (other,) in others] == [0.695, 0.943, 0.257]


class TestStaticEmbedder(EmbedderContract):
    """The static vectors of the extra `local`."""

    def open_embedder(self) -> Embedder:
        return StaticEmbedder(static_files())

    def test_the_last_sentence_of_a_long_text_is_found(self, embedder):
        # Static vectors know words, not what saffron is used for: the question repeats a word.
        filler = "The meeting went on and nothing new was said about the budget. " * 120
        ending = "The recipe needs saffron, cumin and two lemons."
        (parts,) = embedder.embed([filler + ending]).vectors
        ((query,),) = embedder.embed(["which recipe was it?"], query=True).vectors
        assert len(parts) > 1
        *others, last = (closeness(query, part) for part in parts)
        assert last > max(others) + 0.05


class TestFastembedEmbedder(EmbedderContract):
    """The same files through fastembed."""

    def open_embedder(self) -> Embedder:
        name = "sentence-transformers/all-MiniLM-L6-v2"
        made = FastembedEmbedder(name, folder=model_folder())
        made._engine = _fastembed()._loaded()
        return made


class _Service(EmbedderContract):
    """A service on this machine that answers with the vectors of the real model."""

    provider = ""

    @pytest.fixture(autouse=True)
    def _served(self) -> Iterator[None]:
        real_embedder()
        with serve(provider(self.provider)) as server:
            self.url = server.url + BASES[self.provider]
            yield

    def open_embedder(self) -> Embedder:
        return HttpEmbedder(self.provider, base_url=self.url, api_key="a-key-for-the-test")


class TestOpenAI(_Service):
    """OpenAI, LM Studio, vLLM."""

    provider = "openai"


class TestOllama(_Service):
    """Ollama."""

    provider = "ollama"


class TestCohere(_Service):
    """Cohere."""

    provider = "cohere"


class TestChain(EmbedderContract):
    """The local model behind a primary that is down."""

    def open_embedder(self) -> Embedder:
        nobody = "http://127.0.0.1:9"
        primary = HttpEmbedder("ollama", base_url=nobody, limits=Limits(attempts=1))
        embedders: dict[str, Embedder] = {"ollama all-minilm": primary}
        return Chain(embedders | {"local all-MiniLM-L6-v2": _local()}, FrozenClock())
