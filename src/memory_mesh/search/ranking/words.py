"""Computes how well the words of each candidate match the question.

Each word counts by how rare it is: in this store, mixed with how rare it is in ordinary English, so
that a store of twenty memories weighs words as a store of thousands does.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from functools import lru_cache

from memory_mesh.base.typed import TypeAlias, dataclass
from memory_mesh.model import Matches, Placed
from memory_mesh.text import _common_words
from memory_mesh.text.question import Reading

BUDGET = 5_000  # postings one search may rank, a microsecond each
_CHEAP_POSTINGS = 1_000  # up to here even a word that tells nothing apart is ranked
_FLOOR = 1e-6  # FTS5's bm25() gives a term that more than half of the rows hold this weight

ENGLISH_TEXTS = 500  # what ordinary English counts beside the store, in texts
_RARE = 2.0**-14  # the share of texts that hold a word that is not listed

Column: TypeAlias = list[float]
Places: TypeAlias = list[int]  # of a neighbour in the table; -1 for none
Counts: TypeAlias = Mapping[int, float]  # by a text's place in the table; no count is 0
Forms: TypeAlias = tuple[tuple[str, float], ...]  # of a term, and what each counts

K1, B = 1.2, 0.75
GENTLE = 0.25  # `B` where a long document must not lose to short notes
USUAL_TERMS = 24  # of a memory: the length that changes nothing, whatever else is stored
MAX_TERMS = 600  # a longer text is judged as if it had so many
GUARD = 64  # terms: a longer turn before adds nothing but noise
PASSAGE = 320  # characters of terms: about 48 terms
_MANY_WORDS = 10  # of a question: from here a text is taken apart instead of searched for each


def by_words(
    reading: Reading, matches: Matches, rows: Sequence[Placed], before: Places, after: Places
) -> dict[str, Column]:
    """Returns the columns that compare words."""
    texts = [f" {row.terms} " for row in rows]
    lengths = [text.count(" ") - 1 for text in texts]
    near = [b if b >= 0 and lengths[b] <= GUARD else -1 for b in before]
    sums = _Sums(lengths, near, before, after)
    weights: list[float] = []
    others = (form for forms in reading.forms.values() for form, _ in forms)
    counts = _occurrences(texts, {*reading.terms, *others})
    for number, term in enumerate(reading.terms):
        weights.append(weight(term, matches.postings.get(term, 0), matches.rows))
        own, guessed = _counts(counts, term, reading.forms.get(term, ()))
        sums.add(number, own, guessed, weights[number])
    whole = sums.whole or 1.0
    covered = [share / whole for share in sums.covered]
    asked = [
        tuple(
            (f" {form} ", weights[number] * share)
            for form, share in ((term, 1.0), *reading.forms.get(term, ()))
        )
        for number, term in enumerate(reading.terms)
    ]
    return {
        "keyword": _highest(sums.joined),
        "keyword_own": _highest(sums.own),
        "covered": covered,
        "covered_before": [share / whole for share in sums.covered_before],
        "covered_around": [share / whole for share in sums.covered_around],
        "covered_passage": _closest(asked, texts, sums.held, covered, whole),
        "guessed": [share / whole for share in sums.guessed],
        "exact": _exact(reading.identifiers, texts),
    }


class _Sums:
    """BM25 and coverage sums over the question's terms, for all candidates at once.

    Most texts hold few of the terms: a term changes only the texts that hold it and those beside.
    """

    def __init__(self, lengths: Sequence[int], near: Places, before: Places, after: Places) -> None:
        count = len(lengths)
        self._near, self._before, self._after = near, before, after
        self._followers, self._leaders = _places(before), _places(after)
        joined = [
            length + (lengths[b] if b >= 0 else 0) for length, b in zip(lengths, near, strict=True)
        ]
        average = sum(joined) / count or 1.0
        relative = (min(length, MAX_TERMS) / USUAL_TERMS for length in lengths)
        self._norm = [K1 * (1 - GENTLE + GENTLE * length) for length in relative]
        self._joined_norm = [K1 * (1 - B + B * length / average) for length in joined]
        self.held: dict[int, list[int]] = {}  # the numbers of the terms that a text holds
        self.whole = 0.0
        self.own, self.joined = [0.0] * count, [0.0] * count
        self.covered, self.covered_before = [0.0] * count, [0.0] * count
        self.covered_around, self.guessed = [0.0] * count, [0.0] * count

    def add(self, number: int, held: Counts, guessed: Counts, weight: float) -> None:
        """Adds one term: how often each text holds it, what of it is a guess, and its weight."""
        self.whole += weight
        gain = weight * (K1 + 1)
        for at, own in held.items():
            self.own[at] += gain * own / (own + self._norm[at])
            self.covered[at] += weight if own >= 1 else weight * own
            if at in self.held:
                self.held[at].append(number)
            else:
                self.held[at] = [number]
        with_before = _beside(held, self._followers)
        self._add_joined(with_before, held, weight)
        for at in _beside(held, self._leaders).difference(with_before):
            self.covered_around[at] += weight * min(held[self._after[at]], 1)
        for at, share in guessed.items():
            self.guessed[at] += weight * min(share, 1)

    def _add_joined(self, places: Iterable[int], held: Counts, weight: float) -> None:
        """Adds a term to the texts that hold it, or whose turn before does."""
        gain = weight * (K1 + 1)
        before, near, get = self._before, self._near, held.get
        for at in places:
            own, earlier = get(at, 0), get(before[at], 0)
            most = max(own, earlier)
            share = weight if most >= 1 else weight * most
            self.covered_before[at] += share
            self.covered_around[at] += share
            both = own + earlier if near[at] >= 0 else own
            if both:
                self.joined[at] += gain * both / (both + self._joined_norm[at])


def _places(beside: Places) -> dict[int, Places]:
    """Which texts have each text beside them."""
    found: dict[int, Places] = {}
    for at, other in enumerate(beside):
        if other >= 0:
            found.setdefault(other, []).append(at)
    return found


def _beside(held: Counts, places: Mapping[int, Places]) -> set[int]:
    """The texts that hold a term, and those that have one of them beside them."""
    found = set(held)
    for at in held:
        found.update(places.get(at, ()))
    return found


def _occurrences(texts: Sequence[str], words: AbstractSet[str]) -> dict[str, Counts]:
    """Of each word or phrase the texts that hold it, and how often."""
    if len(words) < _MANY_WORDS:
        return {word: _counted(texts, word) for word in words}
    single = frozenset(word for word in words if " " not in word)
    found = {word: dict[int, float]() for word in single}
    for at, text in enumerate(texts):
        for word in single.intersection(text.split(" ")):
            found[word][at] = text.count(f" {word} ")
    return {**found, **{phrase: _counted(texts, phrase) for phrase in words - single}}


def _counted(texts: Sequence[str], term: str) -> dict[int, float]:
    wanted = f" {term} "
    return {at: text.count(wanted) for at, text in enumerate(texts) if wanted in text}


def _counts(
    counts: Mapping[str, Counts], term: str, forms: Sequence[tuple[str, float]]
) -> tuple[Counts, Counts]:
    """How often texts hold a term, other words counted by their share, and what is a guess."""
    own = counts[term]
    if not forms:
        return own, {}
    sure = [(counts[form], share) for form, share in forms if share >= 1]
    doubtful = [(counts[form], share) for form, share in forms if share < 1]
    held, guessed = _added(own, sure), _added({}, doubtful)
    total = {at: held.get(at, 0) + guessed.get(at, 0) for at in {*held, *guessed}}
    return total, {at: share for at, share in guessed.items() if at not in held}


def _added(own: Counts, others: Sequence[tuple[Counts, float]]) -> Counts:
    """The counts with those of other words, each by its share."""
    if not others:
        return own
    places = set(own).union(*(counts for counts, _ in others))
    return {
        at: own.get(at, 0) + sum(share * counts.get(at, 0) for counts, share in others)
        for at in places
    }


def _closest(
    asked: Sequence[Forms],
    texts: Sequence[str],
    held: Mapping[int, Sequence[int]],
    covered: Column,
    whole: float,
) -> Column:
    """The largest share of the question that stands close together, in a passage."""
    passage = list(covered)
    for at, numbers in held.items():
        text = texts[at]
        if len(text) > PASSAGE:
            found = _positions(asked, text, numbers)
            passage[at] = _within(found, PASSAGE) / whole
    return passage


def _positions(
    asked: Sequence[Forms], text: str, numbers: Iterable[int]
) -> list[tuple[int, int, float]]:
    """Where terms of the question stand in a text: place, which term, what it counts."""
    found: list[tuple[int, int, float]] = []
    for number in numbers:
        for wanted, share in asked[number]:
            place = text.find(wanted)
            while place >= 0:
                found.append((place, number, share))
                place = text.find(wanted, place + len(wanted) - 1)
    found.sort()
    return found


def _within(found: Sequence[tuple[int, int, float]], length: int) -> float:
    """The best sum of different terms within so many characters, by a window that slides.

    Each term counts by its best form.
    """
    if len({(term, share) for _, term, share in found}) == 1:  # one word, as most texts hold
        return found[0][2]
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


# Weighs a word by how rare it is: in the store, mixed with how rare it is in ordinary English.


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


# Chooses the terms of a question that are searched, and computes their weights.


@dataclass(frozen=True, slots=True)
class Selection:
    """Splits terms into those that find candidates and those that only add to scores."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    weights: Mapping[str, float]
    ceiling: float


def select(terms: Sequence[str], postings: Mapping[str, int], rows: int) -> Selection:
    """Keeps the rarest terms whose postings fit the budget; unknown terms cost nothing."""
    weights = {term: inverse_frequency(min(postings.get(term, 0), rows), rows) for term in terms}
    known = sorted(
        (term for term in weights if postings.get(term, 0) > 0),
        key=lambda term: (postings[term], term),
    )
    spent, keeping = 0, 0
    for term in known:
        spent += postings[term]
        if spent > BUDGET or (postings[term] > _CHEAP_POSTINGS and weights[term] <= _FLOOR):
            break
        keeping += 1
    # The ceiling is the score of a row of average length that holds every term once.
    return Selection(tuple(known[:keeping]), tuple(known[keeping:]), weights, sum(weights.values()))


def inverse_frequency(postings: int, rows: int) -> float:
    """Returns the IDF of a term as FTS5 computes it."""
    return max(_FLOOR, math.log((rows - postings + 0.5) / (postings + 0.5)))
