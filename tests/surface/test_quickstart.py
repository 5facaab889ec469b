"""Every snippet of the README in a new environment: no network, no key, an empty home."""

import os
import pwd
import re
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.surface.command import CommandLine

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"
ANSWER = "The user prefers dark themes"
INSTALL, PULL = "pip install '.[local]'", "memory-mesh models pull"
INSTALL_ONNX = "pip install '.[onnx]'"
NO_SOCKETS = """\
import socket
def refuse(*args, **options): raise OSError("no network here")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""


def blocks(language: str) -> list[str]:
    """Every block of the README in that language, in its order."""
    found: list[str] = re.findall(
        rf"(?ms)^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8")
    )
    return found


def commands() -> list[str]:
    """Every line that the README tells to type into a shell, in its order."""
    lines = [line for block in blocks("console") for line in block.splitlines()]
    assert all(line.startswith("$ ") for line in lines)
    return [line.removeprefix("$ ") for line in lines]


def test_the_quickstart_has_four_lines() -> None:
    assert len(blocks("python")[0].strip().splitlines()) == 4


def test_every_block_of_the_readme_is_run_by_a_test() -> None:
    languages = re.findall(r"(?m)^```(\w*)$", README.read_text(encoding="utf-8"))
    assert set(languages) == {"", "python", "console"}  # "" ends a block
    assert languages.count("") == len(blocks("python")) + len(blocks("console"))
    assert {INSTALL, INSTALL_ONNX} < set(commands())


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a new environment, filled by the README's lines that install."""
    place = tmp_path_factory.mktemp("quickstart") / "env/bin"
    venv.create(place.parent)
    variables = {
        **os.environ,
        "HOME": pwd.getpwuid(os.getuid()).pw_dir,  # the installer's own settings and cache
        "PATH": f"{place}:{os.environ['PATH']}",
        "VIRTUAL_ENV": str(place.parent),
    }
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        variables.pop(name, None)
    uv = shlex.quote(
        str(Path(sys.executable).with_name("uv"))
    )  # as pip does, in a tenth of the time
    for line in (INSTALL, INSTALL_ONNX):
        subprocess.run(["sh", "-c", f"{uv} --quiet {line}"], cwd=ROOT, env=variables, check=True)
    return place


def isolated(place: Path, home: Path, *start: str) -> CommandLine:
    """A command line in which no packet leaves: no interface as root, else no socket."""
    variables = {"PATH": str(place), "MEMORY_MESH_EMBEDDER": ""}  # empty: the default
    if os.geteuid() == 0 and _can_unshare():
        return CommandLine(home, (*_UNSHARE, *start), variables)
    guard = home.parent / "guard"
    guard.mkdir(exist_ok=True)
    (guard / "sitecustomize.py").write_text(NO_SOCKETS)
    return CommandLine(home, start, {**variables, "PYTHONPATH": str(guard)})


_UNSHARE = (shutil.which("unshare") or "unshare", "--net")


def _can_unshare() -> bool:
    try:
        return subprocess.run([*_UNSHARE, "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.req("R-000-248")
@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("python"))
def test_every_python_block_runs_as_shown(block: str, installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    python = isolated(installed, home, str(installed / "python"))
    online = python("-c", "import socket; socket.create_connection(('192.0.2.1', 80), 3)")
    assert online.code != 0
    done = python("-c", block)
    assert (done.out, done.err, done.code) == (f"{ANSWER}\n", "", 0)


@pytest.mark.slow
def test_every_command_runs_as_shown(installed: Path, tmp_path: Path, model_folder: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shell = isolated(installed, home, shutil.which("sh") or "/bin/sh", "-c")
    for line in commands():
        if line in {INSTALL, INSTALL_ONNX}:
            continue  # the fixture ran it, with a network
        done = shell(line, cwd=ROOT)
        if line == PULL:  # it asks the hub, and there is no network here: install a folder
            assert (done.code, "https://huggingface.co" in done.err) == (1, True)
            done = shell(f"memory-mesh models install {shlex.quote(str(model_folder))}")
        assert (done.err, done.code) == ("", 0), line
        if line.startswith("memory-mesh store"):
            assert done.out.startswith("[MemoryMesh] Ingested record mem_")
        if line.startswith("memory-mesh search"):
            assert done.out.startswith("[MemoryMesh] Found 1 matches.\n")
            assert done.out.endswith(f"\n{ANSWER}\n")
    stats = shell("memory-mesh stats --verbose").out
    assert "Vectors static/l2_supercat_256/" in stats


@pytest.mark.slow
def test_a_bare_installation_has_what_its_commands_need(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    cli = isolated(installed, home, str(installed / "memory-mesh"))
    assert cli("store", "--content", ANSWER).code == 0
    for words in (("--help",), ("completion", "bash"), ("stats",), ("verify",), ("config",)):
        assert cli(*words).code == 0, words
