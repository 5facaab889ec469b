"""What the daemon says to each request: some at once, the others through `answer`."""

import os
import time

from memory_mesh._version import __version__
from memory_mesh.agents import request as requests
from memory_mesh.agents.answer import answer
from memory_mesh.agents.daemon import client
from memory_mesh.agents.opening import Stores
from memory_mesh.errors import InvalidInput, MeshError
from memory_mesh.formats import json_text
from memory_mesh.policy.privacy import masked
from memory_mesh.typed import Any

_OWN = ("ping", "status", "stop")


class Desk:
    """Answers the requests about one store."""

    def __init__(self, store: str, stores: Stores) -> None:
        self.store, self.ending = store, False
        self._stores = stores
        self._since = time.time()
        self._answered = 0

    def at_once(self, line: bytes) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """The request in a line, and the reply if there is one without any work."""
        try:
            request = _checked(json_text.read(line))
        except InvalidInput as error:
            return None, self.refusal("InvalidInput", f"the request is not valid: {error}")
        if request["do"] in _OWN:
            return request, self._own(request)
        if request["version"] != __version__:
            return request, self.refusal(client.OTHER_VERSION, "the daemon is of another version")
        if self.ending or request["store"] != self.store:
            return request, self.refusal(client.GOING, "the daemon ends, or is of another store")
        return request, None

    def answered(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request that needs work; never raises."""
        try:
            found = answer(self._stores, request)
            requests.to_line(found)
        except MeshError as error:
            return self.refusal(type(error).__name__, str(error))
        except Exception as error:  # noqa: BLE001  # the surface's last line
            return self.refusal("Bug", f"{type(error).__name__}: {error}")
        self._answered += 1
        return self._reply() | {"ok": True, "answer": found}

    def refusal(self, kind: str, text: str) -> dict[str, Any]:
        """The reply that says what is wrong."""
        return self._reply() | {"ok": False, "error": {"kind": kind, "text": masked(text)}}

    def close(self) -> None:
        """Closes the stores."""
        self._stores.close()

    def _own(self, request: dict[str, Any]) -> dict[str, Any]:
        said: dict[str, Any] = {}
        if request["do"] == "stop":
            if client.is_newer(__version__, request["version"]):
                return self.refusal(client.OTHER_VERSION, "an older client ends no newer daemon")
            self.ending = True
        elif request["do"] == "status":
            said = {
                "store": self.store,
                "since": self._since,
                "answered": self._answered,
            }
        return self._reply() | {"ok": True, "answer": said}

    def _reply(self) -> dict[str, Any]:
        return {"protocol": requests.PROTOCOL, "version": __version__, "pid": os.getpid()}


def _checked(request: object) -> dict[str, Any]:
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
