"""An explanation in sentences without numbers; loaded only by `explain`."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from memory_mesh.cli.found import ago
from memory_mesh.model import Hit, Memory, SourceKind
from memory_mesh.model.why import Gate, Why

_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SOURCES = {
    SourceKind.USER_EXPLICIT: "You said it yourself",
    SourceKind.SYSTEM: "The system recorded it",
    SourceKind.TOOL_OUTPUT: "It is what a tool printed",
    SourceKind.USER_IMPLICIT: "An agent took it from what you said",
    SourceKind.DOCUMENT: "It was read in a document",
    SourceKind.INFERENCE: "An agent concluded it by itself",
}
_TRUSTED = ((0.8, "fully"), (0.51, "mostly"), (0.0, "little"))
_CLOSE = 0.02  # a difference in meaning that is worth a word
_NEAR = 0.55  # the least similarity that is called close
_ALIKE = 0.5  # the share of common words of two texts that say the same
_COVERED = (  # the share of the words of a question that a text has
    (0.99, "all of your words"), (0.5, "most of your words"), (0.01, "some of your words"),
    (0.0, "none of your words"),
)  # fmt: skip


def sentences(why: Why, now: datetime) -> list[str]:
    """The sentences: why it stands where it stands, or what became of it."""
    if why.gate is None and why.rank is not None and why.packed is None and why.answer:
        own = next((hit for hit in why.answer if hit.id == why.id), None)
        if own is not None:
            return list(_found(own, why.answer, why.rank.place))
    if why.rank is not None and why.gate in {Gate.LIMIT, Gate.THRESHOLD}:
        return list(_kept_out(why.gate, why.rank.place, len(why.answer)))
    if why.subject == "memory" and why.question is None and why.memory is not None:
        told = _came_in(why.memory, now), *why.sentences[1:]
        trusted = next(word for least, word in _TRUSTED if why.trust["trust"] >= least)
        trust = f"It is trusted {trusted}."
        return [trust if line.startswith("Its trust is ") else line for line in told]
    return [line for line in why.sentences if not line.startswith(("For it: ", "Against it: ",
            "What it could have "))]  # fmt: skip


def _found(own: Hit, answer: Sequence[Hit], place: int) -> Iterator[str]:
    """Why a hit has its place: what stands above it, then what speaks for it."""
    above = answer[: answer.index(own)]
    if above:
        yield f"It is {_named(place, _PLACES)} because {_others(own, above)}."
    elif len(answer) > 1:
        yield f"It is first of {len(answer)}: {_named(len(answer) - 1, _COUNTS)} answer less well."
    else:
        yield "It is the only answer."
    near = ", and its meaning is close to your question" if _part(own, "cosine") >= _NEAR else ""
    words = next(said for least, said in _COVERED if _part(own, "covered") >= least)
    yield f"It has {words}{near}."
    parts = own.parts
    if parts.get("in_period", 0) > 0:
        yield "It is of the time that you name."
    if parts.get("speaker"):
        yield "It was said by the person that you name."
    if own.memory.usefulness != 1:
        better = own.memory.usefulness > 1
        yield f"Votes say that it was {'helpful' if better else 'not helpful'}, which counts."
    if own.newer in {hit.id for hit in answer}:
        yield f"It seems to be updated by {own.newer}."


def _kept_out(gate: Gate, place: int, shown: int) -> Iterator[str]:
    """Why a memory that could be found is not shown, and what shows it."""
    if gate is Gate.LIMIT:
        yield f"It comes {_named(place, _PLACES)}, and the search shows {_named(shown, _COUNTS)}."
        yield f"To see it: --limit {max(place, shown + 1)}"
    else:
        yield "It has too little to do with the question to be shown."
        yield "To see it: --min-relevance 0"


def _others(own: Hit, above: Sequence[Hit]) -> str:
    """What the hits above have more of."""
    since = own.memory.occurred_at or own.memory.created
    newer = all((hit.memory.occurred_at or hit.memory.created) > since for hit in above)
    alike = all(_same(hit.content, own.content) for hit in above)
    more = [hit for hit in above if _part(hit, "covered") > _part(own, "covered") + _CLOSE]
    closer = [hit for hit in above if _part(hit, "cosine") > _part(own, "cosine") + _CLOSE]
    count = f"{_named(len(above), _COUNTS)} {'newer ' if newer else ''}"
    notes = "note" if len(above) == 1 else "notes"
    verb = "say much the same" if alike else "answer better"
    verb = verb.replace("say", "says").replace("answer", "answers") if len(above) == 1 else verb
    if len(more) == len(above):
        verb += " with more of your words"
    elif len(closer) == len(above):
        verb += (
            " and are closer to what you mean" if len(above) > 1 else ", closer to what you mean"
        )
    return f"{count}{notes} {verb}"


def _came_in(memory: Memory, now: datetime) -> str:
    where = f"the project {memory.scope.project}" if memory.scope.project else "every project"
    source = f", in {memory.source.ref}" if memory.source.ref else ""
    return f"{_SOURCES[memory.source.kind]}{source}, {ago(memory.created, now)}, for {where}."


def _part(hit: Hit, name: str) -> float:
    return hit.parts.get(name, 0.0)


def _same(one: str, other: str) -> bool:
    """Whether two texts have most of their words in common."""
    first, second = ({*text.lower().split()} for text in (one, other))
    return len(first & second) > _ALIKE * len(first | second)


def _named(number: int, names: Sequence[str]) -> str:
    """A number in words, as far as there are any: `second` of places, `two` of counts."""
    first = 1 if names is _PLACES else 0
    words = dict(enumerate(names, start=first))
    return words.get(number, f"number {number}" if first else str(number))
