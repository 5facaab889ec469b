"""What new traces are compared with: the learnings of their audience, and traces left alone."""

from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.learn.jobs.discovery import ALONE, TRACE
from memory_mesh.learn.jobs.worksite import Site, under
from memory_mesh.learn.rules import trace_learnings
from memory_mesh.learn.rules.trace_groups import Goal, GoalGroup, goal_of, nearest
from memory_mesh.learn.rules.trace_learnings import LearningRecord
from memory_mesh.model import Memory, Scope, SourceKind, Space, Status
from memory_mesh.model.errors import EmbeddingError
from memory_mesh.model.stats import leading
from memory_mesh.model.trace import LEARNING_LABEL, trace_of
from memory_mesh.platform import extras, telemetry
from memory_mesh.rules.trust import standing_of
from memory_mesh.write.prepare import embedder_failed

LEARNING = "learning/"
ALONES = 1_000  # traces left alone, the newest of an audience, that new ones are compared with


@dataclass(frozen=True, slots=True)
class KnownLearning:
    """A learning that consolidation wrote, what it remembers, and whether it may write it anew."""

    memory: Memory
    record: LearningRecord
    open: bool  # False: deleted, archived, pinned or rewritten by somebody


class LearningGroup:
    """One group: its learning if there is one, and the traces that no learning holds yet."""

    def __init__(
        self, group: GoalGroup, known: KnownLearning | None, members: list[str], rank: SourceKind
    ) -> None:
        """Keeps a group as it was read; traces of the same rank are added to it."""
        self.group: GoalGroup = group
        self.known: KnownLearning | None = known
        self.members: list[str] = members
        self.rank: SourceKind = rank


class Book:
    """The groups of each audience, to which traces are added one by one."""

    def __init__(self, site: Site) -> None:
        """Starts empty; an audience is read when its first trace comes."""
        self._site = site
        self._entries: dict[Scope, list[LearningGroup]] = {}

    def open(self, scopes: Iterable[Scope]) -> None:
        """Reads the learnings of audiences and the traces of theirs that were left alone."""
        site, new = self._site, {scope for scope in scopes if scope not in self._entries}
        if not new:
            return
        learnings = [each for each in known_learnings(site) if each.memory.scope in new]
        exemplars = site.memories([id_ for one in learnings for id_ in one.record.exemplars])
        shown = [memory for memory in exemplars if memory.status is not Status.DELETED]
        singles = self._singles(new)
        goals = goals_of(site, [*shown, *singles])
        self._entries |= {scope: [] for scope in new}
        for one in learnings:
            own = tuple(goals[id_] for id_ in one.record.exemplars if id_ in goals)
            if own:
                rank = standing_of(one.memory.source)
                entry = LearningGroup(GoalGroup(own, one.record.count), one, [], rank)
                self._entries[one.memory.scope].append(entry)
        for memory in singles:
            rank = standing_of(memory.source)
            entry = LearningGroup(GoalGroup((goals[memory.id],)), None, [memory.id], rank)
            self._entries[memory.scope].append(entry)

    def add(self, trace: Memory, goal: Goal) -> LearningGroup:
        """Returns the group that a trace belongs to, with the trace in it.

        A learning has traces of one rank: none of a lower channel changes what the user's say.
        """
        rank = standing_of(trace.source)
        entries = [entry for entry in self._entries[trace.scope] if entry.rank is rank]
        where = nearest(goal, [entry.group for entry in entries])
        if where is None:
            made = LearningGroup(GoalGroup((goal,)), None, [goal.id], rank)
            self._entries[trace.scope].append(made)
            return made
        entry = entries[where]
        entry.group = entry.group.joined(goal)
        entry.members.append(goal.id)
        return entry

    def _singles(self, scopes: set[Scope]) -> list[Memory]:
        """The newest traces of audiences that were left alone, oldest first."""
        states = under(TRACE, self._site.states(TRACE))
        alone = [id_ for id_, value in states.items() if value == ALONE]
        found: dict[Scope, list[Memory]] = {scope: [] for scope in scopes}
        for memory in reversed(self._site.memories(alone)):
            if memory.status is Status.ACTIVE and memory.scope in found:
                found[memory.scope].append(memory)
        return [memory for held in found.values() for memory in reversed(held[:ALONES])]


def known_learnings(site: Site) -> list[KnownLearning]:
    """The learnings that consolidation wrote, oldest first; superseded ones are part of others."""
    written = under(LEARNING, site.states(LEARNING))
    found: list[KnownLearning] = []
    for page in site.labelled(LEARNING_LABEL) if written else ():
        for memory in page:
            record = trace_learnings.read(memory)
            state = written.get(memory.id)
            if record is None or state is None or memory.status is Status.SUPERSEDED:
                continue
            untouched = text_mark(memory.text) == state.partition(" ")[0] and not memory.pinned
            found.append(
                KnownLearning(memory, record, memory.status is Status.ACTIVE and untouched)
            )
    return sorted(found, key=lambda one: (one.memory.created, one.memory.id))


def text_mark(text: str) -> str:
    """Returns what tells whether a person rewrote a learning."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:32]


def goals_of(site: Site, memories: Sequence[Memory]) -> dict[str, Goal]:
    """Returns the goals of traces ready to be compared, with their vectors where they have any."""
    model, vectors = _vectors(site, memories)
    return {
        memory.id: goal_of(
            memory.id,
            memory.text,
            trace_of(memory).tools_used,
            vectors.get(memory.id, b""),
            model,
        )
        for memory in memories
    }


def _vectors(site: Site, memories: Sequence[Memory]) -> tuple[str, Mapping[str, bytes]]:
    """The vectors of the goals in the leading space; missing ones are embedded."""
    access = site.access
    spaces = [each for each in access.ledger.stats(access.namespace).spaces if each.vectors]
    space = leading(spaces).space if spaces else None
    found: dict[str, bytes] = {}
    if space is not None:
        with access.ledger.read(access.namespace) as snapshot:
            parts = snapshot.vectors(space, [memory.id for memory in memories])
        found = {id_: held[0].vector for id_, held in parts.items() if held}
    missing = [memory for memory in memories if memory.id not in found]
    if missing and access.embedder is not None:
        own, more = _embedded(site, missing)
        if own is not None and (space is None or own.name == space.name):
            space, found = own, found | more
    if space is None or not space.normalised or not extras.is_installed("numpy"):
        return "", {}
    return space.model, found


def _embedded(site: Site, memories: Sequence[Memory]) -> tuple[Space | None, dict[str, bytes]]:
    embedder = site.access.embedder
    assert embedder is not None  # noqa: S101  # the caller asked
    try:
        embedding = embedder.embed([memory.text for memory in memories])
    except EmbeddingError as error:  # words decide
        embedder_failed(error)
        return None, {}
    telemetry.debug("embed goals", texts=len(memories))
    vectors = (parts[0] for parts in embedding.vectors)
    return embedding.space, {
        memory.id: vector for memory, vector in zip(memories, vectors, strict=True)
    }
