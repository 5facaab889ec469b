"""Real HTTP servers on 127.0.0.1 that answer, or fail, as a test tells them to."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    peer: int = 0  # the port of the client: one for each connection


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server sends; `missing` bytes are announced and never come."""

    body: bytes = b""
    status: int = 200
    reason: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0
    wait: float = 0.0
    drip: float = 0.0
    keep: bool = False  # the connection


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    port: int
    requests: list[Request]
    answered: list[Request]  # whose replies are sent


@contextmanager
def serve(answer: Callable[[Request], Reply]) -> Iterator[Server]:
    requests, answered = list[Request](), list[Request]()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            with suppress(ConnectionError):  # the client may leave whenever it likes
                super().handle_one_request()

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            headers, peer = dict(self.headers.items()), self.client_address[1]
            request = Request(self.command, self.path, headers, self.rfile.read(length), peer)
            requests.append(request)
            self._send(answer(request))
            answered.append(request)

        do_POST = do_DELETE = do_GET  # noqa: N815  # the names that http.server wants

        def _send(self, reply: Reply) -> None:
            time.sleep(reply.wait)
            self.send_response(reply.status, reply.reason)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in reply.headers:
                self.send_header("Content-Length", str(len(reply.body) + reply.missing))
            self.end_headers()
            for start in range(0, len(reply.body), 1 if reply.drip else len(reply.body) or 1):
                self.wfile.write(reply.body[start : start + 1] if reply.drip else reply.body)
                time.sleep(reply.drip)
            self.close_connection = not reply.keep

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        port = server.server_address[1]
        yield Server(f"http://127.0.0.1:{port}", port, requests, answered)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def listening(speak: Callable[[socket.socket], None]) -> Iterator[int]:
    """A bare server for one connection at a time; its port."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)

        def run() -> None:
            while not over.is_set():
                with suppress(TimeoutError):
                    connection, _ = server.accept()
                    with connection, suppress(OSError):
                        speak(connection)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            over.set()
            thread.join()


def ranged(files: Mapping[str, bytes], *, broken_after: int = 0) -> Callable[[Request], Reply]:
    """Serve files with Range; every answer stops after `broken_after` bytes if that is not 0."""

    def answer(request: Request) -> Reply:
        if request.path not in files:
            return Reply(status=404)
        content = files[request.path]
        wanted = request.headers.get("Range", "")
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if start >= len(content) and wanted:
            return Reply(status=416, headers={"Content-Range": f"bytes */{len(content)}"})
        rest = content[start:]
        sent = rest[:broken_after] if broken_after else rest
        headers = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        return Reply(
            sent,
            status=206 if wanted else 200,
            headers=headers if wanted else {},
            missing=len(rest) - len(sent),
        )

    return answer
