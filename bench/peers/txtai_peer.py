"""txtai: `hybrid=True`, its vector index (faiss) and its own BM25, half and half by its default.

txtai embeds by calling a function with texts. Ours looks up the vectors that were given. Without a
content database it has no filter: an as-of question asks for all records, and the driver leaves
out the later ones. A question with a speaker goes to a second index with such a database, by SQL.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.exchange import Hit, Question, Record, Vector

PACKAGE = "txtai"


class Peer:
    """One index in memory, and one that filters where a question wants that."""

    def __init__(self, records: Sequence[Record], folder: Path) -> None:  # noqa: ARG002 - in memory
        self._vectors = {record.text: record.vector for record in records}
        self._records = records
        self._index = self._embeddings(content=False)
        self._index.index((record.id, record.text) for record in records)
        self._filtering: Any = None

    def answer(self, question: Question, k: int) -> list[Hit]:
        """The best by the weighted sum of both scores."""
        self._vectors[question.text] = question.vector
        wanted = k if question.as_of_ord is None else len(self._records)
        if question.speaker is not None:
            return self._by(question.speaker, question.text, wanted)
        return [(id, float(score)) for id, score in self._index.search(question.text, wanted)]

    def _by(self, speaker: str, text: str, k: int) -> list[Hit]:
        if self._filtering is None:
            self._filtering = self._embeddings(content=True)
            self._filtering.index(
                (record.id, {"text": record.text, "speaker": record.speaker or ""})
                for record in self._records
            )
        sql = (
            f"SELECT id, score FROM txtai WHERE similar(:q, {len(self._records)}) AND speaker = :s"
        )
        found = self._filtering.search(sql, k, parameters={"q": text, "s": speaker})
        return [(row["id"], float(row["score"])) for row in found]

    def _embeddings(self, *, content: bool) -> Any:  # noqa: ANN401 - untyped library
        from txtai import Embeddings  # type: ignore[import-not-found]  # only in .venv-peers

        def given(texts: Sequence[str]) -> Vector:  # txtai takes a plain function, no method
            return np.stack([self._vectors[text] for text in texts])

        return Embeddings(method="external", transform=given, hybrid=True, content=content)

    def close(self) -> None:
        """Close what was opened."""
        self._index.close()
        if self._filtering is not None:
            self._filtering.close()
