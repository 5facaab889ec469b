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
from memory_mesh.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Mapping

OTHER_VERSION = "OtherVersion"
GOING = "Going"  # it ends, or its store is another one by now: the request was not begun
_STOP_SECONDS = 0.05
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "XDG_RUNTIME_DIR")
_KEPT_PYTHON = ("PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
_CHUNK = 65_536
_started: list[int] = []  # processes to reap


class NoDaemon(Exception):
    """No daemon answered: `reason` says why, `sent` whether one may have got the request."""

    def __init__(self, reason: str, text: str = "", *, sent: bool = False) -> None:
        super().__init__(text or reason)
        self.reason, self.sent = reason, sent


def ask(request: dict[str, Any], *, seconds: float) -> dict[str, Any]:
    """Returns the daemon's reply to a request; NoDaemon after the given seconds, or at once."""
    end = time.monotonic() + seconds
    _reap()
    if not place.is_wanted(request["environment"]):
        raise NoDaemon("switched off", "the setting `daemon` is false")
    reply = _exchanged(request, end)
    if reply.get("ok") is not True:
        kind = _kind(reply)
        if kind == OTHER_VERSION:
            _hand_over(request, str(reply.get("version")))
            raise NoDaemon("other version", f"the daemon is of version {reply.get('version')}")
        if kind == GOING:
            raise NoDaemon("going", "the daemon is just ending")
    return reply


def start(store: str, environment: "Mapping[str, str] | None" = None) -> bool:
    """Starts a detached daemon and does not wait for it; False if none can be started here."""
    variables = os.environ if environment is None else environment
    _reap()
    if not (sys.executable and hasattr(os, "posix_spawn") and place.is_wanted(variables)):
        return False
    kept = {name: variables[name] for name in (*_KEPT, *_KEPT_PYTHON) if name in variables}
    words = [sys.executable, "-P", "-m", "memory_mesh.agents.daemon", "--store", store]
    nowhere = [(os.POSIX_SPAWN_OPEN, to, os.devnull, os.O_RDWR, 0) for to in (0, 1, 2)]
    try:
        _started.append(os.posix_spawn(sys.executable, words, kept, file_actions=nowhere))
    except OSError:
        return False
    return True


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
            if time.monotonic() >= end:
                raise
            if not started and not start(store, environment):
                raise NoDaemon("not started", str(refusal)) from None
            started = True
        time.sleep(0.02)


def _exchanged(request: dict[str, Any], end: float) -> dict[str, Any]:
    line = requests.to_line(request)
    if len(line) > requests.MAX_BYTES:
        raise NoDaemon("too large", f"a request has at most {requests.MAX_BYTES} bytes")
    connection = _connected(request["store"], request["environment"], end)
    sent = False
    try:
        _check_peer(connection)
        sent = True
        _send(connection, line, end)
        return _reply(connection, end)
    except TimeoutError:
        raise NoDaemon("timeout", "the daemon did not answer in time", sent=sent) from None
    except OSError as error:
        raise NoDaemon("broken", str(error), sent=sent) from None
    except requests.BadLine as error:
        raise NoDaemon("garbage", str(error), sent=sent) from None
    finally:
        connection.close()


def _connected(store: str, environment: "Mapping[str, str]", end: float) -> "socket":
    try:
        from _socket import AF_UNIX, SOCK_STREAM, socket
    except ImportError:
        raise NoDaemon("platform", "there are no Unix sockets here") from None
    failure = NoDaemon("not there")
    for path in _paths(store, environment):
        connection = socket(AF_UNIX, SOCK_STREAM)
        try:
            connection.settimeout(_left(end))
            connection.connect(path)
        except TimeoutError:
            connection.close()
            raise NoDaemon("timeout", "the daemon takes no more connections") from None
        except OSError as error:
            connection.close()
            failure = NoDaemon(_why_not(error), str(error))
        else:
            return connection
    raise failure


def _paths(store: str, environment: "Mapping[str, str]") -> list[str]:
    """Where the socket lies by rule, and where the last daemon says it put it."""
    try:
        found = [place.socket_path(store, environment)]
    except OSError:
        found = []
    if found and os.path.exists(found[0]):  # noqa: PTH110
        return found
    known = place.recorded(store)
    if known and known[1] not in found and place.is_private(os.path.dirname(known[1])):  # noqa: PTH120
        found.append(known[1])
    return found


def _why_not(error: OSError) -> str:
    return {FileNotFoundError: "not there", ConnectionRefusedError: "refused"}.get(
        type(error), "unusable socket"
    )


def _check_peer(connection: "socket") -> None:
    if peer_uid(connection) != os.getuid():
        raise NoDaemon("wrong user", "the process behind the socket belongs to another user")


def peer_uid(connection: "socket") -> int:
    """The user of the process at the other end of a Unix socket."""
    if sys.platform == "darwin":  # struct xucred: version, uid, groups
        raw = connection.getsockopt(0, 1, 76)
    else:  # struct ucred: pid, uid, gid
        from _socket import SO_PEERCRED, SOL_SOCKET

        raw = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
    return int.from_bytes(raw[4:8], sys.byteorder)


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
            raise requests.BadLine("the daemon closed the connection without a reply")
    raise requests.BadLine("the reply is too large")


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _kind(reply: dict[str, Any]) -> str:
    error = reply.get("error")
    return str(error.get("kind")) if isinstance(error, dict) else ""


def _hand_over(request: dict[str, Any], theirs: str) -> None:
    """Asks an older daemon to end and starts one of this version; leaves a newer one alone."""
    if not is_newer(__version__, theirs):
        return
    stop = {**request, "do": "stop", "input": {}}
    try:
        _exchanged(stop, time.monotonic() + _STOP_SECONDS)
    except NoDaemon:
        return
    start(request["store"], os.environ)


def is_newer(version: str, other: str) -> bool:
    """Whether a version is later than another one."""
    return _numbers(version) > _numbers(other)


def _numbers(version: str) -> list[int]:
    plain = "".join(char if char.isdigit() else " " for char in version)
    return [int(number) for number in plain.split()]


def _reap() -> None:
    """Lets go of processes started earlier: each one detaches and ends its first half at once."""
    for pid in list(_started):
        try:
            done = os.waitpid(pid, os.WNOHANG)[0] == pid
        except OSError:
            done = True
        if done:
            _started.remove(pid)
