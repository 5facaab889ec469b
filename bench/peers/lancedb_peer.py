"""lancedb: hybrid search over a table, vectors and full text fused as it does by default.

The full-text index is made with its defaults (English stems, stop words left out); the default
reranker is reciprocal rank fusion. The table has no vector index: lancedb then compares all rows.
"""

from collections.abc import Sequence
from pathlib import Path

from bench.peers.exchange import Hit, Question, Record

PACKAGE = "lancedb"


class Peer:
    """One table in the folder; moment and speaker of a question filter before both searches."""

    def __init__(self, records: Sequence[Record], folder: Path) -> None:
        import lancedb

        rows = [
            {
                "id": record.id,
                "text": record.text,
                "ord": record.ord,
                "speaker": record.speaker or "",
                "vector": record.vector,
            }
            for record in records
        ]
        self._table = lancedb.connect(folder).create_table("records", rows)
        self._table.create_fts_index("text")

    def answer(self, question: Question, k: int) -> list[Hit]:
        """The best of both searches by reciprocal rank."""
        asked = self._table.search(query_type="hybrid").vector(question.vector).text(question.text)
        wanted = []
        if question.as_of_ord is not None:
            wanted.append(f"ord < {question.as_of_ord}")
        if question.speaker is not None:
            wanted.append("speaker = '{}'".format(question.speaker.replace("'", "''")))
        if wanted:
            asked = asked.where(" AND ".join(wanted), prefilter=True)
        return [(row["id"], row["_relevance_score"]) for row in asked.limit(k).to_list()]

    def close(self) -> None:
        """Nothing to give back: the folder is the driver's."""
