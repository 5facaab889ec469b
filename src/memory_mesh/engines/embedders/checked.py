"""An embedder of the caller's own, held to what the port promises."""

from collections.abc import Sequence

from memory_mesh.errors import EmbeddingError
from memory_mesh.model import Embedding
from memory_mesh.ports import Embedder

_FLOAT_BYTES = 4


class Checked:
    """Whatever goes wrong inside becomes EmbeddingError: a text is stored all the same."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __eq__(self, other: object) -> bool:
        """Equal if both hold the same embedder: two stores may have been given one."""
        return isinstance(other, Checked) and other._embedder is self._embedder

    def __hash__(self) -> int:
        """By the embedder it holds."""
        return id(self._embedder)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """The embedder's vectors, if there is one of the right length for every text."""
        try:
            embedding = self._embedder.embed(texts, query=query)
        except EmbeddingError:
            raise
        except Exception as error:  # a plug-in's errors are its own
            raise EmbeddingError(f"the embedder failed: {type(error).__name__}: {error}") from error
        size = _FLOAT_BYTES * embedding.space.dimension
        if len(embedding.vectors) != len(texts) or not all(embedding.vectors):
            raise EmbeddingError(f"the embedder did not answer each of {len(texts)} texts")
        if any(len(vector) != size for parts in embedding.vectors for vector in parts):
            raise EmbeddingError(
                f"a vector of {embedding.space.name} has another length than its space"
            )
        return embedding

    def close(self) -> None:
        """Pass it on."""
        self._embedder.close()
