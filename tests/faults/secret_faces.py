"""The faces of the library that secrets are planted in, and what each method needs."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

from memory_mesh.compat.lane.memory_lane import MemoryLane
from memory_mesh.compat.neolata.hooks import EVENTS, markdown_writethrough
from memory_mesh.compat.neolata.memory_graph import MemoryGraph
from memory_mesh.compat.neolata.storage import JsonStorage
from memory_mesh.config.tables import Settings
from memory_mesh.model import Channel, Space
from memory_mesh.model.trace import Trace
from memory_mesh.models.sinks.jsonl import JsonLinesSink
from memory_mesh.sync import MemoryContextManager, MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.secret_shapes import Targets
from tests.faults.secrets import Face, Walk, parameters, public
from tests.operations import reach

SKILL = "---\nname: Deploy\nintent: deploy\n---\n1. run make ship\n"
LESSON = {
    "situation": "s", "error_pattern": "e", "oversight": "o", "fix": "f", "severity": "low",
    "preventative_rule": "Never do it twice", "applicable_scope": "a", "confidence": 0.9,
}  # fmt: skip
NEEDED: dict[str, object] = {
    "content": "a text",
    "text": "a text",
    "query": "door",
    "queries": ["door"],
    "question": "door",
    "yamo_text": SKILL,
    "heritage": {},
    "context": LESSON,
    "grants": {"*": "reader"},
    "items": [],
    "changes": [],
    "helpful": True,
    "success": True,
    "approve": False,
    "action": "reject",
    "resolution": "keep_both",
    "source": "nobody",
    "pattern_id": "none",
    "wire_format": "none",
    "schemas": {},
    "trace": Trace("a goal"),
    "traces": [],
    "goal": "a goal",
    "trace_id": "trace-1-a",
    "task": "paint the red door",
    "agent": "developer",
    "title": "a trip",
    "user_id": "u",
    "results": [],
    "skills": [],
    "space": Space("p", "m", "r", 4, 8),
    "prompt": "I prefer tabs, always remember that please",
    "response": "You prefer tabs. I will remember that you prefer tabs.",
    "memories": [],
    "metadata": {"memory_type": "learning"},
    "messages": "We decided to use Postgres for the shop.",
    "event": "store",
    "handler": print,
    "target": "auth.md",
    "keep": "file",
    "start_id": "",
    "complaint": "it said so",
    "other": "another project",
    "name": "a project",
    "folder": "/nowhere",
    "path": "/nowhere/notes.jsonl",
}
_FRESH = frozenset(("content", "text", "goal", "title", "prompt"))  # a repeat would be merged
_NUMBERS = count()
_ALSO: dict[str, dict[str, object]] = {  # without which a call says nothing
    "review.propose_update": {"content": "another text"},
    "traces.erase_experiences": {"everything": True},
}
_ALL_ON: Settings = {"enable_heritage_tracking": True, "system_memory": True}
OF_MESH = {
    "view(namespace)": "the name of a namespace is the name of its file, and stays readable",
    "for_user(user_id)": "the id of a user is the name of a file, and stays readable",
    "delete_user(user_id)": "the id of a user is the name of a file, and stays readable",
    "erase(user)": "the id of a user is the name of a file, and stays readable",
    "export(path)": "a file that the caller names, and that is written there",
    "import_(path)": "a file that the caller names",
    "care.verify(checkpoint)": "a file that the caller names, and that is written there",
    "care.verify(against)": "a file that the caller names",
    "build_agent_prompt(prompt)": "the caller's own prompt is what comes back",
}
OF_CONVERSATION = {
    "format_memories_for_prompt(memories)": "hits and memories, which are redacted when stored",
    "format_memories_for_prompt(options)": "numbers and flags",
}
_IDS = frozenset(
    ("memory_id", "id", "ids", "by", "source_id", "target_id", "start_id", "conflict_id",
     "episode_id", "changes", "source", "action")
)  # fmt: skip  # arguments that name something stored
_SPOILING = ("decide", "resolve", "delete", "undo", "restore", "evolve", "superseded", "update")
OF_STORED_GRAPH = {
    "agent": "a storage is asked for an agent by the caller's name; ours names a folder by it",
}


class Numbered:
    """Fresh memories for each call, so that no call spoils the next one's targets."""

    def __init__(self, mesh: MemoryMesh) -> None:
        self._mesh, self._count, self._web = mesh, count(), mesh.view(channel=Channel.WEB)
        self._skill = mesh.ingest_skill(SKILL).id
        first = str(mesh.add("a first memory").id)
        self._episode = mesh.graph.create_episode("a trip", ids=[first]).id

    def __call__(self, names: frozenset[str]) -> Targets:
        if not names & _IDS:
            return Targets()
        number, mesh = next(self._count), self._mesh
        claim = {"subject": f"door {number}", "predicate": "colour"}
        memory = mesh.add(f"door {number} is red", claim=claim | {"value": "red"})
        rival = mesh.add(
            f"door {number} is blue", claim=claim | {"value": "blue"}, source_kind="inference"
        )
        conflict = mesh.review.conflicts(decided=True, limit=1)[0].id
        asked = mesh.review.propose_update(str(memory.id), f"door {number} is green").id
        text = SKILL.replace("Deploy", f"Deploy {number}")
        staged = self._web.ingest_skill(text).id
        waiting = (str(rival.id), asked, staged)[number % 3]
        return Targets(str(memory.id), str(rival.id), conflict, self._skill, self._episode, waiting)


def needed(method: str, name: str, targets: Targets) -> object:
    """What an argument is given while a secret stands in another one."""
    ids = {
        "memory_id": targets.memory_id,
        "id": targets.skill_id if "skill" in method else targets.memory_id,
        "ids": [targets.memory_id],
        "by": targets.rival_id,
        "source_id": targets.memory_id,
        "target_id": targets.rival_id,
        "start_id": targets.memory_id,
        "conflict_id": targets.conflict_id,
        "episode_id": targets.episode_id,
    }
    if name in {"memory_id", "id"} and method in {"review.decide", "review.undo"}:
        return targets.waiting_id or targets.rival_id
    if name in ids:
        return ids[name]
    value = NEEDED[name]
    return f"{value} {next(_NUMBERS)}" if name in _FRESH else value


def walk_faces(walk: Walk, opened: ExitStack) -> None:
    """Walk every face of the library on stores below the walk's folder."""
    mesh = open_mesh(walk.folder / "mesh", opened)
    targets = Numbered(mesh)
    walk.face(_of(mesh, "MemoryMesh", targets=targets, reasons=OF_MESH, left_out=("close",)))
    talk = MemoryContextManager(mesh=mesh)
    walk.face(_of(talk, "MemoryContextManager", targets=lambda _: Targets(),
                  reasons=OF_CONVERSATION, left_out=("dispose",)))  # fmt: skip
    walk.face(_of(MemoryLane(mesh), "MemoryLane", targets=targets))
    for name, graph in _graphs(walk, walk.folder, opened):
        reasons = OF_STORED_GRAPH if "stored" in name else {}
        walk.face(_of(graph, name, targets=_of_graph(graph),
                      left_out=("close",), reasons=reasons))  # fmt: skip


def open_mesh(folder: Path, opened: ExitStack, **more: object) -> MemoryMesh:
    """A mesh with everything switched on that keeps texts, and a sink."""
    sink = JsonLinesSink(folder.with_suffix(".jsonl"))
    return opened.enter_context(
        MemoryMesh(db_dir=folder, clock=FrozenClock(), sinks=[sink], settings=_ALL_ON, **more)  # type: ignore[arg-type]  # settings
    )  # fmt: skip


def _graphs(walk: Walk, folder: Path, opened: ExitStack) -> list[tuple[str, MemoryGraph]]:
    (folder / "notes").mkdir(parents=True)
    (folder / "rows").mkdir()
    hook = markdown_writethrough(dir=folder / "notes", events=EVENTS)
    own = MemoryGraph(
        db_dir=folder / "graph",
        clock=FrozenClock(),
        writethrough=[hook, lambda event: walk.records.append(repr(event))],
    )
    kept = MemoryGraph(storage=JsonStorage(folder / "rows"), clock=FrozenClock())
    return [
        ("MemoryGraph", opened.enter_context(own)),
        ("stored graph", opened.enter_context(kept)),
    ]


def _of_graph(graph: MemoryGraph) -> Callable[[frozenset[str]], Targets]:
    def made(names: frozenset[str]) -> Targets:
        if not names & _IDS:
            return Targets()
        number = next(numbers)
        claim = {"subject": f"door {number}", "predicate": "colour", "value": "red"}
        user = {"source": "user_explicit"}
        memory = graph.store("developer", f"door {number} is red", claim=claim, provenance=user)
        other = claim | {"value": "blue"}
        rival = graph.store("developer", f"door {number} is blue", claim=other)
        conflict = graph.pending_conflicts(limit=1)[0].id
        return Targets(str(memory.id), str(rival.id), conflict, episode_id=episode)

    numbers = count()
    first = graph.store("developer", "a first memory").id
    episode = graph.create_episode("developer", "a trip", ids=[str(first)]).id
    return made


def _of(
    thing: object,
    name: str,
    *,
    targets: Callable[[frozenset[str]], Targets],
    reasons: dict[str, str] | None = None,
    left_out: tuple[str, ...] = (),
) -> Face:
    methods = {key: each for key, each in public(type(thing)).items() if key not in left_out}

    made: dict[str, Targets] = {}

    def for_method(method: str) -> Targets:
        if method not in made or any(word in method for word in _SPOILING):
            made[method] = targets(frozenset(each.name for each in parameters(methods[method])))
        return made[method]

    def bound(method: str) -> Callable[..., object]:
        return partial(reach(thing, method), **_ALSO.get(method, {}))

    return Face(name, methods, bound, needed, for_method, reasons or {})
