"""Decides which facts of a conversation may be kept: only those that quote what their writer wrote.

::

    turns ── own sentences ──▶ rules (statements.py) ─────────────────────▶ facts
                 │
                 └──▶ prompt ──▶ a model's answer ── parse ──▶ check each ──▶ facts
                                      │                            │
                     no JSON, cut: UnreadableAnswer       dropped, with the reason

A quote must stand in what a participant of an allowed role wrote himself: no code, logs, quotations
or pasted texts, and nothing behind an order that is addressed to a model. A fact may add no number,
name or negation to it. Such a check cannot tell every wrong conclusion; it tells inventions.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import TypeAlias, dataclass
from memory_mesh.context.fence import filled
from memory_mesh.learn.rules.own_words import (
    as_own,
    chat_labels,
    own_sentences,
    quotations,
    without_quotes,
)
from memory_mesh.learn.rules.reflected_beliefs import figures, negations
from memory_mesh.learn.rules.statement_phrases import doubts, questions, reports
from memory_mesh.learn.rules.statements import (
    corrected,
    is_secret,
    statements,
    taken_back,
    takes_back,
)
from memory_mesh.learn.rules.tool_failures import told_fix
from memory_mesh.model import (
    InvalidInput,
    Json,
    Kind,
)
from memory_mesh.model.learning import ExtractedFact, ExtractionRules, Turn
from memory_mesh.privacy.private_names import is_ordinary
from memory_mesh.rules.arguments import NAME_CHARS, TAG_CHARS, moment
from memory_mesh.text import analyzer, recited
from memory_mesh.text.sentences import asks, courtesies
from memory_mesh.text.times.lexicon import MONTHS, NUMBERS, WEEKDAYS
from memory_mesh.write.claims.reader import read
from memory_mesh.write.claims.sentences import Voice
from memory_mesh.write.rules.drafts import importance
from memory_mesh.write.rules.receipts import first_words

ROLES = {"user": "user", "human": "user", "assistant": "assistant", "agent": "assistant",
         "ai": "assistant", "model": "assistant"}  # fmt: skip
KINDS = tuple(kind for kind in Kind if kind not in {Kind.LESSON, Kind.REFLECTION, Kind.DIGEST})
MOST_FACTS = 12  # of one answer
SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["facts"],
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": MOST_FACTS,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["text", "quote", "kind", "importance", "tags", "subject",
                             "valid_from", "valid_until"],  # a strict service wants all of them
                "properties": {
                    "text": {"type": "string"},
                    "quote": {"type": "string"},
                    "kind": {"type": "string", "enum": [kind.value for kind in KINDS]},
                    "importance": {"type": ["number", "null"]},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "subject": {"type": ["string", "null"]},
                    "valid_from": {"type": ["string", "null"]},
                    "valid_until": {"type": ["string", "null"]},
                },
            },
        }
    },
}  # fmt: skip
_FACT_CHARS = 1_000
_TAGS = 20
_IMPORTANCE = 0.5  # of a fact whose importance nobody stated
_SHARED = 1 / 4  # of a fact's terms that the conversation must have
_LEAST_ALIKE = 2  # words of the shorter of two statements of one thing
_DAYS = 15  # from today: `until Friday` may be told as a date
_CALENDAR = MONTHS | WEEKDAYS
_NUMBERS = {word: number for word, number in NUMBERS.items() if number > 1}  # `one` is an article
_SAME = 0.8  # of a fact's terms that make it the quote's statement, so that a negation turns it
_SHOWN = 120  # characters of a dropped text
_LISTS = ("facts", "memories", "candidates")
_SPEAKERS = frozenset(
    ("", "user", "the user", "i", "me", "myself", "we", "us", "speaker", "assistant", "agent")
)
_WEIGHTS = {
    Kind.DECISION: 0.8, Kind.CORRECTION: 0.8, Kind.PREFERENCE: 0.8, Kind.LEARNING: 0.7,
}  # fmt: skip
Dropped: TypeAlias = tuple[str, str]  # a text, and the reason against it


class UnreadableAnswer(Exception):
    """A model's answer that is no list of facts; the text says why."""


@dataclass(frozen=True, slots=True)
class OwnTurn:
    """A turn with the sentences that its writer wrote."""

    number: int
    turn: Turn
    sentences: tuple[str, ...]

    @property
    def chars(self) -> int:
        """Returns how long the sentences are together."""
        return sum(map(len, self.sentences))


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as facts are held against it."""

    spoken: Sequence[OwnTurn]
    terms: frozenset[str]  # of what participants wrote themselves
    letters: str  # of all turns, without blanks and signs
    figures: frozenset[str]  # that participants wrote, and those of the days that they name
    today: datetime
    calendar: Mapping[str, int]  # months and weekdays that a fact may name

    def sentences_after(self, place: OwnTurn, at: int) -> list[str]:
        """Returns what the same role wrote later than a sentence of a turn."""
        later = [
            sentence
            for one in self.spoken
            if one.number > place.number and ROLES[one.turn.role] == ROLES[place.turn.role]
            for sentence in one.sentences
        ]
        return [*place.sentences[at + 1 :], *later]


def own_turns(turns: Sequence[Turn]) -> list[OwnTurn]:
    """Returns the turns of users and assistants in which they say something themselves."""
    found = [
        OwnTurn(number, turn, tuple(_own(turn)))
        for number, turn in enumerate(turns)
        if turn.role in ROLES
    ]
    return [one for one in found if one.sentences]


def conversation(turns: Sequence[Turn], today: datetime) -> Conversation:
    """Returns what is needed to check facts."""
    spoken = own_turns(turns)
    parts = (part for one in spoken for part in (one.turn.speaker or "", *one.sentences))
    said = " ".join(parts)
    return Conversation(
        spoken,
        frozenset(_terms(said)),
        _letters(" ".join(turn.text for turn in turns)),
        frozenset(_numbers(said)) | _days(said, today),
        today,
        _calendar(said),
    )


def detected(held: Conversation, roles: Sequence[str]) -> tuple[list[ExtractedFact], list[Dropped]]:
    """Returns the facts that rules find, without a model, and what they leave out."""
    facts: list[ExtractedFact] = []
    dropped: list[Dropped] = []
    for one in held.spoken:
        if ROLES[one.turn.role] not in roles:
            continue
        found = list(_detected(one))
        for fact in found:
            at = next((at for at, each in enumerate(one.sentences) if fact.text in each), 0)
            why = _unmeant(held, one, at, fact.text)
            if why:
                dropped.append((first_words(fact.text, _SHOWN), why))
            else:
                facts.append(fact)
        if not found:
            dropped.append((first_words(one.turn.text, _SHOWN), "nothing in it is stated for good"))
    facts, corrected_later = _set_right(held, facts)
    return facts, [*dropped, *corrected_later]


def _set_right(
    held: Conversation, facts: Sequence[ExtractedFact]
) -> tuple[list[ExtractedFact], list[Dropped]]:
    """Leaves out what later turns of the user correct or take back, as hooks see it."""
    left = {str(number): fact for number, fact in enumerate(facts)}
    dropped: list[Dropped] = []
    for one in held.spoken:
        if ROLES[one.turn.role] != "user":
            continue
        earlier = {id_: fact.quote for id_, fact in left.items() if fact.turn < one.number}
        said = " ".join(one.sentences)
        found = statements("\n".join(one.sentences), agree=0) if earlier else []
        wrong = [corrected(each, found, earlier, said) for each in found]
        if earlier and takes_back(said):
            wrong.append(taken_back(said, earlier))
        gone = [left.pop(id_) for id_ in dict.fromkeys(wrong) if id_ is not None and id_ in left]
        dropped += [(first_words(fact.text, _SHOWN), "it is set right later") for fact in gone]
    return list(left.values()), dropped


def prompt(template: str, held: Conversation, roles: Sequence[str]) -> str:
    """Returns what a model is asked; no text in it can close its fence."""
    shown = (
        f'<turn number="{one.number}" role="{ROLES[one.turn.role]}">\n'
        + "\n".join(one.sentences).replace("&", "&amp;").replace("<", "&lt;")
        + "\n</turn>"
        for one in held.spoken
    )
    values = {
        "today": f"{held.today:%Y-%m-%d}",
        "kinds": ", ".join(KINDS),
        "roles": " or ".join(roles),
        "conversation": "\n".join(shown),
    }
    return filled(template, values)


def read_answer(
    answer: str, held: Conversation, rules: ExtractionRules
) -> tuple[list[ExtractedFact], list[Dropped]]:
    """Returns the facts of a model's answer that hold, and the others with the reason."""
    facts: list[ExtractedFact] = []
    dropped: list[Dropped] = []
    for item in _items(answer):
        found = _fact(item, held, rules)
        if isinstance(found, ExtractedFact) and len(facts) == MOST_FACTS:
            found = f"an answer has at most {MOST_FACTS} facts"
        if isinstance(found, ExtractedFact):
            facts.append(found)
        else:
            dropped.append(
                (first_words(str(_field(item, "text", "fact", "content")), _SHOWN), found)
            )
    facts, corrected_later = _set_right(held, facts)
    return facts, [*dropped, *corrected_later]


def _own(turn: Turn) -> Iterable[str]:
    """The sentences that the writer wrote, up to the first that orders a model about."""
    if recited.entries(turn.text):
        return
    for sentence in own_sentences(_without_letters(turn.text)):
        if _orders().search(sentence):
            return
        yield sentence


def _without_letters(text: str) -> str:
    """The text without letters and chats of others that were pasted into it."""
    lines = text.splitlines()
    labelled = [number for number, line in enumerate(lines) if _labels().match(line)]
    others = set(labelled) if len(labelled) > 1 else set()
    for number, line in enumerate(lines):
        if _forwards().match(line) or chat_labels().match(line):
            others |= set(range(number, len(lines)))
        if _passed_on().search(line) and number + 1 < len(lines):
            begin = next((at for at in range(number + 1, len(lines)) if lines[at].strip()), number)
            stop = next(
                (at for at in range(begin, len(lines)) if not lines[at].strip()), len(lines)
            )
            others |= set(range(number + 1, stop))
        if number and _greetings().fullmatch(line):
            ends = (at for at in range(number, len(lines)) if _closings().match(lines[at]))
            end = next(ends, None)
            others |= set() if end is None else set(range(number, end + 2))
    return "\n".join("" if number in others else line for number, line in enumerate(lines))


def _detected(one: OwnTurn) -> Iterable[ExtractedFact]:
    text = "\n".join(one.sentences)
    if ROLES[one.turn.role] == "assistant":
        if fix := told_fix(text):
            yield _found(one, fix, Kind.LEARNING, "an error and its fix")
        return
    stated = statements(text, agree=0)
    for each in stated:
        yield _found(one, each.text, each.kind, f"the user states a {each.kind}")
    for sentence in one.sentences:
        if any(each.text in sentence for each in stated) or asks(sentence):
            continue
        if doubts().search(sentence) or _conditions().search(sentence):
            continue
        plain = without_quotes(sentence)
        if _needs().search(plain):
            yield _found(one, sentence, Kind.PREFERENCE, "the user says what they need or avoid")
        elif _causes().search(plain):
            yield _found(one, sentence, Kind.LEARNING, "an error and its cause")
        elif _is_of_oneself(plain):
            yield _found(one, sentence, Kind.FACT, "the user says it of themselves")


def _is_of_oneself(sentence: str) -> bool:
    """True for a claim about oneself of which one holds at a time: `I live in Porto`."""
    claim = read(sentence, Voice("user"))
    return claim is not None and claim.subject == "user" and claim.exclusive and claim.certain


def _found(one: OwnTurn, text: str, kind: Kind, reason: str) -> ExtractedFact:
    return ExtractedFact(
        text=text, kind=kind, importance=_WEIGHTS.get(kind, _IMPORTANCE), reason=reason,
        quote=text, turn=one.number, role=one.turn.role, speaker=one.turn.speaker,
        span=_span(one.turn.text, text),
    )  # fmt: skip


def _items(answer: str) -> list[Mapping[str, object]]:
    start = min((at for sign in "{[" if (at := answer.find(sign)) >= 0), default=0)
    end = max(answer.rfind("}"), answer.rfind("]")) + 1
    try:
        said = json.loads(answer[start:end])
    except (ValueError, RecursionError):
        raise UnreadableAnswer("the answer is no JSON, or it was cut") from None
    if isinstance(said, dict):
        said = next((said[name] for name in _LISTS if name in said), None)
    if not isinstance(said, list):
        raise UnreadableAnswer("the answer has no list of facts")
    items: list[Mapping[str, object]] = [item for item in said if isinstance(item, dict)]
    if said and not any(isinstance(_field(item, "text", "fact", "content"), str) for item in items):
        raise UnreadableAnswer("no fact of the answer has a text")
    return items


def _fact(
    item: Mapping[str, object], held: Conversation, rules: ExtractionRules
) -> ExtractedFact | str:
    """The fact, or why it is dropped."""
    text, quote = _field(item, "text", "fact", "content"), _field(item, "quote", "source_quote")
    if not isinstance(text, str) or not isinstance(quote, str):
        return "its text or its quote is no text"
    text = " ".join(text.split())
    if not text or len(text) > _FACT_CHARS:
        return f"its text is empty or has more than {_FACT_CHARS:,} characters"
    try:
        stated = _field(item, "importance", "importance_score")
        weight = _IMPORTANCE if stated is None else importance(stated)
        tags = _tags(item.get("tags"))
        begins, ends = _validity(item)
    except InvalidInput as error:
        return str(error)
    if weight < rules.min_importance:
        return f"its importance {weight:g} is below {rules.min_importance:g}"
    plain = as_own(quote.replace("&lt;", "<").replace("&amp;", "&")).strip('"\u201c\u201d ')
    place = _place(plain, held, rules.roles)
    if isinstance(place, str):
        return place
    against = _against(text, plain, held)
    if against:
        return against
    subject = _subject(item.get("subject"), held, place.turn.speaker)
    if subject and subject[:1].isupper():
        if not all(_letters(word) in held.letters for word in subject.split()):
            return f"nobody in the conversation names {first_words(subject, _SHOWN)}"
        if not _terms(subject) & _terms(text):
            text = f"{subject}: {text}"
    return ExtractedFact(
        text=text, kind=_kind(_field(item, "kind", "category", "type")), importance=weight,
        reason=f"quoted from the {ROLES[place.turn.role]}", quote=" ".join(quote.split()),
        turn=place.number, role=place.turn.role, speaker=place.turn.speaker,
        span=_span(place.turn.text, quote), subject=subject, tags=tags,
        valid_from=begins, valid_until=ends,
    )  # fmt: skip


def _place(quote: str, held: Conversation, roles: Sequence[str]) -> OwnTurn | str:
    """The turn whose writer wrote and meant the quote, or why there is none."""
    if not _terms(quote):
        return "it quotes nothing"
    why = "its quote does not stand in what anybody wrote"
    for one in held.spoken:
        start = " ".join(one.sentences).lower().find(quote.lower())
        end = start + len(quote)
        if start < 0 or any(
            first <= start and end <= last for first, last in quotations(one.sentences)
        ):
            continue
        if ROLES[one.turn.role] not in roles:
            why = f"its quote is of the {ROLES[one.turn.role]}, not of the {' or '.join(roles)}"
            continue
        why = _turned(held, one, start, end)
        if not why:
            return one
    return why


def _turned(held: Conversation, one: OwnTurn, start: int, end: int) -> str:
    """Why what stands around a quote makes something else of it; or nothing."""
    first = 0
    for number, sentence in enumerate(one.sentences):
        last = first + len(sentence)
        if first < end and start < last:
            begin = max(0, start - first)
            clause = _clauses().split(sentence[:begin])[-1]
            inside, after = sentence[begin : end - first], sentence[end - first :]
            if asks(sentence) and (clause.strip() or asks(inside) or questions().match(inside)):
                return "its quote is a question"
            if reports().search(f"{clause}it") and clause.strip():
                return "somebody else says it"
            if negations(clause) or _conditions().search(clause):
                return "its sentence turns the quote into something else"
            if _unsure().search(f"{clause}{inside}"):
                return "its writer is not sure of it"
            if _takes_back().match(after):
                return "it is taken back in the same breath"
            if why := _unmeant(held, one, number, inside):
                return why
        first = last + 1
    return ""


def _unmeant(held: Conversation, one: OwnTurn, at: int, text: str) -> str:
    """Why a statement does not hold at the end of the conversation, or was never meant."""
    sentence = one.sentences[at]
    later = held.sentences_after(one, at)
    after = later[0] if later else ""
    reasons: tuple[tuple[object, str], ...]
    if ROLES[one.turn.role] == "assistant":
        reasons = (
            (_steps().search(sentence), "it is a step of the task at hand"),
            (_addresses().search(sentence), "the assistant says it of the user"),
        )
    else:
        reasons = (
            (_jokes().search(sentence) or _kidding().match(after), "it is a joke"),
            (_suppositions().search(sentence), "it is a supposition"),
            (_past_plans().search(text), "it is a plan of the past"),
            (is_secret(text), "it holds a secret"),
            (_takes_back().match(after), "it is taken back at once"),
            (_is_taken_back(text, later), "it is taken back or set right later"),
        )
    return next((why for found, why in reasons if found), "")


def _is_taken_back(text: str, later: Sequence[str]) -> bool:
    """True if a later sentence gives up what a statement names, or has another number for it."""
    terms, numbers = _terms(text), figures(text)
    words = {term for term in terms if not term[0].isdigit()}
    for each in later:
        others = _terms(each)
        replaced = _terms(each.casefold().partition("instead of ")[2])
        if terms & replaced or (terms & others and _recants().search(each)):
            return True
        plain = {term for term in others if not term[0].isdigit()}
        alike = len(words & plain) >= _LEAST_ALIKE and (words <= plain or plain <= words)
        if alike and numbers and figures(each) and numbers.isdisjoint(figures(each)):
            return True
    return False


def _against(text: str, quote: str, held: Conversation) -> str:
    """Why a fact says more, or something else, than the conversation and its quote."""
    if _orders().search(text):
        return "it is an order to a model"
    if strange := _numbers(text) - held.figures:
        return f"nobody wrote the number {min(strange)}"
    named = {part for word in _names().findall(text) for part in re.split("['\u2019-]", word)}
    opening = text.split(maxsplit=1)[0].strip("'\"")
    is_word = opening.casefold() in analyzer.STOP_WORDS or is_ordinary(opening)
    if analyzer.terms(opening) == [opening.casefold()] and not is_word:
        named.add(opening)  # `Guests` and `Summer` are words, `Lisa` is a name
    strange = {word for word in named if word[:1].isupper() and _letters(word) not in held.letters}
    if strange := {word for word in strange if word.casefold() not in held.calendar}:
        return f"nobody wrote {first_words(min(strange), _SHOWN)}"
    terms, quoted = _terms(text) - _terms("the user"), _terms(quote)
    if len(terms & held.terms) < _SHARED * len(terms):
        return "most of its words do not stand in the conversation"
    same = len(terms & quoted) >= _SAME * len(terms)
    if same and not (negations(quote) if negations(text) else not _denied(quote, terms)):
        return "it denies what its quote says, or the other way round"
    return ""


def _denied(quote: str, terms: set[str]) -> bool:
    """True if a clause denies something of these terms: `ours, not theirs` denies nothing else."""
    clauses = [(clause, _terms(clause)) for clause in _clauses().split(quote)]
    return any(
        negations(clause) and said and len(said & terms) >= len(said) / 2
        for clause, said in clauses
    )


def _subject(value: object, held: Conversation, speaker: str | None) -> str | None:
    """Whom a fact is about, if not the one who wrote it."""
    named = " ".join(value.split())[:NAME_CHARS] if isinstance(value, str) else ""
    if named.casefold() in _SPEAKERS | {(speaker or "").casefold()}:
        return None
    return named if named[:1].isupper() or _terms(named) <= held.terms else None


def _days(said: str, today: datetime) -> set[str]:
    """The numbers of the years around, and of the next days where one is named in words."""
    found = {str(today.year + years) for years in (-1, 0, 1)}
    if _soon().search(said):
        days = (today + timedelta(days=count) for count in range(_DAYS))
        found |= {str(part) for day in days for part in (day.day, day.month)}
    return found


def _calendar(said: str) -> dict[str, int]:
    """The names of months and weekdays that somebody wrote; all, where a day is told otherwise."""
    if _soon().search(said) or re.search(r"\d[./-]\d", said):
        return _CALENDAR
    told = {name for name in re.findall(r"[a-z]+", said.casefold()) if name in _CALENDAR}
    same = {(_CALENDAR[name], name in MONTHS) for name in told}
    return {name: at for name, at in _CALENDAR.items() if (at, name in MONTHS) in same}


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise InvalidInput("its tags are no list of texts")
    return tuple(dict.fromkeys(tag.strip()[:TAG_CHARS] for tag in value if tag.strip()))[:_TAGS]


def _validity(item: Mapping[str, object]) -> tuple[datetime | None, datetime | None]:
    """Since when and until when a fact holds; of an end before the beginning neither is taken."""
    begins = moment("valid_from", _field(item, "valid_from", "validFrom"))
    ends = moment("valid_until", _field(item, "valid_until", "validUntil"))
    is_turned = begins is not None and ends is not None and ends <= begins
    return (None, None) if is_turned else (begins, ends)


def _kind(word: object) -> Kind:
    return next((kind for kind in KINDS if kind.value == word), Kind.FACT)


def _field(item: Mapping[str, object], *names: str) -> object:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _terms(text: str) -> set[str]:
    return set(analyzer.terms(text)) - courtesies()


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _numbers(text: str) -> set[str]:
    """The numbers of a text in digits, without signs: `2026-10-16` has three."""
    parts = (part for number in figures(text) for part in re.findall(r"\d+", number))
    words = (_NUMBERS[word] for word in re.findall(r"[a-z]+", text.casefold()) if word in _NUMBERS)
    return {part.lstrip("0") or "0" for part in (*parts, *map(str, words))}


def _span(text: str, quote: str) -> tuple[int, int] | None:
    """Where a quote stands in a turn, whatever the blanks between its words."""
    words = r"\s+".join(re.escape(word) for word in quote.split())
    found = re.search(words, text, re.IGNORECASE) if words else None
    return found.span() if found else None


# Orders that are addressed to a model and not to whoever works for the user.
_orders = lazy_pattern(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{0,60}\b(?:instructions?|prompts?|"
    r"guidelines|everything above|the above|system message)\b|\bsystem prompt\b|"
    r"\byou are now\b|^\W*(?:system|assistant|developer|tool)\s*:|"
    r"\b(?:store|save|remember|record|extract|memori[sz]e|add)\b[^.]{0,40}\b(?:as a (?:fact|"
    r"memory)|to (?:your|the) (?:long-?term )?memory|in (?:your|the) memory|verbatim|"
    r"with (?:the )?(?:highest|maximum|max|top) (?:importance|priority))\b|"
    r"\b(?:ai|llm|language model|memory (?:system|agent|extractor)|extractor)s?\b[^.]{0,40}"
    r"\b(?:must|should|shall|have to|needs? to)\b[^.]{0,30}\b(?:store|save|remember|record|"
    r"extract|ignore|output|answer|reply)\b",
    re.IGNORECASE,
)


# Who speaks in a line of a chat.
_labels = lazy_pattern(
    r"\s*(?:\[?\d{1,2}:\d\d\]?\s*)?(?!(?:Note|Also|PS|Lesson|Update|FYI|Rule|Important|Todo|Question|"
    r"Answer|Reminder|Remember|Fix|Cause|Summary|Context)\b)@?[A-Z][\w.-]{1,20}(?: [A-Z][\w.-]*)?"
    r"(?: \([^)]{1,20}\))?:\s+\S"
)


# A line after which somebody else's text stands.
_passed_on = lazy_pattern(
    r"\b(?:here(?:'s| is| are)|got|received|this is|see|found|pasting|copied|wrote|sent)\b[^.!?]*"
    r"\b(?:mails?|e-?mails?|messages?|letters?|notes?|docs?|readme|policy|wiki|reply|replies|answers?|"
    r"reviews?|tickets?|wrote|said|sent|snippets?|articles?|posts?|pages?|chat|thread|memo|minutes)\b"
    r"[^.!?]{0,40}:?\s*$",
    re.IGNORECASE,
)


# What stands above a message that is passed on.
_forwards = lazy_pattern(
    r"\W*(?:Begin forwarded message|-+ ?(?:Forwarded|Original) message|Fwd?:)", re.IGNORECASE
)


# The first and the last line of a letter.
_greetings = lazy_pattern(
    r"\s*(?:hi|hello|hey|dear|hallo|liebe\w*|sehr geehrte\w*|hola|bonjour)\b[^.?!]{0,40},?\s*",
    re.IGNORECASE,
)
_closings = lazy_pattern(
    r"\s*(?:(?:best|kind|warm|many)\s+)?(?:regards|wishes|greetings|cheers|sincerely|yours|thanks|"
    r"best|mfg|viele gr\u00fc\u00dfe|saludos|cordialement)\b[^.?!]{0,30},?\s*$",
    re.IGNORECASE,
)


# A capitalised word that does not open the sentence.
_names = lazy_pattern(r"(?<=[\w,;:\"'()-] )[A-Z][\w'.-]*\w")


# Ends of the clause in front of a quote.
_clauses = lazy_pattern(r"[,;:.!?]\s+|\s[-\u2013\u2014]+\s|\b(?:but|because|since|so|and)\s")


# Words that say that a sentence is not meant.
_jokes = lazy_pattern(
    r"\b(?:[Ll]ol|[Hh]aha\w*|[Ll]mao|[Rr]ofl|jk|(?:just )?kidding|joking|sarcasm|daydream\w*|"
    r"in my dreams|(?:just|so|totally|absolutely|really) (?:LOVE|love) (?:how|it when|that)|"
    r"(?:love|LOVE) (?:how|it when)|totally want|brilliant|(?:yeah|oh) (?:right|great|sure)|"
    r"oh (?:joy|wow|good|nice|lovely|perfect|wonderful)|just what (?:i|we) (?:needed|wanted)|"
    r"how (?:lovely|nice|wonderful|convenient)|worked so well|said no one|lucky (?:me|us)|"
    r"what could go wrong|who needs|because why|thanks for nothing|what a (?:joke|dream|surprise)|"
    r"GREAT|LOVE|BRILLIANT|AWESOME|FANTASTIC|AMAZING|WONDERFUL|PERFECT)\b|10/10|/s\b|;-?\)|:-?[pP]\b|"
    r"[\U0001f602\U0001f923\U0001f643\U0001f644\U0001f634\U0001f61c\U0001f609\U0001f60f\U0001f921\U0001f606\U0001f61d\U0001f92a]"
)


# A plan that somebody had.
_past_plans = lazy_pattern(
    r"\b(?:was|were) (?:going|planning|about|thinking|supposed) (?:to|of|about)\b|"
    r"\b(?:(?:had )?planned to|used to|wanted to|meant to|hoped to)\b",
    re.IGNORECASE,
)


# What takes back the statement right before it.
_takes_back = lazy_pattern(
    r"^\W*(?:(?:ok(?:ay)?|ah|oh|hm+|argh|uh|er+m?|and|but)\W+)*(?:no,? (?:sorry|wait)|wait,? no|"
    r"sorry,? (?:no|i mean|that|wrong|it'?s|its)|oops|correction|i mean[t]?\b|scratch (?:that|it)|"
    r"strike that|forget (?:that|it|what i)|never ?mind|nah|nope|i was wrong|my (?:bad|mistake)|"
    r"wrong[,:]|actually,? no)\b",
    re.IGNORECASE,
)


# What takes back an earlier statement of the same thing.
_recants = lazy_pattern(
    r"(?<!don't )(?<!dont )(?<!not )(?<!never )\bforget\b(?! to\b)|"
    r"\b(?:scratch that|strike that|never ?mind|changed (?:my|our) minds?|(?:i|we) won'?t|"
    r"(?:i|we) will not|scrap(?:ped)?|called off|off the table|decided against|"
    r"no longer|not any ?more|i take (?:that|it) back|looked at the wrong|plans? changed|"
    r"(?:is|'s|thats|are) (?:dead|off|cancell?ed)|dropped the)\b",
    re.IGNORECASE,
)


# Words of somebody who is not sure.
_unsure = lazy_pattern(
    r"\b(?:i (?:think|guess|suppose|assume|believe|wonder|doubt)|maybe|perhaps|probably|possibly|"
    r"apparently|supposedly|allegedly|not sure|unsure|might|thinking (?:about|of)|considering|"
    r"no idea|iirc|afaik|rumou?r\w*)\b",
    re.IGNORECASE,
)


# A sentence that makes a joke of the one before.
_kidding = lazy_pattern(
    r"^\W*(?:(?:just|only|i'?m|im|i am) )*(?:kidding|joking|jk|lol|lmao|haha\w*)\b", re.IGNORECASE
)


# What an assistant says of the user, or only says it will do.
_addresses = lazy_pattern(r"\b(?:you|your|yours|i'?ll|i will|should|could|would)\b", re.IGNORECASE)


# Steps that pass with the task at hand.
_steps = lazy_pattern(
    r"\b(?:added|adding|put|inserted|removed) (?:a |an |some |the |temporary )*(?:print|log line|"
    r"logging|debug\w*|console\.log|breakpoint)\w*\b|\b(?:re-?ran|re-?running|restarted|let me|"
    r"trying|temporar(?:y|ily)|for now)\b",
    re.IGNORECASE,
)


# What a person needs or avoids.
_needs = lazy_pattern(
    r"\bi(?:'?m| am) (?:also |a |an |severely |badly |mildly )*"
    r"(?:vegetarian|vegan|allergic|diabetic|lactose|gluten|coeliac|celiac|pregnant|colou?r-?blind|dyslexic|left-handed|deaf|blind|"
    r"\w+[ -]intolerant)\b|\bi (?:don'?t|do not|never|can'?t|cannot) (?:eat|drink|smoke|drive|"
    r"fly|tolerate|take (?:milk|sugar))\b|\bi(?:'?m| am) afraid of\b",
    re.IGNORECASE,
)


# Errors with their causes, and lessons.
_causes = lazy_pattern(
    r"\b(?:was|is|were|got) caused by\b|\b(?:root )?cause (?:is|was|=)|"
    r"\bthe (?:\w+ )?(?:errors?|bugs?|fail\w*|crash\w*|outages?|timeouts?|leaks?|\d{3}s?) "
    r"(?:is|was|were|came) (?:because|due to|from)\b|"
    r"\blessons? (?:learn(?:ed|t)|for \w+)\b[^:]{0,20}:",
    re.IGNORECASE,
)


# Days that are named without a date.
_soon = lazy_pattern(
    r"\b(?:today|tonight|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day|next week|weekend|"
    r"heute|morgen|demain|ma\u00f1ana)\b",
    re.IGNORECASE,
)


_conditions = lazy_pattern(
    r"\b(?:if|unless|whether|wish|suppose|imagine|wenn|falls|si|(?:wrong|false|untrue) that)\b",
    re.IGNORECASE,
)


# What would be if something else were so.
_suppositions = lazy_pattern(
    r"\bif\b[^.]*(?:\b(?:would|could|might)|(?:\bi|\bwe|\bit|\byou|\bthey)'?d)\b|"
    r"(?:\b(?:would|could|might)|(?:\bi|\bwe)'d)\b[^.]*\bif\b|"
    r"^\W*(?:\w+\W+){0,2}(?:suppose|imagine|what if|let'?s say|pretend)\b|\bhypothetical\w*\b",
    re.IGNORECASE,
)
