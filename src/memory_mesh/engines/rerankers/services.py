"""Rerankers behind an HTTP service with a /rerank route.

Cohere, Jina and what speaks like them (vLLM, llama.cpp, Infinity, LocalAI: `http`) take
`{model, query, documents, top_n}`, text-embeddings-inference (`tei`) takes `{query, texts}`. They
answer `{"results": [{"index", "relevance_score"}]}` or `[{"index", "score"}]`; either is read.
"""

import math
from collections.abc import Mapping, Sequence

from memory_mesh.engines.embedders.vectors import encodable
from memory_mesh.engines.http.client import Client, Limits, Resolve, resolve
from memory_mesh.errors import InvalidInput, NetworkError, RerankError
from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Json

_ROUTE = "rerank"
_MAX_ANSWER_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Wire:
    """A provider's address, default model, key variable and the way it takes texts."""

    base_url: str | None = None
    model: str | None = None
    key: str | None = None
    texts: str = "documents"
    batch: int = 1_000  # texts in one request


WIRES: Mapping[str, Wire] = {
    "cohere": Wire("https://api.cohere.com/v2", "rerank-v3.5", "COHERE_API_KEY"),
    "jina": Wire("https://api.jina.ai/v1", "jina-reranker-v2-base-multilingual", "JINA_API_KEY"),
    "tei": Wire("http://localhost:8080", texts="texts", batch=32),
    "http": Wire(),
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
            batch = [encodable(text) for text in texts[start : start + self._wire.batch]]
            try:
                answer = self._client.post_json(_ROUTE, self._asked(encodable(query), batch))
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
