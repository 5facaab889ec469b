"""The calls of audience_leaking.py: every reading method of every face, held against what.

`uncovered` walks the public classes: a method that is neither asked here nor listed as one that
writes is reported, and a test fails.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import memory_mesh
from memory_mesh.compat.lane.memory_lane import MemoryLane
from memory_mesh.compat.neolata.memory_graph import MemoryGraph
from memory_mesh.mirror.mirror import Mirror
from memory_mesh.model import Scope, Skill
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryContextManager, MemoryMesh
from tests.faults import graph_leaking, graph_world
from tests.faults.graph_leaking import Call
from tests.faults.graph_world import HERE, NOW, Planted, Topical
from tests.operations import operations

BARE, FILLED, WORDS = "bare", "filled", "words"  # what an answer is held against
_STATUSES = ("quarantined", "superseded", "archived", "deleted")
_PAGES = 3  # of a listing, at most


@dataclass
class Desk:
    """What a reader has in one store beside its view: the faces over the same files."""

    store: Planted
    reader: Scope
    opened: ExitStack
    _graph: list[MemoryGraph] = field(default_factory=list)

    @property
    def mesh(self) -> MemoryMesh:
        """The reader's view."""
        return self.store.view(self.reader)

    def graph(self) -> MemoryGraph:
        """The graph face that reads as this reader."""
        if not self._graph:
            config = self.store.mesh.config
            made = MemoryGraph(
                db_dir=config.db_dir, namespace=HERE, project=self.reader.project,
                agent_id=self.reader.agent, session=self.reader.session,
                settings={"session_days": 0},
                clock=self.store.mesh._opened().clock, custom_embedder=Topical(),
                enable_yamo=False,
            )  # fmt: skip
            self.opened.callback(made.close)
            self._graph.append(made)
        return self._graph[0]


@dataclass(frozen=True)
class Asking(Call):
    """One call, with the faces of its reader."""

    desk: Desk

    def limit(self) -> int:
        """A small page, or all of it."""
        return self.chance.choice((1, 2, 7, 100, 1_000))

    def misspelt(self) -> str:
        """A word that somebody stored, with one wrong letter."""
        word = self._label("memory").split()[0]
        self.named.discard(word)
        return f"{word[:5]}y{word[6:]}"


Ask = Callable[[Asking], object]


def uncovered() -> list[str]:
    """Public methods of the faces that are neither asked here nor listed as something else."""
    asked = {name.split(" (")[0] for name in (*READS, *USES)}
    listed = asked | set(OTHERS)
    return [
        f"{face}.{name}"
        for face, kind in FACES.items()
        for name in operations(kind)
        if f"{face}.{name}" not in listed
    ]


def _paged(page: Callable[[str | None], Any]) -> object:
    """Up to three pages, each by the cursor of the one before."""
    found, cursor = list[object](), None
    for _ in range(_PAGES):
        answer = page(cursor)
        found.append(list(answer))
        cursor = answer.cursor
        if cursor is None:
            break
    return [found, cursor is None]


def _blocks(call: Asking) -> object:
    found, after, limit = list[object](), 0, call.limit()
    for _ in range(_PAGES):
        blocks = call.mesh.care.blocks(after_seq=after, limit=limit)
        found.append(blocks)
        if not blocks:
            break
        after = blocks[-1].seq or 0
    return found


def _exported(call: Asking) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "all.jsonl"
        call.mesh.export(path)
        return path.read_text(encoding="utf-8")


def _get_all(call: Asking) -> object:
    include = call.chance.sample(_STATUSES, call.chance.choice((0, 1, 4)))
    limit = call.limit()
    return _paged(lambda cursor: call.mesh.get_all(limit=limit, cursor=cursor, include=include))


def _get_many(call: Asking) -> object:
    kinds = ("memory", "claim", "waiting", "trace", "said", "lesson", "episode")
    ids = [call.some(call.chance.choice(kinds)) for _ in range(5)]
    return call.mesh.get_many(ids, as_of=NOW, include=_STATUSES)


def _vectors(call: Asking) -> object:
    found = call.mesh.care.vectors([call.some() for _ in range(9)], Topical().space)
    names = {id_: label for label, id_ in call.store.ids.items()}
    return sorted((names[id_], len(parts)) for id_, parts in found.items())


def _skill_vectors(call: Asking) -> object:
    any_skill = next(iter(call.mesh.list_skills(limit=1)), None)
    if any_skill is None:
        return None
    asked: list[Skill] = [replace(any_skill, id=call.some("skill")) for _ in range(5)]
    return len(call.mesh.skills.vectors(asked, Topical().space))


def _list_skills(call: Asking) -> object:
    before = call.some("skill") if call.chance.random() < 0.5 else None
    return call.mesh.list_skills(limit=call.limit(), before=before, include=_STATUSES)


def _misspelt(call: Asking) -> object:
    hits = call.mesh.search(call.misspelt(), limit=100, keyword_only=True, use_cache=False)
    return [sorted(hit.id for hit in hits), hits.explanation.note]


def _conflicts(call: Asking) -> object:
    pending, decided = call.chance.random() < 0.5, call.chance.random() < 0.5
    return call.mesh.review.conflicts(limit=call.limit(), pending=pending, decided=decided)


def _resolve(call: Asking) -> object:
    """An error, in the same words for what is not visible and what does not exist."""
    label = call.chance.choice(call.plan["waiting"])
    call.named.add(label)
    id_ = call.store.ids.get(f"{label} conflict", "conflict_1600000000000_000000")
    if f"{label}" in graph_world.LABEL.findall(str(call.mesh.review.conflicts(limit=1_000))):
        return None
    if any(each.id == id_ for each in call.mesh.review.conflicts(limit=1_000, decided=True)):
        return None  # it is the reader's: this would decide it
    try:
        return call.mesh.review.resolve(id_, "keep_both")
    except MeshError as error:
        return str(error).replace(id_, "ID")


def _summary(call: Asking) -> object:
    return call.mesh.graph.summarise_episode(call.some("episode"), sentences=3)


def _async(call: Asking) -> object:
    """The async face of the same store: it is generated from the blocking one."""

    async def ask() -> object:
        config = call.store.mesh.config
        async with memory_mesh.MemoryMesh(
            db_dir=config.db_dir, namespace=HERE, project=call.desk.reader.project,
            agent_id=call.desk.reader.agent, session=call.desk.reader.session,
            settings={"session_days": 0},
            clock=call.store.mesh._opened().clock, embedder="none", enable_yamo=False,
        ) as mesh:  # fmt: skip
            return [
                await mesh.care.blocks(limit=7), await mesh.care.recalls(limit=7),
                await mesh.review.conflicts(limit=7), await mesh.review.waiting(limit=7),
                await mesh.review.proposals(limit=7), await mesh.get_all(limit=7),
            ]  # fmt: skip

    return asyncio.run(ask())


def _some_held(call: Asking) -> str:
    return call.some(call.chance.choice(("memory", "claim", "guess", "waiting", "lesson")))


def _graph_clusters(call: Asking) -> object:
    return call.desk.graph().clusters(call.chance.randint(1, 4))


def _manager(call: Asking) -> MemoryContextManager:
    return MemoryContextManager(mesh=call.mesh)


def _of_face(face: str, verbs: Mapping[str, tuple[Ask, str]]) -> dict[str, tuple[Ask, str]]:
    return {f"{face}.{name}": verb for name, verb in verbs.items()}


_OF_GRAPH_SUITE = {  # methods that graph_leaking.py has calls for
    "graph.links": "links", "graph.traverse": "traverse", "graph.path": "path",
    "graph.clusters": "clusters", "graph.entity": "entity", "profile": "profile",
    "graph.neighbourhood": "neighbourhood", "review.chain": "chain", "graph.episodes": "episodes",
    "graph.episodes (about)": "episodes about", "graph.episode": "episode",
    "context (start)": "start",
    "context": "context", "search": "search", "explain": "explain", "explain (block)": "block",
    "explain (why not)": "why not", "explain (prompt)": "injection",
}  # fmt: skip

FACES: Mapping[str, type] = {
    "mesh": MemoryMesh,
    "async": memory_mesh.MemoryMesh,
    "graph": MemoryGraph,
    "manager": MemoryContextManager,
    "lane": MemoryLane,
    "mirror": Mirror,
}

READS: Mapping[str, tuple[Ask, str]] = {
    **{
        f"mesh.{name}": (ask, FILLED if ranked else BARE)
        for name, verb in _OF_GRAPH_SUITE.items()
        for ask, ranked in [graph_leaking.VERBS[verb]]
    },
    **_of_face("mesh", {
        "care.blocks": (_blocks, BARE),
        "care.recalls": (lambda call: call.mesh.care.recalls(limit=call.limit()), FILLED),
        "care.prompts": (
            lambda call: call.mesh.care.prompts(limit=call.limit(), scope=call.desk.reader), FILLED,
        ),
        "care.vectors": (_vectors, BARE),
        "skills.vectors": (_skill_vectors, BARE),
        "review.conflicts": (_conflicts, BARE),
        "review.resolve (another's)": (_resolve, BARE),
        "review.waiting": (lambda call: call.mesh.review.waiting(limit=call.limit()), BARE),
        "review.proposals": (
            lambda call: call.mesh.review.proposals(
                limit=call.limit(), pending=call.chance.random() < 0.5
            ),
            BARE,
        ),
        "care.counts": (lambda call: call.mesh.care.counts("project", include=_STATUSES), BARE),
        "care.projects.counts": (lambda call: call.mesh.care.projects.counts(), BARE),
        "care.projects.stated": (lambda call: call.mesh.care.projects.stated("harbour").name, BARE),
        "get": (lambda call: call.mesh.get(_some_held(call), as_of=NOW, include=_STATUSES), BARE),
        "get_many": (_get_many, BARE),
        "get_all": (_get_all, BARE),
        "history": (lambda call: call.mesh.history(_some_held(call)), BARE),
        "review.worth": (lambda call: call.mesh.review.worth(every=True), WORDS),
        "bisect": (
            lambda call: call.mesh.bisect(call.question(), judge=lambda pack: len(pack) < 2), WORDS,
        ),
        "review.trust": (lambda call: call.mesh.review.trust(_some_held(call)), BARE),
        "review.predicates": (lambda call: call.mesh.review.predicates(), BARE),
        "graph.supersessions": (
            lambda call: call.mesh.graph.supersessions(call.some("claim")), BARE,
        ),
        "graph.summarise_episode": (_summary, BARE),
        "search (misspelt)": (_misspelt, BARE),
        "skills.search": (lambda call: call.mesh.search_skills(call.question()), WORDS),
        "skills.get_all": (_list_skills, BARE),
        "lessons.search": (
            lambda call: call.mesh.query_lessons(call.question(), limit=call.limit()), FILLED,
        ),
        "lessons.search (all)": (lambda call: call.mesh.query_lessons(limit=call.limit()), BARE),
        "lessons.with_pattern": (
            lambda call: call.mesh.get_memories_by_pattern(f"pattern {call._label('lesson')}"),
            BARE,
        ),
        "find_relevant_memories": (
            lambda call: call.mesh.find_relevant_memories(call.question()), BARE,
        ),
        "care.triggers": (lambda call: call.mesh.care.triggers(limit=call.limit()), BARE),
        "traces.get_all": (
            lambda call: _paged(lambda at: call.mesh.traces(limit=2, cursor=at)), BARE,
        ),
        "traces.similar": (lambda call: call.mesh.traces.similar(call.question()), FILLED),
        "traces.plan": (lambda call: call.mesh.traces.plan(call.question()), FILLED),
        "lessons.reflect": (
            lambda call: call.mesh.reflect(topic=call.question(), store=False, lookback=5), FILLED,
        ),
        "format_results": (
            lambda call: call.mesh.format_results(call.mesh.search(call.question())), FILLED,
        ),
        "export": (_exported, BARE),
        "stats": (lambda call: call.mesh.stats(), WORDS),
        "care.jobs": (lambda call: call.mesh.care.jobs(), WORDS),
        "care.verify": (lambda call: call.mesh.care.verify(), WORDS),
        "care.namespaces": (lambda call: call.mesh.care.namespaces(), WORDS),
        "users": (lambda call: call.mesh.users(), WORDS),
        "get_cache_stats": (lambda call: call.mesh.get_cache_stats(), WORDS),
        "lessons.about": (lambda call: call.mesh.lessons.about(call.question()), BARE),
        "lessons.due": (lambda call: call.mesh.lessons.due(), WORDS),
        "traces.experiences": (lambda call: call.mesh.traces.experiences(), WORDS),
        "traces.search_experiences": (
            lambda call: call.mesh.traces.search_experiences("ferry"), WORDS,
        ),
        "traces.experience_summary": (lambda call: call.mesh.traces.experience_summary(), WORDS),
    }),
    **_of_face("async", {"care.blocks": (_async, BARE)}),
    **_of_face("graph", {
        "links": (lambda call: call.desk.graph().links(_some_held(call)), BARE),
        "traverse": (lambda call: call.desk.graph().traverse(_some_held(call), 3), BARE),
        "path": (lambda call: call.desk.graph().path(call.some(), call.some()), BARE),
        "clusters": (_graph_clusters, BARE),
        "explain_memory": (lambda call: call.desk.graph().explain_memory(_some_held(call)), BARE),
        "explain_supersession": (
            lambda call: call.desk.graph().explain_supersession(call.some("claim")), BARE,
        ),
        "episode": (lambda call: call.desk.graph().episode(call.some("episode")), BARE),
        "summarize_episode": (
            lambda call: call.desk.graph().summarize_episode(call.some("episode")), BARE,
        ),
        "episodes": (
            lambda call: call.desk.graph().episodes(call.desk.reader.agent or "none"), BARE,
        ),
        "conflicts": (lambda call: call.desk.graph().conflicts(limit=call.limit()), BARE),
        "pending_conflicts": (
            lambda call: call.desk.graph().pending_conflicts(limit=call.limit()), BARE,
        ),
        "list_quarantined": (
            lambda call: call.desk.graph().list_quarantined(limit=call.limit()), BARE,
        ),
        "search": (lambda call: call.desk.graph().search(None, call.question()), WORDS),
        "search_many": (lambda call: call.desk.graph().search_many(None, [call.question()]), WORDS),
        "hook_states": (lambda call: call.desk.graph().hook_states(), WORDS),
    }),
    **_of_face("lane", {"metadata": (
        lambda call: MemoryLane(call.mesh).metadata(_some_held(call)), WORDS,
    )}),
    **_of_face("manager", {
        "health_check": (lambda call: _manager(call).health_check(), WORDS),
        "format_memories_for_prompt": (
            lambda call: _manager(call).format_memories_for_prompt(
                list(islice(call.mesh.get_all(limit=5), 5))
            ),
            WORDS,
        ),
    }),
}  # fmt: skip

USES: Mapping[str, tuple[Ask, str]] = {  # reading that counts as a use of what it shows
    "mesh.traces.get": (lambda call: call.mesh.traces.get(call.some("trace")), BARE),
    "mesh.build_agent_prompt": (
        lambda call: call.mesh.build_agent_prompt("rower", task=call.question()), WORDS,
    ),
    "graph.context": (lambda call: call.desk.graph().context(None, call.question()), WORDS),
    "manager.recall_memories": (
        lambda call: [hit.id for hit in _manager(call).recall_memories(call.question())], FILLED,
    ),
    "manager.context": (lambda call: _manager(call).context(call.question()).text, WORDS),
    "lane.find": (lambda call: MemoryLane(call.mesh).find(call.question()), WORDS),
}  # fmt: skip

COMMANDS: Sequence[Sequence[str]] = (
    ["list"], ["search", "harbour ferry"], ["conflicts", "--all"], ["review"], ["lessons"],
    ["list-skills"], ["search-skills", "harbour"], ["episode", "list"], ["trace", "list"],
    ["trigger", "list"], ["clusters"], ["context", "harbour ferry"], ["jobs"], ["stats"],
    ["verify"], ["namespaces"],
)  # fmt: skip

_WRITES = """
    delete_user erase unforget import_ add add_many skills.add_draft graph.add_to_episode
    care.archive_project
    graph.create_episode delete review.dispute lessons.distill lessons.record
    traces.erase_experiences evolve ingest skills.add insert_heritage graph.link
    traces.log_experience review.mark_superseded review.take_back pin review.propose_delete
    review.propose_update skills.prune rate care.rebuild_index care.rebuild_terms
    learn.extract lessons.receive traces.record traces.record_many review.register_predicates
    review.check review.reinforce graph.remove_from_episode review.resolve restore review.decide
    review.decide_source traces.roll_experiences care.run_jobs skills.synthesize review.undo
    graph.unlink update update_many skills.rate care.upkeep traces.write_memory_log
    clear_cache close config folder for_user init view care.projects.merge care.projects.name
    care.projects.at care.projects.split care.models.compare care.models.drop
    care.access_keys.add care.access_keys.get_all care.access_keys.revoke care.access_keys.rotate
    care.models.reembed care.models.state care.models.roll_back care.models.switch
""".split()  # noqa: SIM905
_GRAPH_WRITES = """
    add_to_episode auto_compress close consolidate create_episode decay dispute evolve ingest off on
    reinforce remove_from_episode resolve_conflict review_quarantine save store store_many
    wait_for_hooks
""".split()  # noqa: SIM905
_MIRROR = ("init", "path_of", "pull", "push", "resolve", "run", "stale", "status")  # writes files
_ASYNC = list(operations(memory_mesh.MemoryMesh))

# What writes, opens or closes; the async mesh has the methods of the blocking one and no other.
OTHERS: Sequence[str] = (
    *(f"mesh.{name}" for name in _WRITES),
    *(f"async.{name}" for name in _ASYNC),
    *(
        f"graph.{name}"
        for name in _GRAPH_WRITES
    ),
    *(f"lane.{name}" for name in ("store", "feedback")),
    *(
        f"manager.{name}"
        for name in (
            "capture_interaction", "dispose", "initialize", "last_refusal", "refusals",
        )
    ),
    *(f"mirror.{name}" for name in _MIRROR),
)  # fmt: skip
