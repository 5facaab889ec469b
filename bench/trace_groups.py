"""Measure how well traces are grouped by goal and tools, with the set of bench/sets/trace_goals.

    python -m bench.trace_groups --half dev              one half; `test` is read only to report it
    python -m bench.trace_groups --half dev --sweep      beside it, the figures of other thresholds

B-cubed, the mean over the projects: of each goal, the share of its group that belongs there
(precision) and the share of its task that is there (recall). F0.5 counts precision twice: a
learning of mixed tasks misleads, a trace that is left alone waits. Figures go to
results/benchmarks/trace-groups-<half>.json. The embedders are the ones that this machine has: that
of MEMORY_MESH_MODEL_DIR, the static one of the extra `local`, and none, where words decide alone.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest import mock

from bench import report as report_of
from memory_mesh.base.typed import replace
from memory_mesh.learn.rules import trace_groups
from memory_mesh.learn.rules.trace_groups import Goal, goal_of, place
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryMesh

ROOT = Path(__file__).resolve().parent.parent
SETS = ROOT / "bench" / "sets" / "trace_goals"
REPORTS = ROOT / "results" / "benchmarks"
EMBEDDERS = ("local", "static", "none")
SWEEP = [round(0.2 + step * 0.025, 3) for step in range(25)]
Projects = list[tuple[list[Goal], list[str]]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and write them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--sweep", action="store_true", help="try other thresholds, on dev only")
    parser.add_argument("--dry", action="store_true", help="write no report")
    options = parser.parse_args(arguments)
    report: dict[str, Any] = {**report_of.stamp(), "half": options.half}
    for embedder in EMBEDDERS:
        projects, model = read(options.half, embedder)
        if projects is None:
            report[embedder] = "not installed"
            continue
        threshold = trace_groups.cosine_threshold(model) if model else trace_groups.WORDS
        report[embedder] = {"model": model, "threshold": threshold, **scores(projects)}
        if options.sweep and options.half == "dev":
            for value in SWEEP:
                print(embedder, value, scores_at(projects, value, by_words=not model))
    text = json.dumps(report, indent=2)
    print(text)
    if not options.dry:
        path = REPORTS / f"trace-groups-{options.half}.json"
        path.write_text(text + "\n", encoding="utf-8")
    return 0


def read(half: str, embedder: str) -> tuple[Projects | None, str]:
    """The goals of each project with the task of each, and the model; None without its model."""
    rows = [json.loads(line) for line in (SETS / f"{half}.jsonl").read_text("utf-8").splitlines()]
    vectors, model = [b""] * len(rows), ""
    if embedder != "none":
        try:
            with tempfile.TemporaryDirectory() as folder:
                mesh = MemoryMesh(db_dir=folder, embedder=embedder)
                found = mesh._access().embedder  # noqa: SLF001  # as the store would choose it
                assert found is not None  # noqa: S101  # one was named
                embedding = found.embed([row["goal"] for row in rows])
                mesh.close()
        except MeshError:
            return None, ""
        vectors = [parts[0] for parts in embedding.vectors]
        model = embedding.space.model
    projects: dict[str, tuple[list[Goal], list[str]]] = defaultdict(lambda: ([], []))
    for row, vector in zip(rows, vectors, strict=True):
        goals, tasks = projects[row["project"]]
        goals.append(goal_of(row["goal"], row["goal"], row["tools"], vector, model))
        tasks.append(row["group"])
    return list(projects.values()), model


def scores(projects: Projects) -> dict[str, float]:
    """B-cubed precision, recall, F1 and F0.5, the means over the projects."""
    found = [b_cubed(place(goals), tasks) for goals, tasks in projects]
    precision, recall = (fmean(each[part] for each in found) for part in (0, 1))
    return {
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "f1": round(f_score(precision, recall, 1), 3),
        "f0.5": round(f_score(precision, recall, 0.5), 3),
    }


def scores_at(projects: Projects, threshold: float, *, by_words: bool) -> dict[str, float]:
    """The same with another threshold."""
    if by_words:
        with mock.patch.object(trace_groups, "WORDS", threshold):
            return scores(projects)
    moved = [
        ([replace(goal, threshold=threshold) for goal in goals], tasks) for goals, tasks in projects
    ]
    return scores(moved)


def b_cubed(groups: Sequence[int], tasks: Sequence[str]) -> tuple[float, float]:
    """Precision and recall, the means over the goals."""
    precision, recall = [], []
    for group, task in zip(groups, tasks, strict=True):
        both = sum((group, task) == pair for pair in zip(groups, tasks, strict=True))
        precision.append(both / groups.count(group))
        recall.append(both / tasks.count(task))
    return fmean(precision), fmean(recall)


def f_score(precision: float, recall: float, beta: float) -> float:
    """The mean of both in which recall counts `beta` times as much as precision."""
    weight = beta * beta
    return (1 + weight) * precision * recall / (weight * precision + recall)


if __name__ == "__main__":
    raise SystemExit(main())
