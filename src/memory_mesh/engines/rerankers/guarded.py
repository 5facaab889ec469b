"""A reranker with a time limit, whose every failure is a RerankError.

The reranker runs in a thread, because neither a model nor an object of the caller's can be
interrupted. A call that takes too long is left to end by itself, and its answer is dropped.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence

from memory_mesh.errors import MeshError, RerankError
from memory_mesh.ports import Reranker

PAUSE_SECONDS = 30.0  # after a call that took too long; a late answer ends the pause


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
