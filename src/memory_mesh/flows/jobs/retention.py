"""Retention by policy: short-term memory to the archive, long-term memory in fewer words.

What is pinned, a lesson, system memory or not consolidated is never touched (policy/retention.py).
"""

from memory_mesh.flows.jobs import archiving, long_term, staging
from memory_mesh.flows.jobs.site import Site, Slices
from memory_mesh.model.job import Due
from memory_mesh.policy.retention import Action

NAME = "retention"


def due(site: Site) -> Due:
    """Says whether the policy has anything to do now."""
    counts = {
        "traces to archive": len(archiving.idle(site)),
        "learnings to consolidate again": len(long_term.due(site, Action.CONSOLIDATE)),
        "learnings whose traces are to be packed": len(long_term.due(site, Action.COMPRESS)),
    }
    said = ", ".join(f"{name}: {count}" for name, count in counts.items() if count)
    return Due(now=bool(said), why=said or "nothing is old enough")


def work(site: Site) -> Slices:
    """Archives, consolidates again and compresses what is old enough."""
    yield from archiving.archive_idle(site)
    yield from long_term.consolidate_again(site)
    yield from staging.stage(site)
    yield from long_term.compress(site)
