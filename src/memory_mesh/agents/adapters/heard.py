"""Streams of a client that are listened to: what they said is known when they end."""

from collections.abc import Awaitable, Callable

from memory_mesh.agents.adapters.exchanges import piece
from memory_mesh.typed import Any, Self


class Heard:
    """A stream whose text is handed on when it ends or is closed."""

    def __init__(self, stream: Any, then: Callable[[str], None]) -> None:  # noqa: ANN401
        """Listen to a stream; `then` gets its text once."""
        self._stream, self._then = stream, then
        self._pieces: list[str] = []
        self._over = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the stream has
        """Whatever else the stream has."""
        return getattr(self._stream, name)

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


class AsyncHeard:
    """An async stream whose text is handed on when it ends or is closed."""

    def __init__(self, stream: Any, then: Callable[[str], Awaitable[None]]) -> None:  # noqa: ANN401
        """Listen to a stream; `then` gets its text once."""
        self._stream, self._then = stream, then
        self._pieces: list[str] = []
        self._over = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the stream has
        """Whatever else the stream has."""
        return getattr(self._stream, name)

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
