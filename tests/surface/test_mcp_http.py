"""`memory-mesh mcp`: the entry for a host, and a real server over HTTP on a free port."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memory_mesh.agents.sessions import Session
from memory_mesh.base.installed import install_command
from memory_mesh.server.mcp import OnlyMcp, bound, is_loopback
from tests.surface.command import SCRIPT, CommandLine
from tests.surface.mcp_client import FRONT, NAMES, STATELESS, variables_of
from tests.surface.test_mcp_front import every_tool

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
PING: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


@dataclass
class Served:
    """A server that runs, as its first lines describe it."""

    process: "subprocess.Popen[str]"
    entry: dict[str, Any]

    @classmethod
    def start(cls, home: Path, *words: str) -> Self:
        process = subprocess.Popen(
            [SCRIPT, "mcp", "--http", "--port", "0", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=variables_of(home),
            cwd=home,
        )
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr and process.stderr.read()
        made = cls(process, json.loads("".join(lines))["mcpServers"]["memory-mesh"])
        assert made.post().status_code  # whatever it says: now it serves, and heeds a signal
        return made

    @property
    def url(self) -> str:
        return str(self.entry["url"])

    @property
    def token(self) -> str:
        return str(self.entry["headers"]["Authorization"]).removeprefix("Bearer ")

    def post(self, body: object = PING, **headers: str) -> httpx2.Response:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return httpx2.post(self.url, content=data, headers={**HEADERS, **headers}, timeout=300)

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Ends it; its exit code and what it wrote to standard error."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=300)
        return self.process.returncode, said


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Served]:
    found = Served.start(home)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.process.kill()
        found.process.communicate()


@pytest.mark.parametrize("mode", ["legacy", STATELESS])
def test_the_official_client_lists_and_calls_every_tool_over_http(
    served: Served, mode: str
) -> None:
    async def run() -> None:
        headers = {"Authorization": f"Bearer {served.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=300) as http,
            Client(streamable_http_client(served.url, http_client=http), mode=mode) as client,
        ):
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == NAMES
            loop = asyncio.get_running_loop()

            def call(name: str, **arguments: Any) -> Any:
                asked = client.call_tool(name, arguments)  # it checks the output schema itself
                result = asyncio.run_coroutine_threadsafe(asked, loop).result(60)
                assert not result.is_error, result
                return result.structured_content

            await asyncio.to_thread(every_tool, call)
            wrong = await client.call_tool("memory_search", {"limits": 3})
            assert wrong.is_error
            assert "it takes: query" in wrong.content[0].text  # type: ignore[union-attr]
            resources = (await client.list_resources()).resources
            assert [str(each.uri) for each in resources] == ["memory://project", "memory://lessons"]
            assert (await client.read_resource("memory://lessons")).contents
            assert (await client.get_prompt("recall", {"topic": "servers"})).messages

    asyncio.run(run())


@pytest.mark.parametrize("word", ["", "Bearer wrong", "Bearer", "Basic {0}", "Bearer {0}x"])
def test_a_request_without_the_token_is_refused(served: Served, word: str) -> None:
    headers = {"Authorization": word.format(served.token)} if word else {}
    assert served.post(**headers).status_code == 401
    read = httpx2.get(served.url, headers={**HEADERS, **headers}, timeout=300)
    assert read.status_code == 401


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Host", "evil.example:80", 421),
        ("Host", "127.0.0.1:1", 421),
        ("Origin", "http://evil.example", 403),
        ("Origin", "http://localhost:1", 403),
        ("Origin", "null", 403),
    ],
)
def test_a_page_that_rebinds_a_name_is_refused(
    served: Served, name: str, value: str, status: int
) -> None:
    answer = served.post(**{"Authorization": f"Bearer {served.token}", name: value})
    assert answer.status_code == status


def test_a_request_of_our_own_host_and_origin_is_answered(served: Served) -> None:
    own = served.url.removesuffix("/mcp")
    answer = served.post(Authorization=f"Bearer {served.token}", Origin=own)
    assert answer.status_code == 200
    assert "memory-mesh" in answer.text


def test_a_request_that_is_too_large_is_refused_unread(served: Served) -> None:
    large = json.dumps({**PING, "params": {"x": "y" * 4_200_000}}).encode()
    assert served.post(large, Authorization=f"Bearer {served.token}").status_code == 413


def test_a_client_over_http_has_no_session_of_a_host(home: Path, served: Served) -> None:
    """A host that started the server's shell does not make its clients speak for the user."""
    store = CommandLine(home).store
    session = Session.of(str(store), "claude-code", "s1", variables_of(home))
    session.record(parents=[os.getpid()], id="s1")
    session.saw("the office cat is called Minka")
    call = {"name": "memory_store", "arguments": {"content": "the office cat is called Minka"}}
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    request = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {**call, "_meta": meta},
    }
    headers = {"Mcp-Method": "tools/call", "Mcp-Name": "memory_store"}
    answer = served.post(
        request,
        **{"Authorization": f"Bearer {served.token}", "MCP-Protocol-Version": STATELESS, **headers},
    )
    assert '"trust":"inference"' in answer.text.replace(": ", ":"), answer.text


def test_the_token_is_shown_once_and_is_a_key_of_the_store(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    first = Served.start(tmp_path)
    token = first.token
    assert httpx2.post(f"{first.url.removesuffix('/mcp')}/v1/get", timeout=60).status_code == 404
    assert first.end()[0] == 0
    assert "mcp-http: default=editor, speaks as agent" in cli("server", "keys").out
    assert not any(
        token.encode() in file.read_bytes() for file in cli.store.rglob("*") if file.is_file()
    )
    second = Served.start(tmp_path, "--compat", "lane")
    assert second.token == "TOKEN"
    assert second.post(Authorization=f"Bearer {token}").status_code == 200
    said = second.end(signal.SIGTERM)[1]
    assert f"memory-mesh server keys rotate {token.split('_')[1]}" in said
    assert token not in said


def test_without_a_token_the_loopback_interface_is_open_and_no_other(tmp_path: Path) -> None:
    served = Served.start(tmp_path, "--no-token")
    with served.process as process:
        assert served.post().status_code == 200
        assert served.post(Host="evil.example").status_code == 421
        process.kill()
    refused = CommandLine(tmp_path)("mcp", "--http", "--no-token", "--host", "0.0.0.0")
    assert refused.code != 0
    assert "--no-token is for the loopback interface" in refused.err
    assert "There is no key" in CommandLine(tmp_path)("server", "keys").out


def test_names_that_the_user_states_are_allowed_and_no_others() -> None:
    found = OnlyMcp(names=("memory.example",)).security("http://0.0.0.0:80")
    assert found.enable_dns_rebinding_protection
    assert {"memory.example", "memory.example:*", "127.0.0.1:80"} <= set(found.allowed_hosts)
    assert "https://memory.example" in found.allowed_origins
    assert "*" not in found.allowed_hosts
    local = ("127.0.0.1", "127.8.8.8", "::1", "localhost")
    assert all(is_loopback(host) for host in local)
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", ""))


def test_an_answer_is_sent_at_once_and_waits_for_no_acknowledgement() -> None:
    async def run() -> int:
        options = asyncio.get_running_loop().create_future()

        def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            channel = writer.get_extra_info("socket")
            options.set_result(channel.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with bound("127.0.0.1", 0) as listener:
            async with await asyncio.start_server(accepted, sock=listener):
                _, writer = await asyncio.open_connection(*listener.getsockname())
                found: int = await options
                writer.close()
        return found

    assert asyncio.run(run())


def test_a_port_that_is_taken_is_named(home: Path, served: Served) -> None:
    port = served.url.split(":")[2].removesuffix("/mcp")
    refused = CommandLine(home)("mcp", "--http", "--port", port)
    assert refused.code != 0
    assert f"port {port}" in refused.err
    assert "--port 0" in refused.err


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv[0] = 'memory-mesh';"
        "from memory_mesh.cli.main import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "mcp", "--http"],
        capture_output=True,
        text=True,
        env=variables_of(tmp_path),
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert done.returncode != 0
    assert install_command("mcp") in done.stderr


def test_the_command_prints_the_entry_for_a_host(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    entry = json.loads(cli("mcp").out)["mcpServers"]["memory-mesh"]
    assert entry == {"command": str(FRONT)}
    words = ("mcp", "--compat", "server-memory", "--project", "shop")
    entry = json.loads(cli(*words).out)["mcpServers"]["memory-mesh"]
    assert entry["args"] == ["--compat", "server-memory"]
    assert entry["env"] == {"MEMORY_MESH_PROJECT": "shop"}
    for given in (("--no-token",), ("--port", "0"), ("--host", "::1"), ("--allow-host", "x")):
        refused = cli("mcp", *given)
        assert (refused.code, refused.out) == (2, "")
        assert f"{given[0]} needs --http" in refused.err
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    assert secret not in cli("mcp", "--project", secret).out
