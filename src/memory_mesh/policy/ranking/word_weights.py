"""Weighs a word by how rare it is: in the store, mixed with how rare it is in ordinary English."""

import math
from collections.abc import Mapping
from functools import lru_cache

from memory_mesh.policy.ranking import _common_words

ENGLISH_TEXTS = 500  # what ordinary English counts beside the store, in texts
_RARE = 2.0**-14  # the share of texts that hold a word that is not listed


def weight(term: str, held: int, rows: int) -> float:
    """Returns 0.1 for a word that nearly every text holds, and about 9 for a very rare one."""
    english = _shares().get(term, _RARE)
    share = (min(held, rows) + ENGLISH_TEXTS * english + 0.05) / (rows + ENGLISH_TEXTS + 0.1)
    return -math.log(min(share, 0.9))


@lru_cache(maxsize=1)
def _shares() -> Mapping[str, float]:
    return {
        stem: 2.0**-level for level, stems in _common_words.LEVELS.items() for stem in stems.split()
    }
