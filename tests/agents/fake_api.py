"""A recording fake of the APIs of models on loopback: a real agent runs against it offline.

It speaks Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's; the path of a
request says which.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

Json = dict[str, object]

SAYS = "Understood."
_EVENTS, _JSON = "text/event-stream", "application/json"
_LAST = b"data: [DONE]\n\n"


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
        return [name for tool in offered or () for name in _names(tool)]  # type: ignore[attr-defined]


def _names(tool: Json) -> list[str]:
    """Return the names in one entry of a list of tools: Gemini's holds many."""
    functions = tool.get("functionDeclarations") or [tool.get("function") or tool]
    return [str(each.get("name")) for each in functions]  # type: ignore[attr-defined]


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
            kind, payload = _answered(self.path, body, says)
            self._send(payload, kind)

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


def _answered(path: str, body: Json, says: str | ToolUse) -> tuple[str, bytes]:
    """Return the kind and the bytes of an answer, as the API that was asked gives it."""
    model, streams = str(body.get("model")), bool(body.get("stream"))
    if path.endswith("/responses"):
        return _EVENTS, _responded(says, model)
    if "enerateContent" in path:
        streams, whole = "stream" in path, json.dumps(_generated(says))
        return (_EVENTS, f"data: {whole}\n\n".encode()) if streams else (_JSON, whole.encode())
    if path.endswith("/chat/completions"):
        return (_EVENTS, _chunks(says, model)) if streams else (_JSON, _completion(says, model))
    if streams:
        return _EVENTS, _streamed(says, model)
    return _JSON, json.dumps(_message(says, model)).encode()


def _responded(says: str | ToolUse, model: str) -> bytes:
    """Return an answer as the events of the Responses API."""
    item: Json = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
    if isinstance(says, ToolUse):
        item = {
            "type": "function_call",
            "id": "f1",
            "call_id": "c1",
            "name": says.tool,
            "arguments": json.dumps(dict(says.arguments)),
        }
    else:
        item["content"] = [{"type": "output_text", "text": says, "annotations": []}]
    usage: Json = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    whole: Json = {"id": "r1", "object": "response", "model": model, "usage": usage}
    return _events(
        {"type": "response.created", "response": {**whole, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": {**whole, "status": "completed", "output": [item]},
        },
    )


def _said(says: str | ToolUse) -> Json:
    """Return what the assistant says as Chat Completions writes it."""
    if isinstance(says, str):
        return {"role": "assistant", "content": says}
    function = {"name": says.tool, "arguments": json.dumps(dict(says.arguments))}
    return {
        "role": "assistant",
        "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}],
    }


def _completion(says: str | ToolUse, model: str) -> bytes:
    end = "stop" if isinstance(says, str) else "tool_calls"
    choice: Json = {"index": 0, "message": _said(says), "finish_reason": end}
    usage: Json = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    whole: Json = {"id": "c1", "object": "chat.completion", "model": model, "choices": [choice]}
    return json.dumps({**whole, "usage": usage}).encode()


def _chunks(says: str | ToolUse, model: str) -> bytes:
    """Return an answer as the stream of Chat Completions."""
    end = "stop" if isinstance(says, str) else "tool_calls"
    begun: Json = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model}
    usage: Json = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    first: Json = {"index": 0, "delta": _said(says), "finish_reason": None}
    last: Json = {"index": 0, "delta": {}, "finish_reason": end}
    lines = ({**begun, "choices": [first]}, {**begun, "choices": [last], "usage": usage})
    return b"".join(f"data: {json.dumps(line)}\n\n".encode() for line in lines) + _LAST


def _generated(says: str | ToolUse) -> Json:
    """Return an answer as Gemini gives it."""
    part: Json = {"text": says}
    if isinstance(says, ToolUse):
        part = {"functionCall": {"name": says.tool, "args": dict(says.arguments)}}
    content: Json = {"role": "model", "parts": [part]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }


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
    return _events(*events)


def _events(*events: Json) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )
