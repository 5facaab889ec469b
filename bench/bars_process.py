"""Bars of whole processes: what a cold command costs, and which number of BLAS threads is best."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from bench import corpus, measure, prepared
from bench.measure import Sides, Times, say

if TYPE_CHECKING:
    from bench.bars import Bench

_BASE = (sys.executable, "-c", "import sqlite3, argparse")
_SCRIPT = Path(sys.executable).with_name("memory-mesh")
_COLD_RUNS = 25
_THREAD_ROUNDS = 3
_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_DEFAULT = "default"
_LIMIT = 10
_HOOK_SECONDS = 0.292  # a host's hook answers within 300 ms, less what it keeps to end
_HOOK = """
import os
from memory_mesh.agents import request
from memory_mesh.agents.hook import alone, worker
given = {"event": "UserPromptSubmit", "prompt": "Which dark themes are there?", "session_id": "s"}
asked = request.made("hook", {**given, "part": "recall"}, cwd=os.getcwd())
print(alone.answer(alone.stores(), asked)["context"], flush=True)
os._exit(0)
"""


def hook(bench: "Bench", runs: int = 50) -> Sides:
    """A prompt's memories without a daemon: a process, as the hook's worker is, in milliseconds."""
    home, variables = _home(bench, "none")
    _spent([str(_SCRIPT), "store", "--content", "dark themes are there"], variables, home)
    times, answered = measure.Times(), 0
    for run in range(-1, runs):
        before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", _HOOK], capture_output=True, env=variables, cwd=home, check=True
        )
        if run >= 0:  # the first one writes the bytecode
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.wall.append(time.perf_counter() - wall)
            times.cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            answered += times.wall[-1] < _HOOK_SECONDS and b"dark themes are there" in done.stdout
    return measure.milliseconds(times, {"answered_in_time": answered})


def cold(
    bench: "Bench",
    command: str,
    runs: int = _COLD_RUNS,
    *,
    embedder: str = "none",
    daemon: bool = False,
) -> Sides:
    """A command of its own process beside an interpreter that imports sqlite3 and argparse.

    With `daemon` one runs that has the model loaded; what it works is not counted.
    """
    home, variables = _home(bench, embedder)
    words = {
        "store": ["store", "--content", "dark themes number {run}"],
        "search": ["search", "dark themes"],
    }
    sides = ([str(_SCRIPT), *words[command]], list(_BASE))
    _spent([str(_SCRIPT), "store", "--content", "dark themes are there"], variables, home)
    kept = Times(), Times()
    with _daemon(variables, home) if daemon else nullcontext():
        for run in range(-2, runs):
            for side, times in zip(sides, kept, strict=True):
                cpu, wall = _spent([word.format(run=run) for word in side], variables, home)
                if run >= 0:  # the first ones write the bytecode, and load the daemon's model
                    times.cpu.append(cpu)
                    times.wall.append(wall)
    return Sides(*kept)


@contextmanager
def _daemon(variables: Mapping[str, str], home: Path) -> Iterator[None]:
    _spent([str(_SCRIPT), "daemon", "start"], variables, home)
    try:
        yield
    finally:
        _spent([str(_SCRIPT), "daemon", "stop"], variables, home)


def _home(bench: "Bench", embedder: str) -> tuple[Path, dict[str, str]]:
    """A new home for processes, and their variables."""
    home = bench.work / "cold-home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    return home, {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPYCACHEPREFIX": str(home / "bytecode"),
        "MEMORY_MESH_EMBEDDER": embedder,
    }


def threads(bench: "Bench", size: int) -> Sides:
    """Searches with the default threads beside the setting that is best for processor time."""
    folder = prepared.plain(bench.work, size)
    settings = {_DEFAULT: ""} | {
        str(count): str(count) for count in sorted({1, 2, os.cpu_count() or 1})
    }
    found: dict[str, Times] = {name: Times() for name in settings}
    for turn in range(_THREAD_ROUNDS):
        for name, count in settings.items():
            spent = _child(folder, bench.questions, count)
            found[name].cpu.extend(spent["cpu"])
            found[name].wall.extend(spent["wall"])
        say(f"  round {turn + 1} of {_THREAD_ROUNDS}: {', '.join(settings)} threads")
    figures: measure.Figures = {}
    for name, times in found.items():
        figures[f"{name}_cpu_ms"] = measure.median_ms(times.cpu)
        figures[f"{name}_wall_ms"] = measure.median_ms(times.wall)
    chosen = [name for name in settings if name != _DEFAULT]
    best = Times(
        min((found[name].wall for name in chosen), key=measure.median_ms),
        min((found[name].cpu for name in chosen), key=measure.median_ms),
    )
    return Sides(found[_DEFAULT], best, figures)


def _child(folder: Path, questions: int, threads: str) -> dict[str, list[float]]:
    """Times of one process; without a number of threads the variables are not set."""
    variables = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    if threads:
        variables |= dict.fromkeys(_VARIABLES, threads)
    command = [sys.executable, "-m", "bench.bars_process", str(folder), str(questions)]
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    spent: dict[str, list[float]] = json.loads(ran.stdout.splitlines()[-1])
    return spent


def _spent(
    command: Sequence[str], variables: Mapping[str, str], folder: Path
) -> tuple[float, float]:
    """Processor and clock seconds of one process."""
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=variables, cwd=folder, check=True)
    wall = time.perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main(folder: str, questions: str) -> None:
    """Search in this process and print what each search took."""
    times = Times()
    asked = corpus.queries()[: int(questions)]
    with prepared.opened(Path(folder)) as mesh:
        for place, question in enumerate([*asked[:5], *asked]):
            spent = Times() if place < 5 else times
            spent.take(
                lambda question=question: mesh.search(  # type: ignore[misc]  # bound now
                    question, limit=_LIMIT, use_cache=False, across=prepared.EVERYTHING
                )
            )
    print(json.dumps({"cpu": times.cpu, "wall": times.wall}))


if __name__ == "__main__":
    main(*sys.argv[1:])
