"""The stories: what happens to a write, a search and everything around them, one per file.

A flow is loaded when it is first used as an attribute, as in `flows.recall.recall(…)`, so that a
command pays only for the flows it runs.
"""

TYPE_CHECKING = False  # type checkers take it for true; `typing` itself costs 8 ms
if TYPE_CHECKING:
    from memory_mesh.flows import (
        access,
        blocks,
        bring_back,
        change,
        clusters,
        context,
        decide,
        decisions,
        episodes,
        evolve,
        explain,
        explain_pack,
        explain_rank,
        graph,
        health,
        injection,
        jobs,
        late_vectors,
        learn,
        lessons,
        linking,
        links,
        merge,
        prepare,
        projects,
        proposals,
        recall,
        records,
        reembedding,
        remember,
        reranking,
        restore,
        review,
        rivals,
        search_plan,
        session_start,
        several_views,
        skills,
        space_in_use,
        system_memory,
        traces,
        trigger_meaning,
        undo,
        upkeep,
    )

__all__ = [
    "access",
    "blocks",
    "bring_back",
    "change",
    "clusters",
    "context",
    "decide",
    "decisions",
    "episodes",
    "evolve",
    "explain",
    "explain_pack",
    "explain_rank",
    "graph",
    "health",
    "injection",
    "jobs",
    "late_vectors",
    "learn",
    "lessons",
    "linking",
    "links",
    "merge",
    "prepare",
    "projects",
    "proposals",
    "recall",
    "records",
    "reembedding",
    "remember",
    "reranking",
    "restore",
    "review",
    "rivals",
    "search_plan",
    "session_start",
    "several_views",
    "skills",
    "space_in_use",
    "system_memory",
    "traces",
    "trigger_meaning",
    "undo",
    "upkeep",
]


def __getattr__(name: str) -> object:
    """Load a flow at its first use."""
    if name not in __all__:
        raise AttributeError(f"there is no flow {name!r}")
    import importlib

    return importlib.import_module(f"memory_mesh.flows.{name}")
