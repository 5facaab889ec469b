"""Figures of the vector measurements: summaries, and a file that says what produced them."""

import json
import math
import os
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

from bench import report

Figures: TypeAlias = dict[str, float | int | str | None]
_PACKAGES = ("lancedb", "numpy", "pyarrow", "pylance")
_PLACES = ("--data", "--model", "--cache", "--out")  # of the machine, not of the measurement


def say(line: str) -> None:
    """Progress, at once."""
    print(line, flush=True)


def rounded(value: float) -> float:
    """Three significant digits say all that a noisy machine can."""
    return float(f"{value:.3g}") if abs(value) < 1_000 else float(round(value))


def median_ms(times: Sequence[float]) -> float:
    """The median of seconds, in milliseconds."""
    return rounded(1e3 * statistics.median(times))


def percentile_ms(times: Sequence[float], share: float) -> float:
    """The milliseconds that this share of the calls stays under."""
    return rounded(1e3 * sorted(times)[math.ceil(share * len(times)) - 1])


def write(path: Path, results: Mapping[str, object]) -> None:
    """The results with date, command and versions; no path of this machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {
        **report.stamp(),
        "command": _command(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }
    path.write_text(json.dumps(told | dict(results), indent=1) + "\n", encoding="utf-8")
    say(f"written: {path.name}")


def _command() -> str:
    """As it was called, each place by the name of its option."""
    given = sys.argv[1:]
    shown = [
        before.removeprefix("--").upper() if before in _PLACES else word
        for before, word in zip(["", *given], given, strict=False)
    ]
    threads = os.environ.get("OPENBLAS_NUM_THREADS")
    before = [f"OPENBLAS_NUM_THREADS={threads}"] if threads else []
    return " ".join([*before, "python -m", f"bench.{Path(sys.argv[0]).stem}", *shown])


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
