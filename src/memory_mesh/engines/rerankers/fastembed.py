"""A local cross-encoder, through fastembed (the extra `fastembed`): by name or from a folder.

It never fetches a model: the files come from a folder, or from fastembed's cache if they are there
already. A folder has the ONNX file (`onnx/model.onnx` or `model.onnx`), `tokenizer.json` and
`tokenizer_config.json`.
"""

import threading
from collections.abc import Sequence
from pathlib import Path

from memory_mesh.engines.embedders import onnx_runtime, vectors
from memory_mesh.errors import MissingExtra, RerankError
from memory_mesh.process import forks
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

_BATCH = 16
_FILES = ("onnx/model.onnx", "model.onnx")


class FastembedReranker:
    """One cross-encoder; safe in threads, loaded on first use, anew after a fork."""

    def __init__(self, model: str, *, cache: Path | None = None, threads: int = 0) -> None:
        self._model, self._cache, self._threads = model, cache, threads
        self._engine: TextCrossEncoder | None = None
        self._loading = threading.Lock()
        forks.protect(self)

    def __repr__(self) -> str:
        return f"FastembedReranker({self._model!r})"

    def rank(self, query: str, texts: Sequence[str]) -> list[float]:
        """The model's scores (logits) in the order of the texts."""
        asked = [vectors.encodable(text) for text in texts]
        engine = self._loaded()
        return list(engine.rerank(vectors.encodable(query), asked, batch_size=_BATCH))

    def after_fork(self) -> None:
        """A child loads the model anew."""
        if self._engine is not None:
            forks.bury([self._engine])  # destroying it would wait for threads that are not here
        self._engine, self._loading = None, threading.Lock()

    def _loaded(self) -> "TextCrossEncoder":
        with self._loading:
            if self._engine is None:
                try:
                    onnx_runtime.onnxruntime()
                    from fastembed.rerank.cross_encoder import TextCrossEncoder
                except ImportError as error:
                    raise MissingExtra.of("fastembed", "the reranker 'fastembed'") from error
                self._engine = self._load(TextCrossEncoder)
            return self._engine

    def _load(self, kind: "type[TextCrossEncoder]") -> "TextCrossEncoder":
        folder = Path(self._model).expanduser()
        local = folder.is_dir()
        name = _registered(kind, folder) if local else self._model
        try:
            return kind(
                name,
                cache_dir=str(self._cache) if self._cache else None,
                threads=self._threads or None,
                local_files_only=True,
                specific_model_path=str(folder) if local else None,
            )
        except Exception as error:  # fastembed raises nothing narrower
            raise RerankError(
                f"fastembed cannot load {self._model}: {error}. Put the model's files into a "
                "folder and set MEMORY_MESH_RERANKER_MODEL to it; nothing is fetched here"
            ) from error


def _registered(kind: "type[TextCrossEncoder]", folder: Path) -> str:
    """Tells fastembed of the model in a folder, once per process; its name is the path."""
    from fastembed.common.model_description import ModelSource

    name = str(folder.resolve())
    known = {str(model["model"]).lower() for model in kind.list_supported_models()}
    if name.lower() not in known:
        file = next((file for file in _FILES if (folder / file).is_file()), _FILES[0])
        kind.add_custom_model(name, sources=ModelSource(hf=name), model_file=file)
    return name
