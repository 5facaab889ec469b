"""Says why a memory is in a pack, or what kept it out of it."""

from memory_mesh.model.pack import LeftOut, LeftOutBy, Pack, PackItem, Section

_IN: dict[Section, str] = {
    Section.PINNED: "it is pinned",
    Section.LESSON: "it is a lesson",
    Section.FOUND: "the search found it",
    Section.LINKED: "it is linked to a memory that the search found",
    Section.NEWER: "it seems to update a memory that the search found",
    Section.OLDER: "the search found it, below the newer statement that seems to update it",
    Section.RECENT: "it is among the newest",
    Section.USED: "it is among the most used",
}
_OUT: dict[LeftOutBy, str] = {
    LeftOutBy.BUDGET: "there was no room left for it",
    LeftOutBy.REDUNDANT: "another memory of the pack says the same",
    LeftOutBy.SHARE: "pinned memories and lessons had used up their share of the budget",
    LeftOutBy.OLDER: "a newer statement is in the pack, and there was no room for both",
    LeftOutBy.RELEVANCE: "it is not relevant enough",
    LeftOutBy.COUNT: "the pack has as many memories as were asked for",
    LeftOutBy.GIVEN: "the reader has it already",
}
_OPENS: dict[LeftOutBy, str] = {
    LeftOutBy.BUDGET: "A higher max_tokens makes room.",
    LeftOutBy.SHARE: "A higher max_tokens makes room.",
    LeftOutBy.OLDER: "A higher max_tokens makes room.",
    LeftOutBy.COUNT: "A higher max_memories makes room.",
    LeftOutBy.RELEVANCE: "A lower min_relevance lets it in.",
}


def told(entry: PackItem | LeftOut, pack: Pack, floor: float) -> tuple[str, ...]:
    """The sentences for a memory that is in a pack or was left out of it."""
    return _taken(entry, pack) if isinstance(entry, PackItem) else _left_out(entry, pack, floor)


def not_considered(memory_id: str, pack: Pack) -> tuple[str, ...]:
    """The sentences for a hit that the pack did not even consider."""
    return (
        f"{memory_id} can be found, but the pack of {pack.max_tokens} tokens did not come to it.",
        "A higher max_tokens looks further.",
    )


def _taken(item: PackItem, pack: Pack) -> tuple[str, ...]:
    """The sentences for a memory that is in the pack."""
    place = 1 + [each.id for each in pack.items].index(item.id)
    score = "" if item.score is None else f", with a score of {item.score:.2f}"
    sentences = [
        f"{item.id} is memory {place} of {len(pack.items)} in the pack: {_IN[item.section]}{score}."
    ]
    if item.because is not None:
        sentences.append(f"{item.because} brought it along.")
    part = " for a part of its text" if item.cut else ""
    sentences.append(f"It takes {item.tokens} of {pack.max_tokens} tokens{part}.")
    return tuple(sentences)


def _left_out(left: LeftOut, pack: Pack, floor: float) -> tuple[str, ...]:
    """The sentences for a memory that was considered and left out."""
    by = f" ({left.because})" if left.because is not None else ""
    sentences = [f"{left.id} was considered and left out of the pack: {_OUT[left.by]}{by}."]
    if left.by is LeftOutBy.RELEVANCE and left.score is not None:
        sentences.append(f"Its score is {left.score:.2g}; the floor of the pack is {floor:g}.")
    elif left.tokens:
        used = f"the pack has {pack.tokens} of {pack.max_tokens}"
        sentences.append(f"It would take {left.tokens} tokens; {used}.")
    if left.by in _OPENS:
        sentences.append(_OPENS[left.by])
    return tuple(sentences)
