"""What a process opens once per store: ledger, embedder, index, language model, cache and keys.

::

    Store ── first use ──▶ OpenStore(ledger, cache, ids …)  ── close ──▶ Closed
      ▲
      └── any number of views (view.py): namespace, scope and channel, no files of their own
"""

import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from memory_mesh import flows
from memory_mesh.config import Config
from memory_mesh.engines.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.errors import Closed, StoreError
from memory_mesh.policy.privacy import Rule
from memory_mesh.ports import LLM, Clock, Embedder, Index, Ledger, Redactor, Reranker, Sink
from memory_mesh.process import forks
from memory_mesh.process.cache import SearchCache
from memory_mesh.process.clock import SystemClock
from memory_mesh.process.ids import MonotonicIds
from memory_mesh.process.redactor import Sealer, StoreKeys, StoreRedactor
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.project import Project
    from memory_mesh.process.project import Repository
    from memory_mesh.store_models import StoreModels

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
    ) -> None:
        """Keep the settings; nothing is opened yet.

        `environment` says where the key lies, what the user is called and how libpq connects; by
        default this process's own.
        """
        self._environment = environment
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

    def close(self) -> None:
        """Write what is buffered, feed the sinks for a moment and release every file."""
        with forks.inside_sqlite(), self._opening:
            found, self._open, self._closed = self._open, None, True
        if found is None:
            return
        try:
            found.feed_sinks(CLOSING_SECONDS)
        finally:
            found.close()


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

    def _ledger(self) -> Ledger:
        """The ledger in the folder, or in the database that the settings name."""
        config = self._config
        if config.store is not None and config.enable_memory:
            from memory_mesh.process.extras import need

            need("psycopg", extra="postgres", purpose="a store in PostgreSQL")
            from memory_mesh.process.stated_keys import need_key

            need_key(self.folder, os.environ if self._environment is None else self._environment)
            from memory_mesh.engines.ledgers.postgres.ledger import PostgresLedger
            from memory_mesh.engines.ledgers.postgres.route import with_variables

            return PostgresLedger(
                with_variables(config.store, self._environment),
                self.clock,
                secret=self._keys.ring.keys()[0].secret,
                recall_days=config.recall_days,
                lock_wait=config.lock_wait_seconds,
            )
        return SqliteLedger(
            self.folder,
            self.clock,
            allow_network=config.allow_network_folder,
            recall_days=config.recall_days,
            lock_wait=config.lock_wait_seconds,
        )

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
                    country=config.phone_country,
                )
            self._redactors[namespace, own] = found  # the last one is the most recently used
            if len(self._redactors) > KEPT_REDACTORS:
                del self._redactors[next(iter(self._redactors))]
            return found

    def _name_rules(self, *, own: bool) -> Callable[[], Sequence[Rule]]:
        """What finds the rules for the listed names and, with `own`, for those of this machine."""

        def find() -> Sequence[Rule]:
            from memory_mesh.policy.privacy import private_names

            persons = list(private_names.listed(self._config.private_names))
            if own:
                from memory_mesh.process.private_names import own_person

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
                from memory_mesh.store_models import StoreModels

                self._models = StoreModels(self._config, self.clock, self.embedder)
            return self._models

    def llm(self) -> LLM | None:
        """The given or configured language model; None unless a provider is named."""
        config = self._config
        if not config.enable_llm or self._llm is not None:
            return self._llm if config.enable_llm else None
        if config.llm_provider is None:
            return None
        from memory_mesh.engines.llms.services import HttpLLM

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
                from memory_mesh.engines.rerankers import reranker_of

                chosen = self._custom_reranker or reranker_of(self._config)
                self._reranker = None if chosen is None else self.guarded(chosen)
            return self._reranker

    def guarded(self, reranker: Reranker) -> Reranker:
        """A reranker with the time limit of this store, which may fail without harm."""
        from memory_mesh.engines.rerankers.guarded import Guarded

        return Guarded(reranker, self._config.reranker_timeout)

    def index(self) -> Index | None:
        """The index of large stores; None in a database, or where its package is not installed."""
        if self._config.store is not None:
            return None
        with self._choosing:
            if self._index is None:
                from memory_mesh.engines.indexes.lance.index import LanceIndex

                index = LanceIndex(self.folder / "index")
                self._index = index if index.hindrance() is None else None
            return self._index

    def existing_index(self) -> Index | None:
        """The index, if one was ever made in this store."""
        return self.index() if (self.folder / "index").is_dir() else None

    def index_bytes(self, namespace: str) -> int:
        """Bytes that the index of a namespace takes on disk."""
        from memory_mesh.engines.indexes.lance.index_folders import folder_name
        from memory_mesh.process.sizes import folder_bytes

        return folder_bytes(self.folder / "index" / folder_name(namespace))

    def feed_sinks(self, seconds: float) -> None:
        """Hand the sinks what was written to the namespaces used here, for at most this long.

        What cannot be read now waits for the next process; who used the namespace was told why.
        """
        if not self.sinks:
            return
        import time

        end = time.monotonic() + seconds
        for namespace in sorted(self.used):
            rest = max(0.0, end - time.monotonic())
            with suppress(StoreError):
                flows.upkeep.drain(self.ledger, namespace, self.sinks, rest)

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
    from memory_mesh.engines.embedders import embedder_of

    chain = embedder_of(config, clock)
    if chain is not None:
        forks.protect(chain)
    return chain


def _checked(embedder: Embedder | None) -> Embedder | None:
    if embedder is None:
        return None
    from memory_mesh.engines.embedders import need_numpy
    from memory_mesh.engines.embedders.checked import Checked

    need_numpy("an embedder")
    return Checked(embedder)
