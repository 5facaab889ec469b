"""What every verb of a mesh stands on: its settings, its opened parts, who reads and writes."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh import config as configuration
from memory_mesh.errors import Closed
from memory_mesh.fastdataclass import replace
from memory_mesh.flows.access import Desk
from memory_mesh.model import (
    Channel,
    Draft,
    Lens,
    PredicateSchema,
    Scope,
    Source,
    SourceKind,
    Status,
)
from memory_mesh.policy.audience import lens_of
from memory_mesh.policy.writing.drafts import draft_of
from memory_mesh.policy.writing.trust import lowered
from memory_mesh.ports import LLM, Clock, Embedder, Sink
from memory_mesh.process import forks
from memory_mesh.store import Parts, assemble

_PARTING_SECONDS = 0.2  # closing feeds the sinks for at most this long


class OpenMesh:
    """A mesh that opens its store at the first use."""

    def __init__(
        self,
        config: configuration.Config,
        channel: Channel,
        clock: Clock | None,
        sinks: Sequence[Sink],
        models: tuple[Embedder | None, LLM | None],
    ) -> None:
        """Keep the settings; nothing is opened yet."""
        self._config = config
        self._channel, self._clock, self._sinks = Channel(channel), clock, tuple(sinks)
        self._embedder, self._llm = models
        self._parts: Parts | None = None
        self._closed = False
        self._opening = threading.Lock()
        self._unregistered: Mapping[str, PredicateSchema | Mapping[str, str]] = config.predicates

    def _opened(self) -> Parts:
        parts = self._parts
        if parts is None:
            parts = self._assembled()
        if self._unregistered:
            self._register(parts, self._unregistered)
            self._unregistered = {}
        return parts

    def _register(
        self, parts: Parts, schemas: Mapping[str, PredicateSchema | Mapping[str, str]]
    ) -> None:
        from memory_mesh.flows import review
        from memory_mesh.policy.claims.predicates import predicate_key, schema_of

        given = {predicate_key(name): schema_of(name, schema) for name, schema in schemas.items()}
        review.register(parts.desk(), given)

    def _assembled(self) -> Parts:
        # past the gate: no child is made while this lock is held
        with forks.inside_sqlite(), self._opening:
            if self._closed:
                raise Closed
            if self._parts is None:
                self._parts = assemble(self._config, self._clock, self._sinks, self._embedder)
            return self._parts

    def _release(self) -> None:
        """Write what waits, feed the sinks for a moment and release every file."""
        with forks.inside_sqlite(), self._opening:
            parts, self._parts, self._closed = self._parts, None, True
        if parts is None:
            return
        try:
            if parts.sinks:
                from memory_mesh.flows import upkeep

                upkeep.drain(parts.ledger, self._config.namespace, parts.sinks, _PARTING_SECONDS)
        finally:
            parts.close()

    def _desk(self) -> Desk:
        return self._opened().desk(self._source().kind)

    def _now(self) -> datetime:
        return self._opened().clock.now()

    def _reader(self, scope: Scope | None) -> Scope:
        """Who is asking: this mesh's own project, agent and session, where not given otherwise."""
        given = scope or Scope()
        return self._kept_scope(
            Scope(
                given.project or self._config.project,
                given.agent or self._config.agent_id,
                given.session or self._config.session,
            )
        )

    def _lens(
        self,
        scope: Scope | None,
        *,
        filter: str | None = None,
        across: Iterable[str] = (),
        include: Iterable[Status | str] = (),
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
    ) -> Lens:
        """What a read may see; a filter asks for what is kept, and that has no personal data."""
        redactor = self._opened().redactor
        if filter and redactor is not None:
            filter = redactor.text(filter)
        return lens_of(
            self._now(),
            self._reader(scope),
            filter=filter,
            across=across,
            include=include,
            as_of=as_of,
            valid_at=valid_at,
        )

    def _draft(self, content: object, metadata: object, details: Mapping[str, object]) -> Draft:
        """What is added is for this mesh's project and session unless the caller says otherwise."""
        own = Scope(self._config.project, None, self._config.session)
        if own != Scope() and "scope" not in details:
            details = {"scope": own} | dict(details)
        draft = draft_of(
            content, metadata, details, agent_id=self._config.agent_id, channel=self._channel
        )
        return self._kept_names(draft)

    def _drafted(self, item: str | Mapping[str, object] | Draft) -> Draft:
        if isinstance(item, Draft):
            return self._kept_names(item)
        if isinstance(item, str):
            return self._draft(item, None, {})
        details = {k: v for k, v in item.items() if k not in {"content", "metadata"}}
        return self._draft(item.get("content"), item.get("metadata"), details)

    def _own_scope(self, scope: Scope | None) -> Scope:
        """For whom something is written: as stated, else this mesh's project and session."""
        if scope is not None:
            return self._kept_scope(scope)
        return self._kept_scope(Scope(self._config.project, None, self._config.session))

    def _source(self) -> Source:
        """Where what this mesh learns comes from: its channel's ceiling."""
        kind = lowered(SourceKind.USER_EXPLICIT, self._channel)
        return Source(kind, self._channel, agent=self._config.agent_id)

    def _kept_names(self, draft: Draft) -> Draft:
        """The draft with its audience and key as they are kept."""
        redactor = self._opened().redactor
        if redactor is None or (draft.scope == Scope() and draft.key is None):
            return draft
        key = None if draft.key is None else redactor.text(draft.key)
        return replace(draft, scope=self._kept_scope(draft.scope), key=key)

    def _kept_scope(self, scope: Scope) -> Scope:
        """The same placeholder on either side: a session named by an address finds its own."""
        redactor = self._opened().redactor
        if redactor is None:
            return scope
        parts = (scope.project, scope.agent, scope.session)
        return Scope(*(None if part is None else redactor.text(part) for part in parts))
