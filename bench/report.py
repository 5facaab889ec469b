"""Figures to files: `foundation.json`, the table `foundation.md` and the chart `foundation.svg`."""

import json
import os
import platform
import sqlite3
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from bench import corpus
from bench.measure import Figures
from memory_mesh.evaluation import charts

Results: TypeAlias = dict[str, dict[str, object]]
Provenance: TypeAlias = dict[str, object]
COMMAND = "just bench"
TITLES = (
    "Measured cost as a share of what is allowed",
    (
        "Behind each bar: what was measured, of what is allowed.",
        "The dashed line is the limit; a shorter bar is better.",
    ),
)


@dataclass(frozen=True, slots=True)
class Bar:
    """A promise with a number: which figure of which part must stay under what."""

    part: str
    figure: str
    text: str
    most: float

    def measured(self, results: Results) -> float | None:
        """The figure, if its part was measured."""
        value = _figures(results, self.part).get(self.figure)
        return float(value) if isinstance(value, int | float) else None


BARS = (
    Bar("add", "add_over_bare", "a keyword-only add / a bare FULL commit of the same rows", 2.0),
    Bar("add", "syncs_per_add", "disk syncs per add, checkpoints included", 1.1),
    Bar("search", "ratio_of_medians", "search / the bare FTS5 statement, medians", 1.5),
    Bar("search", "median_ratio", "search / the bare FTS5 statement, question by question", 1.5),
    Bar("growth", "large_over_small", "search in the large store / in the small one", 4.0),
    Bar("namespaces", "hot_ratio", "search among all namespaces / in one alone, file open", 1.5),
    Bar("namespaces", "cold_ratio", "the same, file closed and opened each time", 1.5),
    Bar("meaning", "add_over_parts", "add with a vector / embedding + a bare FULL commit", 1.5),
    Bar("meaning", "search_over_parts", "hybrid search / embed + FTS5 + vector search", 1.25),
    Bar("meaning", "large_over_small", "hybrid search in the large store / in the small", 1.5),
    Bar("meaning", "add_large_over_small", "add in the large store / in one of 10,000", 3.0),
    Bar("meaning", "after_absorb_over_before", "search after an absorb / before it", 1.2),
)


def code() -> Provenance:
    """Which code runs; to be asked at the start, for a checkout can move on during a long run."""
    return {
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--", "src")),
    }


def stamp(measured: Provenance | None = None, paths: Sequence[str] = ()) -> Provenance:
    """Date, commit, and the paths that figures depend on; `tools/bench_ages.py` reads them.

    Without paths those of results/benchmarks/paths.toml count.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **(code() if measured is None else measured),
        **({"paths": list(paths)} if paths else {}),
    }


def stamped(
    figures: Figures,
    sizes: dict[str, int],
    measured: Provenance,
    paths: Sequence[str] = (),
) -> dict[str, object]:
    """A part's figures with what was measured, when and on what."""
    return {
        **stamp(measured, paths),
        "seed": corpus.SEED,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "cores": os.cpu_count(),
        "sizes": sizes,
        "figures": figures,
    }


def read(folder: Path) -> Results:
    """What earlier runs measured, part by part."""
    path = folder / "foundation.json"
    found: Results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write(folder: Path, results: Results) -> None:
    """All three files."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (folder / "foundation.json").write_text(text, encoding="utf-8")
    (folder / "foundation.md").write_text(table(results), encoding="utf-8")
    chart(folder / "foundation.svg", results)


def table(results: Results) -> str:
    """The bars first, then every figure."""
    lines = [
        "# Foundation: speed",
        "",
        f"Written by `{COMMAND}`; ratios are measured side by side in one run. Raw figures, dates",
        "and commits: [foundation.json](foundation.json). What is measured how stands in `bench/`.",
        "",
        "![The bars](foundation.svg)",
        "",
        "| bar | must | measured | command |",
        "|---|---|---|---|",
    ]
    for bar in BARS:
        value = bar.measured(results)
        shown = "not measured" if value is None else f"**{value:g}**"
        lines.append(f"| {bar.text} | ≤ {bar.most:g} | {shown} | `{COMMAND} --parts {bar.part}` |")
    for part, measured in results.items():
        lines += [
            "",
            f"## {part}",
            "",
            provenance(measured),
            "",
            "| figure | value |",
            "|---|---|",
        ]
        lines += [
            f"| {name} | {_shown(value)} |" for name, value in _figures(results, part).items()
        ]
    return "\n".join(lines) + "\n"


def provenance(measured: dict[str, object]) -> str:
    """What was measured, when and on what, in one line."""
    sizes = measured["sizes"]
    counted = sizes.items() if isinstance(sizes, dict) else ()
    said = [
        str(measured["date"]),
        f"commit {str(measured['commit'])[:10]}{' with changes' if measured['dirty'] else ''}",
        f"Python {measured['python']}, SQLite {measured['sqlite']}, {measured['cores']} cores",
        f"seed {measured['seed']}",
        *(f"{size:,} {name}" for name, size in counted),
    ]
    return ", ".join(said) + "."


def _shown(value: float | None) -> str:
    if value is None:
        return "not measured"
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"


def chart(path: Path, results: Results) -> None:
    """Each bar as a share of what it may be."""
    drawn = bars(results)
    most = max(1.0, *(bar.length for bar in drawn))
    charts.bars_to_files(drawn, *TITLES, [path], most=most, limit=1.0)


def bars(results: Results) -> list[charts.Bar]:
    """The bars of the chart."""
    measured = [(bar, value) for bar in BARS if (value := bar.measured(results)) is not None]
    return [
        charts.Bar(
            name=bar.text,
            length=value / bar.most,
            text=f"{value:g} of {bar.most:g}",
            colour=charts.OURS if value <= bar.most else charts.MISSED,
        )
        for bar, value in measured
    ]


def _figures(results: Results, part: str) -> Figures:
    figures = results.get(part, {}).get("figures", {})
    return figures if isinstance(figures, dict) else {}


def _git(*arguments: str) -> str:
    ran = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return ran.stdout.strip()
