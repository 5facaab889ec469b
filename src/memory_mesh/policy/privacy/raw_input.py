"""What is kept of a user's own words in a trace: all of them, a summary, or only their category."""

import re
from enum import StrEnum

from memory_mesh.model import Json

SUMMARY_WORDS = 12
LEAST_QUOTE_CHARS = 12  # a shorter goal stands in a plan by chance
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_QUOTED = re.compile(
    r"\"[^\"\n]{1,500}\"|“[^”\n]{1,500}”|«[^»\n]{1,500}»|(?<!\w)'[^'\n]{1,500}'(?!\w)"
)
_NAMING = re.compile(r"[/\\@]|\d{3}")  # in a path, an address or a number
_WORD = re.compile(r"\S+")
_POLITE = re.compile(
    r"(?i)\A(?:(?:hi|hello|hey|ok|okay|please|now|then|so|and|also|just|kindly|thanks|well)\b[\s,!.]*"
    r"|(?:can|could|would|will) you\b\s*|i(?:'d| would) like (?:you )?to\b\s*"
    r"|i (?:want|need) (?:you )?to\b\s*|let's\b\s*|help me\b\s*(?:to\b\s*)?)+"
)
_CATEGORIES = {
    "fix": "fix fixes fixed fixing bug bugs debug repair broken crash crashes error errors fails "
    "failing failure resolve troubleshoot hotfix regression",
    "test": "test tests testing coverage verify validate check assert benchmark benchmarks",
    "release": "release releases deploy deployment publish ship rollout rollback launch promote",
    "refactor": "refactor refactoring clean cleanup simplify rename restructure extract tidy "
    "deduplicate",
    "upgrade": "upgrade update updates bump migrate migration port convert modernise modernize",
    "document": "document documentation docs readme tutorial guide changelog comment comments",
    "research": "research investigate analyse analyze explore compare find search explain "
    "understand summarise summarize read look",
    "review": "review audit inspect approve feedback",
    "configure": "configure configuration config setup install set provision enable disable "
    "settings",
    "remove": "remove delete drop erase purge uninstall",
    "build": "add build create implement write make develop generate introduce support design "
    "scaffold new",
}
_BY_WORD = {word: name for name, words in _CATEGORIES.items() for word in words.split()}
OTHER = "other"
CATEGORIES = (*_CATEGORIES, OTHER)


class RawInput(StrEnum):
    """What becomes of the user's words in a trace."""

    SCRUB = "scrub"  # kept, without personal data and secrets
    SUMMARISE = "summarise"
    DROP = "drop"


def kept_goal(goal: str, mode: RawInput) -> str:
    """Returns what a trace keeps of the goal."""
    match mode:
        case RawInput.SCRUB:
            return goal
        case RawInput.SUMMARISE:
            return summary(goal)
        case RawInput.DROP:
            return f"{category(goal)} task"


def kept_value(value: Json, goal: str, kept: str) -> Json:
    """Returns a value of a trace in which the goal is quoted as `kept`."""
    if len(goal) < LEAST_QUOTE_CHARS or goal == kept:
        return value
    match value:
        case str():
            return value.replace(goal, kept)
        case dict():
            return {name: kept_value(item, goal, kept) for name, item in value.items()}
        case list() | tuple():
            return [kept_value(item, goal, kept) for item in value]
        case _:
            return value


def summary(goal: str) -> str:
    """Returns the first words that say what is to be done, without quotes, code, paths, numbers."""
    bare = _WORD.sub(_unnamed, _QUOTED.sub("…", _CODE.sub("…", goal)))
    for sentence in re.split(r"(?<=[.!?。！？])\s+|\n+", bare):  # noqa: RUF001 - of other scripts
        words = _POLITE.sub("", sentence.strip()).split()
        if sum(any(letter.isalpha() for letter in word) for word in words) > 1:
            cut = " ".join(words[:SUMMARY_WORDS]).strip(" ,;:-–—")  # noqa: RUF001 - dashes
            return cut[:200]
    return f"{category(goal)} task"


def _unnamed(found: re.Match[str]) -> str:
    """Replaces a word that names something by a sign, and keeps the punctuation after it."""
    word = found[0]
    core = word.rstrip(".!?,;:")
    return f"…{word[len(core) :]}" if _NAMING.search(core) else word


def category(goal: str) -> str:
    """Returns the kind of task that a goal is: of its words, the first that names one."""
    for word in re.findall(r"[^\W\d_]+", goal.lower()):
        if word in _BY_WORD:
            return _BY_WORD[word]
    return OTHER
