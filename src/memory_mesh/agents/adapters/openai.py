"""Memory for an OpenAI-compatible client: `client = with_memory(OpenAI(), mesh)`.

::

    create(messages, user) ── recall for this user ──▶ a message of fenced memories before the
         │                                             question, in a copy of the list
         └── the provider's answer, or stream ──▶ to the caller, then remembered for this user

It works with any client that has `chat.completions.create` or `responses.create`, blocking or
async; the package openai is not imported. Everything else of the client is passed through.
"""

import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial, wraps

from memory_mesh.agents.adapters import exchange_memory
from memory_mesh.agents.adapters.exchange_memory import (
    CHAT,
    RESPONSES,
    WAIT_SECONDS,
    Api,
    Exchange,
    ExchangeMemory,
    ExchangeSettings,
    blocking,
    failed,
    piece,
)
from memory_mesh.base.typed import TYPE_CHECKING, Any, Self, TypeVar
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh

Client = TypeVar("Client")

_CALLS: dict[tuple[str, ...], Api] = {
    ("chat", "completions", "create"): CHAT,
    ("chat", "completions", "parse"): CHAT,
    ("responses", "create"): RESPONSES,
    ("responses", "parse"): RESPONSES,
}
_COPIES = {"with_options", "copy"}  # methods that return another client
_CLOSING_SECONDS = 10.0  # that the end of `with` waits for what is remembered
_USERS = ("memory_user", "user", "safety_identifier")  # arguments that name the user, first wins


def with_memory(
    client: Client,
    mesh: "MemoryMesh | AsyncMesh",
    *,
    user: str | None = None,
    max_tokens: int | None = None,
    place: str = exchange_memory.QUESTION,
    remember: bool = True,
    patience: float = 5.0,
) -> Client:
    """Returns the client with memory: it recalls before each call and remembers after it.

    Each user has memories of their own (`mesh.for_user`). A call names its user by `memory_user`,
    which is not sent, or by the interface's own `user` or `safety_identifier`.

    Options:
        user: whose memories to use where a call names nobody; default: those of the mesh itself.
        max_tokens: the most tokens of memories in a prompt; default 2,000.
        place: where memories stand: before the last question, or at the start.
        remember: False only recalls.
        patience: seconds after which a call goes on without memories.
    """
    if place not in {exchange_memory.QUESTION, exchange_memory.START}:
        raise InvalidInput(f"place is 'question' or 'start', not {place!r}")
    settings = ExchangeSettings(user, max_tokens, patience, remember)
    memory = ExchangeMemory(blocking(mesh), settings)
    return _Part(client, (), _Calls(memory, place))  # type: ignore[return-value]  # it acts as one


def settle(client: object, seconds: float = 10.0) -> bool:
    """Waits until a wrapped client has written what it remembers; False if the time is over."""
    if not isinstance(client, _Part):
        raise InvalidInput("settle needs a client that with_memory returned")
    return client._calls.memory.settle(seconds)  # noqa: SLF001  # our own


class _Part:
    """A client or a part of one; only the calls that talk to a model are replaced."""

    __slots__ = ("_calls", "_path", "_target")

    _calls: "_Calls"
    _path: tuple[str, ...]
    _target: Any

    def __init__(self, target: object, path: tuple[str, ...], calls: "_Calls") -> None:
        for name, value in (("_target", target), ("_path", path), ("_calls", calls)):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:  # whatever the client has
        found, path = getattr(self._target, name), (*self._path, name)
        if path in _CALLS:
            return self._calls.remembering(found, _CALLS[path])
        if any(known[: len(path)] == path for known in _CALLS):
            return _Part(found, path, self._calls)
        if not self._path and name in _COPIES:
            return lambda *args, **options: _Part(found(*args, **options), (), self._calls)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._target, name, value)

    def __repr__(self) -> str:
        return f"<{self._target!r} with memory>"

    def __enter__(self) -> Self:
        self._target.__enter__()
        return self

    def __exit__(self, *error: object) -> object:
        self._calls.memory.settle(_CLOSING_SECONDS)  # whoever opened the mesh may close it now
        return self._target.__exit__(*error)

    async def __aenter__(self) -> Self:
        await self._target.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> object:
        import asyncio

        await asyncio.to_thread(self._calls.memory.settle, _CLOSING_SECONDS)
        return await self._target.__aexit__(*error)


class _Calls:
    """The calls of one wrapped client."""

    def __init__(self, memory: ExchangeMemory, place: str) -> None:
        self.memory, self._place = memory, place

    def remembering(self, create: Callable[..., Any], api: Api) -> Callable[..., Any]:
        """The same call, with memory."""
        if inspect.iscoroutinefunction(inspect.unwrap(create)):

            @wraps(create)
            async def call_async(*args: object, **call: object) -> object:
                exchange, sent = await self._recalled_async(api, call)
                response = await create(*args, **sent)
                if exchange is not None and sent.get("stream") is True:
                    return AsyncHeard(response, partial(self.remembered_async, exchange))
                if exchange is not None:
                    await self.remembered_async(exchange, exchange_memory.answer(response))
                return response

            return call_async

        @wraps(create)
        def call_blocking(*args: object, **call: object) -> object:
            exchange, sent = self._recalled(api, call)
            response = create(*args, **sent)
            if exchange is not None and sent.get("stream") is True:
                return RecordedStream(response, partial(self.remembered, exchange))
            if exchange is not None:
                self.remembered(exchange, exchange_memory.answer(response))
            return response

        return call_blocking

    def remembered(self, exchange: Exchange, answer: str) -> None:
        """Remembers an exchange, and waits for it no longer than a moment."""
        if (writing := self._writing(exchange, answer)) is not None:
            wait([writing], WAIT_SECONDS)

    async def remembered_async(self, exchange: Exchange, answer: str) -> None:
        """Remembers an exchange, and waits for it no longer than a moment."""
        if (writing := self._writing(exchange, answer)) is not None:
            import asyncio

            await asyncio.wait([asyncio.wrap_future(writing)], timeout=WAIT_SECONDS)

    def _writing(self, exchange: Exchange, answer: str) -> "Future[None] | None":
        try:
            return self.memory.end(exchange, answer)
        except Exception as error:  # noqa: BLE001  # the last line of a surface
            failed("remember the exchange", error)
            return None

    def _recalled(
        self, api: Api, call: Mapping[str, Any]
    ) -> tuple[Exchange | None, Mapping[str, Any]]:
        """The exchange, None without a question, and the call with the memories for it."""
        exchange, sent = self._begun(api, call)
        if exchange is None:
            return None, sent
        try:
            recalling = self.memory.recall(exchange)
            found = recalling.result(self.memory.settings.patience)
            return exchange, self._with(api, sent, found)
        except Exception as error:  # noqa: BLE001  # the last line of a surface
            failed("recall memories", error)
            return exchange, sent

    async def _recalled_async(
        self, api: Api, call: Mapping[str, Any]
    ) -> tuple[Exchange | None, Mapping[str, Any]]:
        """The exchange, None without a question, and the call with the memories for it."""
        exchange, sent = self._begun(api, call)
        if exchange is None:
            return None, sent
        try:
            import asyncio

            recalling = asyncio.wrap_future(self.memory.recall(exchange))
            found = await asyncio.wait_for(recalling, self.memory.settings.patience)
            return exchange, self._with(api, sent, found)
        except Exception as error:  # noqa: BLE001  # the last line of a surface
            failed("recall memories", error)
            return exchange, sent

    def _begun(
        self, api: Api, call: Mapping[str, Any]
    ) -> tuple[Exchange | None, Mapping[str, Any]]:
        """The exchange of this user, and the call without what only we understand."""
        named = (call.get(name) for name in _USERS)
        user = next((one for one in named if isinstance(one, str)), self.memory.settings.user)
        sent = {name: value for name, value in call.items() if name != _USERS[0]}
        if api.messages in sent:
            sent[api.messages] = exchange_memory.repeatable(sent[api.messages])
        try:
            question = exchange_memory.question(api, sent)
            public = not exchange_memory.says_private(api, sent)
            if not question:
                return None, sent
            return self.memory.exchange(user, question, keeps_answer=public), sent
        except Exception as error:  # noqa: BLE001  # the last line of a surface
            failed("find out whose memories to use", error)
            return None, sent

    def _with(self, api: Api, sent: Mapping[str, Any], memories: str) -> Mapping[str, Any]:
        return exchange_memory.with_memories(api, sent, memories, self._place) if memories else sent


# Streams of a client that are listened to: what they said is known when they end.


class _Listener:
    """What a stream and an async one share: who gets its text, and what was heard so far."""

    def __init__(self, stream: Any, then: Callable[[str], Any]) -> None:
        """Listen to a stream; `then` gets its text once."""
        self._stream, self._then = stream, then
        self._pieces: list[str] = []
        self._over = False

    def __getattr__(self, name: str) -> Any:  # whatever the stream has
        """Whatever else the stream has."""
        return getattr(self._stream, name)


class RecordedStream(_Listener):
    """A stream whose text is handed on when it ends or is closed."""

    def __iter__(self) -> Self:
        """The stream itself."""
        return self

    def __next__(self) -> object:
        """The next event."""
        try:
            event = next(self._stream)
        except StopIteration:
            self._end()
            raise
        self._pieces.append(piece(event))
        return event

    def __enter__(self) -> Self:
        """The stream itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Closes the stream; what was heard so far is handed on."""
        self._stream.close()
        self._end()

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._then("".join(self._pieces))


class AsyncHeard(_Listener):
    """An async stream whose text is handed on when it ends or is closed."""

    def __aiter__(self) -> Self:
        """The stream itself."""
        return self

    async def __anext__(self) -> object:
        """The next event."""
        try:
            event = await anext(self._stream)
        except StopAsyncIteration:
            await self._end()
            raise
        self._pieces.append(piece(event))
        return event

    async def __aenter__(self) -> Self:
        """The stream itself."""
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Close it."""
        await self.close()

    async def close(self) -> None:
        """Closes the stream; what was heard so far is handed on."""
        await self._stream.close()
        await self._end()

    async def _end(self) -> None:
        if not self._over:
            self._over = True
            await self._then("".join(self._pieces))
