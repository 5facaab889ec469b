"""Reads the claim of one short statement. Forms are tried in order; the first match is used.

::

    key: value   use X for Z   moved from X to Y   S is V   S lives in V   statement less last value

A question, a condition, a quotation, a story and more than one sentence are no claims.
"""

from memory_mesh.fastdataclass import replace
from memory_mesh.model import Claim
from memory_mesh.policy.claims import words
from memory_mesh.policy.claims.claim import ANYTHING, MAX_KEY, key
from memory_mesh.policy.claims.pairs import pair
from memory_mesh.policy.claims.sentences import MAX_TEXT, Clause, clause, spoken, statement
from memory_mesh.policy.claims.subjects import WE, Subject, Voice, subject_of
from memory_mesh.policy.claims.values import (
    describing,
    identifying,
    last_value,
    of_class,
    qualified,
    replaced,
    scale,
)

_CHANGE_WORDS = frozenset(("to", "left", "Left"))  # without one, no change is told
_MAX_VALUE = 15  # words; more is a story
_MAX_SURE = 8  # words of a value we are certain of


def read(text: str, voice: Voice) -> Claim | None:
    """Reads the claim of one short statement as it looks, or None."""
    if len(text) > MAX_TEXT:
        return None
    if not text.isascii():
        from memory_mesh.formats.looks import as_seen  # most statements are ASCII

        text = as_seen(text)
    if "\n" in text.strip():
        from memory_mesh.policy.claims.snippets import snippet  # most texts are one line

        return snippet(text)
    line = statement(text)
    if line is None:
        return None
    if not text[0].isspace() and (found := pair(line, voice)) is not None:
        return found
    parts = spoken(line)
    if parts and not _CHANGE_WORDS.isdisjoint(parts):
        from memory_mesh.policy.claims.changes import change  # most sentences tell of none

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
    if not words.STORIES.isdisjoint(rest):
        return True
    return "I" in rest[1:] and rest[rest.index("I", 1) - 1].endswith((",", "and"))


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
    if len(cut.rest) < 3 or cut.rest[0] not in words.MADE:  # noqa: PLR2004  # participle, by, value
        return None
    if cut.rest[1] not in words.PREPOSITIONS:
        return None
    value, kind = of_class(cut.rest[2:])
    predicate = f"{cut.rest[0]} {cut.rest[1]}"
    predicate = scale(predicate, value, kind)
    return _said(cut, who.whole, predicate, value, many=who.many, whole=True)


def _once(cut: Clause, who: Subject) -> Claim | None:
    """Reads an ending: "died in"; past work only if one place is named: "the city of"."""
    if cut.rest[0] not in words.PREPOSITIONS or len(cut.rest) == 1:
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
    if first in ("called", "named") and second not in words.PREPOSITIONS and second:
        many = who.many or who.head in words.MANY
        return _said(cut, subject, noun or "name", cut.rest[1:], many=many)
    if not noun and cut.rest[-2:] == ["years", "old"]:
        return _said(cut, subject, "age", cut.rest, many=who.many)
    if len(cut.rest) == 1 and first in words.STATES:
        many = who.many and not cut.denies
        return _said(cut, who.whole, words.STATES[first], cut.rest, many=many)
    if second in words.PREPOSITIONS and cut.rest[0].islower() and len(cut.rest) > 2:  # noqa: PLR2004  # a word, a preposition, a value
        return _held(cut, who, subject, noun)
    if first in words.PREPOSITIONS and second:
        value, kind = of_class(cut.rest[1:])
        predicate = scale(f"{noun} {first}".strip(), value, kind)
        sure = bool(noun or cut.now or kind or who.head in words.ONE)
        sure = sure and who.head not in words.FLEETING
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
    if not noun or not owner or head in words.FLEETING or "," in " ".join(rest):
        return None
    return Claim(
        subject=owner,
        predicate=noun,
        value=" ".join(cut.subject),
        exclusive=head not in words.MANY and not cut.also,
        read=True,
    )


def _held(cut: Clause, who: Subject, subject: str, noun: str) -> Claim | None:
    """Reads a relation: "is based in V", "is married to V", "is good at V"."""
    value, kind = of_class(cut.rest[2:])
    form = (cut.rest[0], cut.rest[1])
    known = words.HELD.get(form)
    plain = f"{noun} {known or ' '.join(form)}".strip()
    if known and noun and known == "is":
        plain = noun
    if not known and cut.rest[1] == "to" and cut.rest[0] not in words.SHARED:
        return None  # "ready to leave"
    if cut.rest[0] in words.SHARED and not kind:
        certain = cut.rest[0] not in ("famous", "known") or not identifying(value)
        return _said(cut, subject, plain, value, many=certain, certain=certain)
    sure = bool(known or kind or cut.now)
    if known in words.STATED_HOW and not (identifying(value) or cut.now):
        sure = False  # "stored in hashed form"
    return _said(cut, subject, scale(plain, value, kind), value, many=who.many, certain=sure)


def _which(cut: Clause, who: Subject, subject: str, noun: str) -> Claim | None:
    """Reads an identity as a single value and a property as one of many."""
    predicate, one = noun or "is", who.head in words.ONE
    if who.many or who.head in words.MANY:
        return _said(cut, subject, predicate, cut.rest, many=True)
    if who.head in words.FLEETING and not one:
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
    person = who.named and subject != WE
    if cut.verb == "moved" and person:
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
    value, kind = of_class(cut.rest[1:] if first in words.PREPOSITIONS else cut.rest)
    preposition = first if first in words.PREPOSITIONS else ""
    predicate = f"{cut.verb} {preposition}".strip()
    if kind:
        predicate = scale(predicate, value, kind)
        return _said(cut, who.whole, predicate, value, many=who.many)
    if preposition in words.SINGLE_VERBS.get(cut.verb, ()):
        predicate = "live in" if cut.verb == "reside" else predicate.replace("work at", "work for")
        many = who.many or value[:1] in (["a"], ["an"])
        sure = predicate != "work for" or identifying(value)
        return _said(cut, who.whole, scale(predicate, value, ""), value, many=many, certain=sure)
    if cut.verb in words.MANY_VERBS:
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
