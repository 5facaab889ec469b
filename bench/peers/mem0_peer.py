"""mem0: `add(infer=False)` and `search`, over its default store (Qdrant in a folder).

mem0 has no setting for vectors that exist already, so the embedder that it makes from its
configuration is replaced by one that looks up what was given; it asks nothing else of an embedder.
A language model must be configured and is never called. Installed without extras, as here, its
search has vectors only; its keyword and entity parts want models that are fetched when first used.
Its threshold (0.1) stays, so that a question can have fewer answers than asked for.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from bench.peers.exchange import Hit, Question, Record

PACKAGE = "mem0ai"
_USER = "tenant"
_NO_KEY = {"api_key": "unused"}


class Peer:
    """One store in the folder; moment and speaker of a question filter by metadata."""

    def __init__(self, records: Sequence[Record], folder: Path) -> None:
        os.environ["MEM0_TELEMETRY"] = "False"  # both are read when mem0 is imported
        os.environ.setdefault("MEM0_DIR", str(folder))
        from mem0 import Memory  # type: ignore[import-not-found]  # only in .venv-peers

        place = {"path": str(folder / "qdrant"), "embedding_model_dims": len(records[0].vector)}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "embedder": {"provider": "openai", "config": _NO_KEY},
                "llm": {"provider": "openai", "config": _NO_KEY},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._given = _Given(records)
        self._memory.embedding_model = self._given
        for record in records:
            metadata = {"record": record.id, "ord": record.ord, "speaker": record.speaker or ""}
            self._memory.add(record.text, user_id=_USER, metadata=metadata, infer=False)

    def answer(self, question: Question, k: int) -> list[Hit]:
        """What mem0 finds for this user."""
        self._given.vectors[question.text.strip()] = question.vector.tolist()
        filters: dict[str, object] = {"user_id": _USER}
        if question.as_of_ord is not None:
            filters["ord"] = {"lt": question.as_of_ord}
        if question.speaker is not None:
            filters["speaker"] = question.speaker
        found = self._memory.search(question.text, top_k=k, filters=filters)["results"]
        return [(item["metadata"]["record"], item["score"]) for item in found]

    def close(self) -> None:
        """Release the folder."""
        self._memory.vector_store.client.close()
        self._memory.close()


class _Given:
    """Stands where mem0 keeps its embedder."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.vectors: dict[str, list[float]] = {
            record.text: record.vector.tolist() for record in records
        }

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0's call
        return self.vectors[text]
