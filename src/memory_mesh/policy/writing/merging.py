"""What a repeated text adds to the stored memory: new tags, triggers and metadata keys. Pure.

Only a source that is trusted at least as much as the stored memory adds anything. A stored value is
never replaced by a merge: that takes an update.
"""

from collections.abc import Mapping

from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.model import Draft, Json, Memory, SourceKind
from memory_mesh.policy.users import USER_WORDS
from memory_mesh.policy.writing.limits import MAX_TRIGGERS
from memory_mesh.policy.writing.trust import lowest


@dataclass(frozen=True, slots=True)
class Merged:
    """The stored memory after a merge, what was added to it, and what was not."""

    memory: Memory
    added: tuple[str, ...] = ()  # tags, triggers and metadata keys, in words
    refused: tuple[str, ...] = ()  # the same of a source that is trusted less
    kept: tuple[tuple[str, Json, Json], ...] = ()  # key, stored value, given value
    whose: tuple[str, ...] = ()  # keys that would make it somebody's
    aside: Mapping[str, Json] = {}  # what only the block of the merge holds


def merged(into: Memory, draft: Draft, kind: SourceKind) -> Merged:
    """Adds new tags and keys of a draft to the memory, if `kind` is trusted enough for that."""
    tags = tuple(tag for tag in dict.fromkeys(draft.tags) if tag not in into.tags)
    called = tuple(each for each in draft.triggers if each not in into.triggers)
    room = max(0, MAX_TRIGGERS - len(into.triggers))
    triggers, over = called[:room], called[room:]
    given = {key: value for key, value in draft.extra.items() if key not in into.extra}
    news = {key: value for key, value in given.items() if key not in USER_WORDS}
    whose = {key: value for key, value in given.items() if key in USER_WORDS}  # stays nobody's
    kept = tuple(
        (key, into.extra[key], value)
        for key, value in draft.extra.items()
        if key in into.extra and into.extra[key] != value
    )
    names = (
        *(f"tag {tag}" for tag in tags),
        *(f"trigger {each}" for each in triggers),
        *(f"metadata {key}" for key in news),
    )
    others = {key: value for key, _, value in kept}
    if not trusted_enough(into, kind):
        aside = _aside(draft, into, others | news | whose, tags=tags, triggers=called)
        return Merged(into, (), names, kept, tuple(whose), aside)
    new = into
    if names:
        new = replace(
            into,
            tags=into.tags + tags,
            triggers=into.triggers + triggers,
            extra={**into.extra, **news},
        )
    aside = _aside(draft, into, others | whose, triggers=over)
    return Merged(new, names, (), kept, tuple(whose), aside)


def trusted_enough(into: Memory, kind: SourceKind) -> bool:
    """True if a source of this kind may add to the memory."""
    return lowest((kind, into.source.kind)) is into.source.kind


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
