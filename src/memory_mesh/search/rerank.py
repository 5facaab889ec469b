"""Orders the best hits of a search anew, by a reranker that reads question and text together.

::

    hits in their own order ── the first `candidates`, `chars` of each ──▶ reranker
      ▼                                                                     │
    sorted by its scores; without a score: below, in their own order ◀──────┘
      └── it fails or takes too long: their own order, and a note says so

It changes the order and nothing else: `hit.score` stays the estimated relevance, and the
reranker's score is `hit.parts["rerank"]`. It is asked outside every read transaction, about hits
that the reader may see, with the question and the texts as they are stored: redacted.
"""

from collections.abc import Sequence

from memory_mesh.base.fastdataclass import dataclass, replace
from memory_mesh.model import Explanation, Hit
from memory_mesh.model.errors import RerankError
from memory_mesh.model.ports import Reranker
from memory_mesh.platform import log
from memory_mesh.write.prepare import cut_reason


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranker and what it may cost; its time limit is its own (models/rerankers/__init__.py)."""

    reranker: Reranker
    candidates: int
    chars: int
    may_be_kept: bool = True  # an answer may be cached: it is the store's one reranker


def rerank(
    reranking: Reranking, question: str, hits: Sequence[Hit], explanation: Explanation
) -> tuple[list[Hit], Explanation]:
    """Returns the hits in the reranker's order, or as they are with a note that says why."""
    asked, rest = hits[: reranking.candidates], hits[reranking.candidates :]
    if len(asked) < 2 or not question.strip():  # noqa: PLR2004  # nothing to put in order
        return list(hits), explanation
    texts = [
        hit.content if len(hit.content) <= reranking.chars else hit.excerpt[: reranking.chars]
        for hit in asked
    ]
    try:
        scores = reranking.reranker.rank(question, texts)
    except RerankError as error:
        return list(hits), replace(explanation, note=_failed(error, explanation.note))
    pairs = list(zip(scores, asked, strict=True))
    told = [
        (score, replace(hit, parts={**hit.parts, "rerank": round(score, 6)}))
        for score, hit in pairs
        if score is not None
    ]
    told.sort(key=lambda pair: -pair[0])  # stable: in a tie our own order stays
    untold = [hit for score, hit in pairs if score is None]
    return [*(hit for _, hit in told), *untold, *rest], replace(explanation, reranked=len(told))


def _failed(error: RerankError, note: str | None) -> str:
    """Warns once per process, and returns the note of the search."""
    reason = cut_reason(error)
    log.warn_once("reranker", f"the reranker fails: {reason}. Searches answer in their usual order")
    told = f"the reranker fails: {reason}; the hits are in their usual order"
    return told if note is None else f"{note}; {told}"
