"""Holds a pattern against a text: `match` and `match_any`."""

from collections.abc import Iterable
from functools import lru_cache

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model.trigger import Form, MatchContext, Strength, TriggerMatch
from memory_mesh.policy.triggers import patterns, regex, words

MAX_TEXT = 250_000  # characters of a task that are read
MAX_WORDS_TEXT = 20_000  # characters of a task whose words are read
LEAST_SHARE = 0.6  # of the key words of natural language that a text must hold
_SPACELESS = "\u0e00"  # from Thai on, few scripts put spaces between words
_OCCURRENCES = 64  # places of a plain pattern that are looked at for the best one
_FOUND_CHARS = 80
_CACHED_TEXTS = 8


@dataclass(frozen=True, slots=True)
class Text:
    """A text made ready to be matched: in lower case, and the stems of its words."""

    lowered: str
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Situation:
    """What an agent is about to do, made ready to be matched."""

    texts: tuple[tuple[Text, Strength], ...]  # each with the strength that a match in it may have
    together: Text


@lru_cache(maxsize=_CACHED_TEXTS)
def prepared(text: str) -> Text:
    """Makes a text ready, once for all patterns."""
    return Text(text[:MAX_TEXT].lower(), words.spoken(text[:MAX_WORDS_TEXT]))


def match(pattern: str, text: str) -> TriggerMatch | None:
    """Returns how a pattern meets a text, by its strongest alternative; None if it does not."""
    return _match(pattern, prepared(text))


def situation(context: MatchContext) -> Situation:
    """Makes a context ready to be held against the triggers of many memories."""
    given = (
        (context.task, Strength.EXACT),
        (context.agent_name, Strength.MODERATE),
        (context.current_plan, Strength.LOOSE),
    )
    texts = tuple((prepared(text), most) for text, most in given if text)
    terms = frozenset(term for text, _ in texts for term in text.terms)
    return Situation(texts, Text("\n".join(text.lowered for text, _ in texts), terms))


def match_any(triggers: Iterable[str], there: Situation) -> TriggerMatch | None:
    """Returns the strongest match of any trigger with the task, the agent's name or the plan.

    The agent's name alone gives no more than a moderate match, the plan alone a loose one.
    """
    likely = [trigger for trigger in triggers if _may_meet(trigger, there.together)]
    for text, most in there.texts if likely else ():
        matches = [_match(trigger, text) for trigger in likely]
        met = max(filter(None, matches), key=lambda each: each.strength, default=None)
        if met is not None:
            return _at_most(met, most)
    return None


def _may_meet(pattern: str, text: Text) -> bool:
    """False if a pattern surely meets no part of a text: so it is with nearly all."""
    lowered, terms = text.lowered, text.terms
    for part in patterns.read(pattern):
        if part.source is not None:
            if part.needed in lowered:
                return True
        elif part.text in lowered or not terms.isdisjoint(part.keys):
            return True
    return False


def _match(pattern: str, text: Text) -> TriggerMatch | None:
    found: TriggerMatch | None = None
    for part in patterns.read(pattern):
        if part.source is not None:
            if part.needed not in text.lowered:  # most are out of it without being compiled
                continue
            met = _by_regex(pattern, part, part.source, text)
        elif part.text in text.lowered:
            met = TriggerMatch(pattern, Form.PLAIN, _literal(part.text, text.lowered), part.text)
        elif not text.terms.isdisjoint(part.keys):
            met = _by_words(pattern, part, text)
        else:
            continue
        if met is not None and (found is None or met.strength > found.strength):
            found = met
    return found


def _at_most(found: TriggerMatch, strength: Strength) -> TriggerMatch:
    if found.strength <= strength:
        return found
    return TriggerMatch(found.pattern, found.form, strength, found.found)


def _by_regex(pattern: str, part: patterns.Part, source: str, text: Text) -> TriggerMatch | None:
    """How an expression meets a text; one that RE2 refuses is plain text."""
    if regex.fault(source) is not None:
        if part.text not in text.lowered:
            return None
        return TriggerMatch(pattern, Form.PLAIN, _literal(part.text, text.lowered), part.text)
    best: TriggerMatch | None = None
    for start, stop in regex.spans(source, text.lowered):
        strength = _strength(text.lowered, start, stop)
        if best is None or strength > best.strength:
            found = text.lowered[start:stop][:_FOUND_CHARS]
            best = TriggerMatch(pattern, part.form, strength, found)
        if best.strength is Strength.EXACT:
            break
    if best is not None and regex.meets_everything(source):
        return _at_most(best, Strength.LOOSE)
    return best


def _literal(wanted: str, text: str) -> Strength:
    """How well a text holds a text that it does hold: the best of the first places."""
    best, start = Strength.LOOSE, text.find(wanted)
    for _ in range(_OCCURRENCES):
        if start < 0 or best is Strength.EXACT:
            break
        best = max(best, _strength(text, start, start + len(wanted)))
        start = text.find(wanted, start + 1)
    return best


def _by_words(pattern: str, part: patterns.Part, text: Text) -> TriggerMatch | None:
    """How many of the key words a text holds; of an alternative it must hold all."""
    held = [key for key in part.keys if key in text.terms]
    share = len(held) / len(part.keys)
    if share < (LEAST_SHARE if part.form is Form.WORDS else 1.0):
        return None
    strength = Strength.EXACT if share == 1.0 else Strength.CLOSE
    return TriggerMatch(pattern, Form.WORDS, strength, " ".join(held)[:_FOUND_CHARS])


def _strength(text: str, start: int, stop: int) -> Strength:
    """Whole words are exact; the beginning of one is moderate; inside of one it is loose."""
    if start > 0 and stop > start and _joined(text[start - 1], text[start]):
        return Strength.LOOSE
    if start < stop < len(text) and _joined(text[stop - 1], text[stop]):
        return Strength.MODERATE
    return Strength.EXACT


def _joined(left: str, right: str) -> bool:
    """True if two neighbouring characters belong to one word."""
    return _of_a_word(left) and _of_a_word(right)


def _of_a_word(char: str) -> bool:
    return char == "_" or (char.isalnum() and char < _SPACELESS)
