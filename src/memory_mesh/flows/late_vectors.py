"""Texts that wait for a vector: a few before each search, all of them by upkeep."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from memory_mesh import log
from memory_mesh.errors import EmbeddingError, StoreError, TextRefused
from memory_mesh.flows.access import Access
from memory_mesh.flows.prepare import embed_chunks, embedder_failed
from memory_mesh.model import (
    Commit,
    Space,
    TextVectors,
    Wanted,
)
from memory_mesh.policy.writing.limits import WRITE_SLICE
from memory_mesh.ports import Embedder, Ledger

CATCH_UP_TEXTS = 32  # waiting texts one search embeds at most


def catch_up(access: Access, space: Space, waiting: Sequence[tuple[int, str]]) -> None:
    """Embeds these texts, which were stored without a vector."""
    if access.embedder is None:
        return
    try:
        _embed(access.ledger, access.namespace, access.embedder, space, waiting)
    except TextRefused:  # these texts have no vector, and the embedder is well
        return
    except EmbeddingError as error:  # they go on waiting, and the answer counts them
        embedder_failed(error)
    except StoreError:
        log.debug("late vectors could not be written", texts=len(waiting))


_PROBE = "which space is this"


def embed_all(access: Access, progress: Callable[[int], None] | None = None) -> int:
    """Embeds every text that has no vector in the embedder's space; returns how many."""
    if access.embedder is None:
        return 0
    start, done = log.started(), 0
    space = access.embedder.embed([_PROBE], query=True).space
    with suppress(TextRefused):  # only such texts are left
        while count := embed_waiting(
            access.ledger, access.namespace, access.embedder, space, WRITE_SLICE
        ):
            done += count
            if progress is not None:
                progress(done)
    log.info("embed", texts=done, ms=log.milliseconds(start))
    return done


def embed_waiting(
    ledger: Ledger, namespace: str, embedder: Embedder, space: Space, limit: int
) -> int:
    """Embeds at most `limit` texts that have no vector in a space; returns how many."""
    with ledger.read(namespace) as snapshot:
        waiting = snapshot.pending(space, limit).texts
    return _embed(ledger, namespace, embedder, space, waiting) if waiting else 0


def _embed(
    ledger: Ledger,
    namespace: str,
    embedder: Embedder,
    space: Space,
    waiting: Sequence[tuple[int, str]],
) -> int:
    from memory_mesh.policy import scrub  # most searches find nothing waiting

    embedded = embed_chunks(embedder, [scrub.chunks_of(text) for _, text in waiting])
    if not any(embedded):
        raise TextRefused
    late = tuple(
        TextVectors(number, *(found or (space, (), ())))
        for (number, _), found in zip(waiting, embedded, strict=True)
    )
    ledger.commit(namespace, Wanted(), lambda _: Commit(vectors=late))
    return sum(1 for found in late if found.space == space)
