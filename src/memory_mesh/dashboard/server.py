"""The page of a store on this machine: one process, one owner, one link."""

from socket import socket

import uvicorn

from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.readers import OwnerReaders
from memory_mesh.platform.ports import bound
from memory_mesh.sync import MemoryMesh

__all__ = ["OwnPage", "bound"]

_STOP_SECONDS = 2


class OwnPage:
    """The page at a socket of loopback."""

    def __init__(self, mesh: MemoryMesh, listener: socket) -> None:
        """Take an open mesh and a bound socket; both stay the caller's to close."""
        self._readers, self._listener = OwnerReaders(mesh), listener

    @property
    def link(self) -> str:
        """Signs one browser in, once."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{host}:{port}/-/in?token={self._readers.token}"

    def serve(self) -> None:
        """Serves until the process is asked to end."""
        config = uvicorn.Config(
            Dashboard(self._readers).application(),
            log_level="warning",
            access_log=False,  # it would hold what was searched for
            server_header=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
            ws="none",
        )
        uvicorn.Server(config).run(sockets=[self._listener])
