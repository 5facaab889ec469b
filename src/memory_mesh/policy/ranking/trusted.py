"""Puts a less trusted candidate below every more trusted one that answers as well.

Trust breaks ties, and nothing else: a candidate that answers better stays above, whoever said it.
`trust.whose_words` says who is trusted more. Nothing changes among what the user and an agent say
in one conversation. A more trusted candidate answers as well if

- it holds as much of the question in one passage, and is as near to it in meaning (`NEAR`);
- or the margins are a tie (`TIE`, more than one vote of use can add);
- or the other one is stuffed: a quarter of its words repeat words of the question. Such a text
  answers no better than any that holds some of these words, or is as near in meaning.

What is put below keeps its order, and its relevance is that of its new place.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from memory_mesh.policy.ranking.features import NAMES, Table

TIE = 0.05  # of two margins
NEAR = 0.1  # of two cosines
STUFFED = 0.25  # of the words of a text that repeat words of the question
TOUCHED = 0.25  # of what a stuffed text holds of the question
_COVERED, _PASSAGE, _COSINE = map(NAMES.index, ("covered", "covered_passage", "cosine"))
_SURE = 1e-9


def below_trusted(margins: Sequence[float], table: Table) -> list[float]:
    """Returns the margins, with those of less trusted candidates below their betters."""
    found = list(margins)
    if not table.authority:  # all of one authority
        return found
    top = max(margins)
    for rank in sorted(set(table.authority))[1:]:
        above = sorted(
            (at for at, other in enumerate(table.authority) if other < rank), key=found.__getitem__
        )
        for at in (at for at, own in enumerate(table.authority) if own == rank):
            better = _lowest_better(at, above, found, table)
            if better is not None:
                found[at] = found[better] - _SURE * (1 + top - margins[at])
    return found


def repeated(terms: str, asked: Iterable[str]) -> float:
    """Returns the share of a text's words that say a word of the question once more."""
    words = terms.split()
    if not words:
        return 0.0
    counts = Counter(words)
    return sum(max(0, counts[word] - 1) for word in set(asked)) / len(words)


def _lowest_better(
    at: int, above: Sequence[int], margins: Sequence[float], table: Table
) -> int | None:
    """Returns the last of the more trusted that answer as well and would stand below."""
    for other in above:
        if margins[other] > margins[at]:
            return None
        if margins[at] - margins[other] <= TIE or _answers_as_well(other, at, table):
            return other
    return None


def _answers_as_well(other: int, at: int, table: Table) -> bool:
    theirs, own = table.rows[other], table.rows[at]
    near = theirs[_COSINE] >= own[_COSINE] - NEAR
    if table.repeats[at] >= STUFFED:
        touched = theirs[_COVERED] >= TOUCHED * own[_COVERED] > 0
        return touched or (near and own[_COSINE] > 0)
    return near and theirs[_PASSAGE] >= own[_PASSAGE] - _SURE
