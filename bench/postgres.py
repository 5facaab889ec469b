"""The PostgreSQL ledger as ratios: beside its bare statements, beside SQLite, and as it grows.

    python -m bench.postgres --work-dir DIR                       all parts, small sizes
    python -m bench.postgres --work-dir DIR --parts hybrid --memories 10000 --namespaces 990

Into results/benchmarks/postgres.json and postgres.md. It starts a server of its own, which writes
to the disk as in service. SQLite stores in the work folder are made once and kept.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import postgres_parts as parts, report
from bench.measure import Figures, Skipped, say
from bench.postgres_locomo import locomo_part
from bench.postgres_nearest import nearest_part
from bench.postgres_server import SMALL, Databases, started

OUT = Path(__file__).resolve().parents[1] / "results" / "benchmarks"
PATHS = (
    "src/memory_mesh/ledgers/postgres",
    "src/memory_mesh/ledgers/shared",
    "src/memory_mesh/search/keyword_plan.py",
    "src/memory_mesh/search/nearest.py",
)
# Part, figure, what it says, and what it must be: at most, or at least where negative.
BARS = (
    ("quality", "keyword_lists_identical", "keyword lists as SQLite's, of the questions", None),
    ("quality", "vector_top_10_overlap", "overlap of the ten nearest vectors with SQLite's", -0.99),
    ("locomo", "points_apart", "LoCoMo, recall at ten: points apart from SQLite's", 0.5),
    ("commit", "commit_over_bare", "commit / the same statements bare", 1.5),
    ("hybrid", "search_over_bare", "hybrid search among others / the same statements bare", 2.0),
    ("namespaces", "many_over_few", "search, many namespaces / few", 1.2),
    ("words", "common_over_sqlite", "keyword search for common words / SQLite's", 3.0),
)
Results = dict[str, dict[str, Any]]


def main(arguments: list[str] | None = None) -> int:
    """Measure the parts that are asked for, and write what is known of all."""
    options = _options(arguments)
    known = _read(options.out)
    with started(options.work_dir) as databases:
        for name in options.parts:
            say(f"{name}")
            measured, sizes = _parts(options)[name]
            code = report.code()
            try:
                figures = measured(databases)
            except Skipped as error:
                say(f"  skipped: {error}")
                continue
            known[name] = report.stamped(figures, sizes, code, PATHS)
            _write(options.out, known)
            for figure, value in figures.items():
                say(f"  {figure}: {value}")
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work-dir", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", default=list(_NAMES), choices=_NAMES)
    parser.add_argument("--questions", type=int, default=500, help="of the quality part")
    parser.add_argument("--data", type=Path, help="sets; default: MEMORY_MESH_EVAL_DATA")
    parser.add_argument("--memories", type=int, default=10_000, help="of the searched namespace")
    parser.add_argument("--namespaces", type=int, default=90, help=f"of {SMALL:,} beside it")
    parser.add_argument("--few", type=int, default=10)
    parser.add_argument("--words", type=int, default=10_000, help="memories of the words part")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--vectors", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--tenants", nargs="+", default=["conv-30"], help="of LoCoMo")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args(arguments)


_NAMES = ("quality", "commit", "hybrid", "namespaces", "words", "sizes", "nearest", "locomo")


def _parts(
    options: argparse.Namespace,
) -> dict[str, tuple[Callable[[Databases], Figures], dict[str, int]]]:
    asked, beside = options.memories, options.namespaces
    return {
        "quality": (
            lambda on: parts.quality_part(on, options.questions, options.data),
            {"questions": options.questions},
        ),
        "commit": (parts.commit_part, {}),
        "hybrid": (
            lambda on: parts.hybrid_part(on, asked, beside),
            {"memories": asked, "memories in the database": asked + beside * SMALL},
        ),
        "namespaces": (
            lambda on: parts.namespaces_part(on, options.few, (asked, beside)),
            {"few namespaces": options.few, "many namespaces": beside},
        ),
        "words": (lambda on: parts.words_part(on, options.words), {"memories": options.words}),
        "sizes": (
            lambda on: parts.sizes_part(on, options.sizes),
            {f"size {place}": size for place, size in enumerate(options.sizes, start=1)},
        ),
        "nearest": (
            lambda on: nearest_part(on, options.vectors),
            {f"size {place}": size for place, size in enumerate(options.vectors, start=1)},
        ),
        "locomo": (
            lambda on: locomo_part(on, options.tenants, options.data),
            {"conversations": len(options.tenants)},
        ),
    }


def _read(out: Path) -> Results:
    path = out / "postgres.json"
    found: Results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _write(out: Path, known: Results) -> None:
    out.mkdir(parents=True, exist_ok=True)
    ordered = {name: known[name] for name in _NAMES if name in known}
    (out / "postgres.json").write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    (out / "postgres.md").write_text(table(ordered), encoding="utf-8")


def table(known: Results) -> str:
    """The bars first, then every figure."""
    lines = [
        "# PostgreSQL: quality and speed as ratios",
        "",
        "Written by `python -m bench.postgres --work-dir DIR`; both sides of a ratio are measured",
        "in turns in one run and compared by their medians on the clock. Raw figures, dates and",
        "commits: [postgres.json](postgres.json). What is measured how stands in",
        "`bench/postgres_parts.py`.",
        "",
        "| bar | must | measured |",
        "|---|---|---|",
    ]
    for part, figure, text, must in BARS:
        value = known.get(part, {}).get("figures", {}).get(figure)
        shown = "not measured" if value is None else f"**{value:g}**"
        if must is None:
            said = f"{known.get(part, {}).get('figures', {}).get('questions', 'all')}"
        else:
            said = f"≤ {must:g}" if must > 0 else f"≥ {-must:g}"
        lines.append(f"| {text} | {said} | {shown} |")
    for part, measured in known.items():
        lines += ["", f"## {part}", "", report.provenance(measured), ""]
        lines += ["| figure | value |", "|---|---|"]
        lines += [f"| {name} | {value:,g} |" for name, value in measured["figures"].items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
