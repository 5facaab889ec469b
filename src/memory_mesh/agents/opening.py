"""The stores that requests are about, opened once each, and a view of one for each request.

::

    request ── environment, cwd ──▶ Config ──▶ Store (one per settings) ──▶ MemoryMesh (a view)
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from memory_mesh import config as configuration
from memory_mesh.config import Config
from memory_mesh.errors import Closed
from memory_mesh.fastdataclass import fields, replace
from memory_mesh.model import Channel
from memory_mesh.process.project import project_of
from memory_mesh.store import Store
from memory_mesh.sync import MemoryMesh
from memory_mesh.typed import Any
from memory_mesh.view import View

MOST = 4  # open at a time
_OF_A_VIEW = {"namespace", "agent_id", "project", "session", "origins"}
_FOLDERS = ("db_dir", "mirror_dir", "model_dir", "models_dir")


class Stores:
    """Open stores by their settings; the least recently used is closed when there are too many."""

    def __init__(self, *, embedder: bool = True, most: int = MOST) -> None:
        """Open nothing yet; without `embedder` no view has one, whatever the settings say."""
        self._embedder, self._most = embedder, most
        self._open: OrderedDict[object, _Opened] = OrderedDict()
        self._lock = threading.Lock()
        self._here = threading.local()
        self._closed = False

    def mesh_for(
        self,
        request: Mapping[str, Any],
        *,
        channel: Channel,
        embedder: bool = True,
        session: str | None = None,
    ) -> MemoryMesh:
        """The memories as a request's sender sees them, until the request is answered."""
        config = config_of(request, session=session)
        if not (embedder and self._embedder):
            config = replace(config, embedder="none")
        mesh = object.__new__(MemoryMesh)
        View.__init__(mesh, self._store(config), config, channel, owner=False)
        return mesh

    @contextmanager
    def borrowing(self) -> Iterator[None]:
        """Keeps open what `mesh_for` opens in this thread until the end of the block."""
        borrowed: list[_Opened] = []
        before, self._here.borrowed = getattr(self._here, "borrowed", None), borrowed
        try:
            yield
        finally:
            self._here.borrowed = before
            with self._lock:
                for opened in borrowed:
                    opened.users -= 1
            self._close_spare()

    def close(self) -> None:
        """Close every store."""
        with self._lock:
            self._closed = True
            gone = list(self._open.values())
            self._open.clear()
        for opened in gone:
            opened.store.close()

    def _store(self, config: Config) -> Store:
        key = _key(config)
        with self._lock:
            if self._closed:
                raise Closed
            opened = self._open.get(key)
            if opened is None:
                opened = self._open[key] = _Opened(Store(config))
            self._open.move_to_end(key)
            borrowed = getattr(self._here, "borrowed", None)
            if borrowed is not None:
                opened.users += 1
                borrowed.append(opened)
        return opened.store

    def _close_spare(self) -> None:
        """Closes the least recently used stores that nobody uses, as far as there are too many."""
        gone: list[_Opened] = []
        with self._lock:
            for key, opened in list(self._open.items()):
                if len(self._open) <= self._most:
                    break
                if not opened.users:
                    gone.append(self._open.pop(key))
        for opened in gone:
            opened.store.close()


class _Opened:
    """A store and how many requests use it just now."""

    def __init__(self, store: Store) -> None:
        self.store, self.users = store, 0


def config_of(request: Mapping[str, Any], *, session: str | None = None) -> Config:
    """The settings of a request's sender: environment, file, project of the folder, host."""
    cwd = str(request["cwd"])
    config = configuration.load({"db_dir": request["store"]}, request["environment"])
    stated: dict[str, Any] = {
        name: Path(cwd, value) for name in _FOLDERS if (value := getattr(config, name)) is not None
    }
    if "project" not in config.origins:
        stated["project"] = project_of(cwd or None)
    if "agent_id" not in config.origins:
        stated["agent_id"] = request["host"]
    if session is not None:
        stated["session"] = session
    return replace(config, **stated)


def _key(config: Config) -> tuple[str, ...]:
    """What makes two stores different: every setting but those of a view."""
    names = [item.name for item in fields(config) if item.name not in _OF_A_VIEW]
    return tuple(repr(getattr(config, name)) for name in names)
