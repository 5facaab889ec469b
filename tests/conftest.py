"""What every test may ask for; and no test may reach the network."""

import gc
import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from memory_mesh.agents.daemon import place
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.platform import telemetry
from memory_mesh.platform.agent_shell import agent_variables
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.sample import SEED, VARIABLE
from tests.sharing import dealt

pytest_plugins = ["tests.object_storage", "tests.postgres", "tests.timing"]

# A gate that fails by chance teaches to run it again: there, examples are the same every time.
_patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", _patient, max_examples=50, derandomize=True)
settings.register_profile("everyday", _patient, max_examples=50)
settings.register_profile("night", _patient, max_examples=1_000, print_blob=True)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "gate" if os.environ.get("CI") else "everyday")
)

_MEMORY = Path("/dev/shm")  # a file system without a disk: no test cuts the power
_ROOM = 4 * 2**30


def pytest_report_header() -> str:
    return f"seed of the fault suites: {SEED} ({VARIABLE} repeats it)"


def pytest_configure() -> None:
    """Keep the files of tests in memory where there is room: a disk's pace is nobody's fault.

    Numpy multiplies in one thread: its others wait by spinning, on the cores that tests share.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
        tempfile.tempdir = str(_MEMORY)  # of stores that are gone when they are closed


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lives as long as the run: no collection of garbage looks at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deal the tests to the processes of this run: every process deals alike."""
    given: dict[str, int] = getattr(config, "workerinput", {})
    unit = config.rootpath / "tests" / "unit"
    items[:] = dealt(
        items,
        given.get("workercount", 1),
        file_of=lambda item: item.path,
        is_quick=lambda item: unit in item.path.parents,
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remove the sockets of killed daemons: the folders of this run may have the same names."""
    if hasattr(session.config, "workerinput") or "PYTEST_CURRENT_TEST" in os.environ:
        return  # one of the processes of a run that has begun
    for path in filter(Path.is_socket, Path(place.socket_path("/", {})).parent.glob("*.sock")):
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(str(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
            except OSError:  # another user's
                continue


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def mesh(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryMesh]:
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock) as opened:
        yield opened


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A place for the home of each test; `mktemp` would look at all that there are for a number."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def _own_home(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting or store of the person who runs the tests is read or written.

    What a test sets in the environment, as fault suites do, is gone after it.
    """
    before, home = dict(os.environ), next(_homes)
    home.mkdir()
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "MEMORY_MESH_CONFIG", "MEMORY_MESH_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    for name in agent_variables(os.environ):  # an agent may run the tests
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MEMORY_MESH_OWN_NAMES", "off")  # tests about names state some
    monkeypatch.setenv("MEMORY_MESH_DIR", str(home / "store"))
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "none")  # tests about meaning ask for the model
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(autouse=True)
def _own_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a process warns of once, it warns of in each test; loggers are as they were after it."""
    monkeypatch.setattr(telemetry, "_warned", set())
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """The real model's folder; without it the tests that need it fail and say what to do."""
    folder = os.environ.get("MEMORY_MESH_MODEL_DIR", "")
    if not (Path(folder) / "model.onnx").is_file():
        pytest.fail(
            "these tests need the real model: run `memory-mesh models pull` and set "
            "MEMORY_MESH_MODEL_DIR to its folder"
        )
    return Path(folder)


@pytest.fixture(scope="session")
def real_embedder(model_folder: Path) -> OnnxEmbedder:
    """The real model, loaded once."""
    return OnnxEmbedder(model_folder)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else address
        if self.family != socket.AF_UNIX and host not in {"127.0.0.1", "::1", "localhost"}:
            message = f"a test reached for the network: {host!r}"
            raise AssertionError(message)
        connect(self, address)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(socket.socket, "connect", guarded)
