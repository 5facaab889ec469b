"""Folds a text to what a reader sees, so that two texts that look alike compare as equal.

::

    invisible characters ▶ removed      wide, mathematical and other forms of a letter ▶ the letter
    a word with ASCII letters ▶ its look-alikes become ASCII      digits of any script ▶ 0 to 9
    a word without ASCII letters ▶ ASCII if each of its letters looks like it, else as it is

So a Cyrillic e in `user` is an `e`, while a Russian or Greek word equals itself, and is written
in its own letters unless nobody could tell it from an ASCII word. An accent is seen: `é` is not
`e`. Marks that a letter is not written with, such as a stroke over an `e`, are removed. ASCII
itself is not folded: `l`, `I` and `1` stay three characters.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby

_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0"
_SELECTORS = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_TAKE_NO_PLACE = dict.fromkeys((*map(ord, _FILLERS), *_SELECTORS))


def as_seen(text: str) -> str:
    """Returns the text as a reader sees it; capitals, punctuation and line ends stay; idempotent.

    A line in ASCII is returned as it is.
    """
    if text.isascii() and text.isprintable():
        return text
    text = "".join(map(_before_nfkc, _words(without_unseen(text))))
    text = unicodedata.normalize("NFKC", text)
    return "".join(map(_word_as_seen, _words(without_unseen(text))))


def without_unseen(text: str) -> str:
    """Returns the text without characters that take no place: joiners, selectors, directions."""
    if text.isascii() and text.isprintable():
        return text
    text = text.translate(_TAKE_NO_PLACE)
    if text.isprintable():
        return text
    return "".join([char for char in text if char.isprintable() or char.isspace()])


def _words(text: str) -> Iterator[str]:
    """Cuts a text into runs of letters, digits, marks and signs, and what is between them."""
    return (
        "".join(run)
        for _, run in groupby(
            text, lambda char: char.isalnum() or unicodedata.category(char)[0] in "MS"
        )
    )


def _before_nfkc(word: str) -> str:
    """Folds letters that NFKC gives another look, such as a sigma that is written like a c.

    A word that stays in its own letters keeps them.
    """
    if word.isascii():
        return word
    folded = word.translate(_changed_by_nfkc())
    if folded == word:
        return word
    normal = unicodedata.normalize("NFKC", word)
    if any(char.isascii() and char.isalpha() for char in normal):
        return folded
    return folded if _word_as_seen(unicodedata.normalize("NFKC", folded)).isascii() else word


def _word_as_seen(word: str) -> str:
    if word.isascii():
        return word
    word = "".join([_digit(char) for char in word])
    mixed = any(char.isascii() and char.isalpha() for char in word)
    folded = word.translate(_look_alikes(nearly=mixed))
    if not mixed and any(char.isalpha() and not char.isascii() for char in folded):
        return word
    return _without_stray_marks(unicodedata.normalize("NFC", folded))


def _without_stray_marks(word: str) -> str:
    """Returns the word without marks on an ASCII letter, which is written with none of them."""
    kept: list[str] = []
    plain = False
    for char in word:
        mark = unicodedata.category(char)[0] == "M"
        if mark and plain:
            continue
        plain = char.isascii() if not mark else plain
        kept.append(char)
    return "".join(kept)


def _digit(char: str) -> str:
    return str(unicodedata.decimal(char)) if char.isdecimal() and not char.isascii() else char


@cache
def _look_alikes(*, nearly: bool) -> dict[int, str]:
    from memory_mesh.formats._look_alikes import LOOK_ALIKES, NEARLY  # few texts need it

    return _by_code(NEARLY, LOOK_ALIKES) if nearly else _by_code(LOOK_ALIKES)


@cache
def _changed_by_nfkc() -> dict[int, str]:
    from memory_mesh.formats._look_alikes import BEFORE_NFKC  # few texts need it

    return _by_code(BEFORE_NFKC)


def _by_code(*tables: Mapping[str, str]) -> dict[int, str]:
    return {
        ord(char): letter for table in tables for letter, chars in table.items() for char in chars
    }
