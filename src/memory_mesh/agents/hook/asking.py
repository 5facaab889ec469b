"""Asks the daemon in a thread of its own, so that one that stands still costs nothing."""

import _thread
import time

from memory_mesh.agents.daemon import client
from memory_mesh.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Asking:
    """A request under way; the answer or the refusal stands here as soon as there is one."""

    def __init__(
        self,
        request: dict[str, Any],
        end: float,
        heard: "Callable[[dict[str, Any]], None]",
    ) -> None:
        """Begin to ask until `end`; `heard` gets an answer in the thread that asks."""
        self.answer: dict[str, Any] | None = None
        self.refusal: str = ""
        self.is_worth_a_start: bool = False
        self._heard, self._done = heard, _thread.allocate_lock()
        self._done.acquire()
        _thread.start_new_thread(self._ask, (request, end))

    def wait(self, seconds: float) -> None:
        """Waits until the daemon has answered or refused, or the time is over."""
        if self._done.acquire(timeout=max(0.0, seconds)):
            self._done.release()

    def _ask(self, request: dict[str, Any], end: float) -> None:
        try:
            reply = client.ask(request, seconds=max(0.001, end - time.monotonic()))
        except client.NoDaemon as refusal:
            self.refusal, self.is_worth_a_start = refusal.reason, refusal.is_worth_a_start
        else:
            answer = reply.get("answer") if reply.get("ok") is True else None
            if isinstance(answer, dict):
                self.answer = answer
                self._heard(answer)
            else:
                self.refusal = str((reply.get("error") or {}).get("kind", "no answer"))
        finally:
            self._done.release()
