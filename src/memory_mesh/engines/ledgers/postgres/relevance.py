"""BM25 as the SQLite ledger has it, so that both rank alike."""

import math
from collections.abc import Iterable, Sequence

from memory_mesh.fastdataclass import dataclass

K1, B = 1.2, 0.75
_LEAST = 1e-6  # weight of a word that half of the texts or more hold


@dataclass(frozen=True, slots=True)
class Statistics:
    """How many texts there are, and how many words they have together."""

    texts: int
    words: int


def weight(statistics: Statistics, holders: int) -> float:
    """The weight of a word that so many texts hold."""
    found = math.log((statistics.texts - holders + 0.5) / (holders + 0.5))
    return found if found > 0.0 else _LEAST


def relevance(statistics: Statistics, held: Iterable[tuple[int, float]], length: int) -> float:
    """The score of a text of so many words: of each asked word, who holds it and how often here."""
    average = statistics.words / statistics.texts
    score = 0.0
    for holders, often in held:
        score += weight(statistics, holders) * (
            (often * (K1 + 1.0)) / (often + K1 * (1.0 - B + B * length / average))
        )
    return score


def close(places: Sequence[Sequence[int]], between: int) -> list[int] | None:
    """How many places of each word are within reach of the others; None if never all together.

    All words must stand within a window in which at most `between` other words separate the first
    from the last.
    """
    at = [0] * len(places)
    kept: list[list[int]] = [[] for _ in places]
    while True:
        furthest = places[0][at[0]]
        matched = False
        while not matched:
            matched = True
            for word, found in enumerate(places):
                first = furthest - 1 - between
                if found[at[word]] < first or found[at[word]] > furthest:
                    matched = False
                    while found[at[word]] < first:
                        at[word] += 1
                        if at[word] == len(found):
                            return _counts(kept)
                    furthest = max(furthest, found[at[word]])
        for word, found in enumerate(places):
            if not kept[word] or kept[word][-1] != found[at[word]]:
                kept[word].append(found[at[word]])
        following = [
            found[at[word] + 1] if at[word] + 1 < len(found) else math.inf
            for word, found in enumerate(places)
        ]
        earliest = min(range(len(places)), key=lambda word: following[word])
        if following[earliest] == math.inf:
            return _counts(kept)
        at[earliest] += 1


def _counts(kept: Sequence[Sequence[int]]) -> list[int] | None:
    return [len(each) for each in kept] if kept[0] else None
