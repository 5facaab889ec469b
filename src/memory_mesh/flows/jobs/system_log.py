"""Rolls the log of experiences: the newest 1,000 stay open, older ones go to a compressed archive.

Recording an experience rolls by itself when a hundred are over; the job does it where recording was
interrupted, and says in a dry run what would go. Archived entries are listed and searched as
before.
"""

from memory_mesh.flows import system_memory
from memory_mesh.flows.jobs.site import Site, Slices
from memory_mesh.model import Scope
from memory_mesh.model.job import Due, JobStep

NAME = "roll-system-memory"


def due(site: Site) -> Due:
    """Says whether entries are beyond the newest 1,000."""
    if site.system is None:
        return Due(now=False, why="the system memory is off")
    count = system_memory.to_roll(site.system[0])
    kept = f"the newest {system_memory.KEEP:,} stay"
    return Due(now=count > 0, why=f"entries to archive: {count}; {kept}" if count else kept)


def work(site: Site) -> Slices:
    """Moves entries to archives, a hundred in a transaction."""
    count = 0 if site.system is None else system_memory.to_roll(site.system[0])
    if site.system is None or not count:
        return
    if not site.dry_run:
        count = system_memory.roll(*site.system)
    yield [(Scope(), JobStep("roll", f"entries of the system memory to the archive: {count}"))]
