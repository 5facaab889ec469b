"""Groups executions by what they were for: goals that are alike, reached with tools that fit.

::

    goal ── likeness to each goal of a group ──▶ mean ──▶ the best group, if the mean reaches 1
                                                     └──▶ else a group of its own

A likeness of 1 is the threshold: cosine and words each have their own, and both are measured in it
(decision 0040, `python -m bench.trace_groups`). Goals are placed one after another, oldest first,
so that it makes no difference in how many slices they come.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass, replace
from memory_mesh.model import Part, Space
from memory_mesh.model.trace import PatternMatch, Trace
from memory_mesh.text import analyzer, embedding_models

_FAILED = frozenset({"failure", "failed", "fail", "error", "aborted", "timeout"})

EXEMPLARS = 8  # goals of a group that a new one is compared with
WORDS = 0.35  # likeness by words from which two goals are one group
COSINES = {  # the same by cosine, for each model that was measured
    "all-MiniLM-L6-v2": 0.525,
    "l2_supercat_256": 0.45,
}
COSINE = 0.75  # of any other model
TOOLS = 0.4  # how much the tools count
NEUTRAL = 0.3  # share of common tools that speaks neither for nor against


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of one execution as it is compared: its words, its tools and its vector."""

    id: str
    terms: frozenset[str]
    tools: frozenset[str] = frozenset()
    vector: bytes = b""  # little-endian float32 of length 1
    threshold: float = COSINE  # of the vector's model


@dataclass(frozen=True, slots=True)
class GoalGroup:
    """Goals that are one pattern: its first ones, which new goals are compared with."""

    goals: tuple[Goal, ...]
    size: int = 1

    def joined(self, goal: Goal) -> "GoalGroup":
        """Returns the group with one more goal."""
        kept = (*self.goals, goal) if len(self.goals) < EXEMPLARS else self.goals
        return replace(self, goals=kept, size=self.size + 1)


def goal_of(
    id_: str, text: str, tools: Sequence[str] = (), vector: bytes = b"", model: str = ""
) -> Goal:
    """Returns a goal ready to be compared; numbers, such as those of tickets, are left out."""
    words = [term for term in analyzer.terms(text) if not _numbers().fullmatch(term)]
    return Goal(
        id_,
        frozenset(words or analyzer.terms(text)),
        frozenset(tool.casefold() for tool in tools),
        vector,
        cosine_threshold(model),
    )


def cosine_threshold(model: str) -> float:
    """Returns the cosine from which a model's vectors of two goals are one group."""
    return next((cosine for name, cosine in COSINES.items() if name in model), COSINE)


def likeness(one: Goal, other: Goal) -> float:
    """Returns how alike two goals are, 1 being just alike enough."""
    fit = TOOLS * (_shared_tools(one.tools, other.tools) - NEUTRAL)
    if one.vector and len(one.vector) == len(other.vector):
        import numpy as np

        mine, theirs = (np.frombuffer(goal.vector, np.float32) for goal in (one, other))
        return (float(mine @ theirs) + fit) / one.threshold
    return (shared_words(one.terms, other.terms) + fit) / WORDS


def shared_words(one: frozenset[str], other: frozenset[str]) -> float:
    """Returns the share of the words of two texts that are in both (Dice)."""
    both = len(one) + len(other)
    return 2 * len(one & other) / both if both else 0.0


def _shared_tools(one: frozenset[str], other: frozenset[str]) -> float:
    """Returns the share of the tools that both use; neutral where one names none."""
    return len(one & other) / len(one | other) if one and other else NEUTRAL


def nearest(goal: Goal, groups: Sequence[GoalGroup]) -> int | None:
    """Returns the position of the group that a goal belongs to, or None.

    Of groups that are equally near it is the one whose first goal has the lowest id.
    """
    near = [
        (-alike, group.goals[0].id, position)
        for position, group in enumerate(groups)
        if (alike := fmean(likeness(goal, each) for each in group.goals)) >= 1
    ]
    return min(near)[2] if near else None


def place(goals: Sequence[Goal], groups: Sequence[GoalGroup] = ()) -> list[int]:
    """Returns the position of each goal's group: of those given, then of new ones in order."""
    known, places = list(groups), list[int]()
    for goal in goals:
        where = nearest(goal, known)
        if where is None:
            known.append(GoalGroup((goal,)))
            places.append(len(known) - 1)
        else:
            known[where] = known[where].joined(goal)
            places.append(where)
    return places


_numbers = lazy_pattern(r"#?\d+|v?\d+(?:\.\d+)+")


# How similar two goals are, and what an earlier execution suggests for the next one.


def normalised(goal: str) -> str:
    """Returns the goal in lower case without punctuation."""
    return " ".join("".join(char if char.isalnum() else " " for char in goal.lower()).split())


def similarity(goal: str, other: str, cosine: float) -> float:
    """Returns how similar two goals are, 0 to 1: by meaning where a cosine says it, or by words."""
    title = other.partition("\n")[0]  # of a learning: the rest of it says more than the goal
    return max(0.0, min(1.0, max(cosine, *(by_words(goal, text) for text in {other, title}))))


def by_words(goal: str, other: str) -> float:
    """Returns the share of words that two goals have in common, on the scale of cosines.

    The root brings it there: goals of one task that are worded differently share a word in four.
    """
    own, others = {*analyzer.terms(goal)}, {*analyzer.terms(other)}
    if not own or not others:
        return 0.0
    return math.sqrt(len(own & others) / math.sqrt(len(own) * len(others)))


def cosine(space: Space | None, vector: bytes, parts: Sequence[Part]) -> float:
    """Returns the cosine of a goal and the nearest part of a text, on the scale of ranking."""
    if space is None or not parts:
        return 0.0
    import numpy as np

    traits = embedding_models.traits(space)
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
