"""Gets a request answered: by the daemon, or, while there is none, in this process.

In the process the same code answers, without an embedder: texts are stored and found by their
words, and get their vectors from the next daemon. A daemon that dies in the middle of a call costs
nothing: the same request, with the same id, is answered here, and its id is the idempotency key of
what it stores. Light: everything else is imported by the thread that first needs it.
"""

import os
import threading
import time

from memory_mesh.agents import journal, request as requests
from memory_mesh.agents.daemon import client
from memory_mesh.base.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory_mesh.agents.opening import Stores

PATIENCE_SECONDS = 20.0  # for an answer of a daemon that is alive
_ALIVE_SECONDS = 1.0  # for its answer to a ping
_STARTED_SECONDS = 10.0  # for the start of a daemon
_WARM_SECONDS = 60.0  # for its model
_WITHOUT_RETRY = 5.0  # seconds between two attempts to start a daemon


class HostRequests:
    """Asks for one host; safe to use from several threads."""

    def __init__(self, host: str, *, environment: "Mapping[str, str] | None" = None) -> None:
        """Settings are read from `environment`, by default that of the process."""
        self._host = host
        self._environment = os.environ if environment is None else environment
        self._stores: Stores | None = None
        self._lock = threading.Lock()
        self._tried = -_WITHOUT_RETRY

    def wake(self) -> None:
        """Starts a daemon unless one runs, and has it load its model; for a thread of its own."""
        warm = self._made("warm", {})
        try:
            client.ensure(warm["store"], self._environment, seconds=_STARTED_SECONDS)
            client.ask(warm, seconds=_WARM_SECONDS)
        except client.NoDaemon:
            return  # a call says what it meets

    def ask(self, do: str, given: "Mapping[str, Any]") -> dict[str, Any]:
        """Returns the reply: `ok` with an `answer`, or not, with an `error`."""
        try:
            return self._asked(do, given)
        except Exception as error:  # noqa: BLE001  # the last line of a surface
            return {"ok": False, "error": {"kind": type(error).__name__, "text": _said(error)}}

    def _asked(self, do: str, given: "Mapping[str, Any]") -> dict[str, Any]:
        begun = time.monotonic()
        request = self._made(do, given)
        facts = {"tool": given.get("name", do), "outcome": "failed", "through": "daemon"}
        try:
            try:
                reply = self._of_daemon(request)
            except client.NoDaemon as refusal:
                facts |= {"through": "process", "reason": refusal.reason}
                self._start(request, refusal)
                reply = self._here(request)
            if reply.get("ok") is True:
                facts["outcome"] = "answered"
            return reply
        finally:
            facts["ms"] = round((time.monotonic() - begun) * 1000)
            journal.note(request["store"], "mcp", **facts)

    def close(self) -> None:
        """Closes the store, if this process opened it."""
        with self._lock:
            stores, self._stores = self._stores, None
        if stores is not None:
            stores.close()

    def _of_daemon(self, request: dict[str, Any]) -> dict[str, Any]:
        """A daemon that is stopped takes connections: a ping asks for a sign of life first."""
        client.ask({**request, "do": "ping", "input": {}}, seconds=_ALIVE_SECONDS)
        return client.ask(request, seconds=PATIENCE_SECONDS)

    def _here(self, request: dict[str, Any]) -> dict[str, Any]:
        from memory_mesh.agents.opening import answer

        return {"ok": True, "answer": answer(self._opened(), request)}

    def _opened(self) -> "Stores":
        from memory_mesh.agents.opening import Stores

        with self._lock:
            if self._stores is None:
                self._stores = Stores(embedder=False)
            return self._stores

    def _start(self, request: dict[str, Any], refusal: client.NoDaemon) -> None:
        """Starts a daemon where there is none, once in a while."""
        if not refusal.is_worth_a_start:
            return
        with self._lock:
            now = time.monotonic()
            if now - self._tried < _WITHOUT_RETRY:
                return
            self._tried = now
        client.start(request["store"], self._environment)

    def _made(self, do: str, given: "Mapping[str, Any]") -> dict[str, Any]:
        return requests.made(do, given, host=self._host, environment=self._environment)


def _said(error: Exception) -> str:
    """The text of our own errors, which hold no secret; of others only what they are."""
    from memory_mesh.model.errors import MeshError

    return str(error) if isinstance(error, MeshError) else "an unexpected error"
