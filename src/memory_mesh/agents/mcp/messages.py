"""JSON-RPC messages as lines: reading them, taking them apart, and the two kinds of response.

Light: the front loads it at its start.
"""

import os
import threading

from memory_mesh.agents.mcp.protocol import INVALID_PARAMS, INVALID_REQUEST, Refused
from memory_mesh.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Id = int | str
    Send = Callable[[dict[str, Any] | None], None]

MAX_LINE = 8_000_000  # bytes of a message
_CHUNK = 65_536


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
        raise Refused(INVALID_REQUEST, 'a message is an object with "jsonrpc": "2.0"')
    if "method" not in message:
        if "result" in message or "error" in message:
            return None, None, {}  # we ask nothing of the client
        raise Refused(INVALID_REQUEST, "a request needs a method")
    method, params = message["method"], message.get("params")
    if not isinstance(method, str):
        raise Refused(INVALID_REQUEST, "method must be a text")
    if "id" in message and id_of(message) is None:
        raise Refused(INVALID_REQUEST, "id must be a whole number or a text")
    if params is not None and not isinstance(params, dict):
        if "id" not in message:
            return None, None, {}  # nobody waits for an error
        raise Refused(INVALID_PARAMS, "params must be an object")
    return id_of(message), method, params or {}


def id_of(message: object) -> "Id | None":
    """The id of a message, if it is a valid one."""
    id_ = message.get("id") if isinstance(message, dict) else None
    return id_ if isinstance(id_, int | str) and not isinstance(id_, bool) else None


def result_of(id_: "Id", result: dict[str, Any]) -> dict[str, Any]:
    """The response to a request that was answered."""
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def refusal_of(id_: "Id | None", refusal: Refused) -> dict[str, Any]:
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
