"""The daemon's loop: one thread reads requests, a few others answer them.

::

    connections ──▶ one thread reads lines ──▶ queue ──▶ up to 8 workers ──▶ reply, close
                     │ ping, status, stop: at once        answer(stores, request)
                     └ nothing to do: upkeep, then the end

A connection carries one request. No client, slow, silent or gone, holds a worker; what was begun is
finished whether or not its client still waits. While nobody asks, the process sleeps in `select`.
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
from memory_mesh.agents.daemon import client, tending
from memory_mesh.agents.daemon.holding import Held, Listener
from memory_mesh.agents.daemon.replies import Desk, Message
from memory_mesh.agents.daemon.tending import Tending
from memory_mesh.agents.daemon.workers import Workers

IDLE_SECONDS = 900.0
LINE_SECONDS = 5.0  # from the connection to the end of its line
SEND_SECONDS = 5.0
MOST_CONNECTIONS = 64  # read, queued and answered at a time; more wait in the backlog
GONE = "store gone"
SMALL_LINE = 65_536  # bytes; a longer one is parsed by a worker
_CHUNK = 262_144
_TICK_SECONDS = 10.0  # between looks at whether the store is still there
_FULL_SECONDS = 0.05  # until the next try where no connection could be taken
_GRACE_SECONDS = 0.2  # for those who connected just before the end
ENDING_SECONDS = 30  # for what was begun; then the system ends the process, wherever it stands


class Server:
    """Serves one store until it is asked to end, nobody asks for long, or the store is gone."""

    def __init__(self, desk: Desk, held: Held, *, idle: float = IDLE_SECONDS) -> None:
        self._desk, self._held, self._idle = desk, held, idle
        self._connections: dict[socket.socket, _Connection] = {}
        self._workers = Workers()
        self._tending = Tending(desk.store, desk.stores, wanted=self._is_wanted, done=self._rouse)
        self._last = time.monotonic()
        self._full_until = self._look_at = 0.0

    def run(self) -> None:
        """Serves; on return everything is finished and released but the lock."""
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        try:
            self._wake.setblocking(False)  # noqa: FBT003
            self._woken.setblocking(False)  # noqa: FBT003
            self._selector.register(self._woken, selectors.EVENT_READ, self._roused)
            self._listen()
            self._handle_signals()
            while not self._desk.ending:
                self._step(self._pause())
                self._check()
            self._end()
        finally:
            signal.set_wakeup_fd(-1)
            self._selector.close()
            self._wake.close()
            self._woken.close()

    def _is_wanted(self) -> bool:
        return bool(self._desk.ending) or self._workers.tasks > 0

    def _listen(self) -> None:
        self._listener = Listener(self._desk.store)
        self._held.sign(self._listener.path)
        self._desk.socket = self._listener.path
        self._selector.register(self._listener.socket, selectors.EVENT_READ, self._accept)

    def _listen_anew(self) -> None:
        """Takes its name back if somebody removed the socket or put another thing there."""
        if self._listener.leads_here() or not self._held.leads_here():
            return
        before, waits = self._listener, bool(self._full_until)
        try:
            self._listen()
        except OSError:  # a full disk, say: the next look comes soon
            return
        if not waits:
            self._selector.unregister(before.socket)
        self._full_until = 0.0
        before.close()

    def _handle_signals(self) -> None:
        def on_signal(_number: int, _frame: FrameType | None) -> None:
            self._desk.ending = self._desk.ending or "terminated"

        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, on_signal)
        signal.signal(signal.SIGINT, on_signal)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the starter's terminal is closed

    def _step(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            act: Callable[[], None] = key.data
            act()

    def _rouse(self) -> None:
        """Wakes the loop, from any thread."""
        with suppress(OSError):
            self._wake.send(b"!")

    def _roused(self) -> None:
        with suppress(BlockingIOError):
            self._woken.recv(_CHUNK)

    def _accept(self) -> None:
        if len(self._connections) + self._workers.tasks >= MOST_CONNECTIONS:
            self._wait_full()
            return
        try:
            own, _ = self._listener.socket.accept()
        except BlockingIOError:  # gone again
            return
        except OSError:  # no descriptor is left
            self._wait_full()
            return
        if client.peer_uid(own) != os.getuid():
            own.close()
            return
        own.setblocking(False)  # noqa: FBT003
        connection = _Connection(own)
        line = connection.read()  # most have sent theirs by now
        if line is not None:
            self._take(connection, line)
            return
        self._connections[own] = connection
        self._selector.register(own, selectors.EVENT_READ, lambda: self._read(connection))

    def _wait_full(self) -> None:
        """Takes no connection for a moment; those who come wait in the backlog."""
        self._selector.unregister(self._listener.socket)
        self._full_until = time.monotonic() + _FULL_SECONDS

    def _read(self, connection: "_Connection") -> None:
        line = connection.read()
        if line is not None:
            self._drop(connection)
            self._take(connection, line)

    def _take(self, connection: "_Connection", line: bytes) -> None:
        """Does with a line what it asks for."""
        if not line:
            connection.close()
        elif len(line) > requests.MAX_BYTES:
            connection.reply(self._desk.refusal("InvalidInput", "the request is too large"))
        elif len(line) > SMALL_LINE:
            self._workers.give(lambda: self._work(connection, line))
        else:
            self._begin(connection, line)

    def _begin(self, connection: "_Connection", line: bytes) -> None:
        self._last = time.monotonic()
        if not self._held.leads_here():
            self._desk.ending = GONE
        request, reply = self._desk.read(line)
        if request is None:
            connection.reply(reply or {})
        else:
            self._workers.give(lambda: self._answer(connection, request))

    def _work(self, connection: "_Connection", line: bytes) -> None:
        """Parses a long line, and answers it."""
        request, reply = self._desk.read(line)
        if request is None:
            connection.reply(reply or {})
        else:
            self._answer(connection, request)

    def _answer(self, connection: "_Connection", request: Message) -> None:
        connection.send(self._desk.answered(request))
        self._last = time.monotonic()

    def _drop(self, connection: "_Connection") -> None:
        """Looks at a connection no more."""
        self._selector.unregister(connection.socket)
        del self._connections[connection.socket]

    def _pause(self) -> float:
        """How long nothing will have to be done unless somebody asks."""
        now = time.monotonic()
        ends = [self._look_at, *(each.end for each in self._connections.values())]
        if self._full_until:
            ends.append(self._full_until)
        if not self._connections and not self._workers.tasks and not self._tending.runs:
            ends.append(self._last + self._idle)
            if self._tending.is_due():
                ends.append(self._last + tending.QUIET_SECONDS)
        return max(0.0, min(ends) - now)

    def _check(self) -> None:
        """Does what is due by the clock."""
        now = time.monotonic()
        for connection in [each for each in self._connections.values() if each.end <= now]:
            self._drop(connection)
            connection.close()
        if self._full_until and now >= self._full_until:
            self._full_until = 0.0
            self._selector.register(self._listener.socket, selectors.EVENT_READ, self._accept)
        if now >= self._look_at:
            self._look(now)
        elif not self._workers.tasks and not self._tending.runs and not self._connections:
            if now >= self._last + self._idle:
                self._desk.ending = "idle"
            elif now >= self._last + tending.QUIET_SECONDS and self._tending.is_due():
                self._tending.begin()

    def _look(self, now: float) -> None:
        """Looks whether the store and the socket are still there."""
        self._look_at = now + _TICK_SECONDS
        self._listen_anew()
        if not self._held.leads_here():
            self._desk.ending = GONE

    def _end(self) -> None:
        """Finishes what was begun; who comes too late is told so, and does the work itself."""
        self._listener.hide()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(ENDING_SECONDS)
        end = time.monotonic() + _GRACE_SECONDS
        while (left := end - time.monotonic()) > 0:
            self._step(left)
        for connection in list(self._connections.values()):
            self._drop(connection)
            connection.close()
        self._listener.close()
        self._workers.finish()
        self._tending.finish()
        self._desk.stores.close()


class _Connection:
    """One client: what it has sent so far, and until when it may send."""

    def __init__(self, own: socket.socket) -> None:
        self.socket, self.end = own, time.monotonic() + LINE_SECONDS
        self._data = bytearray()

    def read(self) -> bytes | None:
        """The line once it is whole, or more than a line may be; empty if the client is gone."""
        try:
            data = self.socket.recv(_CHUNK)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return b""
        if not data:
            return b""
        self._data += data
        if b"\n" in data:
            return bytes(self._data.partition(b"\n")[0]) or b" "
        return bytes(self._data) if len(self._data) > requests.MAX_BYTES else None

    def reply(self, message: Message) -> None:
        """Sends a message and closes."""
        self.send(requests.to_line(message))

    def send(self, line: bytes) -> None:
        """Sends a line and closes; a client that is gone misses it."""
        with suppress(OSError):
            self.socket.settimeout(SEND_SECONDS)
            self.socket.sendall(line)
        self.close()

    def close(self) -> None:
        """Lets the client go."""
        self.socket.close()
