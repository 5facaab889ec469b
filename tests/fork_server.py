"""Runs the command line in a fork of a process that has loaded it.

A command is a process of its own with its own environment, folder and standard streams, but the
interpreter and the modules are there already: it costs 10 ms where a new interpreter costs 150.
Tests about start-up, modules or the interpreter's own variables start a real one instead.
"""

import gc
import os
import pickle
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = {  # what a program of ours calls first
    "memory-mesh": ("memory_mesh.cli.main", "main"),
    "memory-mesh-hook": ("memory_mesh.agents.hook.main", "main"),
}
PATIENCE = 120.0
_BACKLOG = 64
_PACKAGES = (  # without those that need other people's packages
    "agents.hook", "cli", "context", "formats", "learn", "ledgers.shared", "ledgers.sqlite",
    "mesh.operations", "platform", "privacy", "rules", "search", "text", "write",
)  # fmt: skip
_READ_BY_INTERPRETER = ("PYTHON", "LC_", "LD_", "FIU_")  # beginnings of variables
Streams = tuple[int, int, int]


def can_run(variables: Mapping[str, str]) -> bool:
    """Whether a fork does what a new interpreter does in this environment."""
    return not any(name.startswith(_READ_BY_INTERPRETER) for name in variables)


def run(
    argv: Sequence[str],
    *,
    streams: Streams,
    cwd: Path,
    variables: Mapping[str, str],
    program: str = "memory-mesh",
    loaded: Sequence[str] = (),
) -> int:
    """Runs a program to its end with these standard streams; its exit code.

    `loaded` names modules of others that it may find loaded.
    """
    request = pickle.dumps((program, list(argv), str(cwd), dict(variables)))
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(_address(*loaded))
        socket.send_fds(connection, [len(request).to_bytes(8)], streams)
        connection.sendall(request)
        code = connection.recv(8)
    if not code:
        raise subprocess.SubprocessError(f"the fork server did not run {argv}")
    return int.from_bytes(code, signed=True)


def output_of(
    argv: Sequence[str],
    *,
    stdin: bytes,
    cwd: Path,
    variables: Mapping[str, str],
    program: str = "memory-mesh",
    loaded: Sequence[str] = (),
) -> tuple[int, bytes, bytes]:
    """The exit code of a program, and what it wrote to standard output and standard error."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(stdin)
        given.seek(0)
        streams = (given.fileno(), out.fileno(), err.fileno())
        code = run(
            argv, streams=streams, cwd=cwd, variables=variables, program=program, loaded=loaded
        )
        for stream in (out, err):
            stream.seek(0)
        return code, out.read(), err.read()


@cache
def _address(*loaded: str) -> str:
    """Starts the server of this process, which ends with it; where it listens."""
    address = f"{tempfile.mkdtemp(prefix='mesh-fork-', dir='/tmp')}/s"
    life, held = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fork_server", address, str(life), *loaded],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
        pass_fds=[life],
    )
    os.close(life)
    assert held  # never closed: the server ends when this process has
    end = time.monotonic() + PATIENCE
    while not os.path.exists(address):  # noqa: PTH110  # asked often
        if time.monotonic() > end:
            raise TimeoutError("the fork server did not start")
        time.sleep(0.005)
    process.returncode = 0  # nobody waits for it
    return address


def serve(address: str, life: int, *loaded: str) -> None:
    """Forks for each connection, until nobody holds the other end of `life`."""
    for package in _PACKAGES:
        found = import_module(f"memory_mesh.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            import_module(module.name)
    for name in loaded:
        import_module(name)
    with import_module("memory_mesh.ledgers.sqlite.open_file").empty(""):
        pass  # the blank file that new stores are copied from is made
    gc.freeze()
    sys.path[:] = [folder for folder in sys.path if folder not in {"", str(ROOT)}]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how the forks ended
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{address}.new")
        server.listen(_BACKLOG)
        Path(f"{address}.new").rename(address)
        while True:
            ready, _, _ = select.select([server.fileno(), life], [], [])
            if life in ready:
                shutil.rmtree(Path(address).parent)
                return
            connection, _ = server.accept()
            if not os.fork():
                server.close()
                os.close(life)
                _answer(connection)
            connection.close()


def _answer(connection: socket.socket) -> NoReturn:
    """Runs one command in another fork and says how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    request = b""
    while len(request) < int.from_bytes(size):
        request += connection.recv(1 << 16)
    pid = os.fork()
    if not pid:
        connection.close()
        program, argv, cwd, variables = pickle.loads(request)
        _become(program, argv, cwd, variables, streams)
    _, status = os.waitpid(pid, 0)
    connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(8, signed=True))
    os._exit(0)


def _become(
    program: str, argv: list[str], cwd: str, variables: dict[str, str], streams: list[int]
) -> NoReturn:
    """Goes on as the program: with its streams, folder, environment and words."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        if stream > 2:
            os.close(stream)
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    os.chdir(cwd)
    sys.argv = argv
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    module, name = ENTRIES[program]
    entry = import_module(module)
    if hasattr(entry, "BEGAN"):  # the budget of a hook runs from here
        vars(entry)["BEGAN"] = time.monotonic()
    try:
        getattr(entry, name)()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  # as an interpreter ends
        sys.excepthook(*sys.exc_info())
        code = 1
    else:
        code = 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
