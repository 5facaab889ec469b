"""Who reads and writes, and where: one namespace, scope and channel of an open store.

A view holds a `Store` and a few settings, no lock, file or thread: make any number of them. The
verbs (mesh/operations/) are methods of a view; each asks it for an `Access` and calls one flow.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from importlib import import_module
from operator import is_

from memory_mesh.base.typed import TYPE_CHECKING, Generic, Self, TypeVar, replace
from memory_mesh.config import Config
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import Operations, meant
from memory_mesh.mesh.store import OpenStore, Store
from memory_mesh.model import (
    Channel,
    Closed,
    Draft,
    InvalidInput,
    Json,
    Lens,
    MeshError,
    PredicateSchema,
    Scope,
    Source,
    Status,
)
from memory_mesh.model.ports import Embedder, Redactor, Snapshot
from memory_mesh.platform import telemetry
from memory_mesh.rules.arguments import check_text, member, unfit
from memory_mesh.rules.trust import AUDIENCE, ceiling, is_authoritative, lens_of, parsed_filter
from memory_mesh.write import prepare
from memory_mesh.write.access import Access

if TYPE_CHECKING:
    from typing import overload

    from memory_mesh.learn.model_calls import MeteredLLM
    from memory_mesh.model.query import GivenFilter
    from memory_mesh.model.reembedding import NamedModel
    from memory_mesh.model.trigger import InjectionRules

Schemas = Mapping[str, PredicateSchema | Mapping[str, str]]


class View(Operations):
    """One namespace of a store, as one reader and writer sees it."""

    def __init__(
        self,
        store: Store,
        config: Config,
        channel: Channel | str,
        *,
        owner: bool,
        meaning: bool = True,
    ) -> None:
        """Keep the store and the settings; only the owner's `close` closes the store.

        Without `meaning` this view embeds nothing and searches by words alone.
        """
        self._meaning = meaning
        self._store, self._config = store, config
        self._remote = store.remote
        self._channel = member("channel", Channel, channel)
        self._owner, self._closed = owner, False
        self._kind = ceiling(self._channel)  # of what this view learns
        self._kept: tuple[tuple[object, ...], Access] | None = None  # and what it was made of
        self._git_seconds = 5.0  # that git may take before a prompt; a hook has less
        self._folder: str | None = None  # of the reader; None: of this process; empty: elsewhere

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Say what was meant by a name that there is not."""
            raise AttributeError(meant(type(self), name, {}), name=name, obj=self)

    def _of_same_store(
        self,
        namespace: str | None,
        scope: Scope | None,
        channel: Channel | str | None,
        *,
        owner: bool = False,
    ) -> Self:
        """Another view of the same store; what is not given stays as it is here."""
        if namespace is not None and not check_text(namespace, "namespace"):
            raise InvalidInput("namespace must not be empty; leave it out to stay in this one")
        given, origins = scope or Scope(), self._config.origins
        config = replace(
            self._config,
            origins=origins if namespace is None else {**origins, "namespace": "option"},
            namespace=self._config.namespace if namespace is None else namespace,
            project=given.project or self._config.project,
            agent_id=given.agent or self._config.agent_id,
            session=given.session or self._config.session,
        )
        made = object.__new__(type(self))
        channel = self._channel if channel is None else channel
        View.__init__(made, self._store, config, channel, owner=owner, meaning=self._meaning)
        made._folder = self._folder
        return made

    def _opened(self) -> OpenStore:
        if self._closed:
            raise Closed
        opened = self._store.opened()
        if opened.sinks:
            opened.used.add(self._config.namespace)
        known = (self._config.namespace, *sorted(self._config.predicates))
        if self._config.predicates and known not in opened.registered:
            self._register(opened, self._config.predicates)
            opened.registered.add(known)
        return opened

    def _read(self) -> AbstractContextManager[Snapshot]:
        """One read transaction over this view's namespace."""
        return self._opened().ledger.read(self._config.namespace)

    def _ground(self, scope: Scope | None = None) -> "flows.erase.Ground":
        """Where an erasure happens, for this reader or another one."""
        address = self._config.store or str(self._opened().folder)
        return flows.erase.Ground(replace(self._access(), reader=self._reader(scope)), address)

    def _span(
        self, operation: str, *ids: str, attempted: int | None = None
    ) -> telemetry.SilentSpan:
        """The span of an operation on these memories; it records nothing if nobody listens."""
        if not telemetry.listening():
            return telemetry.NOTHING
        redacted = self._redacted if self._config.span_content else None
        many = len(ids) if ids and attempted is None else attempted
        return telemetry.RecordedSpan(
            operation, self._identity, ids=ids, attempted=many, redacted=redacted
        )

    def _identity(self) -> str:
        """The identity of the namespace; empty before its first write, or if it cannot be read."""
        try:
            with self._read() as snapshot:
                return snapshot.head().identity
        except MeshError:
            return ""

    def _add_predicates(self, schemas: Schemas) -> None:
        """Register further predicates at the first use."""
        self._config = replace(self._config, predicates={**self._config.predicates, **schemas})

    def _release(self) -> None:
        self._closed = True
        if self._owner:
            self._store.close()

    def _access(self) -> Access:
        """What the flows need to read and write here."""
        return self._access_to(self._opened())

    def _access_to(self, opened: OpenStore) -> Access:
        config = self._config
        namespace, redactor = config.namespace, opened.redactor(config.namespace)
        traced = opened.redactor(namespace, of_traces=True)
        embedder = opened.embedder_for(namespace) if self._meaning else None
        made_of = (opened, config, redactor, traced, embedder)
        if self._kept is not None and all(map(is_, made_of, self._kept[0])):
            return self._kept[1]
        access = self._new_access(opened, redactor, traced, embedder)
        stated = Scope(None, config.agent_id, config.session)
        if (
            access.reader == stated
        ):  # a project may get further names, and a placeholder another key
            self._kept = made_of, access
        return access

    def _new_access(
        self,
        opened: OpenStore,
        redactor: Redactor | None,
        traced: Redactor | None,
        embedder: Embedder | None,
    ) -> Access:
        config, namespace = self._config, self._config.namespace
        agent = prepare.redact_identity(redactor, config.agent_id)
        stored = prepare.redact_scope(redactor, Scope(config.project, None, config.session))
        return Access(
            ledger=opened.ledger,
            ids=opened.ids,
            cache=opened.cache,
            namespace=namespace,
            agent=agent,
            reader=self._named(opened, Scope(stored.project, agent, stored.session)),
            kind=self._kind,
            yamo=config.enable_yamo,
            embedder=embedder,
            redactor=redactor,
            warns=self._channel is Channel.LIBRARY,
            trace_redactor=traced,
            raw_input=config.raw_input,
            index=opened.existing_index,
            seal=opened.sealer(namespace),
            heritage_depth=config.max_heritage_depth if config.enable_heritage_tracking else None,
            timer=opened.clock.monotonic,
            pattern_vectors=opened.pattern_vectors,
            read_claims=config.read_claims,
            link_similar=config.link_similar,
            models=_Models(opened),
        )

    def _metered_llm(self, task: str) -> "MeteredLLM | None":
        """The language model, whose calls are counted; None if there is none."""
        llm, most = self._opened().llm(), self._config.llm_tokens_per_day
        if llm is None:
            return None
        return flows.model_calls.MeteredLLM(
            llm, self._access(), self._now(), task=task, tokens_per_day=most
        )

    def _register(self, opened: OpenStore, schemas: Schemas) -> None:
        from memory_mesh.write.claims.comparison import predicate_key, schema_of

        access = self._access_to(opened)
        given = {
            predicate_key(prepare.redact(access, name)): schema_of(name, schema)
            for name, schema in schemas.items()
        }
        flows.review.register(access, given)

    def _now(self) -> datetime:
        return self._opened().clock.now()

    def _reader(self, scope: Scope | None, *, named: bool = True) -> Scope:
        """Who is asking: this view's project, agent and session where the caller names none.

        Without `named` the further names of the project are still to be read.
        """
        given = scope or Scope()
        stored = self._stored_scope(
            Scope(
                given.project or self._config.project,
                given.agent or self._config.agent_id,
                given.session or self._config.session,
            )
        )
        return self._named(self._opened(), stored) if named else stored

    def _named(self, opened: OpenStore, reader: Scope) -> Scope:
        """The reader with the further names of its project."""
        if reader.project is None:
            return reader
        known = flows.projects.names(opened.ledger, self._config.namespace, reader.project)
        return replace(reader, names=known.all)

    def _cited_in(self, text: str) -> "list[dict[str, Json]]":
        """The files and symbols of the reader's folder that a text names."""
        if not self._folder:
            return []
        from memory_mesh.evidence.mentions import named_in

        return [one.as_json() for one in named_in(self._folder, text)]

    def _lens(
        self,
        scope: Scope | None,
        *,
        filter: "GivenFilter" = None,
        across: Iterable[str] = (),
        include: Iterable[Status | str] = (),
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        named: bool = True,
    ) -> Lens:
        """What a read may see; a filter is redacted like the texts it is compared with."""
        where = parsed_filter(filter)
        if where is not None:
            where = prepare.redact_filter(self._redactor(), where)
        return lens_of(
            self._now(),
            self._reader(scope, named=named),
            where=where,
            across=across,
            include=include,
            as_of=as_of,
            valid_at=valid_at,
            session_days=self._config.session_days,
        )

    def _owned(self, scope: Scope | None, *, as_owner: bool) -> Lens:
        """What a listing may see: what is for the reader, or for the owner everything."""
        return self._lens(scope, across=AUDIENCE if as_owner else ())

    def _injection_rules(self, agent: str) -> "InjectionRules":
        """How memories are selected for an agent, by the settings."""
        from memory_mesh.search.triggers.selection import rules_of

        config = self._config
        return rules_of(
            config.injection,
            agent,
            per_title_word=config.points_per_title_word,
            per_tag=config.points_per_tag,
            min_usefulness=config.injection_min_usefulness,
            min_similarity=config.trigger_min_similarity,
        )

    def _draft(self, content: object, metadata: object, details: Mapping[str, object]) -> Draft:
        """A draft for this view's project and session unless the caller names another scope."""
        from memory_mesh.write.rules.drafts import by_policy, draft_of  # reads make none

        details = self._completed(details)
        own = Scope(self._config.project, None, self._config.session)
        if own != Scope() and "scope" not in details:
            details = {"scope": own} | dict(details)
        agent = self._config.agent_id
        draft = draft_of(content, metadata, details, agent_id=agent, channel=self._channel)
        if details.get("evidence") and self._folder != "":
            from memory_mesh.evidence.work_tree import doubts

            for_all = draft.scope.project is None
            said = doubts(self._folder or ".", draft.extra, for_all=for_all)
            draft = replace(draft, notes=(*draft.notes, *said))
        return by_policy(
            draft, self._config.expiry, self._now(), freely=is_authoritative(self._kind)
        )

    def _completed(self, details: Mapping[str, object]) -> Mapping[str, object]:
        """The options with `expires_at` for `ttl`, and with what stands at the places they cite."""
        if "ttl" in details:
            from memory_mesh.write.rules.drafts import with_end

            details = with_end(details, self._now())
        given = details.get("evidence") if self._folder != "" else None
        if given:
            from memory_mesh.evidence.work_tree import cite

            details = {**details, "evidence": cite(self._folder or ".", given)}
        return details

    def _fit(self, draft: Draft) -> Draft:
        """The draft, if its text can be a memory; of many texts each is refused by itself."""
        if fault := unfit(draft.text):
            raise InvalidInput(fault)
        return draft

    def _drafted(self, item: str | Mapping[str, object] | Draft) -> Draft:
        if isinstance(item, Draft):
            from memory_mesh.write.rules.drafts import by_policy, check_ready  # few make drafts

            draft = self._spoken(check_ready(item))
            return by_policy(
                draft, self._config.expiry, self._now(), freely=is_authoritative(self._kind)
            )
        if isinstance(item, str):
            return self._draft(item, None, {})
        if not isinstance(item, Mapping):
            raise InvalidInput("an item must be a text, or a mapping with content and options")
        details = {k: v for k, v in item.items() if k not in {"content", "metadata"}}
        return self._draft(item.get("content"), item.get("metadata"), details)

    def _spoken(self, draft: Draft) -> Draft:
        """A ready draft, never above this view's ceiling; one without a kind gets its writer's."""
        from memory_mesh.write.rules.speakers import bounded  # reads make no draft

        if draft.origin is not None and draft.origin.kept is not None:
            if is_authoritative(self._kind):
                return draft
            draft = replace(draft, origin=replace(draft.origin, kept=None))
        return bounded(draft, self._channel)

    def _own_scope(self, scope: Scope | None) -> Scope:
        """The scope of a write: as stated, else this view's project and session."""
        if scope is None:
            scope = Scope(self._config.project, None, self._config.session)
        return self._stored_scope(scope)

    def _source(self) -> Source:
        """The source of what this view learns, with the trust of its channel."""
        return Source(self._kind, self._channel, agent=self._config.agent_id)

    def _stored_scope(self, scope: Scope) -> Scope:
        """The scope as the ledger holds it: names are redacted like any other text."""
        return prepare.redact_scope(self._redactor(), scope)

    def _redacted(self, text: str) -> str:
        """A text as it would be stored, for what is made of it before it is."""
        return prepare.redact_with(self._redactor(), text)

    def _stored_id(self, id_: str) -> str:
        """An id of another store as it would be stored."""
        return prepare.redact_identity(self._redactor(), id_)

    def _redactor(self) -> Redactor | None:
        return self._opened().redactor(self._config.namespace)


class _Models:
    """Implements `flows.access.Models`; nothing is loaded before a namespace names a model."""

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened

    def find(self, named: "NamedModel") -> Embedder | None:
        """The model of a space; None where this process cannot open it."""
        return self._opened.models().find(named)

    def use(self, namespace: str, embedder: Embedder) -> None:
        """Let later calls use it for a namespace."""
        self._opened.models().use(namespace, embedder)


Kind = TypeVar("Kind", bound=View)


def family(kind: type[Kind], view: View) -> Kind:
    """The operations of another class on the same view: the same store, settings and state."""
    made = object.__new__(kind)
    made.__dict__ = view.__dict__
    return made


class Family(Generic[Kind]):
    """A family of operations as an attribute of a view, and of its class: loaded when it is used.

    `mesh.review` is the view as another class, `MemoryMesh.review` that class.
    """

    def __init__(self, module: str, name: str, about: str) -> None:
        """Take the module of mesh/operations/ and the class, and say what the family is for."""
        self.module, self.name, self.__doc__ = f"{__package__}.operations.{module}", name, about

    if TYPE_CHECKING:

        @overload
        def __get__(self, view: None, owner: type) -> type[Kind]: ...
        @overload
        def __get__(self, view: View, owner: type) -> Kind: ...

    def __get__(self, view: View | None, owner: type) -> Kind | type[Kind]:
        """The family of a view, or its class."""
        kind: type[Kind] = getattr(import_module(self.module), self.name)
        return kind if view is None else family(kind, view)
