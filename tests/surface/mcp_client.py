"""A client of MCP that speaks one version of the protocol in plain JSON, line by line."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

FRONT = Path(sys.executable).with_name("memory-mesh-mcp")
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
NAMES = [
    "memory_store",
    "memory_search",
    "memory_get",
    "memory_context",
    "memory_forget",
    "memory_feedback",
    "memory_explain",
    "memory_reflect",
]
_PREFIX = "io.modelcontextprotocol/"


def variables_of(home: Path, **more: str) -> dict[str, str]:
    """The environment of a front with a home of its own, by default without a daemon."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "XDG_RUNTIME_DIR": str(home),
        "MEMORY_MESH_EMBEDDER": "none",
        "MEMORY_MESH_OWN_NAMES": "off",
        "MEMORY_MESH_DAEMON": "false",
        **more,
    }


class RawClient:
    """A running front and the version that this client speaks with it."""

    def __init__(
        self,
        home: Path,
        version: str = HANDSHAKE[-1],
        *,
        command: Sequence[str | Path] = (FRONT,),
        **variables: str,
    ) -> None:
        self.version = version
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables_of(home, **variables),
            cwd=home,
        )
        self._last = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(OSError):  # what is left to write has no reader
                if pipe is not None:
                    pipe.close()

    def greet(self) -> dict[str, Any]:
        """The opening of this version: a handshake, or the discovery of the stateless one."""
        if self.version == STATELESS:
            return self.result("server/discover")
        opened = self.result(
            "initialize",
            protocolVersion=self.version,
            capabilities={},
            clientInfo={"name": "raw", "version": "1"},
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return opened

    def send(self, message: object) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.error_text()
        return json.loads(line)

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._last += 1
        if self.version == STATELESS:
            meta = {f"{_PREFIX}protocolVersion": STATELESS, f"{_PREFIX}clientCapabilities": {}}
            params = {**params, "_meta": meta}
        return {"jsonrpc": "2.0", "id": self._last, "method": method, "params": dict(params)}

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The response to a request, result or error."""
        request = self.request(method, params)
        self.send(request)
        response: dict[str, Any] = self.read()
        assert response["id"] == request["id"]
        return response

    def result(self, method: str, **params: Any) -> dict[str, Any]:
        response = self.ask(method, **params)
        assert "error" not in response, response
        result: dict[str, Any] = response["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.result("tools/call", name=tool, arguments=arguments)

    def text(self, tool: str, **arguments: Any) -> str:
        result = self.call(tool, **arguments)
        assert not result["isError"], result
        return str(result["content"][0]["text"])

    def said(self, tool: str, **arguments: Any) -> Any:
        """The structured content of a call."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def refused(self, tool: str, **arguments: Any) -> str:
        """The text of a call that failed."""
        result = self.call(tool, **arguments)
        assert result["isError"], result
        return str(result["content"][0]["text"])

    def close(self) -> int:
        """Ends the input; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(300)

    def error_text(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()
