"""chroma: an in-memory collection, its index (HNSW, squared distance) as it comes; vectors only."""

from collections.abc import Sequence
from pathlib import Path

from bench.peers.exchange import Hit, Question, Record

PACKAGE = "chromadb"


class Peer:
    """One collection; moment and speaker of a question filter by metadata."""

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
                metadatas=[{"ord": record.ord, "speaker": record.speaker or ""} for record in part],
            )

    def answer(self, question: Question, k: int) -> list[Hit]:
        """The nearest records; a score is the distance, turned so that more is better."""
        wanted: list[dict[str, object]] = []
        if question.as_of_ord is not None:
            wanted.append({"ord": {"$lt": question.as_of_ord}})
        if question.speaker is not None:
            wanted.append({"speaker": question.speaker})
        found = self._collection.query(
            query_embeddings=[question.vector],
            n_results=k,
            where={"$and": wanted} if len(wanted) > 1 else next(iter(wanted), None),
            include=["distances"],
        )
        return [
            (id, -distance)
            for id, distance in zip(found["ids"][0], found["distances"][0], strict=True)
        ]

    def close(self) -> None:
        """Drop the collection: clients of one process share their memory."""
        self._client.delete_collection("records")
