"""txtai: `hybrid=True`, its vector index (faiss) and its own BM25, half and half by its default.

txtai embeds by calling a function with texts. Ours looks up the vectors that were given. Without a
content database it has no filter: an as-of question asks for all records, and the driver leaves
out the later ones.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.peers.exchange import Hit, Question, Record, Vector

PACKAGE = "txtai"


class Peer:
    """One index in memory."""

    def __init__(self, records: Sequence[Record], folder: Path) -> None:  # noqa: ARG002 - in memory
        from txtai import Embeddings  # type: ignore[import-not-found]  # only in .venv-peers

        self._vectors = {record.text: record.vector for record in records}
        self._size = len(records)

        def given(texts: Sequence[str]) -> Vector:  # txtai takes a plain function, no method
            return np.stack([self._vectors[text] for text in texts])

        self._index = Embeddings(method="external", transform=given, hybrid=True)
        self._index.index((record.id, record.text) for record in records)

    def answer(self, question: Question, k: int) -> list[Hit]:
        """The best by the weighted sum of both scores."""
        self._vectors[question.text] = question.vector
        wanted = k if question.as_of_ord is None else self._size
        return [(id, float(score)) for id, score in self._index.search(question.text, wanted)]

    def close(self) -> None:
        """Close the index."""
        self._index.close()
