"""A pattern that is tried only where one of its words stands."""

import re
from collections.abc import Iterator, Sequence


class Anchored:
    """Finds a pattern that begins with one of some words, which are looked for first.

    The words are in lower case. A pattern of many alternatives is tried at every character of a
    text, which takes many times as long.
    """

    def __init__(self, words: Sequence[str], pattern: str, *, lowered: bool = False) -> None:
        """With `lowered` the pattern sees the text in lower case."""
        self._ascii = tuple(word for word in words if word.isascii())
        self._words, self._pattern, self._lowered = tuple(words), pattern, lowered
        self._compiled: re.Pattern[str] | None = None

    def finditer(self, text: str, /) -> Iterator[re.Match[str]]:
        """Yields the matches, in order."""
        pattern = self.compiled()
        lowered = in_lower_case(text)
        seen, end = lowered if self._lowered else text, 0
        for place in self._places(lowered):
            if place >= end and (match := pattern.match(seen, place)):
                end = match.end()
                yield match

    def compiled(self) -> re.Pattern[str]:
        """Returns the pattern, which is compiled when it is first asked for."""
        if self._compiled is None:
            self._compiled = re.compile(self._pattern)
        return self._compiled

    def _places(self, lowered: str) -> list[int]:
        places = set[int]()
        for word in self._ascii if lowered.isascii() else self._words:
            place = lowered.find(word)
            while place >= 0:
                places.add(place)
                place = lowered.find(word, place + 1)
        return sorted(places)


def in_lower_case(text: str) -> str:
    """Returns the text in lower case, every character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
