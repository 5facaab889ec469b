"""Rules that replace the names of the user: an account, a home folder, a full name, a list.

A name that is no ordinary word is replaced wherever it stands as a word. One that is (mark, will,
grace) is replaced only where it must be a name: in a home folder's path, before the host of a
login, as a part of the full name, after or before words that go with people. An account that says
nothing about anybody (root, test, ci) or has fewer than three letters is left, but in the path of
its home folder.

One person has one placeholder, whatever form of the name is written.
"""
# ruff: noqa: RUF001 - names in other scripts

import re
from collections.abc import Iterable, Iterator, Sequence
from unicodedata import category, normalize

from memory_mesh.base.typed import dataclass
from memory_mesh.base.word_files import word_sets
from memory_mesh.model.errors import InvalidInput
from memory_mesh.rules.privacy_rule import PrivacyRule, Span
from memory_mesh.text._common_words import LEVELS

_WORDS = word_sets(__file__, "names.txt")
NOBODY = _WORDS["NOBODY"]

# Given and family names that are ordinary words of English, or of programs.
ORDINARY = _WORDS["ORDINARY"]

# Given names that the stems of ordinary words contain, because people quote people.
GIVEN = _WORDS["GIVEN"]

MIN_LETTERS = 3
_LONG = 5  # letters of a name that is known in capitals too, or without its hyphen
_CYRILLIC = re.compile("[А-ЯЁа-яё]{4,}")
_HOMES = (
    r"(?:(?:/home|/export/home|/var/home|/run/media|/var/mail|/var/spool/cron)/"
    r"|[\\/]{1,2}Users[\\/]{1,2})"
)
_LETTERS_OF = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "o", "å": "a", "æ": "ae", "ł": "l"}
_BEFORE = (
    r"(?:\b(?:by|ask|asks|asked|tell|tells|told|from|with|for|to|thanks|thank|ping|pinged|cc|hi"
    r"|hello|hey|dear|and|let|see|via|meet|met|emailed|mailed|called|says|said|named|name is|i am"
    r"|i'm|am|owner|author|reviewer|assignee|assigned|von|mit|an|par|avec|por|con|de|av|til|przez"
    r"|od|для|от)[:,]? @?)"
)
_AFTER = (
    r"(?='s\b|,? (?:said|says|wrote|writes|asked|asks|wants|wanted|likes|liked|prefers|preferred"
    r"|thinks|thought|reported|reports|fixed|approved|merged|pushed|reviewed|committed|deployed"
    r"|suggested|mentioned|agreed|confirmed|replied|told|knows|uses|used|needs|added|removed|moved"
    r"|left|joined|broke|owns|maintains|signed|signs)\b)"
)
_HOST = (
    r"(?i:s?-(?:laptop|pc|desktop|macbook(?:-(?:pro|air))?|mbp|imac|thinkpad|xps|workstation|box"
    r"|mac|win|nuc))"
)
_OWNS = r"(?i:user(?:name|_name)?|login|logname|owner|account|author|assignee|committer)"
_FORGES = r"(?:github|gitlab|bitbucket|codeberg)\.(?:com|org)[/:]"
_OF = r"(?:denied to |pytest-of-|\bpull request #\d+ from )"
_GAP = r"[ \t]{1,20}"
_NO_FILE = r"(?![\w-]|\.[A-Za-z]{2,4}\b)"


@dataclass(frozen=True, slots=True)
class Person:
    """The forms under which one person is known; the first one decides the placeholder."""

    accounts: tuple[str, ...] = ()
    full_names: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()  # whole paths
    always: tuple[str, ...] = ()  # replaced wherever they stand as words: the user listed them

    @property
    def identity(self) -> str:
        """What the placeholder is made of; the same for every form."""
        proper = [name for name in self.accounts if not _is_nobody(name)]
        known = (*self.always, *proper, *self.full_names, *self.accounts, *self.homes)
        return normalize("NFC", known[0]).casefold() if known else ""


def rules(persons: Iterable[Person]) -> tuple[PrivacyRule, ...]:
    """Returns one rule for each person who has a form that can be replaced."""
    return tuple(rule for person in persons if (rule := _rule(person)) is not None)


def listed(names: Sequence[str]) -> tuple[Person, ...]:
    """Returns the persons of a list in the settings, each replaced wherever the name stands."""
    persons = []
    for name in names:
        plain = " ".join(name.split())
        if sum(letter.isalpha() for letter in plain) < MIN_LETTERS and not _is_wide(plain):
            raise InvalidInput(
                f"{name!r} is too short to be replaced everywhere: a name needs {MIN_LETTERS} "
                "letters; give the full name, or a pattern in privacy_rules"
            )
        several = " " in plain
        persons.append(Person(always=(plain,), full_names=(plain,) if several else ()))
    return tuple(persons)


def _rule(person: Person) -> PrivacyRule | None:
    patterns = list(_patterns(person))
    if not patterns:
        return None
    named = (*person.accounts, *person.full_names, *person.always, *map(_folder, person.homes))
    parts = [part for name in person.full_names for part in _parts(name)]
    words = {form.lower() for name in (*named, *parts) for form in _forms(name)}
    words |= {_stem(part).lower() for part in parts}
    return PrivacyRule(
        name="user",
        label="USER",
        pattern=_Finder(patterns),
        hints=tuple(sorted(word for word in words if word)),
        identity=person.identity,
        why="a name of the user: account, home folder, author of commits, or one that was listed",
        example="/home/alice",
    )


class _Finder:
    """Finds every form of a person's name; where two overlap the longer one counts."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [re.compile(pattern, re.MULTILINE) for pattern in patterns]

    def finditer(self, text: str, /) -> Iterator["_Span"]:
        spans = {
            match.span(group)
            for pattern in self._patterns
            for match in pattern.finditer(text)
            for group in pattern.groupindex
            if match[group]
        }
        end = 0
        for start, stop in sorted(spans, key=lambda span: (span[0], -span[1])):
            if start >= end:
                end = stop
                yield _Span((start, stop))


@dataclass(frozen=True, slots=True)
class _Span:
    """One match."""

    at: Span

    def span(self) -> Span:
        """Returns start and end of the match."""
        return self.at


def _patterns(person: Person) -> Iterator[str]:
    yield from (_as_word(name, f"(?i:{_any(name)})") for name in person.always)
    for home in person.homes:
        yield from _home(home)
    for name in dict.fromkeys((*person.accounts, *map(_folder, person.homes))):
        if name:
            yield from _account(name)
    for name in person.full_names:
        yield from _full_name(name)


def _home(path: str) -> Iterator[str]:
    """The last part of the home folder's path; one that is the name itself needs no rule."""
    above, _, name = path.replace("\\", "/").rstrip("/").rpartition("/")
    if above and name:
        yield rf"{re.escape(above)}/(?P<value>{_any(name)})(?![\w-])"


def _account(name: str) -> Iterator[str]:
    any_case = f"(?i:{_any(name)})"
    yield rf"{_HOMES}(?P<value>{any_case}){_NO_FILE}"
    if _is_nobody(name):
        return
    yield rf"(?:(?<![\w/.])~|\bbranch '?|\borigin/)(?P<value>{_any(name)})(?=/)"
    yield rf"(?<![\w./@-])(?P<value>{any_case})(?=@[\w\[])"
    yield rf"(?<=\d\()(?P<value>{_any(name)})(?=\))"
    yield (
        rf"^[-dlbcps][rwxsStT-]{{9}}[.+@]?{_GAP}\d{{1,9}}{_GAP}(?:(?P<owner>{_any(name)})|\S{{1,64}})"
        rf"{_GAP}(?:(?P<group>{_any(name)})|\S{{1,64}}){_GAP}\d"
    )
    yield rf"(?<![\w-]){_OWNS}[\"']?\s?[:=]\s?[\"'@]?(?P<value>{any_case})(?![\w-])"
    yield rf"(?:(?<![\w-])-u|--user|--owner|\bchown|\bsu -?)[ =](?P<value>{_any(name)})(?![\w-])"
    yield rf"{_OF}(?P<value>{_any(name)})(?=[/.\s]|\Z)"
    yield rf"{_FORGES}(?P<value>{_any(name)})(?=[/\s]|\Z)"
    yield rf"(?<![\w-])(?P<value>{any_case})(?={_HOST}\b)"
    if not is_ordinary(name):
        yield _as_word(name, _any(name, capital=True))


def _full_name(name: str) -> Iterator[str]:
    parts = _parts(name)
    if any(map(_is_nobody, parts)):
        return  # a team, a bot or a service
    if len(parts) > 1:
        gap = r"\s{0,3}" if _is_wide(parts[0]) else r"[\s._-]{1,3}"
        yield _as_word(name, f"(?i:{gap.join(map(_bent, parts))})")
        first, last = _bent(parts[0]), _bent(parts[-1])
        yield _as_word(name, rf"(?i:{first}{gap}(?:\w\.?{gap})?{last}|{last}, {first})")
    for part in parts:
        capital = part[:1].upper() + part[1:]
        if not is_ordinary(part):
            yield _as_word(part, _bent(capital))
            if len(part) >= _LONG:
                yield _as_word(part, _any(capital.upper()))
        elif len(parts) > 1:
            yield rf"(?i:{_BEFORE})(?P<value>{_any(capital)})(?!\w|[.-]\w| [A-Z])"
            yield rf"(?<!\w)(?P<value>{_any(capital)}){_AFTER}"


def _as_word(name: str, pattern: str) -> str:
    """A pattern that matches between other words; scripts without blanks have no such border."""
    if _is_wide(name.replace(" ", "")):
        return f"(?P<value>{pattern})"
    return rf"(?<!\w)(?P<value>{pattern})(?!\w)"


def _bent(name: str) -> str:
    """A pattern for a name with the endings that it may have in a sentence."""
    if stem := _stem(name):
        return f"{re.escape(stem)}[а-яё]{{0,3}}"
    return _any(name) if name.endswith("s") or is_ordinary(name) else f"{_any(name)}s?"


def _stem(name: str) -> str:
    """A name in Cyrillic letters without the ending that changes; nothing for any other."""
    return name.rstrip("аяьйоеы") if _CYRILLIC.fullmatch(name) else ""


def _any(name: str, *, capital: bool = False) -> str:
    """A pattern for the spellings of a name: composed or not, with and without its accents."""
    forms = _forms(name)
    if capital:
        forms = dict.fromkeys((*forms, *(form[:1].upper() + form[1:] for form in forms)))
    return f"(?:{'|'.join(re.escape(form) for form in forms)})"


def _forms(name: str) -> dict[str, None]:
    composed, apart = normalize("NFC", name), normalize("NFD", name)
    found = dict.fromkeys((composed, apart))
    if "-" in composed and len(composed) >= _LONG:
        found |= dict.fromkeys((composed.replace("-", ""), composed.replace("-", " ")))
    if len(composed) > MIN_LETTERS and not composed.isascii():
        found["".join(letter for letter in apart if category(letter) != "Mn")] = None
        found["".join(_LETTERS_OF.get(letter, letter) for letter in composed)] = None
    return found


def _parts(name: str) -> list[str]:
    """The words of a full name that say something: no initials, no titles."""
    parts = [part.strip(".,()\"'") for part in name.split()]
    return [part for part in parts if len(part) >= MIN_LETTERS or _is_wide(part)] or parts[:1]


def _folder(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _is_nobody(name: str) -> bool:
    """True for a name that identifies nobody, or is too short to be told from other words."""
    return name.casefold() in NOBODY or (len(name) < MIN_LETTERS and not _is_wide(name))


def is_ordinary(name: str) -> bool:
    """True for a name that is a word as well: a listed one, or the stem of a common word."""
    plain = name.casefold()
    if plain in ORDINARY or plain in NOBODY or plain.removesuffix("s") in ORDINARY:
        return True
    if plain in GIVEN:
        return False
    bare = plain.removesuffix("s")
    stems = {plain, bare, bare.removesuffix("e"), bare[:-1] + "i" if bare.endswith("y") else bare}
    return any(not stems.isdisjoint(words.split()) for words in LEVELS.values())


def _is_wide(name: str) -> bool:
    """True for a name in a script whose words are short, such as Chinese or Korean."""
    return len(name) > 1 and all(ord(letter) > 0x2E7F for letter in name)  # noqa: PLR2004 - CJK
