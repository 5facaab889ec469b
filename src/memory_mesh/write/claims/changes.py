"""Reads a statement that tells of a change: "was raised to V", "moved from X to V", "left X for V".

Such a statement names the new value and says that another one stood there before. Which words the
earlier statement used is not known, so it is looked for under every predicate that fits.
"""

from memory_mesh.model import Claim
from memory_mesh.text.claim_keys import ANYTHING, key
from memory_mesh.write.claims import word_lists
from memory_mesh.write.claims.sentences import WE, Subject, Voice, identifying, subject_of

_RENAMED = frozenset(("renamed", "rebranded"))
_CHANGED = _RENAMED | word_lists.CHANGED
_ALONE = word_lists.CHANGED_ALONE
_AUXILIARIES = word_lists.CHANGE_AUXILIARIES
_AGENTS = frozenset(("i", "we", "they", "he", "she", "you"))
_ENDS = word_lists.CHANGE_ENDS
_BREAKS = "(\N{EN DASH}\N{EM DASH}"
_MAX_VALUE = 6  # words
_MAX_AGENT = 2  # words of whoever made the change
_PLACES = ("", "at", "on", "in", "for", "to", "until", "by", "with", "from")
_VERBS = (
    "name", "happen on", "happen at", "take place on", "take place at", "start at", "start on",
    "run on", "run at", "run in", "close at", "open at", "expire in", "expire after", "cost",
    "scheduled for", "due on", "pinned to", "capped at", "limited to", "kept for", "hosted on",
    "deployed on", "set to", "planned for", "retained for", "stored in", "kept in", "live in",
)  # fmt: skip


def change(parts: list[str], voice: Voice) -> Claim | None:
    """Reads a change of value, or None."""
    lower = [part.casefold().rstrip(",") for part in parts]
    if not word_lists.UNSTATED.isdisjoint(lower) or not word_lists.NEGATIONS.isdisjoint(lower):
        return None
    return _left(parts, lower, voice) or _changed(parts, lower, voice)


def predicates_of(claim: Claim) -> tuple[str, ...]:
    """Returns the predicates under which an earlier statement of the same may be filed."""
    if claim.replaces != ANYTHING:
        return (claim.predicate,)
    if claim.predicate == "name":
        return ("is", "name")
    if claim.predicate == "is":
        return ("is", *_PLACES[1:], *_VERBS)
    return (claim.predicate, *(f"{claim.predicate} {place}" for place in _PLACES[1:]))


def _left(parts: list[str], lower: list[str], voice: Voice) -> Claim | None:
    """Reads "left X and joined Y", "left X for Y"."""
    if "left" not in lower[1:]:
        return None
    at = lower.index("left", 1)
    turn = next((i for i in range(at + 1, len(lower)) if lower[i] in ("joined", "for")), None)
    if turn is None or turn + 1 == len(lower):
        return None
    gone = parts[at + 1 : turn]
    while gone and gone[-1].casefold() in ("and", "to"):
        gone = gone[:-1]
    value = _value(parts[turn + 1 :])
    who = _subject(_without_auxiliaries(parts[:at]), voice)
    if who is None or not who.named or not gone or not value or not gone[0][:1].isupper():
        return None
    if not value[0][:1].isupper():
        return None
    return Claim(
        subject=who.whole,
        predicate="work for",
        value=" ".join(value),
        replaces=" ".join(gone).rstrip(",") or None,
        read=True,
    )


def _changed(parts: list[str], lower: list[str], voice: Voice) -> Claim | None:
    """Reads "S was raised [from X] to V", "S moved to V" and "we raised S [from X] to V"."""
    for at in range(1, len(parts) - 2):
        if lower[at] not in _CHANGED:
            continue
        before, thing, old, value = _cut(parts, lower, at)
        if not value:
            return None
        passive = lower[at - 1] in _AUXILIARIES
        before = _without_auxiliaries(before)
        if thing:
            who = _subject(thing, voice) if _is_agent(before) else None
        elif passive or lower[at] in _ALONE:
            who = _subject(before, voice)
        else:
            return None
        if who is None or (_is_person(who) and not (passive or _is_measured(value))):
            return None
        return _claim(who, lower[at], value, old)
    return None


def _cut(
    parts: list[str], lower: list[str], at: int
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Cuts at the verb: what stands before it, its object, the old value and the new one."""
    rest, low = parts[at + 1 :], lower[at + 1 :]
    while low and low[0] in _AUXILIARIES:
        rest, low = rest[1:], low[1:]
    if "to" not in low:
        return [], [], [], []
    to = len(low) - 1 - low[::-1].index("to")
    value = _value(rest[to + 1 :])
    middle, old = rest[:to], []
    if "from" in low[:to]:
        source = low.index("from")
        middle, old = rest[:source], rest[source + 1 : to]
    return parts[:at], middle, old, value


def _value(rest: list[str]) -> list[str]:
    """Returns the words of a value: up to a comma, a bracket or a word that goes on to tell."""
    found: list[str] = []
    for word in rest:
        if word[0] in _BREAKS or (found and word.casefold() in _ENDS):
            break
        found.append(word.rstrip(",;:"))
        if word[-1] in ",;:":
            break
    while found and found[-1].casefold() in ("now", "instead", "anymore", "only"):
        found.pop()
    return found if len(found) <= _MAX_VALUE else []


def _without_auxiliaries(before: list[str]) -> list[str]:
    while before and before[-1].casefold().rstrip(",") in _AUXILIARIES:
        before = before[:-1]
    return before


def _subject(parts: list[str], voice: Voice) -> Subject | None:
    if not parts or parts[0].casefold() in word_lists.OPENINGS:
        return None
    return subject_of(parts, voice)


def _is_agent(before: list[str]) -> bool:
    """True for whoever made a change: "we", "I've", "Legal", "Tom Berger"."""
    if not before:
        return False
    first = before[0].casefold().partition("'")[0]
    return first in _AGENTS or (len(before) <= _MAX_AGENT and before[0][:1].isupper())


def _is_person(who: Subject) -> bool:
    """True for who moves or switches without saying what: "we", "I", "Ana"."""
    return who.whole == WE or (who.named and not who.noun and " " not in who.whole)


def _is_measured(value: list[str]) -> bool:
    """True for a time, a day or a number: no person moves there."""
    first = value[0].casefold()
    return first[:1].isdigit() or first.rstrip("s") in word_lists.TIMES


def _claim(who: Subject, verb: str, value: list[str], old: list[str]) -> Claim | None:
    subject, predicate = (who.owner, who.noun) if who.noun else (who.whole, "is")
    if verb in _RENAMED:
        subject, predicate = who.whole, "name"
    elif not identifying(value):
        return None
    if who.many or not subject or who.head in word_lists.PASSING or who.whole in word_lists.PASSING:
        return None
    return Claim(
        subject=subject,
        predicate=predicate,
        value=" ".join(value).strip("`\"'“”"),
        replaces=_named(old) or ANYTHING,
        read=True,
    )


def _named(old: list[str]) -> str:
    """Returns the old value as it is written."""
    return " ".join(old).strip("`\"'“”,") if key(" ".join(old)) else ""
