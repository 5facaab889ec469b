"""Where the seconds of a run go: phases of the gate, files and fixtures, in one table.

`MEMORY_MESH_TIMING` names a folder: there the gate keeps `phases.tsv`, and a run writes what each
file and fixture took. The table is printed before pytest's own summary; below it stands what the
processor did meanwhile, without the daemons that tests start and the forks of the fork server.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = "MEMORY_MESH_TIMING"
BUDGET_SECONDS = 1200  # of the whole gate
SHOWN = 30
_BEGUN = time.monotonic()
_fixtures: dict[str, list[float]] = defaultdict(lambda: [0.0, 0])
_files: dict[str, list[float]] = defaultdict(lambda: [0.0, 0])


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
    begun = time.monotonic()
    try:
        return (yield)
    finally:
        name = f"{fixturedef.baseid or 'pytest'}::{fixturedef.argname}"
        _add(_fixtures, name, time.monotonic() - begun)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _add(_files, report.nodeid.partition("::")[0], report.duration, report.when == "call")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker process hands its fixtures to the one that prints."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["fixtures"] = dict(_fixtures)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for name, (seconds, count) in getattr(node, "workeroutput", {}).get("fixtures", {}).items():
        _add(_fixtures, name, seconds, count)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    phases = _read(Path(folder) / "phases.tsv")
    phases["tests"] = [time.monotonic() - _BEGUN, sum(int(count) for _, count in _files.values())]
    for title, found in (("phase", phases), ("file", _files), ("fixture", _fixtures)):
        rows = sorted(found.items(), key=lambda row: -row[1][0])
        lines = [f"{seconds:8.1f} {count:6.0f}  {name}" for name, (seconds, count) in rows]
        text = "\n".join([f" seconds  times  {title}", *lines, ""])
        (Path(folder) / f"{title}s.txt").write_text(text, encoding="utf-8")
        terminalreporter.section(f"seconds of each {title}", "-")
        terminalreporter.write("\n".join(text.splitlines()[: SHOWN + 1]) + "\n")
    worked, took = sum(os.times()[:4]), phases["tests"][0]
    terminalreporter.write(
        f"the tests used {worked:.0f} s of processor time or more, in {took:.0f} s on "
        f"{os.cpu_count()} cores\n"
    )
    spent = sum(seconds for seconds, _ in phases.values())
    terminalreporter.write(f"{spent:.0f} of {BUDGET_SECONDS} s of the gate's budget are spent\n")


def _add(found: dict[str, list[float]], name: str, seconds: float, count: float = 1) -> None:
    found[name][0] += seconds
    found[name][1] += count


def _read(path: Path) -> dict[str, list[float]]:
    """The phases that came before, a line each: seconds and name."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {
        name: [float(seconds), 1] for seconds, _, name in (line.partition("\t") for line in lines)
    }
