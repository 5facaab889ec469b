"""A language model behind an HTTP service: OpenAI and what speaks like it, Ollama, Cohere.

One request, one answer. If the model fails, the caller continues without it.
"""

from collections.abc import Callable, Mapping

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.base.typed import Any
from memory_mesh.model import InvalidInput, Json, LLMError, NetworkError
from memory_mesh.models.http.client import Client, Limits

MAX_TOKENS = 2_000
_TEMPERATURE = 0.1
_LIMITS = Limits(read_seconds=60.0, total_seconds=90.0, attempts=2)


@dataclass(frozen=True, slots=True)
class ChatWire:
    """A provider's request format, and where its response has the answer."""

    base_url: str
    path: str
    model: str
    key: str | None
    options: Callable[[int], dict[str, Json]]
    read: Callable[[dict[str, Any]], object]


class HttpLLM:
    """Implements `ports.LLM` over one model of one service."""

    def __init__(
        self,
        provider: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
    ) -> None:
        if provider not in WIRES:
            raise InvalidInput(
                f"there is no llm_provider {provider!r}; there are: {', '.join(WIRES)}"
            )
        self._provider, self._wire = provider, WIRES[provider]
        self._model = model or self._wire.model
        self._lacks_key = self._wire.key is not None and not api_key and base_url is None
        self._client = Client(
            base_url or self._wire.base_url,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            secrets=[api_key or ""],
            limits=_LIMITS,
        )

    def __repr__(self) -> str:
        return f"HttpLLM({self._provider!r}, model={self._model!r})"

    def complete(self, prompt: str, *, max_tokens: int | None = None) -> str:
        """The answer to a prompt; raises LLMError when none can be had."""
        if self._lacks_key:
            raise LLMError(f"{self._provider} needs an API key: set {self._wire.key}")
        asked: dict[str, Json] = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
        }
        try:
            answer = self._client.post_json(
                self._wire.path, asked | self._wire.options(max_tokens or MAX_TOKENS)
            )
        except NetworkError as error:
            raise LLMError(str(error)) from None
        return self._read(answer)

    def _read(self, answer: Json) -> str:
        try:
            text = self._wire.read(answer if isinstance(answer, dict) else {})
        except (KeyError, TypeError, IndexError):
            text = None
        if not isinstance(text, str) or not text.strip():
            raise LLMError(f"{self._provider} answered without a text")
        return text


WIRES: Mapping[str, ChatWire] = {
    "openai": ChatWire(
        "https://api.openai.com/v1",
        "chat/completions",
        "gpt-4.1-mini",
        "MEMORY_MESH_LLM_API_KEY or OPENAI_API_KEY",
        lambda tokens: {"max_tokens": tokens, "temperature": _TEMPERATURE},
        lambda answer: answer["choices"][0]["message"]["content"],
    ),
    "ollama": ChatWire(
        "http://localhost:11434",
        "api/chat",
        "llama3.2",
        None,
        lambda tokens: {
            "stream": False,
            "options": {"num_predict": tokens, "temperature": _TEMPERATURE},
        },
        lambda answer: answer["message"]["content"],
    ),
    "cohere": ChatWire(
        "https://api.cohere.com",
        "v2/chat",
        "command-a-03-2025",
        "MEMORY_MESH_LLM_API_KEY or COHERE_API_KEY",
        lambda tokens: {"max_tokens": tokens, "temperature": _TEMPERATURE},
        lambda answer: answer["message"]["content"][0]["text"],
    ),
}
