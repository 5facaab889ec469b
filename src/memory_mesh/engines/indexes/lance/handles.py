"""Open bodies of this process: few, shared by its threads, each at one version for good."""

import os
import threading
from collections import OrderedDict

from memory_mesh.engines.indexes.lance import loading
from memory_mesh.model import Body
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.lance import _Session

_MAX_OPEN_BODIES = (
    16  # an open body costs its manifest; index pages are bounded by the session's cache
)


class Handles:
    """The bodies used last, over one cache of index pages."""

    def __init__(self, cache_bytes: int) -> None:
        self._cache_bytes = cache_bytes
        self._session: _Session | None = None
        self._start_anew()

    def get(self, uri: str, body: Body) -> "LanceDataset | None":
        """The body, opened if need be; None when it cannot be read or is another one."""
        if self._process != os.getpid():  # nothing is open: a child of a user of Lance never asks
            self._start_anew()
        with self._mutex:
            known = self._open.get((uri, body))
            if known is not None:
                self._open.move_to_end((uri, body))
                return known
            self._session = self._session or loading.session(self._cache_bytes)
        dataset = loading.open_body(uri, body, self._session)
        if dataset is not None:
            with self._mutex:
                self._open[uri, body] = dataset
                while len(self._open) > _MAX_OPEN_BODIES:
                    self._open.popitem(last=False)
        return dataset

    def forget(self, uri: str) -> None:
        """Whatever is open there is out of date."""
        with self._mutex:
            for key in [key for key in self._open if key[0] == uri]:
                del self._open[key]

    def close(self) -> None:
        """Give up everything; a later `get` opens anew."""
        self._start_anew()

    def _start_anew(self) -> None:
        self._process = os.getpid()
        self._mutex = threading.Lock()
        self._open: OrderedDict[tuple[str, Body], LanceDataset] = OrderedDict()
        self._session = None
