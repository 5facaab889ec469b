"""Rerankers behind an HTTP service with a /rerank route.

Cohere, Jina and what speaks like them (vLLM, llama.cpp, Infinity, LocalAI: `http`) take
`{model, query, documents, top_n}`, text-embeddings-inference (`tei`) takes `{query, texts}`. They
answer `{"results": [{"index", "relevance_score"}]}` or `[{"index", "score"}]`; either is read.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, dataclass
from memory_mesh.model import InvalidInput, Json, MissingExtra, NetworkError, RerankError
from memory_mesh.models.embedders import onnx, windows
from memory_mesh.models.http.client import Client, Limits, Resolve, resolve
from memory_mesh.platform import forks

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

_BATCH = 16
_FILES = ("onnx/model.onnx", "model.onnx")

_ROUTE = "rerank"
_MAX_ANSWER_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class RerankWire:
    """A provider's address, default model, key variable and the way it takes texts."""

    base_url: str | None = None
    model: str | None = None
    key: str | None = None
    texts: str = "documents"
    batch: int = 1_000  # texts in one request


WIRES: Mapping[str, RerankWire] = {
    "cohere": RerankWire("https://api.cohere.com/v2", "rerank-v3.5", "COHERE_API_KEY"),
    "jina": RerankWire(
        "https://api.jina.ai/v1", "jina-reranker-v2-base-multilingual", "JINA_API_KEY"
    ),
    "tei": RerankWire("http://localhost:8080", texts="texts", batch=32),
    "http": RerankWire(),
}


class HttpReranker:
    """One reranking model of one service; safe in threads."""

    def __init__(
        self,
        provider: str,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        seconds: float = 2.0,
        resolve: Resolve = resolve,
    ) -> None:
        self._provider, self._wire = provider, WIRES[provider]
        self._model = model or self._wire.model
        address = base_url or self._wire.base_url
        if address is None:
            raise InvalidInput(
                f"the reranker {provider!r} needs an address: set MEMORY_MESH_RERANKER_BASE_URL"
            )
        self._lacks_key = self._wire.key is not None and not api_key and base_url is None
        self._client = Client(
            address.rstrip("/").removesuffix(f"/{_ROUTE}"),
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            secrets=[api_key or ""],
            limits=Limits(
                connect_seconds=seconds,
                read_seconds=seconds,
                total_seconds=seconds,
                attempts=1,  # somebody is waiting, and the hits have an order already
                max_bytes=_MAX_ANSWER_BYTES,
            ),
            resolve=resolve,
        )

    def __repr__(self) -> str:
        return f"HttpReranker({self._provider!r}, model={self._model!r})"

    def rank(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """The service's scores in the order of the texts; None where it gave none."""
        if self._lacks_key:
            raise RerankError(
                f"{self._provider} needs an API key: set {self._wire.key} or "
                "MEMORY_MESH_RERANKER_API_KEY"
            )
        found: list[float | None] = []
        for start in range(0, len(texts), self._wire.batch):
            batch = [windows.encodable(text) for text in texts[start : start + self._wire.batch]]
            try:
                answer = self._client.post_json(
                    _ROUTE, self._asked(windows.encodable(query), batch)
                )
            except NetworkError as error:
                raise RerankError(str(error)) from None
            found += self._read(answer, len(batch))
        return found

    def _asked(self, query: str, batch: Sequence[str]) -> dict[str, Json]:
        asked: dict[str, Json] = {"query": query, self._wire.texts: batch}
        if self._model is not None:
            asked["model"] = self._model
        if self._provider == "tei":
            return asked | {"truncate": True}  # else a text above the model's window is an error
        return asked | {"top_n": len(batch)}

    def _read(self, answer: Json, count: int) -> list[float | None]:
        rows = answer.get("results") if isinstance(answer, dict) else answer
        found: list[float | None] = [None] * count
        for row in rows if isinstance(rows, list) else [None]:
            index, score = _row(row)
            if index not in range(count) or found[index] is not None or not math.isfinite(score):
                raise RerankError(
                    f"{self._provider} answered in a form that is not understood; does the "
                    "address speak its protocol?"
                )
            found[index] = score
        return found


def _row(row: Json) -> tuple[int, float]:
    """The index and the score of one result; -1 where it is none."""
    if not isinstance(row, dict):
        return -1, 0.0
    index, score = row.get("index"), row.get("relevance_score", row.get("score"))
    if type(index) is not int or type(score) not in {float, int}:
        return -1, 0.0
    try:
        return index, float(score)  # type: ignore[arg-type]  # checked above
    except OverflowError:  # an integer beyond every float
        return -1, 0.0


# A local cross-encoder, through fastembed (the extra `fastembed`): by name or from a folder.
#
# It never fetches a model: the files come from a folder, or from fastembed's cache if they are
# there already. A folder has the ONNX file (`onnx/model.onnx` or `model.onnx`), `tokenizer.json`
# and `tokenizer_config.json`.


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
        asked = [windows.encodable(text) for text in texts]
        return list(self._loaded().rerank(windows.encodable(query), asked, batch_size=_BATCH))

    def after_fork(self) -> None:
        """A child loads the model anew."""
        if self._engine is not None:
            forks.bury([self._engine])  # destroying it would wait for threads that are not here
        self._engine, self._loading = None, threading.Lock()

    def _loaded(self) -> "TextCrossEncoder":
        with self._loading:
            if self._engine is None:
                try:
                    onnx.onnxruntime()
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
