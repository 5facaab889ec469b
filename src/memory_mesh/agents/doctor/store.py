"""The store itself: that it opens, takes a write and searches, and that its chain is whole."""

from collections.abc import Iterator

from memory_mesh.agents.doctor.finding import Case, Finding, counted, failed, ok
from memory_mesh.model.health import Check, Health
from memory_mesh.policy.users import shown_namespace
from memory_mesh.safekeeping.looking import look

MOST_BLOCKS = 20_000  # of a chain that is checked as a whole without being asked to
MOST_NAMESPACES = 500  # that are looked at
_SHOWN = 5  # namespaces that a line names
_OF_THE_STORE = ("store", "writing", "search")
_DAMAGED = (
    "memory-mesh verify lists all of it; somebody changed the store's files by hand, or the disk "
    "fails: restore a backup made before"
)


def store(case: Case) -> Iterator[Finding]:
    """Whether the store opens, takes a write and answers a search."""
    found = case.health
    broken = [found[name] for name in _OF_THE_STORE if is_broken(found.get(name))]
    if broken:
        said = dict.fromkeys(check.detail for check in broken)
        yield failed("store", "; ".join(said), _store_fix(broken[0], case))
        return
    stats = case.mesh.stats()
    count = counted(stats.memories, "memory", "memories")
    yield ok(
        "store",
        f"{case.where} opens, takes writes and answers; {count} in the namespace "
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


def namespaces(case: Case) -> Iterator[Finding]:
    """Whether the other namespaces of the store open, and have what was acknowledged."""
    found = look(case.store, besides=case.mesh.config.namespace, most=MOST_NAMESPACES)
    others = counted(found.namespaces, "other namespace")
    some = f"the first {found.seen:,} of {others}" if found.seen < found.namespaces else others
    if found.wrong:
        bad = [shown_namespace(name) for name in found.wrong]
        named = ", ".join(bad[:_SHOWN]) + (", …" if len(bad) > _SHOWN else "")
        verb = "does" if len(bad) == 1 else "do"
        said = (
            f"{len(bad):,} of {some} {verb} not open: {named}. {next(iter(found.wrong.values()))}"
        )
        yield failed(
            "namespaces", said, "do what it says; all that is wrong: memory-mesh verify --all"
        )
    elif found.seen < found.namespaces:
        fix = "to look at all of them: memory-mesh verify --all"
        yield ok("namespaces", f"{some} open and have what was acknowledged", fix)
    else:
        verbs = "opens and has" if found.seen == 1 else "open and have"
        said = f"{others} {verbs} what was acknowledged" if found.seen else "there is no other"
        yield ok("namespaces", said)


def is_broken(check: Check | None) -> bool:
    """Old terms only slow a search down; `index` tells of them."""
    if check is None:
        return False
    return check.health is Health.UNHEALTHY or (
        check.name == "writing" and check.health is not Health.HEALTHY
    )


def _store_fix(check: Check, case: Case) -> str:
    if case.is_server:
        return "do what it says; check the server, the address and the key of the database"
    if "memory-mesh " in check.detail:  # it names the commands that help
        return "do what it says; see: memory-mesh verify --all"
    if check.name == "writing":
        return "end the process that holds it, or run this again later; see: memory-mesh stats"
    return "memory-mesh stats says more; restore the folder from a backup, or set MEMORY_MESH_DIR"
