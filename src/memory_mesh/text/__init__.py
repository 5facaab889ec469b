"""Texts as words: terms, sentences, spelling, time. And what is known of a word, to be looked up.

Terms, prices in tokens and the hints of secrets are those of a text's words, between blanks, one by
one. Most words of a text were seen in another, and a table of them answers without Python code:
`map(table.__getitem__, text.split())`.
"""

from collections.abc import Callable

from memory_mesh.base.typed import TypeVar

T = TypeVar("T")
MOST = 32_768  # words of a table; a full one starts anew
LONGEST = 64  # characters of a word that is kept


class KnownWords(dict[str, T]):
    """A bounded table from words to what a function makes of them."""

    __slots__ = ("_work_out",)

    def __init__(self, work_out: Callable[[str], T]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, word: str) -> T:
        found = self._work_out(word)
        if len(word) <= LONGEST:
            if len(self) >= MOST:
                self.clear()
            self[word] = found
        return found
