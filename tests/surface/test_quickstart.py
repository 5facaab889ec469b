"""The first lines of the README in a new environment: no network, no key, an empty home."""

import os
import pwd
import re
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
NO_SOCKETS = """\
import socket
def refuse(*args, **options): raise OSError("no network here")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""


def first_block(language: str, containing: str) -> str:
    """The README's first block in that language that has these words."""
    blocks: list[str] = re.findall(
        rf"(?ms)^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8")
    )
    return next(block for block in blocks if containing in block)


def test_the_quickstart_has_four_lines() -> None:
    assert len(first_block("python", "MemoryMesh").strip().splitlines()) == 4


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a new environment with the wheel of this tree and what it depends on."""
    folder = tmp_path_factory.mktemp("quickstart")
    variables = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir}  # pip's own settings
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        variables.pop(name, None)

    def run(*command: str) -> None:
        subprocess.run(command, cwd=ROOT, env=variables, check=True)

    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=True)
    place = folder / "env/bin"
    run(str(place / "python"), "-m", "pip", "install", "--quiet", str(wheel))
    return place


def isolated(place: Path, home: Path, *start: str) -> CommandLine:
    """A command line in which no packet leaves: no interface as root, else no socket."""
    if os.geteuid() == 0 and _can_unshare():
        return CommandLine(home, (*_UNSHARE, *start), {"PATH": str(place)})
    guard = home.parent / "guard"
    guard.mkdir(exist_ok=True)
    (guard / "sitecustomize.py").write_text(NO_SOCKETS)
    return CommandLine(home, start, {"PATH": str(place), "PYTHONPATH": str(guard)})


_UNSHARE = (shutil.which("unshare") or "unshare", "--net")


def _can_unshare() -> bool:
    try:
        return subprocess.run([*_UNSHARE, "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.req("R-000-248")
@pytest.mark.slow
def test_the_four_lines_store_and_find_a_memory(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    python = isolated(installed, home, str(installed / "python"))
    online = python("-c", "import socket; socket.create_connection(('192.0.2.1', 80), 3)")
    assert online.code != 0
    done = python("-c", first_block("python", "MemoryMesh"))
    assert (done.out, done.err, done.code) == (f"{ANSWER}\n", "", 0)


@pytest.mark.slow
def test_the_shell_lines_store_and_find_a_memory(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    cli = isolated(installed, home, str(installed / "memory-mesh"))
    lines = first_block("console", "memory-mesh store").strip().splitlines()
    done = [cli.shell(line.removeprefix("$ ")) for line in lines]
    assert [one.code for one in done] == [0, 0]
    assert done[0].out.startswith("[MemoryMesh] Ingested record mem_")
    assert done[1].out.startswith("[MemoryMesh] Found 1 matches.\n")
    assert done[1].out.endswith(f"\n{ANSWER}\n")


@pytest.mark.slow
def test_the_awaited_lines_run_too(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    python = isolated(installed, home, str(installed / "python"))
    head, body = first_block("python", "async with").split("\n\n", 1)
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    done = python("-c", f"import asyncio\n{head}\nasync def main():\n{indented}asyncio.run(main())")
    assert (done.err, done.code) == ("", 0)


@pytest.mark.slow
def test_a_bare_installation_has_what_its_commands_need(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    cli = isolated(installed, home, str(installed / "memory-mesh"))
    for words in (("--help",), ("completion", "bash"), ("stats",), ("verify",), ("config",)):
        assert cli(*words).code == 0, words
