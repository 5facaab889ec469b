"""What happens to a write, a search and everything around them, one module each.

A flow is loaded when it is first used as an attribute, as in `flows.recall.recall(…)`, so that a
command pays only for the flows it runs.
"""

from memory_mesh.base.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.care import access_keys, erase
    from memory_mesh.context import (
        bisection,
        explain,
        explain_pack,
        explain_rank,
        graph,
        injection,
        pack,
        records,
    )
    from memory_mesh.learn import (
        clusters,
        episodes,
        evolve,
        extraction,
        jobs,
        lessons,
        model_calls,
        reembedding,
        skills,
        system_memory,
        traces,
        upkeep,
    )
    from memory_mesh.machines import exchange
    from memory_mesh.search import recall, triggered, warnings
    from memory_mesh.write import (
        access,
        add,
        change,
        links,
        projects,
        proposals,
        put_back,
        review,
        similar_links,
        take_back,
    )

__all__ = [
    "access",
    "access_keys",
    "add",
    "bisection",
    "change",
    "clusters",
    "episodes",
    "erase",
    "evolve",
    "exchange",
    "explain",
    "explain_pack",
    "explain_rank",
    "extraction",
    "graph",
    "injection",
    "jobs",
    "lessons",
    "links",
    "model_calls",
    "pack",
    "projects",
    "proposals",
    "put_back",
    "recall",
    "records",
    "reembedding",
    "review",
    "similar_links",
    "skills",
    "system_memory",
    "take_back",
    "traces",
    "triggered",
    "upkeep",
    "warnings",
]

_HOMES = {
    "access": "write",
    "access_keys": "care",
    "add": "write",
    "bisection": "context",
    "change": "write",
    "clusters": "learn",
    "episodes": "learn",
    "erase": "care",
    "evolve": "learn",
    "exchange": "machines",
    "explain": "context",
    "explain_pack": "context",
    "explain_rank": "context",
    "extraction": "learn",
    "graph": "context",
    "injection": "context",
    "jobs": "learn",
    "lessons": "learn",
    "links": "write",
    "model_calls": "learn",
    "pack": "context",
    "projects": "write",
    "proposals": "write",
    "put_back": "write",
    "recall": "search",
    "records": "context",
    "reembedding": "learn",
    "review": "write",
    "similar_links": "write",
    "skills": "learn",
    "system_memory": "learn",
    "take_back": "write",
    "traces": "learn",
    "triggered": "search",
    "upkeep": "learn",
    "warnings": "search",
}


def __getattr__(name: str) -> object:
    """Load a flow at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"there is no flow {name!r}")
    import importlib

    flow = globals()[name] = importlib.import_module(f"memory_mesh.{_HOMES[name]}.{name}")
    return flow
