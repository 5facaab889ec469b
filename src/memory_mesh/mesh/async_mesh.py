"""The async classes: the methods of the blocking ones, awaited.

Each call runs the blocking one in a thread (async_threads.py), at most MAX_THREADS at a time;
further calls wait. A cancelled await lets its call finish, so a commit is never half done. What a
method takes and does is said by the blocking method alone.
"""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType

from memory_mesh.base.typed import Self, Unpack
from memory_mesh.config import Config
from memory_mesh.mesh import conversation, mesh
from memory_mesh.mesh.async_threads import AwaitedOnly, Threads, awaited, not_awaited
from memory_mesh.mesh.conversation import ContextManagerConfig
from memory_mesh.mesh.operation import constructor
from memory_mesh.mesh.options import MeshOptions
from memory_mesh.model import Channel, Scope


class AsyncMemoryMesh(AwaitedOnly):
    """Long-term memory, awaited: `memory_mesh.MemoryMesh`.

    The blocking twin is `memory_mesh.sync.MemoryMesh`.
    """

    _sync: mesh.MemoryMesh

    @constructor
    def __init__(
        self,
        store: str | PathLike[str] | None = None,
        **options: Unpack[MeshOptions],
    ) -> None:
        """Take what the blocking class takes; nothing is opened before the first use or `init`."""
        self._sync = mesh.MemoryMesh(store, **options)
        self._threads = Threads()

    def view(
        self,
        *,
        namespace: str | None = None,
        scope: Scope | None = None,
        channel: Channel | str | None = None,
    ) -> "AsyncMemoryMesh":
        """Another view of the same open store; what is not given stays as it is here.

        Options:
            namespace: the part of the store to work in.
            scope: the project, agent and session to read and write as.
            channel: where texts come from; it limits how far they are trusted.
        """
        return self._over(self._sync.view(namespace=namespace, scope=scope, channel=channel))

    def for_user(self, user_id: str) -> "AsyncMemoryMesh":
        """The memories of one user of this store: a view of a namespace of that user's own."""
        return self._over(self._sync.for_user(user_id))

    def _over(self, blocking: mesh.MemoryMesh) -> "AsyncMemoryMesh":
        """An async mesh over a blocking one, with the same threads."""
        made = AsyncMemoryMesh.__new__(AsyncMemoryMesh)
        made._sync, made._threads = blocking, self._threads.shared()
        return made

    @property
    def config(self) -> Config:
        """The effective settings."""
        return self._sync.config

    @property
    def folder(self) -> Path:
        """Where the store lies; of a database, the folder for its files on this machine."""
        return self._sync.folder

    async def __aenter__(self) -> Self:
        """Open the store."""
        await self.init()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        await self.close()

    async def close(self) -> None:
        """Write what waits, feed the sinks for at most 0.2 seconds and release every file."""
        await self._threads.run_last(self._sync.close)

    init = awaited(mesh.MemoryMesh.init)
    format_results = not_awaited(mesh.MemoryMesh.format_results)
    clear_cache = not_awaited(mesh.MemoryMesh.clear_cache)
    get_cache_stats = not_awaited(mesh.MemoryMesh.get_cache_stats)

    # Memories.
    add = awaited(mesh.MemoryMesh.add)
    add_many = awaited(mesh.MemoryMesh.add_many)
    get = awaited(mesh.MemoryMesh.get)
    get_many = awaited(mesh.MemoryMesh.get_many)
    get_all = awaited(mesh.MemoryMesh.get_all)
    history = awaited(mesh.MemoryMesh.history)
    update = awaited(mesh.MemoryMesh.update)
    update_many = awaited(mesh.MemoryMesh.update_many)
    pin = awaited(mesh.MemoryMesh.pin)
    delete = awaited(mesh.MemoryMesh.delete)
    restore = awaited(mesh.MemoryMesh.restore)
    mark_superseded = awaited(mesh.MemoryMesh.mark_superseded)
    rate = awaited(mesh.MemoryMesh.rate)
    insert_heritage = awaited(mesh.MemoryMesh.insert_heritage)
    ingest = add

    # Search and context.
    search = awaited(mesh.MemoryMesh.search)
    explain = awaited(mesh.MemoryMesh.explain)
    explain_injection = awaited(mesh.MemoryMesh.explain_injection)
    context = awaited(mesh.MemoryMesh.context)
    find_relevant_memories = awaited(mesh.MemoryMesh.find_relevant_memories)
    build_agent_prompt = awaited(mesh.MemoryMesh.build_agent_prompt)
    triggers = awaited(mesh.MemoryMesh.triggers)

    # Votes, conflicts and review.
    propose_update = awaited(mesh.MemoryMesh.propose_update)
    propose_delete = awaited(mesh.MemoryMesh.propose_delete)
    proposals = awaited(mesh.MemoryMesh.proposals)
    register_predicates = awaited(mesh.MemoryMesh.register_predicates)
    predicates = awaited(mesh.MemoryMesh.predicates)
    trust = awaited(mesh.MemoryMesh.trust)
    reinforce = awaited(mesh.MemoryMesh.reinforce)
    dispute = awaited(mesh.MemoryMesh.dispute)
    review = awaited(mesh.MemoryMesh.review)
    review_source = awaited(mesh.MemoryMesh.review_source)
    undo_review = awaited(mesh.MemoryMesh.undo_review)
    awaiting_review = awaited(mesh.MemoryMesh.awaiting_review)
    conflicts = awaited(mesh.MemoryMesh.conflicts)
    resolve_conflict = awaited(mesh.MemoryMesh.resolve_conflict)
    chain = awaited(mesh.MemoryMesh.chain)

    # Lessons, skills and traces.
    distill_lesson = awaited(mesh.MemoryMesh.distill_lesson)
    receive_lesson = awaited(mesh.MemoryMesh.receive_lesson)
    query_lessons = awaited(mesh.MemoryMesh.query_lessons)
    get_memories_by_pattern = awaited(mesh.MemoryMesh.get_memories_by_pattern)
    distill = awaited(mesh.MemoryMesh.distill)
    distillation_due = awaited(mesh.MemoryMesh.distillation_due)
    reflect = awaited(mesh.MemoryMesh.reflect)
    synthesize = awaited(mesh.MemoryMesh.synthesize)
    ingest_skill = awaited(mesh.MemoryMesh.ingest_skill)
    add_skill = awaited(mesh.MemoryMesh.add_skill)
    search_skills = awaited(mesh.MemoryMesh.search_skills)
    list_skills = awaited(mesh.MemoryMesh.list_skills)
    skill_vectors = awaited(mesh.MemoryMesh.skill_vectors)
    update_skill_reliability = awaited(mesh.MemoryMesh.update_skill_reliability)
    prune_skills = awaited(mesh.MemoryMesh.prune_skills)
    record_trace = awaited(mesh.MemoryMesh.record_trace)
    record_traces = awaited(mesh.MemoryMesh.record_traces)
    get_trace = awaited(mesh.MemoryMesh.get_trace)
    traces = awaited(mesh.MemoryMesh.traces)
    similar_tasks = awaited(mesh.MemoryMesh.similar_tasks)
    plan = awaited(mesh.MemoryMesh.plan)

    # System memory and jobs.
    log_experience = awaited(mesh.MemoryMesh.log_experience)
    experiences = awaited(mesh.MemoryMesh.experiences)
    search_experiences = awaited(mesh.MemoryMesh.search_experiences)
    experience_summary = awaited(mesh.MemoryMesh.experience_summary)
    roll_experiences = awaited(mesh.MemoryMesh.roll_experiences)
    write_memory_log = awaited(mesh.MemoryMesh.write_memory_log)
    erase_experiences = awaited(mesh.MemoryMesh.erase_experiences)
    jobs = awaited(mesh.MemoryMesh.jobs)
    run_jobs = awaited(mesh.MemoryMesh.run_jobs)
    archive_project = awaited(mesh.MemoryMesh.archive_project)

    # Graph.
    link = awaited(mesh.MemoryMesh.link)
    unlink = awaited(mesh.MemoryMesh.unlink)
    links = awaited(mesh.MemoryMesh.links)
    evolve = awaited(mesh.MemoryMesh.evolve)
    traverse = awaited(mesh.MemoryMesh.traverse)
    path = awaited(mesh.MemoryMesh.path)
    neighbourhood = awaited(mesh.MemoryMesh.neighbourhood)
    supersessions = awaited(mesh.MemoryMesh.supersessions)
    clusters = awaited(mesh.MemoryMesh.clusters)
    create_episode = awaited(mesh.MemoryMesh.create_episode)
    add_to_episode = awaited(mesh.MemoryMesh.add_to_episode)
    remove_from_episode = awaited(mesh.MemoryMesh.remove_from_episode)
    episode = awaited(mesh.MemoryMesh.episode)
    episodes = awaited(mesh.MemoryMesh.episodes)
    summarise_episode = awaited(mesh.MemoryMesh.summarise_episode)

    # Upkeep, audit and projects.
    upkeep = awaited(mesh.MemoryMesh.upkeep)
    rebuild_index = awaited(mesh.MemoryMesh.rebuild_index)
    rebuild_terms = awaited(mesh.MemoryMesh.rebuild_terms)
    stats = awaited(mesh.MemoryMesh.stats)
    namespaces = awaited(mesh.MemoryMesh.namespaces)
    users = awaited(mesh.MemoryMesh.users)
    vectors = awaited(mesh.MemoryMesh.vectors)
    blocks = awaited(mesh.MemoryMesh.blocks)
    recalls = awaited(mesh.MemoryMesh.recalls)
    verify = awaited(mesh.MemoryMesh.verify)
    project_at = awaited(mesh.MemoryMesh.project_at)
    stated_project = awaited(mesh.MemoryMesh.stated_project)
    merge_project = awaited(mesh.MemoryMesh.merge_project)
    split_project = awaited(mesh.MemoryMesh.split_project)
    name_project = awaited(mesh.MemoryMesh.name_project)
    project_counts = awaited(mesh.MemoryMesh.project_counts)
    reembed = awaited(mesh.MemoryMesh.reembed)
    reembed_state = awaited(mesh.MemoryMesh.reembed_state)
    compare_models = awaited(mesh.MemoryMesh.compare_models)
    switch_model = awaited(mesh.MemoryMesh.switch_model)
    roll_back_model = awaited(mesh.MemoryMesh.roll_back_model)
    drop_model = awaited(mesh.MemoryMesh.drop_model)


class AsyncMemoryContextManager(AwaitedOnly):
    """Memory for a conversation loop, awaited: `memory_mesh.MemoryContextManager`.

    The blocking twin is `memory_mesh.sync.MemoryContextManager`.
    """

    _sync: conversation.MemoryContextManager

    @constructor
    def __init__(
        self,
        config: ContextManagerConfig | None = None,
        *,
        mesh: AsyncMemoryMesh | None = None,
        store: str | PathLike[str] | None = None,
        **options: Unpack[MeshOptions],
    ) -> None:
        """Take what the blocking class takes, with an async mesh.

        Options:
            mesh: the mesh to use; store and settings are for a mesh of our own.
            store: a folder, sqlite:///FOLDER or postgresql://USER@HOST/DATABASE.
        """
        own = None if mesh is None else mesh._sync
        self._sync = conversation.MemoryContextManager(config, mesh=own, store=store, **options)
        self._threads = Threads()

    @property
    def refusals(self) -> Sequence[tuple[str, ...]]:
        """Why the latest exchanges that were not kept were not, the newest last."""
        return self._sync.refusals

    @property
    def last_refusal(self) -> tuple[str, ...]:
        """Why the latest exchange that was not kept was not; empty when there was none."""
        return self._sync.last_refusal

    def dispose(self) -> None:
        """Close the mesh of our own, and forget what was recalled."""
        try:
            self._sync.dispose()
        finally:
            self._threads.end()

    initialize = awaited(conversation.MemoryContextManager.initialize)
    capture_interaction = awaited(conversation.MemoryContextManager.capture_interaction)
    recall_memories = awaited(conversation.MemoryContextManager.recall_memories)
    context = awaited(conversation.MemoryContextManager.context)
    health_check = awaited(conversation.MemoryContextManager.health_check)
    format_memories_for_prompt = not_awaited(
        conversation.MemoryContextManager.format_memories_for_prompt
    )
