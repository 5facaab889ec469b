"""How many tokens a text has at most, where no tokenizer is at hand.

The price of each part is what the greedier of two tokenizers makes of it, WordPiece with 30,000
words (MiniLM) and byte-pair encoding with 32,000 (Llama 2): a common word one, other words a token
for each two or three letters, letters in an order that words do not have one each, a digit and a
symbol one, any other character its bytes. On the texts of `just prove packing` it is never too low.
"""

import re
from functools import cache, lru_cache

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.context.packing import _whole_words as found

NAME = "estimate"
_KEPT_PRICES = 20_000  # words whose price is remembered
_KEPT_CHARS = 32  # of such a word; keys and base64 would fill the memory
_LEAST = 3  # letters of a word
_VOWELS = frozenset("aeiouy")
_SPACES = 15  # that make one token


def count(text: str) -> int:
    """The most tokens that a text has."""
    if not text:
        return 0
    return 1 + sum(map(_price, _parts().findall(text)))


def _price(part: str) -> int:
    return _short_price(part) if len(part) <= _KEPT_CHARS else _long_price(part)


@lru_cache(maxsize=_KEPT_PRICES)
def _short_price(part: str) -> int:
    return _long_price(part)


def _long_price(part: str) -> int:
    if part.isalpha() and part.isascii():
        humps = _humps().findall(part)
        return _letters(part) if len(humps) == 1 else sum(map(_letters, humps)) + 1
    if part[0] == " ":
        return 1 + (len(part) // _SPACES if len(part) > 1 else 0)
    if part.isascii():
        return len(part)
    return 1 if _single().match(part) else len(part.encode("utf-8", "surrogatepass"))


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
