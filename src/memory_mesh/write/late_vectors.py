"""Texts that wait for a vector: a few new ones during each search, all of them by upkeep.

A search spends at most a quarter of a second on them, and looks at the clock between small batches.
Long texts and whatever is left wait for upkeep; the answer says how many.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from memory_mesh.model import (
    Commit,
    EmbeddingError,
    Space,
    StoreError,
    TextRefused,
    TextVectors,
    Wanted,
)
from memory_mesh.model.ports import Embedder
from memory_mesh.model.reembedding import loaded
from memory_mesh.platform import locks, telemetry
from memory_mesh.rules.arguments import WRITE_SLICE
from memory_mesh.write.access import Access
from memory_mesh.write.prepare import embed_chunks, embedder_failed

CATCH_UP_TEXTS = 32  # waiting texts that one search embeds at most
CATCH_UP_CHARS = 2_000  # of a text; a longer one alone could take longer than a search may
CATCH_UP_SECONDS = 0.25  # after which a search begins no further batch
SEARCH_BATCH_CHARS = 1_000  # of the texts between two looks at the clock
UPKEEP_BATCH_CHARS = 50_000  # of the texts that upkeep embeds and commits together
SMALL_BATCH_CHARS = 2_000  # of those of an upkeep that gives way to others
_PROBE = "which space is this"
_Waiting = tuple[int, str]  # the number of a text, and the text


def catch_up(access: Access, space: Space, waiting: Sequence[_Waiting]) -> None:
    """Embeds these texts, which were stored without a vector, as far as the time allows.

    A caller that is in a hurry, such as a hook before a prompt, leaves them to others.
    """
    if access.embedder is None or locks.hurried(CATCH_UP_SECONDS):
        return
    end = access.timer() + CATCH_UP_SECONDS
    late: list[TextVectors] = []
    try:
        for batch in _batches(waiting, SEARCH_BATCH_CHARS):
            late += _embedded(access.embedder, space, batch)
            if access.timer() >= end:
                break
    except EmbeddingError as error:  # they go on waiting, and the answer counts them
        embedder_failed(error)
    try:
        with locks.at_most(0.0):  # a search waits for no writer: the next one tries again
            _commit(access, late)
    except TextRefused:  # these texts have no vector, and the embedder is well
        return
    except StoreError:
        telemetry.debug("late vectors could not be written", texts=len(waiting))


def embed_all(
    access: Access,
    progress: Callable[[int], None] | None = None,
    between: Callable[[], None] | None = None,
    *,
    chars: int | None = None,
    others: bool = False,
    waiting_first: Callable[[int], None] | None = None,
) -> int:
    """Embeds every text that has no vector in the embedder's space; returns how many.

    With `between`, the batches are small, and it is called after each; `chars` says how small.
    `others`: the embedder is known to take other texts, so what it refuses waits no more.
    `waiting_first` is called before the first batch with the number of texts that wait. It ends
    early where somebody gives the vectors of the space up.
    """
    if access.embedder is None:
        return 0
    start, done = telemetry.started(), 0
    space = access.embedder.embed([_PROBE], query=True).space
    chars = chars or (UPKEEP_BATCH_CHARS if between is None else SMALL_BATCH_CHARS)
    with suppress(TextRefused):  # only such texts are left
        while True:
            with access.ledger.read(access.namespace) as snapshot:
                pending = snapshot.pending(space, WRITE_SLICE)
            waiting = pending.texts
            if not waiting or _is_given_up(space, pending.stated):
                break
            if waiting_first is not None and not done:
                waiting_first(pending.count)
            refused: list[TextVectors] = []
            for batch in _batches(waiting, chars):
                late = _embedded(access.embedder, space, batch)
                taken = [one for one in late if one.vectors]
                refused += [one for one in late if not one.vectors]
                if not taken:
                    continue
                done += _commit(access, taken)
                if progress is not None:
                    progress(done)
                if between is not None:
                    between()
            some = others or len(refused) < len(waiting)
            done += _commit(access, refused, among_others=some)
    telemetry.info("embed", texts=done, ms=telemetry.milliseconds(start))
    return done


def _is_given_up(space: Space, stated: str | None) -> bool:
    """Whether the namespace takes no vectors of a space."""
    if stated is None:
        return False
    found = loaded(stated)
    return found is not None and space.name in found.dropped


def _batches(waiting: Iterable[_Waiting], chars: int) -> Iterator[list[_Waiting]]:
    """Whole texts with at most so many characters together; a longer one is alone."""
    batch: list[_Waiting] = []
    held = 0
    for number, text in waiting:
        if batch and held + len(text) > chars:
            yield batch
            batch, held = [], 0
        batch.append((number, text))
        held += len(text)
    if batch:
        yield batch


def _embedded(embedder: Embedder, space: Space, batch: Sequence[_Waiting]) -> list[TextVectors]:
    """The vectors of each text; none for one that the embedder does not take."""
    from memory_mesh.text import scrub  # most searches find nothing waiting

    embedded = embed_chunks(embedder, [scrub.chunks_of(text) for _, text in batch])
    return [
        TextVectors(number, *(found or (space, (), ())))
        for (number, _), found in zip(batch, embedded, strict=True)
    ]


def _commit(access: Access, late: Sequence[TextVectors], *, among_others: bool = False) -> int:
    """Writes vectors; raises TextRefused if there is none and no other text was taken either."""
    if late and not among_others and not any(one.vectors for one in late):
        raise TextRefused
    if late:
        access.ledger.commit(access.namespace, Wanted(), lambda _: Commit(vectors=tuple(late)))
    return len(late)
