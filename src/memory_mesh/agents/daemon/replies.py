"""What the daemon says to each request: some at once, the others through `answer`."""

import os
import time
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.agents import request as requests
from memory_mesh.agents.answer import answer
from memory_mesh.agents.daemon import client
from memory_mesh.agents.opening import Stores
from memory_mesh.errors import InvalidInput, MeshError
from memory_mesh.formats import json_text
from memory_mesh.policy.privacy import masked
from memory_mesh.typed import Any

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
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGESIZE") // 1_000_000


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
