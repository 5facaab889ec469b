"""`memory-mesh-mcp` as hosts run it: a process, clients of every version of MCP, a real store."""

import asyncio
import json
import resource
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import methods

from memory_mesh._version import __version__
from memory_mesh.agents.mcp.front import MAX_LINE
from memory_mesh.agents.mcp.tools import BY_NAME, INSTRUCTIONS
from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine
from tests.surface.mcp_client import FRONT, HANDSHAKE, NAMES, STATELESS, RawClient, variables_of

VERSIONS = (*HANDSHAKE, STATELESS)
LIGHT = {
    "memory_mesh.base",
    "memory_mesh.base.masking",
    "memory_mesh",
    "memory_mesh._version",
    "memory_mesh.base.typed",
    "memory_mesh.agents",
    "memory_mesh.agents.request",
    "memory_mesh.agents.mcp",
    "memory_mesh.agents.mcp.front",
    "memory_mesh.agents.mcp.protocol",
}
DEAREST = 10.0  # times the processor of a bare interpreter
RUNS = 5


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


@pytest.fixture
def client(home: Path) -> Iterator[RawClient]:
    with RawClient(home) as opened:
        opened.greet()
        yield opened


def every_tool(call: Callable[..., Any]) -> None:
    """Calls each tool once and checks what it answers; `call` returns structured content."""
    stored = call("memory_store", content="The staging server is called Heron.", kind="fact")
    assert stored["outcome"] == "stored"
    id_ = stored["id"]
    found = call("memory_search", query="name of the staging server")
    assert [hit["id"] for hit in found["memories"]] == [id_]
    assert found["memories"][0]["tokens"] > 0
    read = call("memory_get", ids=[id_])
    assert read["memories"][0]["content"] == "The staging server is called Heron."
    assert "Heron" in call("memory_context", question="which staging server?")["text"]
    assert call("memory_feedback", id=id_, helpful=True)["helpful"] == 1
    assert "mcp" in call("memory_explain", id=id_)["sentences"][0]
    assert call("memory_reflect", topic="staging")["count"] == 1
    assert call("memory_forget", id=id_)["outcome"] == "deleted"
    assert call("memory_search", query="name of the staging server")["memories"] == []


# --- both eras ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "auto", STATELESS])
def test_the_official_client_lists_and_calls_every_tool(home: Path, mode: str) -> None:
    async def run() -> None:
        server = StdioServerParameters(command=str(FRONT), env=variables_of(home), cwd=home)
        async with Client(server, mode=mode) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == NAMES
            loop = asyncio.get_running_loop()

            def call(name: str, **arguments: Any) -> Any:
                asked = client.call_tool(name, arguments)  # it checks the output schema itself
                result = asyncio.run_coroutine_threadsafe(asked, loop).result(60)
                assert not result.is_error, result
                assert result.content
                return result.structured_content

            await asyncio.to_thread(every_tool, call)
            resources = (await client.list_resources()).resources
            assert [str(each.uri) for each in resources] == ["memory://project", "memory://lessons"]
            assert (await client.list_resource_templates()).resource_templates
            assert (await client.read_resource("memory://lessons")).contents
            prompts = (await client.list_prompts()).prompts
            assert [each.name for each in prompts] == ["recall", "review-quarantine"]
            assert (await client.get_prompt("recall", {"topic": "servers"})).messages

    asyncio.run(run())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_of_each_version_lists_and_calls_every_tool(home: Path, version: str) -> None:
    with RawClient(home, version) as client:
        opened = client.greet()
        kept = opened["protocolVersion"] if version in HANDSHAKE else opened["supportedVersions"][0]
        assert kept == version
        assert opened["instructions"] == INSTRUCTIONS
        assert [tool["name"] for tool in client.result("tools/list")["tools"]] == NAMES

        def call(name: str, **arguments: Any) -> Any:
            result = client.call(name, **arguments)
            assert not result["isError"], result
            assert result["content"][0]["type"] == "text"
            jsonschema.validate(result["structuredContent"], BY_NAME[name]["outputSchema"])
            return result["structuredContent"]

        if version >= "2025-06-18":
            every_tool(call)
        else:
            texts_of_every_tool(client)
        assert client.close() == 0


def texts_of_every_tool(client: RawClient) -> None:
    """The same for a version without structured content: the text says all that is needed."""
    stored = client.text("memory_store", content="The staging server is called Heron.")
    id_ = stored.split()[2]
    assert id_ in client.text("memory_search", query="staging server")
    assert "Heron" in client.text("memory_get", ids=[id_])
    assert "Heron" in client.text("memory_context", question="which staging server?")
    assert "1 for" in client.text("memory_feedback", id=id_, helpful=True)
    assert "mcp" in client.text("memory_explain", id=id_)
    assert "Heron" in client.text("memory_reflect", topic="staging")
    assert "is deleted" in client.text("memory_forget", id=id_)
    assert "structuredContent" not in client.call("memory_get", ids=[id_])


@pytest.mark.parametrize("version", VERSIONS)
def test_every_answer_is_valid_in_its_version(home: Path, version: str) -> None:
    asked: dict[str, dict[str, Any]] = {
        "tools/list": {},
        "resources/list": {},
        "resources/templates/list": {},
        "prompts/list": {},
        "resources/read": {"uri": "memory://project"},
        "prompts/get": {"name": "review-quarantine"},
        "tools/call": {"name": "memory_context", "arguments": {}},
    }
    with RawClient(home, version) as client:
        opening = "server/discover" if version == STATELESS else "initialize"
        methods.validate_server_result(opening, version, client.greet())
        for method, params in asked.items():
            result = client.result(method, **params)
            methods.validate_server_result(method, version, result)
            assert ("resultType" in result) == (version == STATELESS)
            assert ("ttlMs" in result) == (
                version == STATELESS and method in methods.CACHEABLE_METHODS
            )


def test_a_version_is_told_nothing_that_it_does_not_know(home: Path) -> None:
    seen = {}
    for version in HANDSHAKE:
        with RawClient(home, version) as client:
            client.greet()
            seen[version] = set(client.result("tools/list")["tools"][0])
    plain = {"name", "description", "inputSchema"}
    assert seen["2024-11-05"] == plain
    assert seen["2025-03-26"] == plain | {"annotations"}
    assert seen["2025-06-18"] == plain | {"annotations", "title", "outputSchema", "_meta"}


def test_an_unknown_version_gets_our_latest_and_an_unknown_stateless_one_an_error(
    home: Path,
) -> None:
    with RawClient(home) as client:
        assert client.result("initialize", protocolVersion="1999-01-01")["protocolVersion"] == (
            "2025-11-25"
        )
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2099-01-01",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        error = client.ask("tools/list", _meta=meta)["error"]
        assert error["code"] == -32022
        assert error["data"] == {"supported": [STATELESS], "requested": "2099-01-01"}
        assert "clientCapabilities" in client.ask("server/discover")["error"]["message"]


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"} x', -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
        (b"3", -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 3}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "memory/erase"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "a"}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": 3}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "x"}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "' + b"x" * MAX_LINE, -32600),
    ],
)
def test_a_wrong_line_gets_its_error_and_the_next_one_its_answer(
    home: Path, line: bytes, code: int
) -> None:
    with RawClient(home) as client:
        client.write(line + b"\n")
        assert client.read()["error"]["code"] == code
        assert client.result("ping") == {}
        assert client.close() == 0


def test_notifications_responses_and_empty_lines_get_no_answer(client: RawClient) -> None:
    client.write(b"\n \n")
    client.send({"jsonrpc": "2.0", "method": "notifications/unheard_of"})
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]})
    client.send({"jsonrpc": "2.0", "id": 7, "result": {}})
    assert client.result("ping") == {}


def test_a_batch_of_2025_03_26_is_answered_as_one(home: Path) -> None:
    with RawClient(home, "2025-03-26") as client:
        client.greet()
        arguments = {"name": "memory_store", "arguments": {"content": "Batches work."}}
        first, second = client.request("ping", {}), client.request("tools/call", arguments)
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        client.send([first, note, second, 3])
        answers = {answer["id"]: answer for answer in client.read()}
        assert answers[first["id"]]["result"] == {}
        assert "Remembered" in answers[second["id"]]["result"]["content"][0]["text"]
        assert answers[None]["error"]["code"] == -32600
        client.send([note])
        assert client.result("ping") == {}


# --- a process among others ----------------------------------------------------------------------


def test_lists_are_answered_while_a_call_runs(client: RawClient) -> None:
    call = {"name": "memory_store", "arguments": {"content": "The first call imports the core."}}
    slow, quick = client.request("tools/call", call), client.request("tools/list", {})
    client.write(json.dumps(slow).encode() + b"\n" + json.dumps(quick).encode() + b"\n")
    assert [client.read()["id"], client.read()["id"]] == [quick["id"], slow["id"]]


def test_calls_at_once_are_all_answered_and_each_is_stored_once(client: RawClient) -> None:
    asked = [
        client.request(
            "tools/call",
            {"name": "memory_store", "arguments": {"content": f"Fact {number} holds."}},
        )
        for number in range(40)
    ]
    client.write(b"".join(json.dumps(each).encode() + b"\n" for each in asked))
    answers = [client.read() for _ in asked]
    assert {answer["id"] for answer in answers} == {each["id"] for each in asked}
    ids = {answer["result"]["structuredContent"]["id"] for answer in answers}
    assert len(ids) == 40


def test_a_cancelled_call_gets_no_answer(client: RawClient) -> None:
    call = {"name": "memory_search", "arguments": {"query": "anything"}}
    request = client.request("tools/call", call)
    gone = {"requestId": request["id"], "reason": "the user changed their mind"}
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": gone}
    client.write(json.dumps(request).encode() + b"\n" + json.dumps(note).encode() + b"\n")
    assert client.said("memory_search", query="anything")["memories"] == []
    assert client.close() == 0
    assert client.process.stdout is not None
    assert client.process.stdout.read() == b""


def test_what_was_asked_before_the_input_ended_is_answered(home: Path) -> None:
    call = {"name": "memory_store", "arguments": {"content": "Pipes end."}}
    request = {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": call}
    done = subprocess.run(
        [FRONT],
        input=json.dumps(request).encode(),  # and no line end
        capture_output=True,
        env=variables_of(home),
        cwd=home,
        check=True,
        timeout=300,
    )
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["result"]["structuredContent"]["outcome"] == "stored"
    assert done.stderr == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_exit_code_0(client: RawClient, number: signal.Signals) -> None:
    client.text("memory_context")
    pid = client.process.pid
    assert Path(f"/proc/{pid}/task/{pid}/children").read_text() == ""
    client.process.send_signal(number)
    assert client.process.wait(300) == 0
    assert client.error_text() == ""


def test_a_client_that_stops_reading_and_leaves_is_no_error(home: Path) -> None:
    with RawClient(home) as client:
        client.greet()
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.send(client.request("tools/list", {}))
        client.send(client.request("tools/list", {}))
        assert client.close() == 0
        assert client.error_text() == ""


def test_words_on_the_command_line(home: Path) -> None:
    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [FRONT, *words], env=variables_of(home), capture_output=True, text=True, check=False
        )

    assert run("--help").returncode == 0
    assert "usage" in run("--help").stdout
    assert run("--nonsense").returncode == 2
    assert "usage" in run("--nonsense").stderr
    for words, said in (
        (("--nonsense",), "'--nonsense' is no option; there are: --host, --compat"),
        (("--host", "codex", "more"), "'more' is no option"),
        (("--compat", "nothing"), "'nothing' is no choice of --compat; there are: server-memory"),
        (("--compat=nothing",), "'nothing' is no choice of --compat"),
        (("--host",), "--host needs a NAME"),
        (("--host", "a", "--host", "b"), "--host is given twice"),
    ):
        refused = run(*words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert said in refused.stderr


@pytest.mark.parametrize(
    ("words", "client", "named"),
    [
        (("--host", "codex"), "claude-code", "codex"),
        ((), "claude-code", "claude-code"),
        ((), "another", "mcp"),
        ((), None, "mcp"),
    ],
)
def test_the_blocks_name_the_host(
    home: Path, words: tuple[str, ...], client: str | None, named: str
) -> None:
    info = {"clientInfo": {"name": client, "version": "1"}} if client else {}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, **info}
    call = {"name": "memory_store", "arguments": {"content": "Hosts have names."}}
    asked = [("initialize", begin), ("tools/call", call)] if client else [("tools/call", call)]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(asked)
    ]
    subprocess.run(
        [FRONT, *words],
        input="\n".join(lines).encode(),
        env=variables_of(home),
        cwd=home,
        check=True,
        capture_output=True,
    )
    with MemoryMesh(db_dir=CommandLine(home).store, embedder="none") as mesh:
        (memory,) = mesh.get_all()
        assert [block.agent for block in mesh.explain(memory.id).blocks] == [named]


# --- its start -----------------------------------------------------------------------------------


def test_the_front_loads_only_its_light_part_before_the_first_call(home: Path) -> None:
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}}
    asked = [("initialize", opening), ("tools/list", {}), ("resources/list", {}), ("ping", {})]
    lines = "".join(
        json.dumps({"jsonrpc": "2.0", "id": at, "method": method, "params": params}) + "\n"
        for at, (method, params) in enumerate(asked)
    )
    code = (
        "import sys; bare = set(sys.modules)\n"
        "from memory_mesh.agents.mcp import front\n"
        "front.Front._wake = lambda self: None\n"  # it runs in a thread, after the answer
        "front.main()\n"
        "print(*sorted(set(sys.modules) - bare), sep='\\n', file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=lines,
        capture_output=True,
        text=True,
        env=variables_of(home),
        cwd=home,
        check=True,
    )
    assert len(done.stdout.splitlines()) == len(asked)
    loaded = set(done.stderr.splitlines())
    assert {name for name in loaded if name.startswith("memory_mesh")} == LIGHT
    heavy = {"json", "re", "socket", "asyncio", "pydantic", "mcp", "sqlite3", "pathlib", "typing"}
    assert not loaded & heavy
    assert len(loaded - LIGHT) <= 20, loaded - LIGHT


@pytest.mark.slow
def test_the_front_answers_soon_after_the_bare_interpreter_would_have_started(home: Path) -> None:
    """What the processor does until then, in turns."""
    variables = variables_of(home, PYTHONPYCACHEPREFIX=str(home / "bytecode"))
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening})

    def seconds(*command: str | Path) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=variables,
            cwd=home,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            assert process.stdout.readline()
            process.kill()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    bare_command = (sys.executable, "-I", "-S", "-c", "print(input(), flush=True)")
    seconds(FRONT)  # writes the bytecode
    spent = [(seconds(FRONT), seconds(*bare_command)) for _ in range(RUNS)]
    front, bare = (statistics.median(each) for each in zip(*spent, strict=True))
    assert front < DEAREST * bare


def test_the_version_of_the_server_is_that_of_the_package(client: RawClient) -> None:
    opened = client.result("initialize", protocolVersion="2025-11-25")
    assert opened["serverInfo"]["version"] == __version__
