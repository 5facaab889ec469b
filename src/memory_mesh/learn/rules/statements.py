"""Decides which sentences of a prompt state something worth keeping, and what kind each is.

::

    sentence ──▶ a question, a guess, a joke, hearsay, a secret? ──▶ none
        │
        ├─ asked to remember           ──▶ kept
        ├─ what the person always does ──▶ preference, without a project
        ├─ decided                     ──▶ decision
        ├─ what holds in the project   ──▶ fact
        ├─ corrects, and states a thing ─▶ correction
        ├─ an order for the task at hand ──▶ none
        └─ anything else, in any language: `lasting` has learned how likely it is kept
                   surely ──▶ kept, probably ──▶ waits for review, else ──▶ none

What is decided or holds in the project waits, too, if `lasting` doubts it.
Only clear statements count: what is missed can be said again, what is wrongly kept is believed.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum

from memory_mesh.base.typed import dataclass
from memory_mesh.learn.rules import phrases as rules_phrases, statement_phrases as phrases
from memory_mesh.learn.rules.capture import near_twin
from memory_mesh.learn.rules.instructions import base, is_base, past_base
from memory_mesh.learn.rules.lasting import is_unspaced, lasting, of_person
from memory_mesh.learn.rules.own_words import own_sentences, without_quotes
from memory_mesh.model import Kind
from memory_mesh.privacy import NamespaceRedactor
from memory_mesh.text import analyzer
from memory_mesh.text.sentences import asks, says

KEEP = 0.88  # odds from which a sentence that no rule knows is kept
WAIT = 0.8  # odds from which it waits for review
AGREE = 0.7  # odds below which a sentence that a rule knows waits for review
_SHARE = 0.4  # of the terms of an earlier statement that a correction takes up again
_TERMS = 2  # shared terms that make it sure that both speak of the same
_PRONOUNS = ("it ", "it's ", "its ", "they ", "that's ", "they're ", "es ", "c'est ")
_FRAME, _ALIKE = 3, 0.6  # first words, and share of all terms, of a sentence that is said anew

_KEPT_ORDERS_WORDS = (
    "use prefer keep avoid stick follow write name put run don't dont do call treat see note"
)
_KEPT_ORDERS = frozenset(_KEPT_ORDERS_WORDS.split())
_POINTING_WORDS = (
    "it its it's this that that's thats these those there he she they i you who which here "
    "no something everything nothing someone nobody what one mine yours both"
)
_POINTING = frozenset(_POINTING_WORDS.split())
_MODALS = frozenset(("must", "should", "will", "would", "can", "may", "might", "to", "shall"))
_SECRETS = NamespaceRedactor(bytes(32), "capture")
_HARMLESS = frozenset(("ip", "email", "phone", "name", "url", "person"))
_BREAKS = (",", ":", ";")
_READ = 200  # sentences at each end of a prompt
_MIN_WORDS = 3
_ARTICLES = frozenset(("a", "an", "the"))
_SUBJECT = 2  # words of a subject that opens with a word that may be a verb: `test data`


class _Correcting(IntEnum):
    """Whether a prompt corrects: `no` may answer a question, `I was wrong` may not."""

    NO = 0
    PERHAPS = 1
    SURELY = 2


@dataclass(frozen=True, slots=True)
class NotableSentence:
    """One sentence to keep: its text, its kind, and whose it is."""

    text: str
    kind: Kind
    place: int  # of the sentence in its prompt
    personal: bool = False  # of the person, in every project
    corrects: bool = False  # it sets right what was said before
    surely: bool = False  # and says so plainly
    waits: bool = False  # a person decides whether it lasts


def statements(
    prompt: str, most: int = 100, *, waiting: bool = False, agree: float = AGREE
) -> list[NotableSentence]:
    """Returns what the writer of a prompt states and may want kept, in order.

    Of a very long prompt the first and the last sentences are read: the rest is pasted. With
    `waiting`, also what a person has to decide. What a rule knows waits below the odds `agree`,
    which were learned from prompts to coding agents.
    """
    sentences = own_sentences(prompt)
    if len(sentences) > 2 * _READ:
        sentences = [*sentences[:_READ], *sentences[-_READ:]]
    return [one for one in _read(sentences, agree) if waiting or not one.waits][:most]


def takes_back(prompt: str) -> bool:
    """True if the prompt takes back what was said before."""
    own = own_sentences(prompt)
    return any(phrases.takes_back().search(without_quotes(one)) for one in own)


def is_secret(text: str) -> bool:
    """True if a text names a secret beside its value."""
    if phrases.secrets().search(text):
        return True
    return any(found.kind not in _HARMLESS for found in _SECRETS.find(text))


def _read(sentences: Sequence[str], agree: float) -> list[NotableSentence]:
    correcting, asked = _Correcting.NO, False
    kept: list[NotableSentence] = []
    for place, sentence in enumerate(sentences):
        text, corrects, remember = _opened(sentence)
        if corrects or phrases.flaws().match(text):
            correcting = max(correcting, _Correcting.PERHAPS)
        plain = without_quotes(sentence)
        if phrases.own_errors().search(plain):
            correcting = _Correcting.SURELY
        if remember and not _says_enough(text) and place and not asks(sentences[place - 1]):
            text = _opened(sentences[place - 1])[0]  # `… . Remember that.`
        wanted = remember or (asked and not _is_task_or_question(text))
        asked = (not _says_enough(text) or text.endswith(":")) if remember else wanted
        found = _statement(text, place, agree, correcting=correcting, remember=wanted)
        found = found or _probable(sentence, text, place)
        if found is None:
            continue
        if (
            kept
            and phrases.repairs().match(sentence)
            and (not set(analyzer.terms(kept[-1].text)).isdisjoint(analyzer.terms(found.text)))
        ):
            kept.pop()  # `we use redis. no wait, we use valkey`
        if found.text not in {one.text for one in kept}:
            kept.append(found)
    return kept


def _is_task_or_question(text: str) -> bool:
    return asks(text) or not text or _is_order(without_quotes(text))


def _opened(sentence: str) -> tuple[str, bool, bool]:
    """Returns a sentence without its opening words, whether it corrects, and asks to remember."""
    text, corrects, remember = sentence.strip(), False, False
    while text:
        opener = phrases.openers().match(text)
        correction = phrases.corrections().match(text)
        request = phrases.remembering().match(text)
        flaw = phrases.flaws().match(text)
        if flaw and text[flaw.end() : flaw.end() + 1] in _BREAKS and text[flaw.end() + 1 :]:
            text, corrects = text[flaw.end() + 1 :].strip(), True
            continue
        found = correction or request or opener
        if found is None or not found.end():
            break
        corrects, remember = corrects or bool(correction), remember or bool(request)
        text = text[found.end() :].strip()
    return text, corrects, remember


def _statement(
    text: str, place: int, agree: float, *, correcting: _Correcting, remember: bool
) -> NotableSentence | None:
    plain = without_quotes(text)
    if not _says_enough(plain) or asks(plain) or plain.endswith(":") or is_secret(text):
        return None
    if plain.casefold().startswith(("about ", "regarding ")) and "," not in plain:
        return None
    if phrases.contrasts().search(plain):
        correcting = max(correcting, _Correcting.PERHAPS)
    if not remember and _is_ruled_out(plain, correcting=bool(correcting)):
        return None
    personal = _is_personal(plain)
    kind = _kind(plain, personal=personal, correcting=correcting)
    if kind is None and remember:
        kind = Kind.FACT
    if kind is None:
        return None
    asked_for = remember or personal or bool(correcting)
    return NotableSentence(
        " ".join(_without_task(text).split()),
        kind,
        place,
        personal,
        corrects=bool(correcting),
        surely=correcting is _Correcting.SURELY,
        waits=not asked_for and lasting(plain) < agree,
    )


def _probable(sentence: str, text: str, place: int) -> NotableSentence | None:
    """Returns a sentence that no rule knows if it is likely to state what lasts."""
    plain = without_quotes(text)
    if not _says_enough(plain) or asks(plain) or plain.endswith(":") or is_secret(text):
        return None
    if phrases.doubts().search(plain) or phrases.reports().search(plain):
        return None
    if _is_order(plain) and _is_task(rules_phrases.politeness().sub("", plain)):
        return None
    if plain.split()[0].casefold() in _POINTING - {"i", "you", "no"}:
        return None  # later nobody knows of what it was said
    whole, alone = lasting(without_quotes(sentence)), lasting(plain)  # what is kept stands alone
    personal = of_person(plain)
    kind = Kind.PREFERENCE if personal else Kind.FACT
    kept = NotableSentence(
        " ".join(text.split()), kind, place, personal, waits=min(whole, alone) < KEEP
    )
    return kept if whole >= WAIT else None


def _kind(plain: str, *, personal: bool, correcting: _Correcting) -> Kind | None:
    if personal:
        return Kind.PREFERENCE
    if phrases.decisions().search(plain):
        return Kind.DECISION
    if _holds_in_project(plain) or _is_fact(plain, plainly=bool(correcting)):
        return Kind.CORRECTION if correcting else Kind.FACT
    surely = correcting is _Correcting.SURELY
    return Kind.CORRECTION if correcting and _sets_right(plain, surely=surely) else None


def _is_ruled_out(plain: str, *, correcting: bool) -> bool:
    """True for guesses, jokes, hearsay, and questions without their mark."""
    if phrases.doubts().search(plain):
        return True
    if phrases.reports().search(plain):
        return True
    return bool(phrases.questions().match(plain)) or (
        _is_order(plain) and not _is_lasting_order(plain, correcting=correcting)
    )


def _without_task(text: str) -> str:
    """Returns a statement without the order for the task at hand at its end: `…, fix the last`."""
    for found in rules_phrases.joints().finditer(text):
        rest = text[found.end() :]
        first = rest.casefold().split()[0].strip(".,:;!`") if rest.split() else ""
        if not is_base(first) or first in _KEPT_ORDERS or rules_phrases.things().match(rest):
            continue
        lasts = phrases.standing().search(rest) or rules_phrases.everywhere().search(rest)
        if not lasts and _says_enough(text[: found.start()]):
            return text[: found.start()]
    return text


def _is_order(plain: str) -> bool:
    """True if the sentence opens with a verb in the imperative."""
    bare = rules_phrases.politeness().sub("", plain)
    words = bare.casefold().split()
    first = words[0].strip(".,:;!`")
    if first in {"dont", "don't", "let's", "lets", "let"} or words[:2] == ["do", "not"]:
        return not phrases.decisions().search(plain)
    if rules_phrases.things().match(bare):  # `default locale is …`
        return False
    fact = phrases.facts().match(bare)  # `build runs on …`
    subject = fact["who"].casefold().split() if fact else []
    return (
        is_base(first)
        and (  # `start a run with …` has no subject `start a`
            fact is None or len(subject) > _SUBJECT or not _ARTICLES.isdisjoint(subject[-1:])
        )
    )


def _is_lasting_order(plain: str, *, correcting: bool) -> bool:
    """True for an order that holds for good: `use pnpm in this repo`."""
    if rules_phrases.everywhere().search(plain) or phrases.standing().search(plain):
        first = plain.casefold().split()[0].strip(".,:;!`")
        return correcting or first in _KEPT_ORDERS or first in {"please", "always", "never"}
    if rules_phrases.own_habits().search(plain) or _is_personal(plain):
        return True
    return not _is_task(plain) and _orders_for_good(plain)


def _is_task(plain: str) -> bool:
    """True if the order in front is of the moment, whatever stands behind it."""
    first = plain.casefold().split()[0].strip(".,:;!`")
    return is_base(first) and first not in _KEPT_ORDERS


def _orders_for_good(plain: str) -> bool:
    """True for `never expose …`, `use metric units, always`, and `run X first, otherwise …`."""
    first = plain.casefold().split()[0].strip(".,:;!`")
    if first in _KEPT_ORDERS and "otherwise" in plain.casefold():
        return True
    return any(
        is_base(found["verb"]) or found["verb"].casefold() in {"expose", "assume", "rely", "import"}
        for found in phrases.orders_for_good().finditer(plain)
    )


def _is_personal(plain: str) -> bool:
    """True for a preference of the person, unless it is said to be of this project."""
    if phrases.standing().search(plain) and not rules_phrases.everywhere().search(plain):
        return False
    if rules_phrases.everywhere().search(plain):
        return True
    habit = rules_phrases.own_habits().search(plain)
    if habit:
        return not _tells(habit["verb"] or "")
    return bool(
        rules_phrases.of_answers().search(plain)
        and (_orders_for_good(plain) or rules_phrases.always().search(plain))
    )


def _tells(verb: str) -> bool:
    """True for a verb after `always` that tells of an event: `I never saw`, `we always get`."""
    return bool(
        rules_phrases.told_of_oneself().match(verb) or (past_base(verb) and not is_base(verb))
    )


def _holds_in_project(plain: str) -> bool:
    if rules_phrases.momentary().search(plain):
        return False
    if phrases.standing().search(plain) or _orders_for_good(plain):
        return True
    if rules_phrases.foreign_rules().search(plain):
        return True
    habit = phrases.habits().search(plain)
    if habit:
        return not (habit["verb"] and _tells(habit["verb"]))
    duty = phrases.duties().match(plain)
    if duty is None or not _is_thing(duty["who"]):
        return False
    return not rules_phrases.of_the_task().match(duty["who"]) or bool(
        rules_phrases.reasons().search(plain[duty.end() :])
    )


def _is_fact(plain: str, *, plainly: bool) -> bool:
    """True for what a thing of the project is, has or uses."""
    stated = plain.rpartition(": ")[2].rpartition(" but ")[2]
    found = phrases.facts().match(stated)
    if found is None or not _is_thing(found["who"]):
        return False
    if found["plainly"] and not plainly and not _is_particular(plain):
        return False
    return not rules_phrases.momentary().search(plain)


def _sets_right(plain: str, *, surely: bool) -> bool:
    """True if a sentence of a correction states a thing, and more than that something is wrong."""
    contrasts = bool(phrases.contrasts().search(plain))
    particular = _is_particular(plain)
    if rules_phrases.momentary().search(plain) or not says(
        plain, 2 if contrasts or particular else 3
    ):
        return False
    if _is_order(plain) or plain.casefold().split()[0] in {"i", "i'm", "you", "let"}:
        return False
    stated = bool(phrases.statements().search(plain)) or _has_a_verb(plain)
    return contrasts or (stated and (surely or particular))


def _has_a_verb(plain: str) -> bool:
    """True if one of the words behind the first is a verb in the third person: `strips`."""
    words = [word.strip(".,:;") for word in plain.casefold().split()[1:7]]
    return any(word.endswith("s") and bool(base(word)) and not is_base(word) for word in words)


def _is_particular(plain: str) -> bool:
    """True for a sentence with a name, a number or code in it, or a reason or a consequence."""
    return bool(rules_phrases.particulars().search(plain[1:])) or bool(
        rules_phrases.reasons().search(plain)
    )


def _is_thing(who: str) -> bool:
    words = who.casefold().split()
    return words[0] not in _POINTING and words[-1] not in _POINTING | _MODALS


def _says_enough(text: str) -> bool:
    words = text.split()
    if len(words) > _MIN_WORDS and says(text, 1) and phrases.habits().search(text):
        return True  # `we don't do semicolons`
    return (len(words) >= _MIN_WORDS or is_unspaced(text)) and says(text)


# Finds which earlier statement of a session a later one sets right.


def repeated(text: str, earlier: Mapping[str, str]) -> str | None:
    """Returns the id of the earlier statement that says the same, or None."""
    same = (id_ for id_, known in earlier.items() if known == text or near_twin(text, known, 0.8))
    return next(same, None)


def corrected(
    statement: NotableSentence,
    others: Sequence[NotableSentence],
    earlier: Mapping[str, str],
    said: str,
    *,
    decided: Sequence[str] = (),
) -> str | None:
    """Returns the id of the earlier statement that this one replaces, or None.

    `said` is the whole of the prompt's own sentences: a correction often names its subject in the
    sentence beside. Of several statements of one prompt the first that names it replaces it.
    `decided` are the ids of decisions, the newest first.
    """
    anew = next((id_ for id_, known in earlier.items() if _says_anew(statement.text, known)), None)
    if anew is not None or not statement.corrects:
        return anew
    best = max(earlier, key=lambda id_: _taken_up(said, earlier[id_]), default=None)
    if statement.surely and not any(_taken_up(said, known) for known in earlier.values()):
        return _reversed(statement, earlier, decided)
    plainly = statement.surely or statement.text.casefold().startswith(_PRONOUNS)
    if (
        best is None
        or not (plainly or _is_meant(said, earlier[best]))
        or not _taken_up(said, earlier[best])
    ):
        return None
    named = [one for one in others if one.corrects and _taken_up(one.text, earlier[best])]
    return best if named[:1] in ([], [statement]) else None


def _reversed(
    statement: NotableSentence, earlier: Mapping[str, str], decided: Sequence[str]
) -> str | None:
    """The statement that a plain correction replaces though it names nothing of it.

    That is the last decision for a decision, and the only statement of the session for others.
    """
    if statement.kind is Kind.DECISION:
        return next((id_ for id_ in decided if id_ in earlier), None)
    return next(iter(earlier)) if len(earlier) == 1 else None


def taken_back(said: str, earlier: Mapping[str, str]) -> str | None:
    """Returns the id of the statement that a prompt which takes something back names, or None.

    A prompt that names none may as well mean the task at hand: nothing is taken back then.
    """
    best = max(earlier, key=lambda id_: _taken_up(said, earlier[id_]), default=None)
    return best if best is not None and _taken_up(said, earlier[best]) else None


def _is_meant(said: str, known: str) -> bool:
    terms = set(analyzer.terms(known))
    shared = len(terms & set(analyzer.terms(said)))
    return shared >= min(_TERMS, len(terms)) and _taken_up(said, known) >= _SHARE


def _taken_up(said: str, known: str) -> float:
    terms = set(analyzer.terms(known))
    return len(terms & set(analyzer.terms(said))) / len(terms) if terms else 0.0


def _says_anew(text: str, known: str) -> bool:
    """True for two sentences of one frame: `the server runs on 8080`, `the server runs on 9090`."""
    words, others = text.casefold().split(), known.casefold().split()
    if words[:_FRAME] != others[:_FRAME] or words == others:
        return False
    mine, theirs = set(analyzer.terms(text)), set(analyzer.terms(known))
    joined = mine | theirs
    return bool(joined) and len(mine & theirs) / len(joined) >= _ALIKE
