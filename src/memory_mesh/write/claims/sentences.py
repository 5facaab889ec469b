"""Splits a text that is one plain statement into subject, verb and rest, and reads those two.

The subject is a name, a thing, or a thing that belongs to another. Of the value at the end it reads
the start, the kind and what it replaces.
"""

import re
from itertools import pairwise

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.text.claim_keys import key
from memory_mesh.write.claims import word_lists

_NAMING = tuple("`\"'\u201c$€£/~.@#")
_INSTEAD = (("instead", "of"), ("rather", "than"))
WE = "we"
_US = frozenset(("we", "us", "team", "our team"))
_ASIDE = word_lists.PREPOSITIONS | {"that", "where", "which", "who", "whose"}
MAX_TEXT = 400  # a longer text is no short statement
_MAX_WORDS = 45
_SHORT = {"i'm": "am", "we're": "are", "i've": "have", "we've": "have"}
_RELATIVE = frozenset(("that", "where", "which", "who", "whose"))
_PLURAL = frozenset(("i", "we", "they", "you"))
_ORDERS = frozenset(("use", "switch", "migrate", "never", "always", "don't", "do", "prefer"))
_ONCE = {"died": "die", "worked": "worked", "replaced": "replace"}
_QUOTED = "\"'\u201c\u2018\u00ab>"  # somebody else's words
_BULLETS = frozenset(("-", "*", "•"))
_MARKS = frozenset("*<>{}[]|=\\")  # of a table, a page or code
_NO_MORE = frozenset((("any", "more"), ("any", "longer"), ("at", "all")))
_AS_WELL = ("as", "well")
_LONG_ENOUGH = 3  # `bus` is no plural


_OPENING_WORDS = word_lists.OPENING_WORDS
_ASIDE_SIGNS = (",", " -", " \u2013", " \u2014")
_ASIDE_ENDS = ("these days", "nowadays", "at the moment", "for the time being")


def of_class(rest: list[str]) -> tuple[list[str], str]:
    """Returns value and class: "the city of Rome" is Rome, a city; other values have no class."""
    if rest[:1] == ["the"] and rest[2:3] == ["of"] and rest[1] in word_lists.CLASSES and rest[3:]:
        return rest[3:], rest[1]
    return rest, ""


def scale(predicate: str, value: list[str], kind: str) -> str:
    """Returns the predicate for the class of the value: a town and a country do not conflict."""
    if kind:
        return predicate if kind == "city" else f"{predicate} {kind}"
    if predicate not in word_lists.PLACED or not value:
        return predicate
    text = " ".join(value).casefold().removeprefix("the ")
    if text in word_lists.COUNTRIES:
        return f"{predicate} country"
    when = value[0].casefold().rstrip("s,") in word_lists.TIMES or value[-1][:1].isdigit()
    return f"{predicate} time" if when else predicate


def replaced(rest: list[str]) -> tuple[list[str], list[str]]:
    """Returns the value and what it replaces: "X, not Y", "X instead of Y", "X over Y"."""
    for at in range(1, len(rest) - 1):
        word = rest[at]
        if word == "not" and rest[at - 1].endswith(","):
            return [*rest[: at - 1], rest[at - 1][:-1]], rest[at + 1 :]
        if (word, rest[at + 1]) in _INSTEAD and at + 2 < len(rest):
            return [*rest[: at - 1], rest[at - 1].rstrip(",")], rest[at + 2 :]
    return rest, []


def qualified(value: list[str], predicate: str) -> tuple[list[str], str]:
    """Returns the value and its restriction: "five in project:x", "Friday for the web team".

    A place in a place is one place, and "at 9:30" tells the rest of a time.
    """
    for at in range(1, len(value)):
        word = value[at]
        if word in word_lists.LOCAL or (word[0] == "(" and value[-1][-1] == ")"):
            return value[:at], key(" ".join(value[at:]))
        if (
            word not in word_lists.QUALIFIERS
            or at + 1 == len(value)
            or (word == "at" and value[at + 1][0].isdigit())
        ):
            continue
        if word == "in" and predicate in word_lists.PLACED:
            continue
        return value[:at], key(" ".join(value[at:]))
    return value, ""


def last_value(rest: list[str]) -> tuple[list[str], list[str]]:
    """Splits off the last value, which follows the last preposition."""
    return next(
        (
            (rest[: at + 1], rest[at + 1 :])
            for at in range(len(rest) - 2, -1, -1)
            if rest[at] in word_lists.PREPOSITIONS
        ),
        ([], rest),
    )


def identifying(value: list[str]) -> bool:
    """True if the value names one thing: a name, a number, a path or a quoted text."""
    first = value[0] if value else ""
    if first in ("the", "our", "my") and len(value) > 1:
        first = value[1]
    return (
        first[:1].isupper()
        or first.startswith(_NAMING)
        or any(any(sign.isdigit() or sign in "/@_=" for sign in part) for part in value)
    )


def describing(value: list[str]) -> bool:
    """True if the value tells how a thing is, not which one: "tight", "very late", "approved"."""
    first = value[0].casefold().rstrip(",") if value else ""
    return first in word_lists.DESCRIBING or (
        len(value) == 1 and first.isalpha() and first.endswith(word_lists.DESCRIBING_ENDS)
    )


@dataclass(frozen=True, slots=True)
class Voice:
    """Who says "I" and "we" in a text; empty if it is not known, and then it makes no claim."""

    one: str
    many: str = WE


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a statement; `noun` and `owner` if it belongs to something.

    `many`: there may be others of the kind. `definite`: the one and only. `plain`: no opening, no
    comma that could make it part of another sentence. `vague`: which one it is was said before.
    """

    whole: str
    owner: str
    noun: str
    head: str
    many: bool
    definite: bool
    named: bool
    plain: bool
    vague: bool = False


def subject_of(parts: list[str], voice: Voice) -> Subject | None:
    """Returns the subject that the words name, with who speaks in the place of "I" and "we"."""
    first = parts[0].casefold()
    if len(parts) == 1 and first in ("i", "me"):
        return _named(voice.one) if voice.one else None
    if first == "my":
        return _owned(parts[1:], voice.one) if voice.one else None
    article = first in ("the", "our")
    indefinite = _indefinite(first, parts)
    body = parts[1:] if article or (indefinite and first != "one") else parts
    if not body:
        return None
    whole = key(" ".join(body))
    if not whole or (whole in _US and not voice.many):
        return None
    owner, noun = ("", "") if indefinite else _of(body, article=article) or _possessed(body, "")
    head = _head(noun or whole)
    return Subject(
        whole=voice.many if whole in _US else whole,
        owner=owner,
        noun=noun,
        head=head,
        many=indefinite or _one_of_many(owner if body[-1].islower() else "", noun, head),
        definite=article,
        named=not article and not indefinite and parts[0][:1].isupper(),
        plain=_plain(parts) or (article and " of " in " ".join(body)),
        vague=(article and not noun and _vague(body)) or _passing(owner or whole, noun),
    )


def _named(name: str) -> Subject:
    return Subject(
        whole=name,
        owner="",
        noun="",
        head="",
        many=False,
        definite=False,
        named=True,
        plain=True,
    )


def _owned(body: list[str], speaker: str) -> Subject | None:
    """Returns the subject for something that belongs to the speaker."""
    whole = key(" ".join(body))
    if not whole:
        return None
    owner, noun = _possessed(body, speaker)
    if not noun:
        owner, noun = speaker, whole
    head = _head(noun)
    return Subject(
        whole=f"{speaker} {whole}",
        owner=owner,
        noun=noun,
        head=head,
        many=_one_of_many(owner, noun, head),
        definite=True,
        named=False,
        plain=_plain(body),
    )


def _indefinite(first: str, parts: list[str]) -> bool:
    """True for one of many ("a client", "another option"), but not for a name ("A Day Out")."""
    following = parts[1] if len(parts) > 1 else ""
    if first == "one":
        return following == "of" or following[:1].islower()
    return first in word_lists.INDEFINITE and following[:1].islower()


def _of(body: list[str], *, article: bool) -> tuple[str, str] | None:
    """Returns owner and noun of "the capital of Peru"."""
    if "of" not in body[1:-1]:
        return None
    at = body.index("of", 1)
    if not article and not body[0].islower() and body[0].casefold() not in word_lists.ONE:
        return None
    owner, noun = key(" ".join(body[at + 1 :])), key(" ".join(body[:at]))
    return (owner, noun) if owner and noun else None


def _possessed(body: list[str], speaker: str) -> tuple[str, str]:
    """Returns owner and noun of "Peru's capital"; empty without a possessive."""
    for at, word in enumerate(body[:-1]):
        if word.endswith(("'s", "s'")) and all(part[:1].islower() for part in body[at + 1 :]):
            owner, noun = key(" ".join(body[: at + 1])), key(" ".join(body[at + 1 :]))
            if owner and noun:
                return (f"{speaker} {owner}" if speaker else owner), noun
    return "", ""


def _plain(parts: list[str]) -> bool:
    """True if the words start no other clause; a comma is allowed only inside a name."""
    first = parts[0].casefold()
    if first in word_lists.OPENINGS or first.rstrip(",") in word_lists.OPENINGS:
        return False
    return not any(
        part[-1] == "," and following[:1].islower() for part, following in pairwise(parts)
    )


def _vague(body: list[str]) -> bool:
    """True for "the file" or "the next step", which do not say which one of many."""
    bare = [word for word in body if word.casefold() not in word_lists.ORDER]
    if len(bare) != 1 or not bare[0].islower() or bare[0] in word_lists.SETTING:
        return not bare
    return bare[0] not in word_lists.ONE or bare[0] in word_lists.FIELDS


def _passing(whose: str, noun: str) -> bool:
    """True if it is, or belongs to, an unnamed one of a sequence."""
    thing, _, more = whose.partition(" ")
    return thing in word_lists.PASSING and (not more if noun else more in word_lists.LABELS)


def _one_of_many(owner: str, noun: str, head: str) -> bool:
    """True if its owner may have several of the kind, or is itself one of many."""
    if not noun:
        return False
    kinds = {head, owner.rpartition(" ")[2], noun.partition(" ")[0]}
    return not word_lists.MANY.isdisjoint(kinds)


def _head(phrase: str) -> str:
    """Returns the main noun of a phrase: its last word before an addition."""
    head = ""
    for word in phrase.split():
        if word in _ASIDE and head:
            break
        head = word
    return head


@dataclass(frozen=True, slots=True)
class Clause:
    """Subject, verb, rest, and the adverbs and negations of one statement."""

    subject: list[str]
    verb: str
    rest: list[str]
    denies: bool
    now: bool
    also: bool


def statement(text: str) -> str | None:
    """Returns the only sentence without its full stop; None for several or a question."""
    if len(text) > MAX_TEXT:
        return None
    line = text.strip().replace("\u2019", "'")  # the apostrophe of typesetters
    if (
        not line
        or line[-1] in "?:"
        or line[0] in _QUOTED
        or ";" in line
        or len(line.splitlines()) > 1
    ):
        return None
    return _without_aside(_opened(line)).rstrip("!").removesuffix(".").rstrip() or None


def _opened(line: str) -> str:
    """Returns the sentence without how it is introduced; "from now on" is kept as "now"."""
    changed = False
    while _starts_with_opener(line) and (found := _opener().match(line)):
        changed = changed or found["change"] is not None
        line = line[found.end() :]
    if changed and line:
        line = f"{line.rstrip('.!')} now"
    return line


def _without_aside(line: str) -> str:
    """Returns the sentence without a remark at its end: ", so …", ", in case …", "(…)"."""
    if not any(sign in line for sign in _ASIDE_SIGNS) and not line.endswith(_ASIDE_ENDS):
        return line
    found = _aside().search(line)
    return line[: found.start()] if found and found.start() > 0 else line


def _starts_with_opener(line: str) -> bool:
    return line.partition(" ")[0].casefold().rstrip(",:") in _OPENING_WORDS


_opener = lazy_pattern(
    r"(?:(?P<change>from now on|as of (?:now|today)|effective immediately|from today(?: on)?"
    r"|correction|update|starting (?:now|today|tomorrow))"
    r"|btw|by the way|fyi|for the record"
    r"|just so (?:you|we|nobody|everyone)\b[^,:]{0,30}(?=[,:])"
    r"|(?:ok(?:ay)?|so|well|hey|oh|alright|right)(?:,? so)?(?=,? )"
    r"|(?:please )?(?:remember|note)(?: that)?|remember|heads[- ]up|reminder"
    r"|quick (?:update|note)"
    r"|decision|fact|edit|actually|just to note it(?: somewhere)?|for the [\w ]{1,20}(?=:)"
    r")(?:,|:| [-\u2013])?\s+",
    re.IGNORECASE,
)


_aside = lazy_pattern(
    r"(?:,| [-\u2013\u2014])\s++(?:so|in case|because|which|please|pls|just|but|though"
    r"|don't|keep|as|ask|tag"
    r"|thanks|obviously|of course|to be|not that|finally|fyi|btw)\b"
    r"|(?<!\s)\s++(?:these days|nowadays|at the moment|for the time being)[.!]*$",
    re.IGNORECASE,
)


def spoken(line: str) -> list[str] | None:
    """Splits a sentence into words and expands a leading contraction; None for two sentences."""
    parts = line.split()
    if parts and parts[0] in _BULLETS:
        del parts[0]
    if len(parts) > _MAX_WORDS or (len(parts) > 1 and _two_sentences(parts)):
        return None
    if parts and (verb := _SHORT.get(parts[0].casefold())):
        parts[:1] = [parts[0].partition("'")[0], verb]
    return parts


def clause(parts: list[str]) -> Clause | None:
    """Splits a statement at its verb; None if no known verb is found."""
    if not word_lists.UNSTATED.isdisjoint(parts):
        return None
    if _order(parts):
        parts = ["we", parts[0].casefold(), *parts[1:]]
    at = _turn(parts)
    if at is None or not _MARKS.isdisjoint("".join(parts[:at])) or parts[at - 1][-1] == ":":
        return None
    flags: set[str] = set()
    after = _adverbs(parts, at, flags)
    if parts[after : after + 1] in (["have"], ["has"]) and _told(parts[after + 1 : after + 2]):
        after += 1  # "have moved"
    if after >= len(parts) or (verb := _verb(parts[after])) is None:
        return None
    if verb in word_lists.PAST and "denies" in flags:
        return None
    rest = after + 1
    copula = parts[after] in word_lists.COPULAS or parts[after] in word_lists.NEGATIONS
    if copula or (rest < len(parts) and parts[rest] in word_lists.ADVERBS):
        rest = _adverbs(parts, rest, flags)
    ended = _ending(parts[rest:], flags)
    return Clause(
        subject=parts[:at],
        verb=verb,
        rest=ended,
        denies="denies" in flags,
        now="now" in flags,
        also="also" in flags,
    )


def _two_sentences(parts: list[str]) -> bool:
    for part, following in pairwise(parts):
        if part[-1] in ".!?" and following[0].isupper() and not _shortened(part):
            return True
    return False


def _shortened(part: str) -> bool:
    """An initial (`J.`), a title (`Dr.`) or letters with points between (`D.C.`)."""
    bare = part[:-1].lstrip("(\"'")
    return (
        "." in bare
        or (len(bare) == 1 and bare.isalpha())
        or part.casefold() in word_lists.SHORTENED
    )


def _order(parts: list[str]) -> bool:
    """True for an instruction: "Use tabs", "Never deploy on Fridays"."""
    first = parts[0].casefold()
    if first not in _ORDERS or len(parts) == 1 or not parts[1][0].isalnum():
        return False
    return (
        first in ("use", "switch", "migrate", "prefer")
        or parts[1] in word_lists.BASES
        or (parts[1] == "not" and first == "do")
    )


def _turn(parts: list[str]) -> int | None:
    """Returns where the subject ends: at the verb or at the adverbs before it."""
    for at in range(1, len(parts)):
        word = parts[at]
        if word in _TURNS or (word == "no" and parts[at + 1 : at + 2] == ["longer"]):
            break
        if word in word_lists.VERBS and _finite(parts, at):
            break
    else:
        return None
    if not _RELATIVE.isdisjoint(parts[1:at]):
        copulas = [place for place, word in enumerate(parts) if word in ("is", "are")]
        return copulas[-1] if copulas and copulas[-1] >= at else None
    return at


def _finite(parts: list[str], at: int) -> bool:
    """True if the word is a verb here, not a noun of the same form."""
    before, following = parts[at - 1], parts[at + 1] if at + 1 < len(parts) else ""
    if following in word_lists.COPULAS or (
        following in word_lists.VERBS and _finite(parts, at + 1)
    ):
        return False
    lower = before.casefold()
    if parts[at] not in word_lists.BASES:
        return lower not in _DETERMINERS and not lower.endswith("'s")
    return (
        lower in _PLURAL
        or "and" in parts[:at]
        or (
            lower.endswith("s")
            and lower[-2:] not in ("ss", "'s", "us")
            and len(lower) > _LONG_ENOUGH
        )
    )


def _adverbs(parts: list[str], at: int, flags: set[str]) -> int:
    """Collects adverbs and negations from a position and returns where they end."""
    while at < len(parts):
        word = parts[at]
        if word == "no" and parts[at + 1 : at + 2] == ["longer"]:
            flags.add("denies")
            at += 2
            continue
        if word in word_lists.NEGATIONS:
            flags.add("denies")
            if word in ("isn't", "aren't", "wasn't"):
                break
        elif word in word_lists.NOW:
            flags.add("now")
        elif word in word_lists.ALSO:
            flags.add("also")
        elif word not in word_lists.ADVERBS and word not in word_lists.AUXILIARIES:
            break
        at += 1
    return at


def _told(following: list[str]) -> bool:
    return bool(following) and (following[0] in word_lists.CHANGES or following[0] == "replaced")


def _verb(word: str) -> str | None:
    if word in word_lists.COPULAS:
        return "was" if word in word_lists.PAST else "is"
    if word in ("isn't", "aren't"):
        return "is"
    if word in ("switch", "migrate"):
        return "changed"
    if word in word_lists.CHANGES:
        return "moved" if word == "moved" else "changed"
    return word_lists.VERBS.get(word) or _ONCE.get(word)


def _ending(rest: list[str], flags: set[str]) -> list[str]:
    """Returns the rest without a final "now", "too", "anymore" or "any more"."""
    final = tuple(word.casefold() for word in rest[-2:])
    if final in _NO_MORE or final == _AS_WELL:
        flags.update({"also"} if final == _AS_WELL else ())
        rest = rest[:-2]
    while rest and (last := rest[-1].rstrip(",").casefold()) in ("now", "too", "anymore"):
        flags.add({"now": "now", "too": "also", "anymore": "ended"}[last])
        rest = rest[: -2 if rest[-2:-1] == ["for"] else -1]  # "for now"
    return rest


_DETERMINERS = frozenset(("the", "our", "my", "a", "an", "your", "this", "that"))
_TURNS = (
    word_lists.COPULAS
    | word_lists.NEGATIONS
    | word_lists.AUXILIARIES
    | word_lists.ADVERBS
    | word_lists.CHANGES
    | frozenset(_ONCE)
    | {"switch", "migrate"}
)
