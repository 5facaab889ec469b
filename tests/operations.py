"""The operations of a mesh by the words under which they are called: `add`, `review.waiting`."""

import inspect
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import memory_mesh
from memory_mesh.mesh import async_mesh
from memory_mesh.mesh.operations.access_keys import AccessKeyVerbs
from memory_mesh.mesh.operations.graph import GraphVerbs
from memory_mesh.mesh.operations.learning import LearnVerbs
from memory_mesh.mesh.operations.lessons import LessonVerbs
from memory_mesh.mesh.operations.projects import ProjectVerbs
from memory_mesh.mesh.operations.review import ReviewVerbs
from memory_mesh.mesh.operations.skills import SkillVerbs
from memory_mesh.mesh.operations.traces import TraceVerbs
from memory_mesh.mesh.operations.upkeep import CareVerbs, ReembedVerbs
from memory_mesh.sync import MemoryMesh

FAMILIES: Mapping[type, Mapping[str, type]] = {
    MemoryMesh: {
        "lessons": LessonVerbs,
        "learn": LearnVerbs,
        "skills": SkillVerbs,
        "graph": GraphVerbs,
        "traces": TraceVerbs,
        "review": ReviewVerbs,
        "care": CareVerbs,
        "care.models": ReembedVerbs,
        "care.projects": ProjectVerbs,
        "care.access_keys": AccessKeyVerbs,
    },
    memory_mesh.MemoryMesh: {
        "lessons": async_mesh.AsyncLessons,
        "learn": async_mesh.AsyncLearn,
        "skills": async_mesh.AsyncSkills,
        "graph": async_mesh.AsyncGraph,
        "traces": async_mesh.AsyncTraces,
        "review": async_mesh.AsyncReview,
        "care": async_mesh.AsyncCare,
        "care.models": async_mesh.AsyncModels,
        "care.projects": async_mesh.AsyncProjects,
        "care.access_keys": async_mesh.AsyncAccessKeys,
    },
}


def operations(face: type) -> dict[str, Callable[..., Any]]:
    """The public methods of a class, those that `dir` leaves out too, and of its families."""
    families = FAMILIES.get(face, {})
    found = {name: getattr(face, name) for name in names(face) if name not in families}
    for family, kind in families.items():
        found |= {f"{family}.{name}": getattr(kind, name) for name in names(kind)}
    known = {name: method for name, method in found.items() if name not in families}
    return {name: known[name] for name in sorted(known) if inspect.isroutine(known[name])}


def names(kind: type) -> set[str]:
    """The public names of a class and its bases, whatever `dir` says."""
    return {name for base in kind.__mro__ for name in vars(base) if not name.startswith("_")}


def reach(mesh: object, name: str) -> Any:
    """The operation of an object by such a name."""
    return reduce(getattr, name.split("."), mesh)
