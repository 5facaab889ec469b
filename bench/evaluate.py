"""Every set, every system, one table: into docs/benchmarks.

    python -m bench.evaluate --data FOLDER --vectors FILE [--peers FOLDER] [--split all]

FOLDER holds the sets by name; the small sets of our own are in bench/sets. `--peers` names a folder
that bench.peers filled with rankings of LoCoMo; of a peer asked for 10 and for 100 both are shown,
and each form of text.
An interrupted run goes on where it stopped.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from memory_mesh import evaluation
from memory_mesh.evaluation import report_files
from memory_mesh.evaluation.report import Report

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "benchmarks"
SUITES = ("locomo", "beam100k", "realmem", "mab_conflict", "precisionmembench")
OWN = ("languages", "aliases", "temporal")
SYSTEMS = ("mesh", "keyword", "rrf")
BARS = (
    ("LoCoMo turn R@10, categories 1-4", "locomo", "mesh", "R@10", 0.80, 0.85),
    ("the same, keyword only, no model", "locomo", "keyword", "R@10", 0.74, 0.78),
    ("BEAM-100K message R@10", "beam100k", "mesh", "R@10", 0.62, 0.72),
    ("RealMem session R@5, as of the question", "realmem", "mesh", "R@5", 0.60, 0.65),
    ("MAB newest above stale", "mab_conflict", "mesh", "newest_above_stale", 0.90, 0.95),
    ("PrecisionMemBench precision at recall .95", "precisionmembench", "mesh", "P@R95", 0.40, 0.60),
)
Reports: TypeAlias = dict[str, dict[str, Any]]
_TAIL = (
    "## What each part is worth\n\n[training.json](training.json), written by "
    "`bench/training/train.py --ablate`: recall on dev without each group\nof features, folds by "
    "conversation. [depth.json](depth.json): how deep a leg must look among 100,000 memories\n"
    "(`python -m bench.depth`). [latency.json](latency.json): a search there beside its bare\n"
    "parts (`python -m bench.latency`).\n\n## More\n\n[abstention.md](abstention.md): questions "
    "without an answer, and how far a score can be trusted.\n[convmemory.md](convmemory.md): "
    "LoCoMo over all five categories, on the splits of another project.\n"
)
_PEERS = """\
Peers got the same records and vectors in the same run: [bench/peers](../../bench/peers/README.md).
*As published*: each with its own defaults, on the plain text (`raw`) or on "[date] speaker: text"
(`dated`). *Helped*: with what anybody could write around it: no speaker's name in the question, the
turn before in the text, a filter by the speaker that the question names. The lead of mesh over the
helped rows is what its own ranking adds; the rest of its lead is such preparation."""
_HELPED = "-helped"
_LIST_CHECK = ("aliases",)  # the list of other names covers it: no measure of what is unseen


def main() -> int:
    """Measure what is asked for, and write the table of bars."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--split", default="all")
    parser.add_argument("--suites", nargs="+", default=(*SUITES, *OWN))
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    start = time.monotonic()
    for name in options.suites:
        began = time.monotonic()
        report = _measured(name, options)
        for line in report_files.write(report, options.out, {}, options.split):
            print(line)
        (options.out / f"{name}.png").unlink(missing_ok=True)  # the other chart scales
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    minutes = (time.monotonic() - start) / 60
    print(f"all: {minutes:.1f} minutes")
    (options.out / "retrieval.md").write_text(summary(options.out), encoding="utf-8")
    return 0


def _measured(name: str, options: argparse.Namespace) -> Report:
    folder = ROOT / "bench" / "sets" if name in OWN else options.data
    added = _peers(options.peers) if name == "locomo" and options.peers else {}
    command = f"python -m bench.evaluate --data SETS --vectors FILE --work DIR --suites {name}"
    return evaluation.run(
        name,
        data=folder / name,
        split=options.split,
        systems=SYSTEMS,
        added=added,
        work=options.work,
        vectors=options.vectors,
        command=command + (" --peers DIR" if added else ""),
    )


def _peers(folder: Path) -> dict[str, Path]:
    """The rankings of every peer, named by peer, form and depth."""
    given = {"records.jsonl", "questions.jsonl"}
    files = (file for file in sorted(folder.glob("*.jsonl")) if file.name not in given)
    return {file.stem.replace(".", "-"): file for file in files}


def summary(folder: Path) -> str:
    """The bars, the peers and the small sets in one page, from the reports."""
    files = {name: folder / f"{name}.json" for name in (*SUITES, *OWN)}
    found: Reports = {
        name: json.loads(file.read_text(encoding="utf-8"))
        for name, file in files.items()
        if file.is_file()
    }
    head = (
        "# Retrieval\n\nWritten by `python -m bench.evaluate` from the reports beside it. No "
        "language model; all-MiniLM-L6-v2;\none set of weights for all sets, learned on dev "
        "splits only. Intervals are 95 %, over questions and over conversations.\n"
    )
    bars = (
        "## Bars (test)\n\n| bar | must | aim | measured | questions | conversations | n |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    parts = [head, bars + "".join(_bar(found, bar) for bar in BARS)]
    if "locomo" in found:
        parts.append(_against(found["locomo"]))
    return "\n".join([*parts, _own(found), _TAIL])


def _bar(found: Reports, bar: tuple[str, str, str, str, float, float]) -> str:
    title, name, system, metric, must, aim = bar
    if name not in found:
        return f"| {title} | {must:.2f} | {aim:.2f} | not measured | | | |\n"
    part = found[name]["systems"][system]["test"]
    figure, spans = part.get(metric), part.get("intervals", {}).get(metric, {})
    shown = "not reached" if figure is None else f"**{figure:.3f}**"
    both = " | ".join(_span(spans.get(kind)) for kind in ("questions", "conversations"))
    return f"| {title} | {must:.2f} | {aim:.2f} | {shown} | {both} | {part['n']} |\n"


def _against(report: dict[str, Any]) -> str:
    table = (
        f"## LoCoMo against others (test, R@10)\n\n{_PEERS}\n\n| system | given | R@10 | mesh is "
        "better by | over questions | over conversations | ms p50 |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    parts = {name: splits["test"] for name, splits in report["systems"].items()}
    pairs = {
        pair["against"]: pair
        for pair in report["paired"]
        if (pair["split"], pair["metric"], pair["system"]) == ("test", "R@10", "mesh")
    }
    for name in sorted(parts, key=lambda name: -float(parts[name]["R@10"])):
        pair = pairs.get(name, {})
        better = f"{100 * pair['difference']:+.1f}" if pair else ""
        both = " | ".join(_span(pair.get(kind)) for kind in ("questions", "conversations"))
        ms = (parts[name].get("latency_ms") or {}).get("p50", "")
        given = "" if name in SYSTEMS else "helped" if _HELPED in name else "as published"
        table += f"| {name} | {given} | {parts[name]['R@10']:.3f} | {better} | {both} | {ms} |\n"
    return table


def _own(found: Reports) -> str:
    table = (
        "## Sets of our own (test halves)\n\n`aliases` is no test: the list of other names that "
        "the product brings covers it.\nIt checks that the list is applied.\n\n"
        "| set | system | R@1 | R@5 | R@10 | n |\n"
        "|---|---|---|---|---|---|\n"
    )
    for name in OWN:
        for system in SYSTEMS if name in found else ():
            part = found[name]["systems"][system]["test"]
            figures = (part.get(f"R@{k}") for k in (1, 5, 10))
            shown = " | ".join("-" if figure is None else f"{figure:.3f}" for figure in figures)
            titled = f"{name} (list check)" if name in _LIST_CHECK else name
            table += f"| {titled} | {system} | {shown} | {part['n']} |\n"
    return table


def _span(span: Sequence[float] | None) -> str:
    return "" if not span else f"[{span[0]:.3f}, {span[1]:.3f}]"


if __name__ == "__main__":
    raise SystemExit(main())
