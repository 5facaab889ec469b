"""A mesh behind a URL: each operation is one request to the service that has the store.

::

    MemoryMesh("https://memory.example.com", key="mm_…").search("themes")
        ── checked here like any call ──▶ POST /v1/search ──▶ the same values, the same errors

What needs the store itself, such as a backup or the mirror, says so.
"""

import json
import secrets
import socket
import threading
from collections.abc import Mapping, Sized
from http.client import HTTPResponse
from urllib.parse import quote

from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.formats import wire
from memory_mesh.mesh.operation import public_name
from memory_mesh.model import (
    Channel,
    InvalidInput,
    MayBeStored,
    MeshError,
    NetworkError,
    NotAllowed,
    StoreIsAway,
    errors,
)
from memory_mesh.models.http.client import Client, Kept, Limits, is_readable
from memory_mesh.platform import telemetry
from memory_mesh.platform.store_urls import refuse_service
from memory_mesh.rules.arguments import NOT_GIVEN, user_of

if TYPE_CHECKING:
    from memory_mesh.mesh.operation import Operation, Option
    from memory_mesh.mesh.view import View

_FUNCTIONS = frozenset(("progress", "between"))  # nothing is heard of a call on its way
_REPEATABLE = frozenset(("add", "evolve"))
_MOST_SAID = 100_000  # bytes of a problem
NO_ROUTE = "NoRoute"  # the title of the problem where a service does not offer an operation
_SILENT_SECONDS = 10.0  # before somebody looks whether the service lives
_LOOK = Limits(connect_seconds=2, read_seconds=3, total_seconds=4, attempts=1)
_LOST = frozenset((500, 502, 504))  # of a balancer: what was sent may have arrived
_ONCE = Limits(attempts=1, read_seconds=60.0)  # as long as a service works on one operation
_AGAIN = Limits(total_seconds=30.0)  # of what can be repeated: nobody waits longer for an answer


class RemoteStore:
    """The service behind a URL, asked with one key."""

    local = frozenset(
        ("close", "view", "for_user", "export", "import_", "at", "check")
    )  # done here

    def __init__(self, url: str, key: str | None) -> None:
        """Ask nothing yet; `key` is what the service handed out."""
        if not key:
            raise InvalidInput(
                f"{url} is a service, which opens with a key: give key=…, or set "
                "MEMORY_MESH_ACCESS_KEY"
            )
        headers = {"Authorization": f"Bearer {key}"}
        self.url, self._kept = url, Kept()
        self._once, self._again = (
            _Service(url, headers=headers, secrets=(key,), limits=limits, kept=self._kept)
            for limits in (_ONCE, _AGAIN)
        )
        self._once.arrived = self._again.arrived = threading.local()

    def close(self) -> None:
        """End the connections that wait for another call."""
        self._kept.close()

    def call(
        self,
        operation: "Operation",
        view: "View",
        arguments: tuple[object, ...],
        options: Mapping[str, object],
    ) -> Any:  # noqa: ANN401  # what the operation returns
        """What the service answers to one call, as the value that the operation returns."""
        name = public_name(operation.__qualname__).removeprefix("MemoryMesh.")
        if operation.__name__ == "init":
            self._again.request("GET", "readyz")
            return None
        given = zip(operation.options, arguments, strict=False)
        named: dict[str, Any] = dict(given) | dict(options)
        if named.get("also"):
            named["also"] = [_headers(self._own(one)) for one in named["also"]]
        body = {
            each: wire.encoded(value)
            for each, value in named.items()
            if value is not NOT_GIVEN
            and not (each in _FUNCTIONS and callable(value))
            and not _is_default(operation.options[each], value)
        }
        headers = _headers(view) | telemetry.trace_headers()
        if name in _REPEATABLE and "key" not in body:
            headers["Idempotency-Key"] = secrets.token_hex(16)
        path = "v1/" + name.rstrip("_").replace(".", "/")
        can_repeat = name in _REPEATABLE or operation.reads
        client = self._again if can_repeat else self._once
        client.arrived.once = False
        try:
            answer = client.request("POST", path, body, headers)
        except NetworkError as error:
            if client.arrived.once and not operation.reads:
                raise MayBeStored(
                    f"{error}; the connection ended during a write, which may be stored. Look "
                    "before you write it again"
                ) from None
            end = "" if str(error).endswith("?") else "."
            raise StoreIsAway(f"{error}{end} Look whether it runs; retry") from None
        return wire.decoded(operation.__wrapped__.__annotations__.get("return"), json.loads(answer))

    def _own(self, also: Any) -> "View":  # noqa: ANN401  # whatever it was given
        """A view of this service, which alone can be asked together with another one."""
        view: View = getattr(also, "_sync", also)
        if getattr(view, "_remote", None) is not self:
            raise InvalidInput(f"also takes views of the same mesh, which is behind {self.url}")
        return view


class _Silent(TimeoutError):
    """Nothing comes from the service, not even that it lives."""


class _Service(Client):
    """The client, which raises what the service says went wrong as the same error."""

    arrived: threading.local  # `once`: whether a request of this thread may have got there

    def _wait_for_answer(self, channel: socket.socket) -> None:
        """Looks, where nothing comes for long, whether the service says anything at all."""
        if not is_readable(channel, _SILENT_SECONDS):
            try:
                Client(str(self._base), limits=_LOOK).request("GET", "livez")
            except NetworkError:
                raise _Silent from None

    def _trouble(self, error: Exception) -> Exception:
        if not isinstance(error, ConnectionRefusedError | socket.gaierror):
            self.arrived.once = True
        if isinstance(error, _Silent):
            return NetworkError(
                f"{self._base} takes connections and answers nothing, not even /livez: it hangs"
            )
        return super()._trouble(error)

    def _refusal(self, response: HTTPResponse) -> Exception:
        try:
            problem = json.loads(response.read(_MOST_SAID))
            name, said = str(problem["title"]), str(problem["detail"])
        except (ValueError, KeyError, TypeError, OSError):
            self.arrived.once = response.status in _LOST  # a balancer lost the answer
            return super()._refusal(response)
        if name == NO_ROUTE:
            refuse_service(str(self._base))
        kind = TypeError if name == "TypeError" else getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, MeshError | TypeError):
            return kind(said)
        return (NotAllowed if response.status == 429 else NetworkError)(said)  # noqa: PLR2004


def _is_default(option: "Option", value: object) -> bool:
    """Whether a value says nothing: an older service need not know its option."""
    empty = option.default in (None, ()) and not isinstance(value, bool | int | float | str)
    return value == option.default or (empty and isinstance(value, Sized) and not len(value))


def _headers(view: "View") -> dict[str, str]:
    """Who reads and writes, and where."""
    config, channel = view._config, view._channel  # noqa: SLF001  # its own store
    user = user_of(config.namespace)
    is_stated = "namespace" in config.origins  # else a key with one place means that
    stated = {
        "User": user,
        "Namespace": config.namespace if user is None and is_stated else None,
        "Project": config.project,
        "Agent": config.agent_id if "agent_id" in config.origins else None,
        "Session": config.session,
        "Channel": None if channel is Channel.LIBRARY else str(channel),
    }
    return {
        f"Memory-Mesh-{name}": quote(value, safe="")
        for name, value in stated.items()
        if value is not None
    }
