"""Turns memories that are wanted into a pack whose text keeps to its budget."""

from collections.abc import Callable, Mapping, Sequence

from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.formats import pack_text
from memory_mesh.formats.pack_text import Entry, Layout
from memory_mesh.model import Kind, Memory, SourceKind
from memory_mesh.model.pack import LeftOut, LeftOutBy, Pack, Section
from memory_mesh.model.record import shown_type
from memory_mesh.policy.packing import choosing
from memory_mesh.policy.packing.choosing import Candidate, Room
from memory_mesh.policy.packing.rules import FIRST_SHARE, PackRules
from memory_mesh.policy.packing.worth import telling

ONE_SHARE = 0.4  # of the budget that one memory may take; a longer one is cut
_OF_THE_USER = frozenset((SourceKind.USER_EXPLICIT, SourceKind.USER_IMPLICIT))
LEAST_SHOWN = 40  # tokens that a memory may have, however small the budget


@dataclass(frozen=True, slots=True)
class Wanted:
    """A memory that may go into a pack: why, how relevant, and which part of it."""

    memory: Memory
    section: Section
    score: float | None = None
    worth: float = 0.0
    because: str | None = None
    newer: str | None = None
    span: tuple[int, int] | None = None


def packed(
    rules: PackRules,
    wanted: Sequence[Wanted],
    question: str | None,
    seal: Callable[[str], bytes],
    below: Sequence[LeftOut] = (),
) -> Pack:
    """Chooses and renders; what was taken last is left out until the text keeps to the budget."""
    layout = Layout(rules.format, rules.compact)
    entries = {one.memory.id: _entry(rules, one, question) for one in wanted}
    candidates = [
        _candidate(rules, layout, one, (entries[one.memory.id], place))
        for place, one in enumerate(wanted, start=1)
    ]
    room = Room(
        rules.max_tokens - rules.count(pack_text.frame(layout)),
        int(FIRST_SHARE * rules.max_tokens),
        rules.max_memories,
    )
    chosen = choosing.choose(candidates, room, compete=question is not None)
    taken, left = list(chosen.taken), list(chosen.left)
    places = {one.id: place for place, one in enumerate(candidates)}
    while True:
        shown = choosing.ordered(taken, places)
        texts = _texts(shown, entries, layout)
        text, word = pack_text.rendered(texts, layout, seal)
        spent = rules.count(text) if text else 0
        if spent <= rules.max_tokens:
            break
        left += _dropped(taken, spent - rules.max_tokens)
    return Pack(
        text,
        spent,
        rules.max_tokens,
        tuple(
            replace(one.item(), tokens=share)
            for one, share in zip(shown, _shares(rules, texts, spent), strict=True)
        ),
        (*left, *below),
        rules.format,
        word,
        rules.counted_by,
    )


def _shares(rules: PackRules, texts: Sequence[str], spent: int) -> list[int]:
    """The tokens of each entry; together never more than the text has, however they are counted."""
    counts = [rules.count(text) for text in texts]
    most = sum(counts)
    return counts if most <= spent else [count * spent // most for count in counts]


def _dropped(taken: list[Candidate], excess: int) -> list[LeftOut]:
    """Takes so many tokens away from the end; an older statement goes with its newer one."""
    left: list[LeftOut] = []
    while taken and excess > 0:
        last = taken.pop()
        excess -= max(1, last.tokens)
        by = LeftOutBy.BUDGET if last.newer is None else LeftOutBy.OLDER
        left.append(last.left(by, last.newer))
    kept = {one.id for one in taken}
    for one in [one for one in taken if one.newer is not None and one.newer not in kept]:
        taken.remove(one)
        left.append(one.left(LeftOutBy.OLDER, one.newer))
    return left


def _texts(shown: Sequence[Candidate], entries: Mapping[str, Entry], layout: Layout) -> list[str]:
    places = {one.id: place for place, one in enumerate(shown, start=1)}
    return [
        pack_text.entry_text(place, _numbered(entries[one.id], places.get(one.newer or "")), layout)
        for place, one in enumerate(shown, start=1)
    ]


def _numbered(entry: Entry, newer: int | None) -> Entry:
    if newer is None:
        return entry
    return replace(entry, marks=(*entry.marks, f"older than {newer}"))


def _candidate(
    rules: PackRules, layout: Layout, one: Wanted, placed: tuple[Entry, int]
) -> Candidate:
    """A candidate at its price; few stand further down in the pack than among the wanted."""
    entry, place = placed
    number = None if one.newer is None else place
    shown = pack_text.entry_text(place, _numbered(entry, number), layout)
    return Candidate(
        one.memory,
        one.section,
        rules.count(shown),
        one.score,
        one.worth * telling(entry.text),
        None if rules.price is None else rules.price(one.memory.text),
        one.because,
        one.newer,
        len(pack_text.part_shown(entry, layout)) < len(one.memory.text.strip()),
        choosing.words(entry.text),
        choosing.said(entry.text),
    )


def _entry(rules: PackRules, one: Wanted, question: str | None) -> Entry:
    memory = one.memory
    text = _passage(rules, one, question)
    marks = ["pinned"] if one.section is Section.PINNED else []
    if len(text) < len(memory.text):
        marks.append("a part")
    plain = memory.kind is Kind.FACT and memory.label is None
    kind = None if plain else shown_type(memory)
    if memory.lesson is not None:
        kind = f"lesson of severity {memory.lesson.severity.value}"
    return Entry(
        memory.id,
        text,
        f"{memory.occurred_at or memory.created:%Y-%m-%d}",
        memory.speaker or (memory.role if memory.role != "user" else None),
        kind,
        tuple(marks),
        None if memory.source.kind in _OF_THE_USER else memory.source.kind.value,
        rules.count(memory.text) if rules.compact else 0,
    )


def _passage(rules: PackRules, one: Wanted, question: str | None) -> str:
    """The text, or of a long one the part that answers best."""
    if rules.compact:  # its first line is shown
        return one.memory.text
    text = one.memory.text if one.span is None else one.memory.text[slice(*one.span)]
    most = max(LEAST_SHOWN, int(ONE_SHARE * rules.max_tokens))
    if len(text) <= most:  # few tokens are shorter than a character
        return text
    from memory_mesh.policy.scrub import tokens  # few memories are so long

    counted = rules.count(text)
    if counted > most:  # `cut` counts otherwise, and less of some scripts
        most = max(1, most * tokens.count(text) // counted)
    spans = list(tokens.cut(text, most))
    if len(spans) < 2:  # noqa: PLR2004
        return text
    asked = frozenset(choosing.words(question or ""))
    best = max(spans, key=lambda span: len(asked.intersection(choosing.words(text[slice(*span)]))))
    return text[slice(*best)]
