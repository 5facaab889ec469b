"""`MemoryMesh`, blocking and thread-safe: one short method per verb.

The async face `memory_mesh.MemoryMesh` is generated from this file; see `tools/generate_async.py`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from memory_mesh import config as configuration
from memory_mesh.errors import MissingExtra, NotFound
from memory_mesh.formats import rfc11
from memory_mesh.model import (
    Block,
    Body,
    Channel,
    Draft,
    Hit,
    Hits,
    Memory,
    Page,
    Part,
    Query,
    Receipt,
    Scope,
    Space,
    Stats,
    Status,
    UpkeepReport,
    Verification,
)
from memory_mesh.policy.arguments import check_limit, check_text, checked_share
from memory_mesh.policy.audience import sees
from memory_mesh.policy.writing import audit
from memory_mesh.policy.writing.drafts import Details, alteration
from memory_mesh.ports import LLM, Clock, Embedder, Sink
from memory_mesh.process.cache import CacheStats
from memory_mesh.verbs.lessons import Wisdom
from memory_mesh.verbs.review import Judging
from memory_mesh.verbs.skills import Practice

_UPKEEP_SECONDS = 60.0  # upkeep() feeds the sinks for at most this long


class MemoryMesh(Wisdom, Practice, Judging):
    """Long-term memory in one namespace of one store, shared by any number of processes."""

    def __init__(
        self,
        *,
        channel: Channel = Channel.LIBRARY,
        clock: Clock | None = None,
        sinks: Sequence[Sink] = (),
        custom_embedder: Embedder | None = None,
        custom_llm: LLM | None = None,
        **settings: Unpack[configuration.Settings],
    ) -> None:
        """Take the settings; nothing is opened before the first use or `init`."""
        super().__init__(
            configuration.load(settings), channel, clock, sinks, (custom_embedder, custom_llm)
        )

    @property
    def config(self) -> configuration.Config:
        """The effective settings."""
        return self._config

    @property
    def folder(self) -> Path:
        """Where the store lies."""
        return self._opened().folder

    def __enter__(self) -> Self:
        """Open the store."""
        self.init()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        self.close()

    def init(self) -> None:
        """Open the store; calling it twice is fine, and every other method does it if needed.

        Skill files that are new or changed since the last time are taken in.
        """
        self._opened()
        if self._config.skill_directories:
            self._watch_skills()

    def close(self) -> None:
        """Write what waits, feed the sinks for at most 0.2 seconds and release every file."""
        self._release()

    def add(
        self,
        content: str,
        metadata: Mapping[str, object] | None = None,
        **details: Unpack[Details],
    ) -> Receipt:
        """Store one memory; the receipt says what became of it and why."""
        return self.add_many([self._draft(content, metadata, details)])[0]

    def ingest(
        self,
        content: str,
        metadata: Mapping[str, object] | None = None,
        **details: Unpack[Details],
    ) -> Receipt:
        """The same as `add`, for ever."""
        return self.add(content, metadata, **details)

    def add_many(
        self,
        items: Iterable[str | Mapping[str, object] | Draft],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> list[Receipt]:
        """Store many in slices of 256, each one transaction; a receipt for each, in order.

        An item is a text, or a mapping with `content`, `metadata` and any detail of `add`. Give
        each a `key` and an interrupted load can simply be run again. `progress` hears the count.
        """
        from memory_mesh.flows import remember

        drafts = [self._drafted(item) for item in items]
        return remember.remember(self._desk(), drafts, progress)

    def get(
        self,
        memory_id: str,
        *,
        scope: Scope | None = None,
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        include: Iterable[Status | str] = (),
    ) -> Memory | None:
        """One memory, or None when there is none to see; opening it counts as use."""
        found = self.get_many(
            [memory_id], scope=scope, as_of=as_of, valid_at=valid_at, include=include
        )
        return found[0] if found else None

    def get_many(
        self,
        ids: Sequence[str],
        *,
        scope: Scope | None = None,
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        include: Iterable[Status | str] = (),
    ) -> list[Memory]:
        """Those of the memories that can be seen, in the order asked."""
        from memory_mesh.flows import recall

        parts = self._opened()
        lens = self._lens(scope, as_of=as_of, valid_at=valid_at, include=include)
        return recall.open_memories(parts.reader(), list(ids), lens)

    def get_all(
        self,
        *,
        limit: int = 100,
        filter: str | None = None,
        cursor: str | None = None,
        scope: Scope | None = None,
        across: Iterable[str] = (),
        include: Iterable[Status | str] = (),
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
    ) -> Page:
        """Memories newest first, `limit` at a time; the list's `cursor` asks for the rest."""
        parts = self._opened()
        lens = self._lens(
            scope,
            filter=filter,
            across=across,
            include=include,
            as_of=as_of,
            valid_at=valid_at,
        )
        with parts.ledger.read(self._config.namespace) as snapshot:
            return snapshot.page(lens, check_limit(limit), cursor)

    def history(self, memory_id: str, *, scope: Scope | None = None) -> list[Memory]:
        """Every recorded version of one memory, oldest first."""
        with self._opened().ledger.read(self._config.namespace) as snapshot:
            versions = snapshot.history(memory_id)
        reader = self._reader(scope)
        return [version for version in versions if sees(reader, version.scope)]

    def update(
        self,
        memory_id: str,
        content: str | None = None,
        metadata: Mapping[str, object] | None = None,
        *,
        merge: bool = False,
        reader: Scope | None = None,
        reason: str = "updated by the caller",
        **details: Unpack[Details],
    ) -> Memory:
        """Record a new version; what is not given stays.

        Metadata is replaced as a whole, or with `merge` key by key.
        """
        from memory_mesh.flows import change

        if details.get("scope") is not None:
            details["scope"] = self._kept_scope(details["scope"])
        alter = alteration(content, metadata, details, channel=self._channel, merge=merge)
        return change.update(
            self._desk(), memory_id, self._reader(reader), alter, text=content, reason=reason
        )

    def pin(self, memory_id: str, *, pinned: bool = True, scope: Scope | None = None) -> Memory:
        """Mark a memory as always wanted, or take the mark away."""
        from memory_mesh.flows import change

        return change.pin(self._desk(), memory_id, self._reader(scope), pinned=pinned)

    def delete(
        self, memory_id: str, *, scope: Scope | None = None, reason: str = "deleted by the caller"
    ) -> None:
        """Hide a memory from every read of the present; restorable for 30 days."""
        from memory_mesh.flows import change

        change.delete(self._desk(), memory_id, self._reader(scope), reason)

    def restore(self, memory_id: str, *, scope: Scope | None = None) -> Memory:
        """Bring a deleted memory back as it was."""
        from memory_mesh.flows import change

        return change.restore(self._desk(), memory_id, self._reader(scope))

    def rate(self, memory_id: str, *, helpful: bool, scope: Scope | None = None) -> None:
        """Say whether a recalled memory was of use; votes are counted, nothing else changes."""
        parts, namespace = self._opened(), self._config.namespace
        lens = self._lens(scope)
        with parts.ledger.read(namespace) as snapshot:
            if not snapshot.get([memory_id], lens):
                raise NotFound
        parts.ledger.vote(namespace, memory_id, helpful=helpful)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        filter: str | None = None,
        use_cache: bool = True,
        scope: Scope | None = None,
        across: Iterable[str] = (),
        include: Iterable[Status | str] = (),
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        profile: str = "mesh",
        keyword_only: bool = False,
        weights: Mapping[str, float] | None = None,
        min_similarity: float | None = None,
        min_relevance: float = 0.0,
    ) -> Hits:
        """The best memories for a question, best first, each with the parts of its score.

        A score is the chance that the memory answers: with `min_relevance` 0.1 or so, a question
        that nothing answers gets an empty list. The list's `explanation` says which legs answered,
        how many memories still wait for their vector or for today's keyword terms, and whether an
        embedder was down.
        """
        from memory_mesh.flows import recall

        parts = self._opened()
        lens = self._lens(
            scope,
            filter=filter,
            across=across,
            include=include,
            as_of=as_of,
            valid_at=valid_at,
        )
        question = Query(
            check_text(query, "query"),
            lens,
            check_limit(limit),
            profile,
            keyword_only,
            dict(weights or {}),
            min_similarity,
            checked_share("min_relevance", min_relevance),
        )
        return recall.recall(parts.reader(), question, use_cache=use_cache)

    def vectors(self, ids: Sequence[str], space: Space) -> dict[str, list[Part]]:
        """The vectors that memories have in one of the spaces that `stats` lists."""
        with self._opened().ledger.read(self._config.namespace) as snapshot:
            return snapshot.vectors(space, list(ids))

    def blocks(self, *, after_seq: int = 0, limit: int = 100) -> list[Block]:
        """The audit chain's blocks, oldest first, whole writes only."""
        return self._opened().ledger.blocks(self._config.namespace, after_seq, limit)

    def recalls(self, *, limit: int = 100) -> list[Block]:
        """The latest recall blocks, newest first; those that still wait in a process are not."""
        return self._opened().ledger.recalls(self._config.namespace, limit)

    def stats(self) -> Stats:
        """The namespace in numbers."""
        return self._opened().ledger.stats(self._config.namespace)

    def verify(
        self,
        *,
        checkpoint: str | PathLike[str] | None = None,
        against: str | PathLike[str] | None = None,
    ) -> Verification:
        """Check the chain and every invariant; write a checkpoint, or compare with one."""
        from memory_mesh.flows import upkeep

        parts = self._opened()
        held = None if against is None else _read(against)
        verification = upkeep.verify(parts.ledger, self._config.namespace, held)
        if checkpoint is not None:
            if verification.head is None or not verification.head.position:
                message = (
                    f"the namespace {self._config.namespace!r} is empty: nothing to checkpoint"
                )
                raise NotFound(message)
            mark = audit.checkpoint(verification.head, parts.clock.now())
            Path(checkpoint).write_text(mark + "\n", encoding="utf-8")
        return verification

    def upkeep(self, *, progress: Callable[[int], None] | None = None) -> UpkeepReport:
        """The heartbeat: old terms, vectors for waiting texts, the index, the sinks, due lessons.

        May be interrupted at any point and run again. `progress` hears how many were embedded.
        """
        from memory_mesh.flows import late_vectors, upkeep

        parts, namespace = self._opened(), self._config.namespace
        reindexed = upkeep.reindex(parts.ledger, namespace)
        embedded = late_vectors.embed_all(parts.desk(), progress)
        states = parts.ledger.stats(namespace).spaces
        wanted = any(state.body or upkeep.worth_an_index(state) for state in states)
        index = parts.index() if wanted else None
        bodies = upkeep.absorb(parts.ledger, index, namespace) if index is not None else []
        told = upkeep.drain(parts.ledger, namespace, parts.sinks, _UPKEEP_SECONDS)
        learned = 0
        if self._config.enable_wisdom_distillation and self.distillation_due():
            learned = len(self.distill().learned)
        return UpkeepReport(
            embedded, tuple(bodies), sinks_told=told, lessons=learned, reindexed=reindexed
        )

    def rebuild_index(self) -> list[Body]:
        """Make the index anew from the ledger; nothing is ever lost with it."""
        from memory_mesh.flows import upkeep

        parts = self._opened()
        index = parts.index()
        if index is None:
            raise MissingExtra.of("lance", "the index of large stores")
        return upkeep.rebuild(parts.ledger, index, self._config.namespace)

    def rebuild_terms(self) -> int:
        """Write the keyword terms of every text and skill anew; how many there are."""
        from memory_mesh.flows import upkeep

        return upkeep.reindex(self._opened().ledger, self._config.namespace, everything=True)

    def namespaces(self) -> list[str]:
        """The names of all namespaces in the store, sorted."""
        return list(self._opened().ledger.namespaces())

    def clear_cache(self) -> None:
        """Forget cached answers."""
        self._opened().cache.clear()

    def get_cache_stats(self) -> CacheStats:
        """How the search cache does."""
        return self._opened().cache.stats()

    def format_results(self, results: Sequence[Hit]) -> str:
        """RFC-0011's prompt text for search results."""
        return rfc11.results(results)


def _read(path: str | PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"there is no file {path}"
        raise NotFound(message) from None
