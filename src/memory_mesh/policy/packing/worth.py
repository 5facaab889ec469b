"""What a hit is worth beside the others.

A score never rises on the way down a list and says the same of many hits; the margin that orders
them does not. Half of it, as a power of e, served best. A text that ends by asking something holds
an answer half as often as others of the same margin. All numbers were chosen on conv-26 and conv-30
(bench/packing.py).
"""

import math
from collections.abc import Sequence

from memory_mesh.model import Hit, Link

STEEPNESS = 0.5
_QUESTION_MARKS = frozenset("?\uff1f\u061f")
ASKING = 0.7  # of its worth that a text has which ends with a question
SIMILAR = 0.01  # of a hit's worth that what is like it has; the search knew of that
RELATED = 0.5  # the same for a link that was made on purpose: that is news


def worths(hits: Sequence[Hit], *, by_margin: bool) -> list[float]:
    """The worth of each hit; one that stands above another is worth no less."""
    found: list[float] = []
    below = 0.0
    for hit in reversed(hits):
        margin = hit.parts.get("margin") if by_margin else None
        own = hit.score if margin is None else math.exp(STEEPNESS * margin)
        if by_margin and margin is None:
            own = 0.0  # brought along by the hit below it
        below = max(own, below)
        found.append(below)
    return found[::-1]


def telling(text: str) -> float:
    """The share of its worth that a text keeps: less if it ends by asking."""
    return ASKING if text.rstrip()[-1:] in _QUESTION_MARKS else 1.0


def linked(worth: float, link: Link) -> float:
    """The worth of a memory that is linked to a hit of this worth."""
    if link.similarity is None:
        return worth * RELATED
    return worth * SIMILAR * link.similarity
