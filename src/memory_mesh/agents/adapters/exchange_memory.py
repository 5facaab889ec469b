"""Recalls before an exchange and remembers after it, for each user apart; never in the way.

A failure of memory is logged and the call goes on without it. Recall has a time limit. What is
remembered is written by one thread, in order; a call waits for it a moment and then goes on.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from memory_mesh.base.typed import TYPE_CHECKING, Any, dataclass
from memory_mesh.formats.private import split_private, without_private
from memory_mesh.learn.rules import capture
from memory_mesh.learn.rules.own_words import as_own, own_sentences, reports, without_quotes
from memory_mesh.mesh.conversation import TAG, MemoryContextManager
from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform import telemetry
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh

_TEXT_PARTS = {"text", "input_text"}
_HEAD = {"system", "developer"}

WAIT_SECONDS = 0.25  # that a call waits for what it remembers
_OWN_WORDS_CHARS = 2_000  # what is longer was pasted: it has the trust of an exchange
_READERS = 4


class Exchange:
    """One question of one user, and the memories that it was given."""

    def __init__(
        self,
        mesh: MemoryMesh,
        question: str,
        *,
        keeps_answer: bool = True,
        key: str | None = None,
    ) -> None:
        """Take the user's own view of the store; an answer that may tell too much is not kept."""
        self._mesh, self._question, self._keeps_answer = mesh, question, keeps_answer
        self._key = key
        self._manager = MemoryContextManager(mesh=mesh)
        self._shown: tuple[str, ...] = ()

    def recall(self, max_tokens: int | None) -> str:
        """The memories for the prompt as fenced text; empty if there are none."""
        pack = self._manager.context(self._question, max_tokens=max_tokens)
        self._shown = tuple(item.memory.text for item in pack)
        return str(pack) if pack else ""

    def remember(self, answer: str) -> None:
        """Keeps what is worth it: the user's own words as theirs, else the whole exchange.

        What the question quotes or pastes is not the user's word, as in the prompt of a hook.
        """
        said = " ".join(one for one in own_sentences(self._question) if not reports(one))
        own = capture.judge(without_quotes(said), "", recalled=self._shown)
        if not own.worth_keeping or len(self._question) > _OWN_WORDS_CHARS:
            kept = answer if self._keeps_answer else ""
            self._manager.capture_interaction(self._question, kept)
            return
        self._mesh.add(
            self._question if as_own(self._question) == as_own(said) else said,
            {"signals": list(own.signals)},
            role="user",
            kind=own.kind,
            importance=own.importance,
            tags=[TAG],
            key=self._key,
        )


@dataclass(frozen=True, slots=True)
class ExchangeSettings:
    """What a wrapped client was told: whose memories by default, and how much of them."""

    user: str | None = None
    max_tokens: int | None = None
    patience: float = 5.0
    remember: bool = True


class ExchangeMemory:
    """The memory of one wrapped client, and the threads that it works in."""

    def __init__(self, mesh: MemoryMesh, settings: ExchangeSettings) -> None:
        """Start nothing: the threads begin with the first call."""
        self.settings: ExchangeSettings = settings
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
    telemetry.info("memory.left_out", step=what, error=kind)
    text = "it took too long" if isinstance(error, TimeoutError) else f"{kind}: {error}"
    telemetry.warn_once(
        f"adapter {what} {kind}",
        f"could not {what}; the call to the model went on without memory. {text}",
    )


# What a call of an OpenAI-compatible client asks, with memories put in, and what it answers.
#
# Both interfaces are read by the names of their fields, so no version of any client is needed here.
# Nothing that a caller handed in is changed: lists are copied.


QUESTION, START = "question", "start"


@dataclass(frozen=True, slots=True)
class Api:
    """One of the two interfaces: where its messages are, and the role that instructs."""

    messages: str  # the argument that holds them
    role: str


CHAT = Api("messages", "system")
RESPONSES = Api("input", "developer")


def repeatable(messages: object) -> object:
    """The messages, or a list of them if they could be read only once."""
    return list(messages) if isinstance(messages, Iterator) else messages


def question(api: Api, call: Mapping[str, Any]) -> str:
    """The text of the last message of the user, without what is marked private."""
    said = _said(api, call)
    return without_private(said[-1]).strip() if said else ""


def says_private(api: Api, call: Mapping[str, Any]) -> bool:
    """True if any message of the user has a private part: an answer may repeat it."""
    return any(split_private(text)[1].strip() for text in _said(api, call))


def _said(api: Api, call: Mapping[str, Any]) -> list[str]:
    """The messages of the user, oldest first."""
    given = call.get(api.messages)
    if isinstance(given, str):
        return [given]
    messages = [message for message in _listed(given) if _field(message, "role") == "user"]
    return [_text(_field(message, "content")) for message in messages]


def with_memories(api: Api, call: Mapping[str, Any], memories: str, place: str) -> dict[str, Any]:
    """The call with a message of memories before the question, or at the start.

    Before the question is the default: what stands above it stays the same from turn to turn, and
    the provider's prompt cache keeps its value.
    """
    given = call[api.messages]
    listed = [{"role": "user", "content": given}] if isinstance(given, str) else _listed(given)
    roles = [_field(message, "role") for message in listed]
    at = len(roles) - 1 - roles[::-1].index("user")
    if place == START:
        at = next((n for n, role in enumerate(roles) if role not in _HEAD), at)
    role = "developer" if "developer" in roles else api.role
    message = {"role": role, "content": memories}
    return {**call, api.messages: [*listed[:at], message, *listed[at:]]}


def answer(response: object) -> str:
    """The text of an answer; empty if it only calls tools."""
    text = getattr(response, "output_text", None)
    if isinstance(text, str):
        return text
    choices = _listed(getattr(response, "choices", None))
    content = getattr(getattr(choices[0], "message", None), "content", None) if choices else None
    return content if isinstance(content, str) else ""


def piece(event: object) -> str:
    """The text that one event of a stream adds to the answer."""
    if getattr(event, "type", None) == "response.output_text.delta":
        delta = getattr(event, "delta", None)
    else:
        choices = _listed(getattr(event, "choices", None))
        delta = getattr(getattr(choices[0], "delta", None), "content", None) if choices else None
    return delta if isinstance(delta, str) else ""


def _text(content: object) -> str:
    """The text of a message: a text, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = [part for part in _listed(content) if _field(part, "type") in _TEXT_PARTS]
    return "\n".join(str(_field(part, "text") or "") for part in parts)


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


# The blocking mesh behind what a caller hands to an adapter.


def blocking(mesh: "MemoryMesh | AsyncMesh") -> MemoryMesh:
    """Returns a blocking mesh as it is, and the one behind an async mesh."""
    found = getattr(mesh, "_sync", mesh)
    if not isinstance(found, MemoryMesh):
        raise InvalidInput(
            f"an adapter needs a MemoryMesh, not {type(mesh).__name__}; open one with "
            "memory_mesh.sync.MemoryMesh(db_dir=...)"
        )
    return found
