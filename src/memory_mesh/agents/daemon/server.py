"""The daemon: one process per user and store that answers requests on a Unix socket.

::

    connections ──▶ one thread reads lines ──▶ queue ──▶ up to 8 workers ──▶ reply, close
                     │ ping, status, stop: at once        answer(stores, request)
                     └ nothing to do: upkeep, then the end

A connection carries one request. No client, slow, silent or gone, holds a worker; what was begun is
finished whether or not its client still waits.
"""

import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from memory_mesh.agents import request as requests
from memory_mesh.agents.daemon import client
from memory_mesh.agents.daemon.holding import Held, Listener
from memory_mesh.agents.daemon.replies import Desk
from memory_mesh.agents.daemon.workers import Workers
from memory_mesh.typed import Any

IDLE_SECONDS = 900.0
LINE_SECONDS = 5.0  # from the connection to the end of its line
SEND_SECONDS = 5.0
MOST_CONNECTIONS = 128  # more wait in the backlog
_CHUNK = 262_144
_TICK_SECONDS = 10.0  # between looks at whether the store is still there
_GRACE_SECONDS = 0.2  # for those who connected just before the end


class Connection:
    """One client: what it has sent so far, and until when it may send."""

    def __init__(self, own: socket.socket, end: float) -> None:
        self.socket, self.end = own, end
        self.data = bytearray()

    def reply(self, message: dict[str, Any]) -> None:
        """Sends the reply and closes; a client that is gone misses it."""
        with suppress(OSError):
            self.socket.settimeout(SEND_SECONDS)
            self.socket.sendall(requests.to_line(message))
        self.socket.close()


class Server:
    """Reads requests in one thread and has them answered by others."""

    def __init__(self, desk: Desk, held: Held, *, idle: float = IDLE_SECONDS) -> None:
        self._desk, self._held, self._idle = desk, held, idle
        self._connections: dict[socket.socket, Connection] = {}
        self._workers = Workers(self._work)
        self._last = time.monotonic()
        self._ending = False

    def run(self) -> None:
        """Serves until it is asked to end, has been idle for long, or the store is gone."""
        self._selector = selectors.DefaultSelector()
        self._wake, woken = socket.socketpair()
        for end in (self._wake, woken):
            end.setblocking(False)  # noqa: FBT003
        self._selector.register(woken, selectors.EVENT_READ, lambda: self._woken(woken))
        self._listen()
        self._handle_signals()
        try:
            while not self._ending:
                self._step(self._pause())
                self._check()
            self._end()
        finally:
            self._listener.close()
            self._selector.close()

    def stop(self) -> None:
        """Ends the loop; what was begun is finished first."""
        self._ending = True
        with suppress(OSError):
            self._wake.send(b"s")

    def _listen(self) -> None:
        self._listener = Listener(self._desk.store)
        self._held.sign(self._listener.path)
        self._selector.register(self._listener.socket, selectors.EVENT_READ, self._accept)

    def _listen_anew(self) -> None:
        """Takes its name back when somebody removed the socket or put another thing there."""
        if not self._listener.leads_here():
            self._selector.unregister(self._listener.socket)
            self._listener.close()
            self._listen()

    def _handle_signals(self) -> None:
        def on_signal(number: int, _frame: FrameType | None) -> None:
            if number != signal.SIGHUP:
                self._ending = True

        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, on_signal)

    def _step(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            act: Callable[[], None] = key.data
            act()

    def _woken(self, woken: socket.socket) -> None:
        with suppress(BlockingIOError):
            if bytes([signal.SIGHUP]) in woken.recv(_CHUNK):
                self._listen_anew()

    def _accept(self) -> None:
        if len(self._connections) >= MOST_CONNECTIONS:
            return
        try:
            own, _ = self._listener.socket.accept()
        except OSError:  # gone again, or no descriptor is left
            return
        if client.peer_uid(own) != os.getuid():
            own.close()
            return
        own.setblocking(False)  # noqa: FBT003
        connection = Connection(own, time.monotonic() + LINE_SECONDS)
        self._connections[own] = connection
        self._selector.register(own, selectors.EVENT_READ, lambda: self._read(connection))

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.socket.recv(_CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        connection.data += data
        line, newline, _ = connection.data.partition(b"\n") if b"\n" in data else (b"", b"", b"")
        if newline:
            self._drop(connection)
            self._begin(connection, bytes(line))
        elif not data:
            self._drop(connection)
            connection.socket.close()
        elif len(connection.data) > requests.MAX_BYTES:
            self._drop(connection)
            connection.reply(self._desk.refusal("InvalidInput", "the request is too large"))

    def _drop(self, connection: Connection) -> None:
        """Looks at a connection no more."""
        self._selector.unregister(connection.socket)
        del self._connections[connection.socket]

    def _begin(self, connection: Connection, line: bytes) -> None:
        self._last = time.monotonic()
        request, reply = self._desk.at_once(line)
        if reply is not None:
            connection.reply(reply)
            self._ending = self._ending or self._desk.ending
        elif request is not None:
            self._workers.give((connection, request))

    def _work(self, task: tuple[Connection, dict[str, Any]]) -> None:
        connection, request = task
        connection.reply(self._desk.answered(request))
        self._last = time.monotonic()

    def _pause(self) -> float:
        now = time.monotonic()
        ends = [connection.end for connection in self._connections.values()]
        return max(0.0, min([now + _TICK_SECONDS, self._last + self._idle, *ends]) - now)

    def _check(self) -> None:
        now = time.monotonic()
        for connection in [each for each in self._connections.values() if each.end <= now]:
            self._drop(connection)
            connection.socket.close()
        if self._workers.busy:
            self._last = now
        elif now >= self._last + self._idle or not self._held.leads_here():
            self._ending = True

    def _end(self) -> None:
        """Finishes what was begun; who comes too late is told so, and does the work itself."""
        self._desk.ending = True
        self._listener.hide()
        end = time.monotonic() + _GRACE_SECONDS
        while (left := end - time.monotonic()) > 0:
            self._step(left)
        for connection in list(self._connections.values()):
            self._drop(connection)
            connection.socket.close()
        self._workers.finish()
        self._desk.close()
