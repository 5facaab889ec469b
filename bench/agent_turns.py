"""What runs in turns with the commands for agents: a bare round trip, a handshake, a search."""

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Self

from bench.agent_runs import LIMIT_SECONDS, Host
from memory_mesh.sync import MemoryMesh

_TRIP = """
import socket, sys
own = socket.socket(socket.AF_UNIX)
own.connect(sys.argv[1])
own.sendall(b"a line\\n")
own.recv(100)
"""
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
_TOKENS, _MEMORIES = 800, 8  # that a hook asks for at a prompt


class Echo:
    """A server on a Unix socket that sends each line back."""

    def __init__(self, host: Host) -> None:
        self._host, self._path = host, host.home / "run" / "echo.sock"
        self._listener = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> Self:
        """Listen."""
        self._path.unlink(missing_ok=True)
        self._listener.bind(str(self._path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let the thread go."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def trip(self) -> float:
        """The seconds of a process that connects, sends a line and reads one."""
        return self._host.run([sys.executable, "-c", _TRIP, str(self._path)]).seconds

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                own, _ = self._listener.accept()
                with own:
                    own.sendall(own.recv(100))


def initialized(host: Host, command: str) -> float:
    """The seconds from the start of an MCP server to its answer to `initialize`."""
    line = json.dumps(_HELLO).encode() + b"\n"
    began = time.perf_counter()
    with subprocess.Popen(
        [command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=host.environment,
        cwd=host.folder,
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise SystemExit("there is no pipe to the MCP server")
        process.stdin.write(line)
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        seconds = time.perf_counter() - began
        if "serverInfo" not in answer.get("result", {}):
            raise SystemExit(f"the MCP server answered {answer}")
        process.stdin.close()
        process.wait(LIMIT_SECONDS)
    return seconds


def searched(mesh: MemoryMesh, question: str) -> float:
    """The seconds of the search that a hook asks for, in a process that is warm."""
    began = time.perf_counter()
    mesh.context(question, max_tokens=_TOKENS, max_memories=_MEMORIES)
    return time.perf_counter() - began
