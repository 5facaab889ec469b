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
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from memory_mesh._version import __version__
from memory_mesh.agents import request as requests, sessions
from memory_mesh.agents.daemon import client
from memory_mesh.agents.daemon.holding import DaemonLock, Listener
from memory_mesh.agents.opening import Opened, Stores, answer
from memory_mesh.base.typed import Any
from memory_mesh.formats import json_text
from memory_mesh.model.errors import InvalidInput, MeshError
from memory_mesh.platform import system, telemetry
from memory_mesh.privacy import masked

# What the daemon says to each request: some at once, the others through `answer`.


Message = dict[str, Any]
_OWN = ("ping", "status", "stop")


class Desk:
    """Answers the requests about one store."""

    def __init__(self, store: str, stores: Stores) -> None:
        self.store: str = store
        self.stores: Stores = stores
        self.ending: str = ""  # why, from the moment when it does
        self.socket = ""
        self._since = time.time()
        self.begun: int = 0

    def read(self, line: bytes) -> tuple[Message | None, Message | None]:
        """A request that needs work, or the reply to one that needs none."""
        try:
            request = _checked(json_text.read(line))
        except InvalidInput as error:
            return None, self.refusal("InvalidInput", f"the request is not valid: {error}")
        if request["do"] in _OWN:
            return None, self._own(request)
        if request["version"] != __version__:
            return None, self.refusal(client.OTHER_VERSION, "the daemon is of another version")
        if self.ending or request["store"] != self.store:
            return None, self.refusal(client.GOING, "the daemon ends, or is of another store")
        self.begun += 1
        return request, None

    def answered(self, request: Message) -> bytes:
        """The line of the reply to a request that needs work; never raises."""
        try:
            line = requests.to_line(self._said(ok=True) | {"answer": answer(self.stores, request)})
        except MeshError as error:
            return requests.to_line(self.refusal(type(error).__name__, str(error)))
        except Exception as error:  # noqa: BLE001  # the surface's last line
            return requests.to_line(self.refusal("Bug", f"{type(error).__name__}: {error}"))
        if len(line) > requests.MAX_BYTES:
            text = f"the answer has more than {requests.MAX_BYTES} bytes; ask for less"
            return requests.to_line(self.refusal("InvalidInput", text))
        return line

    def refusal(self, kind: str, text: str) -> Message:
        """The reply that says what is wrong."""
        return self._said(ok=False) | {"error": {"kind": kind, "text": masked(text)}}

    def _own(self, request: Message) -> Message:
        """The reply to what is asked of the daemon itself, by clients of any version."""
        said: Message = {}
        if request["do"] == "stop":
            upgrade = request["input"].get("why") == "upgrade"
            if upgrade and not client.is_newer(request["version"], __version__):
                return self.refusal(client.OTHER_VERSION, "only a newer version takes over")
            self.ending = "upgrade" if upgrade else "asked"
        elif request["do"] == "status":
            said = {
                "store": self.store,
                "socket": self.socket,
                "since": self._since,
                "requests": self.begun,
                "memory_mb": _memory_mb(),
            }
        return self._said(ok=True) | {"answer": said}

    def _said(self, *, ok: bool) -> Message:
        return {
            "protocol": requests.PROTOCOL,
            "version": __version__,
            "pid": os.getpid(),
            "ok": ok,
        }


def _memory_mb() -> int | None:
    """The memory that this process occupies, where the system tells."""
    occupied = system.memory_bytes()
    return None if occupied is None else occupied // 1_000_000


def _checked(request: object) -> Message:
    """A request with every key in its type; InvalidInput if it is none."""
    if not isinstance(request, dict):
        raise InvalidInput("it is no JSON object")
    if request.get("protocol") != requests.PROTOCOL:
        raise InvalidInput(f"its protocol is not {requests.PROTOCOL}")
    for name in ("version", "id", "do", "host", "store", "cwd"):
        if not isinstance(request.get(name), str):
            raise InvalidInput(f"{name} must be a text")
    for name in ("environment", "input"):
        if not isinstance(request.get(name), dict):
            raise InvalidInput(f"{name} must be an object")
    if not all(isinstance(value, str) for value in request["environment"].values()):
        raise InvalidInput("environment must hold texts only")
    parents = request.get("parents")
    if not isinstance(parents, list) or not all(type(pid) is int for pid in parents):
        raise InvalidInput("parents must be a list of process numbers")
    return request


MOST = 8
Task = Callable[[], None]

QUIET_SECONDS = 2.0  # without a request before upkeep begins

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

    def __init__(self, desk: Desk, held: DaemonLock, *, idle: float = IDLE_SECONDS) -> None:
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
        system.ignore_hangup()

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
        if system.peer_user(own) != system.user_id():
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
                ends.append(self._last + QUIET_SECONDS)
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
            elif now >= self._last + QUIET_SECONDS and self._tending.is_due():
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
        system.end_in(ENDING_SECONDS)
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


# Upkeep of the namespaces that requests used, in small steps, while nobody asks.


class _GiveWay(Exception):
    """A request came, or the end."""


class Tending:
    """Runs upkeep in a thread of its own and stops it as soon as somebody asks for something."""

    def __init__(
        self, store: str, stores: Stores, *, wanted: Callable[[], bool], done: Callable[[], None]
    ) -> None:
        """Keep the stores; `wanted` says whether to give way, `done` is called at the end."""
        self._store, self._stores = store, stores
        self._wanted, self._done = wanted, done
        self._thread: threading.Thread | None = None
        self._swept = False

    @property
    def runs(self) -> bool:
        """Whether upkeep is going on."""
        return self._thread is not None and self._thread.is_alive()

    def is_due(self) -> bool:
        """Whether a namespace was used since its last upkeep, and nobody works on it."""
        return not self.runs and self._stores.is_used()

    def begin(self) -> None:
        """Starts the thread."""
        self._thread = threading.Thread(target=self._run, name="memory-mesh upkeep")
        self._thread.start()

    def finish(self) -> None:
        """Waits for the thread, which gives way at its next step."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._sweep()
            with self._stores.opened() as found, suppress(_GiveWay):
                for opened in found:
                    for namespace in sorted(opened.used):
                        self._tend(opened, namespace)
        finally:
            self._done()

    def _tend(self, opened: Opened, namespace: str) -> None:
        """Runs upkeep on one namespace; what fails is tried again after the next request."""
        opened.used.discard(namespace)
        try:
            opened.kept(namespace).care.upkeep(between=self._between)
        except _GiveWay:
            opened.used.add(namespace)
            raise
        except (MeshError, OSError) as error:
            telemetry.info("upkeep failed", kind=type(error).__name__)

    def _between(self) -> None:
        if self._wanted():
            raise _GiveWay

    def _sweep(self) -> None:
        """Removes what is known of sessions that ended long ago, once in a daemon's life."""
        if not self._swept:
            self._swept = True
            sessions.remove_old(self._store)


# A few threads that work through a queue; they are started when there is work for them.


class Workers:
    """Runs tasks in at most `most` threads, in the order in which they were given."""

    def __init__(self, *, most: int = MOST) -> None:
        self._most = most
        self._waiting: deque[Task] = deque()
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()
        self._free = self._running = 0
        self._finishing = False

    @property
    def tasks(self) -> int:
        """How many tasks run or wait."""
        with self._changed:
            return self._running + len(self._waiting)

    def give(self, task: Task) -> None:
        """Adds a task, which must not raise."""
        with self._changed:
            self._waiting.append(task)
            if len(self._waiting) > self._free and len(self._threads) < self._most:
                thread = threading.Thread(target=self._run, name="memory-mesh worker")
                self._threads.append(thread)
                thread.start()
            self._changed.notify()

    def finish(self) -> None:
        """Waits until every task given so far is done, and ends the threads."""
        with self._changed:
            self._finishing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (task := self._next()) is not None:
            try:
                task()
            finally:
                with self._changed:
                    self._running -= 1

    def _next(self) -> Task | None:
        with self._changed:
            self._free += 1
            while not self._waiting and not self._finishing:
                self._changed.wait()
            self._free -= 1
            if not self._waiting:
                return None
            self._running += 1
            return self._waiting.popleft()
