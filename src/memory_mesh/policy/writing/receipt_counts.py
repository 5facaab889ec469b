"""Counts what the receipts of many writes say, for the summary of a command."""

from collections import Counter

from memory_mesh.model import Json, Outcome, Receipt
from memory_mesh.policy.writing.receipts import redaction


class ReceiptCounts:
    """How many writes were merged, superseded another, wait for review, were redacted."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter(merged=0, superseded=0, for_review=0, no_vector=0)
        self._redacted: Counter[str] = Counter()
        self._why: str | None = None

    def count(self, receipt: Receipt) -> None:
        """Counts one receipt."""
        self._counts["merged"] += receipt.outcome is Outcome.MERGED
        self._counts["superseded"] += len(receipt.superseded)
        self._counts["for_review"] += len(receipt.for_review)
        self._redacted.update(receipt.redacted)
        if receipt.vector_pending is not None:
            self._counts["no_vector"] += 1
            self._why = receipt.vector_pending

    def plain(self) -> dict[str, Json]:
        """The counts as JSON values."""
        return {**self._counts, "redacted": dict(sorted(self._redacted.items()))}

    def sentences(self) -> list[str]:
        """The counts in words; nothing is said of what did not happen."""
        words = {
            "merged": "merged with a memory that was stored before",
            "superseded": "stored memories superseded",
            "for_review": "wait for review: memory-mesh review, memory-mesh conflicts",
            "no_vector": f"wait for a vector: {self._why}",
        }
        counts = self._counts
        found = [f"{counts[name]} {said}" for name, said in words.items() if counts[name]]
        if self._redacted:
            found.append(redaction(dict(sorted(self._redacted.items()))))
        return found
