"""Says how likely a sentence of a prompt states something that will hold in later sessions.

::

    sentence ──▶ words, pairs of words, pieces of words ──▶ a weight for each ──▶ sum ──▶ odds

The weights were learned from invented prompts in fourteen languages, whose sentences were judged
without sight of the rules (`bench/sets/capture`, `bench/training/lasting.py`). Each piece has its
weight in one of 65,536 places, chosen by its checksum.
"""

import math
import re
import unicodedata
from array import array
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from zlib import crc32

from memory_mesh.base.word_files import bytes_beside

PLACES = 1 << 16
SCALE = 24.0  # weights are kept as whole numbers of a byte, so many of which make 1
_PERSON = 0.5  # odds from which a statement is of the person
_FIRST = 3  # words at the start whose place counts
_LONG = 5  # letters of a word that is also read in pieces
_BEGINNINGS, _ENDINGS = (3, 4, 5), (2, 3)  # letters of such pieces
_LENGTHS = (3, 5, 8, 12, 18, 28)
_UNSPACED = "\u2e7f"  # scripts without blanks between words begin behind it
_pieces = re.compile(r"\d+|[^\W\d_]+|[^\w\s]")


def lasting(sentence: str) -> float:
    """Returns the odds, from 0 to 1, that a sentence of a prompt states what lasts."""
    return _odds("lasting", sentence)


def of_person(sentence: str) -> bool:
    """True if what lasts is rather of the person, in every project, than of the project."""
    return _odds("of_person", sentence) >= _PERSON


def is_unspaced(text: str) -> bool:
    """True for a script without blanks between words."""
    return any(letter > _UNSPACED for letter in text)


def marks(sentence: str) -> set[int]:
    """Returns the place of the weight of everything that is looked at."""
    return {1 + crc32(mark.encode()) % (PLACES - 1) for mark in _marks(_words(sentence))}


def _odds(name: str, sentence: str) -> float:
    weights, held = _weights(name), marks(sentence)
    total = weights[0] + sum(weights[at] for at in held) / math.sqrt(len(held))
    return 1 / (1 + math.exp(-total / SCALE))


def _marks(words: list[str]) -> Iterator[str]:
    yield from words
    yield from (f"{at} {word}" for at, word in enumerate(words[:_FIRST]))
    yield from (f"{one} {two}" for one, two in pairwise(("^", *words, "$")))
    yield from (f"{one} _ {two}" for one, two in zip(words, words[2:], strict=False))
    for word in words:
        if len(word) >= _LONG and word.isalpha():
            yield from (f"~{word[:end]}" for end in _BEGINNINGS)
            yield from (f"{word[-end:]}~" for end in _ENDINGS)
    yield f"#{sum(len(words) > length for length in _LENGTHS)}"


def _words(sentence: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", sentence).casefold().replace("\u2019", "'")
    found: list[str] = []
    for piece in _pieces.findall(plain):
        if piece[0].isdigit():
            found.append("0")
        elif piece[0] > _UNSPACED:
            found += piece
        else:
            found.append(piece)
    return found


@cache
def _weights(name: str) -> "array[int]":
    return array("b", bytes_beside(__file__, f"{name}.bin"))
