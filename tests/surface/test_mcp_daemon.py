"""The MCP front and the daemon: calls go through it, and none is lost or doubled without it."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from memory_mesh._version import __version__
from memory_mesh.agents import journal, request as requests
from memory_mesh.agents.daemon import client as daemon_client, place
from memory_mesh.agents.opening import Stores, answer
from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine
from tests.surface.mcp_client import RawClient, variables_of

PATIENCE = 300.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return variables_of(home, MEMORY_MESH_DAEMON="true")


@pytest.fixture
def daemon(home: Path, environment: dict[str, str]) -> Iterator[Callable[[], dict[str, Any]]]:
    """Asks the running daemon for a sign of life; it is ended after the test."""
    store = place.folder_of(environment, str(home))
    ping = requests.made("ping", environment=environment, cwd=str(home))

    def status() -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return daemon_client.ask(ping, seconds=1)
            except daemon_client.NoDaemon:
                assert time.monotonic() < end
                time.sleep(0.05)

    yield status
    known = place.recorded(store)
    if known is not None:
        with_pid(known[0], signal.SIGCONT)
        with_pid(known[0], signal.SIGKILL)


def with_pid(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def stored_texts(home: Path) -> list[str]:
    with MemoryMesh(db_dir=CommandLine(home).store, embedder="none") as mesh:
        assert mesh.care.verify().ok
        return sorted(memory.text for memory in mesh.get_all())


def ways(home: Path) -> list[str]:
    """Through what each call of a tool went, by the journal."""
    lines = journal.read(str(CommandLine(home).store))
    return [f"{line['tool']} {line['through']}" for line in lines if line["what"] == "mcp"]


def test_the_first_message_starts_a_daemon_and_calls_go_through_it(
    home: Path, daemon: Callable[[], dict[str, Any]]
) -> None:
    with RawClient(home, MEMORY_MESH_DAEMON="true") as client:
        client.greet()
        assert daemon()["ok"]
        id_ = client.said("memory_store", content="Calls go through the daemon.")["id"]
        assert id_ in client.text("memory_search", query="daemon calls")
        pid = daemon()["pid"]
        assert client.close() == 0
    assert ways(home) == ["memory_store daemon", "memory_search daemon"]
    assert daemon()["pid"] == pid  # it survives its client
    with RawClient(home, MEMORY_MESH_DAEMON="true") as client:
        client.greet()
        assert client.said("memory_get", ids=[id_])["missing"] == []
        assert daemon()["pid"] == pid


def test_a_stopped_daemon_holds_no_call(home: Path, daemon: Callable[[], dict[str, Any]]) -> None:
    with RawClient(home, MEMORY_MESH_DAEMON="true") as client:
        client.greet()
        os.kill(daemon()["pid"], signal.SIGSTOP)
        client.said("memory_store", content="A stopped daemon is passed by.")
    assert ways(home) == ["memory_store process"]
    assert stored_texts(home) == ["A stopped daemon is passed by."]


@pytest.mark.parametrize("dies", ["before", "after"])
@pytest.mark.parametrize("tool", ["memory_store", "memory_forget"])
@pytest.mark.usefixtures("daemon")
def test_a_daemon_that_dies_in_a_call_loses_and_doubles_nothing(
    home: Path, environment: dict[str, str], dies: str, tool: str
) -> None:
    """A daemon that does the work, or does not, and closes the connection without a reply."""
    with RawClient(home) as client:
        client.greet()
        old = client.said("memory_store", content="The old build server is gone.")["id"]
    arguments = {
        "memory_store": {"content": "The build server is called Heron."},
        "memory_forget": {"id": old},
    }[tool]
    with (
        dying(environment, home, works=dies == "after") as asked,
        RawClient(home, MEMORY_MESH_DAEMON="true") as client,
    ):
        client.greet()
        answer = client.said(tool, **arguments)
    assert [request["do"] for request in asked].count("tool") == 1
    kept = ["The build server is called Heron.", "The old build server is gone."]
    if tool == "memory_store":
        assert answer["outcome"] == "stored"  # by its key: another call would be merged
    else:
        assert answer["outcome"] == ("already_deleted" if dies == "after" else "deleted")
        kept = []
    assert stored_texts(home) == kept
    assert ways(home)[-1] == f"{tool} process"


@contextmanager
def dying(
    environment: Mapping[str, str], home: Path, *, works: bool
) -> Iterator[list[dict[str, Any]]]:
    """A process at the daemon's socket that answers pings and dies in every other request."""
    store = place.folder_of(environment, str(home))
    path = place.socket_path(store, environment)
    asked: list[dict[str, Any]] = []
    stores = Stores(embedder=False)
    own = socket.socket(socket.AF_UNIX)
    own.bind(path)
    own.listen()

    def serve() -> None:
        while True:
            try:
                connection, _ = own.accept()
            except OSError:  # the test is over
                return
            with connection, connection.makefile("rb") as lines, suppress(BrokenPipeError):
                if not (line := lines.readline()):
                    continue  # on a busy machine a client may have left before it was heard
                request = json.loads(line)
                asked.append(request)
                if request["do"] == "ping":
                    reply = {"protocol": 1, "version": __version__, "ok": True, "answer": {}}
                    connection.sendall(requests.to_line(reply))
                elif works and request["do"] == "tool":
                    answer(stores, request)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield asked
    finally:
        own.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE)
        own.close()
        Path(path).unlink()
        stores.close()
