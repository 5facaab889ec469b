"""The daemon as real processes: one per store, started on demand, easy to lose."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_mesh.agents import journal
from memory_mesh.agents.daemon import client
from memory_mesh.rules.trust import AUDIENCE
from memory_mesh.sync import MemoryMesh
from tests.surface.daemons import PATIENCE, Place, command_of, in_a_home, lives, until

START = """
import sys
from memory_mesh.agents import journal
from memory_mesh.agents.daemon import client
sys.stdin.readline()
print(client.ensure(sys.argv[1], seconds=60)["pid"])
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Place]:
    with in_a_home(tmp_path) as found:
        yield found


def sent(here: Place, data: bytes, *, close: bool = False) -> bytes:
    """What the daemon answers to raw bytes."""
    with socket.socket(socket.AF_UNIX) as own:
        own.settimeout(60)
        own.connect(str(here.socket))
        try:
            own.sendall(data)
        except OSError:  # it has heard enough
            return b""
        if close:
            own.shutdown(socket.SHUT_WR)
        found = b""
        while part := own.recv(65_536):
            found += part
        return found


def texts(here: Place, namespace: str = "default") -> list[str]:
    """What the store holds, by the library alone."""
    with MemoryMesh(db_dir=here.store, namespace=namespace, embedder="none") as mesh:
        return sorted(memory.text for memory in mesh.get_all(limit=1000, across=AUDIENCE))


def test_of_eight_processes_that_need_one_at_once_one_daemon_comes(here: Place) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", START, here.store],
            env=here.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(8)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write(b"\n")
        racer.stdin.flush()
    found = {int(racer.communicate(timeout=120)[0]) for racer in racers}
    here.seen |= found
    assert len(found) == 1
    until(lambda: len(daemons_of(here.store)) == 1)
    assert daemons_of(here.store) == found


def daemons_of(store: str) -> set[int]:
    """The processes that were started as daemons of a store and still run."""
    return {
        int(path.name)
        for path in Path("/proc").iterdir()
        if path.name.isdecimal()
        and f"memory_mesh.agents.daemon\0--store\0{store}" in command_of(int(path.name))
        and lives(int(path.name))
    }


def test_it_is_detached_and_keeps_nothing_of_its_starters_environment(here: Place) -> None:
    here.variables["MEMORY_MESH_NAMESPACE"] = "of-the-starter"
    code = START.replace("sys.stdin.readline()", "")
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)  # noqa: FBT003
    done = subprocess.run(
        [sys.executable, "-c", code, here.store],
        env=here.environment | {"A_SECRET": "hunter2", "OPENAI_API_KEY": "sk-hunter3"},
        cwd=here.home,
        capture_output=True,
        close_fds=False,
        check=True,
    )
    os.close(writing)
    pid = int(done.stdout)
    here.seen.add(pid)
    assert os.read(reading, 1) == b""  # nobody keeps the starter's pipe open
    os.close(reading)
    known = Path(f"/proc/{pid}/environ").read_bytes()
    names = {line.partition(b"=")[0] for line in known.split(b"\0") if line}
    assert b"hunter" not in known
    allowed = (b"PYTHON", b"PATH", b"LD_LIBRARY_PATH", b"XDG_RUNTIME_DIR", b"LC_CTYPE")
    assert all(name.startswith(allowed) for name in names)
    assert str(Path(f"/proc/{pid}/cwd").readlink()) == "/"
    assert {str(Path(f"/proc/{pid}/fd/{each}").readlink()) for each in (0, 1, 2)} == {os.devnull}
    assert os.getsid(pid) not in {os.getsid(0), 0}


def test_no_module_of_the_starters_folder_is_loaded(here: Place) -> None:
    marked = here.home / "loaded"
    for name in ("selectors.py", "memory_mesh.py", "sitecustomize.py"):
        (here.home / name).write_text(f"open({str(marked)!r}, 'w')", encoding="utf-8")
    code = START.replace("sys.stdin.readline()", "")
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, here.store],
        env=here.environment,
        cwd=here.home,
        capture_output=True,
        check=True,
    )
    here.seen.add(int(done.stdout))
    assert not marked.exists()


def test_each_client_gets_its_own_settings(here: Place) -> None:
    here.foreground(MEMORY_MESH_NAMESPACE="of-the-starter", MEMORY_MESH_AGENT="starter")
    first = here.ask("note", {"text": "We deploy on Fridays"})["answer"]
    assert (first["namespace"], first["agent"]) == ("default", "claude-code")
    here.variables["MEMORY_MESH_NAMESPACE"] = "work"
    second = here.ask("note", {"text": "The pump leaks"}, host="codex")["answer"]
    assert (second["namespace"], second["agent"]) == ("work", "codex")
    assert texts(here) == ["We deploy on Fridays"]
    assert texts(here, "work") == ["The pump leaks"]


def test_it_loads_what_a_prompt_needs_before_anybody_asks(here: Place) -> None:
    here.foreground()
    module = {"module": "memory_mesh.agents.hook.events"}
    until(lambda: here.ask("loaded", module)["answer"]["loaded"])


def test_two_stores_have_two_daemons(here: Place) -> None:
    first = here.started()
    here.variables["MEMORY_MESH_DIR"] = str(here.home / "other")
    second = here.started()
    assert first != second
    assert here.pid() == second


def test_a_kill_costs_nothing_but_the_next_start(here: Place) -> None:
    process = here.foreground()
    here.ask("note", {"text": "We deploy on Fridays"})
    process.kill()
    process.wait()
    assert here.socket.exists()
    assert here.refused() == "refused"
    assert here.started() != process.pid
    assert texts(here) == ["We deploy on Fridays"]


def test_a_termination_finishes_what_was_begun_and_tells_who_comes_late(
    here: Place, tmp_path: Path
) -> None:
    process = here.foreground()
    given = {"text": "slow", "begun": str(tmp_path / "begun"), "gate": str(tmp_path / "gate")}
    replies: list[object] = []
    asking = threading.Thread(target=lambda: replies.append(here.ask("slow", given)["ok"]))
    asking.start()
    until((tmp_path / "begun").exists)
    process.send_signal(signal.SIGTERM)
    until(lambda: not here.socket.exists())
    assert here.refused() == "not there"
    assert process.poll() is None
    (tmp_path / "gate").touch()
    asking.join()
    assert process.wait(60) == 0
    assert replies == [True]
    assert texts(here) == ["slow"]


def test_one_that_is_stopped_makes_clients_time_out_and_lives_on(here: Place) -> None:
    process = here.foreground()
    process.send_signal(signal.SIGSTOP)
    assert here.refused(seconds=0.2) == "timeout"
    process.send_signal(signal.SIGCONT)
    assert here.pid() == process.pid


def test_a_client_that_vanishes_has_its_work_done_once(here: Place, tmp_path: Path) -> None:
    here.foreground()
    given = {"text": "once", "begun": str(tmp_path / "begun"), "gate": str(tmp_path / "gate")}
    request = here.request("slow", given)
    with pytest.raises(client.NoDaemon) as refusal:
        client.ask(request, seconds=1.0)
    assert (refusal.value.reason, refusal.value.sent) == ("timeout", True)
    (tmp_path / "gate").touch()
    again = client.ask(request, seconds=60)["answer"]
    until(lambda: here.ask("status")["answer"]["requests"] == 2)
    assert here.ask("note", {"text": "once"}, id=request["id"])["answer"]["id"] == again["id"]
    assert texts(here) == ["once"]


MALFORMED = (
    b"\n",
    b"{\n",
    b"[]\n",
    b"7\n",
    b"\xff\xfe\n",
    b"[" * 50_000 + b"\n",
    b'{"protocol":1,"version":' + b"9" * 5_000 + b"}\n",
    b'{"protocol":2}\n',
    b'{"protocol":1,"version":"0","id":"x","do":"ping"}\n',
    b'{"protocol":1,"do":"stop"}\n',
    json.dumps({"protocol": 1, "input": "x" * 200_000}).encode() + b"\n",
)
WRONG: tuple[tuple[str, object], ...] = (
    ("environment", {"HOME": 7}),
    ("environment", []),
    ("parents", ["x"]),
    ("parents", None),
    ("cwd", None),
    ("input", []),
    ("store", 1),
    ("id", 5),
)


def test_a_malformed_request_gets_an_error_and_the_daemon_lives(here: Place) -> None:
    process = here.foreground()
    for line in MALFORMED:
        error = json.loads(sent(here, line))["error"]
        assert error["kind"] == "InvalidInput", line
    for name, value in WRONG:
        request = here.request("note", {"text": "x"}) | {name: value}
        error = json.loads(sent(here, json.dumps(request).encode() + b"\n"))["error"]
        assert error["kind"] == "InvalidInput", name
        assert name in error["text"]
    assert here.pid() == process.pid
    assert here.ask("status")["answer"]["requests"] == 0


def test_a_bug_is_answered_without_its_secrets_and_the_daemon_lives(here: Place) -> None:
    process = here.foreground()
    first = here.ask("break")["error"]
    assert first["kind"] == "Bug"
    assert "RuntimeError: a bug with a key" in first["text"]
    assert "abcdefghijkl" not in first["text"]
    assert here.ask("break", {"how": "answer"})["error"]["kind"] == "Bug"
    assert here.ask("nothing of the kind")["error"]["kind"] == "InvalidInput"
    assert here.pid() == process.pid


def test_a_request_that_is_too_large_is_refused_on_both_sides(here: Place) -> None:
    process = here.foreground()
    with pytest.raises(client.NoDaemon) as refusal:
        here.ask("note", {"text": "x" * 8_000_000})
    assert refusal.value.reason == "too large"
    sent(here, b"x" * 9_000_000)
    assert here.pid() == process.pid
    assert here.ask("note", {"text": "x" * 300_000})["error"]["kind"] == "InvalidInput"


def test_silent_clients_hold_nobody_up_for_long(here: Place) -> None:
    process = here.foreground(line=0.5)
    silent = [socket.socket(socket.AF_UNIX) for _ in range(100)]  # more than it takes at a time
    for each in silent:
        each.connect(str(here.socket))
        each.send(b"{")
    assert here.pid() == process.pid
    for each in silent:
        each.settimeout(60)
        assert each.recv(1) == b""
        each.close()


def test_many_requests_at_once_are_all_done_by_a_few_threads(here: Place, tmp_path: Path) -> None:
    process = here.foreground()
    gate, replies = tmp_path / "gate", []

    def ask(number: int) -> None:
        given = {"text": f"text {number}", "begun": f"{tmp_path}/b{number}", "gate": str(gate)}
        replies.append(here.ask("slow", given)["ok"])

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for each in asking:
        each.start()
    until(lambda: here.ask("status")["answer"]["requests"] == 20)
    until(lambda: len(list(tmp_path.glob("b*"))) == 8)
    assert len(list(Path(f"/proc/{process.pid}/task").iterdir())) < 20
    gate.touch()
    for each in asking:
        each.join()
    assert replies == [True] * 20
    assert len(texts(here)) == 20


@pytest.mark.parametrize("thing", ["file", "folder", "full folder", "stale socket", "link"])
def test_whatever_stands_in_the_sockets_place_makes_way(here: Place, thing: str) -> None:
    if thing == "file":
        here.socket.write_text("not a socket", encoding="utf-8")
    elif thing == "stale socket":
        with socket.socket(socket.AF_UNIX) as own:
            own.bind(str(here.socket))
    elif thing == "link":
        here.socket.symlink_to(here.home / "nowhere")
    else:
        here.socket.mkdir()
        if thing == "full folder":
            (here.socket / "a").touch()
    assert here.refused() in {"refused", "unusable socket", "not there"}
    started = here.started()
    assert here.pid() == started


def test_a_foreign_listener_in_the_sockets_place_makes_way(here: Place) -> None:
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(here.socket))
        foreign.listen(8)

        def babble() -> None:
            own, _ = foreign.accept()
            own.recv(65_536)
            own.sendall(b"220 mail.example.org ESMTP\n")
            own.close()

        babbling = threading.Thread(target=babble)
        babbling.start()
        assert here.refused() == "garbage"
        babbling.join()
        assert here.foreground().poll() is None
        assert here.refused() == "answered"


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_daemon_takes_its_socket_back(here: Place, how: str) -> None:
    process = here.foreground()
    here.socket.unlink()
    if how == "replaced":
        here.socket.mkdir()
    until(lambda: here.serves(process.pid))


def test_a_client_with_another_runtime_folder_finds_the_daemon(here: Place) -> None:
    process = here.foreground()
    here.variables["XDG_RUNTIME_DIR"] = ""
    assert here.pid() == process.pid


def test_an_older_daemon_hands_over_to_a_newer_client(here: Place, tmp_path: Path) -> None:
    old = here.foreground(version="0.0.9")
    given = {"text": "begun", "begun": str(tmp_path / "begun"), "gate": str(tmp_path / "gate")}
    replies: list[object] = []
    request = here.request("slow", given, version="0.0.9")
    asking = threading.Thread(target=lambda: replies.append(client.ask(request, seconds=60)["ok"]))
    asking.start()
    until((tmp_path / "begun").exists)
    with pytest.raises(client.NoDaemon) as refusal:
        here.ask("note", {"text": "not begun"})
    assert (refusal.value.reason, refusal.value.is_worth_a_start) == ("other version", False)
    (tmp_path / "gate").touch()
    asking.join()
    assert old.wait(60) == 0
    until(lambda: here.refused() == "answered")
    assert here.pid() != old.pid
    assert replies == [True]
    assert texts(here) == ["begun"]


def test_a_newer_daemon_is_left_alone_by_an_older_client(here: Place) -> None:
    new = here.foreground(version="99.0")
    with pytest.raises(client.NoDaemon) as refusal:
        here.ask("note", {"text": "not begun"})
    assert refusal.value.reason == "other version"
    with pytest.raises(client.NoDaemon):  # nor does it end because an older one asks it to
        here.ask("stop", {"why": "upgrade"})
    assert here.pid() == new.pid
    assert not Path(here.store, "namespaces").exists()


def test_it_ends_when_nobody_asks_for_long(here: Place) -> None:
    process = here.foreground(idle=0.5)
    assert process.wait(60) == 0
    assert not here.socket.exists()
    assert here.refused() == "not there"
    started, ended = journal.read(here.store)
    assert (started["what"], started["outcome"], started["pid"]) == (
        "daemon",
        "started",
        process.pid,
    )
    assert (ended["outcome"], ended["reason"], ended["requests"]) == ("ended", "idle", 0)


def test_the_setting_for_the_idle_time_reaches_a_daemon_that_is_started(here: Place) -> None:
    here.variables["MEMORY_MESH_DAEMON_IDLE_SECONDS"] = "1.5"  # it must still be there to be met
    pid = here.started()
    until(lambda: not lives(pid))


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_it_ends_when_its_store_is_another_one(here: Place, how: str) -> None:
    process = here.foreground()
    here.ask("note", {"text": "in the first store"})
    Path(here.store).rename(here.home / "moved")
    if how == "replaced":
        Path(here.store, "agents").mkdir(parents=True)
    assert process.wait(60) == 0
    assert list(Path(here.store).rglob("*.jsonl")) == []
    here.foreground()
    here.ask("note", {"text": "in the second store"})
    assert texts(here) == ["in the second store"]


def test_while_nobody_asks_it_uses_no_processor(here: Place) -> None:
    pid = here.started()
    until(lambda: len(list(Path(f"/proc/{pid}/task").iterdir())) == 1)  # all is loaded
    before = ticks(pid)
    time.sleep(2)
    assert ticks(pid) - before <= 1  # of a hundredth of a second each


def ticks(pid: int) -> int:
    """The processor's time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_one_whose_request_stands_still_ends_all_the_same(here: Place, tmp_path: Path) -> None:
    process = here.foreground(ending=1)
    begun, never = tmp_path / "begun", tmp_path / "never"
    request = here.request("slow", {"text": "a note", "begun": str(begun), "gate": str(never)})
    with socket.socket(socket.AF_UNIX) as own:
        own.connect(str(here.socket))
        own.sendall(json.dumps(request).encode() + b"\n")
        until(begun.exists)
        here.ask("stop")
        assert process.wait(PATIENCE) == -signal.SIGALRM
