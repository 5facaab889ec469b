"""Adds up the trees of the order for all candidates at once, with numpy.

Every candidate gets the same additions in the same order as in `_forest_by_…`, so the same sum to
the last bit. Nobody comes here before numpy is loaded: a search by words alone has no need of it.
"""

from collections.abc import Sequence
from functools import cache
from itertools import chain

from memory_mesh.base.typed import TYPE_CHECKING, TypeAlias, dataclass
from memory_mesh.search.ranking import (
    _trees_by_meaning as by_meaning,
    _trees_by_static as by_static,
    _trees_by_words as by_words,
)
from memory_mesh.text.embedding_models import STATIC, WORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]
    Places: TypeAlias = NDArray[np.intp]

_QUESTIONS = 3  # of one tree: `bench/training/tables.py` says how a tree is written
_ANSWERS = 2**_QUESTIONS


def margins(rows: Sequence[Sequence[float]], order: str, line: Sequence[int]) -> list[float]:
    """Returns the sum of all trees for each row, and of the columns that are added as they are."""
    import numpy as np

    columns = np.array(rows, np.float64).T.copy()
    trees = _trees(order)
    yes = np.empty((len(trees.limits), len(rows)), np.bool_)
    for feature, start, stop in trees.features:
        np.less_equal(columns[feature], trees.limits[start:stop], out=yes[start:stop])
    yes = yes.view(np.uint8)
    answers = sum(yes[asked] << number for number, asked in enumerate(trees.asked))
    total = np.zeros(len(rows))
    for added in trees.said.take(answers + trees.first):
        total += added
    straight = columns[line[0]]
    for column in line[1:]:
        straight = straight + columns[column]
    found: list[float] = (total + straight).tolist()
    return found


@dataclass(frozen=True, slots=True)
class _Trees:
    """The questions that trees ask, each once; which of them a tree asks, and what it then adds."""

    features: tuple[tuple[int, int, int], ...]  # each with the questions that ask for it, in a row
    limits: "Numbers"
    asked: "Places"  # three for each tree
    said: "Numbers"  # eight for each tree, one after another
    first: "Places"  # where those of a tree begin


@cache
def _trees(order: str) -> _Trees:
    import numpy as np

    written = _written(order)
    questions = [
        [(tree[at], tree[at + 1]) for tree in written] for at in range(0, 2 * _QUESTIONS, 2)
    ]
    numbers = {each: place for place, each in enumerate(sorted({*chain(*questions)}))}
    asked = [[numbers[each] for each in one] for one in questions]
    features = [int(feature) for feature, _ in numbers]
    return _Trees(
        tuple(
            (feature, features.index(feature), features.index(feature) + features.count(feature))
            for feature in dict.fromkeys(features)
        ),
        np.array([[limit] for _, limit in numbers], np.float64),
        np.array(asked, np.intp),
        np.array([said for tree in written for said in tree[2 * _QUESTIONS :]], np.float64),
        (np.arange(len(written)) * _ANSWERS)[:, None],
    )


def _written(order: str) -> tuple[tuple[float, ...], ...]:
    if order == STATIC:
        return by_static.TREES
    return by_words.TREES if order == WORDS else by_meaning.TREES
