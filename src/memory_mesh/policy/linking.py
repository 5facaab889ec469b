"""Decides which memories are similar enough to be linked by themselves."""

from collections.abc import Iterable, Sequence

from memory_mesh.model import Space
from memory_mesh.policy.ranking.models import traits

LEAST_SIMILARITY = 0.5  # on the scale of all-MiniLM-L6-v2
MOST_LINKS = 5  # that a memory has to similar ones; any number may lead to it
MOST_WORDS = 12  # of a text that look for candidates among older memories
MOST_WINDOWS = 8  # of a long text that look for similar ones


def least_cosine(space: Space) -> float:
    """The cosine of a space from which two memories are linked."""
    known = traits(space)
    return (LEAST_SIMILARITY - known.offset) / known.slope


def similarity(space: Space, cosine: float) -> float:
    """A cosine of a space on the common scale, 1 at most."""
    known = traits(space)
    return round(min(1.0, known.slope * cosine + known.offset), 4)


def best(found: Iterable[tuple[str, float]], *, most: int = MOST_LINKS) -> list[tuple[str, float]]:
    """The most similar memories, each once, of equal ones the first named."""
    nearest: dict[str, float] = {}
    for id_, near in found:
        nearest[id_] = max(near, nearest.get(id_, -1.0))
    return sorted(nearest.items(), key=lambda pair: -pair[1])[:most]


def telling_words(terms: str) -> tuple[str, ...]:
    """The terms that find candidates: the longest ones, for long words are rare."""
    words: Sequence[str] = list(dict.fromkeys(terms.split()))
    return tuple(sorted(words, key=lambda word: -len(word))[:MOST_WORDS])
