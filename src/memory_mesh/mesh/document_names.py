"""The families of a mesh, and the names that documents fix for what is in one.

A family is a class of operations on the view that the mesh is, loaded when it is first used. What a
document calls `mesh.query_lessons` is `mesh.lessons.search` here; both are the same operation.
"""

from collections.abc import Callable

from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.mesh.operation import meant
from memory_mesh.mesh.view import Family, View

if TYPE_CHECKING:
    from memory_mesh.mesh.async_threads import not_awaited as same_as
    from memory_mesh.mesh.operations.graph import GraphVerbs
    from memory_mesh.mesh.operations.learning import LearnVerbs
    from memory_mesh.mesh.operations.lessons import LessonVerbs
    from memory_mesh.mesh.operations.review import ReviewVerbs
    from memory_mesh.mesh.operations.skills import SkillVerbs
    from memory_mesh.mesh.operations.traces import TraceVerbs
    from memory_mesh.mesh.operations.upkeep import CareVerbs

# What documents call operations of a family, and where each is.
IN_FAMILIES = {
    "distill_lesson": "lessons.record",
    "get_memories_by_pattern": "lessons.with_pattern",
    "ingest_skill": "skills.add",
    "list_skills": "skills.get_all",
    "prune_skills": "skills.prune",
    "query_lessons": "lessons.search",
    "reflect": "lessons.reflect",
    "search_skills": "skills.search",
    "synthesize": "skills.synthesize",
    "update_skill_reliability": "skills.rate",
}
# What `dir` and `help` leave out besides: names of documents, and what few programs ask for.
ASIDE = frozenset(
    (
        *(
            "bisect",
            "build_agent_prompt",
            "clear_cache",
            "config",
            "find_relevant_memories",
            "folder",
        ),
        *("format_results", "get_cache_stats", "ingest", "init", "insert_heritage"),
        "update_many",
        *IN_FAMILIES,
    )
)


class ShownNames(type):
    """The class of `MemoryMesh`: `dir` and `help` show what most programs use."""

    def __dir__(cls) -> list[str]:
        """The names of the class without those aside."""
        return [name for name in super().__dir__() if name not in ASIDE]


class Families(View):
    """A view with the families of operations."""

    lessons: "Family[LessonVerbs]" = Family(
        "lessons", "LessonVerbs", "Rules learned from failures, and what memories agree on."
    )
    learn: "Family[LearnVerbs]" = Family(
        "learning", "LearnVerbs", "Facts out of conversations, by rules or by a language model."
    )
    skills: "Family[SkillVerbs]" = Family(
        "skills", "SkillVerbs", "Named procedures and how reliable they are."
    )
    graph: "Family[GraphVerbs]" = Family(
        "graph", "GraphVerbs", "Links between memories, walks along them, and episodes."
    )
    traces: "Family[TraceVerbs]" = Family(
        "traces", "TraceVerbs", "Executions on record, and plans from them; call it to list them."
    )
    review: "Family[ReviewVerbs]" = Family(
        "review", "ReviewVerbs", "What waits for a decision, conflicts, votes on truth, and trust."
    )
    care: "Family[CareVerbs]" = Family(
        "upkeep", "CareVerbs", "What keeps the store in order: upkeep, audit, models, projects."
    )


class DocumentNames(Families):
    """The names that documents fix, each for the operation of a family."""

    def __dir__(self) -> list[str]:
        """The names of the class."""
        return dir(type(self))

    if TYPE_CHECKING:
        distill_lesson = same_as(LessonVerbs.record)
        get_memories_by_pattern = same_as(LessonVerbs.with_pattern)
        ingest_skill = same_as(SkillVerbs.add)
        list_skills = same_as(SkillVerbs.get_all)
        prune_skills = same_as(SkillVerbs.prune)
        query_lessons = same_as(LessonVerbs.search)
        reflect = same_as(LessonVerbs.reflect)
        search_skills = same_as(SkillVerbs.search)
        synthesize = same_as(SkillVerbs.synthesize)
        update_skill_reliability = same_as(SkillVerbs.rate)
    else:

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """The operation of a family that a document calls so; else what was meant."""
            if name.startswith("_") or name not in IN_FAMILIES:
                kinds = {} if name.startswith("_") else _kinds(type(self))
                raise AttributeError(meant(type(self), name, kinds), name=name, obj=self)
            family, _, operation = IN_FAMILIES[name].partition(".")
            return getattr(getattr(self, family), operation)


def _kinds(mesh: type[Families]) -> dict[str, type]:
    """The classes of the families, by how they are reached."""
    names = ("lessons", "learn", "skills", "graph", "traces", "review", "care")
    kinds: dict[str, type] = {name: getattr(mesh, name) for name in names}
    parts = ("models", "projects", "access_keys")
    return kinds | {f"care.{name}": getattr(mesh.care, name) for name in parts}
