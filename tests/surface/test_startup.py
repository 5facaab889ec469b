"""What starting costs: an agent's hook runs a command at every prompt."""

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.surface.command import SCRIPT

HEAVY = {"numpy", "pyarrow", "lance", "lancedb", "onnxruntime", "pydantic", "httpx", "asyncio"}
# Standard modules that cost milliseconds and that a plain store or search has no use for.
NEEDLESS = {
    "dataclasses", "inspect", "ast", "tempfile", "shutil", "random", "difflib", "shtab", "logging",
    "platformdirs", "secrets", "tomllib", "subprocess", "importlib.metadata",
    "concurrent.futures", "email", "socket", "traceback", "locale", "shlex",
}  # fmt: skip
STORING, SEARCHING = 139, 135  # modules of ours that a command loads
RUNS = 5
ROUNDS = 5  # what else the machine does can only add to a figure: one quiet round will do
# Times the CPU of an interpreter with sqlite3 and argparse: results/benchmarks/bars.md has the
# figure and the bar. On a busy machine it is higher; this test only notices what is heavy.
DEAREST = 10.0
DEAREST_IMPORT = 5.0  # times the CPU of an interpreter


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """As after an installation: the bytecode is there, or is written by the first run."""
    (tmp_path / "home").mkdir()
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": os.environ["PATH"],
        "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode"),
        "MEMORY_MESH_EMBEDDER": "none",
    }


def loaded(code: str, variables: Mapping[str, str]) -> set[str]:
    """The modules that a piece of code loads."""
    show = "\nimport sys; print(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code + show],
        capture_output=True,
        text=True,
        env=variables,
        cwd=variables["HOME"],
        check=True,
    )
    return set(done.stderr.splitlines())


def test_importing_the_package_loads_nothing_heavy(variables: dict[str, str]) -> None:
    bare = loaded("", variables)
    assert loaded("import memory_mesh", variables) - bare == {
        "memory_mesh",
        "memory_mesh._version",
        "memory_mesh.base",
        "memory_mesh.base.masking",
    }


@pytest.mark.parametrize("words", [["store", "--content", "dark themes"], ["search", "dark"]])
def test_a_command_loads_only_what_it_uses(variables: dict[str, str], words: list[str]) -> None:
    modules = loaded(f"from memory_mesh.cli.main import run\nassert run({words!r}) == 0", variables)
    assert not modules & (HEAVY | NEEDLESS)
    commands = {name for name in modules if name.startswith("memory_mesh.cli.commands.")}
    assert f"memory_mesh.cli.commands.{words[0]}" in commands
    assert (
        len(commands & {"memory_mesh.cli.commands.store", "memory_mesh.cli.commands.search"}) == 1
    )


def test_a_command_loads_no_openssl_and_compiles_few_patterns(variables: dict[str, str]) -> None:
    """A module of ours costs 0.3 ms and more, a pattern up to 8: what is reached may not grow."""
    code = """
import re._compiler as compiler
compiled, compile = [], compiler.compile
compiler.compile = lambda *given: compiled.append(given) or compile(*given)
from memory_mesh.cli.main import run
assert run({!r}) == 0
assert len(compiled) <= {}, [given[0] for given in compiled]
"""
    first = ["store", "--content", "light themes"]  # makes the key of the store
    loaded(f"from memory_mesh.cli.main import run\nassert run({first!r}) == 0", variables)
    for words, modules, patterns in (
        (["store", "--content", "dark themes"], STORING, 23),
        (["search", "dark"], SEARCHING, 23),
    ):
        found = loaded(code.format(words, patterns), variables)
        assert not found & {"hashlib", "_hashlib", "hmac"}
        ours = {name for name in found if name.startswith("memory_mesh")}
        assert len(ours) <= modules, sorted(ours)


@pytest.mark.slow
def test_starting_costs_little_more_than_the_interpreter(variables: dict[str, str]) -> None:
    python = sys.executable
    commands: dict[str, list[str]] = {
        "bare": [python, "-c", "pass"],
        "base": [python, "-c", "import sqlite3, argparse"],
        "import": [python, "-c", "import memory_mesh"],
        "store": [str(SCRIPT), "store", "--content", "dark themes number {run}"],
        "search": [str(SCRIPT), "search", "dark themes"],
    }
    for command in commands.values():
        cpu_seconds(command, variables)  # writes the bytecode and the store
    for _ in range(ROUNDS):
        spent = medians(commands, variables)
        dearer = {name: spent[name] / spent["base"] for name in ("store", "search")}
        figures = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in dearer.items())
        print(f"{figures}; import {spent['import'] - spent['bare']:+.4f} s")
        if max(dearer.values()) <= DEAREST and spent["import"] <= DEAREST_IMPORT * spent["bare"]:
            return
    pytest.fail(f"starting costs too much: {figures}, {spent}")


def medians(
    commands: Mapping[str, Sequence[str]], variables: Mapping[str, str]
) -> dict[str, float]:
    """The median CPU of each command, measured in turns."""
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for run in range(RUNS):
        for name, command in commands.items():
            words = [word.replace("{run}", str(run)) for word in command]
            spent[name].append(cpu_seconds(words, variables))
    return {name: statistics.median(figures) for name, figures in spent.items()}


def cpu_seconds(command: Sequence[str], variables: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, stdout=subprocess.DEVNULL, env=variables, cwd=variables["HOME"], check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
