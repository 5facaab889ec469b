"""Episodes: memories that belong to one stretch of time, such as a conversation or a trip.

An episode is a memory of its own, with the label `episode` and its title as the text. Its memories
are linked to it as `part_of`, so every rule of links and of audiences holds. Nothing about its
memories is stored with it: times and summary are made at each read from what the reader sees.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from memory_mesh.base.typed import replace
from memory_mesh.model import (
    Commit,
    Draft,
    InvalidInput,
    Json,
    Lens,
    Link,
    Memory,
    NotFound,
    Query,
    Scope,
    Standing,
    Wanted,
)
from memory_mesh.model.graph import EPISODE, Episode
from memory_mesh.model.ports import Snapshot
from memory_mesh.model.query import And, Compare, Filter, IsNull, Or, Sign
from memory_mesh.search.recall import find
from memory_mesh.text import analyzer
from memory_mesh.text.sentences import sentences
from memory_mesh.write import transaction as flows_decide
from memory_mesh.write.access import Access
from memory_mesh.write.add import remember
from memory_mesh.write.audit_entries import Change, change_entry, seen
from memory_mesh.write.links import check_may_link
from memory_mesh.write.prepare import Worded

LONGEST = 300  # characters of one sentence in a summary

MOST_MEMORIES = 1_000  # of one episode that are read, and that one call adds
MOST_COUNTED = 10_000  # links of one episode, to count the memories beyond those that are read
PART_OF = "part_of"
_EPISODES = Compare("label", Sign.EQUAL, EPISODE)
_OTHERS = Or((IsNull("label"), Compare("label", Sign.UNEQUAL, EPISODE)))
_TOO_MANY = (
    f"an episode takes at most {MOST_MEMORIES:,} memories at once; narrow the time, or add the "
    "others by add_to_episode"
)
_OF_ITSELF = "an episode cannot be a part of itself"


def create(access: Access, draft: Draft, ids: Sequence[str], lens: Lens) -> Episode:
    """Stores an episode with these memories; NotFound if the reader does not see one of them.

    Its title is for no more readers than its memories are.
    """
    members = _members(ids)
    with access.ledger.read(access.namespace) as snapshot:
        audiences = [memory.scope for memory in snapshot.get(members, lens)]
    draft = replace(draft, scope=_narrowed(draft.scope, audiences))

    def decide(access: Access, worded: Sequence[Worded], standing: Standing) -> Commit:
        for id_ in members:
            check_may_link(access, seen(standing, id_, lens.scope), standing)
        commit = flows_decide.decide(access, worded, standing)
        made = commit.receipts[0].id
        if made in members:  # an agent may say the title of its own episode again
            raise InvalidInput(_OF_ITSELF)
        links = () if made is None else tuple(Link(id_, made, PART_OF) for id_ in members)
        return replace(commit, links=(*commit.links, *links))

    plain = replace(access, read_claims=False)
    (receipt,) = remember(plain, [draft], decide=decide, named=members)
    if receipt.id is None:
        raise InvalidInput(f"the episode was not stored: {'; '.join(receipt.reasons)}")
    return episode(access, receipt.id, replace(lens, scope=_reader_of(draft, lens)))


def change(
    access: Access, episode_id: str, ids: Sequence[str], lens: Lens, *, add: bool
) -> Episode:
    """Adds memories to an episode, or takes them away from it."""
    members = _members(ids)

    def decide(standing: Standing) -> Commit:
        check_may_link(access, _check(seen(standing, episode_id, lens.scope)), standing)
        for id_ in members:
            if id_ == episode_id:
                raise InvalidInput(_OF_ITSELF)
            check_may_link(access, seen(standing, id_, lens.scope, deleted=not add), standing)
        links = tuple(Link(id_, episode_id, PART_OF) for id_ in members)
        said: dict[str, Json] = {"link": PART_OF, "memories": list(members)}
        done = Change("link", "added to the episode") if add else Change("unlink", "taken away")
        entry = change_entry(access, standing, episode_id, done, said)
        if add:
            return Commit(links=links, entries=(entry,))
        return Commit(unlinked=links, entries=(entry,))

    access.ledger.commit(access.namespace, Wanted(ids=(episode_id, *members)), decide)
    return episode(access, episode_id, lens)


def episode(access: Access, episode_id: str, lens: Lens, *, sentences: int = 0) -> Episode:
    """An episode with the memories that the lens sees, and with a summary of so many sentences."""
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.get([episode_id], lens)
        if not found:
            raise NotFound.of(episode_id)
        made = _episode(snapshot, _check(found[0]), lens)
    if not sentences:
        return made
    return replace(made, summary=summary([memory.text for memory in made.memories], sentences))


def episodes(access: Access, lens: Lens, limit: int, query: str | None) -> list[Episode]:
    """The newest episodes, or those whose titles answer a question best."""
    only = replace(lens, where=_EPISODES)
    named: list[Memory] | None = None
    if query is not None:
        named = [hit.memory for hit in find(access, Query(query, only, limit))[1]]
    with access.ledger.read(access.namespace) as snapshot:
        if named is None:
            named = list(snapshot.page(only, limit, None))
        return [_episode(snapshot, memory, lens) for memory in named]


def during(
    access: Access,
    lens: Lens,
    *,
    since: datetime | None,
    until: datetime | None,
    session: str | None,
) -> list[str]:
    """The memories of a stretch of time or of a session, by when they happened or were stored."""
    parts: list[Filter] = [_OTHERS] if since or until or session else []
    if session is not None:
        parts.append(Compare("session_id", Sign.EQUAL, session))
    for sign, moment in ((Sign.AT_LEAST, since), (Sign.BELOW, until)):
        if moment is not None:
            parts.append(_at(sign, moment))
    if not parts:
        return []
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.page(replace(lens, where=And(tuple(parts))), MOST_MEMORIES, None)
    if found.cursor is not None:
        raise InvalidInput(_TOO_MANY)
    return [memory.id for memory in found]


def _members(ids: Sequence[str]) -> list[str]:
    """The ids, each once; InvalidInput if they are too many for one call."""
    members = list(dict.fromkeys(ids))
    if len(members) > MOST_MEMORIES:
        raise InvalidInput(_TOO_MANY)
    return members


def _at(sign: Sign, moment: datetime) -> Filter:
    """The time of a memory: when it happened, else when it was stored."""
    happened = Compare("occurred_at", sign, moment)
    return Or((happened, And((IsNull("occurred_at"), Compare("created_at", sign, moment)))))


def _episode(snapshot: Snapshot, memory: Memory, lens: Lens) -> Episode:
    links = snapshot.links([memory.id], lens, [PART_OF], MOST_COUNTED)
    ids = [link.source for link in links if link.target == memory.id]
    members = sorted(snapshot.get(ids[:MOST_MEMORIES], lens), key=_when)
    times = [member.occurred_at or member.created for member in members]
    return Episode(
        id=memory.id,
        title=memory.text,
        started=min(times, default=None),
        ended=max(times, default=None),
        memories=tuple(members),
        more=max(0, len(ids) - MOST_MEMORIES),
    )


def _when(memory: Memory) -> tuple[datetime, int, datetime, str]:
    return memory.occurred_at or memory.created, memory.order or 0, memory.created, memory.id


def _check(memory: Memory) -> Memory:
    if memory.label != EPISODE:
        raise InvalidInput(
            f"{memory.id} is a memory and no episode; list the episodes with episodes(), or on the "
            "command line with memory-mesh episode"
        )
    return memory


def _narrowed(own: Scope, audiences: Sequence[Scope]) -> Scope:
    """The audience of an episode: its own, less who does not see its memories."""

    def part(stated: str | None, values: Iterable[str | None]) -> str | None:
        named = {value for value in values if value is not None}
        return named.pop() if stated is None and len(named) == 1 else stated

    return Scope(
        part(own.project, (each.project for each in audiences)),
        part(own.agent, (each.agent for each in audiences)),
        part(own.session, (each.session for each in audiences)),
    )


def _reader_of(draft: Draft, lens: Lens) -> Scope:
    """Who sees both the new episode and its memories."""
    own = draft.scope
    return Scope(
        own.project or lens.scope.project,
        own.agent or lens.scope.agent,
        own.session or lens.scope.session,
        names=lens.scope.names if own.project in {None, lens.scope.project} else (),
    )


# What an episode says in a few of its own sentences. Pure: no I/O.


def summary(texts: Sequence[str], most: int) -> str:
    """The sentences whose words most of the texts share, at most `most`, in their order.

    A word that a chosen sentence has counts no more for the others.
    """
    said = [
        (sentence, frozenset(analyzer.terms(sentence))) for text in texts for sentence in _of(text)
    ]
    told = list(dict.fromkeys(said))
    holding = Counter(term for text in texts for term in frozenset(analyzer.terms(text)))
    chosen: list[int] = []
    covered: set[str] = set()
    while len(chosen) < min(most, len(told)):
        worth = {
            place: sum(holding[term] for term in terms - covered) / (4 + len(terms))
            for place, (_, terms) in enumerate(told)
            if place not in chosen
        }
        best = max(worth, key=lambda place: (worth[place], -place))
        if not worth[best]:
            break
        chosen.append(best)
        covered |= told[best][1]
    return " ".join(told[place][0] for place in sorted(chosen))


def _of(text: str) -> list[str]:
    """The sentences of a text, each on one line and cut after a word."""
    found = []
    for sentence in sentences(text):
        line = " ".join(sentence.split())
        if len(line) > LONGEST:
            line = f"{line[:LONGEST].rpartition(' ')[0] or line[:LONGEST]} …"
        if line:
            found.append(line)
    return found
