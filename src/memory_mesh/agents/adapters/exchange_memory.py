"""Recalls before an exchange and remembers after it, for each user apart; never in the way.

A failure of memory is logged and the call goes on without it. Recall has a time limit. What is
remembered is written by one thread, in order; a call waits for it a moment and then goes on.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from memory_mesh import log
from memory_mesh.conversation import TAG, MemoryContextManager
from memory_mesh.fastdataclass import dataclass
from memory_mesh.policy.learning import capture
from memory_mesh.sync import MemoryMesh

WAIT_SECONDS = 0.25  # that a call waits for what it remembers
_OWN_WORDS_CHARS = 2_000  # what is longer was pasted: it has the trust of an exchange
_READERS = 4


class Exchange:
    """One question of one user, and the memories that it was given."""

    def __init__(self, mesh: MemoryMesh, question: str, *, keeps_answer: bool = True) -> None:
        """Take the user's own view of the store; an answer that may tell too much is not kept."""
        self._mesh, self._question, self._keeps_answer = mesh, question, keeps_answer
        self._manager = MemoryContextManager(mesh=mesh)
        self._shown: tuple[str, ...] = ()

    def recall(self, max_tokens: int | None) -> str:
        """The memories for the prompt as fenced text; empty if there are none."""
        pack = self._manager.context(self._question, max_tokens=max_tokens)
        self._shown = tuple(item.memory.text for item in pack)
        return str(pack) if pack else ""

    def remember(self, answer: str) -> None:
        """Keeps what is worth it: the user's own words as theirs, else the whole exchange."""
        own = capture.judge(self._question, "", recalled=self._shown)
        if not own.worth_keeping or len(self._question) > _OWN_WORDS_CHARS:
            kept = answer if self._keeps_answer else ""
            self._manager.capture_interaction(self._question, kept)
            return
        self._mesh.add(
            self._question,
            {"signals": list(own.signals)},
            role="user",
            kind=own.kind,
            importance=own.importance,
            tags=[TAG],
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """What a wrapped client was told: whose memories by default, and how much of them."""

    user: str | None = None
    max_tokens: int | None = None
    patience: float = 5.0
    remember: bool = True


class ExchangeMemory:
    """The memory of one wrapped client, and the threads that it works in."""

    def __init__(self, mesh: MemoryMesh, settings: Settings) -> None:
        """Start nothing: the threads begin with the first call."""
        self.settings: Settings = settings
        self._mesh = mesh
        self._lock = threading.Lock()
        self._threads: _Threads | None = None

    def exchange(self, user: str | None, question: str, *, keeps_answer: bool) -> Exchange:
        """The exchange of a user, or of nobody in particular; raises for what is no user id."""
        view = self._mesh if user is None else self._mesh.for_user(user)
        return Exchange(view, question, keeps_answer=keeps_answer)

    def recall(self, exchange: Exchange) -> "Future[str]":
        """Recalls in a thread."""
        return self._started().readers.submit(exchange.recall, self.settings.max_tokens)

    def end(self, exchange: Exchange, answer: str) -> "Future[None] | None":
        """Remembers in the one thread that writes; None if there is nothing to remember."""
        if not self.settings.remember or not answer.strip():
            return None
        work = guarded("remember the exchange", lambda: exchange.remember(answer))
        return self._started().writer.submit(work)

    def settle(self, seconds: float) -> bool:
        """Waits until all that was said before is remembered; False if the time is over."""
        done = self._started().writer.submit(int)
        try:
            done.result(seconds)
        except TimeoutError:
            return False
        return True

    def _started(self) -> "_Threads":
        with self._lock:
            if self._threads is None or self._threads.process != os.getpid():  # a fork has none
                self._threads = _Threads(
                    os.getpid(),
                    ThreadPoolExecutor(_READERS, "memory-mesh-recall"),
                    ThreadPoolExecutor(1, "memory-mesh-remember"),
                )
            return self._threads


@dataclass(frozen=True, slots=True)
class _Threads:
    process: int
    readers: ThreadPoolExecutor
    writer: ThreadPoolExecutor


def guarded(what: str, work: Callable[[], None]) -> Callable[[], None]:
    """The same work; what it raises becomes a line in the log."""

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  # the last line of a surface: memory never breaks a call
            failed(what, error)

    return run


def failed(what: str, error: BaseException) -> None:
    """Says once that memory did not work, and each time leaves a record."""
    kind = type(error).__name__
    log.info("memory.left_out", step=what, error=kind)
    text = "it took too long" if isinstance(error, TimeoutError) else f"{kind}: {error}"
    log.warn_once(
        f"adapter {what} {kind}",
        f"could not {what}; the call to the model went on without memory. {text}",
    )
