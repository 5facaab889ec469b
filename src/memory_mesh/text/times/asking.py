"""A question cut into words, with the moment at which it is asked."""

import re
from collections.abc import Sequence
from datetime import datetime

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.text.times.lexicon import HABITS, PAST

# A path, a version or an address is one word: nothing within it is a date unless all of it is.
_WORD = r"[^\W_]+(?:[_/@:.#\\=+]+[^\W_]+)*|\S"
_AHEAD = 8  # how far a reader may look past the end
_APOSTROPHES = ("'", "\u2019")


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The words in small letters, where each begins and ends in the text, and when it is now."""

    text: str
    words: Sequence[str]
    begins: Sequence[int]
    ends: Sequence[int]
    now: datetime

    def joined(self, at: int) -> bool:
        """Nothing stands between this word and the one before it."""
        return at > 0 and self.ends[at - 1] == self.begins[at]

    def capital(self, at: int) -> bool:
        """The word has a capital letter that no sentence gave it."""
        return (
            at > 0 and self.words[at - 1] not in {".", "?", "!", ":", "\u00bf"} and self.upper(at)
        )

    def upper(self, at: int) -> bool:
        """The word has a capital letter, be it that of a sentence."""
        return self.text[self.begins[at]].isupper()

    def past(self, at: int) -> int:
        """Where it goes on after a possessive s."""
        return at + 2 if self.words[at : at + 2] == ["'", "s"] and self.joined(at) else at

    @property
    def habitual(self) -> bool:
        """It asks for what is done on such a day, not for what was done on the last one."""
        said = set(self.words)
        return not said.isdisjoint(HABITS) and said.isdisjoint(PAST)


def cut(text: str, now: datetime) -> QuestionWords:
    """The question in words."""
    words, begins, ends = [], [], []
    for found in re.finditer(_WORD, text):
        word = found[0].lower()
        words.append("'" if word in _APOSTROPHES else word)
        begins.append(found.start())
        ends.append(found.end())
    beyond = [len(text) + 1 + 2 * step for step in range(_AHEAD)]  # joined to nothing
    return QuestionWords(text, words + [""] * _AHEAD, begins + beyond, ends + beyond, now)
