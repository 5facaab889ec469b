"""Every set, every system, one table: into results/benchmarks.

    python -m bench.evaluate --data FOLDER --vectors FILE --work DIR [--peers FOLDER] [--split all]

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

from bench import simple_sums, wild_sets
from memory_mesh import evaluation
from memory_mesh.base.typed import replace
from memory_mesh.config import load as configured
from memory_mesh.evaluation import report_files
from memory_mesh.evaluation.report import EvaluationReport
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.models.embedders import embedder_of
from memory_mesh.platform.ids import SystemClock

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "results" / "benchmarks"
SUITES = ("locomo", "beam100k", "realmem", "mab_conflict", "precisionmembench")
OWN = ("languages", "aliases", "temporal")
WILD = ("notes", "personal", "documents")  # of bench/sets/wild, at three store sizes
SIZES = ("20", "200", "5000")
SYSTEMS = ("mesh", "keyword", "rrf")
BARS = (
    ("LoCoMo turn R@10, categories 1-4", "locomo", "mesh", "R@10", 0.81, 0.85),
    ("the same, keyword only, no model", "locomo", "keyword", "R@10", 0.77, 0.79),
    ("BEAM-100K message R@10", "beam100k", "mesh", "R@10", 0.62, 0.70),
    ("RealMem session R@5, as of the question", "realmem", "mesh", "R@5", 0.62, 0.65),
    ("MAB newest above stale", "mab_conflict", "mesh", "newest_above_stale", 0.94, 0.96),
    ("PrecisionMemBench precision at recall .95", "precisionmembench", "mesh", "P@R95", 0.55, 0.60),
)
Reports: TypeAlias = dict[str, dict[str, Any]]
_TAIL = (
    "## More\n\n[depth.json](depth.json): how deep a leg must look among 100,000 memories\n"
    "(`python -m bench.depth`). [latency.json](latency.json): a search there beside its bare\n"
    "parts (`python -m bench.latency`). [abstention.md](abstention.md): questions "
    "without an answer, and how far a score can be trusted.\n[convmemory.md](convmemory.md): "
    "LoCoMo over all five categories, on the splits of another project.\n"
)
_PEERS_PAGE = "https://github.com/memory-mesh/memory-mesh/blob/main/bench/peers/README.md"
_PEERS = f"""\
Peers got the same records and vectors in the same run: [bench/peers]({_PEERS_PAGE}).
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
    parser.add_argument("--suites", nargs="+", default=(*SUITES, *OWN, *WILD))
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    start = time.monotonic()
    for name in options.suites:
        began = time.monotonic()
        report = _measured(name, options)
        figures = replace(report, failures=())  # the texts of the public sets are not ours to print
        for line in report_files.write(figures, options.out, {}, options.split):
            print(line)
        (options.out / f"{name}.png").unlink(missing_ok=True)  # the other chart scales
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    minutes = (time.monotonic() - start) / 60
    print(f"all: {minutes:.1f} minutes")
    (options.out / "retrieval.md").write_text(summary(options.out), encoding="utf-8")
    return 0


def _measured(name: str, options: argparse.Namespace) -> EvaluationReport:
    folder = ROOT / "bench" / "sets" if name in OWN else options.data
    added = _peers(options.peers) if name == "locomo" and options.peers else {}
    if name in WILD:
        folder = options.work / "wild"
        wild_sets.build(name, folder)
        added = _sums(name, folder / name, options)
    command = f"python -m bench.evaluate --data SETS --vectors FILE --work DIR --suites {name}"
    return evaluation.run(
        name,
        data=folder / name,
        split=options.split,
        systems=SYSTEMS,
        added=added,
        work=options.work,
        vectors=options.vectors,
        command=command + (" --peers DIR" if added and name == "locomo" else ""),
    )


def _sums(name: str, data: Path, options: argparse.Namespace) -> dict[str, Path]:
    """The rankings of the two simple sums, over the same vectors."""
    chain = embedder_of(configured(), SystemClock())
    if chain is None:
        return {}
    kept = KeptVectors(chain, options.vectors)
    files = simple_sums.write(name, data, options.split, kept, options.work / "sums")
    kept.release()
    return files


def _peers(folder: Path) -> dict[str, Path]:
    """The rankings of every peer, named by peer, form and depth."""
    given = {"records.jsonl", "questions.jsonl"}
    files = (file for file in sorted(folder.glob("*.jsonl")) if file.name not in given)
    return {file.stem.replace(".", "-"): file for file in files}


def summary(folder: Path) -> str:
    """The bars, the peers and the small sets in one page, from the reports."""
    files = {name: folder / f"{name}.json" for name in (*SUITES, *OWN, *WILD)}
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
    return "\n".join(
        part
        for part in [*parts, _wild(found), _left_out(folder / "training.json"), _own(found), _TAIL]
        if part
    )


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


def _wild(found: Reports) -> str:
    """The sets of what people keep: each size, against the two simple sums."""
    table = (
        "## Notes, personal facts, documents (test, R@1)\n\nStores of 20, 200 and 5,000 memories "
        "(`bench/sets/wild`). The sums are `bench.simple_sums`: half BM25, half cosine,\nand half "
        "coverage, half cosine, over the same candidates and vectors.\n\n| set | system | 20 | 200 "
        "| 5,000 | mean | mesh is better by | over questions |\n|---|---|---|---|---|---|---|---|\n"
    )
    for name in WILD:
        for system, splits in found.get(name, {"systems": {}})["systems"].items():
            by_size = " | ".join(_of_size(splits["test"], size) for size in SIZES)
            pair = _pair(found[name], system)
            better = f"{100 * pair['difference']:+.1f}" if pair else ""
            mean = f"{100 * splits['test']['R@1']:.1f}"
            spanned = _span(pair.get("questions"))
            table += f"| {name} | {system} | {by_size} | {mean} | {better} | {spanned} |\n"
    return table


def _of_size(part: dict[str, Any], size: str) -> str:
    """R@1 over all kinds of questions of one store size."""
    listed = [
        (kind["n"], kind["R@1"])
        for name, kind in part["by_category"].items()
        if name.startswith(f"{size} ") and kind.get("R@1") is not None
    ]
    count = sum(n for n, _ in listed)
    return f"{100 * sum(n * share for n, share in listed) / count:.1f}" if count else "-"


def _pair(report: dict[str, Any], against: str) -> dict[str, Any]:
    """How the default order compares with another system of the report."""
    wanted = ("test", "R@1", "mesh", against)
    for pair in report["paired"]:
        if (pair["split"], pair["metric"], pair["system"], pair["against"]) == wanted:
            return dict(pair)
    return {}


def _left_out(file: Path) -> str:
    """What an order does on a set that it was not learned from, beside the simple sums."""
    if not file.is_file():
        return ""
    told = json.loads(file.read_text(encoding="utf-8"))["hybrid"]
    unseen, sums = told["each set left out"], [told[name] for name in simple_sums.TOLD]
    table = (
        "## On sets that the order was not learned from (dev)\n\nEach row: learned from all the "
        "other sets, measured on this one ([training.json](training.json),\n"
        "`bench/training/train.py --leave-out`), beside the shipped order by folds and the simple "
        "sums. Recall among the\nfirst that count: LoCoMo and BEAM 10, RealMem and temporal 5, "
        "the others 1. A set with several sizes is left out as a whole.\n\n| set | learned without "
        "it | half BM25, half cosine | half coverage, half cosine | difference to the better | "
        "learned with it, by folds |\n|---|---|---|---|---|---|\n"
    )
    for name, figure in unseen.items():
        both = [known[name] for known in sums]
        shown = " | ".join(f"{each:.1f}" for each in (figure, *both))
        table += f"| {name} | {shown} | {figure - max(both):+.1f} | {told['all'][name]:.1f} |\n"
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
