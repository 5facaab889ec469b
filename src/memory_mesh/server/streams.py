"""What the service sends and takes piece by piece: changes, the progress of long work, files.

::

    GET /v1/changes?after=SEQ    blocks of the audit chain that the reader may see; as a stream of
                                 events each write as it comes
    POST /v1/care/upkeep …       with `Accept: text/event-stream`: `progress` …, `result`
    GET /v1/export, POST /v1/import    a memory per line, never all of them in memory

Behind each of them is an operation, so that a stream shows nothing that a call does not.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from functools import partial
from itertools import groupby
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.care.access_keys import READ, WRITE
from memory_mesh.formats import exchange, wire
from memory_mesh.mesh.operations.transfer import row_of
from memory_mesh.model import Channel, InvalidInput, Json, MeshError, NotAllowed
from memory_mesh.model.block import Block
from memory_mesh.server.problems import Problem, of_error
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh.server.app import Service

EVENTS = "text/event-stream"
LINES = "application/x-ndjson"
_LOOK_SECONDS = 1.0  # between two looks for changes; a notification passes no pooler
_TOLD_SECONDS = 0.25  # between two events of progress
_QUIET_LOOKS = 15  # after so many without a change a line says that the stream lives
_MOST = 1_000  # of a page
_DIGITS = 18  # of a number that a store takes
_LARGEST_FILE = 1 << 30  # bytes that are taken in at once


class Streams:
    """The routes of a service that stream."""

    def __init__(self, service: "Service") -> None:
        self._service = service

    async def changes(self, request: Request) -> Response:
        """What was written after a write, oldest first; goes on with what comes if asked so."""
        view = await self._view(request, READ)
        after = _number(request, "after", request.headers.get("last-event-id") or "0")
        many = _number(request, "limit", "100")
        if wants_events(request):
            return _events(self._coming(request, view, after))
        blocks = await self._blocks(view, after, many)
        seq = blocks[-1].seq if blocks else after
        return JSONResponse({"items": wire.encoded(blocks), "after": seq})

    async def _coming(self, request: Request, view: MemoryMesh, after: int) -> AsyncIterator[bytes]:
        """The blocks of each write as an event, whose id is where a client goes on."""
        quiet = 0
        while not self._service.stopping:
            await self._service.known(request.headers.get("authorization", ""))  # it may have ended
            head = await self._service.in_thread(partial(_seq, view))
            blocks = await self._blocks(view, after, _MOST) if head > after else []
            for seq, of_write in groupby(blocks, key=lambda block: block.seq):
                yield _event("change", wire.encoded([*of_write]), seq)
                after = seq or after
            if not blocks:
                after, quiet = max(after, head), quiet + 1
                if quiet % _QUIET_LOOKS == 1:
                    yield b": nothing new\n\n"
                await asyncio.sleep(_LOOK_SECONDS)

    async def _blocks(self, view: MemoryMesh, after: int, many: int) -> list[Block]:
        work = partial(view.care.blocks, after_seq=after, limit=many)
        found: list[Block] = await self._service.in_thread(work, of=view.config.namespace)
        return found

    def progress(self, work: Callable[..., Any], of: str) -> Response:
        """Runs long work and tells how far it is, then what it returned or what went wrong."""
        return _events(self._progress(work, of))

    async def _progress(self, work: Callable[..., Any], of: str) -> AsyncIterator[bytes]:
        said: list[tuple[Json, ...]] = []
        whole = partial(work, progress=lambda *so_far: said.append(so_far))
        task = asyncio.ensure_future(
            self._service.in_thread(whole, of=of, writes=True, limited=False)
        )
        try:
            while not task.done():
                await asyncio.wait([task], timeout=_TOLD_SECONDS)
                if said:
                    yield _event("progress", list(said[-1]))
                    said.clear()
            yield _event("result", wire.encoded(await task))
        finally:
            task.cancel()

    async def export(self, request: Request) -> Response:
        """The visible memories, one per line."""
        view = await self._view(request, READ)
        first = await self._page(request, view, None)  # a wrong filter is a problem
        return StreamingResponse(self._lines(request, view, first), media_type=LINES)

    async def _lines(self, request: Request, view: MemoryMesh, page: Any) -> AsyncIterator[str]:  # noqa: ANN401
        while True:
            yield "".join(exchange.WRITERS[".jsonl"](map(row_of, page)))
            if page.cursor is None:
                return
            page = await self._page(request, view, page.cursor)

    async def _page(self, request: Request, view: MemoryMesh, cursor: str | None) -> Any:  # noqa: ANN401
        condition = request.query_params.get("filter")
        work = partial(view.get_all, limit=_MOST, cursor=cursor, filter=condition)
        return await self._service.in_thread(work, of=view.config.namespace)

    async def import_(self, request: Request) -> Response:
        """Stores the memories of the body, one per line, as a document's word."""
        view = await self._view(request, WRITE)
        if view._channel is not Channel.LIBRARY:  # noqa: SLF001  # which the service gave it
            raise NotAllowed("a document is more than an agent's word: use add_many with this key")
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            async for part in request.stream():
                file.write(part)
                if file.tell() > _LARGEST_FILE:
                    raise Problem(413, "InvalidInput", "import 1 GiB at a time")
            file.flush()
            work = partial(view._imported, Path(file.name), None, of_service=True)  # noqa: SLF001
            name = view.config.namespace
            found = await self._service.in_thread(work, of=name, writes=True, limited=False)
        return JSONResponse(wire.encoded(found))

    async def _view(self, request: Request, needed: str) -> MemoryMesh:
        key = await self._service.key_of(request.headers.get("authorization", ""))
        return self._service.view_for(request.headers, key, needed)


def wants_events(request: Request) -> bool:
    """Whether the client reads a stream of events."""
    return EVENTS in request.headers.get("accept", "")


def _events(lines: AsyncIterator[bytes]) -> Response:
    async def sent() -> AsyncIterator[bytes]:
        try:
            async for line in lines:
                yield line
        except (MeshError, Problem) as error:
            problem = error if isinstance(error, Problem) else of_error(error)
            yield _event("problem", problem.plain())

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(sent(), media_type=EVENTS, headers=headers)


def _event(name: str, data: Json, id_: int | None = None) -> bytes:
    numbered = "" if id_ is None else f"id: {id_}\n"
    return f"{numbered}event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _number(request: Request, name: str, default: str) -> int:
    text = request.query_params.get(name, default)
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
        raise InvalidInput(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def _seq(view: MemoryMesh) -> int:
    """The number of the last write of a namespace."""
    with view._read() as snapshot:  # noqa: SLF001  # no operation tells this alone
        return snapshot.head().seq
