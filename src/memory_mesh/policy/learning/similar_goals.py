"""How similar two goals are, and what an earlier execution suggests for the next one."""

import math
from collections.abc import Sequence

from memory_mesh.model import Part, Space
from memory_mesh.model.trace import PatternMatch, Trace
from memory_mesh.policy.ranking import models
from memory_mesh.policy.text import analyze


def normalised(goal: str) -> str:
    """Returns the goal in lower case without punctuation."""
    return " ".join("".join(char if char.isalnum() else " " for char in goal.lower()).split())


def similarity(goal: str, other: str, cosine: float) -> float:
    """Returns how similar two goals are, 0 to 1: by meaning where a cosine says it, or by words."""
    title = other.partition("\n")[0]  # of a learning: the rest of it says more than the goal
    words = max(by_words(goal, text) for text in {other, title})
    return max(0.0, min(1.0, max(cosine, words)))


def by_words(goal: str, other: str) -> float:
    """Returns the share of words that two goals have in common, on the scale of cosines.

    The root brings it there: goals of one task that are worded differently share a word in four.
    """
    own, others = {*analyze.terms(goal)}, {*analyze.terms(other)}
    if not own or not others:
        return 0.0
    return math.sqrt(len(own & others) / math.sqrt(len(own) * len(others)))


def cosine(space: Space | None, vector: bytes, parts: Sequence[Part]) -> float:
    """Returns the cosine of a goal and the nearest part of a text, on the scale of ranking."""
    if space is None or not parts:
        return 0.0
    import numpy as np

    traits = models.traits(space)
    matrix = np.frombuffer(b"".join(part.vector for part in parts), np.float32)
    cosines = matrix.reshape(len(parts), -1) @ np.frombuffer(vector, np.float32)
    return float(traits.slope * cosines.max() + traits.offset)


def match_of(trace: Trace, similarity: float) -> PatternMatch:
    """Returns what a query for similar tasks says of a trace."""
    return PatternMatch(
        trace.goal,
        similarity,
        trace.tools_used,
        trace.success,
        trace.trace_id,
        approach(trace) if trace.success else None,
    )


def approach(trace: Trace) -> str | None:
    """Returns how an execution went about its goal: its steps, else its plan."""
    if trace.steps:
        done = [step.text for step in trace.steps if not step_failed(step.status)]
        return numbered(done) or None
    return trace.plan.strip() or None


def numbered(steps: Sequence[str]) -> str:
    """Returns steps as a numbered list."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(steps, start=1))


def step_failed(status: str) -> bool:
    """True if the status of a step says that it did not work."""
    return status.strip().casefold() in _FAILED


_FAILED = frozenset({"failure", "failed", "fail", "error", "aborted", "timeout"})
