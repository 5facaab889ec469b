"""The store itself: that it opens, takes a write and searches, and that its chain is whole."""

from collections.abc import Iterator

from memory_mesh.agents.doctor.finding import Case, Finding, counted, failed, ok
from memory_mesh.model.health import Check, Health
from memory_mesh.policy.users import shown_namespace

MOST_BLOCKS = 20_000  # of a chain that is checked as a whole without being asked to
_OF_THE_STORE = ("store", "writing", "search")
_DAMAGED = (
    "memory-mesh verify lists all of it; somebody changed the store's files by hand, or the disk "
    "fails: restore a backup made before"
)


def store(case: Case) -> Iterator[Finding]:
    """Whether the store opens, takes a write and answers a search."""
    found = case.health
    broken = [found[name] for name in _OF_THE_STORE if _is_broken(found.get(name))]
    if broken:
        yield failed("store", "; ".join(check.detail for check in broken), _store_fix(broken[0]))
        return
    stats = case.mesh.stats()
    count = counted(stats.memories, "memory", "memories")
    yield ok(
        "store",
        f"{case.store} opens, takes writes and answers; {count} in the namespace "
        f"{shown_namespace(stats.namespace)}",
    )


def chain(case: Case) -> Iterator[Finding]:
    """Whether the audit chain is whole: all of it, or of a long one its last block."""
    blocks = case.mesh.stats().blocks
    if blocks > MOST_BLOCKS and not case.whole_chain:
        last = case.health["chain"]
        said = f"only the last of {blocks:,} blocks was checked: {last.detail}"
        if last.health is Health.UNHEALTHY:
            yield failed("chain", said, _DAMAGED)
        else:
            yield ok("chain", said, "to check all of it: memory-mesh doctor --whole-chain")
        return
    found = case.mesh.verify()
    if found.ok:
        yield ok("chain", f"all {counted(blocks, 'block')} checked, nothing wrong")
        return
    first = found.findings[0]
    count = counted(len(found.findings), "finding")
    yield failed("chain", f"{count}, first: {first.check}: {first.detail}", _DAMAGED)


def _is_broken(check: Check | None) -> bool:
    """Old terms only slow a search down; `index` tells of them."""
    if check is None:
        return False
    return check.health is Health.UNHEALTHY or (
        check.name == "writing" and check.health is not Health.HEALTHY
    )


def _store_fix(check: Check) -> str:
    if "memory-mesh " in check.detail:  # it names the commands that help
        return "do what it says; see: memory-mesh verify --all"
    if check.name == "writing":
        return "end the process that holds it, or run this again later; see: memory-mesh stats"
    return "memory-mesh stats says more; restore the folder from a backup, or set MEMORY_MESH_DIR"
