"""A live trial: the real commands, on a store that is thrown away afterwards.

::

    planted memory ──▶ store ──▶ the plugin's own hook command ──▶ must give it back
                               the plugin's own MCP command    ──▶ must list its tools, and
                                                                   answer from a database
                               a daemon of its own             ──▶ must start, answer and end

How long each took is said and never judged harder than by a warning: a machine may be busy.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_mesh.agents import journal, request as requests
from memory_mesh.agents.daemon import client, place
from memory_mesh.agents.doctor import hooks
from memory_mesh.agents.doctor.daemon import more_time, runs
from memory_mesh.agents.doctor.finding import Case, CheckResult, failed, ok, warning
from memory_mesh.agents.hook.main import BUDGET, BUDGET_MS
from memory_mesh.agents.hosts import HOSTS, claude_code, places
from memory_mesh.agents.opening import Stores
from memory_mesh.base.typed import Any, dataclass
from memory_mesh.model import Channel
from memory_mesh.platform import system

# A store for one trial, with its key and settings of its own, that leaves nothing behind.


PLANTED = "The doctor of memory-mesh keeps its stethoscope in drawer 42."
_OURS = "MEMORY_MESH_"


@dataclass(frozen=True, slots=True)
class ThrownAway:
    """A folder with a store in it, and the variables that lead there."""

    folder: Path
    environment: dict[str, str]

    @property
    def store(self) -> Path:
        """The folder of the store."""
        return Path(self.environment[f"{_OURS}DIR"])

    def plant(self) -> None:
        """Stores one memory, by a real write."""
        request = requests.made("hook", environment=self.environment, cwd=str(self.folder))
        stores = Stores(embedder=False)
        try:
            stores.mesh_for(request, channel=Channel.CLI).add(PLANTED)
        finally:
            stores.close()

    def reason(self) -> str:
        """What the last hook wrote down."""
        told = [line for line in journal.read(str(self.store)) if line.get("what") == "hook"]
        if not told:
            return "it left no line in the journal"
        return f"{told[-1].get('outcome')}: {told[-1].get('reason') or 'no reason is known'}"


@contextmanager
def thrown_away(environment: Mapping[str, str], *, daemon: bool = False) -> Iterator[ThrownAway]:
    """A store of its own; none of the user's settings, files or keys is used."""
    folder = Path(tempfile.mkdtemp(prefix="mm-doctor-")).resolve()
    (folder / "config.toml").write_text("", encoding="utf-8")
    variables = {
        name: value
        for name, value in environment.items()
        if not name.startswith(_OURS) or name == BUDGET
    }
    stated = {
        "DIR": str(folder / "store"),
        "KEY_DIR": str(folder / "keys"),
        "CONFIG": str(folder / "config.toml"),
        "EMBEDDER": "none",
        "OWN_NAMES": "off",
        "DAEMON": "1" if daemon else "0",
        "DAEMON_IDLE_SECONDS": "60",
    }
    variables |= {f"{_OURS}{name}": value for name, value in stated.items()}
    try:
        yield ThrownAway(folder, variables)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_SECONDS = 30.0

PATIENT_MS = 20_000  # a budget that a busy machine keeps
READY_MS = 2_000  # after which hosts leave an MCP server out
TOOLS = 8
_DAEMON_SECONDS = 20.0
_PROTOCOL = "2025-11-25"
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": _PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "memory-mesh doctor", "version": "1"},
    },
}
_CALL = {  # reads, and leaves nothing in the store
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "memory_get", "arguments": {"ids": ["mem_0"]}},
}
_INSTALL = "install memory-mesh again (uv tool install --force memory-mesh), then memory-mesh init"


def hook(case: Case) -> Iterator[CheckResult]:
    """Whether a start of a session gets a memory out of a store, by what each host runs."""
    yield _tried(case, "", _hook_command(case))
    for host in HOSTS[1:]:
        if host.is_set_up(case.environment) and host.start():
            program = str(places.find_commands({}).hook)
            yield _tried(case, host.title, (program, "--host", host.name, host.start()))


def _tried(case: Case, title: str, command: tuple[str, ...]) -> CheckResult:
    """One hook at a session's start; its event is the command's last word."""
    start = f"{title}: {command[-1]}" if title else command[-1]
    with thrown_away(case.environment) as trial:
        trial.plant()
        milliseconds, found = _started(command, trial, "first", {})
        if found:
            return ok(
                "hook trial",
                f"{start} gave a planted memory back in {milliseconds} ms with the start of "
                f"Python; the budget is {BUDGET_MS} ms from the hook's first line",
            )
        patient, found = _started(command, trial, "second", {BUDGET: str(PATIENT_MS)})
        if found:
            return warning(
                "hook trial",
                f"{start} was late: {milliseconds} ms, nothing printed; with time enough it "
                f"took {patient} ms",
                _late_fix(case),
            )
        reason = trial.reason()
    return failed("hook trial", f"{command[0]} gave no memory back ({reason})", _INSTALL)


def mcp(case: Case) -> Iterator[CheckResult]:
    """Whether the MCP server says hello and lists its tools, and how soon."""
    command = _mcp_command(case)
    asked = [_HELLO, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    with thrown_away(case.environment) as trial:
        replies = answered(command, asked, trial.environment, trial.folder)
    if len(replies) < len(asked):
        yield failed("MCP trial", f"{command[0]} did not answer", _INSTALL)
        return
    (ready, _), (listed, reply) = replies
    result = reply.get("result")
    tools = len(result.get("tools") or ()) if isinstance(result, dict) else 0
    said = f"initialize answered after {ready} ms, {tools} tools listed after {listed} ms"
    if tools != TOOLS:
        yield failed("MCP trial", f"{said}; there should be {TOOLS} tools", _INSTALL)
    elif refusal := _refusal(case, command):
        fix = "mend what it says; the server needs the variables that this command has"
        yield failed("MCP trial", f"{said}; a call to the database failed: {refusal}", fix)
    elif ready > READY_MS:
        fix = "close what keeps the machine busy, and try again"
        yield warning("MCP trial", f"{said}; hosts wait about {READY_MS} ms", fix)
    else:
        yield ok("MCP trial", f"{said}; hosts wait about {READY_MS} ms")


def daemon(case: Case) -> Iterator[CheckResult]:
    """Whether a daemon can be started here, answers and ends."""
    if not place.is_wanted(case.environment):
        yield ok("daemon trial", "not tried: the setting daemon switches it off")
        return
    with thrown_away(case.environment, daemon=True) as trial:
        began = time.monotonic()
        try:
            reply = client.ensure(str(trial.store), trial.environment, seconds=_DAEMON_SECONDS)
        except client.NoDaemon as refusal:
            said = f"none can be started here ({refusal}); hooks go by words only, and slower"
            yield warning("daemon trial", said, "memory-mesh daemon run says why")
            return
        milliseconds = round((time.monotonic() - began) * 1000)
        ended = _ended(trial, int(reply["pid"]))
    if ended:
        yield ok("daemon trial", f"one started and answered within {milliseconds} ms, and ended")
    else:
        said = "a daemon started for this trial did not end when asked to"
        yield warning("daemon trial", said, "it ends by itself after a minute without work")


def _started(
    command: tuple[str, ...], trial: ThrownAway, session: str, more: dict[str, str]
) -> tuple[int, bool]:
    """Runs a session's start; how long it took, and whether the planted memory came back."""
    given = {
        "hook_event_name": command[-1],
        "session_id": f"doctor {session}",
        "source": "startup",
        "cwd": str(trial.folder),
    }
    data, milliseconds = ran(
        command, json.dumps(given).encode(), {**trial.environment, **more}, trial.folder
    )
    return milliseconds, PLANTED.encode() in data


def _refusal(case: Case, command: tuple[str, ...]) -> str:
    """Why the server gets nothing out of the database; a folder is opened by other checks."""
    if case.mesh.config.store is None:
        return ""
    stated = {"MEMORY_MESH_STORE": case.mesh.config.store, "MEMORY_MESH_DAEMON": "0"}
    replies = answered(command, [_HELLO, _CALL], {**case.environment, **stated}, case.here)
    result = replies[-1][1].get("result") if len(replies) == len((_HELLO, _CALL)) else None
    if not isinstance(result, dict):
        return "it gave no answer"
    return str(result["content"][0]["text"]).partition("\n")[0] if result.get("isError") else ""


def _late_fix(case: Case) -> str:
    if runs(case):
        return (
            "a daemon runs, and real hooks are quicker through it than this trial, which has none; "
            f"if budget warns as well: {more_time(case)}"
        )
    return (
        "memory-mesh daemon start: a hook is quicker through it; and try again when the machine is "
        "less busy"
    )


def _ended(trial: ThrownAway, pid: int) -> bool:
    """Asks the daemon to end, and waits until its process is gone: it writes to the last."""
    asking = requests.made("stop", environment=trial.environment, cwd=str(trial.folder))
    end = time.monotonic() + _DAEMON_SECONDS
    while time.monotonic() < end:
        with suppress(client.NoDaemon):
            client.ask(asking, seconds=1.0)  # reaps it, too
        if not system.lives(pid):
            return True
        time.sleep(0.02)
    return False


def _hook_command(case: Case) -> tuple[str, ...]:
    """The command of the plugin that runs here, else the one beside this command."""
    for each in _installed(case):
        for call in hooks.hooks_of(each):
            if call.name == "SessionStart":
                return call.command
    return (str(places.find_commands({}).hook), "--host", "claude-code", "SessionStart")


def _mcp_command(case: Case) -> tuple[str, ...]:
    for each in _installed(case):
        for call in hooks.servers_of(each):
            return call.command
    return (str(places.find_commands({}).mcp),)


def _installed(case: Case) -> list[places.SettingsFolder]:
    return [each for each in case.places if claude_code.is_installed(each)]


# Runs a command as a host does, and tells how long its answer took.


def ran(
    command: Sequence[str], given: bytes, environment: Mapping[str, str], folder: Path
) -> tuple[bytes, int]:
    """What a command prints, and the milliseconds it took; waits for the processes it leaves.

    They inherit one end of a pipe, and the other end tells when the last of them is gone.
    """
    watched, held = os.pipe()
    began = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603  # what the host runs
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            cwd=folder,
            pass_fds=(held,),
        )
    except OSError:
        os.close(watched)
        return b"", 0
    finally:
        os.close(held)
    try:
        data, _ = process.communicate(given, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        data, _ = process.communicate()
    milliseconds = _since(began)
    select.select([watched], [], [], _SECONDS)
    os.close(watched)
    return data, milliseconds


def answered(
    command: Sequence[str],
    asked: Sequence[Mapping[str, Any]],
    environment: Mapping[str, str],
    folder: Path,
) -> list[tuple[int, dict[str, Any]]]:
    """The replies of a server on standard input and output, each with its milliseconds."""
    began = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603  # what the host runs
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            cwd=folder,
        )
    except OSError:
        return []
    replies = []
    try:
        for message in asked:
            _send(process, message)
            line = _line(process, began + _SECONDS)
            if line is None:
                break
            replies.append((_since(began), line))
    finally:
        with suppress(OSError):
            process.stdin.close()  # type: ignore[union-attr]  # it was asked for
        _end(process)
    return replies


def _send(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    with suppress(OSError):  # it has ended: there will be no line
        process.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]


def _line(process: subprocess.Popen[bytes], end: float) -> dict[str, Any] | None:
    """The next line as an object; None if there is none in time."""
    source = process.stdout.fileno()  # type: ignore[union-attr]
    data = b""
    while not data.endswith(b"\n"):
        left = end - time.monotonic()
        if left <= 0 or not select.select([source], [], [], left)[0]:
            return None
        part = os.read(source, 1 << 16)
        if not part:
            return None
        data += part
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()  # type: ignore[union-attr]


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
