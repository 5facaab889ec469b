"""Computes how well the words of each candidate match the question.

Each word counts by how rare it is: in this store, mixed with how rare it is in ordinary English, so
that a store of twenty memories weighs words as a store of thousands does.
"""

from collections.abc import Mapping, Sequence

from memory_mesh.model import Matches, Placed
from memory_mesh.policy.ranking.question import Reading
from memory_mesh.policy.ranking.word_weights import weight
from memory_mesh.typed import TypeAlias

Column: TypeAlias = list[float]
Places: TypeAlias = list[int]  # of a neighbour in the table; -1 for none

K1, B = 1.2, 0.75
GENTLE = 0.25  # `B` where a long document must not lose to short notes
USUAL_TERMS = 24  # of a memory: the length that changes nothing, whatever else is stored
MAX_TERMS = 600  # a longer text is judged as if it had so many
GUARD = 64  # terms: a longer turn before adds nothing but noise
PASSAGE, SECTION = 320, 960  # characters of terms: about 48 and 144 terms
_PAIRS = 3


def by_words(
    reading: Reading, matches: Matches, rows: Sequence[Placed], before: Places, after: Places
) -> dict[str, Column]:
    """Returns the columns that compare words."""
    texts = [f" {row.terms} " for row in rows]
    lengths = [text.count(" ") - 1 for text in texts]
    near = [b if b >= 0 and lengths[b] <= GUARD else -1 for b in before]
    sums = _Sums(lengths, near, before, after)
    weights: dict[str, float] = {}
    for term in reading.terms:
        weights[term] = weight(term, matches.postings.get(term, 0), matches.rows)
        own, guessed = _counts(texts, term, reading.forms.get(term, ()))
        sums.add(own, guessed, weights[term])
    whole = sums.whole or 1.0
    covered = [share / whole for share in sums.covered]
    passage, section = _closest(reading, texts, weights, covered, whole)
    return {
        "keyword": _highest(sums.joined),
        "keyword_own": _highest(sums.own),
        "keyword_share": [score / (whole * (K1 + 1)) for score in sums.own],
        "keyword_share_before": [score / (whole * (K1 + 1)) for score in sums.joined_share],
        "covered": covered,
        "covered_before": [share / whole for share in sums.covered_before],
        "covered_around": [share / whole for share in sums.covered_around],
        "covered_passage": passage,
        "covered_section": section,
        "guessed": [share / whole for share in sums.guessed],
        "pairs": [min(count, _PAIRS) / _PAIRS for count in sums.pairs],
        "exact": _exact(reading.identifiers, texts),
    }


class _Sums:
    """BM25 and coverage sums over the question's terms, for all candidates at once."""

    def __init__(self, lengths: Sequence[int], near: Places, before: Places, after: Places) -> None:
        count = len(lengths)
        self._near, self._before, self._after = near, before, after
        joined = [
            length + (lengths[b] if b >= 0 else 0) for length, b in zip(lengths, near, strict=True)
        ]
        average = sum(joined) / count or 1.0
        self._norm = [K1 * (1 - GENTLE + GENTLE * _relative(length)) for length in lengths]
        self._joined_norm = [K1 * (1 - B + B * length / average) for length in joined]
        self._share_norm = [K1 * (1 - B + B * min(_relative(length), 8)) for length in joined]
        self._last: Sequence[float] = [0] * count
        self.whole = 0.0
        self.own, self.joined, self.joined_share = [0.0] * count, [0.0] * count, [0.0] * count
        self.covered, self.covered_before = [0.0] * count, [0.0] * count
        self.covered_around, self.guessed, self.pairs = [0.0] * count, [0.0] * count, [0] * count

    def add(self, held: Sequence[float], guessed: Sequence[float] | None, weight: float) -> None:
        """Adds one term: its count in each text, what of it is a guess, and its weight."""
        self.whole += weight
        gain = weight * (K1 + 1)
        for at, (own, b, a) in enumerate(zip(held, self._before, self._after, strict=True)):
            earlier = held[b] if b >= 0 else 0
            if own:
                self.own[at] += gain * own / (own + self._norm[at])
                self.covered[at] += weight * min(own, 1)
                self.pairs[at] += 1 if self._last[at] else 0
            if own or earlier:
                share = weight * min(max(own, earlier), 1)
                self.covered_before[at] += share
                self.covered_around[at] += share
                both = own + (earlier if self._near[at] >= 0 else 0)
                self.joined[at] += gain * both / (both + self._joined_norm[at])
                self.joined_share[at] += gain * both / (both + self._share_norm[at])
            elif a >= 0 and held[a]:
                self.covered_around[at] += weight * min(held[a], 1)
        if guessed is not None:
            for at, share in enumerate(guessed):
                self.guessed[at] += weight * min(share, 1)
        self._last = held


def _relative(length: int) -> float:
    return min(length, MAX_TERMS) / USUAL_TERMS


def _counts(
    texts: Sequence[str], term: str, forms: Sequence[tuple[str, float]]
) -> tuple[Sequence[float], Sequence[float] | None]:
    """Counts a term in each text, other words by their share, and what of it is only a guess."""
    own = [text.count(f" {term} ") for text in texts]
    if not forms:
        return own, None
    sure = [(f" {form} ", share) for form, share in forms if share >= 1]
    doubtful = [(f" {form} ", share) for form, share in forms if share < 1]
    held = [
        count + sum(share * text.count(other) for other, share in sure)
        for count, text in zip(own, texts, strict=True)
    ]
    guessed = [sum(share * text.count(other) for other, share in doubtful) for text in texts]
    total = [count + other for count, other in zip(held, guessed, strict=True)]
    return total, [0.0 if count else other for count, other in zip(held, guessed, strict=True)]


def _closest(
    reading: Reading,
    texts: Sequence[str],
    weights: Mapping[str, float],
    covered: Column,
    whole: float,
) -> tuple[Column, Column]:
    """The largest share of the question that stands close together, in a passage, a section."""
    passage, section = list(covered), list(covered)
    for at, text in enumerate(texts):
        if len(text) > PASSAGE and covered[at]:
            found = _positions(reading, text, weights)
            passage[at] = _within(found, PASSAGE) / whole
            if len(text) > SECTION:
                section[at] = _within(found, SECTION) / whole
    return passage, section


def _positions(
    reading: Reading, text: str, weights: Mapping[str, float]
) -> list[tuple[int, int, float]]:
    """Where each term of the question stands in a text: place, which term, what it counts."""
    found: list[tuple[int, int, float]] = []
    for number, term in enumerate(reading.terms):
        for form, share in ((term, 1.0), *reading.forms.get(term, ())):
            wanted = f" {form} "
            place = text.find(wanted)
            while place >= 0:
                found.append((place, number, weights[term] * share))
                place = text.find(wanted, place + len(wanted) - 1)
    found.sort()
    return found


def _within(found: Sequence[tuple[int, int, float]], length: int) -> float:
    """The best sum of different terms within so many characters, by a window that slides."""
    held: dict[int, list[float]] = {}
    total = best = 0.0
    first = 0
    for place, term, share in found:
        total += share if term not in held else max(0.0, share - max(held[term]))
        held.setdefault(term, []).append(share)
        while place - found[first][0] >= length:
            _, left, lost = found[first]
            held[left].remove(lost)
            rest = max(held[left], default=0.0)
            total -= max(0.0, lost - rest)
            if not held[left]:
                del held[left]
            first += 1
        best = max(best, total)
    return best


def _exact(identifiers: Sequence[str], texts: Sequence[str]) -> Column:
    """The share of the question's identifiers and quoted strings that a text holds as they are."""
    if not identifiers:
        return [0.0] * len(texts)
    wanted = [f" {identifier} " for identifier in identifiers]
    return [sum(one in text for one in wanted) / len(wanted) for text in texts]


def _highest(values: Column) -> Column:
    top = max(values, default=0.0)
    return [value / top for value in values] if top > 0 else values
