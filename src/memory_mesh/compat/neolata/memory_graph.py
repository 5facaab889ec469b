"""`MemoryGraph`: neolata's verbs over a `MemoryMesh`, blocking and thread-safe.

`store(agent)` writes for that agent alone and as that agent; a search without an agent leaves the
agent out of the test and nothing else. A verb that is given an id reaches every agent's and every
session's memories of this project. async_graph.py has the async class.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from os import PathLike
from types import TracebackType

from memory_mesh.base.typed import Self, Unpack, replace
from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.graph_view import EVENT_OF, GraphMesh, GraphView, Happened
from memory_mesh.compat.neolata.hooks import Handler, Hooks, Writethrough
from memory_mesh.compat.neolata.keeper import Keeper
from memory_mesh.compat.neolata.model import (
    GraphConsolidation,
    GraphDecay,
    GraphDigest,
    GraphEpisode,
    GraphMemory,
    HookState,
)
from memory_mesh.compat.neolata.storage import GraphStorage
from memory_mesh.compat.neolata.translate import compute_trust, estimate_tokens
from memory_mesh.compat.neolata.verbs.storing import GraphExplaining, GraphPrompting, GraphSearching
from memory_mesh.learn.rules.retention import (
    COMPRESS,
    CONTRADICTIONS,
    CORROBORATION,
    DEDUPE,
    PRUNE,
    STEPS,
    Lifecycle,
)
from memory_mesh.mesh.operation import by_other_names, constructor, takes_options
from memory_mesh.mesh.options import AsOwner, Limit, MeshOptions, Reason
from memory_mesh.model import Conflict, InvalidInput, PredicateSchema, Resolution, Scope, Status
from memory_mesh.model.graph import Episode
from memory_mesh.model.job import JobStep
from memory_mesh.model.ports import LLM
from memory_mesh.rules.arguments import check_limit

_EVENTS = {
    DEDUPE: "supersede",
    CORROBORATION: "consolidate",
    COMPRESS: "compress",
    PRUNE: "decay",
}

# Vote on memories, review what waits and resolve contradictions.


class GraphReviewing(GraphView):
    """Methods for trust, quarantine and conflicts."""

    def reinforce(self, memory_id: str, boost: float = 0.1) -> GraphMemory:
        """Vote for a memory's truth; it gains trust and importance."""
        reader = self._reader(memory_id)
        memory = self._mesh.review.reinforce(memory_id, boost, scope=reader)
        self._settle(memory.scope.agent, [])
        return self._one(memory)

    def dispute(self, memory_id: str, *, reason: Reason = "disputed by the caller") -> GraphMemory:
        """Vote against a memory's truth; three unsupported votes send it to review."""
        reader, before = self._reader(memory_id), self._statuses(memory_id)
        memory = self._mesh.review.dispute(memory_id, reason=reason, scope=reader)
        self._changed(memory, before, reason)
        return self._one(memory)

    def list_quarantined(
        self, *, agent: str | None = None, limit: Limit = 50, as_owner: AsOwner = False
    ) -> list[GraphMemory]:
        """What waits for review, newest first: of one agent, or of all.

        Options:
            agent: only what this agent stored.
        """
        lens = self._view(agent, None, {Status.QUARANTINED}, as_owner=as_owner)
        across = lens.across | (self._whole().across & {"session"})
        lens = replace(lens, across=across, any_validity=True)
        return self._shown(self._mesh.review._waiting(lens, limit))

    def review_quarantine(
        self, memory_id: str, *, action: str, reason: Reason = "reviewed by the caller"
    ) -> GraphMemory:
        """`activate` what waits, in place of what it contradicts, or `reject` it for good.

        Options:
            action: activate or reject.
        """
        if action not in translate.ACTIONS:
            raise InvalidInput(f"action must be one of: {', '.join(translate.ACTIONS)}")
        reader, before = self._reader(memory_id), self._statuses(memory_id)
        approve = translate.ACTIONS[action]
        memory = self._mesh.review._decide_on(memory_id, reader, approve=approve, reason=reason)
        self._changed(memory, before, reason)
        return self._one(memory)

    def conflicts(self, *, limit: Limit = 100, as_owner: AsOwner = False) -> list[Conflict]:
        """The contradictions on record, newest first."""
        self._load(None)
        return self._mesh.review._conflicts(self._whole(as_owner=as_owner), limit, pending=False)

    def pending_conflicts(self, *, limit: Limit = 100, as_owner: AsOwner = False) -> list[Conflict]:
        """Contradictions that wait for a decision, newest first."""
        self._load(None)
        return self._mesh.review._conflicts(self._whole(as_owner=as_owner), limit, pending=True)

    def resolve_conflict(
        self,
        conflict_id: str,
        resolution: Resolution | str,
        *,
        reason: Reason = "resolved by the caller",
    ) -> Conflict:
        """End a conflict: `supersede` (the new one wins), `reject` it, or `keep_both`."""
        self._load(None)
        now = self._mesh.review._conflict(conflict_id, self._whole())
        newcomer = self._held(now.new)
        if not now.pending and not now.by_rule:
            raise InvalidInput(f"{conflict_id} is already resolved: {now.resolution}")
        before = self._statuses(newcomer.id)
        done = self._mesh.review._resolve(conflict_id, newcomer.scope, resolution, reason)
        self._changed(newcomer, before, reason)
        return done


# Keep memories in order: archive what has faded, merge what says the same, make digests.


class GraphMaintaining(GraphView):
    """Methods that the host calls on a schedule; the upkeep of a store runs the same steps."""

    def decay(self, *, dry_run: bool = False) -> GraphDecay:
        """Archive the memories whose strength has fallen below 0.15; nothing is deleted.

        What is pinned, a lesson or the user's own word stays, and what a person let in or restored.

        Options:
            dry_run: change nothing, and return the same report.
        """
        steps = self._kept_up(Lifecycle(steps=(PRUNE,), asked=True), None, dry_run=dry_run)
        ids = tuple(step.ids[0] for step in steps)
        with self._mesh._read() as snapshot:
            links = snapshot.links(ids) if ids else []
        return GraphDecay(ids, {step.ids[0]: step.about for step in steps}, (), len(links))

    def auto_compress(
        self,
        *,
        max_digests: Limit = 5,
        min_cluster_size: int = 3,
        archive_originals: bool = False,
        agent: str | None = None,
        method: str = "extractive",
    ) -> list[GraphMemory]:
        """Make a digest of each large cluster that has none, linked to its memories, which stay.

        Options:
            max_digests: the largest number of digests.
            min_cluster_size: the smallest number of memories of a cluster.
            archive_originals: archive the memories that nothing protects.
            agent: only what this agent stored.
            method: extractive takes their own sentences; llm asks the configured model.
        """
        life = self._lifecycle(max_digests, min_cluster_size, archive_originals, method)
        life = replace(life, steps=(COMPRESS,), untouched=timedelta())
        made = [id_ for step in self._kept_up(life, agent, dry_run=False) for id_ in step.ids]
        return self._shown(self._found(made, as_owner=True))

    def consolidate(
        self,
        *,
        max_digests: Limit = 5,
        min_cluster_size: int = 3,
        archive_originals: bool = False,
        agent: str | None = None,
        method: str = "extractive",
        dry_run: bool = False,
    ) -> GraphConsolidation:
        """Merge duplicates, decide contradictions, corroborate, compress and prune, in this order.

        Clusters are compressed that nobody touched for 30 days. Twice is the same as once, and what
        was interrupted goes on. `resolve_conflict` and the mesh's `restore` undo it.

        Options:
            max_digests: the largest number of digests.
            min_cluster_size: the smallest number of memories of a cluster.
            archive_originals: archive the memories of a digest that nothing protects.
            agent: only what this agent stored.
            method: extractive takes their own sentences; llm asks the configured model.
            dry_run: change nothing, and return the same report.
        """
        life = self._lifecycle(max_digests, min_cluster_size, archive_originals, method)
        steps = self._kept_up(life, agent, dry_run=dry_run)
        parts = {name: tuple(step for step in steps if step.action == name) for name in STEPS}
        return GraphConsolidation(
            parts[DEDUPE],
            parts[CONTRADICTIONS],
            parts[CORROBORATION],
            tuple(
                GraphDigest(step.about, step.evidence) for step in steps if step.action == COMPRESS
            ),
            parts[PRUNE],
        )

    def _lifecycle(
        self,
        max_digests: int,
        min_cluster_size: int,
        archive_originals: bool,  # noqa: FBT001  # as the callers were given it
        method: str,
    ) -> Lifecycle:
        """All steps, asked for, with digests as a caller wants them."""
        return Lifecycle(
            asked=True,
            max_digests=check_limit(max_digests),
            min_cluster=check_limit(min_cluster_size, "min_cluster_size"),
            archive_originals=archive_originals,
            llm=self._model_of(method),
        )

    def _model_of(self, method: str) -> LLM | None:
        if method not in {"extractive", "llm"}:
            raise InvalidInput("method must be extractive or llm")
        found = self._mesh._opened().llm() if method == "llm" else None
        if method == "llm" and found is None:
            raise InvalidInput("method llm needs a language model: set one, or use extractive")
        return found

    def _kept_up(
        self, lifecycle: Lifecycle, agent: str | None, *, dry_run: bool
    ) -> tuple[JobStep, ...]:
        lens = self._view(agent, None, translate.VISIBLE)
        lens = replace(lens, across=lens.across | (self._whole().across & {"session"}))
        steps = self._mesh._kept_up(lifecycle, lens, dry_run=dry_run).steps
        happened = [] if dry_run else [each for step in steps for each in _of_step(step)]
        found = self._found([each.id for each in happened], as_owner=True)
        for name in dict.fromkeys(memory.scope.agent for memory in found):
            now = {memory.id: memory.status for memory in found if memory.scope.agent == name}
            told = [each for each in happened if each.id in now]
            self._settle(name, [replace(one, event=_event(one, now[one.id])) for one in told])
        return steps


def _of_step(step: JobStep) -> list[Happened]:
    """What a step did to which memory; a contradiction is told by what became of it."""
    happened = [Happened(_EVENTS.get(step.action, ""), id_, step.about) for id_ in step.ids]
    if step.action == DEDUPE:
        happened += [Happened("consolidate", step.evidence[0], f"{step.ids[0]} says the same")]
    if step.action == COMPRESS:
        happened += [Happened("", id_, f"{step.ids[0]} says it too") for id_ in step.evidence]
    return happened


def _event(one: Happened, status: Status) -> str:
    """The event by its step, else by the status that the memory has now; "" for none."""
    return one.event or EVENT_OF.get(status, "")


# Group memories into episodes: a conversation, a trip, an incident.


class GraphEpisodes(GraphView):
    """Methods that group memories into episodes."""

    def create_episode(
        self,
        agent: str,
        title: str,
        *,
        ids: Iterable[str] = (),
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        session_id: str | None = None,
    ) -> GraphEpisode:
        """Make an episode of an agent's memories: those named, of a time, or of a session.

        Options:
            ids: the memories that belong to it.
            since: memories of this time or later.
            until: memories from before this time.
            session_id: memories of this session.
        """
        name = translate.agent_name(agent)
        self._load(name)
        made = self._mesh.graph.create_episode(
            title,
            ids=ids,
            since=since,
            until=until,
            session=session_id,
            scope=Scope(self._mesh.config.project, name, self._mesh.config.session),
        )
        self._settle(name, [Happened("store", made.id, "an episode was made")])
        return self._episode(made)

    def add_to_episode(self, episode_id: str, ids: Iterable[str]) -> GraphEpisode:
        """Add memories to an episode."""
        reader = self._reader(episode_id)
        made = self._mesh.graph.add_to_episode(episode_id, ids, scope=reader)
        self._settle(reader.agent, [])
        return self._episode(made)

    def remove_from_episode(self, episode_id: str, ids: Iterable[str]) -> GraphEpisode:
        """Take memories out of an episode; the memories themselves stay."""
        reader = self._reader(episode_id)
        made = self._mesh.graph.remove_from_episode(episode_id, ids, scope=reader)
        self._settle(reader.agent, [])
        return self._episode(made)

    def episode(self, episode_id: str, *, as_owner: AsOwner = False) -> GraphEpisode:
        """An episode with its memories, oldest first."""
        reader = self._reader(episode_id, as_owner=as_owner)
        return self._episode(self._mesh.graph.episode(episode_id, scope=reader))

    def episodes(
        self, agent: str, *, query: str | None = None, limit: Limit = 20
    ) -> list[GraphEpisode]:
        """The episodes of an agent, newest first; with a query those whose titles fit best.

        Options:
            query: words of the title, or a question about it.
        """
        name = translate.agent_name(agent)
        self._load(name)
        found = self._mesh.graph.episodes(query=query, limit=limit, scope=Scope(agent=name))
        return [self._episode(each) for each in found]

    def summarize_episode(self, episode_id: str, *, as_owner: AsOwner = False) -> GraphEpisode:
        """An episode with a summary: the sentences of its memories that say most."""
        reader = self._reader(episode_id, as_owner=as_owner)
        return self._episode(self._mesh.graph.summarise_episode(episode_id, scope=reader))

    def _episode(self, made: Episode) -> GraphEpisode:
        return GraphEpisode(
            made.id,
            self._reader(made.id, as_owner=True).agent,
            made.title,
            made.started,
            made.ended,
            tuple(self._shown(made.memories)),
            made.summary,
        )


# What the host may want to know of writes: events, and whether a storage has them.


class GraphHosting(GraphView):
    """Methods for events and storage."""

    def on(self, event: str, handler: Handler) -> None:
        """Call a function with each event of one sort, such as store, supersede or decay.

        It is called after the write, in a thread of its own and in the order of the events. A
        write never waits for it, and its errors reach nobody: `hook_states` counts them.
        """
        self._hooks.on(event, handler)

    def off(self, event: str, handler: Handler) -> bool:
        """Call a function no more; False if it was not called for this event."""
        return self._hooks.off(event, handler)

    def hook_states(self) -> list[HookState]:
        """Say how many events each hook was told, how many failed, and how many wait."""
        return self._hooks.states()

    def wait_for_hooks(self, seconds: float = 10.0) -> bool:
        """Wait until every hook has heard everything; False if that takes longer."""
        return self._hooks.drain(seconds)

    def save(self) -> None:
        """Save what the storage failed to save; without a storage everything is on disk."""
        if self._keeper is not None:
            self._keeper.save_rest()


__all__ = ["MemoryGraph", "compute_trust", "create_memory", "estimate_tokens"]

Schemas = Mapping[str, PredicateSchema | Mapping[str, str]]


class MemoryGraph(
    GraphExplaining,  # and storing and linking
    GraphSearching,
    GraphPrompting,
    GraphReviewing,
    GraphMaintaining,
    GraphEpisodes,
    GraphHosting,
):
    """Memories of agents with claims, trust and quarantine, as neolata has them."""

    @constructor
    def __init__(
        self,
        *,
        predicate_schemas: Schemas | None = None,
        storage: GraphStorage | None = None,
        writethrough: Sequence[Writethrough | Handler] = (),
        store: str | PathLike[str] | None = None,
        **options: Unpack[MeshOptions],
    ) -> None:
        """Take the settings; nothing is opened before the first use.

        Options:
            predicate_schemas: how predicates behave, by name.
            storage: an object that keeps the memories, instead of a store of our own.
            writethrough: hooks that hear of writes: objects with events, or functions.
            store: a folder, sqlite:///FOLDER or postgresql://USER@HOST/DATABASE.
        """
        if storage is not None:
            _refuse_folder(options)
            options["enable_memory"] = False
        self._mesh = GraphMesh(store, **options)
        if predicate_schemas:
            self._mesh._add_predicates(predicate_schemas)
        self._hooks = Hooks(writethrough)
        project = self._mesh.config.project
        self._keeper = None if storage is None else Keeper(storage, self._mesh, project)

    def __enter__(self) -> Self:
        """Open the store."""
        self._mesh.init()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Save and write what waits, give the hooks 2 seconds, and release every file."""
        with ExitStack() as closing:
            closing.callback(self._mesh.close)
            if self._keeper is not None:
                closing.callback(self._keeper.close)
            closing.callback(self._hooks.close)


def _refuse_folder(settings: MeshOptions) -> None:
    """A graph whose memories a storage keeps has no folder of its own."""
    if settings.get("db_dir") is not None or settings.get("enable_memory"):
        raise InvalidInput("memories are kept in a storage or in db_dir: give one of them")


create_memory = takes_options(MemoryGraph)  # as neolata calls it
__getattr__ = by_other_names(__name__, globals())  # createMemory and so on
