"""What else takes texts: settings, recorded runs, trace files, the mirror, 001's functions."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from memory_mesh.compat import rawko
from memory_mesh.compat.neolata.memory_graph import MemoryGraph, create_memory
from memory_mesh.mirror import Mirror
from memory_mesh.model.trigger import MatchContext
from memory_mesh.sync import MemoryContextManager, MemoryMesh
from memory_mesh.testing import FrozenClock
from memory_mesh.traces import files, recorder
from tests.faults.secret_faces import open_mesh
from tests.faults.secret_shapes import Targets
from tests.faults.secrets import Face, Walk, public

SETTINGS = {
    "db_dir": "the folder of the store, which the caller names",
    "namespace": "the name of a namespace is the name of its file, and stays readable",
    "storage": "an object of the caller's own",
    "writethrough": "objects of the caller's own",
    "config": "numbers",
}
OF_001 = {
    "append_memory(folder)": "the path of the file in the folder that the caller names comes back",
    "find_relevant_memories(memories)": "the caller's own objects come back",
    "format_memories_for_prompt(memories)": "the caller's own objects, as text for a prompt",
}


def walk_openings(walk: Walk, opened: ExitStack) -> None:
    """Walk what is opened, recorded and read beside the verbs."""
    mesh = open_mesh(walk.folder / "more", opened)
    for made in (MemoryMesh, MemoryContextManager, MemoryGraph, create_memory):
        walk.face(_settings(made, walk.folder / "settings"))
    walk.face(_runs(mesh))
    walk.face(_functions("traces", mesh, {
        "recording": recorder.recording, "recorded": recorder.recorded,
        "import_text": files.import_text, "import_traces": files.import_traces,
    }))  # fmt: skip
    walk.face(_functions("001", mesh, {  # a slug is made of the words it is given
        name: getattr(rawko, name) for name in rawko.__all__ if name.islower() and name != "slugify"
    }, OF_001))  # fmt: skip
    (walk.folder.parent / "mirrored").mkdir()
    mirror = Mirror(mesh, walk.folder.parent / "mirrored")
    reasons = {"path_of(target)": "the path that the caller names comes back"}
    walk.face(Face("Mirror", public(Mirror), lambda name: getattr(mirror, name), _needed(mesh),
                   reasons=reasons))  # fmt: skip


def _settings(made: Callable[..., object], folder: Path) -> Face:
    """Settings in use: a store is opened with one, written, searched and closed."""

    def use(**given: object) -> str:
        clock = {} if made is MemoryContextManager else {"clock": FrozenClock()}
        thing = made(**{"db_dir": folder, **clock, **given})
        if isinstance(thing, MemoryMesh):
            with thing as mesh:
                mesh.add("the door is red")
                mesh.find_relevant_memories("paint the door")
                mesh.care.upkeep()
                return repr(mesh.search("door"))
        if isinstance(thing, MemoryContextManager):
            thing.initialize()
            said = repr((thing.health_check(), thing.recall_memories("door")))
            thing.dispose()
            return said
        if isinstance(thing, MemoryGraph):
            with thing as graph:
                graph.store("developer", "the door is red")
                return repr(graph.search("developer", "door"))
        raise AssertionError(thing)

    name = made.__name__
    method = made.__init__ if isinstance(made, type) else made  # type: ignore[misc]
    return Face("settings", {name: method}, lambda _: use, _needed(None), reasons=SETTINGS)


def _runs(mesh: MemoryMesh) -> Face:
    """What is said of a run, recorded when it ends."""

    def bound(name: str) -> Callable[..., object]:
        def use(**given: object) -> object:
            with recorder.recording(mesh, "paint the door", clock=FrozenClock()) as run:
                method = getattr(run, name)
                if name in {"tool", "file"}:
                    method(*given.values())
                elif name == "doing":
                    with method(**given):
                        pass
                else:
                    method(**given)
            return run.receipt

        return use

    return Face("Run", public(recorder.Run), bound, _needed(mesh))


def _functions(
    name: str,
    mesh: MemoryMesh,
    functions: Mapping[str, Callable[..., object]],
    reasons: Mapping[str, str] | None = None,
) -> Face:
    def bound(which: str) -> Callable[..., object]:
        def use(**given: object) -> object:
            if which == "recording":
                with recorder.recording(**given) as run:  # type: ignore[arg-type]
                    pass
                return run.receipt
            if which == "recorded":
                recorder.recorded(**given)(lambda: None)()  # type: ignore[arg-type]
                return None
            return functions[which](**given)

        return use

    return Face(name, dict(functions), bound, _needed(mesh), reasons=reasons or {})


def _needed(mesh: MemoryMesh | None) -> Callable[[str, str, Targets], object]:
    values: dict[str, object] = {
        "mesh": mesh,
        "goal": "paint",
        "text": "a text",
        "name": "a name",
        "faults": (),
        "scope": None,
        "traces": [],
        "pattern": "red door",
        "when_to_use": "red door",
        "context": MatchContext("paint the red door", "developer"),
        "memory": {"title": "t", "whenToUse": "red"},
        "memories": [],
        "target": "a.md",
        "keep": "file",
        "status": "success",
    }
    numbers = count()

    def needed(_method: str, name: str, _targets: Targets) -> object:
        value = values[name]
        return f"{value} {next(numbers)}" if name in {"goal", "text"} else value

    return needed
