"""A service over a store of its own, for tests: in a thread of this process, on loopback."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from memory_mesh.server.app import KeyLimits, Service
from memory_mesh.server.mcp import Issuer, application, bound
from memory_mesh.sync import MemoryMesh
from tests.until import until


@contextmanager
def served(
    store: Path | str,
    limits: KeyLimits | None = None,
    issuer: Callable[[str], Issuer | None] = lambda _url: None,
    port: int = 0,
    **options: object,
) -> Iterator["Served"]:
    """The service; its first key may do everything and speaks as the user."""
    with MemoryMesh(store, **options) as mesh, bound("127.0.0.1", port) as listener:  # type: ignore[arg-type]
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        service = application(Service(mesh, limits, issuer=issuer(url)), url)
        server = uvicorn.Server(
            uvicorn.Config(service, log_level="warning", access_log=False, ws="none")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started)
            yield Served(mesh, url)
        finally:
            server.should_exit = True
            thread.join()


class Served:
    """A running service: where it is, and the mesh behind it."""

    def __init__(self, mesh: MemoryMesh, url: str) -> None:
        self.behind, self.url = mesh, url
        self.key: str = self.new_key("first", {"*": "admin"}, speaks_as="user")

    def new_key(self, name: str, grants: dict[str, str], **options: object) -> str:
        """The text of a new key."""
        made = self.behind.care.access_keys.add(name, grants=grants, **options)  # type: ignore[arg-type]
        assert made.text is not None
        return made.text

    def mesh(self, key: str | None = None) -> MemoryMesh:
        """The store by its URL, as the holder of a key."""
        return MemoryMesh(self.url, key=key or self.key)
