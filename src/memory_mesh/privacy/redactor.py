"""The redactor of one store: the key is read and the rules are loaded when a text needs them."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum

from memory_mesh import privacy
from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import Protocol
from memory_mesh.model import Json
from memory_mesh.platform import forks
from memory_mesh.privacy import NamespaceRedactor, PrivacyRule
from memory_mesh.privacy.gate import mentioned, suspicious

SUMMARY_WORDS = 12
LEAST_QUOTE_CHARS = 12  # a shorter goal stands in a plan by chance
_code = lazy_pattern(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_quoted = lazy_pattern(
    r"\"[^\"\n]{1,500}\"|“[^”\n]{1,500}”|«[^»\n]{1,500}»|(?<!\w)'[^'\n]{1,500}'(?!\w)"
)
_naming = lazy_pattern(r"[/\\@]|\d{3}")  # in a path, an address or a number
_word = lazy_pattern(r"\S+")
_polite = lazy_pattern(
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


class Key(Protocol):
    """A key of the store, as far as placeholders need it."""

    @property
    def secret(self) -> bytes:
        """What placeholders are made with."""


class Ring(Protocol):
    """The keys of a store."""

    def keys(self) -> Sequence[Key]:
        """Every key, the oldest first; the last is in use."""


class PlaceholderMarks(Protocol):
    """What placeholders of older keys look like."""

    def note(self, mark: str, older: tuple[str, ...]) -> None:
        """Takes note of one value under the key in use and under each older one."""


class Keys(Protocol):
    """The keys of one store, read when they are first asked for."""

    @property
    def ring(self) -> Ring:
        """The keys."""

    @property
    def former(self) -> PlaceholderMarks:
        """The placeholders of older keys."""


def _texts(value: Json) -> Iterator[str]:
    """Every text and number within a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, int | float):
        yield str(value)


class StoreRedactor:
    """Implements `ports.Redactor`; a text that no rule could match costs next to nothing."""

    def __init__(
        self,
        namespace: str,
        keys: Keys,
        rules: Sequence[Mapping[str, object]] = (),
        names: "Callable[[], Sequence[PrivacyRule]] | None" = None,
        *,
        kinds: Sequence[str] = (),
        keep: Sequence[str] = (),
        country: str = "",
    ) -> None:
        """Keep the settings; `names` gives the rules for the user's names when first needed.

        `kinds` are replaced on request, those to `keep` are not; phone numbers of the `country`
        need no prefix.
        """
        self._namespace = namespace
        self._keys = keys
        self._under: Sequence[Key] = ()  # the keys that the rules were loaded with
        self._settings, self._find_names = rules, names
        self._kinds, self._keep, self._country = kinds, keep, country
        self._always = bool(rules or kinds)
        self._names: Sequence[PrivacyRule] = ()
        self._redactor: NamespaceRedactor | None = None
        self._without_names: NamespaceRedactor | None = None
        self._loading = threading.Lock()
        forks.protect(self)

    def text(self, value: str) -> str:
        """The text with a placeholder for each personal datum or secret."""
        if not self._always and not self._may_match(value):
            return value
        return self._loaded().text(value)

    def identity(self, value: str) -> str:
        """The same for what identifies a project, an agent or a file: names are kept in it."""
        if not self._always and not suspicious(value):
            return value
        self._loaded()
        return value if self._without_names is None else self._without_names.text(value)

    def json(self, value: Json) -> Json:
        """The same for every text within a value."""
        if not self._always and not any(map(self._may_match, _texts(value))):
            return value
        return self._loaded().json(value)

    def after_fork(self) -> None:
        """A child loads under its own lock."""
        self._loading = threading.Lock()

    def _may_match(self, value: str) -> bool:
        if suspicious(value):
            return True
        if self._find_names is not None:
            with self._loading:
                if self._find_names is not None:
                    self._names, self._find_names = self._find_names(), None
        return mentioned(value, self._names)

    def _loaded(self) -> "NamespaceRedactor":
        with self._loading:
            keys = self._keys.ring.keys()
            if self._redactor is None or keys != self._under:
                own = privacy.user_rules(self._settings) if self._settings else ()
                own += privacy.kinds(self._kinds) if self._kinds else ()
                if self._find_names is not None:
                    self._names, self._find_names = self._find_names(), None
                self._without_names = self._made(keys, own, ())
                self._redactor = (
                    self._made(keys, own, self._names) if self._names else self._without_names
                )
                self._under = keys
            return self._redactor

    def _made(
        self, keys: Sequence[Key], own: "Sequence[PrivacyRule]", names: "Sequence[PrivacyRule]"
    ) -> "NamespaceRedactor":
        *older, newest = (key.secret for key in keys)
        return privacy.NamespaceRedactor(
            newest,
            self._namespace,
            own,
            names,
            country=self._country,
            keep=self._keep,
            older=tuple(older),
            note=self._keys.former.note,
        )


# What is kept of a user's own words in a trace: all of them, a summary, or only their category.


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
    bare = _word().sub(_unnamed, _quoted().sub("…", _code().sub("…", goal)))
    for sentence in re.split(r"(?<=[.!?。！？])\s+|\n+", bare):  # noqa: RUF001 - of other scripts
        words = _polite().sub("", sentence.strip()).split()
        if sum(any(letter.isalpha() for letter in word) for word in words) > 1:
            cut = " ".join(words[:SUMMARY_WORDS]).strip(" ,;:-–—")  # noqa: RUF001 - dashes
            return cut[:200]
    return f"{category(goal)} task"


def _unnamed(found: re.Match[str]) -> str:
    """Replaces a word that names something by a sign, and keeps the punctuation after it."""
    word = found[0]
    core = word.rstrip(".!?,;:")
    return f"…{word[len(core) :]}" if _naming().search(core) else word


def category(goal: str) -> str:
    """Returns the kind of task that a goal is: of its words, the first that names one."""
    return next(
        (_BY_WORD[word] for word in re.findall(r"[^\W\d_]+", goal.lower()) if word in _BY_WORD),
        OTHER,
    )
