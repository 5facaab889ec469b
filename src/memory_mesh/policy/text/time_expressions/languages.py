"""Other languages: each phrase is read as the English one that says the same.

A tongue is a table of its words and a table of its phrases: `<month>` in a phrase stands for any
word of that kind, and in the English beside it for what that word means.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache

from memory_mesh.policy.text.time_expressions.language import Tongue
from memory_mesh.policy.text.time_expressions.reading import whole
from memory_mesh.policy.text.time_expressions.spans import Span

_SLOT = r"<([a-z]+)(\d?)>"
_FIGURES = {"year": r"(?:19|20)\d\d", "day": r"\d{1,2}", "number": r"\d{1,3}"}


def told(text: str, now: datetime, *, languages: Iterable[str]) -> Iterator[tuple[Span, str]]:
    """Every time that a text names in languages other than English, with its words there."""
    small = _in_small_letters(text)
    for name in languages:
        words = _tongue(name).words
        for pattern, english in _patterns(name):
            for found in pattern.finditer(small):
                span = whole(_translated(english, found.groupdict(), words), now)
                if span is not None:
                    yield span, text[found.start() : found.end()]


def _in_small_letters(text: str) -> str:
    """The text in small letters, each where it was."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)


def _translated(
    english: str, said: Mapping[str, str | None], words: Mapping[str, Mapping[str, str]]
) -> str:
    def meaning(slot: re.Match[str]) -> str:
        word = said[slot[1] + slot[2]] or ""
        return words.get(slot[1], {}).get(word, word)

    return re.sub(_SLOT, meaning, english)


@cache
def _patterns(name: str) -> Sequence[tuple[re.Pattern[str], str]]:
    tongue = _tongue(name)
    made = []
    for phrase, english in tongue.phrases:
        slots = re.sub(_SLOT, lambda slot: _group(tongue, slot[1], slot[2]), phrase)
        made.append((re.compile(f"{tongue.before}(?:{slots}){tongue.after}"), english))
    return made


def _group(tongue: Tongue, kind: str, which: str) -> str:
    words = sorted(tongue.words.get(kind, ()), key=len, reverse=True)
    figures = [_FIGURES[kind]] if kind in _FIGURES else []
    return f"(?P<{kind}{which}>{'|'.join([*figures, *words])})"


@cache
def _tongue(name: str) -> Tongue:
    if name in {"german", "spanish", "french"}:
        from memory_mesh.policy.text.time_expressions import european

        return european.TONGUES[name]
    from memory_mesh.policy.text.time_expressions import asian

    return asian.TONGUES[name]
