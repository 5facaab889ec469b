"""Whatever stands still, a hook ends at its budget: exit status 0, all or nothing said, one line.

Nothing is timed here: a blocker lasts for minutes, so a hook that has ended did not wait for it.
"""

import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_mesh.agents.daemon import place
from tests.surface.hooking import ENOUGH_MS, HOOK, PATIENCE, PLANTED, PROMPT, Host

RUNS = 2  # of each blocker
C_BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            import re
            re.match("(a|a)+$", "a" * 200 + "b")  # holds the interpreter for longer than we live
        return None

sys.meta_path.insert(0, Blocker())
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    host = Host(home, {"MEMORY_MESH_HOOK_BUDGET_MS": "300"})
    with host.mesh() as mesh:
        mesh.add(PLANTED)
    yield host
    host.stop_daemon()


def ended(host: Host, *, stdin: int | None = None, stdout: int | None = None) -> bytes:
    """Runs one hook whose way is blocked; it ends with exit status 0, and says what it said."""
    process = subprocess.Popen(
        HOOK,
        stdin=subprocess.PIPE if stdin is None else stdin,
        stdout=subprocess.PIPE if stdout is None else stdout,
        env=host.environment,
        cwd=host.folder,
    )
    given = host.input("UserPromptSubmit", prompt=PROMPT) if stdin is None else None
    said, _ = process.communicate(given, timeout=PATIENCE)
    assert process.returncode == 0
    return said or b""


def blocked(host: Host, module: str, tmp_path: Path) -> None:
    """Lets the interpreter stand still inside a call into C, at the import of a module."""
    folder = tmp_path / "blocker"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(C_BLOCKER.format(module=module))
    host.variables["PYTHONPATH"] = str(folder)


@pytest.mark.parametrize("module", ["memory_mesh.agents.hook.alone", "memory_mesh.agents.request"])
def test_a_call_into_c_that_does_not_come_back_holds_up_nothing(
    host: Host, tmp_path: Path, module: str
) -> None:
    blocked(host, module, tmp_path)
    for _ in range(RUNS):
        assert ended(host) == b""
    if module.endswith("alone"):  # else even the journal's own module stands still
        assert [line["outcome"] for line in host.lines(RUNS)] == ["late"] * RUNS
        assert session_of_a_late_hook(host) == "s1"
    kill_workers(host)


def session_of_a_late_hook(host: Host) -> object:
    """A busy machine spends a short budget before the input is read: a longer one follows then."""
    for budget in (300, 3_000, 30_000):
        host.variables["MEMORY_MESH_HOOK_BUDGET_MS"] = str(budget)
        before = len(host.lines(0))
        ended(host)
        *_, line = host.lines(before + 1)
        assert line["outcome"] == "late"
        if line.get("session"):
            break
    return line.get("session")


def test_a_hook_that_is_late_before_its_input_is_read_names_the_event_all_the_same(
    host: Host,
) -> None:
    host.variables["MEMORY_MESH_HOOK_BUDGET_MS"] = "9"
    ended(host)
    (line,) = host.lines(1)
    assert (line["outcome"], line["event"], line["session"]) == ("late", "UserPromptSubmit", "s1")


def test_a_standard_input_that_never_ends_holds_up_nothing(host: Host) -> None:
    reader, writer = os.pipe()
    os.write(writer, b'{"hook_event_name":"UserPromptSubmit",')
    for _ in range(RUNS):
        assert ended(host, stdin=reader) == b""
    assert [line["outcome"] for line in host.lines(RUNS)] == ["late"] * RUNS
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("said", [b"", b"{", b"[1]", b"\xff\xfe{}", b"nonsense"])
def test_an_input_that_is_none_is_told_in_the_journal(host: Host, said: bytes) -> None:
    host.variables["MEMORY_MESH_HOOK_BUDGET_MS"] = str(ENOUGH_MS)
    done = subprocess.run(
        HOOK,
        input=said,
        stdout=subprocess.PIPE,
        env=host.environment,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    [line] = host.lines(1)
    assert line["outcome"] == "failed"
    assert line["reason"] == "standard input holds no JSON object"


def test_a_reader_that_takes_nothing_gets_nothing_and_holds_up_nothing(host: Host) -> None:
    host.variables["MEMORY_MESH_HOOK_BUDGET_MS"] = "1000"
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    filled = 0
    while True:
        try:
            filled += os.write(writer, b"x" * 4096)
        except BlockingIOError:
            break
    os.set_blocking(writer, True)
    ended(host, stdout=writer)
    os.close(writer)
    assert [line["outcome"] for line in host.lines(1)] == ["late"]
    left = b""
    while part := os.read(reader, 1 << 16):
        left += part
    assert left == b"x" * filled  # not half of an answer
    os.close(reader)


def test_an_answer_is_printed_whole_or_not_at_all(host: Host) -> None:
    """A pipe with room for a part of a long answer gets none of it."""
    with host.mesh() as mesh:
        mesh.add_many([f"Note {at}: {'the shop and its staging ' * 20}" for at in range(20)])
    host.variables["MEMORY_MESH_HOOK_BUDGET_MS"] = "1000"
    reader, writer = os.pipe()
    os.write(writer, b"x" * (65536 - 4200))  # one page is free
    process = subprocess.run(
        HOOK, input=host.input("SessionStart", source="startup"), stdout=writer,
        env=host.environment, timeout=PATIENCE, check=False,
    )  # fmt: skip
    os.close(writer)
    assert process.returncode == 0
    left = b""
    while part := os.read(reader, 1 << 16):
        left += part
    os.close(reader)
    assert host.lines(1)[0]["outcome"] == "late"
    assert set(left) == set(b"x")


def test_a_store_that_another_process_locks_holds_up_nothing(host: Host) -> None:
    [file] = (host.store / "namespaces").glob("*.db")
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        for _ in range(RUNS):
            said = ended(host)
            assert said == b"" or PLANTED.encode() in said
        outcomes = {line["outcome"] for line in host.lines(RUNS)}
        # one whose budget ends as its wait for the lock does has nothing to say, in time
        assert outcomes <= {"late", "failed", "answered", "silent"}
    finally:
        holder.close()


@pytest.fixture
def stopped(host: Host) -> Iterator[Host]:
    """The host with a daemon that is stopped (SIGSTOP)."""
    with host.daemon() as pid:
        os.kill(pid, signal.SIGSTOP)
        yield host


def test_beside_a_stopped_daemon_the_hook_answers_by_itself(stopped: Host) -> None:
    stopped.variables["MEMORY_MESH_HOOK_BUDGET_MS"] = str(ENOUGH_MS // 4)
    for run in range(RUNS):
        assert PLANTED.encode() in ended_with(stopped, session=f"r{run}")
    assert [line["through"] for line in stopped.lines(RUNS)] == ["process"] * RUNS


def test_a_daemon_that_answers_late_need_not_wait_for_the_hook(
    stopped: Host, tmp_path: Path
) -> None:
    """While the hook works by itself (here: for minutes) it prints what the daemon answers."""
    folder, begun = tmp_path / "sleeper", tmp_path / "begun"
    folder.mkdir()
    sleeper = C_BLOCKER.format(module="memory_mesh.agents.hook.alone").replace(
        "import re\n",
        f"import time; open({str(begun)!r}, 'w').close(); time.sleep(600)\n            import re\n",
    )
    (folder / "sitecustomize.py").write_text(sleeper)
    stopped.variables |= {"PYTHONPATH": str(folder), "MEMORY_MESH_HOOK_BUDGET_MS": "12000"}
    known = place.recorded(str(stopped.store))
    assert known is not None
    waker = threading.Thread(target=_wake, args=(known[0], begun))
    waker.start()
    try:
        assert PLANTED.encode() in ended_with(stopped, session="late")
    finally:
        waker.join()
        kill_workers(stopped)


def _wake(pid: int, begun: Path) -> None:
    """Lets a stopped process go on once a file is there."""
    end = time.monotonic() + PATIENCE
    while not begun.exists() and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(pid, signal.SIGCONT)


def test_a_stopped_daemon_holds_up_nothing(stopped: Host) -> None:
    for run in range(RUNS):
        said = ended_with(stopped, session=f"r{run}")
        assert said == b"" or PLANTED.encode() in said
    assert len(stopped.lines(RUNS)) == RUNS


def ended_with(host: Host, session: str) -> bytes:
    done = subprocess.run(
        HOOK, input=host.input("UserPromptSubmit", session=session, prompt=PROMPT),
        stdout=subprocess.PIPE, env=host.environment, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    return done.stdout


@pytest.mark.parametrize("kind", ["garbage", "silence", "folder", "file"])
def test_a_socket_that_is_none_of_ours_holds_up_nothing(host: Host, kind: str) -> None:
    budget = str(ENOUGH_MS // 4)
    host.variables |= {"MEMORY_MESH_DAEMON": "1", "MEMORY_MESH_HOOK_BUDGET_MS": budget}
    path = Path(place.socket_path(str(host.store), host.environment))
    path.unlink(missing_ok=True)
    listener = None
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_bytes(b"no socket")
    else:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()
    try:
        if kind == "garbage" and listener is not None:
            threading.Thread(target=_answer_garbage, args=(listener,), daemon=True).start()
        assert PLANTED.encode() in ended_with(host, session=kind)
        assert host.lines(1)[0]["through"] == "process"
    finally:
        if listener is not None:
            listener.close()
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)


def _answer_garbage(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(1 << 16)
        connection.sendall(b"\x00\xff garbage\n")


def test_a_huge_prompt_holds_up_nothing(host: Host) -> None:
    host.variables["MEMORY_MESH_HOOK_BUDGET_MS"] = str(ENOUGH_MS)
    filler = "lorem ipsum dolor sit amet " * 400_000  # 10 MB
    assert PLANTED in host.prompt(f"{PROMPT}\n{filler}").context


def test_a_full_disk_holds_up_nothing(host: Host) -> None:
    """No file can grow: neither the journal, nor the session, nor the store."""
    limited = (
        "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
        "os.execv(sys.executable, [sys.executable, '-m', 'memory_mesh.agents.hook.main'])"
    )
    host.variables["MEMORY_MESH_HOOK_BUDGET_MS"] = str(ENOUGH_MS)
    for run in range(RUNS):
        done = subprocess.run(
            [sys.executable, "-c", limited],
            input=host.input("UserPromptSubmit", session=f"r{run}", prompt=PROMPT),
            stdout=subprocess.PIPE, env=host.environment, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0
        assert done.stdout == b"" or PLANTED.encode() in done.stdout


def test_a_worker_that_is_killed_is_told_in_the_journal(host: Host, tmp_path: Path) -> None:
    folder = tmp_path / "killer"
    folder.mkdir()
    killer = C_BLOCKER.format(module="memory_mesh.agents.hook.alone").replace(
        "import re\n", "import os\n            os.kill(os.getpid(), 9)\n            import re\n"
    )
    (folder / "sitecustomize.py").write_text(killer)
    host.variables |= {
        "PYTHONPATH": str(folder), "MEMORY_MESH_HOOK_BUDGET_MS": str(ENOUGH_MS),
    }  # fmt: skip
    assert ended(host) == b""
    [line] = host.lines(1)
    assert (line["outcome"], line["event"]) == ("failed", "UserPromptSubmit")


def kill_workers(host: Host) -> None:
    """Ends the workers of this test, which a call into C keeps for a minute."""
    wanted = f"HOME={host.home}".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                environment = (folder / "environ").read_bytes().split(b"\0")
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if wanted in environment and b"memory_mesh.agents.hook.main" in words:
                os.kill(int(folder.name), signal.SIGKILL)
    time.sleep(0)


@pytest.mark.parametrize("module", ["memory_mesh.agents.hook.alone", "memory_mesh.agents.request"])
def test_processes_that_stand_still_in_c_end_by_themselves(
    host: Host, tmp_path: Path, module: str
) -> None:
    blocked(host, module, tmp_path)
    host.variables["MEMORY_MESH_HOOK_LIFE_SECONDS"] = "1"
    alive, pipe = os.pipe()  # ends when nobody of the hook's processes holds it any more
    os.set_inheritable(pipe, True)  # noqa: FBT003
    given = host.input("UserPromptSubmit", prompt=PROMPT)
    process = subprocess.Popen(
        HOOK, stdin=subprocess.PIPE, env=host.environment, cwd=host.folder, pass_fds=[pipe]
    )
    os.close(pipe)
    process.communicate(given, timeout=PATIENCE)
    assert process.returncode == 0
    assert select.select([alive], [], [], PATIENCE)[0], "a process of the hook still stands"
    assert os.read(alive, 1) == b""
    os.close(alive)
