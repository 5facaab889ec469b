"""What is known of a language."""

from collections.abc import Mapping, Sequence

from memory_mesh.base.fastdataclass import dataclass

MONTHS = "january february march april may june july august september october november december"
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
SEASONS = "spring summer autumn winter"


@dataclass(frozen=True, slots=True)
class Tongue:
    """Its words by kind, its phrases with their English, and what may stand around a phrase."""

    words: Mapping[str, Mapping[str, str]]
    phrases: Sequence[tuple[str, str]]
    before: str = r"(?<![\w.-])"
    after: str = r"(?![\w-])"


def meaning(foreign: str, english: str) -> dict[str, str]:
    """Each word with its English; several words for one thing are set apart by a stroke."""
    return {
        word.replace("_", " "): thing
        for words, thing in zip(foreign.split(), english.split(), strict=True)
        for word in words.split("|")
    }
