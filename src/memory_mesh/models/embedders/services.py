"""Embedders behind an HTTP service: OpenAI and what speaks like it, Ollama, Cohere.

An `EmbeddingWire` says how a provider is asked and how its answer reads; everything else is the
same for all: windows, batches, and the check that an answer has a vector of the right size for
every window.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from memory_mesh.base.typed import Any, dataclass
from memory_mesh.model import (
    Embedding,
    EmbeddingError,
    Json,
    NetworkError,
    RequestRefused,
    Space,
    TextRefused,
)
from memory_mesh.models.embedders import windows
from memory_mesh.models.http.client import Client, Limits, Resolve, resolve

MAX_TOKENS = 512  # the least that common models read; a larger window blurs what is in it
_BATCH = 64  # windows in one request; Cohere takes 96
_TEXTS = Limits(total_seconds=60.0)
_QUERY = Limits(read_seconds=10.0, total_seconds=15.0, attempts=2)  # somebody is waiting
_PROBE, _BLANK = "memory", "."  # to learn the dimension; for a text that services refuse as empty


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for, beside the texts."""

    model: str
    query: bool
    dimension: int | None


@dataclass(frozen=True, slots=True)
class EmbeddingWire:
    """A provider's request format, default model and key variable."""

    base_url: str
    path: str
    model: str
    key: str | None
    ask: Callable[[Sequence[str], Wish], dict[str, Json]]
    read: Callable[[dict[str, Any]], list[Json]]


class HttpEmbedder:
    """One model of one service; safe in threads."""

    def __init__(
        self,
        provider: str,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        dimension: int | None = None,
        max_tokens: int = MAX_TOKENS,
        resolve: Resolve = resolve,
        limits: Limits | None = None,
    ) -> None:
        self._wire = WIRES[provider]
        self._provider, self._model = provider, model or self._wire.model
        self._wanted, self._dimension, self._max_tokens = dimension, dimension, max_tokens
        self._revision = base_url or ""  # one model's name at two addresses need not be one model
        self._lacks_key = self._wire.key is not None and not api_key and base_url is None
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._clients = {
            query: Client(
                base_url or self._wire.base_url,
                headers=headers,
                secrets=[api_key or ""],
                limits=limits or allowed,
                resolve=resolve,
            )
            for query, allowed in ((False, _TEXTS), (True, _QUERY))
        }

    def __repr__(self) -> str:
        return f"HttpEmbedder({self._provider!r}, model={self._model!r})"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """Vectors in the order of the texts; no texts ask for the space alone."""
        if not texts and self._dimension is None:
            return Embedding(self.embed([_PROBE], query=True).space, ())
        cuts = [windows.estimated(_sendable(text), self._max_tokens) for text in texts]
        if query:
            cuts = [windows.for_query(cut) for cut in cuts]
        found = self._vectors([window for cut in cuts for window in cut], query=query)
        grouped = windows.grouped(found, cuts, query=query)
        return Embedding(self._space(), grouped)  # the first answer says how long vectors are

    def close(self) -> None:
        """Nothing is held open."""

    def _space(self) -> Space:
        if self._dimension is None:
            raise EmbeddingError(f"{self._provider} has not said how long its vectors are")
        return Space(self._provider, self._model, self._revision, self._dimension, self._max_tokens)

    def _vectors(self, asked: Sequence[str], *, query: bool) -> Iterator[bytes]:
        """A vector for each window, batch by batch."""
        if self._lacks_key:
            raise EmbeddingError(
                f"{self._provider} needs an API key: set {self._wire.key}, or choose the "
                "local embedder: MEMORY_MESH_EMBEDDER=local"
            )
        for start in range(0, len(asked), _BATCH):
            batch = asked[start : start + _BATCH]
            payload = self._wire.ask(batch, Wish(self._model, query, self._wanted))
            try:
                answer = self._clients[query].post_json(self._wire.path, payload)
            except RequestRefused as error:
                raise TextRefused(str(error)) from None
            except NetworkError as error:
                raise EmbeddingError(str(error)) from None
            yield from self._checked(answer, len(batch))

    def _checked(self, answer: Json, count: int) -> Iterator[bytes]:
        try:
            rows = self._wire.read(answer if isinstance(answer, dict) else {})
        except (KeyError, TypeError, ValueError):
            raise EmbeddingError(
                f"{self._provider} answered in a form that is not understood; does the address "
                "speak its protocol?"
            ) from None
        if len(rows) != count:
            raise EmbeddingError(f"{self._provider} answered {len(rows)} vectors for {count} texts")
        yield from (self._packed(row) for row in rows)

    def _packed(self, row: Json) -> bytes:
        if not isinstance(row, list) or not all(type(number) in {float, int} for number in row):
            raise EmbeddingError(f"{self._provider} answered with something that is no vector")
        if self._dimension is None:
            self._dimension = len(row)
        if len(row) != self._dimension:
            raise EmbeddingError(
                f"{self._provider} answered with vectors of {len(row)} numbers where "
                f"{self._dimension} are expected; check embedder_model and embedder_dimension"
            )
        return windows.pack(row)


def _ask_openai(batch: Sequence[str], wish: Wish) -> dict[str, Json]:
    asked: dict[str, Json] = {"model": wish.model, "input": batch, "encoding_format": "float"}
    return asked | ({"dimensions": wish.dimension} if wish.dimension else {})


def _read_openai(answer: dict[str, Any]) -> list[Json]:
    rows = sorted(answer["data"], key=lambda row: row["index"])
    if [row["index"] for row in rows] != list(range(len(rows))):
        raise ValueError("every text has one answer")
    return [row["embedding"] for row in rows]


def _ask_ollama(batch: Sequence[str], wish: Wish) -> dict[str, Json]:
    asked: dict[str, Json] = {"model": wish.model, "input": batch}
    return asked | ({"dimensions": wish.dimension} if wish.dimension else {})


def _read_ollama(answer: dict[str, Any]) -> list[Json]:
    return list(answer["embeddings"])


def _ask_cohere(batch: Sequence[str], wish: Wish) -> dict[str, Json]:
    asked: dict[str, Json] = {
        "model": wish.model,
        "texts": batch,
        "input_type": "search_query" if wish.query else "search_document",
        "embedding_types": ["float"],
    }
    return asked | ({"output_dimension": wish.dimension} if wish.dimension else {})


def _read_cohere(answer: dict[str, Any]) -> list[Json]:
    return list(answer["embeddings"]["float"])


def _sendable(text: str) -> str:
    return windows.encodable(text) if text.strip() else _BLANK


WIRES: Mapping[str, EmbeddingWire] = {
    "openai": EmbeddingWire(
        "https://api.openai.com/v1",
        "embeddings",
        "text-embedding-3-small",
        "OPENAI_API_KEY",
        _ask_openai,
        _read_openai,
    ),
    "ollama": EmbeddingWire(
        "http://localhost:11434", "api/embed", "all-minilm", None, _ask_ollama, _read_ollama
    ),
    "cohere": EmbeddingWire(
        "https://api.cohere.com",
        "v2/embed",
        "embed-v4.0",
        "COHERE_API_KEY",
        _ask_cohere,
        _read_cohere,
    ),
}
