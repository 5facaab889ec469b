"""Chooses what goes into a pack: first what must come first, then by value per token.

::

    candidates ──▶ pinned, lessons          in their order, until their share is spent
      ▼
    the others, by  worth / tokens ^ b      less what a chosen memory says already
      ▼
    older statements                        each only behind the newer one, with what is left
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from heapq import heapify, heappop, heappush

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass, replace
from memory_mesh.context.packing import _whole_words as found
from memory_mesh.model import Hit, Link, Memory
from memory_mesh.model.pack import LeftOut, LeftOutBy, PackItem, Section
from memory_mesh.text import KnownWords

STEEPNESS = 0.5
_QUESTION_MARKS = frozenset("?\uff1f\u061f")
ASKING = 0.7  # of its worth that a text has which ends with a question
SIMILAR = 0.01  # of a hit's worth that what is like it has; the search knew of that
RELATED = 0.5  # the same for a link that was made on purpose: that is news

FIRST = frozenset({Section.PINNED, Section.LESSON})
TOKENS_POWER = 0.2  # longer memories answer more often (bench/packing.py, conv-26 and conv-30)
REPEATED = 0.2  # of a candidate's value that goes if a chosen memory has all of its words
_OF_SENTENCES = (
    ".,;:!?\"'()\u2018\u2019\u201c\u201d\u2026"  # around words, without a meaning of their own
)
_FEW_WORDS = 3  # a text of fewer words says too little to be repeated
NAME = "estimate"
_LEAST = 3  # letters of a word
_VOWELS = frozenset("aeiouy")
_SPACES = 15  # that make one token


@dataclass(frozen=True, slots=True)
class PackCandidate:
    """A memory that may go into a pack, with what it costs and what it is worth."""

    memory: Memory
    section: Section
    tokens: int  # of its entry as it would be rendered
    score: float | None = None
    worth: float = 0.0  # grows with the score, and tells more of them apart
    price: int | None = None  # in place of the tokens, in value per token
    because: str | None = None
    newer: str | None = None
    cut: bool = False
    words: tuple[str, ...] = ()
    said: str = ""  # the text as `said` makes it: the same is shown once

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    def item(self) -> PackItem:
        """It as a part of a pack."""
        return PackItem(
            self.memory, self.section, self.tokens, self.score, self.because, self.newer, self.cut
        )

    def left(self, by: LeftOutBy, because: str | None = None) -> LeftOut:
        """It as something left out."""
        return LeftOut(self.id, by, self.tokens, self.score, because)


@dataclass(frozen=True, slots=True)
class Room:
    """How much a pack may hold."""

    tokens: int
    first: int  # of them, for pinned memories and lessons
    memories: int | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was taken, in the order of taking, and what was left."""

    taken: tuple[PackCandidate, ...]
    left: tuple[LeftOut, ...]


def choose(candidates: Sequence[PackCandidate], room: Room, *, compete: bool) -> Chosen:
    """Takes what the room holds. With `compete`, what exceeds the first share is weighed too."""
    choice = _Choice(room)
    older = [one for one in candidates if one.section is Section.OLDER]
    waiting = [one for one in candidates if one.section is not Section.OLDER]
    beyond = choice.take_first([one for one in waiting if one.section in FIRST])
    others = [one for one in waiting if one.section not in FIRST]
    if compete:
        others += [replace(one, section=Section.FOUND) for one in beyond if one.score is not None]
        choice.left += [one.left(LeftOutBy.SHARE) for one in beyond if one.score is None]
        choice.take_best(others)
    else:
        choice.left += [one.left(LeftOutBy.SHARE) for one in beyond]
        choice.take_in_order(others)
    choice.take_older(older)
    return Chosen(tuple(choice.taken), tuple(choice.left))


def ordered(taken: Iterable[PackCandidate], places: Mapping[str, int]) -> list[PackCandidate]:
    """As they are shown: pinned, profile, lessons, the others best first, older behind newer.

    `places` is where each stood among the candidates, which tells equals apart.
    """
    placed = {Section.PINNED: 0, Section.PROFILE: 1, Section.LESSON: 2}
    listed = sorted(taken, key=lambda one: places[one.id])
    older: dict[str | None, list[PackCandidate]] = {}
    for one in listed:
        if one.section is Section.OLDER:
            older.setdefault(one.newer, []).append(one)
    upper = [one for one in listed if one.section is not Section.OLDER]
    upper.sort(
        key=lambda one: (placed.get(one.section, 3), 0.0 if one.score is None else -one.score)
    )
    shown: list[PackCandidate] = []
    waiting = upper[::-1]
    while waiting:
        one = waiting.pop()
        shown.append(one)
        waiting += older.pop(one.id, [])[::-1]
    return shown


def words(text: str) -> tuple[str, ...]:
    """The words of a text in their order: of a script without blanks, pairs of characters."""
    runs: list[str] = _runs().findall(text.casefold())
    if text.isascii():
        return tuple(runs)
    found: list[str] = []
    for run in runs:
        if run.isascii():
            found.append(run)
        else:
            found += (run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return tuple(found)


def said(text: str) -> str:
    """A text without case, blanks and the marks of a sentence: equal texts say the same.

    Signs count: "C++" is not "C#", and "-5" is not "5".
    """
    return " ".join([word.strip(_OF_SENTENCES) or word for word in text.casefold().split()])


class _Choice:
    """What was taken so far, and what is left of the room."""

    def __init__(self, room: Room) -> None:
        self.taken: list[PackCandidate] = []
        self.left: list[LeftOut] = []
        self._room, self._tokens = room, room.tokens
        self._sets: list[frozenset[str]] = []  # of words, of what was taken
        self._said: dict[tuple[str | None, str], str] = {}  # who said what: its id

    def take_first(self, candidates: Sequence[PackCandidate]) -> list[PackCandidate]:
        """Takes pinned memories and lessons in their order; returns those beyond their share."""
        share, beyond = self._room.first, list[PackCandidate]()
        for one in candidates:
            if one.tokens > share:
                beyond.append(one)
            elif self._take(one):
                share -= one.tokens
        return beyond

    def take_best(self, candidates: Sequence[PackCandidate]) -> None:
        """Takes by value per token, less what is repeated, until nothing more fits.

        The value of a candidate only ever falls, so it is weighed again when its turn comes.
        """
        heap = [(-_value(one, 0.0), place, 0, 0.0) for place, one in enumerate(candidates)]
        heapify(heap)
        while heap:
            value, place, seen, overlap = heappop(heap)
            one = candidates[place]
            if seen < len(self.taken) and one.tokens <= self._tokens:
                overlap = max(overlap, self._repeated(one, seen))
                value = -_value(one, overlap)
                if heap and (value, place) > heap[0][:2]:
                    heappush(heap, (value, place, len(self.taken), overlap))
                    continue
            self._take(one)

    def take_in_order(self, candidates: Sequence[PackCandidate]) -> None:
        """Takes what fits, in the order given."""
        for one in candidates:
            self._take(one)

    def take_older(self, candidates: Sequence[PackCandidate]) -> None:
        """Takes older statements with what is left, each only if its newer one is there."""
        for one in candidates:
            if not any(other.id == one.newer for other in self.taken) or one.tokens > self._tokens:
                self.left.append(one.left(LeftOutBy.OLDER, one.newer))
            else:
                self._take(one)

    def _take(self, one: PackCandidate) -> bool:
        most, said_so = self._room.memories, (one.memory.speaker, one.said)
        same = self._said.get(said_so)
        if same is not None:
            self.left.append(one.left(LeftOutBy.REDUNDANT, same))
        elif most is not None and len(self.taken) >= most:
            self.left.append(one.left(LeftOutBy.COUNT))
        elif one.tokens > self._tokens:
            self.left.append(one.left(LeftOutBy.BUDGET))
        else:
            self.taken.append(one)
            self._sets.append(frozenset(one.words))
            self._said[said_so] = one.id
            self._tokens -= one.tokens
            return True
        return False

    def _repeated(self, one: PackCandidate, since: int) -> float:
        """The largest share of its words that one memory taken since has."""
        own = frozenset(one.words)
        if one.price is not None or len(own) < _FEW_WORDS:
            return 0.0
        return max((len(own & other) for other in self._sets[since:]), default=0) / len(own)


def _value(one: PackCandidate, overlap: float) -> float:
    """What a token of it is worth."""
    if one.price is not None:  # 003's formula, exactly
        return (one.score or 0.0) / max(1, one.price)
    spent: float = max(1, one.tokens) ** TOKENS_POWER
    return one.worth * (1 - REPEATED * overlap) / spent


_runs = lazy_pattern(r"[^\W_]+")


# What a hit is worth beside the others.
#
# A score never rises on the way down a list and says the same of many hits; the margin that orders
# them does not. Half of it, as a power of e, served best. A text that ends by asking something
# holds
# an answer half as often as others of the same margin. All numbers were chosen on conv-26 and
# conv-30
# (bench/packing.py).


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
    return worth * RELATED if link.similarity is None else worth * SIMILAR * link.similarity


def token_bound(text: str) -> int:
    """The most tokens that a text has, where no tokenizer is at hand.

    The price of each part is what the greedier of two tokenizers makes of it, WordPiece with
    30,000 words (MiniLM) and byte-pair encoding with 32,000 (Llama 2): a common word one, other
    words a token for each two or three letters, letters in an order that words do not have one
    each, a digit and a symbol one, any other character its bytes. On the texts of `just prove
    packing` it is never too low.
    """
    if not text:
        return 0
    if "  " in text:
        return 1 + _of_text(text)
    first, *others = text.split(" ")
    return 1 + _of_text(first) + sum(map(_after_blank, others))


def _of_text(text: str) -> int:
    return sum(map(_price, _parts().findall(text)))


def _of_part(part: str) -> int:
    if part.isalpha() and part.isascii():
        humps = _humps().findall(part)
        return _letters(part) if len(humps) == 1 else sum(map(_letters, humps)) + 1
    if part[0] == " ":
        return 1 + (len(part) // _SPACES if len(part) > 1 else 0)
    if part.isascii():
        return len(part)
    return 1 if _single().match(part) else len(part.encode("utf-8", "surrogatepass"))


_price = KnownWords(_of_part).__getitem__
_after_blank = KnownWords(lambda word: _of_text(f" {word}")).__getitem__


def _letters(part: str) -> int:
    """The price of letters of one case, or of a capital and small letters after it."""
    words, pairs = _known()
    size, small = len(part), part.lower()
    if size > 1 and part.isupper():
        return size
    if small in words:
        return 1
    if size < _LEAST or not _VOWELS.intersection(small):
        return size
    if any(small[at : at + 2] not in pairs for at in range(size - 1)):
        return size
    return (size + 1) // 2 if part[0].isupper() else (2 * size + 4) // 5


@cache
def _known() -> tuple[frozenset[str], frozenset[str]]:
    """Words that are one token, and pairs of letters that words have."""
    pairs = (first + second for first, seconds in found.PAIRS.items() for second in seconds)
    return frozenset(found.WORDS.split()), frozenset(pairs)


# A single blank in front of a letter or a symbol is a part of the next token.
_parts = lazy_pattern(r"[A-Za-z]+|[0-9]+| {2,}| (?![!-/:-~])|[^ A-Za-z0-9]")


_humps = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]")


@cache
def _single() -> "re.Pattern[str]":
    """Letters and marks of which every one is a token of its own, at the worst."""
    marks = "\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026"
    return re.compile(f"[\xa1-\xff\u0410-\u044f\u05d0-\u05ea{marks}]")
