"""A fake of the OpenAI API on loopback: records each request, answers with a fixed text."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.servers import Reply, Request, Server, serve

Body = Mapping[str, Any]
_CLOSES = {"Connection": "close"}  # the server takes one request per connection


@dataclass
class FakeOpenAI:
    """What it answers next, and what it was asked."""

    url: str
    say: str = "Noted."
    status: int = 200
    asked: list[Body] = field(default_factory=list)

    def sent(self) -> str:
        """The last request's messages, as one text."""
        return json.dumps(self.asked[-1].get("messages") or self.asked[-1]["input"])


@contextmanager
def fake_openai() -> Iterator[FakeOpenAI]:
    fake = FakeOpenAI("")

    def answer(request: Request) -> Reply:
        body = json.loads(request.body)
        fake.asked.append(body)
        if fake.status != 200:
            return Reply(b'{"error": {"message": "no"}}', fake.status, headers=_CLOSES)
        make: Callable[[str, bool], bytes] = (
            _chat if request.path.endswith("/chat/completions") else _response
        )
        stream = bool(body.get("stream"))
        kind = "text/event-stream" if stream else "application/json"
        return Reply(make(fake.say, stream), headers=_CLOSES | {"Content-Type": kind})

    server: Server
    with serve(answer) as server:
        fake.url = f"{server.url}/v1"
        yield fake


def _chat(text: str, stream: bool) -> bytes:  # noqa: FBT001
    whole = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "fake",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text or None},
            }
        ],
    }
    if not stream:
        return json.dumps(whole).encode()
    pieces: list[dict[str, object]] = [{"content": word + " "} for word in text.split()]
    return _events(
        *(
            whole
            | {
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
            }
            for delta in pieces
        )
    )


def _response(text: str, stream: bool) -> bytes:  # noqa: FBT001
    whole = {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "fake",
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [
            {
                "type": "message",
                "id": "m1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }
        ],
    }
    if not stream:
        return json.dumps(whole).encode()
    deltas = [
        {
            "type": "response.output_text.delta",
            "item_id": "m1",
            "output_index": 0,
            "content_index": 0,
            "sequence_number": number,
            "logprobs": [],
            "delta": word + " ",
        }
        for number, word in enumerate(text.split())
    ]
    return _events(
        *deltas, {"type": "response.completed", "sequence_number": 99, "response": whole}
    )


def _events(*events: Mapping[str, object]) -> bytes:
    return b"".join(
        b"".join(
            [
                f"event: {event['type']}\n".encode() if "type" in event else b"",
                b"data: ",
                json.dumps(event).encode(),
                b"\n\n",
            ]
        )
        for event in events
    ) + (b"" if events and "type" in events[0] else b"data: [DONE]\n\n")
