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
from memory_mesh.mesh.async_threads import AsyncFamily, AwaitedOnly, Threads, awaited, not_awaited
from memory_mesh.mesh.document_names import ShownNames
from memory_mesh.mesh.operation import constructor
from memory_mesh.mesh.operations.access_keys import AccessKeyVerbs
from memory_mesh.mesh.operations.graph import GraphVerbs
from memory_mesh.mesh.operations.learning import LearnVerbs
from memory_mesh.mesh.operations.lessons import LessonVerbs
from memory_mesh.mesh.operations.projects import ProjectVerbs
from memory_mesh.mesh.operations.review import ReviewVerbs
from memory_mesh.mesh.operations.skills import SkillVerbs
from memory_mesh.mesh.operations.traces import TraceVerbs
from memory_mesh.mesh.operations.upkeep import CareVerbs, ReembedVerbs
from memory_mesh.mesh.options import MeshOptions
from memory_mesh.model import Channel, Scope


class AsyncLessons(AsyncFamily):
    """Rules learned from failures, and what memories agree on: `mesh.lessons`."""

    _sync: LessonVerbs

    record = awaited(LessonVerbs.record)
    receive = awaited(LessonVerbs.receive)
    search = awaited(LessonVerbs.search)
    about = awaited(LessonVerbs.about)
    with_pattern = awaited(LessonVerbs.with_pattern)
    distill = awaited(LessonVerbs.distill)
    due = awaited(LessonVerbs.due)
    reflect = awaited(LessonVerbs.reflect)
    __call__ = search


class AsyncLearn(AsyncFamily):
    """Facts out of conversations, by rules or by a language model: `mesh.learn`."""

    _sync: LearnVerbs

    extract = awaited(LearnVerbs.extract)


class AsyncSkills(AsyncFamily):
    """Named procedures and how reliable they are: `mesh.skills`."""

    _sync: SkillVerbs

    add = awaited(SkillVerbs.add)
    add_draft = awaited(SkillVerbs.add_draft)
    search = awaited(SkillVerbs.search)
    get_all = awaited(SkillVerbs.get_all)
    vectors = awaited(SkillVerbs.vectors)
    rate = awaited(SkillVerbs.rate)
    prune = awaited(SkillVerbs.prune)
    synthesize = awaited(SkillVerbs.synthesize)


class AsyncGraph(AsyncFamily):
    """Links between memories, walks along them, and episodes: `mesh.graph`."""

    _sync: GraphVerbs

    link = awaited(GraphVerbs.link)
    unlink = awaited(GraphVerbs.unlink)
    links = awaited(GraphVerbs.links)
    traverse = awaited(GraphVerbs.traverse)
    path = awaited(GraphVerbs.path)
    neighbourhood = awaited(GraphVerbs.neighbourhood)
    supersessions = awaited(GraphVerbs.supersessions)
    clusters = awaited(GraphVerbs.clusters)
    entity = awaited(GraphVerbs.entity)
    create_episode = awaited(GraphVerbs.create_episode)
    add_to_episode = awaited(GraphVerbs.add_to_episode)
    remove_from_episode = awaited(GraphVerbs.remove_from_episode)
    episode = awaited(GraphVerbs.episode)
    episodes = awaited(GraphVerbs.episodes)
    summarise_episode = awaited(GraphVerbs.summarise_episode)


class AsyncTraces(AsyncFamily):
    """Executions on record, and plans from them: `mesh.traces`."""

    _sync: TraceVerbs

    record = awaited(TraceVerbs.record)
    record_many = awaited(TraceVerbs.record_many)
    get = awaited(TraceVerbs.get)
    get_all = awaited(TraceVerbs.get_all)
    similar = awaited(TraceVerbs.similar)
    plan = awaited(TraceVerbs.plan)
    log_experience = awaited(TraceVerbs.log_experience)
    experiences = awaited(TraceVerbs.experiences)
    search_experiences = awaited(TraceVerbs.search_experiences)
    experience_summary = awaited(TraceVerbs.experience_summary)
    roll_experiences = awaited(TraceVerbs.roll_experiences)
    write_memory_log = awaited(TraceVerbs.write_memory_log)
    erase_experiences = awaited(TraceVerbs.erase_experiences)
    __call__ = get_all


class AsyncReview(AsyncFamily):
    """What waits for a decision, conflicts, votes on truth, and trust: `mesh.review`."""

    _sync: ReviewVerbs

    decide = awaited(ReviewVerbs.decide)
    decide_source = awaited(ReviewVerbs.decide_source)
    undo = awaited(ReviewVerbs.undo)
    take_back = awaited(ReviewVerbs.take_back)
    waiting = awaited(ReviewVerbs.waiting)
    worth = awaited(ReviewVerbs.worth)
    conflicts = awaited(ReviewVerbs.conflicts)
    resolve = awaited(ReviewVerbs.resolve)
    proposals = awaited(ReviewVerbs.proposals)
    propose_update = awaited(ReviewVerbs.propose_update)
    propose_delete = awaited(ReviewVerbs.propose_delete)
    register_predicates = awaited(ReviewVerbs.register_predicates)
    predicates = awaited(ReviewVerbs.predicates)
    check = awaited(ReviewVerbs.check)
    trust = awaited(ReviewVerbs.trust)
    reinforce = awaited(ReviewVerbs.reinforce)
    dispute = awaited(ReviewVerbs.dispute)
    chain = awaited(ReviewVerbs.chain)
    mark_superseded = awaited(ReviewVerbs.mark_superseded)
    __call__ = decide


class AsyncModels(AsyncFamily):
    """Change the embedding model, awaited: `mesh.care.models`."""

    _sync: ReembedVerbs

    reembed = awaited(ReembedVerbs.reembed)
    state = awaited(ReembedVerbs.state)
    compare = awaited(ReembedVerbs.compare)
    switch = awaited(ReembedVerbs.switch)
    roll_back = awaited(ReembedVerbs.roll_back)
    drop = awaited(ReembedVerbs.drop)


class AsyncProjects(AsyncFamily):
    """The projects of folders, awaited: `mesh.care.projects`."""

    _sync: ProjectVerbs

    at = awaited(ProjectVerbs.at)
    stated = awaited(ProjectVerbs.stated)
    merge = awaited(ProjectVerbs.merge)
    split = awaited(ProjectVerbs.split)
    name = awaited(ProjectVerbs.name)
    counts = awaited(ProjectVerbs.counts)


class AsyncAccessKeys(AsyncFamily):
    """The keys of the service, awaited: `mesh.care.access_keys`."""

    _sync: AccessKeyVerbs

    add = awaited(AccessKeyVerbs.add)
    get_all = awaited(AccessKeyVerbs.get_all)
    revoke = awaited(AccessKeyVerbs.revoke)
    rotate = awaited(AccessKeyVerbs.rotate)


class AsyncCare(AsyncFamily):
    """What keeps the store in order, awaited: `mesh.care`."""

    _sync: CareVerbs

    verify = awaited(CareVerbs.verify)
    blocks = awaited(CareVerbs.blocks)
    prompts = awaited(CareVerbs.prompts)
    recalls = awaited(CareVerbs.recalls)
    counts = awaited(CareVerbs.counts)
    upkeep = awaited(CareVerbs.upkeep)
    jobs = awaited(CareVerbs.jobs)
    run_jobs = awaited(CareVerbs.run_jobs)
    archive_project = awaited(CareVerbs.archive_project)
    rebuild_index = awaited(CareVerbs.rebuild_index)
    rebuild_terms = awaited(CareVerbs.rebuild_terms)
    namespaces = awaited(CareVerbs.namespaces)
    vectors = awaited(CareVerbs.vectors)
    triggers = awaited(CareVerbs.triggers)

    @property
    def models(self) -> AsyncModels:
        """Change the embedding model side by side, compare both, and switch or go back."""
        return AsyncModels(self._sync.models, self._threads)

    @property
    def access_keys(self) -> AsyncAccessKeys:
        """The keys of the service: who may do what where."""
        return AsyncAccessKeys(self._sync.access_keys, self._threads)

    @property
    def projects(self) -> AsyncProjects:
        """The projects of folders: look one up, name it, merge and split."""
        return AsyncProjects(self._sync.projects, self._threads)


class AsyncMemoryMesh(AwaitedOnly, metaclass=ShownNames):
    """Long-term memory, awaited: `memory_mesh.MemoryMesh`.

        async with MemoryMesh() as mesh:
            await mesh.add("The user prefers dark themes")
            print(await mesh.search("dark themes"))

    Write: add, add_many, update, evolve, pin, rate, delete, restore,
    erase, unforget.
    Read: search, context, profile, get, get_many, get_all, history, explain, bisect, stats.
    Users: for_user, users, delete_user, view. Files: export, import_.
    Each with methods of its own: learn, lessons, skills, graph, traces, review, care.

    `help(MemoryMesh.add)` says what one of them takes, `help(MemoryMesh.review)` what a family has.

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

    @property
    def lessons(self) -> "AsyncLessons":
        """Rules learned from failures, and what memories agree on."""
        return AsyncLessons(self._sync.lessons, self._threads)

    @property
    def learn(self) -> "AsyncLearn":
        """Facts out of conversations, by rules or by a language model."""
        return AsyncLearn(self._sync.learn, self._threads)

    @property
    def skills(self) -> "AsyncSkills":
        """Named procedures and how reliable they are."""
        return AsyncSkills(self._sync.skills, self._threads)

    @property
    def graph(self) -> "AsyncGraph":
        """Links between memories, walks along them, and episodes."""
        return AsyncGraph(self._sync.graph, self._threads)

    @property
    def traces(self) -> "AsyncTraces":
        """Executions on record, and plans from them; `await mesh.traces()` lists them."""
        return AsyncTraces(self._sync.traces, self._threads)

    @property
    def review(self) -> "AsyncReview":
        """What waits for a decision, conflicts, votes on truth, and trust."""
        return AsyncReview(self._sync.review, self._threads)

    @property
    def care(self) -> "AsyncCare":
        """What keeps the store in order: upkeep, jobs, audit, indexes, models, projects."""
        return AsyncCare(self._sync.care, self._threads)

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

    add = awaited(mesh.MemoryMesh.add)
    add_many = awaited(mesh.MemoryMesh.add_many)
    evolve = awaited(mesh.MemoryMesh.evolve)
    get = awaited(mesh.MemoryMesh.get)
    get_many = awaited(mesh.MemoryMesh.get_many)
    get_all = awaited(mesh.MemoryMesh.get_all)
    history = awaited(mesh.MemoryMesh.history)
    update = awaited(mesh.MemoryMesh.update)
    update_many = awaited(mesh.MemoryMesh.update_many)
    pin = awaited(mesh.MemoryMesh.pin)
    delete = awaited(mesh.MemoryMesh.delete)
    restore = awaited(mesh.MemoryMesh.restore)
    rate = awaited(mesh.MemoryMesh.rate)
    insert_heritage = awaited(mesh.MemoryMesh.insert_heritage)
    stats = awaited(mesh.MemoryMesh.stats)
    users = awaited(mesh.MemoryMesh.users)
    export = awaited(mesh.MemoryMesh.export)
    import_ = awaited(mesh.MemoryMesh.import_)
    delete_user = awaited(mesh.MemoryMesh.delete_user)
    erase = awaited(mesh.MemoryMesh.erase)
    unforget = awaited(mesh.MemoryMesh.unforget)
    ingest = add
    search = awaited(mesh.MemoryMesh.search)
    explain = awaited(mesh.MemoryMesh.explain)
    bisect = awaited(mesh.MemoryMesh.bisect)
    context = awaited(mesh.MemoryMesh.context)
    profile = awaited(mesh.MemoryMesh.profile)
    find_relevant_memories = awaited(mesh.MemoryMesh.find_relevant_memories)
    build_agent_prompt = awaited(mesh.MemoryMesh.build_agent_prompt)

    # Operations of families, under the names of documents.
    reflect = awaited(LessonVerbs.reflect, "lessons")
    synthesize = awaited(SkillVerbs.synthesize, "skills")
    distill_lesson = awaited(LessonVerbs.record, "lessons")
    query_lessons = awaited(LessonVerbs.search, "lessons")
    get_memories_by_pattern = awaited(LessonVerbs.with_pattern, "lessons")
    ingest_skill = awaited(SkillVerbs.add, "skills")
    search_skills = awaited(SkillVerbs.search, "skills")
    list_skills = awaited(SkillVerbs.get_all, "skills")
    update_skill_reliability = awaited(SkillVerbs.rate, "skills")
    prune_skills = awaited(SkillVerbs.prune, "skills")


class AsyncMemoryContextManager(AwaitedOnly):
    """Memory for a conversation loop, awaited: `memory_mesh.MemoryContextManager`.

    The blocking twin is `memory_mesh.sync.MemoryContextManager`.
    """

    _sync: conversation.MemoryContextManager

    @constructor
    def __init__(
        self,
        config: conversation.ContextManagerConfig | None = None,
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
