"""`memory-mesh daemon`, the setting that forbids one, other users, and a library without one."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memory_mesh.agents.daemon import client, place
from tests.surface.command import CommandLine, Ran
from tests.surface.daemons import Place, in_a_home, lives
from tests.until import is_locked, until

NOBODY = 65_534
only_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Place]:
    with in_a_home(tmp_path) as found:
        yield found


def daemon(here: Place, *words: str) -> Ran:
    return CommandLine(here.home, variables=here.environment)("daemon", *words)


def test_the_command_shows_starts_and_stops_it(here: Place) -> None:
    absent = daemon(here)
    assert absent.code == 0
    assert absent.out.startswith(f"[MemoryMesh] No daemon answers for {here.store}")
    started = daemon(here, "start", "--json")
    found = json.loads(started.out)
    assert found["running"] is True
    assert found["pid"] == here.pid()
    assert found["socket"] == str(here.socket)
    assert json.loads(daemon(here, "start", "--json").out)["pid"] == found["pid"]
    assert f"process {found['pid']}" in daemon(here, "status").out
    assert daemon(here, "stop").out == f"[MemoryMesh] Stopped the daemon, process {found['pid']}.\n"
    assert not lives(found["pid"])
    assert daemon(here, "stop").out == f"[MemoryMesh] No daemon runs for {here.store}.\n"
    assert json.loads(daemon(here, "--json").out) == {
        "running": False,
        "store": here.store,
        "why": "not there",
    }


def test_in_the_foreground_it_ends_with_an_interrupt_and_there_is_only_one(here: Place) -> None:
    words = [sys.executable, "-m", "memory_mesh", "daemon", "run"]
    process = subprocess.Popen(words, env=here.environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith(f"[MemoryMesh] Serving {here.store}")
    here.started()
    assert here.pid() == process.pid
    second = daemon(here, "run")
    assert second.code == 1
    assert "another daemon serves" in second.err
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    process.stderr.close()


def test_one_that_hangs_is_named_with_the_way_out(here: Place) -> None:
    pid = here.started()
    os.kill(pid, signal.SIGSTOP)
    done = daemon(here, "stop")
    assert done.code == 1
    assert f"kill -9 {pid}" in done.err


def test_no_other_one_serves_after_a_stop_because_it_waited_in_line(here: Place) -> None:
    pid = here.started()
    os.kill(pid, signal.SIGSTOP)  # as one that is still loading, or on a busy machine
    words = [sys.executable, "-m", "memory_mesh", "daemon", "run"]
    with subprocess.Popen(words, env=here.environment, stderr=subprocess.PIPE) as waiting:
        # It got no answer, and waits ten seconds for the lock.
        until(lambda: is_locked(Path(f"{place.lock_path(here.store)}.next")))
        os.kill(pid, signal.SIGCONT)
        assert here.pid() == pid
        assert f"process {pid}" in daemon(here, "stop").out
        try:
            assert waiting.wait(60) == 1
        finally:
            waiting.kill()
    assert here.refused() == "not there"


def test_where_it_is_switched_off_it_is_neither_started_nor_asked(here: Place) -> None:
    pid = here.started()
    here.variables["MEMORY_MESH_DAEMON"] = "false"
    assert here.refused() == "switched off"
    assert client.start(here.store, here.environment) is False
    refused = daemon(here, "start")
    assert refused.code == 1
    assert "MEMORY_MESH_DAEMON" in refused.err
    assert daemon(here, "stop").code == 0  # one from before can be stopped
    assert not lives(pid)


def test_a_wrong_setting_is_named(here: Place) -> None:
    here.variables["MEMORY_MESH_DAEMON_IDLE_SECONDS"] = "soon"
    done = daemon(here, "start")
    assert done.code == 1
    assert "MEMORY_MESH_DAEMON_IDLE_SECONDS" in done.err


def test_the_library_and_the_commands_need_none_and_start_none(here: Place) -> None:
    cli = CommandLine(here.home, variables=here.environment)
    cli.stored("We deploy on Fridays")
    assert "Fridays" in cli("search", "deploy").out
    assert not Path(here.store, "agents").exists()
    code = "import sys, memory_mesh.sync; print([m for m in sys.modules if 'agents' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@only_root
def test_the_daemon_does_not_talk_to_another_user(here: Place) -> None:
    pid = here.started()
    path, folder = str(here.socket), here.socket.parent
    for each in (here.runtime, folder, here.socket):
        each.chmod(0o777)  # as if the folder's mode had been lost

    def connect() -> bool:
        os.setuid(NOBODY)
        with socket.socket(socket.AF_UNIX) as own:
            own.connect(path)
            try:
                own.sendall(b'{"protocol":1}\n')
                return own.recv(10) == b""
            except ConnectionError:
                return True

    assert in_child(connect)
    folder.chmod(0o700)
    here.runtime.chmod(0o700)
    assert here.pid() == pid


@only_root
def test_a_client_does_not_talk_to_another_users_process(here: Place) -> None:
    reading, writing = os.pipe()
    path = str(here.socket)

    def listen() -> bool:
        own = socket.socket(socket.AF_UNIX)
        own.bind(path)
        os.setuid(NOBODY)
        own.listen(8)
        os.write(writing, b"!")
        found, _ = own.accept()
        return found.recv(10) == b""  # it was told nothing

    child = forked(listen)
    os.read(reading, 1)
    assert here.refused() == "wrong user"
    assert os.waitpid(child, 0)[1] == 0
    os.close(reading)
    os.close(writing)


def in_child(act: Callable[[], bool]) -> bool:
    """Whether something is so in a child process."""
    return os.waitpid(forked(act), 0)[1] == 0


def forked(act: Callable[[], bool]) -> int:
    """A child process that ends with 0 if something is so."""
    if (child := os.fork()) == 0:
        code = 1
        try:
            code = 0 if act() else 1
        finally:
            os._exit(code)
    return child


SEARCHES = (
    ("which colours does he like", "--all"),
    ("where is the office", "--all", "--explain", "--limit", "2"),
    ("where is the office", "--global-of", "nobody"),
    ("colours", "--all", "--filter", "type = 'preference'", "--project", "paint"),
    ("colours", "--all", "--user", "alice"),
    ("colours", "--all", "--also-user", "alice"),
    ("colours", "--filter", "no such thing ="),
)
MODULES = """
import sys
from memory_mesh.cli import main
main.run(["search", "where is the office", "--json"])
print(*({"numpy", "tokenizers", "memory_mesh.search.recall"} & set(sys.modules)), file=sys.stderr)
"""


def test_a_search_by_meaning_asks_the_daemon_and_finds_the_same(tmp_path: Path) -> None:
    with in_a_home(tmp_path, MEMORY_MESH_EMBEDDER="local") as here:
        command = CommandLine(here.home, variables=here.environment)
        for words in (
            ("store", "The user prefers dark themes", "--type", "preference"),
            ("store", "The office is in Hamburg"),
            ("store", "Paint the walls green", "--type", "preference", "--project", "paint"),
            ("store", "Alice likes yellow", "--user", "alice"),
            ("upkeep", "--all"),
        ):
            assert command(*words).code == 0
        alone = [command("search", *words, "--json") for words in SEARCHES]
        assert "Hamburg" in alone[1].out
        pid = here.started()
        told = here.ask("status")["answer"]["requests"]
        again = [command("search", *words, "--json") for words in SEARCHES]
        assert [(ran.code, ran.out, ran.err) for ran in again] == [
            (ran.code, ran.out, ran.err) for ran in alone
        ]
        # Not asked: what is no command, and what searches several views.
        assert here.ask("status")["answer"]["requests"] == told + len(SEARCHES) - 2
        assert loaded(here) == []
        os.kill(pid, signal.SIGSTOP)  # it gets a second; then the command searches itself
        assert command("search", *SEARCHES[1], "--json").out == alone[1].out
        assert set(loaded(here)) == {"numpy", "tokenizers", "memory_mesh.search.recall"}


def loaded(here: Place) -> list[str]:
    """Which of the dear modules a search loads."""
    words = [sys.executable, "-c", MODULES]
    return subprocess.run(
        words, env=here.environment, cwd=here.home, capture_output=True, text=True, check=True
    ).stderr.split()
