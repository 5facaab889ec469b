"""The profile `points`: 001's table.

======================  ======  ==============================================
factor                  points
======================  ======  ==============================================
importance              5-30    low 5, medium 15, high 25, critical 30
recency                 0-10    10 below 24 hours, 5 below 72
words of the task       0-20    `per_title_word` for each that the title holds
specialty of the agent  0-15    `per_tag` for each tag of its work
same discoverer         10
======================  ======  ==============================================
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from memory_mesh.model.trigger import MatchContext, MemoryMetadata, PointRules
from memory_mesh.policy.text import analyze

IMPORTANCE: Mapping[str, int] = {"critical": 30, "high": 25, "medium": 15, "low": 5}
RECENT = ((timedelta(hours=24), 10), (timedelta(hours=72), 5))
MOST_FOR_TITLE, MOST_FOR_TAGS, SAME_DISCOVERER = 20, 15, 10
MOST = 100
SPECIALTIES: Mapping[str, frozenset[str]] = {
    "planner": frozenset(("planning", "structure", "analysis", "architecture")),
    "developer": frozenset(("implementation", "code", "patterns", "development")),
    "tester": frozenset(("testing", "validation", "quality", "tests")),
    "reviewer": frozenset(("review", "quality", "standards", "code-review")),
}
_LEAST_LETTERS = 4  # of a word of the task that counts
_TASK_CHARS = 20_000  # characters of a task whose words are read


def points(
    memory: MemoryMetadata, context: MatchContext, now: datetime, rules: PointRules
) -> dict[str, float]:
    """Returns the points of each factor; their sum is the score."""
    age = now - memory.discovered_at
    title = set(analyze.terms(memory.title))
    shared = {term for term in task_words(context.task[:_TASK_CHARS]) if term in title}
    tags = {tag.lower() for tag in memory.tags} & rules.specialty
    agent = context.agent_name.lower()
    return {
        "importance": IMPORTANCE[memory.level],
        "recency": next((given for limit, given in RECENT if age < limit), 0),
        "title": min(MOST_FOR_TITLE, rules.per_title_word * len(shared)),
        "specialty": min(MOST_FOR_TAGS, rules.per_tag * len(tags)),
        "discoverer": SAME_DISCOVERER if agent and agent == _discoverer(memory) else 0,
    }


def total(parts: Mapping[str, float]) -> int:
    """Returns the score, 0 to 100."""
    return round(min(MOST, sum(parts.values())))


def task_words(task: str) -> frozenset[str]:
    """Returns the stems of the words of a task that have more than three letters."""
    words = (word for word in task.split() if len(word.strip(_MARKS)) >= _LEAST_LETTERS)
    return frozenset(analyze.query_terms(" ".join(words)))


_MARKS = ".,;:!?()[]{}\"'`*<>"


def _discoverer(memory: MemoryMetadata) -> str:
    return (memory.discovered_by or "").lower()
