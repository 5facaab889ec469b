"""Reads the claim of one short statement. Forms are tried in order; the first match is used.

::

    key: value   use X for Z   moved from X to Y   S is V   S lives in V   statement less last value

A question, a condition, a quotation, a story and more than one sentence are no claims.
"""

import re

from memory_mesh.base.typed import replace
from memory_mesh.formats.looks import as_seen
from memory_mesh.model import Claim
from memory_mesh.text.claim_keys import ANYTHING, ARTICLES, MAX_KEY, MAX_VALUE, key
from memory_mesh.write.claims import word_lists
from memory_mesh.write.claims.sentences import (
    MAX_TEXT,
    WE,
    Clause,
    Subject,
    Voice,
    clause,
    describing,
    identifying,
    last_value,
    of_class,
    qualified,
    replaced,
    scale,
    spoken,
    statement,
    subject_of,
)

_MAX_LINES = 8
_HEADER = re.compile(r"^(?:#|//|;|--)\s*(?P<said>\S.*)$|^(?P<section>\[[^\]]+\].*)$")
_PLACE = re.compile(r"[\w-]\.[a-z]{1,10}\b|/[\w.-]|\.env\b", re.IGNORECASE)
_PARENT = re.compile(r"^[\w.\"'/*{},-]+:$")
_SETTING = re.compile(r"^-?\s*+(?P<name>[\w.\"'/-]+)\s*+(?::\s++|=\s*+|(?<=\s))(?P<value>\S.*)$")

_MAX_KEY_WORDS = 6
_MAX_VALUE_WORDS = 8
_LONGEST_PAIR_VALUE = 80
_SHORTEST_NAME = 3  # `x = 5` is code, not a setting
_CODE = frozenset("()[]{};<>|&*")
_SPOKEN = frozenset(
    ("i", "we", "you", "he", "she", "they", "it", "is", "are", "was", "were", "do", "does", "will")
)

_CHANGE_WORDS = frozenset(("to", "left", "Left"))  # without one, no change is told
_MAX_VALUE = 15  # words; more is a story
_MAX_SURE = 8  # words of a value we are certain of


def read(text: str, voice: Voice) -> Claim | None:
    """Reads the claim of one short statement as it looks, or None."""
    if len(text) > MAX_TEXT:
        return None
    if not text.isascii():
        text = as_seen(text)
    if "\n" in text.strip():
        return snippet(text)
    line = statement(text)
    if line is None:
        return None
    if not text[0].isspace() and (found := pair(line, voice)) is not None:
        return found
    parts = spoken(line)
    if parts and not _CHANGE_WORDS.isdisjoint(parts):
        from memory_mesh.write.claims.changes import change  # most sentences tell of none

        if (found := change(parts, voice)) is not None:
            return found if _fits(found) else None
    return _sentence(parts, voice) if parts else None


def _sentence(parts: list[str], voice: Voice) -> Claim | None:
    """Reads the claim of subject, verb and rest."""
    if (cut := clause(parts)) is None or not cut.rest:
        return None
    who = subject_of(cut.subject, voice)
    if who is None or _story(cut.rest):
        return None
    claim = _claim(cut, who)
    if claim is None or not _fits(claim):
        return None
    return replace(claim, certain=False) if who.vague and claim.certain else claim


def _story(rest: list[str]) -> bool:
    """True if the value contains a second statement: "Ana, and I live in Porto"."""
    return not word_lists.STORIES.isdisjoint(rest) or (
        "I" in rest[1:] and rest[rest.index("I", 1) - 1].endswith((",", "and"))
    )


def _claim(cut: Clause, who: Subject) -> Claim | None:
    if cut.verb == "was":
        return _made(cut, who)
    if cut.verb == "is":
        return _made(cut, who) or (_is(cut, who) if who.plain else None)
    if cut.verb in ("die", "worked"):
        return _once(cut, who)
    if not who.plain:
        return None
    if cut.verb == "use":
        return _use(cut, who)
    if cut.verb in ("moved", "changed", "replace"):
        return _changed(cut, who)
    return _does(cut, who)


def _made(cut: Clause, who: Subject) -> Claim | None:
    """Reads an event that happens once: "was founded by", "was born in"."""
    if len(cut.rest) < 3 or cut.rest[0] not in word_lists.MADE:  # noqa: PLR2004  # participle, by, value
        return None
    if cut.rest[1] not in word_lists.PREPOSITIONS:
        return None
    value, kind = of_class(cut.rest[2:])
    predicate = f"{cut.rest[0]} {cut.rest[1]}"
    return _said(cut, who.whole, scale(predicate, value, kind), value, many=who.many, whole=True)


def _once(cut: Clause, who: Subject) -> Claim | None:
    """Reads an ending: "died in"; past work only if one place is named: "the city of"."""
    if cut.rest[0] not in word_lists.PREPOSITIONS or len(cut.rest) == 1:
        return None
    value, kind = of_class(cut.rest[1:])
    if cut.verb == "worked" and not kind:
        return None
    predicate = scale(f"{cut.verb} {cut.rest[0]}", value, kind)
    return _said(cut, who.whole, predicate, value, many=who.many, whole=True)


def _is(cut: Clause, who: Subject) -> Claim | None:
    """Reads "is": a name, a place, an identity or a state."""
    first, second = cut.rest[0].casefold(), cut.rest[1] if len(cut.rest) > 1 else ""
    subject, noun = (who.owner, who.noun) if who.noun else (who.whole, "")
    if first in ("a", "an", "one", "another", "some", "among", "to"):
        return _among(cut, who, subject, noun)
    if (inverse := _role(cut, who)) is not None:
        return inverse
    if first in ("called", "named") and second not in word_lists.PREPOSITIONS and second:
        many = who.many or who.head in word_lists.MANY
        return _said(cut, subject, noun or "name", cut.rest[1:], many=many)
    if not noun and cut.rest[-2:] == ["years", "old"]:
        return _said(cut, subject, "age", cut.rest, many=who.many)
    if len(cut.rest) == 1 and first in word_lists.STATES:
        many = who.many and not cut.denies
        return _said(cut, who.whole, word_lists.STATES[first], cut.rest, many=many)
    if second in word_lists.PREPOSITIONS and cut.rest[0].islower() and len(cut.rest) > 2:  # noqa: PLR2004  # a word, a preposition, a value
        return _held(cut, who, subject, noun)
    if first in word_lists.PREPOSITIONS and second:
        value, kind = of_class(cut.rest[1:])
        predicate = scale(f"{noun} {first}".strip(), value, kind)
        sure = bool(noun or cut.now or kind or who.head in word_lists.ONE)
        sure = sure and who.head not in word_lists.FLEETING
        many = who.many or value[0] in ("a", "an")
        return _said(cut, subject, predicate, value, many=many, certain=sure)
    return _which(cut, who, subject, noun)


def _among(cut: Clause, who: Subject, subject: str, noun: str) -> Claim | None:
    """Reads a class: "is a V" is one of many; a citizenship is a single value."""
    if cut.rest[1:3] == ["citizen", "of"]:
        return _said(cut, who.whole, "citizen of", cut.rest[3:], many=who.many)
    return _said(cut, subject, noun or "is a", cut.rest, many=True)


def _role(cut: Clause, who: Subject) -> Claim | None:
    """Turns "Lima is the capital of Peru" into a claim about the capital of Peru."""
    rest = cut.rest
    if not who.named or who.noun or cut.denies or rest[0] != "the" or "of" not in rest[2:-1]:
        return None
    at = rest.index("of", 2)
    noun, owner = key(" ".join(rest[1:at])), key(" ".join(rest[at + 1 :]))
    head = noun.rpartition(" ")[2]
    if not noun or not owner or head in word_lists.FLEETING or "," in " ".join(rest):
        return None
    return Claim(
        subject=owner,
        predicate=noun,
        value=" ".join(cut.subject),
        exclusive=head not in word_lists.MANY and not cut.also,
        read=True,
    )


def _held(cut: Clause, who: Subject, subject: str, noun: str) -> Claim | None:
    """Reads a relation: "is based in V", "is married to V", "is good at V"."""
    value, kind = of_class(cut.rest[2:])
    form = (cut.rest[0], cut.rest[1])
    known = word_lists.HELD.get(form)
    plain = f"{noun} {known or ' '.join(form)}".strip()
    if known and noun and known == "is":
        plain = noun
    if not known and cut.rest[1] == "to" and cut.rest[0] not in word_lists.SHARED:
        return None  # "ready to leave"
    if cut.rest[0] in word_lists.SHARED and not kind:
        certain = cut.rest[0] not in ("famous", "known") or not identifying(value)
        return _said(cut, subject, plain, value, many=certain, certain=certain)
    sure = bool(known or kind or cut.now)
    if known in word_lists.STATED_HOW and not (identifying(value) or cut.now):
        sure = False  # "stored in hashed form"
    return _said(cut, subject, scale(plain, value, kind), value, many=who.many, certain=sure)


def _which(cut: Clause, who: Subject, subject: str, noun: str) -> Claim | None:
    """Reads an identity as a single value and a property as one of many."""
    predicate, one = noun or "is", who.head in word_lists.ONE
    if who.many or who.head in word_lists.MANY:
        return _said(cut, subject, predicate, cut.rest, many=True)
    if who.head in word_lists.FLEETING and not one:
        return _said(cut, subject, predicate, cut.rest, certain=False)
    shown = identifying(cut.rest) or cut.now
    if noun or (one and who.definite):
        many = not shown and describing(cut.rest)
        return _said(cut, subject, predicate, cut.rest, many=many, certain=one or shown)
    if (who.named and not one) or not shown:
        return _said(cut, subject, predicate, cut.rest, many=True)
    return _said(
        cut, subject, predicate, cut.rest, certain=one or (who.definite and " " in subject)
    )


def _use(cut: Clause, who: Subject) -> Claim | None:
    """Reads "use X for Z" as a single value if Z is definite; "use X" is one of many."""
    value, old = replaced(cut.rest)
    purpose: list[str] = []
    for word in ("for", "as"):
        for side in (value, old):
            if word in side[1:-1]:
                at = side.index(word, 1)
                purpose = side[at + 1 :]
                del side[at:]
        if purpose:
            break
    predicate = f"use for {key(' '.join(purpose))}" if purpose else "use"
    sure = bool(old) or purpose[:1] in (["the"], ["our"])
    return _said(
        cut,
        who.whole,
        predicate,
        value,
        many=not purpose,
        certain=sure or not purpose,
        old=old,
        whole=True,
    )


def _changed(cut: Clause, who: Subject) -> Claim | None:
    """Reads a change: "moved from X to Y", "replaced X with Y", "changed the port from X to Y"."""
    rest, subject, predicate = cut.rest, who.whole, "use"
    joint, start = ("with", 0) if cut.verb == "replace" else ("to", 1)
    if cut.verb == "moved" and (who.named and subject != WE):
        predicate = "live in"
        if rest[0] == "to" and len(rest) > 1 and rest[1][:1].isupper():
            return _said(cut, subject, predicate, rest[1:])
    if start and "from" in rest[1:]:
        at = rest.index("from", 1)
        subject, predicate, rest = key(" ".join(rest[:at])), "is", rest[at:]
    elif who.definite and subject != WE:
        subject, predicate = (who.owner, who.noun) if who.noun else (subject, "is")
    if cut.denies or joint not in rest[start + 1 : -1] or (start and rest[0] != "from"):
        return None
    at = rest.index(joint, start + 1)
    value, old = rest[at + 1 :], rest[start:at]
    if predicate == "use" and "for" in value[1:-1]:
        purpose = value.index("for", 1)
        predicate = f"use for {key(' '.join(value[purpose + 1 :]))}"
        value = value[:purpose]
    return _said(cut, subject, predicate, value, many=predicate == "use", old=old, whole=True)


def _does(cut: Clause, who: Subject) -> Claim | None:
    """Reads a known verb with its last value: "lives in V", "likes V"."""
    first = cut.rest[0]
    value, kind = of_class(cut.rest[1:] if first in word_lists.PREPOSITIONS else cut.rest)
    preposition = first if first in word_lists.PREPOSITIONS else ""
    predicate = f"{cut.verb} {preposition}".strip()
    if kind:
        return _said(cut, who.whole, scale(predicate, value, kind), value, many=who.many)
    if preposition in word_lists.SINGLE_VERBS.get(cut.verb, ()):
        predicate = "live in" if cut.verb == "reside" else predicate.replace("work at", "work for")
        many = who.many or value[:1] in (["a"], ["an"])
        sure = predicate != "work for" or identifying(value)
        return _said(cut, who.whole, scale(predicate, value, ""), value, many=many, certain=sure)
    if cut.verb in word_lists.MANY_VERBS:
        instead = cut.now and cut.verb == "prefer"
        value, old = replaced(cut.rest)
        return _said(
            cut, who.whole, cut.verb, value, many=not instead, certain=not instead, old=old
        )
    prefix, value = last_value(cut.rest)
    many = who.many or "a" in prefix or "an" in prefix
    predicate = f"{cut.verb} {key(' '.join(prefix))}".strip()
    return _said(cut, who.whole, predicate, value, many=many, certain=False)


def _said(
    cut: Clause,
    subject: str,
    predicate: str,
    value: list[str],
    *,
    many: bool = False,
    certain: bool = True,
    old: list[str] | None = None,
    whole: bool = False,
) -> Claim | None:
    """The claim, with the small words of the clause brought to bear.

    "30 seconds on staging" is what it is on staging, unless the value is meant as a whole.
    """
    if not old:
        value, old = replaced(value)
    if not (whole or many or cut.also):
        value, where = qualified(value, predicate)
        predicate = f"{predicate} {where}".rstrip()
    if not value or len(value) > _MAX_VALUE:
        return None
    text = " ".join(value).strip('`"“”')
    if not text:
        return None
    return Claim(
        subject=subject,
        predicate=predicate,
        value=f"not {text}" if cut.denies else text,
        exclusive=not (many or cut.also),
        certain=certain and len(value) <= _MAX_SURE,
        replaces=_replaced_by(cut, old, single=not (many or cut.also)),
        read=True,
    )


def _replaced_by(cut: Clause, old: list[str], *, single: bool) -> str | None:
    """Returns the old value where it is named; "now" says that there was one."""
    if old:
        return " ".join(old).strip('`"“”') or None
    return ANYTHING if cut.now and single and not cut.denies else None


def _fits(claim: Claim) -> bool:
    return 0 < len(claim.subject) <= MAX_KEY and 0 < len(claim.predicate) <= MAX_KEY


# Reads lines of a key and a value: `deploy day: Friday`, `MAX_RETRIES=3`.


def pair(line: str, voice: Voice) -> Claim | None:
    """Reads the claim of a key and its value; None for a remark, a log line or code."""
    name, value, assigned = _split(line)
    if not name or not value or not _short(name, value, assigned=assigned):
        return None
    parts = name.split()
    who = subject_of(parts, voice)
    if who is None or "," in name:
        return None
    head = who.whole.rpartition(" ")[2] if not who.noun else who.head
    if head in word_lists.NOTES or parts[0].casefold() in word_lists.NOTES:
        return None
    if head in word_lists.MANY or head.isdecimal() or parts[0].casefold() in word_lists.OPENINGS:
        return None
    shown = identifying(value.split()) and not value[:1].isupper()
    built = len(parts) == 1 and (any(sign in name for sign in "_.-") or name.isupper())
    field = head in word_lists.FIELDS and (who.whole == head or name.istitle())
    field = field or name.casefold() in word_lists.RECORDED
    one = head in word_lists.ONE and not field
    if len(parts) == 1 and name[:1].isupper() and not (head in word_lists.ONE or built or shown):
        return None
    sure = one or (built and shown) or (shown and name.islower() and not field)
    sure = sure or (len(parts) > 1 and name.islower())
    sure = sure and not who.vague
    subject, predicate = (who.owner, who.noun) if who.noun else (who.whole, "is")
    if not subject or max(len(subject), len(predicate)) > MAX_KEY:
        return None
    said, where = qualified(value.split(), predicate)
    predicate = f"{predicate} {where}".rstrip()
    text = " ".join(said).strip("`\"'“”")
    if not text or head in word_lists.FLEETING or len(predicate) > MAX_KEY:
        return None
    return Claim(
        subject=subject,
        predicate=predicate,
        value=text,
        certain=sure and not _is_bare(name),
        read=True,
    )


def _is_bare(name: str) -> bool:
    """True for one plain word: whose `port` it is, the line does not say."""
    return name.isalpha() and (name.islower() or name.isupper() or name.istitle())


def _split(line: str) -> tuple[str, str, bool]:
    """Splits a line into key, value, and whether an assignment sign joins them."""
    name, colon, value = line.partition(": ")
    if colon:
        return name.strip(), value.strip(), False
    name, sign, value = line.partition("=")
    name, value = name.strip(), value.strip()
    if sign and " " not in name and not value.startswith(("=", ">")) and name[:1].isalpha():
        return name, value, True
    return "", "", False


def _short(name: str, value: str, *, assigned: bool) -> bool:
    spoken = value.casefold().split()
    if len(spoken) > _MAX_VALUE_WORDS or len(value) > _LONGEST_PAIR_VALUE or ": " in value:
        return False
    if not name[:1].isalpha() or "*" in name:  # an item of a list, not a line of its own
        return False
    if not _CODE.isdisjoint(value) or not _CODE.isdisjoint(name) or "," in value:
        return False
    if assigned:
        return len(name) >= _SHORTEST_NAME and name[-1] not in "!<>+-*/:" and len(spoken) == 1
    if not _SPOKEN.isdisjoint(spoken) or not _SPOKEN.isdisjoint(name.casefold().split()):
        return False
    return len(name.split()) <= _MAX_KEY_WORDS and key(name) not in ARTICLES


# Reads a piece of a configuration: where it stands, and the one setting that it shows.
#
# ::
#
#     # docker-compose.yml, service db
#     port: 5432                           ->  docker compose yml service db | port | 5432
#
# A setting belongs to its file, section and parent keys: `port` of one service is not `port` of
# another. A piece that shows two settings, or that does not say where it stands, is no claim.


def snippet(text: str) -> Claim | None:
    """Reads the one setting of a piece of configuration, or None."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if not 1 < len(lines) <= _MAX_LINES:
        return None
    place = _place(lines[0])
    while place and len(lines) > 2 and (more := _HEADER.match(lines[1].strip())):  # noqa: PLR2004
        place, lines = f"{place} {more['said'] or more['section']}", lines[1:]
    parents = [line.strip().rstrip(":") for line in lines[1:-1]]
    if not place or not all(_PARENT.match(line.strip()) for line in lines[1:-1]):
        return None
    setting = _SETTING.match(lines[-1].strip())
    if setting is None:
        return None
    subject, name = key(" ".join((place, *parents))), key(setting["name"])
    value = setting["value"].strip().strip("\"'")
    if (
        not subject
        or not name
        or not value
        or len(value) > MAX_VALUE
        or max(len(subject), len(name)) > MAX_KEY
    ):
        return None
    return Claim(subject=subject, predicate=name, value=value, read=True)


def _place(line: str) -> str:
    """Returns the file or section that a first line names; empty if it names none."""
    found = _HEADER.match(line.strip())
    if found is not None:
        return found["said"] or found["section"]
    return line.strip() if _PLACE.search(line) and ": " not in line else ""
