"""One embedder out of several: the first that answers, each with its own cache.

::

    for each embedder in order:
        all texts in its cache      -> answer from there, also while it is down
        cooling down                -> next
        ask it for what is missing  -> answer, or cool down for a minute and next
    nobody answered                 -> EmbeddingError with every reason

An answer is of one embedder as a whole, so that vectors of two spaces never meet.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.model import Embedding, EmbeddingError, MeshError, Space, TextRefused
from memory_mesh.model.ports import Clock, Embedder

_FLOAT_BYTES = 4

ENTRIES = 1000  # RFC-0011 §7.1
COOL_DOWN = timedelta(seconds=60)
_WINDOWS_KEPT = 8  # a text of more windows is not cached: entries stay small, memory bounded

Key = tuple[bytes, bool]
Windows = tuple[bytes, ...]


class Chain:
    """Primary and fallbacks by name, asked in order; safe in threads."""

    def __init__(self, embedders: Mapping[str, Embedder], clock: Clock) -> None:
        self._services = [_Service(name, embedder) for name, embedder in embedders.items()]
        self._clock = clock
        self._answering = self._services[0].name

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """The first answer; a note says when it is not the primary's."""
        failures = list[_Failure]()
        for service in self._services:
            found = service.answer(texts, query=query, clock=self._clock)
            if isinstance(found, _Failure):
                failures.append(found)
                continue
            note = self._note(failures[0], service.name) if failures else None
            self._tell(service.name, note)
            return replace(found, note=note)
        reasons = "; ".join(f"{failure.name}: {failure.reason}" for failure in failures)
        if all(failure.of_the_text for failure in failures):
            raise TextRefused(f"no embedder takes this text ({reasons})")
        raise EmbeddingError(
            f"no embedder answered ({reasons}). Search goes on by keyword and texts wait for their "
            "vectors. Mend the service, or install the local model: memory-mesh models pull"
        )

    def close(self) -> None:
        """Release every model; the caches are gone with it."""
        for service in self._services:
            service.close()

    def after_fork(self) -> None:
        """Gives a child new locks; each embedder resets its own model."""
        for service in self._services:
            service.cache.after_fork()

    def _note(self, failure: "_Failure", answering: str) -> str:
        return (
            f"the primary embedder {failure.name} is down: {failure.reason}; "
            f"answered by {answering}"
        )

    def _tell(self, answering: str, note: str | None) -> None:
        """Log a change of who answers, once."""
        before, self._answering = self._answering, answering
        if before == answering:
            return
        import logging

        if note:
            logging.getLogger("memory_mesh").warning(note)
        else:
            logging.getLogger("memory_mesh").info(
                "the primary embedder %s answers again", answering
            )


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why one embedder gave no answer."""

    name: str
    reason: str
    of_the_text: bool = False


class _Service:
    """One embedder with its cache and its last failure."""

    def __init__(self, name: str, embedder: Embedder) -> None:
        self.name, self.cache = name, VectorCache()
        self._embedder = embedder
        self._failed: tuple[datetime, _Failure] | None = None

    def answer(self, texts: Sequence[str], *, query: bool, clock: Clock) -> "Embedding | _Failure":
        """Vectors out of the cache and, for the rest, of the embedder."""
        keys = [
            (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), query)
            for text in texts
        ]
        space, known = self.cache.get(keys)
        asked = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if space is not None and not asked:
            return Embedding(space, tuple(known[key] for key in keys))
        if (failure := self._cooling(clock.now())) is not None:
            return failure
        try:
            fresh = self._embedder.embed(list(asked.values()), query=query)
            if known and fresh.space != space:  # the model was replaced; no vector of the old one
                known, asked = {}, dict(zip(keys, texts, strict=True))
                fresh = self._embedder.embed(list(asked.values()), query=query)
        except TextRefused as error:  # the service is well: nothing to cool down
            return _Failure(self.name, str(error).rstrip("."), of_the_text=True)
        except MeshError as error:
            failure = _Failure(self.name, str(error).rstrip("."))
            self._failed = (clock.now(), failure)  # after the attempt, which may have taken a while
            return failure
        self._failed = None
        known |= dict(zip(asked, fresh.vectors, strict=True))
        self.cache.put(fresh.space, known)
        return Embedding(fresh.space, tuple(known[key] for key in keys))

    def _cooling(self, now: datetime) -> "_Failure | None":
        failed = self._failed
        if failed is not None and failed[0] <= now < failed[0] + COOL_DOWN:
            return failed[1]
        return None

    def close(self) -> None:
        self.cache.clear()
        self._embedder.close()


class VectorCache:
    """Vectors of the thousand texts last asked for, by hash, all of one space; never on disk."""

    def __init__(self) -> None:
        self._space: Space | None = None
        self._entries: OrderedDict[Key, Windows] = OrderedDict()
        self._mutex = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, keys: Sequence[Key]) -> tuple[Space | None, dict[Key, Windows]]:
        """What is known of these, and the space it is of."""
        with self._mutex:
            found = {key: self._entries[key] for key in keys if key in self._entries}
            for key in found:
                self._entries.move_to_end(key)
            return self._space, found

    def put(self, space: Space, known: Mapping[Key, Windows]) -> None:
        """Keep these, drop what was not asked for longest."""
        with self._mutex:
            if space != self._space:
                self._space, self._entries = space, OrderedDict()
            for key, windows in known.items():
                if len(windows) <= _WINDOWS_KEPT:
                    self._entries[key] = windows
                    self._entries.move_to_end(key)
            while len(self._entries) > ENTRIES:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._mutex:
            self._space, self._entries = None, OrderedDict()

    def after_fork(self) -> None:
        """A child starts with its own lock."""
        self._mutex = threading.Lock()


# An embedder of the caller's own, held to what the port promises.


class Checked:
    """Whatever goes wrong inside becomes EmbeddingError: a text is stored all the same."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __eq__(self, other: object) -> bool:
        """Equal if both hold the same embedder: two stores may have been given one."""
        return isinstance(other, Checked) and other._embedder is self._embedder

    def __hash__(self) -> int:
        """By the embedder it holds."""
        return id(self._embedder)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """The embedder's vectors, if there is one of the right length for every text."""
        try:
            embedding = self._embedder.embed(texts, query=query)
        except EmbeddingError:
            raise
        except Exception as error:  # a plug-in's errors are its own
            raise EmbeddingError(f"the embedder failed: {type(error).__name__}: {error}") from error
        size = _FLOAT_BYTES * embedding.space.dimension
        if len(embedding.vectors) != len(texts) or not all(embedding.vectors):
            raise EmbeddingError(f"the embedder did not answer each of {len(texts)} texts")
        if any(len(vector) != size for parts in embedding.vectors for vector in parts):
            raise EmbeddingError(
                f"a vector of {embedding.space.name} has another length than its space"
            )
        return embedding

    def close(self) -> None:
        """Pass it on."""
        self._embedder.close()
