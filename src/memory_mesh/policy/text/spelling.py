"""Finds stored words for misspelt words of a question.

A misspelt word is one edit away from the right one, another form of a word begins alike, a long
compound begins with a word of its own. Whoever calls has the stored words and offers some of them.
"""

from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.fastdataclass import dataclass
from memory_mesh.policy.text import analyze

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
LEAST = 5  # letters; a shorter word has too many neighbours
BEGINNING = 4  # letters: edits before that are tried one by one
MAX_READINGS = 8  # words one word is read as at most
_MISSPELT = 0.7  # what it counts beside a word that was spelt right
_FORM = 0.6
_PART = 0.4
_ALIKE = 6  # letters that another form of a word shares at least, unless it only goes on
_WRONG = 7  # letters from which one may be wrong: short words differ in one and mean another thing
_TOO_MANY = 6  # letters from which one may be too many
_COMPOUND = 10  # letters from which a word may be made of two
_ENDINGS = (
    "",
    "e",
    "s",
    "es",
    "ed",
    "er",
    "ing",
    "ion",
    "ation",
    "ment",
    "ness",
    "ity",
    "ly",
    "al",
)
_ENDING = 3  # letters that a part may have beyond what it shares: Einstellung-en


@dataclass(frozen=True, slots=True)
class Other:
    """A replacement for a term: its words and its weight."""

    words: tuple[str, ...]
    weight: float


def beginnings(term: str) -> tuple[str, ...]:
    """What the words that stand in for a term may begin with, the likeliest first."""
    if len(term) < LEAST or not term.isalpha():  # numbers, names with digits mean themselves only
        return ()
    cut = max(BEGINNING, -(-2 * len(term) // 3))
    half = (term[: len(term) // 2],) if len(term) >= _COMPOUND else ()
    return tuple(dict.fromkeys((term[:cut], *half, term[:BEGINNING])))


def stand_ins(term: str, words: Iterable[str]) -> tuple[Other, ...]:
    """Returns the stored words that a term may mean, the nearest first."""
    spelt = [term.removesuffix(ending) for ending in _ENDINGS if term.endswith(ending)]
    weighed = [
        (_nearness(term, word, spelt), word) for word in words if word.isalpha() and word != term
    ]
    best = sorted((-weight, word) for weight, word in weighed if weight)
    return tuple(Other((word,), -weight) for weight, word in best)


def respelt(term: str) -> list[str]:
    """The terms of a word one edit away, where a letter near its beginning is amiss."""
    if not (term.isascii() and term.isalpha()):
        return []
    if len(term) == BEGINNING:  # eror: a letter that was not doubled
        return [term[:at] + term[at] + term[at:] for at in range(1, len(term))]
    if len(term) < LEAST:
        return []
    near = {term[1] + term[0] + term[2:]}
    for at in range(1, BEGINNING):
        head, tail = term[:at], term[at:]
        near.update(head + letter + tail for letter in _LETTERS)
        near.add(head + tail[1] + tail[0] + tail[2:])
        if len(term) >= _TOO_MANY:
            near.add(head + tail[1:])
    return sorted({analyze.stem(word) for word in near} - {term})


def meant(spellings: Iterable[str]) -> tuple[Other, ...]:
    """The spellings that were found, as words that the term may mean."""
    return tuple(Other((word,), _MISSPELT) for word in spellings)


def told(
    meant: Mapping[str, Sequence[str]], memories: Iterable[Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """What terms were read as, as far as one of the memories, each some texts, holds it."""
    wanted = {other for others in meant.values() for other in others}
    held: set[str] = set()
    for texts in memories:
        if held == wanted:
            break
        there = {term for text in texts for term in analyze.terms(text)}
        held |= {other for other in wanted if there.issuperset(other.split())}
    kept = {term: tuple(filter(held.__contains__, others)) for term, others in meant.items()}
    return {term: others for term, others in kept.items() if others}


def _nearness(term: str, word: str, spelt: Iterable[str]) -> float:
    """What a stored word counts for a term, or 0 where it is another word.

    A misspelt word may keep the ending that the stored one was stemmed of: databsae and databas.
    """
    shared = _shared(term, word)
    if any(_one_edit(stem, word, shared) for stem in spelt):
        return _MISSPELT
    if shared == len(term) or shared >= max(_ALIKE, 2 * len(term) / 3):
        return _FORM * shared / max(len(term), len(word))
    part = len(term) >= _COMPOUND and shared >= len(term) / 2 and len(word) <= shared + _ENDING
    return _PART if part and shared >= _ALIKE else 0.0


def _shared(one: str, other: str) -> int:
    """Returns the length of the common start of two words."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _one_edit(term: str, word: str, shared: int) -> bool:
    """True if the words differ by one missing, extra, wrong or swapped letter."""
    if len(term) < LEAST or abs(len(term) - len(word)) > 1:
        return False
    left, right = term[shared:], word[shared:]
    if len(left) < len(right):
        return left == right[1:]
    if len(left) > len(right):
        return left[1:] == right and len(term) >= _TOO_MANY
    swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
    return swapped or (left[1:] == right[1:] and len(term) >= _WRONG)
