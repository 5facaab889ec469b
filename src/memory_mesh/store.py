"""Config to parts: the one place that chooses engines, and each only when it is needed."""

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from memory_mesh.config import Config
from memory_mesh.engines.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.flows.access import Desk
from memory_mesh.model import SourceKind
from memory_mesh.ports import LLM, Clock, Embedder, Index, Ledger, Redactor, Sink
from memory_mesh.process import forks
from memory_mesh.process.cache import SearchCache
from memory_mesh.process.clock import SystemClock
from memory_mesh.process.ids import MonotonicIds
from memory_mesh.process.redactor import Sealer, StoreRedactor

if TYPE_CHECKING:
    from memory_mesh.flows.access import Reader


class Parts:
    """Everything one open mesh consists of; embedder and index come with their first use."""

    def __init__(
        self, config: Config, clock: Clock, sinks: Sequence[Sink], embedder: Embedder | None
    ) -> None:
        self.config = config
        self.clock = clock
        self.sinks = tuple(sinks)
        self._cleanup = ExitStack()
        self.folder = self._own_folder() if not config.enable_memory else config.db_dir
        self.ledger: Ledger = SqliteLedger(
            self.folder, clock, allow_network=config.allow_network_folder
        )
        self.ids = MonotonicIds(clock)
        self.cache = SearchCache()
        self.redactor: Redactor | None = (
            StoreRedactor(config, self.folder) if config.redact else None
        )
        self._agent: str | None = None
        self.sealer = Sealer(config.namespace, self.folder)
        self._embedder = _checked(embedder)
        self._chosen = embedder is not None
        self._index: Index | None = None
        self._choosing = threading.Lock()
        forks.protect(self.cache)
        forks.protect(self)

    def desk(self, kind: SourceKind = SourceKind.USER_EXPLICIT) -> Desk:
        """The write side, for somebody who may claim to be no more than this."""
        config = self.config
        return Desk(
            self.ledger,
            self.ids,
            config.namespace,
            self.agent,
            config.enable_yamo,
            self.embedder(),
            self.redactor,
            config.max_heritage_depth if config.enable_heritage_tracking else None,
            kind,
            config.read_claims,
            self.sealer,
        )

    def reader(self) -> "Reader":
        """The read side; where no index was ever made, none is opened."""
        from memory_mesh.flows.access import Reader

        config = self.config
        return Reader(
            self.ledger,
            self.ids,
            self.cache,
            config.namespace,
            self.agent,
            config.enable_yamo,
            self.embedder(),
            self.index() if (self.folder / "index").is_dir() else None,
            self.redactor,
        )

    @property
    def agent(self) -> str:
        """The agent as blocks name it."""
        if self._agent is None:
            agent = self.config.agent_id
            self._agent = agent if self.redactor is None else self.redactor.text(agent)
        return self._agent

    def embedder(self) -> Embedder | None:
        """The configured embedder; choosing it loads no model."""
        if self.config.embedder == "none" and not self._chosen:
            return None
        with self._choosing:
            if not self._chosen:
                from memory_mesh.engines.embedders import embedder_of

                chain = embedder_of(self.config, self.clock)
                if chain is not None:
                    forks.protect(chain)
                self._embedder, self._chosen = chain, True
            return self._embedder

    def llm(self) -> LLM | None:
        """The configured language model; none unless a provider is named."""
        config = self.config
        if not config.enable_llm or config.llm_provider is None:
            return None
        from memory_mesh.engines.llms.services import HttpLLM

        return HttpLLM(
            config.llm_provider,
            model=config.llm_model,
            api_key=config.llm_api_key,
            base_url=config.llm_base_url,
        )

    def index(self) -> Index | None:
        """The index of large stores, or None where its package is not installed."""
        with self._choosing:
            if self._index is None:
                from memory_mesh.engines.indexes.lance.index import LanceIndex

                index = LanceIndex(self.folder / "index")
                self._index = index if index.hindrance() is None else None
            return self._index

    def close(self) -> None:
        """Release everything."""
        with self._cleanup:
            self.ledger.close()
            if self._embedder is not None:
                self._embedder.close()
            if self._index is not None:
                self._index.close()

    def after_fork(self) -> None:
        """A child chooses under its own lock."""
        self._choosing = threading.Lock()

    def _own_folder(self) -> Path:
        """Persistence is switched off: the store goes when the mesh is closed."""
        import tempfile

        return Path(self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="memory-mesh-")))


def _checked(embedder: Embedder | None) -> Embedder | None:
    if embedder is None:
        return None
    from memory_mesh.engines.embedders.checked import Checked

    return Checked(embedder)


def assemble(
    config: Config,
    clock: Clock | None = None,
    sinks: Sequence[Sink] = (),
    embedder: Embedder | None = None,
) -> Parts:
    """Open the parts."""
    return Parts(config, clock or SystemClock(), sinks, embedder)
