"""Decides which exchanges of a conversation to store, by their content, not their length.

A user's wish to remember, a correction, a decision, a preference, a promise, an error with its fix
and a stated fact are signals; each has a weight and a word for the reason. What an assistant says
counts only where it tells of an error and its fix, or of what tools and files showed. The phrases
are English; in a script they cannot be read in, a statement is kept for being one.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from memory_mesh.base.typed import TypeVar, dataclass
from memory_mesh.context.fence import harmless
from memory_mesh.learn.rules import phrases
from memory_mesh.learn.rules.reflected_beliefs import figures, negations
from memory_mesh.model import Kind
from memory_mesh.model.conversation import InteractionContext
from memory_mesh.text import analyzer
from memory_mesh.text.sentences import asks, courtesies, says, sentences

Item = TypeVar("Item")

KEEP = 0.5  # importance from which an exchange is kept
DUPLICATE = 0.9  # share of terms, and of pairs of terms in order, that makes a near twin
ANSWER = 500  # characters of the assistant's answer that are kept


@dataclass(frozen=True, slots=True)
class Signal:
    """A reason to store an exchange: its weight and the kind of memory."""

    name: str
    weight: float
    kind: Kind


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decision on an exchange: its weight and all reasons."""

    importance: float
    kind: Kind
    signals: tuple[str, ...]
    refusals: tuple[str, ...]

    @property
    def worth_keeping(self) -> bool:
        """True if there is no reason against storing it."""
        return not self.refusals


def judge(
    prompt: str,
    response: str,
    context: InteractionContext | None = None,
    recalled: Sequence[str] = (),
    keep: float = KEEP,
) -> Judgement:
    """Decides whether to store an exchange; `recalled` are the memories the agent had read."""
    context = context or InteractionContext()
    prompt, response = (text.replace(phrases.CURLY, "'") for text in (prompt, response))
    found = sorted(signals(prompt, response, context), key=lambda one: -one.weight)
    importance = found[0].weight if found else 0.0
    if context.importance is not None:
        importance = context.importance
    refusals = list(_against(prompt, response, found, recalled))
    if not refusals and importance < keep:
        refusals.append(f"nothing in it weighs {keep:g} or more")
    return Judgement(
        importance,
        found[0].kind if found else Kind.FACT,
        tuple(one.name for one in found),
        tuple(refusals),
    )


def signals(prompt: str, response: str, context: InteractionContext) -> list[Signal]:
    """Returns the signals found in an exchange, without duplicates."""
    stated = " ".join(one for one in sentences(prompt) if not _only_asks(one))
    found = [signal for signal, pattern in _told_by() if pattern().search(stated)]
    looked = bool(context.tools_used or context.files)
    trouble = phrases.troubles().search(f"{prompt}\n{response}" if looked else prompt)
    if trouble and phrases.fixes().search(f"{stated}\n{response}"):
        found.append(Signal("an error and its fix", 0.7, Kind.LEARNING))
    if any(_is_fact(one) for one in sentences(stated)):
        found.append(Signal("a stated fact", 0.5, Kind.FACT))
    if looked and any(_is_fact(one) for one in sentences(response)):
        found.append(Signal("a finding by tools", 0.5, Kind.FINDING))
    if not found and _unread(stated) and any(map(says, sentences(stated))):
        found.append(Signal("a statement in another script", 0.5, Kind.FACT))
    return found


def wording(prompt: str, response: str) -> str:
    """Returns the text to store; markers inside it cannot imitate ours."""
    question, answer = (
        "\n".join(harmless(line) for line in text.strip().splitlines())
        for text in (prompt, response[:ANSWER])
    )
    return f"[USER] {question}\n\n[ASSISTANT] {answer}" if answer else f"[USER] {question}"


def near_twin(text: str, known: str, threshold: float = DUPLICATE) -> bool:
    """True if a text adds nothing to a known one: same words, order, numbers and negations."""
    if figures(text) != figures(known) or negations(text) != negations(known):
        return False
    one, other = analyzer.terms(text), analyzer.terms(known)
    if not one or set(one) - set(other):
        return False
    order = _share(set(pairwise(one)), set(pairwise(other))) if len(one) > 1 else 1.0
    return _share(set(one), set(other)) >= threshold and order >= threshold


def _against(
    prompt: str, response: str, found: Sequence[Signal], recalled: Sequence[str]
) -> Iterable[str]:
    told = sentences(prompt)
    if not prompt.strip():
        yield "there is no prompt"
    elif not any(map(says, (*told, *sentences(response)))):
        yield "it is small talk"
    elif not found and all(map(_only_asks, told)):
        yield "it only asks, and the answer is no finding"
    elif not any(map(says, told)) and not found:
        yield "the prompt is too short to say anything"
    if _echoes(prompt, response, recalled):
        yield "it only repeats what was recalled"


def _echoes(prompt: str, response: str, recalled: Sequence[str]) -> bool:
    """True if every statement of the exchange is in one of the recalled memories."""
    stated = [one for one in sentences(prompt) if not _only_asks(one) and says(one)]
    stated += [one for one in sentences(response) if not asks(one) and says(one)]
    return bool(stated and recalled) and all(_repeats(one, recalled) for one in stated)


def _repeats(sentence: str, recalled: Sequence[str]) -> bool:
    terms = set(analyzer.terms(sentence)) - courtesies()
    return any(
        figures(sentence) <= figures(text)
        and bool(negations(sentence)) is bool(negations(text))
        and terms <= set(analyzer.terms(text))
        for text in recalled
    )


def _only_asks(sentence: str) -> bool:
    """True for a question or a request, but not for a request to remember."""
    return not phrases.asked_to_keep().search(sentence) and (
        asks(sentence) or bool(phrases.requests().match(sentence))
    )


def _is_fact(sentence: str) -> bool:
    """True for a statement with a name, a number or code in it."""
    return bool(
        not _only_asks(sentence)
        and says(sentence)
        and phrases.states().search(sentence)
        and phrases.particulars().search(sentence[1:])
    )


def _unread(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return bool(letters) and sum(char > "\u024f" for char in letters) * 2 > len(letters)


def _share(one: set[Item], other: set[Item]) -> float:
    joined = len(one | other)
    return len(one & other) / joined if joined else 1.0


def _told_by() -> tuple[tuple[Signal, Callable[[], re.Pattern[str]]], ...]:
    return (
        (Signal("asked to remember", 1.0, Kind.FACT), phrases.asked_to_keep),
        (Signal("a correction", 0.8, Kind.CORRECTION), phrases.corrections),
        (Signal("a decision", 0.8, Kind.DECISION), phrases.decisions),
        (Signal("a preference", 0.8, Kind.PREFERENCE), phrases.preferences),
        (Signal("a commitment", 0.7, Kind.COMMITMENT), phrases.commitments),
    )
