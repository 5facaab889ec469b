"""`memory-mesh-mcp`: an MCP server on standard input and output that is ready at once.

::

    stdin ── a line ──▶ protocol.py answers from tools.json        initialize, ping, lists
                   └──▶ a thread ──▶ backend.py ──▶ daemon         calls, resources, prompts

A host leaves a server out that is not ready within a second or two, so this process loads the
standard library's light parts and nothing else until the first call. Standard output carries
messages and nothing else: what a library prints goes to standard error.
"""

import os
import signal
import sys
import threading
import time

from memory_mesh.agents import request
from memory_mesh.agents.mcp import protocol
from memory_mesh.base.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    from memory_mesh.agents.mcp.backend import HostRequests

    Id = int | str
    Send = Callable[[dict[str, Any] | None], None]

MAX_LINE = 8_000_000  # bytes of a message
_CHUNK = 65_536

_THREADS = 8  # calls at a time; others wait
_MOST_WAITING = 1_000
_LAST_SECONDS = 10.0  # for calls that run when the input ends
_TERMINATED_SECONDS = 1.0  # the same when the host asks to end
_USAGE = """\
usage: memory-mesh-mcp [--host NAME] [--compat server-memory|lane]

Serves long-term memory over MCP on standard input and output; an agent starts it.
  --host NAME     the agent that starts it (default: claude-code if that is the client's name,
                  else mcp)
  --compat NAME   offers the tools of another memory server instead of its own:
                  server-memory   create_entities, add_observations, search_nodes ...
                  lane            memory_lane_store, memory_lane_find, memory_lane_feedback
"""
_ASKED = {"tools/call": "tool", "resources/read": "resource", "prompts/get": "prompt"}
_OPTIONS = ("--host", "--compat")
_HOST = "mcp"  # where nobody says which host it is
_KNOWN = ("claude-code",)  # hosts that have hooks, by the names that they give as clients
_SETS = {"server-memory": "aliases/server_memory.json", "lane": "aliases/lane.json"}
# Not `platform.system`: a start that loads no module for this is shorter. Windows has no SIGHUP.
_ENDING = [
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)
]


def main() -> int:
    """Serves until the input ends or the host asks to end."""
    words = sys.argv[1:]
    if "-h" in words or "--help" in words:
        sys.stdout.write(_USAGE)
        return 0
    try:
        stated = _stated(words)
    except ValueError as error:
        sys.stderr.write(f"{_USAGE}\nmemory-mesh-mcp: {error}\n")
        return 2
    host, compat = stated.get("--host"), stated.get("--compat")
    out = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints
    front = Front(offer(compat), host, out, compat)
    for number in _ENDING:
        signal.signal(number, _end)
    try:
        for line in lines(0):
            front.take(line)
        done = front.finished(_LAST_SECONDS)
    except Terminated:
        done = front.finished(_TERMINATED_SECONDS, begin=False)
    if not done:
        os._exit(0)  # a call still runs, and nobody waits for it any more
    return 0


def _stated(words: list[str]) -> dict[str, str]:
    """The options by their names; ValueError names a word that is not understood."""
    stated: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name not in _OPTIONS:
            raise ValueError(f"{word!r} is no option; there are: {', '.join(_OPTIONS)}")
        if name in stated:
            raise ValueError(f"{name} is given twice")
        stated[name] = value if equals else next(rest, "")
        if not stated[name]:
            raise ValueError(f"{name} needs a NAME")
    compat = stated.get("--compat")
    if compat is not None and compat not in _SETS:
        raise ValueError(f"{compat!r} is no choice of --compat; there are: {', '.join(_SETS)}")
    return stated


class Terminated(Exception):
    """The host asked this process to end."""


def offer(compat: str | None = None) -> dict[str, Any]:
    """What the server offers: tools, resources, prompts and instructions; or an alias set does."""
    name = "tools.json" if compat is None else _SETS[compat]
    path = os.path.join(os.path.dirname(__file__), name)  # noqa: PTH118, PTH120
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib costs 8 ms
        found = request.loads(file.read())
    if not isinstance(found, dict):
        raise TypeError(f"{path} is damaged: install memory-mesh again")
    return found


class Front:
    """Answers the messages of one client."""

    def __init__(
        self, offer: "Mapping[str, Any]", host: str | None, out: int, compat: str | None = None
    ) -> None:
        """Answer on the file descriptor `out`; without a `host` the client may name it."""
        self._offer, self._host, self._out, self._compat = offer, host, out, compat
        self._agreed = protocol.HANDSHAKE[-1]
        self._writing = threading.Lock()
        self._changed = threading.Condition()
        self._waiting: list[Call] = []
        self._running: dict[Id, Call] = {}
        self._threads = 0
        self._asking: HostRequests | None = None
        self._woken = False

    def take(self, line: bytes | None) -> None:
        """Answers a line, or has it answered by a thread."""
        if line is None:
            return self._refuse(protocol.INVALID_REQUEST, _TOO_LONG)
        if not line.strip():
            return None
        try:
            message = request.loads(line.decode())
        except ValueError as error:
            return self._refuse(protocol.PARSE_ERROR, f"the line is no JSON: {error}")
        if not isinstance(message, list):
            self._take_one(message, self._send)
        elif self._agreed == protocol.BATCHED and message:
            batch = Batch(len(message), self._send)
            for each in message:
                self._take_one(each, batch.add)
        else:
            self._refuse(protocol.INVALID_REQUEST, _NO_BATCH)
        return None

    def finished(self, seconds: float, *, begin: bool = True) -> bool:
        """Waits for calls and closes what is open; False if one still runs.

        Without `begin` those that wait are dropped.
        """
        end = time.monotonic() + seconds
        with self._changed:
            if not begin:
                self._waiting.clear()
            while self._threads and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            done = not self._threads
        if done and self._asking is not None:
            self._asking.close()
        return done

    def _take_one(self, message: object, send: "Send") -> None:
        """Answers one message; a notification or a response by nothing."""
        try:
            id_, method, params = request_of(message)
        except protocol.Refused as refusal:
            return send(refusal_of(id_of(message), refusal))
        if method is None or id_ is None:
            if method == "notifications/cancelled":
                self._cancel(params.get("requestId"))
            return send(None)
        try:
            version = protocol.version_of(method, params, self._agreed)
            if method == "initialize":
                version = self._agreed = protocol.agreed_on(params)
                self._host = self._host or _client_of(params)
            result = protocol.answered(self._offer, method, params, version)
            if result is None:
                return self._call(Call(id_, method, self._given(method, params), version, send))
        except protocol.Refused as refusal:
            return send(refusal_of(id_, refusal))
        send(result_of(id_, protocol.shaped(self._offer, method, result, version)))
        if method in {"initialize", "server/discover"}:
            self._wake()
        return None

    def _given(self, method: str, params: "Mapping[str, Any]") -> dict[str, Any]:
        """What is asked of the store; Refused if it is no valid request."""
        if method not in _ASKED:
            raise protocol.Refused(protocol.METHOD_NOT_FOUND, f"Method not found: {method[:80]}")
        key = "uri" if method == "resources/read" else "name"
        named, arguments = params.get(key), params.get("arguments")
        if not isinstance(named, str):
            raise protocol.Refused(protocol.INVALID_PARAMS, f"{method} needs {key}, a text")
        if arguments is not None and not isinstance(arguments, dict):
            raise protocol.Refused(protocol.INVALID_PARAMS, "arguments must be an object")
        if key == "name":
            what = "tools" if method == "tools/call" else "prompts"
            known = [each["name"] for each in self._offer[what]]
            if named not in known:
                said = f"Unknown name among the {what}; there are: {', '.join(known)}"
                raise protocol.Refused(protocol.INVALID_PARAMS, said)
        given = {key: named, "arguments": arguments or {}}
        return given if self._compat is None else given | {"compat": self._compat}

    def _wake(self) -> None:
        """Starts a daemon in the background, once."""
        if not self._woken:
            self._woken = True
            threading.Thread(target=lambda: self._back().wake(), daemon=True).start()

    def _back(self) -> "HostRequests":
        from memory_mesh.agents.mcp.backend import HostRequests  # the first answer goes before

        with self._changed:
            if self._asking is None:
                self._asking = HostRequests(self._host or _HOST)
            return self._asking

    def _call(self, call: "Call") -> None:
        """Hands a call to a thread."""
        with self._changed:
            if call.id in self._running:
                raise protocol.Refused(
                    protocol.INVALID_REQUEST, "a request with this id is being answered"
                )
            if len(self._waiting) >= _MOST_WAITING:
                raise protocol.Refused(
                    protocol.TOO_MANY, "too many calls at once; wait for some answers"
                )
            self._running[call.id] = call
            self._waiting.append(call)
            if self._threads >= _THREADS:
                return
            self._threads += 1
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        back = self._back()
        while True:
            with self._changed:
                if not self._waiting:
                    self._threads -= 1
                    self._changed.notify_all()
                    return
                call = self._waiting.pop(0)
            reply = {} if call.cancelled else back.ask(_ASKED[call.method], call.given)
            with self._changed:
                del self._running[call.id]
            call.send(None if call.cancelled else self._replied(call, reply))

    def _replied(self, call: "Call", reply: "Mapping[str, Any]") -> dict[str, Any]:
        """The response to a call: an error in a tool is a result that the model can read."""
        if reply.get("ok") is True:
            result = reply["answer"]
        else:
            kind, text = str(reply["error"]["kind"]), str(reply["error"]["text"])
            if call.method != "tools/call":
                return refusal_of(call.id, protocol.failure(kind, text, call.version))
            result = protocol.failed_call(kind, text)
        shaped = protocol.shaped(self._offer, call.method, result, call.version)
        return result_of(call.id, shaped)

    def _cancel(self, id_: object) -> None:
        """The answer to a cancelled request is not sent; one that waits is not begun."""
        if isinstance(id_, int | str):
            with self._changed:
                if (call := self._running.get(id_)) is not None:
                    call.cancelled = True

    def _refuse(self, code: int, text: str) -> None:
        self._send(refusal_of(None, protocol.Refused(code, text)))

    def _send(self, message: object) -> None:
        if message is None:
            return
        rest = memoryview(request.dumps(message).encode("ascii") + b"\n")
        with self._writing:
            try:
                while rest:
                    rest = rest[os.write(self._out, rest) :]
            except OSError:  # the client is gone; the end of its input follows
                return


def _client_of(params: "Mapping[str, Any]") -> str | None:
    """The client's name, if it is a host that we know."""
    client = params.get("clientInfo")
    name = client.get("name") if isinstance(client, dict) else None
    return name if name in _KNOWN else None


class Call:
    """A request that the store answers."""

    def __init__(
        self, id_: "Id", method: str, given: dict[str, Any], version: str, send: "Send"
    ) -> None:
        """Keep what is needed to answer it."""
        self.id: Id = id_
        self.method: str = method
        self.given: dict[str, Any] = given
        self.version: str = version
        self.send: Send = send
        self.cancelled: bool = False


_TOO_LONG = f"a message has at most {MAX_LINE} bytes"
_NO_BATCH = "an array of messages needs version 2025-03-26, and a message in it"


def _end(_signal: int, _frame: "FrameType | None") -> None:
    """Ends the reading, once."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise Terminated


# JSON-RPC messages as lines: reading them, taking them apart, and the two kinds of response.
#
# Light: the front loads it at its start.


def lines(file: int) -> "Iterator[bytes | None]":
    """The lines of a file descriptor; None in the place of one that is too long."""
    rest: list[bytes] = []
    size = 0
    while part := os.read(file, _CHUNK):
        *whole, last = part.split(b"\n")
        for piece in whole:
            size += len(piece)
            yield None if size > MAX_LINE else b"".join([*rest, piece])
            rest, size = [], 0
        size += len(last)
        if size > MAX_LINE:
            rest.clear()
        else:
            rest.append(last)
    if size:
        yield None if size > MAX_LINE else b"".join(rest)


def request_of(message: object) -> "tuple[Id | None, str | None, dict[str, Any]]":
    """Id, method and params of a message; a notification has no id, a response no method."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise protocol.Refused(
            protocol.INVALID_REQUEST, 'a message is an object with "jsonrpc": "2.0"'
        )
    if "method" not in message:
        if "result" in message or "error" in message:
            return None, None, {}  # we ask nothing of the client
        raise protocol.Refused(protocol.INVALID_REQUEST, "a request needs a method")
    method, params = message["method"], message.get("params")
    if not isinstance(method, str):
        raise protocol.Refused(protocol.INVALID_REQUEST, "method must be a text")
    if "id" in message and id_of(message) is None:
        raise protocol.Refused(protocol.INVALID_REQUEST, "id must be a whole number or a text")
    if params is not None and not isinstance(params, dict):
        if "id" not in message:
            return None, None, {}  # nobody waits for an error
        raise protocol.Refused(protocol.INVALID_PARAMS, "params must be an object")
    return id_of(message), method, params or {}


def id_of(message: object) -> "Id | None":
    """The id of a message, if it is a valid one."""
    id_ = message.get("id") if isinstance(message, dict) else None
    return id_ if isinstance(id_, int | str) and not isinstance(id_, bool) else None


def result_of(id_: "Id", result: dict[str, Any]) -> dict[str, Any]:
    """The response to a request that was answered."""
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def refusal_of(id_: "Id | None", refusal: protocol.Refused) -> dict[str, Any]:
    """The response to a request that was refused."""
    return {"jsonrpc": "2.0", "id": id_, "error": refusal.as_json()}


class Batch:
    """The responses to an array of messages, sent as one when the last one is there."""

    def __init__(self, size: int, send: "Callable[[object], None]") -> None:
        self._left, self._send = size, send
        self._made: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def add(self, response: dict[str, Any] | None) -> None:
        """Takes a response, or None for a message that has none."""
        with self._lock:
            self._left -= 1
            if response is not None:
                self._made.append(response)
            if self._left or not self._made:
                return
        self._send(self._made)
