"""Rerankers: a cross-encoder through fastembed, or a service with a /rerank route.

A reranker reads the question together with each of the best hits and puts them in a new order
(search/recall.py).

Nothing heavy is imported here: the module of the chosen reranker is loaded when it is chosen, and
a model when something is ranked.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memory_mesh.base.typed import Protocol
from memory_mesh.model.errors import InvalidInput, MeshError, RerankError
from memory_mesh.model.ports import Reranker

PAUSE_SECONDS = 30.0  # after a call that took too long; a late answer ends the pause

FASTEMBED, NONE = "fastembed", "none"
SERVICES = ("cohere", "jina", "tei", "http")


class RerankerSettings(Protocol):
    """The settings that decide what orders the best hits anew."""

    @property
    def reranker(self) -> str | None:
        """Which one; None for none."""

    @property
    def reranker_model(self) -> str | None:
        """The name of its model, or for fastembed a folder."""

    @property
    def reranker_api_key(self) -> str | None:
        """The key that the service wants."""

    @property
    def reranker_base_url(self) -> str | None:
        """Where the service is."""

    @property
    def reranker_timeout(self) -> float:
        """Seconds that one request may take."""

    @property
    def models_dir(self) -> Path:
        """The folder of local models."""

    @property
    def embedder_threads(self) -> int:
        """Threads of a local model; 0 leaves it to onnxruntime."""


def reranker_of(settings: RerankerSettings) -> Reranker | None:
    """The reranker that the settings name; None for none. Nothing is loaded or asked yet."""
    name = settings.reranker or NONE
    if name == NONE:
        return None
    if name == FASTEMBED:
        return _fastembed(settings)
    if name not in SERVICES:
        known = ", ".join(sorted((*SERVICES, FASTEMBED, NONE)))
        raise InvalidInput(f"there is no reranker {name!r}; there are: {known}")
    from memory_mesh.models.rerankers.services import HttpReranker

    return HttpReranker(
        name,
        model=settings.reranker_model,
        base_url=settings.reranker_base_url,
        api_key=settings.reranker_api_key,
        seconds=settings.reranker_timeout,
    )


def _fastembed(settings: RerankerSettings) -> Reranker:
    from memory_mesh.models.rerankers.services import FastembedReranker

    if settings.reranker_model is None:
        raise InvalidInput(
            "the reranker 'fastembed' needs a model, by name or as a folder: "
            "set MEMORY_MESH_RERANKER_MODEL"
        )
    return FastembedReranker(
        settings.reranker_model,
        cache=settings.models_dir / ".fastembed",
        threads=settings.embedder_threads,
    )


# A reranker with a time limit, whose every failure is a RerankError.
#
# The reranker runs in a thread, because neither a model nor an object of the caller's can be
# interrupted. A call that takes too long is left to end by itself, and its answer is dropped.


class Guarded:
    """Any reranker, asked for at most `seconds` at a time; safe in threads."""

    def __init__(
        self,
        reranker: Reranker,
        seconds: float,
        *,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reranker, self._seconds, self._timer = reranker, seconds, timer
        self._paused_until = -math.inf

    def rank(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """The scores of the texts in their order, or a RerankError in time."""
        start = self._timer()
        if start < self._paused_until:
            left = math.ceil(self._paused_until - start)
            raise RerankError(f"it took too long before, and is asked again in {left} s")
        answers: list[list[float | None]] = []
        failures: list[RerankError] = []

        def ask() -> None:
            try:
                answers.append(_checked(self._reranker.rank(query, texts), len(texts)))
                self._paused_until = -math.inf
            except MeshError as error:
                failures.append(RerankError(str(error)))
            except Exception as error:  # noqa: BLE001  # a model of others raises what it likes
                failures.append(RerankError(f"{type(error).__name__}: {error}"))

        thread = threading.Thread(target=ask, name="memory-mesh reranker", daemon=True)
        thread.start()
        thread.join(self._seconds)
        if answers:
            return answers[0]
        if thread.is_alive() or self._timer() - start >= self._seconds:
            self._paused_until = self._timer() + PAUSE_SECONDS
        raise failures[0] if failures else RerankError(f"no answer within {self._seconds:g} s")


def _checked(scores: Sequence[float | None], count: int) -> list[float | None]:
    """The scores as plain numbers, one for each text."""
    found = [None if score is None else float(score) for score in scores]
    if len(found) != count:
        raise RerankError(f"it answered {len(found)} scores for {count} texts")
    told = [score for score in found if score is not None]
    if not told:
        raise RerankError(f"it answered no score for {count} texts")
    if not all(math.isfinite(score) for score in told):
        raise RerankError("it answered a score that is not a number")
    return found
