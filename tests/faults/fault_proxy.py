"""A proxy between a process and PostgreSQL that swallows, delays or cuts what passes through it.

It listens on a socket in a folder of its own, named as the server's, and takes each connection to
the real one. Faults are armed for one direction and a place: so many bytes from now, or the first
message that contains certain bytes, such as COMMIT. A fault holds for its connection until its end,
and for new connections too while `everything` is swallowed.
"""

import select
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Direction = Literal["to server", "to client"]
Kind = Literal["swallow", "cut", "delay"]
_NAME = ".s.PGSQL.5432"
_CHUNK = 1 << 16
_POLL = 0.05


@dataclass
class Fault:
    """What happens to a connection, once, where it was armed."""

    kind: Kind
    direction: Direction
    after: int = 0  # bytes that still pass
    marker: bytes = b""  # bytes that must come; the fault strikes in the middle of them
    whole: bool = False  # what came with the marker passes before it strikes
    seconds: float = 0.0  # of a delay
    struck: threading.Event = field(default_factory=threading.Event)


class FaultProxy:
    """Takes connections to a server's socket, and does to them what is armed."""

    def __init__(self, server: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._target, self.folder = str(server / _NAME), folder
        self._listener = socket.socket(socket.AF_UNIX)
        (folder / _NAME).unlink(missing_ok=True)
        self._listener.bind(str(folder / _NAME))
        self._listener.listen(64)
        self._mutex = threading.Lock()
        self._fault: Fault | None = None
        self.everything = False  # is swallowed, that of new connections too
        self._stopped = False
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def url(self, url: str) -> str:
        """The URL of a database, reached through this proxy."""
        before, _, _ = url.partition("?host=")
        return f"{before}?host={self.folder}"

    def arm(self, fault: Fault) -> Fault:
        """Has the next connection that comes to this place struck."""
        with self._mutex:
            self._fault = fault
        return fault

    def disarm(self) -> None:
        """No fault strikes from now on; what was struck stays so."""
        self.everything = False
        with self._mutex:
            self._fault = None

    def close(self) -> None:
        """Ends every connection."""
        self._stopped = True
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while not self._stopped:
            with suppress(OSError):
                if select.select([self._listener], [], [], _POLL)[0]:
                    client, _ = self._listener.accept()
                    thread = threading.Thread(target=self._pass, args=(client,), daemon=True)
                    self._threads.append(thread)
                    thread.start()

    def _pass(self, client: socket.socket) -> None:
        """Both directions of one connection, until either end closes or a fault cuts it."""
        with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            server.connect(self._target)
            ways: dict[socket.socket, tuple[socket.socket, Direction]] = {
                client: (server, "to server"),
                server: (client, "to client"),
            }
            silent: set[str] = set()
            while not self._stopped and self._moved(ways, silent):
                pass

    def _moved(
        self, ways: dict[socket.socket, tuple[socket.socket, Direction]], silent: set[str]
    ) -> bool:
        for source in select.select(list(ways), [], [], _POLL)[0]:
            target, direction = ways[source]
            data = source.recv(_CHUNK)
            if not data and direction in silent:  # whoever hears nothing does not hear this either
                del ways[source]
                continue
            if not data:
                return False
            if self.everything or direction in silent:
                continue
            data, fault = self._struck(data, direction)
            if fault is not None and fault.kind == "delay":
                time.sleep(fault.seconds)
            target.sendall(data)
            if fault is not None and fault.kind == "cut":
                return False
            if fault is not None and fault.kind == "swallow":
                silent.add(direction)
        return True

    def _struck(self, data: bytes, direction: Direction) -> tuple[bytes, Fault | None]:
        """What of the data still passes, and the fault that strikes now."""
        with self._mutex:
            fault = self._fault
            if fault is None or fault.direction != direction:
                return data, None
            place = data.find(fault.marker) + len(fault.marker) // 2 if fault.marker else 0
            if fault.marker not in data:
                return data, None
            if not fault.marker and len(data) <= fault.after:
                fault.after -= len(data)
                return data, None
            self._fault = None
        fault.struck.set()
        passes = fault.whole or fault.kind == "delay"
        return data if passes else data[: place + fault.after], fault
