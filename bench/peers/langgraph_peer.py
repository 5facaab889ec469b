"""The LangGraph store: InMemoryStore with an index over the text; cosine, vectors only.

The store embeds by calling a function with texts. Ours looks up the vectors that were given.
"""

from collections.abc import Sequence
from pathlib import Path

from bench.peers.exchange import Hit, Question, Record

PACKAGE = "langgraph"
_PLACE = ("records",)


class Peer:
    """One store; moment and speaker of a question filter by fields of the value."""

    def __init__(self, records: Sequence[Record], folder: Path) -> None:  # noqa: ARG002 - in memory
        from langgraph.store.memory import InMemoryStore

        self._vectors = {record.text: record.vector.tolist() for record in records}
        dims = len(records[0].vector)
        self._store = InMemoryStore(index={"dims": dims, "embed": self._embed, "fields": ["text"]})
        for record in records:
            value = {"text": record.text, "ord": record.ord, "speaker": record.speaker}
            self._store.put(_PLACE, record.id, value)

    def answer(self, question: Question, k: int) -> list[Hit]:
        """The nearest records by cosine."""
        self._vectors[question.text] = question.vector.tolist()
        wanted: dict[str, object] = {}
        if question.as_of_ord is not None:
            wanted["ord"] = {"$lt": question.as_of_ord}
        if question.speaker is not None:
            wanted["speaker"] = question.speaker
        found = self._store.search(
            _PLACE,
            query=question.text,
            limit=k,
            filter=wanted or None,
        )
        return [(item.key, item.score or 0.0) for item in found]

    def close(self) -> None:
        """Nothing to give back: the store is garbage once it is let go."""

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vectors[text] for text in texts]
