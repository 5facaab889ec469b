"""Other local models, through fastembed (the extra `fastembed`): those it knows, by name.

It never fetches a model: the files come from a folder, or from its cache if they are there already.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.model import Embedding, EmbeddingError, MissingExtra, Space
from memory_mesh.models.embedders import onnx, windows
from memory_mesh.platform import forks

if TYPE_CHECKING:
    from fastembed import TextEmbedding

MAX_TOKENS = 256  # the least that its models read; counted by estimate, since fastembed cuts off
_BATCH = 16


class FastembedEmbedder:
    """One model that fastembed knows; safe in threads, loaded on first use, anew after a fork."""

    def __init__(
        self, model: str, *, folder: Path | None = None, cache: Path | None = None, threads: int = 0
    ) -> None:
        self._name, self._folder, self._cache, self._threads = model, folder, cache, threads
        self._engine: TextEmbedding | None = None
        self._loading = threading.Lock()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """Vectors in the order of the texts, with the prefixes that the model wants."""
        cuts = [windows.estimated(windows.encodable(text), MAX_TOKENS) for text in texts]
        if query:
            cuts = [windows.for_query(cut) for cut in cuts]
        asked = [window for cut in cuts for window in cut]
        with _trouble(self._name):
            import numpy as np

            engine = self._loaded()
            answers = (
                engine.query_embed(asked)
                if query
                else engine.passage_embed(asked, batch_size=_BATCH)
            )
            rows = list(answers)
            found = iter(windows.packed(np.stack(rows)) if rows else [])
            space = Space("fastembed", self._name, "", engine.embedding_size, MAX_TOKENS)
        return Embedding(space, windows.grouped(found, cuts, query=query))

    def close(self) -> None:
        """Release the model."""
        self._engine = None

    def after_fork(self) -> None:
        """A child loads the model anew."""
        if self._engine is not None:
            forks.bury([self._engine])  # destroying it would wait for threads that are not here
        self._engine, self._loading = None, threading.Lock()

    def _loaded(self) -> "TextEmbedding":
        with self._loading:
            if self._engine is None:
                onnx.onnxruntime()
                from fastembed import TextEmbedding

                forks.protect(self)
                self._engine = TextEmbedding(
                    self._name,
                    cache_dir=str(self._cache) if self._cache else None,
                    threads=self._threads or None,
                    local_files_only=True,
                    specific_model_path=str(self._folder) if self._folder else None,
                )
            return self._engine


@contextmanager
def _trouble(model: str) -> Iterator[None]:
    try:
        yield
    except EmbeddingError:
        raise
    except ImportError as error:
        raise EmbeddingError(
            str(MissingExtra.of("fastembed", "the embedder 'fastembed'"))
        ) from error
    except Exception as error:  # fastembed raises nothing narrower
        raise EmbeddingError(
            f"fastembed cannot load {model}: {error}. Put the model's files into a folder and set "
            "MEMORY_MESH_MODEL_DIR to it; nothing is fetched here"
        ) from error
