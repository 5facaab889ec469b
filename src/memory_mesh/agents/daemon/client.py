"""Asks the daemon of a store, and starts one. Light: a hook loads it at every prompt.

::

    ask ──▶ socket ──▶ reply                 no daemon, another version, a timeout: NoDaemon
    start ──▶ a detached process             it gives way if another one holds the lock

Whoever gets NoDaemon does the work in its own process; nobody needs a daemon.
"""

import os
import sys
import time

from memory_mesh._version import __version__
from memory_mesh.agents import request as requests
from memory_mesh.agents.daemon import place
from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.platform import system

if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Iterator, Mapping

OTHER_VERSION = "OtherVersion"
GOING = "Going"  # it ends, or its store is another one by now: the request was not begun
_WORTH_A_START = {"not there", "refused", "unusable socket", "broken", "garbage", "going"}
_STOP_SECONDS = 0.05
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_KEPT_PYTHON = ("PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
_CHUNK = 65_536
_started: set[int] = set()  # processes to reap


class NoDaemon(Exception):
    """No daemon answered: `reason` says why, `sent` whether one may have got the request.

    The reasons: switched off, platform, not there, refused, unusable socket, wrong user, timeout,
    broken, garbage, too large, other version, going, not started.
    """

    def __init__(self, reason: str, text: str = "", *, sent: bool = False) -> None:
        super().__init__(text or reason)
        self.reason: str = reason
        self.sent: bool = sent

    @property
    def is_worth_a_start(self) -> bool:
        """Whether a new daemon would help; one that is only slow is left alone."""
        return self.reason in _WORTH_A_START


def ask(request: dict[str, Any], *, seconds: float) -> dict[str, Any]:
    """Returns the daemon's reply to a request; NoDaemon after the given seconds, or at once."""
    end = time.monotonic() + seconds
    _reap()
    if not place.is_wanted(request["environment"]):
        raise NoDaemon("switched off", "the setting `daemon` is false, or PGSERVICE is set")
    reply = _exchanged({**request, "seconds": seconds}, end)
    kind = _kind(reply)
    if kind == OTHER_VERSION:
        _hand_over(request, str(reply.get("version")))
        raise NoDaemon("other version", f"the daemon is of version {reply.get('version')}")
    if kind == GOING:
        raise NoDaemon("going", "the daemon is just ending")
    return reply


def answers(ping: dict[str, Any], *, seconds: float) -> bool:
    """Whether a daemon of the request's store answers in time."""
    try:
        ask(ping, seconds=seconds)
    except NoDaemon:
        return False
    return True


def start(store: str, environment: "Mapping[str, str] | None" = None) -> bool:
    """Starts a detached daemon and does not wait for it; False if none can be started here.

    The new process gets what it needs to find Python and the socket's folder, and nothing else of
    this one's environment: each request brings its own.
    """
    variables = os.environ if environment is None else environment
    _reap()
    if not (sys.executable and place.is_wanted(variables)):
        return False
    kept = {name: os.environ[name] for name in (*_KEPT, *_KEPT_PYTHON) if name in os.environ}
    if variables.get("XDG_RUNTIME_DIR"):
        kept["XDG_RUNTIME_DIR"] = variables["XDG_RUNTIME_DIR"]
    words = [sys.executable, "-P", "-m", "memory_mesh.agents.daemon", "--store", store]
    if idle := place.idle_seconds(variables):
        words += ["--idle", str(idle)]
    try:
        process = system.spawn(words, kept)
    except OSError:
        return False
    if process is not None:
        _started.add(process)
    return process is not None


def ensure(
    store: str, environment: "Mapping[str, str] | None" = None, *, seconds: float = 10.0
) -> dict[str, Any]:
    """Returns the reply to a `ping`; starts a daemon if there is none, and waits for it."""
    request = requests.made("ping", environment=environment) | {"store": store}
    end = time.monotonic() + seconds
    started = False
    while True:
        try:
            return ask(request, seconds=max(0.01, min(1.0, end - time.monotonic())))
        except NoDaemon as refusal:
            if time.monotonic() >= end or refusal.reason == "switched off":
                raise
            if not started and refusal.is_worth_a_start:
                if not start(store, environment):
                    raise NoDaemon("not started", str(refusal)) from None
                started = True
        time.sleep(0.01)


def is_newer(version: str, other: str) -> bool:
    """Whether a version is later than another one."""
    return _numbers(version) > _numbers(other)


def _exchanged(request: dict[str, Any], end: float) -> dict[str, Any]:
    line = requests.to_line(request)
    if len(line) > requests.MAX_BYTES:
        raise NoDaemon("too large", f"a request has at most {requests.MAX_BYTES} bytes")
    connection = _connected(request["store"], request["environment"], end)
    sent = False
    try:
        if system.peer_user(connection) != system.user_id():
            raise NoDaemon("wrong user", "the process at the socket belongs to another user")
        sent = True
        _send(connection, line, end)
        return _reply(connection, end)
    except TimeoutError:
        raise NoDaemon("timeout", "the daemon did not answer in time", sent=sent) from None
    except OSError as error:
        raise NoDaemon("broken", _in_words(error), sent=sent) from None
    except requests.BadLine as error:
        raise NoDaemon("garbage", str(error), sent=sent) from None
    finally:
        connection.close()


def _connected(store: str, environment: "Mapping[str, str]", end: float) -> "socket":
    from _socket import SOCK_STREAM, socket

    try:
        family = system.unix_family()
    except OSError:
        raise NoDaemon("platform", "there are no Unix sockets here") from None
    failure = NoDaemon("not there", "there is no daemon of this store")
    for path in _paths(store, environment):
        connection = socket(family, SOCK_STREAM)
        try:
            connection.settimeout(_left(end))
            connection.connect(path)
        except TimeoutError:
            connection.close()
            raise NoDaemon("timeout", "the daemon takes no more connections") from None
        except OSError as error:
            connection.close()
            if not isinstance(error, FileNotFoundError):
                failure = NoDaemon(_why_not(error), _in_words(error))
        else:
            return connection
    raise failure


def _paths(store: str, environment: "Mapping[str, str]") -> "Iterator[str]":
    """Where the socket lies by rule, then where the last daemon says it put it."""
    by_rule = None
    try:
        by_rule = place.socket_path(store, environment)
        yield by_rule
    except place.NoPlace:
        pass
    known = place.recorded(store)
    if known and known[1] != by_rule and place.is_private(os.path.dirname(known[1])):  # noqa: PTH120
        yield known[1]


def _why_not(error: OSError) -> str:
    if isinstance(error, BlockingIOError):  # Linux says so when the backlog is full
        return "timeout"
    return "refused" if isinstance(error, ConnectionRefusedError) else "unusable socket"


def _in_words(error: OSError) -> str:
    """What happened, without the number that the system has for it."""
    if isinstance(error, ConnectionRefusedError):
        return "a socket is there, but no process answers at it"
    return f"the socket says: {error.strerror}" if error.strerror else str(error)


def _send(connection: "socket", line: bytes, end: float) -> None:
    rest = memoryview(line)
    while rest:
        connection.settimeout(_left(end))
        rest = rest[connection.send(rest) :]


def _reply(connection: "socket", end: float) -> dict[str, Any]:
    parts, size = [], 0
    while size <= requests.MAX_BYTES:
        connection.settimeout(_left(end))
        part = connection.recv(_CHUNK)
        parts.append(part)
        size += len(part)
        if part.endswith(b"\n"):
            return requests.from_line(b"".join(parts))
        if not part:
            raise ConnectionResetError("the daemon closed the connection without a reply")
    raise requests.BadLine("the reply is too large")


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _kind(reply: dict[str, Any]) -> str:
    error = reply.get("error")
    if reply.get("protocol") != requests.PROTOCOL:
        return OTHER_VERSION
    return str(error.get("kind")) if isinstance(error, dict) else ""


def _hand_over(request: dict[str, Any], theirs: str) -> None:
    """Asks an older daemon to end and starts one of this version; leaves a newer one alone."""
    if not is_newer(__version__, theirs):
        return
    stop = {**request, "do": "stop", "input": {"why": "upgrade"}}
    try:
        _exchanged(stop, time.monotonic() + _STOP_SECONDS)
    except NoDaemon:
        return
    start(request["store"], request["environment"])


def _numbers(version: str) -> list[int]:
    plain = "".join(char if char.isdigit() else " " for char in version)
    return [int(number) for number in plain.split()]


def _reap() -> None:
    """Lets go of processes started earlier: each one detaches and ends its first half at once."""
    for pid in list(_started):
        if system.has_ended(pid):
            _started.discard(pid)  # another thread may have been faster
