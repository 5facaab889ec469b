"""What a repeated text adds to the stored memory: new tags, triggers and metadata keys. Pure.

Only a source that is trusted as much as the stored memory adds anything. A stored value is not
replaced by that: it takes an update, or a source that is trusted more (write/transaction.py).
"""

from collections.abc import Iterable, Mapping

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.model import Draft, Heritage, Json, Memory, Source, Standing
from memory_mesh.model.memory import _HERITAGE_KEYS
from memory_mesh.model.times import EXPIRES
from memory_mesh.rules.arguments import MAX_TRIGGERS, USER_WORDS
from memory_mesh.rules.trust import ceiling, outranks
from memory_mesh.write.rules.contradictions import may_alter

_OWN = {"intents": "intent", "hypotheses": "hypothesis", "rationales": "rationale"}


@dataclass(frozen=True, slots=True)
class Merged:
    """The stored memory after a merge, what was added to it, and what was not."""

    memory: Memory
    instead: bool = False  # it has the words and details of a more trusted source now
    added: tuple[str, ...] = ()  # tags, triggers and metadata keys, in words
    refused: tuple[str, ...] = ()  # the same of a source that is trusted less
    kept: tuple[tuple[str, Json, Json], ...] = ()  # key, stored value, given value
    whose: tuple[str, ...] = ()  # keys that would make it somebody's
    aside: Mapping[str, Json] = {}  # what only the block of the merge holds


def reason(into: Memory, found: Merged) -> str:
    """Says in the receipt what became of a memory that was said again."""
    if not found.instead:
        return f"the same memory is stored as {into.id}"
    kind = f"it counts as {found.memory.source.kind} from now on, not as {into.source.kind}"
    if found.memory.text == into.text:
        return f"the same memory is stored as {into.id}; {kind}"
    return f"the same is stored as {into.id}; your source is more trusted: {kind}, in your words"


def merged(into: Memory, draft: Draft, *, adds: bool) -> Merged:
    """Adds new tags and keys of a draft to the memory, if its source may add anything."""
    tags = tuple(tag for tag in dict.fromkeys(draft.tags) if tag not in into.tags)
    called = tuple(each for each in draft.triggers if each not in into.triggers)
    room = max(0, MAX_TRIGGERS - len(into.triggers))
    triggers, over = called[:room], called[room:]
    given = {key: value for key, value in draft.extra.items() if key not in into.extra}
    news = {key: value for key, value in given.items() if key not in (*USER_WORDS, EXPIRES)}
    whose = {key: value for key, value in given.items() if key in USER_WORDS}  # stays nobody's
    kept = tuple(
        (key, into.extra[key], value)
        for key, value in draft.extra.items()
        if key in into.extra and into.extra[key] != value and key != EXPIRES
    )
    names = (
        *(f"tag {tag}" for tag in tags),
        *(f"trigger {each}" for each in triggers),
        *(f"metadata {key}" for key in news),
    )
    others = {key: value for key, _, value in kept}
    if not adds:
        aside = _aside(draft, into, others | news | whose, tags=tags, triggers=called)
        return Merged(into, refused=names, kept=kept, whose=tuple(whose), aside=aside)
    new = into
    end = _later(into.extra.get(EXPIRES), draft.extra.get(EXPIRES))
    if names or end != into.extra.get(EXPIRES):
        ends = {} if end is None else {EXPIRES: end}
        extra = {key: value for key, value in into.extra.items() if key != EXPIRES}
        new = replace(
            into,
            tags=into.tags + tags,
            triggers=into.triggers + triggers,
            extra={**extra, **news, **ends},
        )
    aside = _aside(draft, into, others | whose, triggers=over)
    return Merged(new, added=names, kept=kept, whose=tuple(whose), aside=aside)


def _later(one: Json, other: Json) -> Json:
    """What is said again lives as long as either says; for ever, if one names no end."""
    return max(one, other) if isinstance(one, str) and isinstance(other, str) else None


def may_add(into: Memory, source: Source, standing: Standing) -> bool:
    """True if a source may add to the memory: it is trusted as much, and nobody holds it."""
    return not outranks(into.source, source) and may_alter(
        ceiling(source.channel), into, standing.history
    )


def takes_over(into: Memory, source: Source, standing: Standing) -> bool:
    """True if the memory gets the words of a source: it is trusted more, and nobody holds it."""
    return outranks(source, into.source) and may_alter(
        ceiling(source.channel), into, standing.history
    )


def is_news(into: Memory, draft: Draft, standing: Standing) -> bool:
    """True if a repeat writes the text of the memory anew: in its own words, or with new tags."""
    return takes_over(into, draft.source, standing) or (
        may_add(into, draft.source, standing) and not {*draft.tags} <= {*into.tags}
    )


def _aside(
    draft: Draft,
    into: Memory,
    metadata: Mapping[str, Json],
    *,
    tags: tuple[str, ...] = (),
    triggers: tuple[str, ...] = (),
) -> dict[str, Json]:
    """What the block keeps because the memory does not take it."""
    found: dict[str, Json] = {
        "tags": list(tags),
        "triggers": list(triggers),
        "metadata": dict(metadata),
    }
    if draft.text != into.text:
        found["content"] = draft.text
    return {name: value for name, value in found.items() if value}


# Builds the heritage chain of a memory from those of its sources.


def cut_to(heritage: Heritage, depth: int) -> Heritage:
    """Keeps the newest `depth` links of each list and counts the links removed."""
    lists = {name: getattr(heritage, name) for name in _HERITAGE_KEYS}
    gone = max(0, *(len(links) - depth for links in lists.values()))
    kept = {name: links[max(0, len(links) - depth) :] for name, links in lists.items()}
    return Heritage(**kept, cut=heritage.cut + gone)


def grown(
    parents: Iterable[Heritage | None], own: Mapping[str, Json], depth: int
) -> Heritage | None:
    """Returns the parents' links followed by the memory's own, cut to the newest."""
    chains = [parent for parent in parents if parent is not None]
    links = {
        name: tuple(dict.fromkeys(link for chain in chains for link in getattr(chain, name)))
        + _stated(own, key)
        for name, key in _OWN.items()
    }
    if not any(links.values()):
        return None
    return cut_to(Heritage(**links, cut=max((chain.cut for chain in chains), default=0)), depth)


def _stated(own: Mapping[str, Json], key: str) -> tuple[str, ...]:
    value = own.get(key)
    return (value,) if isinstance(value, str) and value else ()
