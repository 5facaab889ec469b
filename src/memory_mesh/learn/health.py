"""Health checks, one per part; they record nothing."""

from collections.abc import Iterator
from datetime import datetime

from memory_mesh.base.typed import replace
from memory_mesh.model import Commit, EmbeddingError, Head, Lens, Query, StoreError, Wanted
from memory_mesh.model.stats import OUTGROWN, Check, Health, HealthStatus
from memory_mesh.rules import audit
from memory_mesh.rules.arguments import WRITE_SLICE
from memory_mesh.search.recall import away, recall
from memory_mesh.write.access import Access

_BACK = (1, 16, 256, 4096)  # commits in which the last block is looked for


def checkup(access: Access, now: datetime) -> HealthStatus:
    """Checks that the store opens, writes, searches and embeds, and checks its last block."""
    try:
        with access.ledger.read(access.namespace) as snapshot:
            head = snapshot.head()
    except StoreError as error:
        return HealthStatus((Check("store", Health.UNHEALTHY, str(error)),))
    opened = Check("store", Health.HEALTHY, f"{access.namespace} is at seq {head.seq}")
    checks = (_writes(access), _chain(access, head), _searches(access, now), *_embeds(access))
    return HealthStatus((opened, *checks))


def _writes(access: Access) -> Check:
    """Makes an empty commit, which takes the lock and begins a transaction like a write."""
    try:
        access.ledger.commit(access.namespace, Wanted(), lambda _: Commit())
    except StoreError as error:
        return Check("writing", Health.DEGRADED, str(error))
    return Check("writing", Health.HEALTHY, "the lock can be taken")


def _chain(access: Access, head: Head) -> Check:
    """Checks the last block only; `verify` checks all of them."""
    if not head.position:
        return Check("chain", Health.HEALTHY, "no block yet")
    for back in _BACK:
        after = max(0, head.seq - back)
        found = access.ledger.blocks(access.namespace, after, back * WRITE_SLICE)
        if not found:
            continue
        last = found[-1]
        flaw = audit.flaw(last, head.position, last.prev_hash or b"")
        if flaw is None and last.hash != head.hash:
            flaw = "is not the last block that the store recorded"
        if flaw is not None:
            detail = f"the last block {flaw}; run `memory-mesh verify`"
            return Check("chain", Health.UNHEALTHY, detail)
        return Check("chain", Health.HEALTHY, f"the last block, {head.position}, is intact")
    return Check(
        "chain",
        Health.HEALTHY,
        "the last block is too far back to check here; run `memory-mesh verify`",
    )


def _searches(access: Access, now: datetime) -> Check:
    """Searches by keyword without recording the search."""
    quiet = replace(access, yamo=False, embedder=None)
    try:
        hits = recall(quiet, Query("health", Lens(now), 1, keyword_only=True), use_cache=False)
    except StoreError as error:
        return Check("search", Health.UNHEALTHY, str(error))
    if old := hits.explanation.to_reindex:
        detail = f"{_texts(old)} keyword terms of an earlier version; run `memory-mesh upkeep`"
        return Check("search", Health.DEGRADED, detail)
    return Check("search", Health.HEALTHY, "answers")


def _embeds(access: Access) -> Iterator[Check]:
    if access.embedder is None:
        detail = "no embedder is configured; search uses keywords"
        yield Check("embedder", Health.HEALTHY, detail)
        return
    try:
        embedding = access.embedder.embed(["health"], query=True)
    except EmbeddingError as error:
        yield Check("embedder", Health.DEGRADED, str(error))
        return
    note = embedding.note or _other_model(access)
    health = Health.HEALTHY if note is None else Health.DEGRADED
    yield Check("embedder", health, note or f"answers as {embedding.space.name}")
    with access.ledger.read(access.namespace) as snapshot:
        waiting = snapshot.pending(embedding.space, 0).count
    states = access.ledger.stats(access.namespace).spaces
    wrong = [f"{_texts(waiting)} no vector yet; run `memory-mesh upkeep`"] if waiting else []
    wrong += [OUTGROWN] if any(state.outgrown for state in states) else []
    health = Health.DEGRADED if wrong else Health.HEALTHY
    yield Check("vectors", health, "; ".join(wrong) or "every text has a vector")


def _other_model(access: Access) -> str | None:
    """Why this process does not search by the model that the namespace states as in use."""
    return away(access)


def _texts(count: int) -> str:
    return "1 text has" if count == 1 else f"{count} texts have"
