"""A recording fake of the Messages API on loopback: a real agent runs against it offline."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

Json = dict[str, object]

SAYS = "Understood."


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool that the fake model asks for."""

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request that the agent sent."""

    path: str
    body: Json

    @property
    def text(self) -> str:
        """Return the request as JSON text, in which a test can look for words."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def tools(self) -> list[str]:
        """Return the names of the tools that the model was offered."""
        offered = self.body.get("tools")
        return [str(tool.get("name")) for tool in offered] if isinstance(offered, list) else []


class FakeApi:
    """Answers each turn of a conversation from a script and records what was asked."""

    def __init__(
        self, script: Sequence[str | ToolUse] = (), *, after: Callable[[], object] = bool
    ) -> None:
        """Start to answer on a free port, each turn once `after` has returned."""
        self.after = after
        self.requests: list[Recorded] = []
        self._script = list(script)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Return the address for ANTHROPIC_BASE_URL."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def turns(self) -> list[Recorded]:
        """Return the requests of the conversation itself: those that offer tools to the model."""
        return [request for request in self.requests if request.tools]

    def answer(self, path: str, body: Json) -> str | ToolUse:
        """Record a request and return what the model says to it."""
        with self._lock:
            request = Recorded(path, body)
            self.requests.append(request)
            if request.tools and self._script:
                return self._script.pop(0)
            return SAYS

    def close(self) -> None:
        """Stop to answer."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def __enter__(self) -> Self:
        """Return this fake."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop to answer."""
        self.close()


def _handler_of(api: FakeApi) -> type[BaseHTTPRequestHandler]:
    """Return a request handler that asks this fake for its answers."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Answer one request of the agent."""
            body = json.loads(
                self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}"
            )
            if "count_tokens" in self.path:
                self._send(b'{"input_tokens": 10}', "application/json")
                return
            says = api.answer(self.path, body)
            api.after()
            if body.get("stream"):
                self._send(_streamed(says, str(body.get("model"))), "text/event-stream")
            else:
                self._send(
                    json.dumps(_message(says, str(body.get("model")))).encode(), "application/json"
                )

        def do_GET(self) -> None:
            """Answer what is not part of the conversation with an empty object."""
            self._send(b"{}", "application/json")

        def do_HEAD(self) -> None:
            """Answer a look at whether the server is there."""
            self._send(b"", "application/json")

        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""

        def _send(self, payload: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

    return Handler


def _message(says: str | ToolUse, model: str) -> Json:
    """Return a whole answer as the Messages API gives it without streaming."""
    return {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [_block(says)],
        "stop_reason": "tool_use" if isinstance(says, ToolUse) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _block(says: str | ToolUse) -> Json:
    if isinstance(says, ToolUse):
        return {
            "type": "tool_use",
            "id": "toolu_fake",
            "name": says.tool,
            "input": dict(says.arguments),
        }
    return {"type": "text", "text": says}


def _streamed(says: str | ToolUse, model: str) -> bytes:
    """Return an answer as the events of a stream."""
    whole = _message(says, model)
    start = {**whole, "content": [], "stop_reason": None}
    if isinstance(says, ToolUse):
        empty: Json = {**_block(says), "input": {}}
        delta: Json = {"type": "input_json_delta", "partial_json": json.dumps(dict(says.arguments))}
    else:
        empty = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": says}
    events: list[Json] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )
