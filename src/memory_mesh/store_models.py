"""The embedding models that one process can open: its own, those it was given, and installed ones.

A namespace names a model by its space and by names of settings (model/reembedding.py). Only what
the operator of this process chose is opened: a local model that is installed here, the static
vectors, or the service that the settings name. No folder and no address is taken from a store.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from memory_mesh.config import Config
from memory_mesh.errors import EmbeddingError, InvalidInput, MeshError
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Space
from memory_mesh.model.reembedding import NamedModel, named
from memory_mesh.ports import Clock, Embedder
from memory_mesh.process import forks
from memory_mesh.typed import Any

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
            embedder, names = self._configured(given), _names(given)
        else:
            from memory_mesh.engines.embedders import need_numpy
            from memory_mesh.engines.embedders.checked import Checked

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
        from memory_mesh.engines import model_files
        from memory_mesh.engines.embedders import embedder_of

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


def _names(given: Mapping[str, object]) -> dict[str, object]:
    """The settings by which another process finds a model; one in a stated folder has none."""
    return {} if given.get("model_dir") is not None else {"embedder": "local", **given}
