"""Config to parts: the one place that chooses engines."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from memory_mesh.cache import SearchCache
from memory_mesh.clock import SystemClock
from memory_mesh.config import Config
from memory_mesh.ids import MonotonicIds
from memory_mesh.ledgers import forks
from memory_mesh.ledgers.sqlite import SqliteLedger
from memory_mesh.ports import Clock, Ids, Ledger, Sink
from memory_mesh.recall import Reader
from memory_mesh.remember import Desk


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything one open mesh consists of."""

    folder: Path
    ledger: Ledger
    clock: Clock
    ids: Ids
    cache: SearchCache
    sinks: tuple[Sink, ...]
    cleanup: ExitStack

    def desk(self, config: Config) -> Desk:
        """The write side."""
        return Desk(self.ledger, self.ids, config.namespace, config.agent_id, config.enable_yamo)

    def reader(self, config: Config) -> Reader:
        """The read side."""
        return Reader(
            self.ledger, self.ids, self.cache, config.namespace, config.agent_id, config.enable_yamo
        )


def assemble(config: Config, clock: Clock | None = None, sinks: Sequence[Sink] = ()) -> Parts:
    """Open the parts; with persistence switched off the store is a temporary folder."""
    cleanup = ExitStack()
    folder = config.db_dir
    if not config.enable_memory:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="memory-mesh-")))
    clock = clock or SystemClock()
    ledger = SqliteLedger(folder, clock, allow_network=config.allow_network_folder)
    cache = SearchCache()
    forks.protect(cache)
    return Parts(folder, ledger, clock, MonotonicIds(clock), cache, tuple(sinks), cleanup)
