"""chroma: an in-memory collection, its index (HNSW, squared distance) as it comes; vectors only."""

from collections.abc import Sequence
from pathlib import Path

from bench.peers.exchange import Hit, Question, Record

PACKAGE = "chromadb"


class Peer:
    """One collection; an as-of question filters by metadata."""

    def __init__(self, records: Sequence[Record], folder: Path) -> None:  # noqa: ARG002 - in memory
        import chromadb  # type: ignore[import-not-found]  # only in .venv-peers

        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.EphemeralClient(settings=settings)
        self._collection = self._client.create_collection("records")
        size = self._client.get_max_batch_size()
        for at in range(0, len(records), size):
            part = records[at : at + size]
            self._collection.add(
                ids=[record.id for record in part],
                documents=[record.text for record in part],
                embeddings=[record.vector for record in part],
                metadatas=[{"ord": record.ord} for record in part],
            )

    def answer(self, question: Question, k: int) -> list[Hit]:
        """The nearest records; a score is the distance, turned so that more is better."""
        before = question.as_of_ord
        found = self._collection.query(
            query_embeddings=[question.vector],
            n_results=k,
            where=None if before is None else {"ord": {"$lt": before}},
            include=["distances"],
        )
        return [
            (id, -distance)
            for id, distance in zip(found["ids"][0], found["distances"][0], strict=True)
        ]

    def close(self) -> None:
        """Drop the collection: clients of one process share their memory."""
        self._client.delete_collection("records")
