"""What a process opens once per store: ledger, embedder, index, language model, cache and keys.

::

    Store ── first use ──▶ OpenStore(ledger, cache, ids …)  ── close ──▶ Closed
      ▲
      └── any number of views (view.py): namespace, scope and channel, no files of their own
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, Any, replace
from memory_mesh.care.store_keys import Sealer, StoreKeys
from memory_mesh.config import Config
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.mesh import flows
from memory_mesh.model import Closed, EmbeddingError, InvalidInput, MeshError, Space, StoreError
from memory_mesh.model.ports import LLM, Clock, Embedder, Index, Ledger, Redactor, Reranker, Sink
from memory_mesh.model.reembedding import NamedModel, named
from memory_mesh.platform import forks
from memory_mesh.platform.cache import SearchCache
from memory_mesh.platform.ids import MonotonicIds, SystemClock
from memory_mesh.platform.store_urls import is_service, refuse_service
from memory_mesh.privacy import PrivacyRule
from memory_mesh.privacy.redactor import StoreRedactor

if TYPE_CHECKING:
    from memory_mesh.ledgers.postgres.transactions import Transactions
    from memory_mesh.mesh.remote import RemoteStore
    from memory_mesh.model.memory import Project
    from memory_mesh.platform.projects import Repository

RETRY_SECONDS = 60.0  # after which a model that could not be opened is tried again
MODEL_SETTINGS = (
    "embedder",
    "embedder_model",
    "embedder_dimension",
    "embedder_base_url",
    "embedder_api_key",
    "model_dir",
)
_HERE = frozenset({"local", "static"})  # models that lie on this machine
_PROBE = "which space is this"

CLOSING_SECONDS = 0.2  # `close` feeds the sinks for at most this long
KEPT_REDACTORS = 64  # namespaces whose redactor is kept in memory


class Store:
    """One store in one process: opened at the first use, closed once, shared by all its views."""

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        sinks: Sequence[Sink] = (),
        embedder: Embedder | None = None,
        llm: LLM | None = None,
        reranker: Reranker | None = None,
        environment: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> None:
        """Keep the settings; nothing is opened yet.

        `environment` says where the key lies, what the user is called and how libpq connects; by
        default this process's own.
        """
        self._environment = environment
        self.remote: RemoteStore | None = None
        if config.store is not None and is_service(config.store):
            self.remote = service(config.store, key, environment)
        self._config, self._clock, self._sinks = config, clock or SystemClock(), tuple(sinks)
        self._embedder, self._llm, self._reranker = embedder, llm, reranker
        self._open: OpenStore | None = None
        self._closed = False
        self._opening = threading.Lock()

    def opened(self) -> "OpenStore":
        """The open store; raises Closed after `close`."""
        found = self._open
        if found is not None:
            return found
        refuse_service(self._config.store)
        # The gate comes first, so that no process forks while this lock is held.
        with forks.inside_sqlite(), self._opening:
            if self._closed:
                raise Closed
            if self._open is None:
                self._open = OpenStore(
                    self._config,
                    self._clock,
                    self._sinks,
                    embedder=self._embedder,
                    llm=self._llm,
                    reranker=self._reranker,
                    environment=self._environment,
                )
            return self._open

    def warm_up(self) -> None:
        """Loads the model; one that fails is asked again by the request that needs it."""
        with suppress(MeshError):
            embedder = self.opened().embedder()
            if embedder is not None:
                embedder.embed(["warm"], query=True)

    def close(self) -> None:
        """Write what is buffered, feed the sinks for a moment and release every file."""
        if self.remote is not None:
            self.remote.close()
        with forks.inside_sqlite(), self._opening:
            found, self._open, self._closed = self._open, None, True
        if found is None:
            return
        try:
            found.feed_sinks(CLOSING_SECONDS)
        finally:
            found.close()


def service(url: str, key: str | None, environment: Mapping[str, str] | None) -> "RemoteStore":
    """The service behind a URL, opened with the key that is given or in the environment."""
    from memory_mesh.mesh.remote import RemoteStore

    known = os.environ if environment is None else environment
    return RemoteStore(url, key or known.get("MEMORY_MESH_ACCESS_KEY"))


class OpenStore:
    """The engines of one store; embedder, index and language model load at their first use."""

    def __init__(
        self,
        config: Config,
        clock: Clock,
        sinks: Sequence[Sink],
        *,
        embedder: Embedder | None = None,
        llm: LLM | None = None,
        reranker: Reranker | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._config, self._environment = config, environment
        self.clock: Clock = clock
        self.sinks: tuple[Sink, ...] = tuple(sinks)
        self._temporary: weakref.finalize[[Path, int], OpenStore] | None = None
        self.folder: Path = config.db_dir if config.enable_memory else self._temporary_folder()
        self._keys = StoreKeys(self.folder, environment)
        self.ledger: Ledger = self._ledger()
        self.ids: MonotonicIds = MonotonicIds(clock)
        self.cache: SearchCache = SearchCache()
        self.pattern_vectors: dict[tuple[str, str], bytes] = {}
        self.registered: set[tuple[str, ...]] = set()  # namespaces, each with known predicates
        self.projects: dict[tuple[str, Repository], Project] = {}  # taken note of, by namespace
        self.woken: dict[str, float] = {}  # seconds for each that a search has not told of yet
        self.used: set[str] = set()  # namespaces whose sinks `close` feeds
        self._redactors: dict[tuple[str, bool], StoreRedactor] = {}
        self._embedder = _checked(embedder)
        self._embedder_chosen = embedder is not None
        self._index: Index | None = None
        self._llm = llm
        self._custom_reranker = reranker
        self._reranker: Reranker | None = None
        self._models: StoreModels | None = None
        self._choosing = threading.Lock()
        forks.protect(self.cache)
        forks.protect(self)

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that the store was opened with."""
        return os.environ if self._environment is None else self._environment

    def _ledger(self) -> Ledger:
        """The ledger in the folder, or in the database that the settings name."""
        config = self._config
        if config.store is not None and config.enable_memory:
            from memory_mesh.platform.extras import need

            need("psycopg", extra="postgres", purpose="a store in PostgreSQL")
            from memory_mesh.care import key_file

            key_file.need_key(self.folder, self.environment)
            from memory_mesh.ledgers.postgres.ledger import PostgresLedger
            from memory_mesh.ledgers.postgres.pool import with_variables

            return PostgresLedger(
                with_variables(config.store, self._environment),
                self.clock,
                secret=self._keys.ring.keys()[0].secret,
                recall_days=config.recall_days,
                lock_wait=config.lock_wait_seconds,
                keys=lambda: key_file.checks(self._keys.ring.keys()),
                wake=self._wake,
            )
        return SqliteLedger(
            self.folder,
            self.clock,
            allow_network=config.allow_network_folder,
            recall_days=config.recall_days,
            lock_wait=config.lock_wait_seconds,
        )

    def _wake(self, database: "Transactions", namespace: str) -> None:
        """Brings a cold namespace back, and remembers for the answer how long that took."""
        from memory_mesh.care.cold import wake

        if len(self.woken) >= KEPT_REDACTORS:  # nobody searched there
            self.woken.clear()
        self.woken[namespace] = wake(database, namespace)

    def redactor(self, namespace: str, *, of_traces: bool = False) -> Redactor | None:
        """The redactor of a namespace: its placeholders are its own; None if redaction is off.

        That of traces replaces the user's own names as well.
        """
        config = self._config
        if not config.redact:
            return None
        own = config.own_names == "all" or (of_traces and config.own_names == "traces")
        with self._choosing:
            found = self._redactors.pop((namespace, own), None)
            if found is None:
                names = self._name_rules(own=own) if own or config.private_names else None
                found = StoreRedactor(
                    namespace,
                    self._keys,
                    config.privacy_rules,
                    names,
                    kinds=config.privacy_kinds,
                    keep=config.keep,
                    country=config.phone_country,
                )
            self._redactors[namespace, own] = found  # the last one is the most recently used
            if len(self._redactors) > KEPT_REDACTORS:
                del self._redactors[next(iter(self._redactors))]
            return found

    def _name_rules(self, *, own: bool) -> Callable[[], Sequence[PrivacyRule]]:
        """What finds the rules for the listed names and, with `own`, for those of this machine."""

        def find() -> Sequence[PrivacyRule]:
            from memory_mesh.privacy import private_names

            persons = list(private_names.listed(self._config.private_names))
            if own:
                from memory_mesh.care.machine_names import own_person

                person = own_person(self._environment, of_system=True)
                persons += [person] if person is not None else []
            return private_names.rules(persons)

        return find

    def sealer(self, namespace: str) -> Sealer:
        """Makes keyed digests of values that must not come back to a namespace."""
        return Sealer(namespace, self._keys)

    def embedder(self) -> Embedder | None:
        """The configured embedder; choosing it loads no model."""
        if self._config.embedder == "none" and not self._embedder_chosen:
            return None
        with self._choosing:
            if not self._embedder_chosen:
                self._embedder = configured_embedder(self._config, self.clock)
                self._embedder_chosen = True
            return self._embedder

    def embedder_for(self, namespace: str) -> Embedder | None:
        """The embedder for a namespace: that of the model it states as in use, once it is known."""
        return self.embedder() if self._models is None else self._models.of(namespace)

    def models(self) -> "StoreModels":
        """The embedding models that this process can open."""
        with self._choosing:
            if self._models is None:
                self._models = StoreModels(self._config, self.clock, self.embedder)
            return self._models

    def llm(self) -> LLM | None:
        """The given or configured language model; None unless a provider is named."""
        config = self._config
        if not config.enable_llm or self._llm is not None:
            return self._llm if config.enable_llm else None
        if config.llm_provider is None:
            return None
        from memory_mesh.models.llm import HttpLLM

        return HttpLLM(
            config.llm_provider,
            model=config.llm_model,
            api_key=config.llm_api_key,
            base_url=config.llm_base_url,
        )

    def reranker(self) -> Reranker | None:
        """The given or configured reranker with its time limit; choosing it loads no model."""
        if self._custom_reranker is None and self._config.reranker in {None, "none"}:
            return None
        with self._choosing:
            if self._reranker is None:
                from memory_mesh.models.rerankers import reranker_of

                chosen = self._custom_reranker or reranker_of(self._config)
                self._reranker = None if chosen is None else self.guarded(chosen)
            return self._reranker

    def guarded(self, reranker: Reranker) -> Reranker:
        """A reranker with the time limit of this store, which may fail without harm."""
        from memory_mesh.models.rerankers import Guarded

        return Guarded(reranker, self._config.reranker_timeout)

    def index(self) -> Index | None:
        """The index of large stores; None in a database, or where its package is not installed."""
        if self._config.store is not None:
            return None
        with self._choosing:
            if self._index is None:
                from memory_mesh.models.lance.index import LanceIndex

                index = LanceIndex(self.folder / "index")
                self._index = index if index.hindrance() is None else None
            return self._index

    def existing_index(self) -> Index | None:
        """The index, if one was ever made in this store."""
        return self.index() if (self.folder / "index").is_dir() else None

    def index_bytes(self, namespace: str) -> int:
        """Bytes that the index of a namespace takes on disk."""
        from memory_mesh.models.lance.index import folder_name
        from memory_mesh.platform.text_files import folder_bytes

        return folder_bytes(self.folder / "index" / folder_name(namespace))

    def feed_sinks(self, seconds: float) -> None:
        """Hand the sinks what was written to the namespaces used here, for at most this long.

        What cannot be read now waits for the next process; who used the namespace was told why.
        """
        if not self.sinks:
            return
        end = time.monotonic() + seconds
        for namespace in sorted(self.used):
            rest = max(0.0, end - time.monotonic())
            with suppress(StoreError):
                flows.upkeep.drain(self.ledger, namespace, self.sinks, rest, self.clock.now())

    def close(self) -> None:
        """Release everything, whatever fails."""
        with ExitStack() as stack:
            if self._temporary is not None:
                stack.callback(self._temporary)
            for engine in (self._index, self._models, self._embedder, self.ledger):
                if engine is not None:
                    stack.callback(engine.close)

    def after_fork(self) -> None:
        """Give the child process a lock of its own."""
        self._choosing = threading.Lock()

    def _temporary_folder(self) -> Path:
        """A folder that is removed on close or at exit, for a store without persistence."""
        import tempfile

        folder = Path(tempfile.mkdtemp(prefix="memory-mesh-"))
        folder.chmod(0o700)  # whatever the umask
        self._temporary = weakref.finalize(self, _remove, folder, os.getpid())
        return folder


def _remove(folder: Path, owner: int) -> None:
    """Removes the folder in the process that made it; a forked child leaves it to its parent."""
    if os.getpid() == owner:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def configured_embedder(config: Config, clock: Clock) -> Embedder | None:
    """The embedder that the settings name, or the installed model; None where there is none."""
    from memory_mesh.models.embedders import embedder_of

    chain = embedder_of(config, clock)
    if chain is not None:
        forks.protect(chain)
    return chain


def _checked(embedder: Embedder | None) -> Embedder | None:
    if embedder is None:
        return None
    from memory_mesh.models.embedders import need_numpy
    from memory_mesh.models.embedders.chain import Checked

    need_numpy("an embedder")
    return Checked(embedder)


# The embedding models that one process can open: its own, those it was given, and installed ones.
#
# A namespace names a model by its space and by names of settings (model/reembedding.py). Only what
# the operator of this process chose is opened: a local model that is installed here, the static
# vectors, or the service that the settings name. No folder and no address is taken from a store.


class StoreModels:
    """Finds the model of a space, and remembers which one each namespace uses."""

    def __init__(self, config: Config, clock: Clock, own: Callable[[], Embedder | None]) -> None:
        """`own` is the embedder of the settings, or the one that was handed over."""
        self._config, self._clock, self._own = config, clock, own
        self._known: dict[str, Embedder] = {}  # by space
        self._missed: dict[str, float] = {}  # when a model could not be opened
        self._in_use: dict[str, Embedder] = {}  # by namespace
        self._opened: list[Embedder] = []  # that `close` releases
        self._mutex = threading.Lock()
        forks.protect(self)

    def of(self, namespace: str) -> Embedder | None:
        """The embedder for a namespace: the one that it was found to use, else the own one."""
        own = self._own()
        return None if own is None else self._in_use.get(namespace, own)

    def use(self, namespace: str, embedder: Embedder) -> None:
        """Let later calls use this embedder for a namespace."""
        self._in_use[namespace] = embedder

    def find(self, named: NamedModel) -> Embedder | None:
        """The model of a space; None where this process cannot open it."""
        with self._mutex:
            known, missed = self._known.get(named.space), self._missed.get(named.space)
        if known is not None:
            return known
        now = self._clock.monotonic()
        if missed is not None and now - missed < RETRY_SECONDS:
            return None
        for make in (self._own, lambda: self._installed(named)):
            embedder = make()
            if embedder is not None and self._answers_as(embedder, named.space):
                with self._mutex:
                    return self._known.setdefault(named.space, embedder)
        with self._mutex:
            self._missed[named.space] = now
        return None

    def open(self, given: "Embedder | Mapping[str, object]") -> NamedModel:
        """Opens a model that the caller names or hands over; from now on `find` finds it."""
        if isinstance(given, Mapping):
            embedder, names = (
                self._configured(given),
                {} if given.get("model_dir") is not None else {"embedder": "local", **given},
            )
        else:
            from memory_mesh.models.embedders import need_numpy
            from memory_mesh.models.embedders.chain import Checked

            need_numpy("an embedder")
            embedder, names = Checked(given), {}
        space = embedder.embed([_PROBE], query=True).space
        with self._mutex:
            self._known.setdefault(space.name, embedder)
        return named(space, names)

    def own_name(self, space: Space) -> NamedModel:
        """How other processes find the model of this process's settings."""
        config = self._config
        if config.model_dir is not None or space.provider not in {
            "local",
            "static",
            config.embedder,
        }:
            return named(space, {})
        settings = {
            "embedder": config.embedder or "local",
            "embedder_model": config.embedder_model,
            "embedder_dimension": config.embedder_dimension,
        }
        return named(space, settings)

    def close(self) -> None:
        """Release every model that was opened here."""
        with ExitStack() as stack:
            for embedder in self._opened:
                stack.callback(embedder.close)

    def after_fork(self) -> None:
        """Give the child process a lock of its own."""
        self._mutex = threading.Lock()

    def _configured(self, given: Mapping[str, object]) -> Embedder:
        """The model that settings name, alone: nothing answers in its place."""
        from memory_mesh.models import model_files
        from memory_mesh.models.embedders import embedder_of

        unknown = sorted(set(given) - set(MODEL_SETTINGS))
        if unknown:
            raise InvalidInput(
                f"a model has no setting {unknown[0]!r}; there are: {', '.join(MODEL_SETTINGS)}"
            )
        changes: dict[str, Any] = {"model_dir": None, "embedder_model": None, **given}
        if changes["model_dir"] is not None:
            changes["model_dir"] = Path(str(changes["model_dir"])).expanduser()
        changes.setdefault("embedder", "local")
        config = replace(self._config, **changes)
        by_name = config.embedder == "local" and config.embedder_model is not None
        missing = by_name and model_files.find_model(config) is None
        chain = None if missing else embedder_of(config, self._clock, alone=True)
        if chain is None:
            wanted = config.embedder_model or config.embedder
            raise InvalidInput(
                f"the model {wanted!r} is not installed; see: memory-mesh models list"
            )
        forks.protect(chain)
        self._opened.append(chain)
        return chain

    def _installed(self, named: NamedModel) -> Embedder | None:
        """A model by the names that a namespace states, if the operator has it here."""
        if named.embedder is None:
            return None
        if named.embedder not in _HERE and named.embedder != self._config.embedder:
            return None  # no question goes to a service that the settings do not name
        given = {"embedder": named.embedder, "embedder_model": named.model,
                 "embedder_dimension": named.dimension}  # fmt: skip
        try:
            return self._configured(given)
        except MeshError:
            return None

    def _answers_as(self, embedder: Embedder, space: str) -> bool:
        try:
            return embedder.embed([_PROBE], query=True).space.name == space
        except EmbeddingError:
            return False
